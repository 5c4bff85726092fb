"""Soft labels of U from scores: what a second model is fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["positive_share", "soft_labels"]


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
