"""What an `Evaluation` prints: the unlabelled rows first, and figures of all rows on request."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nnpu import LinearPU
from nnpu.estimators.evaluation import Estimate, evaluate
from nnpu.prior import PriorEstimate


@pytest.fixture
def judged():
    """Return a function that judges one classifier under an estimate of its prior."""
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.4
    X, s = rng.normal(2.0 * y, 1)[:, None], (y & (rng.random(2000) < 0.5)).astype(int)
    clf = LinearPU(0.4, sampling="one-sample").fit(X[::2], s[::2])
    scores = clf.decision_function(X[1::2])

    def judge(label_bias="typical", **changes):
        estimate = PriorEstimate(0.4, 0.3, 0.5, "auto", True, "", "one-sample")
        clf.prior_estimate_ = replace(estimate, **changes)
        return evaluate(clf, s[1::2], scores, label_bias=label_bias)

    return judge


def test_it_prints_what_is_known_of_the_unlabelled_rows(judged):
    found = judged()
    lines, share = str(found).splitlines(), found.hidden.share
    value, low, high = (round(793 * each) for each in share)
    first = f"Unlabelled rows: 793. Positive among them: about {value} ({low} to {high})."
    assert lines[0] == first
    for line, n in zip(lines[2:], (20, 50, 100, 200), strict=False):
        top, part = found.top(n), found.hidden.found(n)
        value, low, high = (round(n * each) for each in top)
        shares = f"{100 * part.low:.0f} to {100 * part.high:.0f} %"
        assert line.split() == f"{n} {value} ({low} to {high}) {shares}".split()
    assert [int(line.split()[0]) for line in found.lines(most=2)[2:4]] == [20, 200]
    random = found.hidden.at_random
    counts = [round(793 * each) for each in random.share]
    assert f"With random labels: {counts[0]} ({counts[1]} to {counts[2]}) positive" in lines[-1]
    assert judged(label_bias=1).hidden.share == random.share


def test_unknown_prior_comes_first_and_every_figure_is_a_range(judged):
    lines = judged(identified=False).figures()
    assert lines[0].startswith("THE SHARE OF POSITIVES IS NOT KNOWN: 0.30 to 0.50")
    assert "nnpu review" in lines[1]
    assert lines[2].split() == ["range", "at", "the", "best", "guess"]
    accuracy = lines[3].split()
    assert accuracy[0] == "accuracy"
    assert float(accuracy[1]) < float(accuracy[4]) < float(accuracy[3])


def test_known_prior_has_estimates_with_intervals(judged):
    """The prior is known if its estimate can be trusted and its range, under the law, is small."""
    close = {"low": 0.37, "high": 0.43, "upper_bound": 0.44}
    lines = judged(label_bias=1, **close).figures()
    assert lines[0] == "Share of positives: 0.400 (0.37 to 0.43)."
    assert lines[1].split() == ["estimate", "90", "%", "range"]
    assert not judged(**close).prior_known
    assert not judged(label_bias=1, identified=False, **close).prior_known


def test_figures_are_wider_the_less_is_known_of_the_prior(judged):
    wide, narrow = judged(low=0.25, high=0.6), judged(low=0.39, high=0.41)
    for name in ("pu_accuracy", "pu_precision", "pu_f1", "pu_roc_auc"):
        low, high = wide.metrics[name][1:]
        assert low < narrow.metrics[name].low < narrow.metrics[name].high < high
    assert wide.recall == narrow.recall


def test_precision_without_flagged_rows_is_nothing_in_json(judged):
    said = replace(judged(), flagged=0).to_json()["metrics"]
    assert said["pu_precision"] == {"value": None, "low": None, "high": None}
    assert said["pu_recall"]["value"] is not None


def test_no_share_is_printed_beyond_one_and_the_contradiction_is_named(judged):
    found = judged(label_bias=1, value=0.4, low=0.39, high=0.41)
    found = replace(found, metrics={**found.metrics, "pu_precision": (1.3, 1.2, 1.4)})
    said = "\n".join(found.figures())
    assert "precision        1.000   1.000 to 1.000" in said
    assert "A precision of 1.30 is impossible: the prior is too large, or the labelled" in said


def test_json_has_shares_between_0_and_1_and_names_the_contradiction(judged):
    found = judged(value=0.4, low=0.39, high=0.41)
    beyond = {"pu_precision": Estimate(1.3, 1.2, 1.4), "pu_recall": Estimate(0.9, 0.8, 1.02)}
    plain = replace(found, metrics={**found.metrics, **beyond}).to_json()
    assert plain["metrics"]["pu_precision"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert plain["metrics"]["pu_recall"] == {"value": 0.9, "low": 0.8, "high": 1.0}
    for name, each in plain["metrics"].items():
        if name != "lee_liu_score":
            assert all(0 <= value <= 1 for value in each.values())
    assert plain["contradictions"][0].startswith("A precision of 1.30 is impossible")
    assert found.to_json()["contradictions"] == []
