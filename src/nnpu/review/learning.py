"""What the answers teach: weights for known rows, and probabilities moved to fit them.

Answered rows never become labelled positives: they were not drawn at random from the positives,
and that would break the assumption behind every PU risk. They enter as known rows of both classes,
weighted by 1/chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from nnpu.review.audits import Estimate, audit_answered
from nnpu.review.draws import FloatArray, IntArray, as_probability
from nnpu.review.totals import collect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from nnpu.review.draws import Draw

__all__ = ["KnownRows", "Recalibration", "known_rows", "moved", "recalibrate"]

_CAP = 5.0  # no row counts for more than this many mean rows
_EDGE = 1e-3  # probabilities are kept this far from 0 and 1 on the logit scale
_FAR = float(logit(1 - _EDGE))  # the same for log-odds
_SLOPE_ROWS = 10.0  # how many answers the slope 1 counts for
_SHIFT_ROWS = 1.0  # how many answers the shift 0 counts for


class KnownRows(NamedTuple):
    """Rows whose class a person gave, or that were known before.

    Attributes
    ----------
    rows : array
        Their indices.
    y : array
        1 or 0.
    weight : array
        1/chance, capped at five times its mean, over its mean. A row that was known before has
        the chance 1.
    prior : Estimate or None
        The audited prior, with its interval.
    """

    rows: IntArray
    y: FloatArray
    weight: FloatArray
    prior: Estimate | None = None


def known_rows(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    known: ArrayLike | None = None,
    partial: bool = False,
) -> KnownRows:
    """Return the rows with a clear answer, their weights in the risk R_PN, and the audited prior.

    Rows that `known` gives are among them: answers alone stand for the other rows only. Only
    draws that estimate count: rows drawn for finding have no chance to weight by.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.
    partial : bool
        Of rows that were not drawn, only the sum of the probabilities is known.

    Returns
    -------
    KnownRows
        For ``EnsemblePU.fit(X, s, answers=...)``. Its rows count in `probability`: in two samples,
        where that is of U alone, ``found._replace(rows=np.flatnonzero(s == 0)[found.rows])``.

    Examples
    --------
    >>> from nnpu.review import draw
    >>> p = [0.1, 0.3, 0.5, 0.7, 0.9]
    >>> drawn = draw(p, 3, random_state=0)
    >>> known = known_rows(p, drawn, [1, float("nan"), 0])
    >>> len(known.rows), float(known.y.sum()), round(float(known.weight.mean()), 6)
    (2, 1.0, 1.0)
    """
    answered = collect(probability, draws, answers, known, "known_rows", partial=partial)
    rows = np.concatenate([r.rows for r in answered.rounds])
    weight = np.concatenate([r.weight / r.chance for r in answered.rounds])
    rows, first = np.unique(rows, return_index=True)
    clear = ~np.isnan(answered.answers[rows])
    rows, weight = rows[clear], weight[first][clear]
    if weight.size:
        weight = np.minimum(weight, _CAP * weight.mean())
        before = np.flatnonzero(~np.isnan(answered.given))
        rows = np.concatenate([rows, before])
        weight = np.concatenate([weight, np.ones(before.size)]) / weight.mean()
    prior = audit_answered(answered, 0.5).prior
    return KnownRows(rows, answered.answers[rows], weight, prior)


@dataclass(frozen=True)
class Recalibration:
    """Probabilities moved to fit the answers: logit p′ = shift + slope · logit p.

    Attributes
    ----------
    shift, slope : float
        0 and 1 leave probabilities as they are.
    rows : int
        The answers that they were fitted to.

    Examples
    --------
    >>> Recalibration(0.0, 1.0, 0)([0.2, 0.8]).round(3)
    array([0.2, 0.8])
    """

    shift: float
    slope: float
    rows: int

    def __call__(self, probability: ArrayLike) -> FloatArray:
        """Return the moved probabilities."""
        p = as_probability(probability, "Recalibration")
        return np.asarray(expit(self.shift + self.slope * _logit(p)), dtype=np.float64)

    def threshold(self, wanted: float = 0.5) -> float:
        """Return the threshold on the old probabilities that is `wanted` on the moved ones.

        Examples
        --------
        >>> round(Recalibration(-1.0, 1.0, 50).threshold(), 3)
        0.731
        """
        return float(expit((logit(wanted) - self.shift) / self.slope))


def recalibrate(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    known: ArrayLike | None = None,
) -> Recalibration:
    """Fit shift and slope on the logit scale to the answers, weighted by 1/chance.

    The weighted logistic loss has a penalty towards shift 0 and slope 1: few answers change
    little. This moves the cut, and with it accuracy, to where the answers want it, and leaves the
    ranking as it is.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.

    Returns
    -------
    Recalibration

    Examples
    --------
    >>> from nnpu.review import draw
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(4000)
    >>> y = rng.random(4000) < truth
    >>> p = expit(logit(truth) + 1.5)  # a model that believes in too large a prior
    >>> drawn = draw(p, 200, random_state=0)
    >>> moved = recalibrate(p, drawn, y[drawn.rows])
    >>> bool(abs(moved(p).mean() - y.mean()) < abs(p.mean() - y.mean()) / 3)
    True
    """
    p = as_probability(probability, "recalibrate")
    found = known_rows(p, draws, answers, known=known)
    if found.rows.size == 0:
        return Recalibration(0.0, 1.0, 0)
    return moved(_logit(p[found.rows]), found.y, found.weight)


def moved(log_odds: FloatArray, y: FloatArray, weight: FloatArray) -> Recalibration:
    """Fit shift and slope for answered rows whose log-odds are given; see `recalibrate`.

    Examples
    --------
    >>> found = moved(np.array([-1.0, 0.0, 1.0, 2.0]), np.zeros(4), np.ones(4))
    >>> found.shift < 0, found.rows
    (True, 4)
    """
    z, sign = np.clip(log_odds, -_FAR, _FAR), 2 * y - 1

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        shift, slope = parameters
        margin = sign * (shift + slope * z)
        value = float(weight @ np.logaddexp(0, -margin))
        slack = -weight * sign * expit(-margin)
        penalty = 0.5 * (_SHIFT_ROWS * shift**2 + _SLOPE_ROWS * (slope - 1) ** 2)
        gradient = [slack.sum() + _SHIFT_ROWS * shift, slack @ z + _SLOPE_ROWS * (slope - 1)]
        return value + penalty, np.array(gradient)

    limits = [(-20.0, 20.0), (0.05, 20.0)]  # a slope below 0 would turn the ranking round
    found = minimize(loss, np.array([0.0, 1.0]), jac=True, bounds=limits, method="L-BFGS-B")
    return Recalibration(float(found.x[0]), float(found.x[1]), int(y.size))


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(p, _EDGE, 1 - _EDGE)), dtype=np.float64)
