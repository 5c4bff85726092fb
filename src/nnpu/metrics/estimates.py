"""Metrics of a binary classifier estimated from positives and unlabelled rows.

Two numbers carry every threshold metric: TPR, the share of P that is predicted positive, and Q,
the share of the population that is. The population is U in the two-sample setting, and all rows
of the one sample in the one-sample setting. With the prior π the confusion matrix follows:
TP = π TPR, FP = Q − π TPR, FN = π (1 − TPR), TN = 1 − Q − π (1 − TPR).

Each metric of TPR and Q is written as a formula: its value, and its derivatives by TPR and by Q,
which give its variance by the delta method. `_metric` makes the public function of it. Under known
chances of a label each labelled row stands for 1 / e positives (`propensity_metrics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nnpu.data.vectors import as_vector
from nnpu.parameters import InputError, ParameterError, Sampling, check_prior, check_sampling
from nnpu.prior.estimate import PriorEstimate

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "METRICS",
    "Prior",
    "PropensityMetrics",
    "ScoredSample",
    "Shares",
    "lee_liu_score",
    "of_shares",
    "prior_value",
    "propensity_metrics",
    "propensity_weights",
    "pu_accuracy",
    "pu_f1",
    "pu_precision",
    "pu_recall",
    "pu_roc_auc",
    "pu_sample",
    "pu_zero_one_risk",
    "rank_curve",
    "shares",
    "with_errors",
]

FloatArray = NDArray[np.float64]

#: A prior that is known, or an estimate of it.
Prior = float | PriorEstimate


def prior_value(prior: Any, sampling: Any, owner: str) -> float:
    """Return the number that stands for the prior, if it is one under this sampling."""
    if not isinstance(prior, PriorEstimate):
        return check_prior(prior, owner)
    if prior.sampling != check_sampling(sampling, owner):
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be an estimate under sampling={sampling!r}. "
            f"Got one under {prior.sampling!r} instead."
        )
    return check_prior(prior.value, owner)


@dataclass(frozen=True)
class ScoredSample:
    """Rows of P and of the population, with their values and weights."""

    values_p: FloatArray
    values_q: FloatArray
    weights_p: FloatArray
    weights_q: FloatArray
    prior: float
    sampling: Sampling

    @property
    def n_p(self) -> float:
        """The number of positives that equal weights would need for the same precision."""
        return effective_size(self.weights_p)

    @property
    def n_q(self) -> float:
        """The same for the rows that stand for the population."""
        return effective_size(self.weights_q)


def pu_sample(
    s: Any, values: Any, prior: Any, sampling: Any, sample_weight: Any, owner: str, *, binary: bool
) -> ScoredSample:
    """Check the arguments of a metric and split the rows."""
    prior, sampling = prior_value(prior, sampling, owner), check_sampling(sampling, owner)
    what = "predictions" if binary else "scores"
    s, values = as_vector(s, "s", owner), as_vector(values, what, owner)
    weights = np.ones(s.size)
    if sample_weight is not None:
        weights = as_vector(sample_weight, "sample_weight", owner)
    for name, other in ((what, values), ("sample_weight", weights)):
        if other.size != s.size:
            raise InputError(f"{owner}: s has {s.size} rows and {name} has {other.size}.")
    if (weights < 0).any():
        raise InputError(f"{owner}: sample_weight holds negative values.")
    if not np.isin(s, (1, 0, -1)).all():
        raise InputError(f"{owner}: s must be 1 (labelled), 0 (unlabelled) or -1 (known negative).")
    if binary and not np.isin(values, (0, 1)).all():
        raise InputError(
            f"{owner}: predictions must be 1 (positive) or 0; compare scores with a threshold "
            "first."
        )
    of_p = (s == 1) & (weights > 0)
    of_u = (s == 0) & (weights > 0)
    if not of_p.any() or not of_u.any():
        raise InputError(f"{owner} needs labelled (s=1) and unlabelled (s=0) rows.")
    of_q = of_u if sampling == "two-sample" else weights > 0
    sample = ScoredSample(values[of_p], values[of_q], weights[of_p], weights[of_q], prior, sampling)
    labelled = sample.weights_p.sum() / sample.weights_q.sum()
    if sampling == "one-sample" and prior <= labelled:
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be greater than the labelled share "
            f"{labelled:.4g} of one-sample data. Got {prior!r} instead."
        )
    return sample


class Shares(NamedTuple):
    """TPR and Q, their variances and their covariance."""

    tpr: float
    q: float
    variance_tpr: float
    variance_q: float
    covariance: float


def shares(sample: ScoredSample) -> Shares:
    """Estimate TPR and Q.

    The variances are binomial, of shares drawn one row towards the middle, so a share of
    exactly 0 or 1 has an error too. In the one-sample setting positives are also rows of the
    population: with TPR = mean(s h) / mean(s) and Q = mean(h) over the n rows, the delta method
    gives cov(TPR, Q) = TPR (1 − TPR) / n.
    """
    tpr = float(np.average(sample.values_p, weights=sample.weights_p))
    q = float(np.average(sample.values_q, weights=sample.weights_q))
    return with_errors(tpr, q, sample)


def with_errors(tpr: float, q: float, sample: ScoredSample) -> Shares:
    """Add to TPR and Q, however they were counted, the errors that a sample of this size has."""
    variance_tpr, variance_q = _binomial(tpr, sample.n_p), _binomial(q, sample.n_q)
    joint = sample.sampling == "one-sample"
    covariance = variance_tpr * sample.n_p / sample.n_q if joint else 0.0
    return Shares(tpr, q, variance_tpr, variance_q, covariance)


def rank_curve(values: FloatArray, weights: FloatArray, at: FloatArray) -> FloatArray:
    """Return the weighted share of `values` below each point, ties counting one half."""
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    left = sums[np.searchsorted(values[order], at, side="left")]
    right = sums[np.searchsorted(values[order], at, side="right")]
    curve: FloatArray = (left + right) / (2 * sums[-1])
    return curve


def effective_size(weights: FloatArray) -> float:
    """(Σw)² / Σw²: n for equal weights."""
    scaled = weights / weights.max()  # squares of tiny weights would vanish
    return float(scaled.sum() ** 2 / np.square(scaled).sum())


def _binomial(share: float, n: float) -> float:
    drawn = (share * n + 1) / (n + 2)
    return drawn * (1 - drawn) / n


#: TPR, Q and the prior to a metric and its derivatives by TPR and by Q.
Formula = Callable[[float, float, float], tuple[float, float, float]]

_PARAMETERS = """\
    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (-1) are not part of U.
    {values}
    prior : float or PriorEstimate
        π_p, the share of positives in U (two-sample) or in the one sample as a whole. Recall and
        the score of Lee and Liu do not depend on it.
    sampling : {{"two-sample", "one-sample"}}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

    Notes
