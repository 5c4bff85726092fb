"""Metrics of a binary classifier estimated from positives and unlabelled rows.

TPR is the share of P predicted positive and Q that of the population, as in
`nnpu.metrics.sample`; with the prior π the confusion matrix follows:
TP = π TPR, FP = Q − π TPR, FN = π (1 − TPR), TN = 1 − Q − π (1 − TPR).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from nnpu.metrics.formulas import ESTIMATES
from nnpu.metrics.sample import Prior, pu_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "METRICS",
    "lee_liu_score",
    "pu_accuracy",
    "pu_f1",
    "pu_precision",
    "pu_recall",
    "pu_roc_auc",
    "pu_zero_one_risk",
]


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

"""
_PREDICTIONS = """predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others."""
_SCORES = """scores : array-like of shape (n,)
        Greater for rows that are more likely positive; ties count one half."""

_Metric = TypeVar("_Metric", bound="Callable[..., float]")


def _documented(metric: _Metric) -> _Metric:
    """Put the parameters that all metrics share into a metric's docstring."""
    values = _SCORES if metric.__name__ == "pu_roc_auc" else _PREDICTIONS
    shared = _PARAMETERS.format(values=values) + "    Notes\n"
    metric.__doc__ = (metric.__doc__ or "").replace("    Notes\n", shared)
    return metric


def _value(
    name: str, s: Any, values: Any, prior: Prior, sampling: str, sample_weight: Any, clip: bool
) -> float:
    metric = ESTIMATES[name]
    sample = pu_sample(s, values, prior, sampling, sample_weight, name, binary=metric.binary)
    value = metric.estimate(sample).value
    return min(max(value, 0.0), metric.highest) if clip else value


@_documented
def pu_zero_one_risk(
    s: Any,
    predictions: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The zero-one risk π + Q − 2 π TPR: the share of wrong predictions.

    Notes
    -----
    The paper's R̂_pu with the zero-one loss, Eq. (4). It is linear in the shares, hence unbiased.

    Examples
    --------
    >>> pu_zero_one_risk([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], prior=0.25)
    0.0
    """
    return _value("pu_zero_one_risk", s, predictions, prior, sampling, sample_weight, clip)


@_documented
def pu_accuracy(
    s: Any,
    predictions: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The accuracy 2 π TPR + (1 − Q) − π: one minus the zero-one risk.

    Notes
    -----
    Unbiased; needs the prior. It says little where positives are rare: prefer `pu_f1` there.

    Examples
    --------
    >>> pu_accuracy([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.75
    """
    return _value("pu_accuracy", s, predictions, prior, sampling, sample_weight, clip)


@_documented
def pu_precision(
    s: Any,
    predictions: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
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
    return _value("pu_precision", s, predictions, prior, sampling, sample_weight, clip)


@_documented
def pu_recall(
    s: Any,
    predictions: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The recall TPR: the share of positives that are predicted positive.

    Notes
    -----
    Needs only that labelled positives are a random sample of all positives.

    Examples
    --------
    >>> pu_recall([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    return _value("pu_recall", s, predictions, prior, sampling, sample_weight, clip)


@_documented
def pu_f1(
    s: Any,
    predictions: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The F1 score 2 π TPR / (π + Q): the harmonic mean of precision and recall.

    Notes
    -----
    Consistent; its bias vanishes like 1/n.

    Examples
    --------
    >>> pu_f1([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    return _value("pu_f1", s, predictions, prior, sampling, sample_weight, clip)


@_documented
def lee_liu_score(
    s: Any,
    predictions: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
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
    return _value("lee_liu_score", s, predictions, prior, sampling, sample_weight, clip)


@_documented
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


#: The metrics by name.
METRICS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        metric.__name__: metric
        for metric in (
            pu_zero_one_risk,
            pu_accuracy,
            pu_precision,
            pu_recall,
            pu_f1,
            lee_liu_score,
            pu_roc_auc,
        )
    }
)
