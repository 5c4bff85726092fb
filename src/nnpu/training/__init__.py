"""Algorithm 1: mini-batches, the step, the loop, and what is kept of them.

`train` runs it on a module of your own; `PUClassifier` is the scikit-learn face of the same loop.
"""

from nnpu.extras import needing

with needing("torch", extra="torch", owner="nnpu.training"):
    from nnpu.objective import Objective
    from nnpu.training.batches import BatchPlan, derive_seed
    from nnpu.training.checkpoint import checkpoints_beside
    from nnpu.training.history import evaluate
    from nnpu.training.loop import predict_scores, train
    from nnpu.training.options import DEFAULT_TRAINING, Training
    from nnpu.training.run_state import TrainingSample, seeded

__all__ = [
    "DEFAULT_TRAINING",
    "BatchPlan",
    "Objective",
    "Training",
    "TrainingSample",
    "checkpoints_beside",
    "derive_seed",
    "evaluate",
    "predict_scores",
    "seeded",
    "train",
]
