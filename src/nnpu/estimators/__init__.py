"""The scikit-learn face: classifiers that differ only in how they fit scores.

Each is imported when it is first used: only the network needs torch to score rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.extras import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    _sensitivity="sensitivity",
    biased_labels="BiasedLabelPU",
    ensemble="EnsemblePU",
    images="ImagePU",
    linear="LinearPU",
    network="PUClassifier",
    trees="BoostedPU",
    wrapper="PUWrapper",
)
