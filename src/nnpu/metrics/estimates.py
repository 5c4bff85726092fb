"""Metrics of a binary classifier estimated from positives and unlabelled rows.

TPR is the share of P predicted positive and Q that of the population, as in
`nnpu.metrics.sample`; with the prior π the confusion matrix follows:
TP = π TPR, FP = Q − π TPR, FN = π (1 − TPR), TN = 1 − Q − π (1 − TPR).

Each metric of TPR and Q is written as a formula: its value, and its derivatives by TPR and by Q,
which give its variance by the delta method. `_metric` makes the public function of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from nnpu.metrics.sample import Prior, ScoredSample, Shares, pu_sample, rank_curve, shares

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "METRICS",
    "lee_liu_score",
    "of_shares",
    "pu_accuracy",
    "pu_f1",
    "pu_precision",
    "pu_recall",
    "pu_roc_auc",
    "pu_zero_one_risk",
]

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
