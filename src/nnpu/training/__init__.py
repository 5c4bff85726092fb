"""Algorithm 1: mini-batches, the step, the loop, and what is kept of them."""

from nnpu.training.batches import BatchPlan
from nnpu.training.loop import predict_scores, train
from nnpu.training.options import Training
from nnpu.training.sample import TrainingSample

__all__ = ["BatchPlan", "Training", "TrainingSample", "predict_scores", "train"]
