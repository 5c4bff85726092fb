"""Scores to probabilities, probabilities to cuts, without negatives.

Pure functions of NumPy arrays: probabilities fitted to P and U under a prior, the cut of least
regret, cuts that reach a precision or a recall, posteriors of other classifiers and of other
populations, soft labels for a second model. Scores must come from rows that the model was not
fitted to. The population is U (two-sample) or P ∪ U (one-sample).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from nnpu.data.vectors import as_floats, as_vector
from nnpu.metrics import interval, pu_precision, pu_recall
from nnpu.parameters import (
    InputError,
    ParameterError,
    Sampling,
    check_number,
    check_prior,
    check_sampling,
    shown,
)

if TYPE_CHECKING:
    from nnpu.prior import PriorEstimate

__all__ = [
    "ScoreCalibration",
    "Threshold",
    "cut_priors",
    "fit_calibration",
    "least_regret_cut",
    "positive_share",
    "posterior",
    "samples",
    "shift_prior",
    "shift_threshold",
    "soft_labels",
    "threshold_at_prior",
    "threshold_for",
]

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
    linear-odd, so this is convex, and its minimiser matches what Platt's method would find
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
        of a few rows of P often keeps falling as the slope grows, and its probabilities would be
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
        raise InputError(f"{owner}: all scores are equal; no cut or slope can be found.")
    share = p.size / together.size
    if kind == "one-sample" and prior <= share:
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be greater than the labelled share "
            f"{share:.4g} of one-sample data. Got {prior!r} instead."
        )
    return p, u if kind == "two-sample" else together


def least_regret_cut(population: ArrayLike, *calibrations: ScoreCalibration) -> float:
    """Return the cut that loses least accuracy on average over priors that may be the true one.

    The regret of a cut under a prior is the accuracy by which it falls short of the best cut under
    that prior. Calling every row the more likely class is a cut too: none is chosen that does
    worse on average.

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

    The estimate, the limits of its range, as far inside of (labelled share, 1) as it goes, and
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


def posterior(
    labelled_probability: ArrayLike,
    *,
    prior: float,
    labelled_share: float,
    sampling: str = "two-sample",
) -> FloatArray:
    """Turn P(labelled | x) of any classifier of labelled against unlabelled into P(y = +1 | x).

    Two-sample: π (1 − b)/b · σ/(1 − σ), a ratio of densities. One-sample: π σ / b (Elkan and
    Noto, 2008). With σ the probability of being labelled and b the labelled share of the rows
    that the classifier was fitted to. Values above 1 become 1.

    Parameters
    ----------
    labelled_probability : array-like
        σ, calibrated: the classifier's own estimate of P(labelled | x), without class weights.
    prior : float
        π_p of the population.
    labelled_share : float
        b = n_p / (n_p + n_u).
    sampling : {"two-sample", "one-sample"}
        How the data came about.

    Examples
    --------
    >>> posterior([0.1, 0.2], prior=0.4, labelled_share=0.2, sampling="one-sample").round(3)
    array([0.2, 0.4])
    >>> posterior([0.2, 0.5], prior=0.4, labelled_share=0.5).round(3)
    array([0.1, 0.4])
    """
    prior = check_prior(prior, "posterior")
    share = check_prior(labelled_share, "posterior", name="labelled_share")
    sigma = _probabilities(labelled_probability, "posterior")
    if check_sampling(sampling, "posterior") == "one-sample":
        return np.minimum(prior * sigma / share, 1.0)
    # σ = 1 means a ratio of densities without bound
    odds = np.divide(sigma, 1 - sigma, out=np.full_like(sigma, np.inf), where=sigma < 1)
    return np.minimum(prior * (1 - share) / share * odds, 1.0)


def shift_prior(probabilities: ArrayLike, prior: float, new_prior: float) -> FloatArray:
    """Move posteriors to a population in which positives have another share.

    The odds are multiplied by π′(1 − π) / (π (1 − π′)); right if p(x | y) is the same there
    (Saerens, Latinne and Decaestecker, 2002).

    Parameters
    ----------
    probabilities : array-like
        P(y = +1 | x) under `prior`.
    prior, new_prior : float
        π_p of the old and of the new population.

    Examples
    --------
    >>> shift_prior([0.0, 0.5, 1.0], 0.5, 0.2).round(3)
    array([0. , 0.2, 1. ])
    """
    prior = check_prior(prior, "shift_prior")
    new_prior = check_prior(new_prior, "shift_prior", name="new_prior")
    p = _probabilities(probabilities, "shift_prior")
    positive, negative = p * new_prior / prior, (1 - p) * (1 - new_prior) / (1 - prior)
    moved: FloatArray = positive / (positive + negative)
    return moved


def shift_threshold(threshold: float, prior: float, new_prior: float) -> float:
    """Return the cut on old probabilities that is `threshold` on those of the new population.

    Examples
    --------
    >>> round(shift_threshold(0.5, 0.5, 0.2), 3)  # positives are rarer there: ask for more
    0.8
    """
    threshold = check_number("threshold", threshold, "shift_threshold", low=0, high=1)
    return float(shift_prior([threshold], new_prior, prior)[0])


def _probabilities(values: ArrayLike, owner: str) -> FloatArray:
    p = as_floats(values, "probabilities", owner)
    if not ((p >= 0) & (p <= 1)).all():  # False for NaN
        raise InputError(f"{owner}: probabilities must lie in [0, 1].")
    return p


