"""Whether a fit collapsed: it calls everything negative, or ranks like chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.prior.curve import auc

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["collapse", "collapse_message"]


def collapse(scores_p: NDArray[Any], scores_u: NDArray[Any]) -> str:
    """Return what is wrong with the scores of rows that a model was fitted to; "" if nothing is.

    Parameters
    ----------
    scores_p, scores_u : ndarray
        Of labelled and of unlabelled rows.

    Examples
    --------
    >>> collapse(np.array([1.0, 2.0]), np.array([-1.0, 0.5, -2.0]))
    ''
    >>> collapse(np.array([-1.0, -0.5]), np.array([-3.0, -2.0]))
    'it calls no labelled row positive'
    >>> collapse(np.zeros(2), np.zeros(3))
    'all rows have the same score'
    """
    if not len(scores_p) or not len(scores_u):
        return ""
    scores = np.concatenate([scores_p, scores_u]).astype(np.float64)
    if not np.all(np.isfinite(scores)):
        return "its scores are not finite"
    if np.ptp(scores) == 0:
        return "all rows have the same score"
    area = auc(scores_p, scores_u)
    if area <= 0.5:  # on rows that it was fitted to
        return f"it ranks the labelled rows no higher than the others (AUC {area:.3f})"
    if not np.any(np.asarray(scores_p) > 0):
        return "it calls no labelled row positive"
    return ""


def collapse_message(first: str, last: str) -> str:
    """Return the warning about a fit that collapsed, and whether another training helped."""
    if not last:
        return (
            f"The first training of the network collapsed: {first}. Another seed and a smaller "
            "step size helped, and that network is the result."
        )
    return (
        f"The network collapsed: {last}. Other seeds and smaller step sizes did not help. Do not "
        "use it as it is: try EnsemblePU or LinearPU, or check the prior. If only the cut is at "
        "fault, choose_threshold(at='prior') sets another."
    )
