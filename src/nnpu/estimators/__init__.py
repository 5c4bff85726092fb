"""The scikit-learn face: classifiers that differ only in how they fit scores."""

from nnpu.estimators.linear import LinearPU
from nnpu.estimators.network import PUClassifier
from nnpu.estimators.sensitivity import sensitivity
from nnpu.estimators.storage import load
from nnpu.estimators.trees import BoostedPU
from nnpu.estimators.wrapper import PUWrapper

__all__ = ["BoostedPU", "LinearPU", "PUClassifier", "PUWrapper", "load", "sensitivity"]
