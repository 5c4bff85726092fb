"""Whether the labels look like a random sample of the positives, now that some others are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from nnpu.parameters import InputError
from nnpu.review.audits import Estimate
from nnpu.review.draws import as_probability
from nnpu.review.totals import collect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from nnpu.review.draws import Draw

__all__ = ["ScarCheck", "scar_check"]


@dataclass(frozen=True)
class ScarCheck:
    """Labelled positives against positives that a review found.

    Attributes
    ----------
    labelled, unlabelled : Estimate
        The mean probability of labelled positives, and of the other positives, each with its 90 %
        interval. Under SCAR they are equal.
    pvalue : float
        Of that equality, by a normal approximation.
    broken : bool
        Whether the p-value is below 0.05.
    message : str
        The same in words.
    """

    labelled: Estimate
    unlabelled: Estimate
    pvalue: float
    broken: bool
    message: str


def scar_check(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    labelled_probability: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> ScarCheck:
    """Compare labelled positives with those that the review found among the others.

    PU metrics and PU estimates of the prior need labels that were given completely at random
    (SCAR): labelled positives then get the same probabilities as the others. The audit itself
    does not need it.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.
    labelled_probability : array-like, optional
        Out-of-fold probabilities of the labelled positives. Without it those of the rows that
        `known` says are yes.

    Returns
    -------
    ScarCheck

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.review import draw, scar_check
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> drawn = draw(p, 200, random_state=0)
    >>> easy = p[y & (p > 0.7)]  # only clear cases were labelled
    >>> scar_check(p, drawn, y[drawn.rows], labelled_probability=easy).broken
    True
    """
    answered = collect(probability, draws, answers, known, "scar_check")
    p, others = answered.probability, np.isnan(answered.given)
    if labelled_probability is not None:
        q = as_probability(labelled_probability, "scar_check")
    else:
        q = p[answered.given == 1]
    if q.size < 2:
        raise InputError(
            "scar_check: at least two labelled positives are needed: pass labelled_probability or "
            "known."
        )
    everywhere = np.ones(p.size, dtype=bool)
    positives = answered.total(others.astype(np.float64), everywhere).value
    found = int((answered.answers[answered.drawn] == 1).sum())
    if positives <= 0 or found < 5:
        nothing = Estimate(np.nan, 0.0, 1.0, found, True)
        message = f"Only {found} positives were answered: too few to judge the labels."
        return ScarCheck(_mean(q), nothing, 1.0, False, message)
    weighted = answered.total(np.where(others, p, 0.0), everywhere).value
    mean = float(np.clip(weighted / positives, 0, 1))
    total = answered.total(np.where(others, p - mean, 0.0) / positives, everywhere)
    labelled, error = _mean(q), float(np.sqrt(total.variance + q.var(ddof=1) / q.size))
    low, high = max(mean - total.margin, 0.0), min(mean + total.margin, 1.0)
    z = (labelled.value - mean) / error if error > 0 else 0.0
    pvalue = float(2 * norm.sf(abs(z)))
    return ScarCheck(
        labelled,
        Estimate(mean, low, high, found),
        pvalue,
        pvalue < 0.05,
        _message(labelled.value, mean, pvalue),
    )


def _mean(q: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Estimate:
    value = float(q.mean())
    margin = float(norm.ppf(0.95) * q.std(ddof=1) / np.sqrt(q.size))
    return Estimate(value, max(value - margin, 0.0), min(value + margin, 1.0), int(q.size))


def _message(labelled: float, others: float, pvalue: float) -> str:
    means = f"mean probability {labelled:.2f} of labelled and {others:.2f} of other positives"
    if pvalue >= 0.05:
        return f"Nothing speaks against labels at random (p = {pvalue:.2g}; {means})."
    kind = "easier" if labelled > others else "harder"
    return (
        f"Labelled positives are {kind} cases than the others (p = {pvalue:.2g}; {means}): do not "
        "trust PU estimates of prior, precision or recall; trust the audit."
    )
