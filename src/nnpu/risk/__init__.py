"""Eqs. (1), (2), (4) and (6) of the paper and their relatives, as functions of scores.

`estimates` is the paper's: four estimators of the risk of a classifier, each a pure,
differentiable function of score tensors. `partial` and `kinds` are what training needs: the
partial risks of a mixed mini-batch, and `Risk` objects that turn them into a value to report and
an objective to differentiate.
"""

from nnpu.risk.estimates import AnyLoss, nnpu_risk, pn_risk, upu_risk, upu_risk_symmetric
from nnpu.risk.kinds import (
    RISKS,
    AbsoluteRisk,
    ImbalancedRisk,
    NonNegativePNURisk,
    NonNegativeRisk,
    PNURisk,
    Risk,
    SupervisedRisk,
    Terms,
    UnbiasedRisk,
    get_risk,
)
from nnpu.risk.partial import PartialRisks, partial_risks

__all__ = [
    "RISKS",
    "AbsoluteRisk",
    "AnyLoss",
    "ImbalancedRisk",
    "NonNegativePNURisk",
    "NonNegativeRisk",
    "PNURisk",
    "PartialRisks",
    "Risk",
    "SupervisedRisk",
    "Terms",
    "UnbiasedRisk",
    "get_risk",
    "nnpu_risk",
    "partial_risks",
    "pn_risk",
    "upu_risk",
    "upu_risk_symmetric",
]
