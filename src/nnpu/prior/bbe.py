"""Best bin estimation: the ratio q_u / q_p at the threshold with the least upper limit.

Garg, Wu, Smola, Balakrishnan and Lipton (2021), Mixture proportion estimation and PU learning:
a modern approach. The interval is not theirs: see `best_bin_interval`.
"""

from __future__ import annotations

import math

import numpy as np

from nnpu.prior.curve import TOP, FloatArray, Ratio, RatioCurve, ratio_at, ratio_curve

__all__ = ["best_bin", "best_bin_interval", "best_threshold"]

DELTA = 0.1
GAMMA = 0.01


def best_threshold(curve: RatioCurve, n_p: int, n_u: int) -> int:
    """Return the index of the threshold with the least upper confidence limit on q_u / q_p."""
    width = math.sqrt(math.log(4 / DELTA) / (2 * n_u)) + math.sqrt(math.log(4 / DELTA) / (2 * n_p))
    return int(np.argmin((curve.q_u + (1 + GAMMA) * width) / curve.q_p))  # ties: the larger bin


def best_bin(scores_p: FloatArray, scores_u: FloatArray) -> float:
    """Return the best-bin estimate of the share of positives in U.

    Parameters
    ----------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)
        Scores of rows that the model was not fitted to; in-sample scores ruin the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> best_bin(np.ones(100), np.repeat([1.0, 0.0], [25, 75]))
    0.25
    """
    curve = ratio_curve(scores_p, scores_u)
    chosen = best_threshold(curve, scores_p.size, scores_u.size)
    return min(float(curve.q_u[chosen] / curve.q_p[chosen]), 1.0)


def best_bin_interval(
    scores_p: FloatArray, scores_u: FloatArray, rng: np.random.Generator
) -> tuple[float, float]:
    """Return a 90 % interval for the share of positives in U.

    The threshold is chosen on one half of the rows and the ratio taken on the other, then with the
    halves exchanged; the geometric mean of the two has no bias of selection, and its upper limit
    is the interval's. Since the chosen bin may hold negatives, the lower limit is the least of the
    mean's and that of the ratio at the threshold that holds the top 15 % of P.
    """
    halves_p, halves_u = _halves(scores_p, rng), _halves(scores_u, rng)
    ratios = []
    for here, there in ((0, 1), (1, 0)):
        curve = ratio_curve(halves_p[there], halves_u[there])
        chosen = best_threshold(curve, halves_p[there].size, halves_u[there].size)
        ratios.append(ratio_at(float(curve.thresholds[chosen]), halves_p[here], halves_u[here]))
    low, high = _geometric_mean(*ratios).limits()
    top = ratio_at(float(np.quantile(scores_p, 1 - TOP)), scores_p, scores_u)
    return min(low, top.limits()[0], 1.0), min(high, 1.0)


def _geometric_mean(first: Ratio, second: Ratio) -> Ratio:
    error = math.hypot(first.log_error, second.log_error) / 2
    return Ratio(math.sqrt(first.value * second.value), error)


def _halves(scores: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    order = rng.permutation(scores.size)
    middle = scores.size // 2
    return scores[order[:middle]], scores[order[middle:]]
