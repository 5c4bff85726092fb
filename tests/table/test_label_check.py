"""The test of labels given at random, as a fit of a table runs and reports it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nnpu import LinearPU, TablePU
from nnpu.report.html import render
from nnpu.table._messages import UNTESTED
from nnpu.table.table_prior import labels_at_random


def table(slope, n=2000):
    """Three in ten positive; "marker" tells the class, and drives the labels."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.3
    frame = pd.DataFrame({"marker": rng.normal(2.5 * y, 1), "noise": rng.normal(size=n)})
    frame["site"] = np.where(rng.random(n) < 0.5, "north", "south")
    odds = np.exp(-1 + slope * (frame.marker - 2.5))
    return frame, (y & (rng.random(n) < odds / (1 + odds))).astype(int)


def fit(slope, prior, **changes):
    return TablePU(prior, model=LinearPU(), **changes).fit(*table(slope))


def printed(capsys):
    """What was printed, in one line: the terminal wraps it."""
    return " ".join(capsys.readouterr().out.split())


def test_a_given_prior_lets_labels_be_tested(capsys):
    fair = fit(0.0, 0.3, verbose=1)
    assert "no evidence against random labelling" in printed(capsys)
    assert fair.classifier_.scar_test_.pvalue > 0.05
    biased = fit(2.0, 0.3, verbose=1)
    assert "clear cases are labelled too often, by marker" in printed(capsys)
    assert biased.classifier_.scar_test_.columns == ("marker",)
    page = render(biased.report())
    assert "Who was labelled" in page
    assert "In the rows that the model was fitted to" in page
    assert "differ from others in: marker" in page


def test_an_estimated_prior_does_not(capsys):
    model = fit(0.0, "auto", verbose=1)
    assert UNTESTED in printed(capsys)
    assert model.classifier_.scar_test_ is None
    assert "In the rows that the model was fitted to" not in render(model.report())


@pytest.mark.parametrize("features", [["a.png", "b.png"], np.zeros((2, 1))])
def test_what_cannot_be_tested_is_not(features):
    codes = np.array([1, 0], dtype=np.int8)
    how = {"prior": 0.6, "sampling": "one-sample", "seed": 0}
    assert labels_at_random(features, codes, ["x"], **how) is None


def test_rows_of_a_patient_are_not_recognised_by_each_other():
    """Labels are given to patients at random, and their visits look alike.

    Across patients the columns say nothing of labels. A score that has seen other visits of the
    same patient knows its labels, and would find them too dense.
    """
    rng = np.random.default_rng(0)
    patients, visits = 150, 8
    positive = rng.random(patients) < 0.3
    labelled = positive & (rng.random(patients) < 0.5)
    who = np.repeat(np.arange(patients), visits)
    looks = rng.normal(size=(patients, 4))
    frame = pd.DataFrame(looks[who] + rng.normal(0, 0.01, (len(who), 4)), columns=list("abcd"))
    frame["patient"] = [f"p{number}" for number in who]
    s = labelled[who].astype(int)
    apart = TablePU(0.3, model=LinearPU(), groups="patient").fit(frame, s)
    assert apart.classifier_.scar_test_.pvalue > 0.05
    mixed = TablePU(0.3, model=LinearPU(), drop=["patient"]).fit(frame, s)
    assert mixed.classifier_.scar_test_.pvalue < 0.001
