"""The methods by name: out-of-fold scores in, a share of positives in U with a range out.

- Best bin estimation, the ratio q_u / q_p at the threshold with the least upper limit: Garg, Wu,
  Smola, Balakrishnan and Lipton (2021), Mixture proportion estimation and PU learning: a modern
  approach. The range is not theirs: see `best_bin_interval`.
- DEDPUL, the ratio of the densities of the scores, and the share that it converges to: Ivanov
  (2020), DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning.
- Elkan and Noto (2008), Learning classifiers from only positive and unlabeled data. If every
  positive is labelled with the same probability c, then P(labelled | x) = c P(y = +1 | x), so
  c is the mean probability of being labelled among positives, where classes do not overlap. Where
  they do, the mean is too small and the prior too large.
- KM2, kernel mean embedding (Ramaswamy, Scott and Tewari, 2016), on a subsample. With φ(U) and
  φ(P) the mean embeddings, λ φ(U) + (1 − λ) φ(P) is the embedding of a distribution as long as
  λ ≤ 1 / (1 − π), and leaves the hull of the data beyond: the distance to the hull starts to rise.
  KM2 finds where its slope exceeds a threshold.
- penL1, the share whose scaled P fits U best in penalised L1 distance: du Plessis, Niu and
  Sugiyama (2017), Class-prior estimation for learning from positive and unlabeled data, Machine
  Learning 106. The penalty lets U exceed π p(x | y = +1) at no cost, so the best share is not
  drawn up by the negatives.

The ranges of all but the first are a bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d, median_filter
from scipy.special import logit
from scipy.stats import rankdata

from nnpu.data.vectors import mean_and_scale
from nnpu.prior.curve import TOP, FloatArray, Ratio, RatioCurve, auc, ratio_at, ratio_curve
from nnpu.prior.mixture import Separation, mixture_posterior
from nnpu.ranges import ENDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Estimator = Callable[[FloatArray, FloatArray, np.random.Generator], float]

__all__ = [
    "METHODS",
    "Limits",
    "Method",
    "best_bin",
    "best_bin_interval",
    "best_threshold",
    "bootstrap",
    "dedpul",
    "density_ratio",
    "elkan_noto",
    "kernel_mean",
    "penalised_l1",
]

DELTA = 0.1  # of Garg et al.: their bound holds with probability 1 − δ
GAMMA = 0.01  # theirs too: the bin is chosen by a bound that is this much wider


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
    """Return a 90 % range for the share of positives in U.

    The threshold is chosen on one half of the rows and the ratio taken on the other, then with the
    halves exchanged; the geometric mean of the two has no bias of selection, and its upper limit
    is the range's. Since the chosen bin may hold negatives, the lower limit is the least of the
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


def elkan_noto(scores_p: FloatArray, scores_u: FloatArray) -> float:
    """Return the share of positives in U.

    The scores are first turned into probabilities by a logistic regression on them (Platt). P and
    U together are a population with labelled share b, in which positives have share b / c.

    Parameters
    ----------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)
        Out-of-fold scores.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat([1.0, 0.0], [300, 700])
    >>> round(elkan_noto(np.ones(1000), x), 2)
    0.3
    """
    from sklearn.linear_model import LogisticRegression

    scores = np.concatenate([scores_p, scores_u])
    spread = scores.std()
    if spread == 0:  # a resample of ties: every row is as likely to be labelled as any other
        return 1.0
    scores = (scores - scores.mean()) / spread
    s = np.repeat([1, 0], [scores_p.size, scores_u.size])
    platt = LogisticRegression(C=1e4, max_iter=1000).fit(scores[:, None], s)
    c = float(platt.predict_proba(scores[s == 1, None])[:, 1].mean())
    b = scores_p.size / s.size
    return min(max((b / c - b) / (1 - b), 0.0), 1.0)


ROWS = 300  # of each sample: each slope takes two descents with the kernel of all of them
LARGEST = 20.0  # λ at most, and so a share of 1 − 1/20
SLOPE = 0.2  # of the steepest one: where the distance begins to grow like this, λ is too large
ITERATIONS = 200  # of a descent


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
    mean, scale = mean_and_scale(x)
    x = (x - mean) / scale
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


CENTRES = 200  # of bumps
WIDTHS = (0.25, 0.5, 1.0, 2.0)  # of bumps, times the median squared distance
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)  # λ
SHARES = np.linspace(0.005, 1, 200)  # θ; the closed form is cheap


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
    mean, spread = mean_and_scale(x)
    x_p, x_u = (x_p - mean) / spread, (x_u - mean) / spread
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


