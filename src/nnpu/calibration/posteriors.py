"""Posteriors of other classifiers, and of other populations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnpu.data.vectors import as_floats
from nnpu.parameters import InputError, check_number, check_prior, check_sampling

__all__ = ["posterior", "shift_prior", "shift_threshold"]

FloatArray = NDArray[np.float64]


def posterior(
    labelled_probability: ArrayLike,
    *,
    prior: float,
    labelled_share: float,
    sampling: str = "two-sample",
) -> FloatArray:
    """Turn P(labelled | x) of any classifier of labelled against unlabelled into P(y = +1 | x).

    Two-sample: π (1 − b)/b · σ/(1 − σ), a ratio of densities. One-sample: π σ / b (Elkan and
    Noto, 2008). With σ the probability of being labelled and b the labelled share of the rows
    that the classifier was fitted to. Values above 1 become 1.

    Parameters
    ----------
    labelled_probability : array-like
        σ, calibrated: the classifier's own estimate of P(labelled | x), without class weights.
    prior : float
        π_p of the population.
    labelled_share : float
        b = n_p / (n_p + n_u).
    sampling : {"two-sample", "one-sample"}
        How the data came about.

    Examples
    --------
    >>> posterior([0.1, 0.2], prior=0.4, labelled_share=0.2, sampling="one-sample").round(3)
    array([0.2, 0.4])
    >>> posterior([0.2, 0.5], prior=0.4, labelled_share=0.5).round(3)
    array([0.1, 0.4])
    """
    prior = check_prior(prior, "posterior")
    share = check_prior(labelled_share, "posterior", name="labelled_share")
    sigma = _probabilities(labelled_probability, "posterior")
    if check_sampling(sampling, "posterior") == "one-sample":
        return np.minimum(prior * sigma / share, 1.0)
    # σ = 1 means a ratio of densities without bound
    odds = np.divide(sigma, 1 - sigma, out=np.full_like(sigma, np.inf), where=sigma < 1)
    return np.minimum(prior * (1 - share) / share * odds, 1.0)


def shift_prior(probabilities: ArrayLike, prior: float, new_prior: float) -> FloatArray:
    """Move posteriors to a population in which positives have another share.

    The odds are multiplied by π′(1 − π) / (π (1 − π′)); right if p(x | y) is the same there
    (Saerens, Latinne and Decaestecker, 2002).

    Parameters
    ----------
    probabilities : array-like
        P(y = +1 | x) under `prior`.
    prior, new_prior : float
        π_p of the old and of the new population.

    Examples
    --------
    >>> shift_prior([0.0, 0.5, 1.0], 0.5, 0.2).round(3)
    array([0. , 0.2, 1. ])
    """
    prior = check_prior(prior, "shift_prior")
    new_prior = check_prior(new_prior, "shift_prior", name="new_prior")
    p = _probabilities(probabilities, "shift_prior")
    positive, negative = p * new_prior / prior, (1 - p) * (1 - new_prior) / (1 - prior)
    moved: FloatArray = positive / (positive + negative)
    return moved


def shift_threshold(threshold: float, prior: float, new_prior: float) -> float:
    """Return the cut on old probabilities that is `threshold` on those of the new population.

    Examples
    --------
    >>> round(shift_threshold(0.5, 0.5, 0.2), 3)  # positives are rarer there: ask for more
    0.8
    """
    threshold = check_number("threshold", threshold, "shift_threshold", low=0, high=1)
    return float(shift_prior([threshold], new_prior, prior)[0])


def _probabilities(values: ArrayLike, owner: str) -> FloatArray:
    p = as_floats(values, "probabilities", owner)
    if not ((p >= 0) & (p <= 1)).all():  # False for NaN
        raise InputError(f"{owner}: probabilities must lie in [0, 1].")
    return p
