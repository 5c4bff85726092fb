"""Cuts that reach what was asked for: a precision, a recall, as many positives as there are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnpu.calibration.score_calibration import samples
from nnpu.data.vectors import as_vector
from nnpu.metrics import interval, pu_precision, pu_recall
from nnpu.parameters import InputError, ParameterError, check_number, check_prior, shown

__all__ = ["Threshold", "threshold_at_prior", "threshold_for"]

FloatArray = NDArray[np.float64]


def threshold_at_prior(
    scores_p: ArrayLike, scores_u: ArrayLike, *, prior: float, sampling: str = "two-sample"
) -> float:
    """Return the cut that predicts as many positives as there are: the (1 − π) quantile.

    It makes precision equal recall; it is not the most accurate cut. Rows that score at least as
    much are predicted positive.

    Parameters
    ----------
    scores_p, scores_u : array-like of shape (n_p,), (n_u,)
        Scores; those of P count only in the one-sample setting, where P is part of the population.
    prior, sampling
        As everywhere.

    Examples
    --------
    >>> threshold_at_prior([9.0], [1.0, 2.0, 3.0, 4.0], prior=0.5)
    3.0
    """
    prior = check_prior(prior, "threshold_at_prior")
    _, population = samples(scores_p, scores_u, sampling, prior, "threshold_at_prior")
    return float(np.quantile(population, 1 - prior, method="higher"))


class Threshold(NamedTuple):
    """A cut, the metric that it reaches by PU estimates, and that metric's 90 % interval."""

    value: float
    estimate: float
    low: float
    high: float


def threshold_for(
    scores_p: ArrayLike,
    scores_u: ArrayLike,
    *,
    prior: float,
    sampling: str = "two-sample",
    precision: float | None = None,
    recall: float | None = None,
) -> Threshold:
    """Return the cut that reaches a wanted precision or a wanted recall.

    For a recall: the highest cut that reaches it. For a precision: the lowest cut at which the
    estimated precision reaches it, so that recall is as large as it can be. The interval is that
    of the metric at this cut; the cut was chosen on the same rows, so check a close decision on
    others.

    Parameters
    ----------
    scores_p, scores_u : array-like of shape (n_p,), (n_u,)
        Scores of held-out rows.
    prior, sampling
        As everywhere.
    precision, recall : float
        The wanted value; exactly one of the two.

    Examples
    --------
    >>> threshold_for([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 3.5, 5.0], prior=0.5, recall=0.75)[:2]
    (2.0, 0.75)
    >>> threshold_for([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 3.5, 5.0], prior=0.75, precision=0.9)[:2]
    (0.5, 1.0)
    """
    owner = "threshold_for"
    if (precision is None) == (recall is None):
        raise ParameterError(
            "The 'precision' and 'recall' parameters of threshold_for must be exactly one given. "
            f"Got {shown(precision)} and {shown(recall)} instead."
        )
    name, wanted = ("precision", precision) if recall is None else ("recall", recall)
    wanted = check_number(name, wanted, owner, low=0, high=1, include_low=False)
    prior = check_prior(prior, owner)
    p, population = samples(scores_p, scores_u, sampling, prior, owner)
    if recall is None:
        cut = _cut_for_precision(p, population, prior, wanted)
    else:
        least = max(int(np.ceil(wanted * p.size - 1e-9)), 1)  # rows of P above the cut
        cut = float(np.sort(p)[::-1][least - 1])
    u = as_vector(scores_u, "scores_u", owner)
    s, predictions = np.repeat([1, 0], [p.size, u.size]), np.concatenate([p, u]) >= cut
    metric = pu_precision if recall is None else pu_recall
    kind: dict[str, Any] = {"prior": prior, "sampling": sampling}
    return Threshold(cut, metric(s, predictions, **kind), *interval(metric, s, predictions, **kind))


def _cut_for_precision(
    scores_p: FloatArray, population: FloatArray, prior: float, wanted: float
) -> float:
    cuts = np.unique(population)
    tpr = 1 - np.searchsorted(np.sort(scores_p), cuts, side="left") / scores_p.size
    q = 1 - np.searchsorted(np.sort(population), cuts, side="left") / population.size
    estimates = prior * tpr / q
    reached = np.flatnonzero(estimates >= wanted - 1e-12)
    if reached.size == 0:
        raise InputError(
            f"No cut reaches a precision of {wanted:g}: the best estimate is "
            f"{estimates.max():.3f}. Ask for less, or use a better model."
        )
    return float(cuts[reached[0]])
