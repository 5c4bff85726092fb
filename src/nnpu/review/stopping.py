"""When a review may stop: how many positives are left, by exact bounds that hold at any time.

A review looks at the rows of a finite table, one after another. A *list look* takes whatever row
the ranking puts first. A *random look* takes one of the rows that nobody has looked at, each
with the same chance. Answers to list looks tell nothing about the rest, but they are known. Only
random looks are evidence.

Suppose there are m positives in all, f of them among the rows that were given out before a random
look, and R rows to draw from. The look then finds a positive with the chance p = (m − f)/R,
whatever the list looks were: they may depend on all that came before. Somebody who doubts m bets at
these odds on another count m′. The stake is multiplied by (m′ − f)/(m − f) at a yes, by (R − m′ +
f)/(R − m + f) at a no. If m is true, the stake is a martingale (or falls on average, where m′
allows a yes and m does not), and by Ville's inequality it ever reaches 1/α with a chance of at most
α. So the counts at which no stake reached 1/α hold with confidence 1 − α at all times at once, also
at a time that the answers chose.

The bets against m are the counts m′ = c·m for a few c: below 1 for the upper end, above 1 for the
lower end. Such a stake grows with m (falls, for the lower end), so the counts which remain
form an interval and bisection finds its ends.

A row without a clear answer counts as a yes for the upper end and as a no for the lower one. Every
factor of the stake is then at most what it would be with the true answer, so the bounds hold
whatever such a row is and however it was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nnpu.data.vectors import as_array, as_floats
from nnpu.parameters import InputError, check_count, check_prior
from nnpu.ranges import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["Certificate", "Looks", "certificate", "left", "worth_listing"]

FloatArray = NDArray[np.float64]

_CONFIDENCE = 0.9  # of `left`, half of the rest at each end
_FEWER = (0.0, 0.3, 0.6, 0.8, 0.9)  # c of the bets against too many
_MORE = (1.1, 1.3, 2.0, 5.0)  # c of the bets against too few
_BETWEEN = (0.0, 0.4)  # of the way from the wanted recall to 1: c of the bets of a certificate
_RECENT = 30  # list looks that the yield of the list is taken from


@dataclass(frozen=True, eq=False)
class Looks:
    """The looks of a review, in the order in which the rows were given out.

    Parameters
    ----------
    size : int
        Rows that could be looked at when the review began.
    random : array-like of shape (n,)
        Whether the row was drawn at random from all that were not given out before.
    answers : array-like of shape (n,)
        1 yes, 0 no, NaN for don't know or no answer yet.

    Examples
    --------
    >>> looks = Looks(100, [False, True, True], [1, 0, np.nan])
    >>> looks.found, looks.unclear, looks.pool
    (1, 1, 97)
    """

    size: int
    random: Any
    answers: Any

    def __post_init__(self) -> None:
        size = check_count("size", self.size, "Looks", low=0)
        random = np.asarray(as_array(self.random), dtype=bool)
        answers = as_floats(self.answers, "answers", "Looks")
        if random.ndim != 1 or random.shape != answers.shape or len(random) > size:
            raise InputError(
                f"Looks: random and answers need one value per look, and at most {size} looks. Got "
                f"shapes {random.shape} and {answers.shape}."
            )
        if not np.isin(answers[~np.isnan(answers)], (0, 1)).all():
            raise InputError("Looks: answers must be 1 (yes), 0 (no) or NaN (don't know).")
        object.__setattr__(self, "random", random)
        object.__setattr__(self, "answers", answers)

    @property
    def found(self) -> int:
        """Rows answered yes."""
        return int(np.nansum(self.answers))

    @property
    def unclear(self) -> int:
        """Rows without a clear answer."""
        return int(np.isnan(self.answers).sum())

    @property
    def pool(self) -> int:
        """Rows that were not given out."""
        return self.size - len(self.answers)

    def then(self, n: int) -> Looks:
        """Return these looks and `n` random ones that find nothing."""
        random = np.concatenate([self.random, np.ones(n, dtype=bool)])
        return Looks(self.size, random, np.concatenate([self.answers, np.zeros(n)]))


def left(looks: Looks, *, guess: float | None = None) -> Estimate:
    """Return how many positives are left among the rows without a clear answer.

    Parameters
    ----------
    looks : Looks
        The looks so far.
    guess : float, optional
        How many positives a model expects in all. It moves the value, as much as one random look
        would, and never the range.

    Returns
    -------
    Estimate
        Numbers of rows. The range holds with 90 % confidence at all times at once.

    Examples
    --------
    >>> n = np.arange(300)
    >>> left(Looks(1000, n % 10 == 9, (n < 90) & (n % 10 != 9)))
    Estimate(value=0.0, low=0.0, high=88.0)
    """
    level = (1 - _CONFIDENCE) / 2
    found = looks.found
    high = _most(looks, _FEWER, level) - found
    low = min(_fewest(looks, _MORE, level) - found, high)
    value = _likeliest(looks, guess) - found
    return Estimate(float(np.clip(value, low, high)), float(low), float(high))


@dataclass(frozen=True)
class Certificate:
    """Whether a review has found what it was asked to find.

    Attributes
    ----------
    issued : bool
        Whether at least the share `recall` of the positives is found, with this confidence.
    recall, confidence : float
        What was asked for.
    found : int
        Positives found.
    left : int
        Positives left, at most, with this confidence. Rows without a clear answer count.
    looks : int
        Random looks still needed if none of them finds a positive; 0 if it is issued.
    """

    issued: bool
    recall: float
    confidence: float
    found: int
    left: int
    looks: int

    def __str__(self) -> str:
        share, sure = f"{100 * self.recall:.0f} %", f"{100 * self.confidence:.0f} %"
        if self.issued:
            return (
                f"At least {share} of the positives are found, with {sure} confidence: "
                f"{self.found:,} found, at most {self.left:,} left."
            )
        return (
            f"Not yet certain that {share} of the positives are found: {self.found:,} found, at "
            f"most {self.left:,} left ({sure} confidence). At least {self.looks:,} more random "
            "looks are needed."
        )


def certificate(looks: Looks, *, recall: float = 0.9, confidence: float = 0.95) -> Certificate:
    """Return whether the share `recall` of the positives is found, or what that still takes.

    Parameters
    ----------
    looks : Looks
        The looks so far.
    recall : float, default=0.9
        The share of the positives that is wanted, of those among the rows that could be looked at.
    confidence : float, default=0.95
        Of all reviews at most 1 − `confidence` ever get a certificate that is wrong, however often
        they ask for one.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> looks = Looks(400, np.arange(340) >= 200, np.arange(340) < 60)
    >>> print(certificate(looks))
    At least 90 % of the positives are found, with 95 % confidence: 60 found, at most 2 left.
    >>> certificate(Looks(400, np.arange(240) >= 200, np.arange(240) < 60)).looks
    40
    """
    recall = check_prior(recall, "certificate", name="recall")
    confidence = check_prior(confidence, "certificate", name="confidence")
    bets = tuple(recall + share * (1 - recall) for share in _BETWEEN)
    found = looks.found

    def missed(after: int) -> int:
        return _most(looks.then(after), bets, 1 - confidence) - found

    def issued(missing: int) -> bool:
        return found >= recall * (found + missing) - 1e-9

    most = missed(0)
    if issued(most):
        return Certificate(True, recall, confidence, found, most, 0)
    needed = _first(lambda n: issued(missed(n)), 1, looks.pool)
    return Certificate(False, recall, confidence, found, most, needed)


def worth_listing(looks: Looks, *, recall: float, confidence: float, guess: float | None) -> bool:
    """Return whether a look at the list brings a certificate nearer than a random look does.

    With l positives left of the k that the certificate allows, random looks multiply the stake
    against k by exp((k − l + l log(l/k))/R) each on average, so about
    R log(1/α)/(k − l + l log(l/k)) of them are needed. A find on the list lowers l and raises k.
    It is worth its price, 1/yield looks, if it saves more than that.

    Parameters
    ----------
    looks, guess
        As in `left`.
    recall, confidence : float
        Of the certificate.

    Examples
    --------
    >>> rich = Looks(1000, np.zeros(60, bool), np.ones(60))
    >>> worth_listing(rich, recall=0.9, confidence=0.95, guess=100)
    True
    >>> n = np.arange(300)
    >>> spent = Looks(1000, n % 10 == 9, (n < 109) & (n % 10 != 9))
    >>> worth_listing(spent, recall=0.9, confidence=0.95, guess=100)
    False
    """
    clear = looks.answers[~looks.random & ~np.isnan(looks.answers)][-_RECENT:]
    rate = (clear.sum() + 0.5) / (len(clear) + 1)
    found = looks.found
    remaining = max(_likeliest(looks, guess) - found, 0.5)

    def needed(missing: float, found: float) -> float:
        allowed = found * (1 - recall) / recall
        if missing >= allowed:
            return math.inf
        gain = allowed - missing
        gain += missing * math.log(missing / allowed) if missing > 0 else 0.0
        return min(looks.pool * -math.log(1 - confidence) / gain, looks.pool)

    now, after = needed(remaining, found), needed(max(remaining - 1, 0.0), found + 1)
    if math.isinf(now):  # the list must find more before any number of random looks would do
        return True
    return bool(rate * (now - after) > 1)


def _pools(looks: Looks) -> NDArray[np.intp]:
    """Return how many rows each look could be drawn from."""
    return looks.size - np.arange(len(looks.answers))


def _rejects(looks: Looks, bets: tuple[float, ...], level: float) -> Callable[[int], bool]:
    """Return whether a stake against a count has ever reached 1/level."""
    filled = np.where(np.isnan(looks.answers), 1.0 if bets[0] < 1 else 0.0, looks.answers)
    before = (np.cumsum(filled) - filled)[looks.random]
    yes, pool = filled[looks.random] == 1, _pools(looks)[looks.random]
    c = np.array(bets)[:, None]

    def rejects(m: int) -> bool:
        other = np.clip(c * m - before, 0, pool)  # m′ − f of each bet, at each random look
        here = np.clip(m - before, 0, pool)
        with np.errstate(divide="ignore"):
            steps = np.where(yes, np.log(other / np.maximum(here, 1e-300)), 0.0)
            misses = np.log((pool - other) / np.maximum(pool - here, 1e-300))
        steps += np.where(yes, 0.0, misses)
        stake = np.exp(np.minimum(np.cumsum(steps, axis=1), 700)).mean(axis=0)
        return bool(stake.size and stake.max() >= 1 / level)

    return rejects


def _most(looks: Looks, bets: tuple[float, ...], level: float) -> int:
    """Return the largest number of positives, of all rows, that no bet ruled out."""
    no = int((looks.answers == 0).sum())
    rejects = _rejects(looks, bets, level)
    low, high = looks.found, looks.size - no  # what the answers allow
    return _first(rejects, low + 1, high + 1) - 1


def _fewest(looks: Looks, bets: tuple[float, ...], level: float) -> int:
    """Return the smallest number of positives, of all rows, that no bet ruled out."""
    no = int((looks.answers == 0).sum())
    rejects = _rejects(looks, bets, level)
    return _first(lambda m: not rejects(m), looks.found, looks.size - no)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number for which something holds that stays true; `high` at the latest."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _likeliest(looks: Looks, guess: float | None) -> float:
    """Return the number of positives under which the answers to random looks are most likely."""
    clear = ~np.isnan(looks.answers)
    filled = np.where(clear, looks.answers, 0.0)
    before = (np.cumsum(filled) - filled)[looks.random & clear]
    yes = filled[looks.random & clear] == 1
    top = before + _pools(looks)[looks.random & clear]
    found, no = looks.found, int((looks.answers == 0).sum())
    share = None if guess is None else min(max(guess / max(looks.size, 1), 0.0), 1.0)

    def falls(m: int) -> bool:
        """Return whether the likelihood is lower at m + 1/2 than just below."""
        x = m + 0.5
        slope = float((yes / np.maximum(x - before, 0.5)).sum())
        slope -= float((~yes / np.maximum(top - x, 0.5)).sum())
        if share is not None:
            slope += share / x - (1 - share) / max(looks.size - x, 0.5)
        return slope <= 0

    if share is None and not yes.size:
        return (found + looks.size - no) / 2
    return float(_first(falls, found, looks.size - no))
