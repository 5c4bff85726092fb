"""Metrics of a binary classifier estimated from positives and unlabelled rows.

TPR is the share of P predicted positive and Q that of the population, as in
`nnpu.metrics.sample`; with the prior π the confusion matrix follows:
TP = π TPR, FP = Q − π TPR, FN = π (1 − TPR), TN = 1 − Q − π (1 − TPR).
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scipy.stats import norm

from nnpu.metrics.formulas import ESTIMATES
from nnpu.metrics.sample import pu_sample
from nnpu.parameters import ParameterError, check_choice, check_number, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "METRICS",
    "interval",
    "lee_liu_score",
    "pu_accuracy",
    "pu_f1",
    "pu_precision",
    "pu_recall",
    "pu_roc_auc",
    "pu_zero_one_risk",
]


def _value(
    name: str, s: Any, values: Any, prior: float, sampling: str, sample_weight: Any, clip: bool
) -> float:
    metric = ESTIMATES[name]
    sample = pu_sample(s, values, prior, sampling, sample_weight, name, binary=metric.binary)
    value = metric.estimate(sample).value
    return min(max(value, 0.0), metric.highest) if clip else value


def pu_zero_one_risk(
    s: Any,
    predictions: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The zero-one risk π + Q − 2 π TPR: the share of wrong predictions.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

    Notes
    -----
    The paper's R̂_pu with the zero-one loss, Eq. (4). It is linear in the shares, hence unbiased.

    Examples
    --------
    >>> pu_zero_one_risk([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], prior=0.25)
    0.0
    """
    return _value("pu_zero_one_risk", s, predictions, prior, sampling, sample_weight, clip)


def pu_accuracy(
    s: Any,
    predictions: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The accuracy 2 π TPR + (1 − Q) − π: one minus the zero-one risk.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

    Notes
    -----
    Unbiased; needs the prior. It says little where positives are rare: prefer `pu_f1` there.

    Examples
    --------
    >>> pu_accuracy([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.75
    """
    return _value("pu_accuracy", s, predictions, prior, sampling, sample_weight, clip)


def pu_precision(
    s: Any,
    predictions: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The precision π TPR / Q: the share of predicted positives that are positive.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

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


def pu_recall(
    s: Any,
    predictions: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The recall TPR: the share of positives that are predicted positive.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
        Recall does not depend on it.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

    Notes
    -----
    Needs only that labelled positives are a random sample of all positives.

    Examples
    --------
    >>> pu_recall([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    return _value("pu_recall", s, predictions, prior, sampling, sample_weight, clip)


def pu_f1(
    s: Any,
    predictions: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The F1 score 2 π TPR / (π + Q): the harmonic mean of precision and recall.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

    Notes
    -----
    Consistent; its bias vanishes like 1/n.

    Examples
    --------
    >>> pu_f1([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], prior=0.25)
    0.5
    """
    return _value("pu_f1", s, predictions, prior, sampling, sample_weight, clip)


def lee_liu_score(
    s: Any,
    predictions: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """TPR² / Q of Lee and Liu (2003): precision times recall, divided by the prior.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    predictions : array-like of shape (n,)
        1 for rows predicted positive, 0 for the others.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
        The score does not depend on it: this is the criterion when no prior is known.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

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


def pu_roc_auc(
    s: Any,
    scores: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    clip: bool = False,
) -> float:
    """The area under the ROC curve, (A − π/2) / (1 − π) with A that of P against the population.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled; known negatives (−1) are not part of U.
    scores : array-like of shape (n,)
        Greater for rows that are more likely positive; ties count one half.
    prior : float
        π_p, the share of positives in U (two-sample) or in the one sample as a whole.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    sample_weight : array-like of shape (n,), optional
        The weight of each row.
    clip : bool, default=False
        Whether to move the value into the possible range. An impossible value is a sign that the
        prior is wrong, or that the labelled positives are not a random sample of all positives.

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


def interval(
    metric: str | Callable[..., float],
    s: Any,
    values: Any,
    *,
    prior: float,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    level: float = 0.9,
    clip: bool = False,
) -> tuple[float, float]:
    """Return a confidence interval of a metric, by the delta method.

    P and U vary separately in the two-sample setting, and rows jointly in the one-sample setting.
    The prior is taken as known: what its own uncertainty does is seen by calling this at both
    ends of its interval.

    Parameters
    ----------
    metric : str or callable
        One of `METRICS`, or its name.
    s, values, prior, sampling, sample_weight, clip
        As in the metric; `values` are its predictions or scores.
    level : float, default=0.9
        The share of samples whose interval should hold the truth.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> s, predictions = [1] * 100 + [0] * 100, [1] * 80 + [0] * 20 + [1] * 40 + [0] * 60
    >>> low, high = interval("pu_recall", s, predictions, prior=0.3)
    >>> low < 0.8 < high, round(high - low, 2)
    (True, 0.13)
    """
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", None)
    if not isinstance(name, str) or (callable(metric) and METRICS.get(name) is not metric):
        raise ParameterError(
            "The 'metric' parameter of interval must be a metric of nnpu.metrics or its name. "
            f"Got {shown(metric)} instead."
        )
    check_choice("metric", name, "interval", METRICS)
    check_number("level", level, "interval", low=0, high=1, include_low=False, include_high=False)
    chosen = ESTIMATES[name]
    sample = pu_sample(s, values, prior, sampling, sample_weight, name, binary=chosen.binary)
    value, variance = chosen.estimate(sample)
    margin = float(norm.ppf((1 + level) / 2)) * math.sqrt(variance)
    low, high = value - margin, value + margin
    if clip:
        low, high = (min(max(limit, 0.0), chosen.highest) for limit in (low, high))
    return low, high
