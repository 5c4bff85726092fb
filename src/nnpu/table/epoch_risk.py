"""A network's risk on rows that are set aside, after every epoch: for its training curve."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from nnpu.data.rows import as_rows
from nnpu.objective import Objective
from nnpu.training import DEFAULT_TRAINING, predict_scores
from nnpu.training.history import evaluate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier

__all__ = ["watched"]


def watched(classifier: BasePUClassifier, features: Any, s: NDArray[np.int8]) -> BasePUClassifier:
    """Let a network measure its risk on rows that it is not fitted to, after every epoch."""
    rows, labels = as_rows(features), torch.from_numpy(s)

    def add(row: dict[str, float], module: torch.nn.Module) -> None:
        objective = Objective(
            classifier.prior_,
            risk=classifier.risk,
            sampling=classifier.sampling,
        )
        risks = evaluate(objective, predict_scores(module, rows), labels)
        row |= {f"valid_{name}": value for name, value in risks.items()}

    training = classifier.training or DEFAULT_TRAINING
    if training.on_epoch_end is None:
        classifier.set_params(training=replace(training, on_epoch_end=add))
    return classifier
