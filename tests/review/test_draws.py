"""Draws: fixed size, exact chances, purposes, and what cannot be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from nnpu.parameters import InputError, ParameterError
from nnpu.review import draw

P = np.random.default_rng(0).beta(0.5, 1.0, size=40)
MIXTURE = {"finding": 0.25, "estimate": 0.5, "learning": 0.25}


def all_chances(drawn, p=P):
    return drawn.chances(np.asarray(p))


@pytest.mark.parametrize("purpose", ["estimate", "learning", MIXTURE])
@pytest.mark.parametrize("n", [1, 7, 25, 40])
def test_chances_sum_to_n_and_lie_in_0_1(purpose, n):
    drawn = draw(P, n, purpose=purpose, random_state=0)
    chances = all_chances(drawn)
    assert drawn.rows.size == np.unique(drawn.rows).size == n
    assert chances.sum() == pytest.approx(n)
    assert (chances > 0).all()
    assert (chances <= 1).all()
    np.testing.assert_allclose(drawn.chance, chances[drawn.rows])


@pytest.mark.parametrize("purpose", ["estimate", MIXTURE])
@pytest.mark.parametrize("n", [6, 17])
def test_rows_are_drawn_as_often_as_their_chance_says(purpose, n):
    """3,000 draws of 38 rows: each frequency within four standard errors of the chance."""
    rng, counts, repeats = np.random.default_rng(1), np.zeros(P.size), 3000
    for _ in range(repeats):
        drawn = draw(P, n, purpose=purpose, exclude=[3, 8], random_state=rng)
        counts[drawn.rows] += 1
    chances = all_chances(drawn)
    error = np.sqrt(chances * (1 - chances) / repeats)
    assert (np.abs(counts / repeats - chances) <= 4 * error + 1e-12).all()
    assert counts[3] == counts[8] == 0


def test_equal_probabilities_give_a_simple_random_sample():
    """Every pair has the chance n(n−1)/(N(N−1)) = 6/30, here within 4.5 standard errors."""
    rng, pairs, repeats = np.random.default_rng(2), np.zeros((6, 6)), 4000
    for _ in range(repeats):
        drawn = draw(np.full(6, 0.2), 3, random_state=rng)
        pairs[np.ix_(drawn.rows, drawn.rows)] += 1
    assert (drawn.chance == 0.5).all()
    off = pairs[~np.eye(6, dtype=bool)] / repeats
    assert np.abs(off - 0.2).max() < 4.5 * np.sqrt(0.2 * 0.8 / repeats)


def test_unsure_rows_and_likely_positives_get_more_chance():
    chances = all_chances(
        draw([0.01] * 50 + [0.5] * 50 + [0.99] * 50, 10), [0.01] * 50 + [0.5] * 50 + [0.99] * 50
    )
    assert chances[0] < chances[100] < chances[50]


def test_the_same_seed_gives_the_same_draw():
    first, second, other = (draw(P, 9, random_state=seed).rows for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_finding_takes_the_most_likely_positives_in_order():
    drawn = draw(P, 5, purpose="finding", exclude=[int(P.argmax())])
    np.testing.assert_array_equal(drawn.rows, np.argsort(-P)[1:6])
    assert (drawn.chance == 1).all()
    assert not drawn.estimates


def test_a_mixture_holds_the_top_rows_and_a_draw_of_the_rest():
    drawn = draw(P, 8, purpose=MIXTURE, random_state=0)
    assert set(np.argsort(-P)[:2]) <= set(drawn.rows)
    assert drawn.estimates
    assert draw(P, 3, purpose={"finding": 1.0}).purpose == "finding"


def test_a_mask_and_indices_exclude_the_same_rows():
    mask = np.zeros(P.size, dtype=bool)
    mask[[1, 5]] = True
    one, two = draw(P, 9, exclude=mask, random_state=0), draw(P, 9, exclude=[5, 1], random_state=0)
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_array_equal(one.excluded, [1, 5])


def test_the_first_rows_of_a_draw_are_a_draw():
    drawn = draw(P, 10, random_state=0)
    part = drawn.first(4)
    np.testing.assert_array_equal(part.rows, drawn.rows[:4])
    assert all_chances(part).sum() == pytest.approx(4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 41}, r"'n' parameter of draw must be an int in the range \[1, 40\]"),
        ({"n": 0}, "'n' parameter of draw"),
        ({"n": 2, "purpose": "guess"}, "'purpose' parameter of draw must be a str among"),
        ({"n": 2, "purpose": {"finding": 0.4}}, "shares that sum to 1"),
        ({"n": 2, "exclude": [40]}, "'exclude' parameter of draw"),
        ({"n": 2, "exclude": [0.5]}, "'exclude' parameter of draw"),
        ({"n": 2, "random_state": "seed"}, "'random_state' parameter of draw"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        draw(P, **arguments)


@pytest.mark.parametrize("values", [[0.2, 1.5], [-1.0, 2.0], [0.1, np.nan], []])
def test_what_is_no_probability_is_refused(values):
    with pytest.raises(InputError, match="probability"):
        draw(values, 1)
