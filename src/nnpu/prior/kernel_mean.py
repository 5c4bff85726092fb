"""KM2: kernel mean embedding (Ramaswamy, Scott and Tewari, 2016), on a subsample.

With φ(U) and φ(P) the mean embeddings, λ φ(U) + (1 − λ) φ(P) is the embedding of a distribution
as long as λ ≤ 1 / (1 − π), and leaves the hull of the data beyond: the distance to the hull starts
to rise. KM2 finds where its slope exceeds a threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nnpu.prior.curve import FloatArray

__all__ = ["kernel_mean"]

ROWS = 300
LARGEST = 20.0
SLOPE = 0.2
ITERATIONS = 200


def kernel_mean(x_p: FloatArray, x_u: FloatArray, rng: np.random.Generator) -> float:
    """Return the share of positives in U, from at most 300 rows of each sample.

    Parameters
    ----------
    x_p, x_u : ndarray of shape (n_p, d), (n_u, d)
        Features.
    rng : Generator
        Chooses the subsample.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_n = rng.normal(4, 1, (500, 1)), rng.normal(0, 1, (210, 1))
    >>> share = kernel_mean(x_p[:400], np.concatenate([x_p[400:490], x_n]), rng)
    >>> bool(abs(share - 0.3) < 0.1)
    True
    """
    from sklearn.metrics.pairwise import rbf_kernel

    x_p, x_u = (x[rng.permutation(x.shape[0])[:ROWS]] for x in (x_p, x_u))
    x = np.concatenate([x_u, x_p])
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
    kernel = rbf_kernel(x, gamma=1 / x.shape[1])
    mean_u = np.repeat([1 / x_u.shape[0], 0.0], [x_u.shape[0], x_p.shape[0]])
    mean_p = np.repeat([0.0, 1 / x_p.shape[0]], [x_u.shape[0], x_p.shape[0]])
    steepest = float(np.sqrt(np.maximum((mean_u - mean_p) @ kernel @ (mean_u - mean_p), 1e-12)))
    low, high = 1.0, LARGEST
    while high - low > 0.02 * low:
        middle, step = (low + high) / 2, (high - low) / 8
        near, far = (
            _distance(kernel, value * mean_u + (1 - value) * mean_p)
            for value in (middle - step, middle + step)
        )
        low, high = (
            (low, middle) if (far - near) / (2 * step) > SLOPE * steepest else (middle, high)
        )
    return 1 - 1 / low


def _distance(kernel: FloatArray, target: FloatArray) -> float:
    """Return the distance from an embedding to the hull of the data, by accelerated descent."""
    size = float(kernel.sum(axis=1).max())  # bounds the largest eigenvalue: no entry is negative
    weights = momentum = _onto_simplex(target)
    t = 1.0
    for _ in range(ITERATIONS):
        moved = _onto_simplex(momentum - kernel @ (momentum - target) / size)
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = moved + (t - 1) / t_next * (moved - weights)
        weights, t = moved, t_next
    gap = weights - target
    return float(np.sqrt(np.maximum(gap @ kernel @ gap, 0.0)))


def _onto_simplex(vector: FloatArray) -> FloatArray:
    """Project onto the non-negative vectors of sum 1 (Duchi et al., 2008)."""
    ordered = np.sort(vector)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, vector.size + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    projected: FloatArray = np.maximum(vector - excess[last], 0)
    return projected
