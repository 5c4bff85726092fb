"""Confidence intervals of the metrics, and what an impossible value contradicts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scipy.stats import norm

from nnpu.metrics.estimates import ESTIMATES, METRICS, pu_sample
from nnpu.parameters import ParameterError, check_choice, check_number, shown
from nnpu.prior.estimate import PriorEstimate
from nnpu.ranges import Z90

if TYPE_CHECKING:
    from collections.abc import Callable

    from nnpu.metrics.estimates import Prior, ScoredSample, ValueAndVariance

__all__ = ["contradiction", "interval"]

_WORDS = {
    "pu_zero_one_risk": "an error",
    "pu_accuracy": "an accuracy",
    "pu_precision": "a precision",
    "pu_recall": "a recall",
    "pu_f1": "an F1",
    "pu_roc_auc": "an AUC",
}


def interval(
    metric: str | Callable[..., float],
    s: Any,
    values: Any,
    *,
    prior: Prior,
    sampling: str = "two-sample",
    sample_weight: Any = None,
    level: float = 0.9,
    clip: bool = False,
) -> tuple[float, float]:
    """Return the range of a metric: a confidence interval, by the delta method.

    P and U vary separately in the two-sample setting, and rows jointly in the one-sample setting.
    A number as the prior is taken as known. The range of a `PriorEstimate` is carried into that
    of the metric: all metrics are monotone in the prior, so each end of the prior's range gives
    one end, and the two sources of error add in quadrature.

    Parameters
    ----------
    metric : str or callable
        One of `METRICS`, or its name.
    s, values, prior, sampling, sample_weight, clip
        As in the metric; `values` are its predictions or scores.
    level : float, default=0.9
        The share of samples whose range should hold the truth.

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
    name = _name(metric, "interval")
    check_number("level", level, "interval", low=0, high=1, include_low=False, include_high=False)
    chosen, z = ESTIMATES[name], float(norm.ppf((1 + level) / 2))
    sample = pu_sample(s, values, prior, sampling, sample_weight, name, binary=chosen.binary)
    value, variance = chosen.estimate(sample)
    margin = z * math.sqrt(variance)
    low, high = value - margin, value + margin
    if isinstance(prior, PriorEstimate) and math.isfinite(value):
        for end, variance in _at_ends(sample, prior, z / Z90, chosen.estimate):
            reach = math.hypot(end - value, z * math.sqrt(variance))
            low, high = (
                (min(low, value - reach), high) if end < value else (low, max(high, value + reach))
            )
    if clip:
        low, high = (min(max(limit, 0.0), chosen.highest) for limit in (low, high))
    return low, high


def _at_ends(
    sample: ScoredSample,
    prior: PriorEstimate,
    scale: float,
    estimate: Callable[[ScoredSample], ValueAndVariance],
) -> list[ValueAndVariance]:
    """Return the metric at both ends of the prior's range, as far as the rows allow them."""
    n = float(sample.weights_q.sum())
    least = float(sample.weights_p.sum()) / n if sample.sampling == "one-sample" else 0.0
    ends = (prior.value + scale * (limit - prior.value) for limit in (prior.low, prior.high))
    possible = (min(max(end, least + 0.5 / n), 1 - 0.5 / n) for end in ends)
    return [estimate(replace(sample, prior=end)) for end in possible]


def contradiction(
    metric: str | Callable[..., float], value: float, low: float = -math.inf, high: float = math.inf
) -> str:
    """Say which assumption a value outside of the possible range contradicts; "" if it is inside.

    Parameters
    ----------
    metric : str or callable
        One of `METRICS`, or its name.
    value : float
        Its unclipped estimate.
    low, high : float, optional
        Its range: if that reaches a possible value, chance alone is an explanation.

    Examples
    --------
    >>> contradiction("pu_accuracy", 0.9)
    ''
    >>> print(contradiction("pu_precision", 1.3, 1.2, 1.4))
    A precision of 1.30 is impossible: the prior is too large, or the labelled rows are not a random
    sample of the positives.
    >>> print(contradiction("pu_roc_auc", 1.02, 0.97, 1.07))
    An AUC of 1.02 is impossible, but within the error of so few rows: read it as at least 0.97.
    """
    name = _name(metric, "contradiction")
    highest = ESTIMATES[name].highest
    if name not in _WORDS or math.isnan(value) or 0 <= value <= highest:
        return ""
    words = _WORDS[name]
    shown = (f"{value:.{digits}f}" for digits in range(2, 17))  # 1.004 is no 1.00
    beyond = next((each for each in shown if not 0 <= float(each) <= highest), repr(value))
    what = f"{words[0].upper()}{words[1:]} of {beyond}"
    if low <= highest < value and math.isfinite(low):
        return _by_chance(what, f"at least {low:.2f}" if low > 0 else "")
    if high >= 0 > value and math.isfinite(high):
        return _by_chance(what, f"at most {high:.2f}" if high < highest else "")
    return (
        f"{what} is impossible: the prior is too large, or the labelled rows are not a random "
        "sample of the positives."
    )


def _by_chance(what: str, read: str) -> str:
    """Say what a value beyond the possible ones means if its range reaches them."""
    if not read:  # the range holds every possible value
        return f"{what} is impossible: so few rows say nothing about it."
    return f"{what} is impossible, but within the error of so few rows: read it as {read}."


def _name(metric: Any, owner: str) -> str:
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", None)
    if not isinstance(name, str) or (callable(metric) and METRICS.get(name) is not metric):
        raise ParameterError(
            f"The 'metric' parameter of {owner} must be a metric of nnpu.metrics or its name. "
            f"Got {shown(metric)} instead."
        )
    return check_choice("metric", name, owner, METRICS)
