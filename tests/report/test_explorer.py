"""The threshold explorer and the costs: every figure is that of the metrics."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tests.report.elements import Elements

from nnpu import metrics
from nnpu.parameters import ParameterError
from nnpu.report.explorer import errors, explorer_section


def test_the_explorer_starts_at_the_models_own_threshold_or_says_that_it_cannot():
    rows = metrics.threshold_table([1, 0, 0], [1.0, 0.0, 2.0], [0.5], prior=0.3)
    with pytest.raises(ParameterError, match="'own' parameter of explorer_section"):
        explorer_section(rows, own=0.7, population=2, probabilities=[0.5])


def test_a_precision_that_nothing_can_estimate_is_a_dash():
    """P scores above all of U: above 0.5 no row of the population is flagged, but rows of P are."""
    s, scores = [1, 1, 0, 0, 0], [2.0, 3.0, 0.0, 0.1, 0.2]
    rows = metrics.threshold_table(s, scores, [0.05, 0.5, 4.0], prior=0.3)
    section = explorer_section(rows, own=0.05, population=3, probabilities=[0.5, 0.6, 1.0])
    first, second, third = section.data["explorer"]["tiles"]
    assert first["precision"][0] == "45.0\u00a0%"  # 0.3 · 1 / (2 / 3)
    assert second["precision"] == ["–", "–"]  # noqa: RUF001
    assert second["recall"][0] == "100.0\u00a0%"
    assert third["precision"] == ["–", "no row is flagged"]  # noqa: RUF001
    assert section.data["explorer"]["probabilities"] == [
        "50.0\u00a0%",
        "60.0\u00a0%",
        "99.9\u00a0%",
    ]
    assert "nan" not in section.body
    assert json.dumps(section.data, allow_nan=False)


def test_no_share_beyond_all_is_ever_shown():
    """Nine tenths would be positive, but only half of U scores above 0: precision 1.8."""
    s, scores = np.repeat([1, 0], [50, 100]), np.repeat([1.0, 1.0, -1.0], 50)
    rows = metrics.threshold_table(s, scores, [-2.0, 0.0], prior=0.9)
    assert rows[1]["precision"] == pytest.approx(1.8)
    section = explorer_section(rows, own=0.0, population=100, probabilities=[0.1, 0.9])
    assert section.data["explorer"]["tiles"][1]["precision"][0] == "100.0\u00a0%"
    assert not re.search(r"1[0-9]{2}\.[0-9]\s%", section.body.replace("100.0\u00a0%", ""))
    drawn = Elements(section.body).text_of("desc")
    assert "1.8" not in drawn[0]


def test_a_range_stands_in_for_a_figure_where_the_prior_is_not_known():
    rows = metrics.threshold_table([1, 1, 0, 0, 0], [2.0, 3.0, 0.0, 2.5, 0.2], [0.5], prior=0.3)
    low, high = rows[0]["precision_low"], rows[0]["precision_high"]
    section = explorer_section(rows, own=0.5, population=3, probabilities=[0.5], known=False)
    tile = section.data["explorer"]["tiles"][0]
    assert tile["precision"] == [
        f"{100 * max(low, 0):.1f} to {100 * min(high, 1):.1f}\u00a0%",
        "best guess 90.0\u00a0%",
    ]
    assert tile["recall"][0] == "100.0\u00a0%"  # it does not depend on the prior


def test_false_alarms_and_misses_add_up_to_what_the_truth_says():
    """A sample whose labels are a copy of the positives: the estimates are the counts."""
    truth = np.repeat([1, 0], [40, 60])
    scores = np.r_[np.linspace(-1, 3, 40), np.linspace(-3, 1, 60)]
    s, both = np.r_[np.ones(40), np.zeros(100)].astype(int), np.r_[scores[:40], scores]
    cuts = [-2.0, 0.05, 2.0]
    rows = metrics.threshold_table(s, both, cuts, prior=0.4)
    found = errors(rows, 0.4, 100)
    for cut, alarms, misses in zip(cuts, found["alarms"], found["misses"], strict=True):
        assert alarms == pytest.approx(np.sum((scores > cut) & (truth == 0)), abs=0.01)
        assert misses == pytest.approx(np.sum((scores <= cut) & (truth == 1)), abs=0.01)
