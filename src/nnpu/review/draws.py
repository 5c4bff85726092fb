"""Which rows a person should look at: a draw without replacement whose chances are known.

The chance of a row is its inclusion probability. It is larger where the model is unsure or sees a
likely positive, and never zero for a draw that is meant to estimate. Rows are laid out by
probability and taken at equal steps along the sum of the chances (systematic sampling), in random
order within short blocks. The draw is then spread over all probabilities, so a model whose
probabilities are off costs little precision, and the size of the draw is fixed.

A list is finite and drawn from with equal chances: the number of yeses is hypergeometric, and the
ranges of `list_count` are exact, whatever the model is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import hypergeom

from nnpu.data.vectors import as_array, as_vector
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_number,
    check_prior,
    shown,
)
from nnpu.ranges import Estimate

__all__ = [
    "PURPOSES",
    "Draw",
    "as_probability",
    "draw",
    "list_count",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Purpose = str | Mapping[str, float]

PURPOSES = ("estimate", "finding", "learning")

_LEAST = 0.05  # probabilities are kept this far from 0 and 1 in sizes: models are overconfident
_SIZES = {  # shares of a draw: equal for every row, by uncertainty, by probability
    "estimate": (0.3, 0.5, 0.2),
    "learning": (0.1, 0.8, 0.1),
}
_BLOCK = 4  # drawn rows per block within which the order is random


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows to look at, and how they were drawn.

    Attributes
    ----------
    rows : array of shape (n,)
        Indices of the drawn rows, in random order (most likely positives first for a draw that is
        for finding alone).
    chance : array of shape (n,)
        The inclusion probability of each drawn row; over all eligible rows they sum to n.
    N : int
        The number of rows.
    excluded : array
        Indices of the rows that could not be drawn.
    purpose : str or dict
        What the draw is for; a mixture is a dict of shares.
    probability : array of shape (n,)
        The probabilities of the drawn rows. An audit compares them with those that it is given.
    size : int
        The number of rows that were drawn; larger than n after `first`.
    modelled : bool
        Whether probabilities differed; if not, the draw is a simple random sample.
    """

    rows: IntArray
    chance: FloatArray
    N: int
    excluded: IntArray
    purpose: Purpose
    probability: FloatArray
    size: int
    modelled: bool = True

    def __post_init__(self) -> None:
        for name in ("rows", "chance", "excluded", "probability"):
            array = np.asarray(getattr(self, name)).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def estimates(self) -> bool:
        """Whether every eligible row had a chance, so estimates can be made."""
        return self.purpose != "finding"

    def first(self, n: int) -> Draw:
        """Return the draw as if the review had been planned to stop after its first `n` rows.

        The rows are in random order, so this is a draw too: every chance becomes n/size of
        what it was. Stop where time runs out, never where the answers look good.

        Examples
        --------
        >>> planned = draw([0.1, 0.5, 0.9, 0.4], 2, random_state=0)
        >>> round(float(planned.first(1).chance[0] / planned.chance[0]), 3)
        0.5
        """
        n = check_count("n", n, "Draw.first")
        if n > len(self):
            raise ParameterError(
                f"The 'n' parameter of Draw.first must be an int in the range [1, {len(self)}]. "
                f"Got {n} instead."
            )
        share = n / len(self) if self.estimates else 1.0
        return Draw(
            self.rows[:n],
            self.chance[:n] * share,
            self.N,
            self.excluded,
            self.purpose,
            self.probability[:n],
            self.size,
            self.modelled,
        )

    def chances(self, probability: FloatArray) -> FloatArray:
        """Return the chance of every row, 0 for an excluded one, under these probabilities."""
        eligible = np.ones(self.N, dtype=bool)
        eligible[self.excluded] = False
        if not self.modelled:
            probability = np.full(self.N, 0.5)
        share = len(self) / self.size if self.estimates else 1.0
        return share * inclusion(probability, self.size, self.purpose, eligible)


