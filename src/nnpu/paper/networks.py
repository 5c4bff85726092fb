"""The models of Table 2 by name, made for a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from nnpu import models
from nnpu.paper.datasets import load_glove

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from nnpu.data import Dataset

__all__ = ["NETWORKS"]


def _n_features(data: Dataset) -> int:
    return int(data.x_train[0].size)


def _word_average(dimension: int) -> Callable[[Dataset], nn.Module]:
    def make(data: Dataset) -> nn.Module:
        return models.word_average(torch.from_numpy(load_glove(data.vocabulary, dimension).vectors))

    return make


NETWORKS: dict[str, Callable[[Dataset], nn.Module]] = {
    "linear": lambda data: models.linear(_n_features(data)),
    "mlp-100": lambda data: models.mlp(_n_features(data), (100,), batch_norm=False),
    "mlp-relu": lambda data: models.mlp(_n_features(data)),
    "mlp-softsign": lambda data: models.mlp(_n_features(data), activation="softsign"),
    **{f"word-average-{size}": _word_average(size) for size in (300, 200, 100, 50)},
    "all-convolutional": lambda data: models.all_convolutional(),
}
