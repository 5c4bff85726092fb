"""The scikit-learn face: classifiers that differ only in how they fit scores."""

from nnpu.estimators.linear import LinearPU
from nnpu.estimators.network import PUClassifier
from nnpu.estimators.storage import load

__all__ = ["LinearPU", "PUClassifier", "load"]