def draw(
    probability: ArrayLike,
    n: int,
    *,
    purpose: Purpose = "estimate",
    exclude: ArrayLike | None = None,
    random_state: Any = None,
) -> Draw:
    """Draw `n` rows for a person to look at.

    Parameters
    ----------
    probability : array-like of shape (N,)
        P(y = +1 | x) of every row, from any classifier; for rows that it was fitted to, out of
        fold. Equal values for all give a simple random sample.
    n : int
        How many rows.
    purpose : {"estimate", "finding", "learning"} or dict
        ``"estimate"``: the least uncertainty of prior, precision and recall. ``"finding"``: the
        most likely positives first; nothing can be estimated from them alone. ``"learning"``:
        rows near the boundary, for a model that is fitted again; estimates can still be made. A
        dict of shares, such as ``{"finding": 0.3, "estimate": 0.7}``, mixes them: the part for
        finding is taken from the top, the rest is drawn from what is left.
    exclude : array-like, optional
        Indices, or a mask of N truth values, of rows that must not be drawn: answered before, or
        labelled.
    random_state : int, RandomState, Generator or None
        The seed.

    Returns
    -------
    Draw

    Examples
    --------
    >>> drawn = draw([0.1, 0.5, 0.9, 0.4, 0.2], 2, exclude=[4], random_state=0)
    >>> len(drawn), 4 in drawn.rows
    (2, False)
    >>> draw([0.1, 0.5, 0.9], 2, purpose="finding").rows
    array([2, 1])
    """
    p = as_probability(probability, "draw")
    purpose = _checked_purpose(purpose)
    excluded = _excluded(exclude, p.size)
    eligible = np.ones(p.size, dtype=bool)
    eligible[excluded] = False
    n, most = check_count("n", n, "draw"), int(eligible.sum())
    if n > most:
        raise ParameterError(
            f"The 'n' parameter of draw must be an int in the range [1, {most}], the number of "
            f"rows that may be drawn. Got {n} instead."
        )
    rng = _generator(random_state)
    chance = inclusion(p, n, purpose, eligible)
    if purpose == "finding":
        order = np.lexsort((rng.random(p.size), -p))
        rows = order[eligible[order]][:n]
        chance = np.where(eligible, 1.0, 0.0)  # ties at the end of the list: the taken ones
    else:
        rows = rng.permutation(_systematic(p, chance, rng))
    return Draw(rows, chance[rows], p.size, excluded, purpose, p[rows], n, bool(np.ptp(p) > 0))


def inclusion(p: FloatArray, n: int, purpose: Purpose, eligible: NDArray[np.bool_]) -> FloatArray:
    """Return the inclusion probability of every row: they sum to `n` over the eligible ones."""
    shares = {purpose: 1.0} if isinstance(purpose, str) else dict(purpose)
    chance = np.zeros(p.size)
    top = round(n * shares.pop("finding", 0.0))
    left = eligible.copy()
    if top:
        rows = np.flatnonzero(eligible)
        best = rows[np.argsort(-p[rows], kind="stable")[:top]]
        chance[best], left[best] = 1.0, False
    if n > top and left.any():
        chance[left] = _scaled(_sizes(p[left], shares), n - top)
    return chance


def _sizes(p: FloatArray, shares: Mapping[str, float]) -> FloatArray:
    """Return what the chances are proportional to: Neyman's √(p(1 − p)), mixed with others."""
    q = np.clip(p, _LEAST, 1 - _LEAST)
    parts = np.stack([np.ones(p.size), np.sqrt(q * (1 - q)), np.maximum(p, _LEAST)])
    parts /= parts.sum(axis=1, keepdims=True)
    mixed = sum(share * np.asarray(_SIZES[name]) for name, share in shares.items() if share)
    return np.asarray(mixed @ parts, dtype=np.float64)


def _scaled(sizes: FloatArray, n: int) -> FloatArray:
    """Return chances proportional to `sizes` that sum to `n`, none above 1."""
    sure = np.zeros(sizes.size, dtype=bool)
    while True:
        rest = sizes[~sure].sum()
        chance = np.where(sure, 1.0, sizes * ((n - sure.sum()) / rest) if rest > 0 else 1.0)
        above = (chance >= 1) & ~sure
        if not above.any():
            return chance
        sure |= above


def _systematic(p: FloatArray, chance: FloatArray, rng: np.random.Generator) -> IntArray:
    """Take rows at equal steps along the sum of the chances, laid out by `p`."""
    sure = np.flatnonzero(chance == 1)
    rows = np.flatnonzero((chance > 0) & (chance < 1))
    if rows.size == 0:
        return sure
    rows = rows[np.lexsort((rng.random(rows.size), p[rows]))]
    block = np.floor(np.cumsum(chance[rows]) / _BLOCK)
    rows = rows[np.lexsort((rng.random(rows.size), block))]
    ends = np.cumsum(chance[rows])
    ends *= round(ends[-1]) / ends[-1]  # the sum is whole but for rounding
    ends[-1] = round(ends[-1])
    steps = np.ceil(ends - rng.random())  # points u, u + 1, ... that lie before the end of a row
    return np.concatenate([sure, rows[np.diff(steps, prepend=0.0) > 0]])