"""
_PREDICTIONS = """predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others."""
_SCORES = """scores : array-like of shape (n,)
        Greater for rows that are more likely positive; ties count one half."""


class ValueAndVariance(NamedTuple):
    """An estimate and its variance."""

    value: float
    variance: float


class Metric(NamedTuple):
    """How a metric is estimated, whether from predictions (else scores), and its greatest value."""

    estimate: Callable[[ScoredSample], ValueAndVariance]
    binary: bool = True
    highest: float = 1.0


class PredictionMetric(Protocol):
    """A metric of labels and predictions."""

    __name__: str

    def __call__(
        self,
        s: Any,
        predictions: Any,
        *,
        prior: Prior,
        sampling: str = "two-sample",
        sample_weight: Any = None,
        clip: bool = False,
    ) -> float: ...


FORMULAS: dict[str, Formula] = {}
ESTIMATES: dict[str, Metric] = {}


def of_shares(found: Shares, prior: float, function: Formula) -> ValueAndVariance:
    """Delta method: a metric of TPR and Q, and what their errors make of it."""
    value, by_tpr, by_q = function(found.tpr, found.q, prior)
    variance = (
        by_tpr**2 * found.variance_tpr
        + by_q**2 * found.variance_q
        + 2 * by_tpr * by_q * found.covariance
    )
    return ValueAndVariance(value, max(variance, 0.0))


def _metric(formula: Formula) -> PredictionMetric:
    """Make the public metric of a formula, under its name."""
    name = formula.__name__

    def metric(
        s: Any,
        predictions: Any,
        *,
        prior: Prior,
        sampling: str = "two-sample",
        sample_weight: Any = None,
        clip: bool = False,
    ) -> float:
        return _value(name, s, predictions, prior, sampling, sample_weight, clip)

    shared = _PARAMETERS.format(values=_PREDICTIONS)
    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = (formula.__doc__ or "").replace("    Notes\n", shared)
    FORMULAS[name] = formula
    highest = math.inf if name == "lee_liu_score" else 1.0
    ESTIMATES[name] = Metric(
        lambda sample: of_shares(shares(sample), sample.prior, formula), highest=highest
    )
    return metric


def _value(
    name: str, s: Any, values: Any, prior: Prior, sampling: str, sample_weight: Any, clip: bool
) -> float:
    metric = ESTIMATES[name]
    sample = pu_sample(s, values, prior, sampling, sample_weight, name, binary=metric.binary)
    value = metric.estimate(sample).value
    return min(max(value, 0.0), metric.highest) if clip else value


@_metric
def pu_zero_one_risk(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    """The zero-one risk π + Q − 2 π TPR: the share of wrong predictions.

    Notes
    -----
    The paper's R̂_pu with the zero-one loss, Eq. (4). It is linear in the shares, hence unbiased.

    Examples
    --------
    >>> pu_zero_one_risk([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], prior=0.25)
    0.0
    """
    return prior + q - 2 * prior * tpr, -2 * prior, 1.0  # FP + FN


@_metric
def pu_accuracy(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    """The accuracy 2 π TPR + (1 − Q) − π: one minus the zero-one risk.

    Notes
    -----
    Unbiased; needs the prior. It says little where positives are rare: prefer `pu_f1` there.

    Examples
    --------
    >>> pu_accuracy([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.75
    """
    return 2 * prior * tpr + (1 - q) - prior, 2 * prior, -1.0  # TP + TN


@_metric
def pu_precision(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    """The precision π TPR / Q: the share of predicted positives that are positive.

    Notes
    -----
    Proportional to the prior, so a wrong prior is wrong here by the same factor. 0 if nothing is
    predicted positive; infinite if rows of P are and none of the population is.

    Examples
    --------
    >>> pu_precision([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    if q == 0:
        return _empty(tpr)
    return prior * tpr / q, prior / q, -prior * tpr / q**2  # TP / (TP + FP)


@_metric
def pu_recall(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    """The recall TPR: the share of positives that are predicted positive.

    Notes
    -----
    Needs only that labelled positives are a random sample of all positives.

    Examples
    --------
    >>> pu_recall([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    return tpr, 1.0, 0.0


@_metric
def pu_f1(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    """The F1 score 2 π TPR / (π + Q): the harmonic mean of precision and recall.

    Notes
    -----
    Consistent; its bias vanishes like 1/n.

    Examples
    --------
    >>> pu_f1([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    value = 2 * prior * tpr / (prior + q)  # 2 TP / (2 TP + FP + FN)
    return value, 2 * prior / (prior + q), -value / (prior + q)


@_metric
def lee_liu_score(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    """TPR² / Q of Lee and Liu (2003): precision times recall, divided by the prior.

    Notes
    -----
    It orders classifiers as precision times recall does; it can exceed 1. 0 if nothing is
    predicted positive; infinite if rows of P are and none of the population is.

    Examples
    --------
    >>> lee_liu_score([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    1.0
    """
    if q == 0:
        return _empty(tpr)
    return tpr**2 / q, 2 * tpr / q, -(tpr**2) / q**2


def _empty(tpr: float) -> tuple[float, float, float]:
    """Nothing in the population is predicted positive: 0 if nothing in P is either, else ∞."""
    return (0.0 if tpr == 0 else math.inf), 0.0, 0.0


def pu_roc_auc(
    s: Any,
    scores: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The area under the ROC curve, (A − π/2) / (1 − π) with A that of P against the population.

    Notes
    -----
    It judges the order of the scores, not the cut. For large priors the division by 1 − π makes
    the estimate wide. In the one-sample setting A is taken against all rows.

    Examples
    --------
    >>> pu_roc_auc([1, 0, 0], [3.0, 3.0, 1.0], prior=0.5)
    1.0
    """
    return _value("pu_roc_auc", s, scores, prior, sampling, sample_weight, clip)


pu_roc_auc.__doc__ = (pu_roc_auc.__doc__ or "").replace(
    "    Notes\n", _PARAMETERS.format(values=_SCORES)
)


def _roc_auc(sample: ScoredSample) -> ValueAndVariance:
    """(A − π/2) / (1 − π), with A the AUC of P against the population.

    A positive of P beats a row of the population with probability π/2 + (1 − π) AUC. The variance
    adds what each row contributes to A (DeLong, DeLong and Clarke-Pearson, 1988); a labelled row
    of one-sample data contributes as a positive and as a row of the population.
    """
    below = rank_curve(sample.values_q, sample.weights_q, sample.values_p)  # (n_p,)
    above = 1 - rank_curve(sample.values_p, sample.weights_p, sample.values_q)  # (n_q,)
    a = float(np.average(below, weights=sample.weights_p))
    share_p = sample.weights_p / sample.weights_p.sum()
    share_q = sample.weights_q / sample.weights_q.sum()
    variance = np.sum((share_p * (below - a)) ** 2) + np.sum((share_q * (above - a)) ** 2)
    if sample.sampling == "one-sample":
        above_p = 1 - rank_curve(sample.values_p, sample.weights_p, sample.values_p)
        in_q = sample.weights_p / sample.weights_q.sum()
        variance += 2 * np.sum(share_p * (below - a) * in_q * (above_p - a))
    scale = 1 - sample.prior
    return ValueAndVariance((a - sample.prior / 2) / scale, max(float(variance), 0.0) / scale**2)


ESTIMATES["pu_roc_auc"] = Metric(_roc_auc, binary=False)

#: The metrics by name.
METRICS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        metric.__name__: metric
        for metric in (
            *(pu_zero_one_risk, pu_accuracy, pu_precision, pu_recall, pu_f1, lee_liu_score),
            pu_roc_auc,
        )
    }
)


class PropensityMetrics(NamedTuple):
    """Estimates by inverse propensities.

    Attributes
    ----------
    prior : float
        The share of positives.
    accuracy, precision, recall : float
        Of the predictions. NaN where nothing was predicted positive, or nothing is labelled. They
        can leave [0, 1], by chance or because the propensities are wrong.
    """

    prior: float
    accuracy: float
    precision: float
    recall: float


def propensity_weights(s: Any, chance: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of each row as a positive and as a negative.

    A labelled row counts s / e as a positive and 1 − 1 / e as a negative, an unlabelled one 1 as a
    negative. On average, sums over them are those over the true classes.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 if labelled, else 0.
    chance : array-like of shape (n,)
        e, the chance of a label if the row is positive, in (0, 1].

    Examples
    --------
    >>> positive, negative = propensity_weights([1, 0], [0.25, 0.5])
    >>> positive.tolist(), negative.tolist()
    ([4.0, 0.0], [-3.0, 1.0])
    """
    owner = "propensity_weights"
    labelled, e = as_vector(s, "s", owner), as_vector(chance, "chance", owner)
    if labelled.shape != e.shape:
        raise InputError(
            f"s and chance must have one value per row. Got {labelled.size} and {e.size} instead."
        )
    if not np.all((labelled == 0) | (labelled == 1)):
        raise InputError("s must be 1 (labelled) or 0 for each row.")
    if not np.all((e > 0) & (e <= 1)):
        raise InputError(
            "The propensities in chance must be in the range (0, 1]: no labelled row stands for a "
            "positive that can never be labelled."
        )
    positive = labelled / e
    return positive, 1 - positive


def propensity_metrics(s: Any, predictions: Any, *, chance: Any) -> PropensityMetrics:
    """Return prior, accuracy, precision and recall under known propensities.

    All rows are one sample (``sampling="one-sample"``), and no prior is needed.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 if labelled, else 0.
    predictions : array-like of shape (n,)
        1 or 0.
    chance : array-like of shape (n,)
        e, the chance of a label if the row is positive.

    Examples
    --------
    >>> found = propensity_metrics([1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 0, 0], chance=[0.5] * 6)
    >>> [round(value, 3) for value in found]
    [0.667, 0.5, 0.667, 0.5]
    """
    positive, negative = propensity_weights(s, chance)
    called = as_vector(predictions, "predictions", "propensity_metrics")
    if called.shape != positive.shape or not np.all((called == 0) | (called == 1)):
        raise InputError("predictions must be 1 or 0 for each row of s.")
    found, flagged, total = float(positive @ called), float(called.sum()), float(positive.sum())
    return PropensityMetrics(
        prior=total / len(positive),
        accuracy=float(found + negative @ (1 - called)) / len(positive),
        precision=found / flagged if flagged else float("nan"),
        recall=found / total if total else float("nan"),
    )
