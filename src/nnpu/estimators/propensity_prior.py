"""The share of positives where labels depend on x: by propensities, given or estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate, estimate_prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.labelling_model import Floats

__all__ = ["weighted_estimate", "weighted_share"]

_DRAWS = 2
_MOST = 0.95  # quantile of the weights above which no row counts more
_MORE = 1 + 1e-6  # the prior is greater than the labelled share
_Z90 = 1.645


def weighted_share(s: NDArray[np.bool_], chance: Floats) -> PriorEstimate:
    """Return the mean of s / e, which is the share of positives if the propensities are right."""
    value = s / chance
    share, margin = float(value.mean()), _Z90 * float(value.std() / np.sqrt(len(s)))
    if share >= 1:
        raise InputError(
            f"The mean of s / chance is {share:.3g}: more positives than rows. The propensities "
            "are too small; give larger ones, or a prior."
        )
    low, high = max(share - margin, float(s.mean())), min(share + margin, 1.0)
    said = f"The share of positives is about {share:.2g} ({low:.2g} to {high:.2g}), by the "
    said += "propensities that were given. It is right if they are."
    return PriorEstimate(share, min(low, share), high, "auto", True, said, sampling="one-sample")


def weighted_estimate(
    X: Any, s: NDArray[np.bool_], chance: Floats, groups: NDArray[np.intp] | None, seed: int
) -> PriorEstimate:
    """Estimate the prior from labelled rows that count 1 / e each, against all rows.

    Counted so, labelled rows are like a random sample of the positives. They are drawn by their
    weights, as many as they are worth, and a row's copies share its fold.
    """
    labelled = np.flatnonzero(s)
    weight = 1 / chance[labelled]
    weight = np.minimum(weight, np.quantile(weight, _MOST))
    size = max(round(weight.sum() ** 2 / np.square(weight).sum()), 2)
    steps = np.cumsum(weight) / weight.sum() * size
    steps[-1] = size  # rounding
    together = np.arange(len(s)) if groups is None else groups
    found = []
    for number in range(_DRAWS):
        start = np.random.default_rng([seed, number]).random()
        chosen = labelled[np.searchsorted(steps, start + np.arange(size))]
        pair = (together[chosen], together)
        found.append(estimate_prior(X[chosen], X, random_state=seed + number, groups=pair))
    least = float(s.mean()) * _MORE
    value, low, high, bound = (
        min(max(float(np.mean([getattr(one, name) for one in found])), least), 1.0)
        for name in ("value", "low", "high", "upper_bound")
    )
    said = (
        f"The share of positives is about {value:.2g} ({low:.2g} to {high:.2g}), from labelled "
        "rows weighted by their estimated propensity. Rows alone cannot show whether a column "
        "drives the class or the labelling: a prior known from elsewhere, or a review of 100 "
        "unlabelled rows, would settle it."
    )
    return PriorEstimate(
        value, low, high, "auto", False, said, sampling="one-sample", upper_bound=max(bound, value)
    )
