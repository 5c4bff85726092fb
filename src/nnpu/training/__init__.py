"""Algorithm 1: mini-batches, the step, the loop, and what is kept of them."""

from nnpu.extras import needing

with needing("torch", extra="torch", owner="nnpu.training"):
    from nnpu.training._options import DEFAULT_TRAINING, Training
    from nnpu.training._resume import checkpoints_beside
    from nnpu.training._sample import TrainingSample
    from nnpu.training.batches import BatchPlan
    from nnpu.training.loop import predict_scores, train

__all__ = [
    "DEFAULT_TRAINING",
    "BatchPlan",
    "Training",
    "TrainingSample",
    "checkpoints_beside",
    "predict_scores",
    "train",
]
