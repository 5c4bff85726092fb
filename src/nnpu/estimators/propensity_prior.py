"""The share of positives where labels depend on x: by propensities, or by the likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, logit

from nnpu.estimators.labelling_model import losses, split, standard
from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate, estimate_prior
from nnpu.prior.scores import spline_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.labelling_model import Floats
    from nnpu.prior.methods import Limits

__all__ = ["biased_share", "weighted_share"]

#: Neither class nor labelling is exactly logistic: labels say no more than so many would.
MODEL_LABELS = 100

_SHARES = 12  # that are tried
_DRAWS = 2
_MOST = 0.95  # quantile of the weights above which no row counts more
_MORE = 1 + 1e-6  # the prior is greater than the labelled share
_Z90 = 1.645


def weighted_share(s: NDArray[np.bool_], chance: Floats) -> PriorEstimate:
    """Return the mean of s / e, which is the share of positives if the propensities are right."""
    value = s / chance
    share, margin = float(value.mean()), _Z90 * float(value.std() / np.sqrt(len(s)))
    if share >= 1:
        raise InputError(
            f"The mean of s / chance is {share:.3g}: more positives than rows. The propensities "
            "are too small; give larger ones, or a prior."
        )
    low, high = max(share - margin, float(s.mean())), min(share + margin, 1.0)
    said = f"The share of positives is about {share:.2g} ({low:.2g} to {high:.2g}), by the "
    said += "propensities that were given. It is right if they are."
    return PriorEstimate(share, min(low, share), high, "auto", True, said, sampling="one-sample")


def biased_share(
    X: Any,
    s: NDArray[np.bool_],
    columns: Sequence[int],
    groups: NDArray[np.intp] | None,
    seed: int,
) -> PriorEstimate:
    """Estimate the prior where `columns` drive the labelling: the mean of two estimates.

    One is the share at which class and labelling best explain who is labelled; it errs where
    neither is what the model says. The other weights labelled rows by that labelling and compares
    them with all rows; it errs where classes overlap.
    """
    features = spline_features(len(s)).fit_transform(X)
    drivers = standard(X[:, list(columns)])[0]
    likely = _by_likelihood(features, drivers, s)
    chance = split(features, drivers, s, likely[0]).chance
    weighted = _by_weights(X, s, chance, groups, seed)
    value, low, high = np.mean([likely, weighted], axis=0).tolist()
    said = (
        f"The share of positives is about {value:.2g} ({low:.2g} to {high:.2g}), by how well class "
        "and labelling together explain who is labelled, and from labelled rows weighted by that "
        "labelling. Rows alone cannot show whether a column drives the class or the labelling: a "
        "prior known from elsewhere, or a review of 100 unlabelled rows, would settle it."
    )
    return PriorEstimate(value, low, high, "auto", False, said, sampling="one-sample")


def _by_likelihood(features: Floats, drivers: Floats, s: NDArray[np.bool_]) -> Limits:
    """Return the mean and the limits of the posterior over the share.

    Before, it has the beta law with parameters ½ and 1.
    """
    b = float(s.mean())
    margin = b * (1 - b) / 10
    tried = np.linspace(logit(1 - margin), logit(b + margin), _SHARES)
    loss = losses(features, drivers, s, expit(tried)) / (1 + s.sum() / MODEL_LABELS)
    log_odds = np.linspace(tried[-1], tried[0], 400)
    share = expit(log_odds)
    log_weight = np.log(share) / 2 + np.log1p(-share)
    log_weight -= PchipInterpolator(tried[::-1], loss[::-1])(log_odds)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    low, high = np.interp([0.05, 0.95], np.cumsum(weight) - weight / 2, share).tolist()
    return float(share @ weight), low, high


def _by_weights(
    X: Any, s: NDArray[np.bool_], chance: Floats, groups: NDArray[np.intp] | None, seed: int
) -> Limits:
    """Estimate the share from labelled rows that count 1 / e each, against all rows.

    Counted so, labelled rows are like a random sample of the positives. They are drawn by their
    weights, as many as they are worth, and a row's copies share its fold.
    """
    labelled = np.flatnonzero(s)
    weight = 1 / chance[labelled]
    weight = np.minimum(weight, np.quantile(weight, _MOST))
    size = max(round(weight.sum() ** 2 / np.square(weight).sum()), 2)
    steps = np.cumsum(weight) / weight.sum() * size
    steps[-1] = size  # rounding
    together = np.arange(len(s)) if groups is None else groups
    found = []
    for number in range(_DRAWS):
        start = np.random.default_rng([seed, number]).random()
        chosen = labelled[np.searchsorted(steps, start + np.arange(size))]
        pair = (together[chosen], together)
        one = estimate_prior(X[chosen], X, random_state=seed + number, groups=pair)
        found.append((one.value, one.low, one.high))
    value, low, high = np.clip(np.mean(found, axis=0), s.mean() * _MORE, 1).tolist()
    return value, low, high
