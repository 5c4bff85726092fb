"""The scikit-learn face: classifiers that differ only in how they fit scores."""

from nnpu.estimators.network import PUClassifier
from nnpu.estimators.storage import load

__all__ = ["PUClassifier", "load"]
