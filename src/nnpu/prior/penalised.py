"""penL1: the share whose scaled P fits U best in penalised L1 distance.

du Plessis, Niu and Sugiyama (2017), Class-prior estimation for learning from positive and
unlabeled data, Machine Learning 106. The penalty lets U exceed π p(x | y = +1) at no cost, so that
the best share is not drawn up by the negatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.prior.curve import FloatArray

__all__ = ["penalised_l1"]

CENTRES = 200
WIDTHS = (0.25, 0.5, 1.0, 2.0)
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)
SHARES = np.linspace(0.005, 1, 200)


def penalised_l1(x_p: FloatArray, x_u: FloatArray, rng: np.random.Generator) -> float:
    """Return the share of positives in U.

    With Gaussian bumps φ_l and β_l(θ) = θ mean_P φ_l − mean_U φ_l, the distance at share θ has the
    closed form Σ_l max(0, β_l)² / λ − θ + 1. The width and λ are those whose fitted witness tells
    P from U best on the other half of the rows.

    Parameters
    ----------
    x_p, x_u : ndarray of shape (n_p, d), (n_u, d)
        Features.
    rng : Generator
        Chooses the centres and the halves.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_n = rng.normal(4, 1, (3000, 1)), rng.normal(0, 1, (1400, 1))
    >>> share = penalised_l1(x_p[:1000], np.concatenate([x_p[1000:1600], x_n]), rng)
    >>> bool(abs(share - 0.3) < 0.1)
    True
    """
    x = np.concatenate([x_p, x_u])
    centre, spread = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-12)
    x_p, x_u = (x_p - centre) / spread, (x_u - centre) / spread
    centres = np.concatenate([x_p, x_u])[rng.permutation(x.shape[0])[:CENTRES]]
    distance_p, distance_u = _squared(x_p, centres), _squared(x_u, centres)
    scale = float(np.median(distance_u)) or 1.0  # 0 where most of U are ties
    first_p, first_u = (rng.permutation(d.shape[0]) % 2 == 0 for d in (distance_p, distance_u))
    best = (-np.inf, 1.0, 1.0)
    for width in WIDTHS:
        bumps_p, bumps_u = (np.exp(-d / (2 * width * scale)) for d in (distance_p, distance_u))
        for penalty in PENALTIES:
            gain = _held_out_gain(bumps_p, bumps_u, first_p, first_u, penalty)
            best = max(best, (gain, width, penalty))
    _, width, penalty = best
    mean_p, mean_u = (np.exp(-d / (2 * width * scale)).mean(0) for d in (distance_p, distance_u))
    beta = np.maximum(SHARES[:, None] * mean_p - mean_u, 0)  # (shares, centres)
    return float(SHARES[np.argmin(np.square(beta).sum(axis=1) / penalty - SHARES)])


def _held_out_gain(
    bumps_p: FloatArray,
    bumps_u: FloatArray,
    first_p: NDArray[np.bool_],
    first_u: NDArray[np.bool_],
    penalty: float,
) -> float:
    """Return θ mean_P r − mean_U r at θ = 1 on one half for r ≤ 1 fitted to the other half."""
    weights = np.maximum(bumps_p[first_p].mean(0) - bumps_u[first_u].mean(0), 0) / penalty
    witness_p, witness_u = (
        np.minimum(bumps @ weights, 2.0) - 1 for bumps in (bumps_p[~first_p], bumps_u[~first_u])
    )
    return float(witness_p.mean() - witness_u.mean())


def _squared(x: FloatArray, centres: FloatArray) -> FloatArray:
    from sklearn.metrics.pairwise import euclidean_distances

    distances: FloatArray = euclidean_distances(x, centres, squared=True)
    return distances
