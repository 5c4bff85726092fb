"""Algorithm 1: mini-batches, the step, the loop, and what is kept of them."""

from nnpu.training.batches import BatchPlan
from nnpu.training.loop import predict_scores, train
from nnpu.training.options import DEFAULT_TRAINING, Training
from nnpu.training.resume import checkpoints_beside
from nnpu.training.sample import TrainingSample

__all__ = [
    "DEFAULT_TRAINING",
    "BatchPlan",
    "Training",
    "TrainingSample",
    "checkpoints_beside",
    "predict_scores",
    "train",
]