def as_probability(values: ArrayLike, owner: str) -> FloatArray:
    """Return one probability per row, or say what is wrong with them."""
    p = as_vector(values, "probability", owner)
    if p.min() < 0 or p.max() > 1:
        raise InputError(
            f"{owner}: probability must lie in [0, 1]. Pass predict_proba(X)[:, 1], not scores."
        )
    return p


def _checked_purpose(purpose: Any) -> Purpose:
    if not isinstance(purpose, Mapping):
        return check_choice("purpose", purpose, "draw", PURPOSES, also="a dict of their shares")
    for name, share in purpose.items():
        check_choice("purpose", name, "draw", PURPOSES)
        check_number(f"purpose[{name!r}]", share, "draw", low=0, high=1)
    if abs(sum(purpose.values()) - 1) > 1e-6:
        raise ParameterError(
            f"The 'purpose' parameter of draw must be a dict of shares that sum to 1. "
            f"Got {shown(dict(purpose))} instead."
        )
    shares = {name: float(share) for name, share in purpose.items() if share > 0}
    return next(iter(shares)) if len(shares) == 1 else shares


def _excluded(exclude: Any, n_rows: int) -> IntArray:
    if exclude is None:
        return np.empty(0, dtype=np.int64)
    rows = np.asarray(as_array(exclude))
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    whole = rows.dtype.kind in "iu" and rows.ndim == 1
    if not whole or rows.min() < 0 or rows.max() >= n_rows:
        raise ParameterError(
            f"The 'exclude' parameter of draw must be row indices in the range [0, {n_rows}) or "
            f"a mask of {n_rows} truth values. Got {shown(exclude)} instead."
        )
    return np.unique(rows).astype(np.int64)


def _generator(random_state: Any) -> np.random.Generator:
    try:
        if isinstance(random_state, np.random.RandomState):
            return np.random.default_rng(random_state.randint(2**31))
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "The 'random_state' parameter of draw must be an int of at least 0, a RandomState, a "
            f"Generator or None. Got {shown(random_state)} instead."
        ) from error


def list_count(
    yes: int, answered: int, size: int, *, confidence: float = 0.9, anytime: bool = False
) -> Estimate:
    """Return how many rows of a list are positive, with an exact range.

    Parameters
    ----------
    yes, answered : int
        Answers, and how many of them are yes, to rows that were drawn at random.
    size : int
        Rows of the list.
    confidence : float, default=0.9
        How often the range holds, at least.
    anytime : bool, default=False
        Whether it holds however the moment to stop was chosen, also by the answers themselves. It
        is then somewhat wider.

    Returns
    -------
    Estimate
        Numbers of rows: the best guess and the two ends.

    Notes
    -----
    The fixed range keeps each count under which neither as many yeses as these nor as few are
    rarer than (1 − confidence) / 2. The other one keeps each count whose posterior under a uniform
    prior is at least (1 − confidence) times that prior: the ratio is a martingale under the true
    count (Waudby-Smith and Ramdas 2020, Confidence sequences for sampling without replacement).

    Examples
    --------
    >>> list_count(12, 30, 200)
    Estimate(value=80.0, low=52.0, high=110.0)
    >>> list_count(200, 200, 200)
    Estimate(value=200.0, low=200.0, high=200.0)
    """
    owner = "list_count"
    size = check_count("size", size, owner)
    answered = check_count("answered", answered, owner, low=0)
    yes = check_count("yes", yes, owner, low=0)
    confidence = check_prior(confidence, owner, name="confidence")
    if not yes <= answered <= size:
        raise ParameterError(
            "The parameters of list_count must be in the order yes <= answered <= size. Got "
            f"{yes}, {answered} and {size} instead."
        )
    counts = np.arange(yes, size - (answered - yes) + 1)  # those that the answers allow
    if anytime:
        kept = counts[_posterior(counts, yes, answered, size) * (size + 1) >= 1 - confidence]
    else:
        tail = (1 - confidence) / 2
        as_many = hypergeom.sf(yes - 1, size, counts, answered)
        as_few = hypergeom.cdf(yes, size, counts, answered)
        kept = counts[(as_many > tail) & (as_few > tail)]
    value = size * yes / answered if answered else size / 2
    return Estimate(float(value), float(min(kept[0], value)), float(max(kept[-1], value)))


def _posterior(
    counts: NDArray[np.int64], yes: int, answered: int, size: int
) -> NDArray[np.float64]:
    """Return the posterior of each count under a uniform prior over 0, 1, …, size."""

    def log_choose(n: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    logs = log_choose(counts, yes) + log_choose(size - counts, answered - yes)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
