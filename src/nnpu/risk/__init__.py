"""The risk of a classifier as a function of its scores: the paper's equations and relatives.

`functions` is the paper's, Eqs. (1), (2), (4) and (6): four estimators of the risk, each a pure,
differentiable function of score tensors. `partial` and `nnpu.risk_kinds` are what training needs:
the partial risks of a mixed mini-batch, and `Risk` objects that turn them into a value to report
and an objective to differentiate.
"""

from __future__ import annotations

from nnpu.extras import needing
from nnpu.risk_kinds import (
    RISKS,
    AbsoluteRisk,
    ImbalancedRisk,
    KLRisk,
    NonNegativePNURisk,
    NonNegativeRisk,
    PartialRisks,
    PNURisk,
    Risk,
    SupervisedRisk,
    Terms,
    UnbiasedRisk,
    get_risk,
)

with needing("torch", extra="torch", owner="nnpu.risk"):
    from nnpu.risk.functions import AnyLoss, nnpu_risk, pn_risk, upu_risk, upu_risk_symmetric
    from nnpu.risk.partial import partial_risks

__all__ = [
    "RISKS",
    "AbsoluteRisk",
    "AnyLoss",
    "ImbalancedRisk",
    "KLRisk",
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
