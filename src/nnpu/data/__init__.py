"""What a PU sample is, and how rows reach a model."""

from nnpu.data.folds import PUStratifiedKFold

__all__ = ["PUStratifiedKFold"]
