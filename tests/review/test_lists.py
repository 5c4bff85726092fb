"""How many rows of a list are positive: exact intervals, also if one stops at will."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from nnpu.parameters import ParameterError
from nnpu.review import list_count

SIZES = [(20, 7), (50, 10), (50, 49), (200, 30), (7, 7), (1, 1), (3, 1)]


def chances(positives, answered, size):
    """Return the hypergeometric chance of each number of yeses, from whole numbers."""
    whole = comb(size, answered)
    return [
        float(Fraction(comb(positives, k) * comb(size - positives, answered - k), whole))
        for k in range(answered + 1)
    ]


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("size", "answered"), SIZES)
def test_the_interval_holds_at_its_level_for_every_list(size, answered, confidence, anytime):
    """Enumerate all answers: for each true count the chance that its interval holds."""
    how = {"confidence": confidence, "anytime": anytime}
    found = [list_count(yes, answered, size, **how) for yes in range(answered + 1)]
    for positives in range(size + 1):
        chance = chances(positives, answered, size)
        held = sum(c for c, e in zip(chance, found, strict=True) if e.low <= positives <= e.high)
        assert held >= confidence - 1e-9


@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize(("size", "answered"), SIZES)
def test_the_guess_lies_inside_and_the_ends_are_possible(size, answered, anytime):
    for yes in range(answered + 1):
        value, low, high = list_count(yes, answered, size, anytime=anytime)
        assert value == size * yes / answered
        assert yes <= low <= value <= high <= size - (answered - yes)


def test_yes_and_no_are_treated_alike():
    for yes in range(11):
        one, other = list_count(yes, 10, 60), list_count(10 - yes, 10, 60)
        assert one.low == 60 - other.high
        one, other = (list_count(k, 10, 60, anytime=True) for k in (yes, 10 - yes))
        assert one.low == 60 - other.high


def test_more_answers_narrow_the_interval_and_all_leave_none():
    """30 of 200 give ± .15 at the widest, 100 of 200 ± .065."""

    def half_width(answered):
        found = [list_count(yes, answered, 200) for yes in range(answered + 1)]
        return max(each.high - each.low for each in found) / 200 / 2

    assert half_width(30) <= 0.15
    assert half_width(100) <= 0.065
    assert half_width(199) <= 0.0025
    for yes in (0, 57, 200):
        assert list_count(yes, 200, 200) == (yes, yes, yes)
        assert list_count(yes, 200, 200, anytime=True) == (yes, yes, yes)


def test_nothing_answered_says_nothing():
    for anytime in (False, True):
        assert list_count(0, 0, 40, anytime=anytime) == (20, 0, 40)


def test_the_interval_that_is_valid_at_any_time_is_wider():
    for yes in (0, 3, 15, 30):
        fixed, anytime = (list_count(yes, 30, 200, anytime=flag) for flag in (False, True))
        assert anytime.high - anytime.low > fixed.high - fixed.low


def never_held(answers, confidence, anytime):
    """Return whether the interval misses the truth at some moment: the adversary stops there."""
    size, truth = len(answers), answers.sum()
    for answered in range(1, size + 1):
        yes = int(answers[:answered].sum())
        found = list_count(yes, answered, size, confidence=confidence, anytime=anytime)
        if not found.low <= truth <= found.high:
            return True
    return False


@pytest.mark.parametrize("positives", [2, 12, 20])
def test_who_stops_at_the_worst_moment_is_misled_no_more_often_than_promised(positives):
    """Stop as soon as the interval misses: at any time it does so in at most 10 % of the lists."""
    rng = np.random.default_rng(positives)
    rows = np.arange(40) < positives
    lists = [rng.permutation(rows) for _ in range(150)]
    missed = np.mean([never_held(one, 0.9, anytime=True) for one in lists])
    assert missed <= 0.1 + 2 * np.sqrt(0.09 / 150)


def test_the_fixed_interval_must_not_be_watched():
    """The same adversary beats the fixed one in more than a tenth of the lists."""
    rng = np.random.default_rng(0)
    rows = np.arange(40) < 12
    lists = [rng.permutation(rows) for _ in range(100)]
    assert np.mean([never_held(one, 0.9, anytime=False) for one in lists]) > 0.15


def test_a_thousand_draws_of_a_list_hold_in_at_least_88_percent():
    rng = np.random.default_rng(0)
    table = {
        n: [list_count(yes, n, 200) for yes in range(n + 1)] for n in (30, 100)
    }  # one interval for each number of yeses
    for n, found in table.items():
        truth = rng.integers(0, 201, 1000)
        yes = rng.hypergeometric(truth, 200 - truth, n)
        held = [found[k].low <= t <= found[k].high for k, t in zip(yes, truth, strict=True)]
        assert np.mean(held) >= 0.88


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((5, 3, 10), "must be in the order yes <= answered <= size"),
        ((1, 11, 10), "must be in the order yes <= answered <= size"),
        ((-1, 3, 10), "'yes' parameter of list_count"),
        ((1, 2.5, 10), "'answered' parameter of list_count"),
        ((0, 0, 0), "'size' parameter of list_count"),
    ],
)
def test_counts_that_cannot_be_are_refused(values, words):
    with pytest.raises(ParameterError, match=words):
        list_count(*values)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.1, float("nan"), "90%"])
def test_a_confidence_lies_between_none_and_all(confidence):
    with pytest.raises(ParameterError, match="'confidence' parameter of list_count"):
        list_count(1, 2, 10, confidence=confidence)
