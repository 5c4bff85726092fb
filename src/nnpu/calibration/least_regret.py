"""The cut that can lose least while the prior is somewhere in an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnpu.data.vectors import as_vector

if TYPE_CHECKING:
    from nnpu.calibration.score_calibration import ScoreCalibration
    from nnpu.prior import PriorEstimate

__all__ = ["cut_priors", "least_regret_cut"]

FloatArray = NDArray[np.float64]


def least_regret_cut(
    population: ArrayLike,
    at_low: ScoreCalibration,
    at_high: ScoreCalibration,
    guards: tuple[ScoreCalibration, ...] = (),
) -> float:
    """Return the cut that can lose least accuracy while the prior is somewhere in an interval.

    The regret of a cut under a prior is the accuracy by which it falls short of the best cut under
    that prior. It is convex in the prior, so that the ends of the interval decide. Where both ends
    are on the same side of one half, only cuts count that lose nothing, at the `guards`, against
    calling every row the more likely class.

    Parameters
    ----------
    population : array-like of shape (n,)
        Scores of the rows that stand for the population, held out.
    at_low, at_high : ScoreCalibration
        P(y = +1 | score) under the least and under the greatest prior; see `fit_calibration`.
    guards : tuple of ScoreCalibration
        The same where the cut must not lose against the more likely class; default: both ends.

    Returns
    -------
    float
        Rows that score more are predicted positive.

    Examples
    --------
    >>> from nnpu.calibration import ScoreCalibration
    >>> scores = np.linspace(-3, 3, 601)
    >>> abs(round(least_regret_cut(scores, ScoreCalibration(1, -1), ScoreCalibration(1, 1)), 1))
    0.0
    """
    scores = np.sort(as_vector(population, "population", "least_regret_cut"))[::-1]
    gains = _gains(scores, (at_low, at_high))
    regrets = (gains.max(axis=1, keepdims=True) - gains).max(axis=0)
    everybody = gains[:, -1]  # what flagging all rows gains over flagging none
    if (everybody > 0).all() or (everybody < 0).all():
        gains = _gains(scores, guards or (at_low, at_high))
        majority = gains[:, -1:] if everybody[0] > 0 else gains[:, :1]
        regrets[(gains < majority - 1e-12).any(axis=0)] = np.inf
    regrets[1:-1][scores[1:] == scores[:-1]] = np.inf  # equal scores stay together
    k = int(np.argmin(regrets))
    if k == 0:
        return max(float(scores[0]), -at_low.intercept / max(at_low.slope, 1e-9))
    if k == scores.size:
        return float(np.nextafter(scores[-1], -np.inf))
    return float((scores[k - 1] + scores[k]) / 2)


def _gains(scores: FloatArray, calibrations: tuple[ScoreCalibration, ...]) -> FloatArray:
    """Return the accuracy that flagging the k highest rows gains, for k = 0 to n."""
    gains: FloatArray = np.array([np.cumsum(2 * each(scores) - 1) for each in calibrations])
    return np.pad(gains, ((0, 0), (1, 0))) / scores.size


def cut_priors(prior: float, estimate: PriorEstimate | None, labelled: float) -> tuple[float, ...]:
    """Return the priors that decide the cut of least regret.

    The limits of the prior's interval, as far inside of (labelled share, 1) as it goes, and for
    the guard against losing to the more likely class the priors half-way from the estimate to
    these limits: at the limits themselves it would flag hardly any row (docs/prior.md). The
    estimate is of P ∪ U; known negatives make the classifier's prior a part of it.
    """
    if estimate is None:
        return prior, prior
    scale, room = prior / estimate.value, 1e-3 * (1 - labelled)
    low, high = (
        min(max(end * scale, labelled + room), 1 - room) for end in (estimate.low, estimate.high)
    )
    low, high = min(low, prior), max(high, prior)
    return low, high, (low + prior) / 2, (high + prior) / 2