def threshold_at_prior(
    scores_p: ArrayLike, scores_u: ArrayLike, *, prior: float, sampling: str = "two-sample"
) -> float:
    """Return the cut that predicts as many positives as there are: the (1 − π) quantile.

    It makes precision equal recall; it is not the most accurate cut. Rows that score at least as
    much are predicted positive.

    Parameters
    ----------
    scores_p, scores_u : array-like of shape (n_p,), (n_u,)
        Scores; those of P count only in the one-sample setting, where P is part of the population.
    prior, sampling
        As everywhere.

    Examples
    --------
    >>> threshold_at_prior([9.0], [1.0, 2.0, 3.0, 4.0], prior=0.5)
    3.0
    """
    prior = check_prior(prior, "threshold_at_prior")
    _, population = samples(scores_p, scores_u, sampling, prior, "threshold_at_prior")
    return float(np.quantile(population, 1 - prior, method="higher"))


class Threshold(NamedTuple):
    """A cut, the metric that it reaches by PU estimates, and that metric's 90 % range."""

    value: float
    estimate: float
    low: float
    high: float


def threshold_for(
    scores_p: ArrayLike,
    scores_u: ArrayLike,
    *,
    prior: float,
    sampling: str = "two-sample",
    precision: float | None = None,
    recall: float | None = None,
) -> Threshold:
    """Return the cut that reaches a wanted precision or a wanted recall.

    For a recall: the highest cut that reaches it. For a precision: the lowest cut at which the
    estimated precision reaches it, so recall is as large as it can be. The range is that
    of the metric at this cut; the cut was chosen on the same rows, so check a close decision on
    others.

    Parameters
    ----------
    scores_p, scores_u : array-like of shape (n_p,), (n_u,)
        Scores of held-out rows.
    prior, sampling
        As everywhere.
    precision, recall : float
        The wanted value; exactly one of the two.

    Examples
    --------
    >>> threshold_for([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 3.5, 5.0], prior=0.5, recall=0.75)[:2]
    (2.0, 0.75)
    >>> threshold_for([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 3.5, 5.0], prior=0.75, precision=0.9)[:2]
    (0.5, 1.0)
    """
    owner = "threshold_for"
    if (precision is None) == (recall is None):
        raise ParameterError(
            "Pass exactly one of the 'precision' and 'recall' parameters of threshold_for. Got "
            f"{shown(precision)} and {shown(recall)} instead."
        )
    name, wanted = ("precision", precision) if recall is None else ("recall", recall)
    wanted = check_number(name, wanted, owner, low=0, high=1, include_low=False)
    prior = check_prior(prior, owner)
    p, population = samples(scores_p, scores_u, sampling, prior, owner)
    if recall is None:
        cut = _cut_for_precision(p, population, prior, wanted)
    else:
        least = max(int(np.ceil(wanted * p.size - 1e-9)), 1)  # rows of P above the cut
        cut = float(np.sort(p)[::-1][least - 1])
    u = as_vector(scores_u, "scores_u", owner)
    s, predictions = np.repeat([1, 0], [p.size, u.size]), np.concatenate([p, u]) >= cut
    metric = pu_precision if recall is None else pu_recall
    kind: dict[str, Any] = {"prior": prior, "sampling": sampling}
    return Threshold(cut, metric(s, predictions, **kind), *interval(metric, s, predictions, **kind))


def _cut_for_precision(
    scores_p: FloatArray, population: FloatArray, prior: float, wanted: float
) -> float:
    cuts = np.unique(population)
    tpr = 1 - np.searchsorted(np.sort(scores_p), cuts, side="left") / scores_p.size
    q = 1 - np.searchsorted(np.sort(population), cuts, side="left") / population.size
    estimates = prior * tpr / q
    reached = np.flatnonzero(estimates >= wanted - 1e-12)
    if reached.size == 0:
        raise InputError(
            f"No cut reaches a precision of {wanted:g}: the best estimate is "
            f"{estimates.max():.3f}. Ask for less, or use a better model."
        )
    return float(cuts[reached[0]])


def positive_share(prior: float, codes: NDArray[np.int8], sampling: str) -> float:
    """Return the share of positives among the unlabelled rows.

    >>> positive_share(0.5, np.array([1, 0, 0, 0, 0]), "one-sample")
    0.375
    """
    if sampling == "two-sample":
        return prior
    n_p, n_u = int((codes == 1).sum()), int((codes == 0).sum())
    # A prior hardly above the labelled share leaves next to none.
    return float(np.clip((prior * len(codes) - n_p) / n_u, 1e-6, 1 - 1e-6))


def soft_labels(scores: NDArray[Any], share: float) -> NDArray[np.float32]:
    """Return labels between 0 and 1 whose mean is `share`, in the order of the scores.

    σ(a (score − cut) + b): the cut is where a share of them scores more, `a` makes the median
    distance from it 3, and b sets the mean.

    Examples
    --------
    >>> labels = soft_labels(np.array([-3.0, -1.0, -0.5, 4.0]), share=0.25)
    >>> labels.round(2), round(float(labels.mean()), 4)
    (array([0.  , 0.03, 0.05, 0.92], dtype=float32), 0.25)
    """
    z = scores.astype(np.float64)
    z = z - np.quantile(z, 1 - share)
    z *= 3 / max(float(np.median(np.abs(z))), 1e-12)
    z = np.clip(z, -50, 50)
    b = brentq(lambda b: expit(z + b).mean() - share, -100, 100)
    labels: NDArray[np.float32] = expit(z + b).astype(np.float32)
    return labels
