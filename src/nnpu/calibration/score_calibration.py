"""Probabilities from scores, fitted to P and U under a prior, and the cut of least regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from nnpu.data.vectors import as_vector
from nnpu.parameters import (
    InputError,
    ParameterError,
    Sampling,
    check_number,
    check_prior,
    check_sampling,
)

if TYPE_CHECKING:
    from nnpu.prior import PriorEstimate

__all__ = ["ScoreCalibration", "cut_priors", "fit_calibration", "least_regret_cut", "samples"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreCalibration:
    """P(y = +1 | score) = 1 / (1 + exp(−(slope · score + intercept))).

    Examples
    --------
    >>> ScoreCalibration(slope=2.0, intercept=0.0)([0.0]).tolist()
    [0.5]
    """

    slope: float
    intercept: float

    def __call__(self, scores: ArrayLike) -> FloatArray:
        """Return the probability of each score."""
        values: FloatArray = expit(self.slope * np.asarray(scores, np.float64) + self.intercept)
        return values


def fit_calibration(
    scores_p: ArrayLike,
    scores_u: ArrayLike,
    *,
    prior: float,
    sampling: str = "two-sample",
    ridge: float | None = None,
) -> ScoreCalibration:
    """Calibrate scores from held-out P and U under a given prior.

    Minimises the unbiased PU risk with the logistic loss, Eq. (2), over z = slope · score +
    intercept: −π mean_P z + mean_Q ln(1 + exp z), Q being the population sample. The loss is
    linear-odd, so that this is convex, and its minimiser matches what Platt's method would find
    with true labels. The slope is never negative: scores that mislead give the prior to every row.

    Parameters
    ----------
    scores_p, scores_u : array-like of shape (n_p,), (n_u,)
        Scores of held-out rows; greater means more likely positive.
    prior : float
        π_p of the population.
    sampling : {"two-sample", "one-sample"}
        How the data came about.
    ridge : float, optional
        The weight of slope² / 2 for standardised scores; by default 1e-3 + 0.25 / n_p. The risk
        of a few rows of P often falls for ever as the slope grows, and its probabilities would be
        all but 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores_p, scores_n = rng.normal(2, 1, 40_000), rng.normal(0, 1, 40_000)
    >>> scores_u = np.concatenate([scores_p[:20_000], scores_n[:20_000]])
    >>> calibration = fit_calibration(scores_p[20_000:], scores_u, prior=0.5)
    >>> round(calibration.slope), round(calibration.intercept)  # the truth is 2 score − 2
    (2, -2)
    """
    owner = "fit_calibration"
    prior = check_prior(prior, owner)
    scores_p, population = samples(scores_p, scores_u, sampling, prior, owner)
    ridge = 1e-3 + 0.25 / len(scores_p) if ridge is None else ridge
    ridge = check_number("ridge", ridge, owner, low=0, include_low=False)
    centre, spread = population.mean(), population.std()
    if spread == 0:
        raise InputError(f"{owner}: all scores of the population are equal; no slope fits them.")
    x, mean_p = (population - centre) / spread, float((scores_p.mean() - centre) / spread)
    slope, shift = _minimise_logistic(x, mean_p, prior, ridge)
    return ScoreCalibration(float(slope / spread), float(shift - slope * centre / spread))


def _minimise_logistic(
    x: FloatArray, mean_p: float, prior: float, ridge: float
) -> tuple[float, float]:
    """Newton's method with halved steps for −π (a x̄_p + b) + mean ln(1 + e^(a x + b)) + λ a²/2."""
    design = np.column_stack([x, np.ones_like(x)])
    penalty, target = np.array([ridge, 0.0]), prior * np.array([mean_p, 1.0])
    weights = np.array([0.0, float(logit(prior))])

    def value(w: FloatArray) -> float:
        return float(np.logaddexp(0, design @ w).mean() - target @ w + (penalty * w**2).sum() / 2)

    for _ in range(100):
        p = expit(design @ weights)
        gradient = design.T @ p / x.size - target + penalty * weights
        hessian = (design.T * (p * (1 - p))) @ design / x.size + np.diag(penalty + 1e-12)
        step = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while scale > 1e-8 and value(weights - scale * step) > value(weights):
            scale /= 2
        weights = weights - scale * step
        if np.abs(scale * step).max() < 1e-10:
            break
    return (float(weights[0]), float(weights[1])) if weights[0] > 0 else (0.0, float(logit(prior)))


def samples(
    scores_p: ArrayLike, scores_u: ArrayLike, sampling: str, prior: float, owner: str
) -> tuple[FloatArray, FloatArray]:
    """Check the scores; return those of P and those of the population."""
    kind: Sampling = check_sampling(sampling, owner)
    p, u = as_vector(scores_p, "scores_p", owner), as_vector(scores_u, "scores_u", owner)
    together = np.concatenate([p, u])
    if np.ptp(together) == 0:
        raise InputError(f"{owner}: all scores are equal, so that no cut or slope can be found.")
    share = p.size / together.size
    if kind == "one-sample" and prior <= share:
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be greater than the labelled share "
            f"{share:.4g} of one-sample data. Got {prior!r} instead."
        )
    return p, u if kind == "two-sample" else together


def least_regret_cut(population: ArrayLike, *calibrations: ScoreCalibration) -> float:
    """Return the cut that loses least accuracy on the mean over priors that may be the true one.

    The regret of a cut under a prior is the accuracy by which it falls short of the best cut under
    that prior. Calling every row the more likely class is a cut too: none is chosen that does
    worse on the mean.

    Parameters
    ----------
    population : array-like of shape (n,)
        Scores of the rows that stand for the population, held out.
    *calibrations : ScoreCalibration
        P(y = +1 | score) under each prior, the least first; see `fit_calibration`.

    Returns
    -------
    float
        Rows that score more are predicted positive.

    Examples
    --------
    >>> scores = np.linspace(-3, 3, 601)
    >>> abs(round(least_regret_cut(scores, ScoreCalibration(1, -1), ScoreCalibration(1, 1)), 1))
    0.0
    """
    scores = np.sort(as_vector(population, "population", "least_regret_cut"))[::-1]
    wins = np.mean([2 * each(scores) - 1 for each in calibrations], axis=0)
    gains = np.concatenate([[0.0], np.cumsum(wins)])  # of flagging the k highest rows
    gains[1:-1][scores[1:] == scores[:-1]] = -np.inf  # equal scores stay together
    k = int(np.argmax(gains))
    if k == 0:
        least = calibrations[0]
        return max(float(scores[0]), -least.intercept / max(least.slope, 1e-9))
    if k == scores.size:
        return float(np.nextafter(scores[-1], -np.inf))
    return float((scores[k - 1] + scores[k]) / 2)


def cut_priors(prior: float, estimate: PriorEstimate | None, labelled: float) -> tuple[float, ...]:
    """Return the priors that decide the cut of least regret, the least first.

    The estimate, the limits of its interval, as far inside of (labelled share, 1) as it goes, and
    the priors half-way between. The estimate is of P ∪ U; known negatives make the classifier's
    prior a part of it.
    """
    if estimate is None:
        return (prior,)
    scale, room = prior / estimate.value, 1e-3 * (1 - labelled)
    low, high = (
        min(max(end * scale, labelled + room), 1 - room) for end in (estimate.low, estimate.high)
    )
    low, high = min(low, prior), max(high, prior)
    return low, (low + prior) / 2, prior, (high + prior) / 2, high
