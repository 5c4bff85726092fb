"""The formulas of the metrics, each with its variance by the delta method."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nnpu.metrics.sample import ScoredSample, Shares, rank_curve, shares

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ESTIMATES", "FORMULAS", "Metric", "ValueAndVariance", "of_shares"]


class ValueAndVariance(NamedTuple):
    """An estimate and its variance."""

    value: float
    variance: float


#: TPR, Q and the prior to a metric and its derivatives by TPR and by Q.
Formula = Callable[[float, float, float], tuple[float, float, float]]


def of_shares(found: Shares, prior: float, function: Formula) -> ValueAndVariance:
    """Delta method: a metric of TPR and Q, and what their errors make of it."""
    value, by_tpr, by_q = function(found.tpr, found.q, prior)
    variance = (
        by_tpr**2 * found.variance_tpr
        + by_q**2 * found.variance_q
        + 2 * by_tpr * by_q * found.covariance
    )
    return ValueAndVariance(value, max(variance, 0.0))


def _recall(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    return tpr, 1.0, 0.0


def _accuracy(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    return 2 * prior * tpr + (1 - q) - prior, 2 * prior, -1.0  # TP + TN


def _zero_one(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    return prior + q - 2 * prior * tpr, -2 * prior, 1.0  # FP + FN


def _precision(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    if q == 0:
        return _empty(tpr)
    return prior * tpr / q, prior / q, -prior * tpr / q**2  # TP / (TP + FP)


def _f1(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    value = 2 * prior * tpr / (prior + q)  # 2 TP / (2 TP + FP + FN)
    return value, 2 * prior / (prior + q), -value / (prior + q)


def _lee_liu(tpr: float, q: float, prior: float) -> tuple[float, float, float]:
    if q == 0:
        return _empty(tpr)
    return tpr**2 / q, 2 * tpr / q, -(tpr**2) / q**2


def _empty(tpr: float) -> tuple[float, float, float]:
    """Nothing in the population is predicted positive: 0 if nothing in P is either, else ∞."""
    return (0.0 if tpr == 0 else math.inf), 0.0, 0.0


def _roc_auc(sample: ScoredSample) -> ValueAndVariance:
    """(A − π/2) / (1 − π), with A the AUC of P against the population.

    A positive of P beats a row of the population with probability π/2 + (1 − π) AUC. The variance
    adds what each row contributes to A (DeLong, DeLong and Clarke-Pearson, 1988); a labelled row
    of one-sample data contributes as a positive and as a row of the population.
    """
    below = rank_curve(sample.values_q, sample.weights_q, sample.values_p)  # (n_p,)
    above = 1 - rank_curve(sample.values_p, sample.weights_p, sample.values_q)  # (n_q,)
    a = float(np.average(below, weights=sample.weights_p))
    share_p = sample.weights_p / sample.weights_p.sum()
    share_q = sample.weights_q / sample.weights_q.sum()
    variance = np.sum((share_p * (below - a)) ** 2) + np.sum((share_q * (above - a)) ** 2)
    if sample.sampling == "one-sample":
        above_p = 1 - rank_curve(sample.values_p, sample.weights_p, sample.values_p)
        in_q = sample.weights_p / sample.weights_q.sum()
        variance += 2 * np.sum(share_p * (below - a) * in_q * (above_p - a))
    scale = 1 - sample.prior
    return ValueAndVariance((a - sample.prior / 2) / scale, max(float(variance), 0.0) / scale**2)


class Metric(NamedTuple):
    """How a metric is estimated, whether from predictions (else scores), and its greatest value."""

    estimate: Callable[[ScoredSample], ValueAndVariance]
    binary: bool
    highest: float


#: The metrics of TPR and Q.
FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {
        "pu_zero_one_risk": _zero_one,
        "pu_accuracy": _accuracy,
        "pu_precision": _precision,
        "pu_recall": _recall,
        "pu_f1": _f1,
        "lee_liu_score": _lee_liu,
    }
)


def _threshold_metric(name: str) -> Metric:
    formula, highest = FORMULAS[name], math.inf if name == "lee_liu_score" else 1.0
    return Metric(lambda sample: of_shares(shares(sample), sample.prior, formula), True, highest)


#: The estimate behind each public metric.
ESTIMATES: Mapping[str, Metric] = MappingProxyType(
    {name: _threshold_metric(name) for name in FORMULAS}
    | {"pu_roc_auc": Metric(_roc_auc, False, 1.0)}
)
