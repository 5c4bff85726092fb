"""The page about a classifier: one figure has one interval wherever it stands."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nnpu import EnsemblePU, LinearPU
from nnpu.estimators.evaluation import evaluate
from nnpu.report.html import render
from nnpu.report.model_page import model_page


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(1200) < 0.4
    x = rng.normal(np.outer(y, [2.0, 1.0]), 1.0)
    return x, (y & (rng.random(1200) < 0.5)).astype(int)


def shown(text, name):
    return re.search(rf'id="{name}"[^>]*>([^<]*)<', text)[1]


def test_the_explorer_and_the_metrics_have_the_same_interval_of_an_estimated_prior(rows):
    x, s = rows
    clf = LinearPU("auto", sampling="one-sample", random_state=0).fit(x[::2], s[::2])
    found = evaluate(clf, s[1::2], clf.decision_function(x[1::2]))
    assert found.prior.low < found.prior.high
    text = render(model_page(clf, found, title="Report"))
    precision = found.precision
    words = f"{100 * precision.low:.1f} to {100 * min(precision.high, 1):.1f} %"
    known = found.prior_known
    assert shown(text, "tile-precision-interval" if known else "tile-precision") == words


def test_models_are_listed_by_weight_and_one_that_was_not_tried_has_no_figure(rows):
    x, s = rows
    clf = EnsemblePU(0.4, sampling="one-sample", random_state=0).fit(x[:400], s[:400])
    untried = [each["name"] for each in clf.members_ if each["name"] not in clf.seconds_]
    assert untried
    found = evaluate(clf, s[1::2], clf.decision_function(x[1::2]))
    text = render(model_page(clf, found, title="Report"))
    table = text[text.index("Models that were tried") :]
    table = table[: table.index("</table>")]
    together, *cells = [
        re.findall(r"<t[dh][^>]*>([^<]*)<", line) for line in table.split("<tr>")[2:]
    ]
    assert together[0] == "all together"
    weights = [float(line[1]) for line in cells]
    assert weights == sorted(weights, reverse=True)
    assert {line[0] for line in cells if line[2] == "–"} == set(untried)  # noqa: RUF001
