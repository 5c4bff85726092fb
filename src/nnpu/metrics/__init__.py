"""Evaluation without a single negative: metrics, their ranges, and scorers.

Every function takes the PU label `s` (1 labelled positive, 0 unlabelled, −1 known negative; other
codes are refused) and assumes that labelled positives are a random sample of all positives
("selected completely at random") and that `prior` is right. Values are not clipped unless asked:
an accuracy above 1 or a precision of 1.3 says that the prior, or that assumption, is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.extras import lazy_names

if TYPE_CHECKING:
    from nnpu.metrics.estimates import (
        METRICS,
        PropensityMetrics,
        lee_liu_score,
        propensity_metrics,
        propensity_weights,
        pu_accuracy,
        pu_f1,
        pu_precision,
        pu_recall,
        pu_roc_auc,
        pu_zero_one_risk,
    )
    from nnpu.metrics.intervals import contradiction, interval
    from nnpu.metrics.score_tables import (
        possible_prior,
        reliability_table,
        score_table,
        threshold_grid,
        threshold_table,
    )
    from nnpu.metrics.scorers import SCORERS, PUScorer, make_pu_scorer, register_scorers

__all__ = [
    "METRICS",
    "SCORERS",
    "PUScorer",
    "PropensityMetrics",
    "contradiction",
    "interval",
    "lee_liu_score",
    "make_pu_scorer",
    "possible_prior",
    "propensity_metrics",
    "propensity_weights",
    "pu_accuracy",
    "pu_f1",
    "pu_precision",
    "pu_recall",
    "pu_roc_auc",
    "pu_zero_one_risk",
    "register_scorers",
    "reliability_table",
    "score_table",
    "threshold_grid",
    "threshold_table",
]

__getattr__ = lazy_names(
    __name__,
    estimates="METRICS lee_liu_score pu_accuracy pu_f1 pu_precision pu_recall pu_roc_auc "
    "pu_zero_one_risk PropensityMetrics propensity_metrics propensity_weights",
    intervals="contradiction interval",
    scorers="PUScorer SCORERS make_pu_scorer register_scorers",
    score_tables="reliability_table score_table possible_prior threshold_grid threshold_table",
)
