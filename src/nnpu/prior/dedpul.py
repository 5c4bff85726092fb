"""DEDPUL: the ratio of the densities of the scores, and the share that it converges to.

Ivanov (2020), DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d, median_filter
from scipy.special import logit

if TYPE_CHECKING:
    from nnpu.prior.curve import FloatArray

__all__ = ["dedpul", "density_ratio"]

#: The reference's bandwidths, in standard deviations of the scores, of P and of U.
BANDWIDTH_P, BANDWIDTH_U = 0.1, 0.05

#: The reference's greatest ratio, the step of its shares, and the greatest shortfall of a bend.
HIGHEST, STEP, SHORT = 50.0, 0.001, 0.05

_POINTS = 1000  # at so many quantiles of U the ratio is taken
_GRID = 4000  # cells of the densities
_SURE = 1e-5  # probabilities nearer to 0 or 1 count as this


def dedpul(scores_p: FloatArray, scores_u: FloatArray) -> float:
    """Return the share of positives in U.

    With r = f_p / f_u at the scores of U, a share α has the posteriors min(α r, 1), whose mean
    falls short of α by D(α). Expectation-maximisation from α = 1 stops at the greatest share with
    D(α) = 0. With errors in r there may be none but 0; then the estimate is where D bends most.

    Parameters
    ----------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)
        Out-of-fold scores. Probabilities are taken to the scale of log-odds, as in the reference;
        on other scales the estimate depends on the scale.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positives, negatives = rng.normal(4, 1, 8000), rng.normal(0, 1, 2800)
    >>> share = dedpul(positives[:4000], np.concatenate([positives[4000:5200], negatives]))
    >>> bool(abs(share - 0.3) < 0.03)
    True
    """
    ratio = density_ratio(scores_p, scores_u)
    shares = np.arange(STEP, 1 + STEP / 2, STEP)
    sums, saturated = np.append(0, np.cumsum(ratio)), np.searchsorted(ratio, 1 / shares)
    shortfall = shares - (shares * sums[saturated] + ratio.size - saturated) / ratio.size
    converged = 1.0
    for _ in range(1000):
        updated = float(np.minimum(converged * ratio, 1).mean())
        if converged - updated < 1e-5 or converged * ratio.max() < 1:
            break
        converged = updated
    inner = shortfall[1:-1]
    bend = np.where(inner < SHORT, np.diff(shortfall, 2), -np.inf)
    bent = float(shares[1:-1][np.argmax(bend)])
    if bent <= converged or ((shortfall < 0).sum() > 1 and converged > STEP):
        return converged
    return bent


def density_ratio(scores_p: FloatArray, scores_u: FloatArray) -> FloatArray:
    """Return f_p / f_u at quantiles of U, non-decreasing in the score.

    Kernel densities on the scale of log-odds; the ratio is made monotone where rows look more
    like P than like U, and smoothed by running medians. Departs from the reference: it does this
    at every row of U, and weakly monotonises the other rows too.
    """
    p, u = _log_odds(scores_p, scores_u)
    at = np.sort(np.quantile(u, (np.arange(_POINTS) + 0.5) / _POINTS))
    low, high = min(p.min(), u.min()), max(p.max(), u.max())
    edges = np.linspace(low, high, _GRID + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    width = (high - low) / _GRID
    density_p, density_u = (
        np.interp(
            at,
            centres,
            gaussian_filter1d(
                np.histogram(x, edges)[0] / x.size, max(b * x.std() / width, 1) if width else 1
            ),
        )
        for x, b in ((p, BANDWIDTH_P), (u, BANDWIDTH_U))
    )
    ratio = np.minimum(density_p / (density_u + 1e-5 * density_u.max()), HIGHEST)
    ratio = median_filter(ratio, 11, mode="nearest")
    likely = at >= (p.mean() + u.mean()) / 2
    ratio[likely] = np.maximum.accumulate(ratio[likely])
    smooth: FloatArray = np.sort(median_filter(ratio, _POINTS // 10 + 1, mode="nearest"))
    return smooth


def _log_odds(scores_p: FloatArray, scores_u: FloatArray) -> tuple[FloatArray, FloatArray]:
    together = np.concatenate([scores_p, scores_u])
    if together.min() >= 0 and together.max() <= 1:
        together = logit(np.clip(together, _SURE, 1 - _SURE))
    return together[: scores_p.size], together[scores_p.size :]