def bootstrap(
    method: str, p: FloatArray, u: FloatArray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Estimate on the rows and on resampled ones, P and U separately; percentiles as limits.

    They show how much the method varies, not how far it is off.

    Parameters
    ----------
    method : {"dedpul", "elkan_noto", "km", "pen_l1"}
        The method.
    p, u : ndarray of shape (n_p,), (n_u,)
        Scores of rows that the model was not fitted to.
    rng : numpy.random.Generator
        The source of chance.
    """
    function, repeats = _FUNCTIONS[method]
    value = function(p, u, rng)
    repeated = [
        function(p[rng.integers(len(p), size=len(p))], u[rng.integers(len(u), size=len(u))], rng)
        for _ in range(repeats)
    ]
    low, high = np.quantile(repeated, ENDS)
    return value, float(low), float(high)


def _on_ranks(function: Estimator) -> Estimator:
    """Use the rank of the score as the only feature, whatever the model's scale."""

    def estimate(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
        ranks = rankdata(np.concatenate([p, u]))[:, None]
        return function(ranks[: p.size], ranks[p.size :], rng)

    return estimate


#: The methods, and how many samples the bootstrap can afford.
_FUNCTIONS: dict[str, tuple[Estimator, int]] = {
    "dedpul": (lambda p, u, _: dedpul(p, u), 100),
    "elkan_noto": (lambda p, u, _: elkan_noto(p, u), 100),
    "km": (_on_ranks(kernel_mean), 10),
    "pen_l1": (_on_ranks(penalised_l1), 20),
}


#: The share of positives in U and the limits of a 90 % range.
Limits = tuple[float, float, float]

#: Scores of P and U, a source of chance, the labelled share if P and U are one sample, and how far
#: the classes are expected to lie apart.
Method = Callable[[FloatArray, FloatArray, np.random.Generator, float | None, Separation], Limits]

#: The weight of the posterior below and above the range, if P and U are two samples and if
#: they are one; half of that with next to no positives, and the whole from `FEW` on. These made
#: nearly nine of ten ranges hold on real tables (docs/lab/prior.md).
TAILS, FEW = {"two-sample": (0.1, 0.22), "one-sample": (0.22, 0.14)}, 50

#: The chance that a positive scores more than a negative from which the largest mixture proportion
#: counts: not at all, and alone.
OVERLAP, APART = 0.8, 1.0


def _overlap(
    scores_p: FloatArray,
    scores_u: FloatArray,
    rng: np.random.Generator,
    labelled: float | None,
    separation: Separation,
) -> Limits:
    """Estimate the share where negatives may look like positives.

    The better the scores tell the classes apart, the more the mean of the mixture's posterior and
    the upper end of the range are drawn towards the largest mixture proportion. Where that is
    below the whole range, a column may give labels away: it is then the estimate. An estimate
    that is not in its range means that the highest scores contradict the others.
    """
    posterior = mixture_posterior(scores_p, scores_u, labelled, separation)
    bound = best_bin(scores_p, scores_u)
    # P against the negatives alone, if U has this share of positives
    apart = (auc(scores_p, scores_u) - posterior.mean / 2) / (1 - posterior.mean)
    weight = float(np.interp(apart, (OVERLAP, APART), (0, 1)))
    below, above = TAILS["two-sample" if labelled is None else "one-sample"]
    part = float(np.interp(scores_p.size, (0, FEW), (0.5, 1)))
    low, high = posterior.quantile(part * below), posterior.quantile(1 - part * above)
    share = bound if bound < low else posterior.mean + weight * (bound - posterior.mean)
    most = best_bin_interval(scores_p, scores_u, rng)[1]
    return share, low, min(high + weight * max(most - high, 0), most)


def _bbe(
    scores_p: FloatArray,
    scores_u: FloatArray,
    rng: np.random.Generator,
    _: float | None,
    __: Separation,
) -> Limits:
    return best_bin(scores_p, scores_u), *best_bin_interval(scores_p, scores_u, rng)


def _bootstrapped(name: str) -> Method:
    def estimate(p: FloatArray, u: FloatArray, rng: np.random.Generator, *_: object) -> Limits:

        return bootstrap(name, p, u, rng)

    return estimate


#: The methods by name.
METHODS: Mapping[str, Method] = MappingProxyType(
    {"auto": _overlap, "bbe": _bbe}
    | {name: _bootstrapped(name) for name in ("dedpul", "elkan_noto", "km", "pen_l1")}
)
