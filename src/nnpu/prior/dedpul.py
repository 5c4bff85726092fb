"""DEDPUL: the ratio of the densities of the scores, and the share at which it saturates.

Ivanov (2020), DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nnpu.prior.curve import FloatArray

__all__ = ["dedpul"]

BINS = 20
STEP = 0.001
LAG = 0.05


def dedpul(scores_p: FloatArray, scores_u: FloatArray) -> float:
    """Return the share of positives in U.

    With r = f_p / f_u at the scores of U, a share α has the posteriors min(α r, 1), whose mean
    falls short of α by D(α). D is 0 while no posterior saturates and bends where the many rows of
    a plateau, at r = 1 / π, do so together: the estimate is where its second difference is
    greatest. Departs from the reference: densities are counts between quantiles of P, made
    monotone in the score, instead of kernel estimates; ties need no bandwidth then.

    Parameters
    ----------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)
        Out-of-fold scores.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positives, negatives = rng.normal(4, 1, 8000), rng.normal(0, 1, 2800)
    >>> share = dedpul(positives[:4000], np.concatenate([positives[4000:5200], negatives]))
    >>> bool(abs(share - 0.3) < 0.05)
    True
    """
    ratio = density_ratio(scores_p, scores_u)
    shares = np.arange(STEP, 1 + STEP / 2, STEP)
    shortfall = np.array([share - np.minimum(share * ratio, 1).mean() for share in shares])
    lag = round(LAG / STEP)
    bend = shortfall[2 * lag :] - 2 * shortfall[lag:-lag] + shortfall[: -2 * lag]
    return float(shares[lag + int(np.argmax(bend))])


def density_ratio(scores_p: FloatArray, scores_u: FloatArray) -> FloatArray:
    """Return f_p / f_u at each score of U, non-decreasing in the score."""
    from sklearn.isotonic import IsotonicRegression

    inner = np.quantile(scores_p, np.arange(1, BINS) / BINS)
    edges = np.unique(inner)
    place_p, place_u = (np.searchsorted(edges, x, side="right") for x in (scores_p, scores_u))
    share_p = np.bincount(place_p, minlength=edges.size + 1) / scores_p.size
    share_u = np.bincount(place_u, minlength=edges.size + 1) / scores_u.size
    floor = 0.5 / scores_u.size  # a bin without rows of U
    raw = share_p / np.maximum(share_u, floor)
    smooth = IsotonicRegression().fit_transform(
        np.arange(raw.size), raw, sample_weight=np.maximum(share_u, floor)
    )
    ratio: FloatArray = np.asarray(smooth)[place_u]
    return ratio
