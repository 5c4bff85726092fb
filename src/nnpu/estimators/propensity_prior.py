"""The share of positives where labels depend on x: by propensities, given or estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate, estimate_prior

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.labelling_model import Floats

__all__ = ["thinned_estimate", "weighted_share"]

_THINNINGS = 5
_LEAST = 0.1  # quantile of e among labelled rows below which thinning keeps every row
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


def thinned_estimate(
    log_odds: Floats, s: NDArray[np.bool_], chance: Floats, seed: int
) -> PriorEstimate:
    """Estimate the prior from labelled rows that are kept with a chance proportional to 1 / e."""
    rng = np.random.default_rng(seed)
    keep = np.minimum(1.0, np.quantile(chance[s], _LEAST) / chance)
    found = []
    for number in range(_THINNINGS):
        kept = s & (rng.random(len(s)) < keep)
        if min(kept.sum(), (~kept).sum()) < 2:
            continue
        found.append(
            estimate_prior(
                log_odds[kept], log_odds[~kept], sampling="one-sample", random_state=number
            )
        )
    if not found:
        raise InputError("Too few labelled rows to estimate the prior from: give one.")
    b = float(s.mean())
    value, low, high, bound = (
        max(float(np.mean([getattr(one, name) for one in found])), b * _MORE)
        for name in ("value", "low", "high", "upper_bound")
    )
    said = (
        f"The share of positives is about {value:.2g} ({low:.2g} to {high:.2g}), from labelled "
        "rows thinned by their estimated propensity. It rests on the columns that were said to "
        "drive the labelling, and on few rows: a prior known from elsewhere is better."
    )
    return PriorEstimate(
        value, low, high, "auto", False, said, sampling="one-sample", upper_bound=max(bound, value)
    )
