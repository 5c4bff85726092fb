"""The scikit-learn face: classifiers that differ only in how they fit scores.

Each is imported when it is first used: only the network needs torch to score rows.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnpu.estimators._sensitivity import sensitivity
    from nnpu.estimators.biased_labels import BiasedLabelPU
    from nnpu.estimators.ensemble import EnsemblePU
    from nnpu.estimators.images import ImagePU
    from nnpu.estimators.linear import LinearPU
    from nnpu.estimators.network import PUClassifier
    from nnpu.estimators.trees import BoostedPU
    from nnpu.estimators.wrapper import PUWrapper

__all__ = [
    "BiasedLabelPU",
    "BoostedPU",
    "EnsemblePU",
    "ImagePU",
    "LinearPU",
    "PUClassifier",
    "PUWrapper",
    "sensitivity",
]

_HOME = {
    "BiasedLabelPU": "biased_labels",
    "BoostedPU": "trees",
    "EnsemblePU": "ensemble",
    "ImagePU": "images",
    "LinearPU": "linear",
    "PUClassifier": "network",
    "PUWrapper": "wrapper",
    "sensitivity": "_sensitivity",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'nnpu.estimators' has no attribute {name!r}")
    return getattr(importlib.import_module(f"nnpu.estimators.{_HOME[name]}"), name)
