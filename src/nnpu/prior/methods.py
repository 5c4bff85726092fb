"""The methods by name: out-of-fold scores in, a share of positives in U with an interval out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from nnpu.prior.bbe import best_bin, best_bin_interval
from nnpu.prior.curve import FloatArray, auc
from nnpu.prior.mixture import Law, mixture_posterior

__all__ = ["METHODS", "Limits", "Method"]

#: The share of positives in U and the limits of a 90 % interval.
Limits = tuple[float, float, float]

#: Scores of P and U, a source of chance, the labelled share if P and U are one sample, and how far
#: the classes are expected to lie apart.
Method = Callable[[FloatArray, FloatArray, np.random.Generator, float | None, Law], Limits]

#: The weight of the posterior below and above the interval, if P and U are two samples and if
#: they are one; half of that with next to no positives, and the whole from `FEW` on. These made
#: nearly nine of ten intervals hold on real tables (docs/prior.md).
TAILS, FEW = {"two-sample": (0.1, 0.22), "one-sample": (0.22, 0.14)}, 50

#: The chance that a positive scores more than a negative from which the largest mixture proportion
#: counts: not at all, and alone.
OVERLAP, APART = 0.8, 1.0


def _overlap(
    scores_p: FloatArray,
    scores_u: FloatArray,
    rng: np.random.Generator,
    labelled: float | None,
    law: Law,
) -> Limits:
    """Estimate the share where negatives may look like positives.

    The better the scores tell the classes apart, the more the mean of the mixture's posterior and
    the upper end of the interval are drawn towards the largest mixture proportion. Where that is
    below the whole interval, a column may give labels away: it is then the estimate. An estimate
    that is not in its interval means that the highest scores contradict the others.
    """
    posterior = mixture_posterior(scores_p, scores_u, labelled, law)
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
    scores_p: FloatArray, scores_u: FloatArray, rng: np.random.Generator, _: float | None, __: Law
) -> Limits:
    return best_bin(scores_p, scores_u), *best_bin_interval(scores_p, scores_u, rng)


def _bootstrapped(name: str) -> Method:
    def estimate(p: FloatArray, u: FloatArray, rng: np.random.Generator, *_: object) -> Limits:
        from nnpu.prior.resampled import bootstrap

        return bootstrap(name, p, u, rng)

    return estimate


#: The methods by name.
METHODS: Mapping[str, Method] = MappingProxyType(
    {"auto": _overlap, "bbe": _bbe}
    | {name: _bootstrapped(name) for name in ("dedpul", "elkan_noto", "km", "pen_l1")}
)
