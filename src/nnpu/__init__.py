"""Positive-unlabelled learning with the non-negative risk estimator.

Most people need one name: `TablePU`, the whole job on a table. `PUClassifier` is a scikit-learn
classifier, `PULoss` a torch loss for a training loop of your own. Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnpu import boosting, data, export, losses, metrics, models, report, review, risk, theory
    from nnpu.estimators import (
        BiasedLabelPU,
        BoostedPU,
        EnsemblePU,
        ImagePU,
        LinearPU,
        PUClassifier,
        PUWrapper,
    )
    from nnpu.estimators._sensitivity import sensitivity
    from nnpu.objective import PULoss
    from nnpu.prior import PriorEstimate, estimate_prior, scar_test
    from nnpu.table import TablePU, load

__version__ = "0.2.0"

__all__ = [
    "BiasedLabelPU",
    "BoostedPU",
    "EnsemblePU",
    "ImagePU",
    "LinearPU",
    "PUClassifier",
    "PULoss",
    "PUWrapper",
    "PriorEstimate",
    "TablePU",
    "boosting",
    "data",
    "estimate_prior",
    "export",
    "load",
    "losses",
    "metrics",
    "models",
    "report",
    "review",
    "risk",
    "scar_test",
    "sensitivity",
    "theory",
]

_HOME = {
    "BiasedLabelPU": "nnpu.estimators",
    "BoostedPU": "nnpu.estimators",
    "EnsemblePU": "nnpu.estimators",
    "ImagePU": "nnpu.estimators",
    "LinearPU": "nnpu.estimators",
    "PUClassifier": "nnpu.estimators",
    "PULoss": "nnpu.objective",
    "PUWrapper": "nnpu.estimators",
    "PriorEstimate": "nnpu.prior",
    "TablePU": "nnpu.table",
    "estimate_prior": "nnpu.prior",
    "load": "nnpu.table",
    "scar_test": "nnpu.prior",
    "sensitivity": "nnpu.estimators",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in __all__:
        return importlib.import_module(f"nnpu.{name}")
    raise AttributeError(f"module 'nnpu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
