"""The methods by name: out-of-fold scores in, a share of positives in U with an interval out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.stats import rankdata

from nnpu.prior.bbe import best_bin, best_bin_interval
from nnpu.prior.curve import FloatArray, auc
from nnpu.prior.mixture import mixture_posterior

__all__ = ["METHODS", "Limits", "Method"]

#: The share of positives in U and the limits of a 90 % interval.
Limits = tuple[float, float, float]

#: Scores of P and U, a source of chance, and the labelled share if P and U are one sample.
Method = Callable[[FloatArray, FloatArray, np.random.Generator, float | None], Limits]
Estimator = Callable[[FloatArray, FloatArray, np.random.Generator], float]

#: The weight of the posterior below and above the interval, if P and U are two samples and if
#: they are one; half of that with next to no positives, and the whole from `FEW` on. These made
#: nearly nine of ten intervals hold on real tables (docs/prior.md).
TAILS, FEW = {"two-sample": (0.1, 0.22), "one-sample": (0.25, 0.13)}, 50

#: The chance that a positive scores more than a negative from which the largest mixture proportion
#: counts: not at all, and alone.
OVERLAP, APART = 0.8, 1.0


def _overlap(
    scores_p: FloatArray,
    scores_u: FloatArray,
    rng: np.random.Generator,
    labelled: float | None,
) -> Limits:
    """Estimate the share where negatives may look like positives.

    The better the scores tell the classes apart, the more the mean of the mixture's posterior and
    the upper end of the interval are drawn towards the largest mixture proportion, which bounds
    both.
    """
    posterior = mixture_posterior(scores_p, scores_u, labelled)
    bound = best_bin(scores_p, scores_u)
    # P against the negatives alone, if U has this share of positives
    apart = (auc(scores_p, scores_u) - posterior.mean / 2) / (1 - posterior.mean)
    weight = float(np.interp(apart, (OVERLAP, APART), (0, 1)))
    share = min(posterior.mean + weight * (bound - posterior.mean), bound)
    below, above = TAILS["two-sample" if labelled is None else "one-sample"]
    part = float(np.interp(scores_p.size, (0, FEW), (0.5, 1)))
    low, high = posterior.quantile(part * below), posterior.quantile(1 - part * above)
    most = best_bin_interval(scores_p, scores_u, rng)[1]
    high = min(high + weight * max(most - high, 0), most)
    return share, min(low, share), max(high, share)


def _bbe(
    scores_p: FloatArray, scores_u: FloatArray, rng: np.random.Generator, _: float | None
) -> Limits:
    return best_bin(scores_p, scores_u), *best_bin_interval(scores_p, scores_u, rng)


def _resampled(function: Estimator, repeats: int) -> Method:
    return lambda p, u, rng, _: _bootstrap(function, p, u, rng, repeats)


# Methods that only their name asks for are imported when it does.


def _dedpul(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
    from nnpu.prior.dedpul import dedpul

    return dedpul(p, u)


def _elkan_noto(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
    from nnpu.prior.elkan_noto import elkan_noto

    return elkan_noto(p, u)


def _kernel_mean(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
    from nnpu.prior.kernel_mean import kernel_mean

    return kernel_mean(p, u, rng)


def _penalised(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
    from nnpu.prior.penalised import penalised_l1

    return penalised_l1(p, u, rng)


def _on_ranks(function: Estimator) -> Estimator:
    """Give a method for features one: the rank of the score, whatever the model's scale."""

    def estimate(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
        ranks = rankdata(np.concatenate([p, u]))[:, None]
        return function(ranks[: p.size], ranks[p.size :], rng)

    return estimate


def _bootstrap(
    function: Estimator, p: FloatArray, u: FloatArray, rng: np.random.Generator, repeats: int
) -> Limits:
    """Estimate on the rows and on resampled ones, P and U separately; percentiles as limits.

    They show how much the method varies, not how far it is off.
    """
    value = function(p, u, rng)
    repeated = [
        function(p[rng.integers(len(p), size=len(p))], u[rng.integers(len(u), size=len(u))], rng)
        for _ in range(repeats)
    ]
    low, high = np.quantile(repeated, [0.05, 0.95])
    return value, float(low), float(high)


#: The methods by name.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "auto": _overlap,
        "bbe": _bbe,
        "dedpul": _resampled(_dedpul, repeats=100),
        "elkan_noto": _resampled(_elkan_noto, repeats=100),
        "km": _resampled(_on_ranks(_kernel_mean), repeats=10),
        "pen_l1": _resampled(_on_ranks(_penalised), repeats=20),
    }
)
