"""What the metrics see of a PU sample: checked labels, values, weights, and shares with errors.

Two numbers carry every threshold metric: TPR, the share of P that is predicted positive, and Q,
the share of the population that is. The population is U in the two-sample setting, and all rows
of the one sample in the one-sample setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nnpu.data.vectors import as_vector
from nnpu.parameters import InputError, ParameterError, Sampling, check_prior, check_sampling
from nnpu.prior.result import PriorEstimate

__all__ = [
    "Prior",
    "ScoredSample",
    "Shares",
    "prior_value",
    "pu_sample",
    "rank_curve",
    "shares",
    "with_errors",
]

FloatArray = NDArray[np.float64]

#: A prior that is known, or an estimate of it.
Prior = float | PriorEstimate


def prior_value(prior: Any, sampling: Any, owner: str) -> float:
    """Return the number that stands for the prior, if it is one under this sampling."""
    if not isinstance(prior, PriorEstimate):
        return check_prior(prior, owner)
    if prior.sampling != check_sampling(sampling, owner):
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be an estimate under sampling={sampling!r}. "
            f"Got one under {prior.sampling!r} instead."
        )
    return check_prior(prior.value, owner)


@dataclass(frozen=True)
class ScoredSample:
    """Rows of P and of the population, with their values and weights."""

    values_p: FloatArray
    values_q: FloatArray
    weights_p: FloatArray
    weights_q: FloatArray
    prior: float
    sampling: Sampling

    @property
    def n_p(self) -> float:
        """The number of positives that equal weights would need for the same precision."""
        return effective_size(self.weights_p)

    @property
    def n_q(self) -> float:
        """The same for the rows that stand for the population."""
        return effective_size(self.weights_q)


def pu_sample(
    s: Any, values: Any, prior: Any, sampling: Any, sample_weight: Any, owner: str, *, binary: bool
) -> ScoredSample:
    """Check the arguments of a metric and split the rows."""
    prior, sampling = prior_value(prior, sampling, owner), check_sampling(sampling, owner)
    what = "predictions" if binary else "scores"
    s, values = as_vector(s, "s", owner), as_vector(values, what, owner)
    weights = np.ones(s.size)
    if sample_weight is not None:
        weights = as_vector(sample_weight, "sample_weight", owner)
    for name, other in ((what, values), ("sample_weight", weights)):
        if other.size != s.size:
            raise InputError(f"{owner}: s has {s.size} rows and {name} has {other.size}.")
    if (weights < 0).any():
        raise InputError(f"{owner}: sample_weight holds negative values.")
    if not np.isin(s, (1, 0, -1)).all():
        raise InputError(f"{owner}: s must be 1 (labelled), 0 (unlabelled) or -1 (known negative).")
    if binary and not np.isin(values, (0, 1)).all():
        raise InputError(f"{owner}: predictions must be 1 (positive) or 0; give scores a cut.")
    of_p = (s == 1) & (weights > 0)
    of_u = (s == 0) & (weights > 0)
    if not of_p.any() or not of_u.any():
        raise InputError(f"{owner} needs labelled (s=1) and unlabelled (s=0) rows.")
    of_q = of_u if sampling == "two-sample" else weights > 0
    sample = ScoredSample(values[of_p], values[of_q], weights[of_p], weights[of_q], prior, sampling)
    labelled = sample.weights_p.sum() / sample.weights_q.sum()
    if sampling == "one-sample" and prior <= labelled:
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be greater than the labelled share "
            f"{labelled:.4g} of one-sample data. Got {prior!r} instead."
        )
    return sample


class Shares(NamedTuple):
    """TPR and Q, their variances and their covariance."""

    tpr: float
    q: float
    variance_tpr: float
    variance_q: float
    covariance: float


def shares(sample: ScoredSample) -> Shares:
    """Estimate TPR and Q.

    The variances are binomial, of shares drawn one row towards the middle, so that a share of
    exactly 0 or 1 has an error too. In the one-sample setting positives are also rows of the
    population: with TPR = mean(s h) / mean(s) and Q = mean(h) over the n rows, the delta method
    gives cov(TPR, Q) = TPR (1 − TPR) / n.
    """
    tpr = float(np.average(sample.values_p, weights=sample.weights_p))
    q = float(np.average(sample.values_q, weights=sample.weights_q))
    return with_errors(tpr, q, sample)


def with_errors(tpr: float, q: float, sample: ScoredSample) -> Shares:
    """Add to TPR and Q, however they were counted, the errors that a sample of this size has."""
    variance_tpr, variance_q = _binomial(tpr, sample.n_p), _binomial(q, sample.n_q)
    joint = sample.sampling == "one-sample"
    covariance = variance_tpr * sample.n_p / sample.n_q if joint else 0.0
    return Shares(tpr, q, variance_tpr, variance_q, covariance)


def rank_curve(values: FloatArray, weights: FloatArray, at: FloatArray) -> FloatArray:
    """Return the weighted share of `values` below each point, ties counting one half."""
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    left = sums[np.searchsorted(values[order], at, side="left")]
    right = sums[np.searchsorted(values[order], at, side="right")]
    curve: FloatArray = (left + right) / (2 * sums[-1])
    return curve


def effective_size(weights: FloatArray) -> float:
    """(Σw)² / Σw²: n for equal weights."""
    scaled = weights / weights.max()  # squares of tiny weights would vanish
    return float(scaled.sum() ** 2 / np.square(scaled).sum())


def _binomial(share: float, n: float) -> float:
    drawn = (share * n + 1) / (n + 2)
    return drawn * (1 - drawn) / n
