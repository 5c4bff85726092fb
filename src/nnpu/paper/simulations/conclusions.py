"""Whether a simulated figure contradicts a bound, beyond what chance explains."""

from __future__ import annotations

import math

__all__ = ["frequency_contradicts", "mean_contradicts"]


def frequency_contradicts(count: int, draws: int, bound: float, level: float) -> bool:
    """Whether `count` events in `draws` are too many for a probability of at most `bound`.

    The exact binomial test: the chance of so many events, were the probability equal to the
    bound, is below `level`.

    Examples
    --------
    >>> frequency_contradicts(360, 1000, 0.35, level=1e-3)
    False
    >>> frequency_contradicts(360, 1000, 0.0041, level=1e-3)
    True
    """
    from scipy.stats import binom

    if bound >= 1:
        return False
    return bool(binom.sf(count - 1, draws, max(0.0, bound)) < level)


def mean_contradicts(mean: float, standard_error: float, bound: float, level: float) -> bool:
    """Whether a mean of many draws is too large for an expectation of at most `bound`.

    Examples
    --------
    >>> mean_contradicts(0.11, 0.01, 0.1, level=1e-3)
    False
    >>> mean_contradicts(0.15, 0.01, 0.1, level=1e-3)
    True
    """
    from scipy.stats import norm

    slack = 1e-12 * max(1.0, abs(bound))  # rounding of the sums
    return mean - bound > float(norm.isf(level)) * standard_error + slack and not math.isnan(mean)
