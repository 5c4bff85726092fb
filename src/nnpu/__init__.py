"""Positive-unlabelled learning with the non-negative risk estimator.

Most people need one name: `TablePU`, the whole job on a table. `PUClassifier` is a scikit-learn
classifier, `PULoss` a torch loss for a training loop of your own. Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnpu import (
        boosting,
        data,
        export,
        losses,
        metrics,
        models,
        report,
        review,
        risk,
        theory,
        training,
    )
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
    from nnpu.table import ScorePU, TablePU, load

__version__ = "0.3.0"

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
    "ScorePU",
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
    "training",
]

_NAMES = {  # by the room that has them
    "estimators": "BiasedLabelPU BoostedPU EnsemblePU ImagePU LinearPU PUClassifier PUWrapper "
    "sensitivity",
    "objective": "PULoss",
    "prior": "PriorEstimate estimate_prior scar_test",
    "table": "ScorePU TablePU load",
}
_HOME = {name: room for room, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name in _HOME:
        return getattr(importlib.import_module(f"nnpu.{_HOME[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"nnpu.{name}")
    raise AttributeError(f"module 'nnpu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
