"""How many rows of a list are positive, by answers to some of them that were drawn at random.

The list is finite and drawn from without replacement, so that the number of yeses is
hypergeometric: the intervals are exact, whatever the model is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln
from scipy.stats import hypergeom

from nnpu.hidden import Estimate
from nnpu.parameters import ParameterError, check_count, check_prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["list_count"]


def list_count(
    yes: int, answered: int, size: int, *, confidence: float = 0.9, anytime: bool = False
) -> Estimate:
    """Return how many rows of a list are positive, with an exact interval.

    Parameters
    ----------
    yes, answered : int
        Answers, and how many of them are yes, to rows that were drawn at random.
    size : int
        Rows of the list.
    confidence : float, default=0.9
        How often the interval holds, at least.
    anytime : bool, default=False
        Whether it holds however the moment to stop was chosen, also by the answers themselves. It
        is then somewhat wider.

    Returns
    -------
    Estimate
        Numbers of rows: the best guess and the two ends.

    Notes
    -----
    The fixed interval keeps each count under which neither as many yeses as these nor as few are
    rarer than (1 − confidence) / 2. The other one keeps each count whose posterior under a uniform
    prior is at least (1 − confidence) times that prior: the ratio is a martingale under the true
    count (Waudby-Smith and Ramdas 2020, Confidence sequences for sampling without replacement).

    Examples
    --------
    >>> list_count(12, 30, 200)
    Estimate(value=80.0, low=52.0, high=110.0)
    >>> list_count(200, 200, 200)
    Estimate(value=200.0, low=200.0, high=200.0)
    """
    owner = "list_count"
    size = check_count("size", size, owner)
    answered = check_count("answered", answered, owner, low=0)
    yes = check_count("yes", yes, owner, low=0)
    confidence = check_prior(confidence, owner, name="confidence")
    if not yes <= answered <= size:
        raise ParameterError(
            "The 'yes', 'answered' and 'size' parameters of list_count must not fall in that "
            f"order. Got {yes}, {answered} and {size} instead."
        )
    counts = np.arange(yes, size - (answered - yes) + 1)  # those that the answers allow
    if anytime:
        kept = counts[_posterior(counts, yes, answered, size) * (size + 1) >= 1 - confidence]
    else:
        tail = (1 - confidence) / 2
        as_many = hypergeom.sf(yes - 1, size, counts, answered)
        as_few = hypergeom.cdf(yes, size, counts, answered)
        kept = counts[(as_many > tail) & (as_few > tail)]
    value = size * yes / answered if answered else size / 2
    return Estimate(float(value), float(min(kept[0], value)), float(max(kept[-1], value)))


def _posterior(
    counts: NDArray[np.int64], yes: int, answered: int, size: int
) -> NDArray[np.float64]:
    """Return the posterior of each count under a uniform prior over 0, 1, …, size."""

    def log_choose(n: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    logs = log_choose(counts, yes) + log_choose(size - counts, answered - yes)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
