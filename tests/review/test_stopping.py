"""How many positives are left, and certificates: identities, hand-derived values, coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nnpu.parameters import InputError
from nnpu.review import Looks, certificate, left
from nnpu.review.stopping import _BETWEEN, _FEWER, _MORE, _fewest, _most, _rejects


def stake(looks, m, bets):
    """Return the stake against m after all looks, factor by factor as the module's text says."""
    total = 0.0
    for c in bets:
        product, f = 1.0, 0
        for t, y in enumerate(looks.answers):
            pool = looks.size - t
            other = min(max(c * m - f, 0), pool)
            product *= other / (m - f) if y else (pool - other) / (pool - m + f)
            f += int(y)
        total += product / len(bets)
    return total


@pytest.mark.parametrize("bets", [_FEWER, _MORE])
def test_a_stake_is_a_martingale_under_the_true_count(bets):
    """Five looks at eight rows of which three are positive: the mean over all orders is 1.

    A bet on more positives than there are loses its stake on a yes that cannot come once all are
    found: then the mean is below 1.
    """
    size, m = 8, 3
    total = ways = 0.0
    for number in range(1 << size):
        y = np.array([number >> i & 1 for i in range(size)], float)
        if y.sum() == m:
            total += stake(Looks(size, np.ones(5, bool), y[:5]), m, bets)
            ways += 1
    assert ways == math.comb(size, m)
    mean = total / ways
    assert mean == pytest.approx(1) if bets == _FEWER else 0 < mean <= 1


def test_the_stake_of_the_module_is_that_of_its_formula():
    """The limit at which a count is rejected is the largest stake of any prefix."""
    y = [0, 1, 0, 0, 0, 0, 0.0]
    looks = Looks(20, np.ones(7, bool), y)
    for m in (4, 8, 12):
        top = max(stake(Looks(20, np.ones(t, bool), y[:t]), m, _FEWER) for t in range(1, 8))
        rejected_at = [
            _rejects(looks, _FEWER, 1 / value)(m) for value in (0.999 * top, 1.001 * top)
        ]
        assert rejected_at == [True, False]


def test_clean_random_looks_bound_what_is_left_by_hand():
    """After 40 of 60 rows at random, all no, and 60 found before, bets on "none left".

    Looks at 200 rows found 60 positives. With k left of the 200 others, 40 random looks that all
    say no multiply the bet on m′ = found (c = .9, as 66·.9 < 60) by
    C(200, 40)/C(200 − k, 40), and the other bet by at least 1. The largest k with a mean below 20:
    """
    looks = Looks(400, np.arange(240) >= 200, np.arange(240) < 60)
    bets, k = [0.9 + 0.1 * share for share in _BETWEEN], 0

    def mean(k):
        m, products = 60 + k, []
        for c in bets:
            other = max(c * m - 60, 0)
            products.append(np.prod([(200 - t - other) / (200 - t - k) for t in range(40)]))
        return np.mean(products)

    while mean(k + 1) < 20:
        k += 1
    assert certificate(looks).left == k


def test_list_looks_are_no_evidence():
    """A list that ends in a hundred noes leaves all other rows as they were."""
    looks = Looks(500, np.zeros(200, bool), np.arange(200) < 100)
    assert left(looks)[1:] == (0, 300)
    assert not certificate(looks).issued


def test_all_rows_answered_leave_nothing():
    y = np.arange(50) % 3 == 0
    looks = Looks(50, np.zeros(50, bool), y)
    assert left(looks) == (0, 0, 0)
    assert certificate(looks, recall=0.99, confidence=0.999).issued


@pytest.mark.parametrize("seed", range(10))
def test_unclear_answers_only_widen_the_range(seed):
    """Whatever the answers to some rows are, they give an interval inside the one without them."""
    rng = np.random.default_rng(seed)
    y = (rng.random(150) < 0.3).astype(float)
    random = rng.random(150) < 0.4
    masked = np.where(rng.random(150) < 0.2, np.nan, y)
    clear, unclear = Looks(400, random, y), Looks(400, random, masked)
    assert _most(unclear, _FEWER, 0.05) >= _most(clear, _FEWER, 0.05)
    assert _fewest(unclear, _MORE, 0.05) <= _fewest(clear, _MORE, 0.05)


def test_the_looks_that_are_needed_are_the_fewest():
    looks = Looks(1000, np.arange(320) >= 300, np.arange(320) < 90)
    needed = certificate(looks).looks
    assert 0 < needed < looks.pool
    assert certificate(looks.then(needed)).issued
    assert not certificate(looks.then(needed - 1)).issued


def reviewed(rng, size, m, signal, share):
    """Yield the looks after each round of 25, by a list of that quality mixed with random looks."""
    y = np.arange(size) < m
    order = np.argsort(-rng.normal(signal * y), kind="stable")
    dealt, random, answers = np.zeros(size, bool), [], []
    while len(random) < size:
        n = min(25, size - len(random))
        drawn = round(share * n)
        rows = order[~dealt[order]][: n - drawn]
        dealt[rows] = True
        more = rng.choice(np.flatnonzero(~dealt), drawn, replace=False)
        dealt[more] = True
        random += [False] * (n - drawn) + [True] * drawn
        answers += y[rows].tolist() + y[more].tolist()
        yield Looks(size, random, answers)


@pytest.mark.parametrize(
    ("size", "m", "signal", "share"),
    [(200, 40, 1.5, 0.2), (200, 40, 0.0, 0.5), (300, 12, 2.0, 0.3), (200, 150, 0.5, 0.2)],
)
def test_ranges_and_certificates_hold_at_all_times(size, m, signal, share):
    """Of 100 reviews at most 10 % ever leave the range, 5 % ever get a wrong certificate.

    Binomial limits at a chance of 1/1,000: 20 and 13 of 100.
    """
    rng = np.random.default_rng(1)
    outside, wrong = 0, 0
    for _ in range(100):
        out = bad = False
        for looks in reviewed(rng, size, m, signal, share):
            missing = m - looks.found
            low, high = left(looks)[1:]
            out |= not low <= missing <= high
            if looks.found < 0.9 * m:  # a certificate would be wrong
                bad |= certificate(looks).issued
        outside, wrong = outside + out, wrong + bad
    assert outside <= 20
    assert wrong <= 13


def test_looks_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="one value per look"):
        Looks(3, [True], [1, 0])
    with pytest.raises(InputError, match="must be 1"):
        Looks(3, [True], [2])
    with pytest.raises(ValueError, match="recall"):
        certificate(Looks(3, [True], [1]), recall=1.5)
