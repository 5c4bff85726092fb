"""Our speed as ratios measured in one run: against the matrix products, against a plain loop.

A time alone says little: it is the machine's. Each comparison repeats both sides in turn and takes
the best of each, so that a busy moment of the machine harms both alike.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from nnpu.data.rows import as_rows
from nnpu.models import mlp
from nnpu.objective import Objective, PULoss
from nnpu.training import TrainingSample, predict_scores, train

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from nnpu.experiments.tables import Row

__all__ = ["Shape", "measure_speed"]


@dataclass(frozen=True)
class Shape:
    """What is trained: rows, features, hidden widths, rows per mini-batch, labelled positives."""

    n_rows: int = 60_000
    n_features: int = 784
    hidden: tuple[int, ...] = (300, 300, 300, 300)
    batch_size: int = 1_000
    n_p: int = 1_000


class _RowByRow(Dataset[tuple["Tensor", "Tensor"]]):
    """What most people write: one row at a time."""

    def __init__(self, x: Tensor, s: Tensor) -> None:
        self.x, self.s = x, s

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.s[index]


def measure_speed(shape: Shape | None = None, *, repeats: int = 3) -> list[Row]:
    """Time one epoch of each contender, in turn, and return ratios to ours.

    Parameters
    ----------
    shape : Shape, optional
        By default MNIST's and the 6-layer perceptron's.
    repeats : int, default=3
        Rounds; the best time of each contender counts.

    Returns
    -------
    list of dict
        ``what``, ``seconds`` and ``ratio``, the time as a multiple of our epoch's.
    """
    shape = shape or Shape()
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(shape.n_rows, shape.n_features, generator=generator)
    s = torch.zeros(shape.n_rows, dtype=torch.int8)
    s[: shape.n_p] = 1
    contenders: dict[str, Callable[[], object]] = {
        "training, an epoch of ours": lambda: _ours(x, s, shape),
        "training, its matrix products alone": lambda: _products(x, shape),
        "training, a DataLoader over tensors": lambda: _plain(TensorDataset(x, s), shape),
        "training, a DataLoader over rows": lambda: _plain(_RowByRow(x, s), shape),
        "prediction, ours": lambda: predict_scores(_model(shape), as_rows(x)),
        "prediction, its matrix products alone": lambda: _forward_products(x, shape),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return [
        {
            "what": name,
            "seconds": round(seconds, 3),
            "ratio": round(seconds / best[_reference(name)], 6),
        }
        for name, seconds in best.items()
    ]


def _reference(name: str) -> str:
    return "prediction, ours" if name.startswith("prediction") else "training, an epoch of ours"


def _model(shape: Shape) -> nn.Module:
    return mlp(shape.n_features, shape.hidden)


def _ours(x: Tensor, s: Tensor, shape: Shape) -> None:
    sample = TrainingSample(as_rows(x), s)
    train(_model(shape), sample, Objective(0.5), epochs=1, batch_size=shape.batch_size)


def _plain(data: Dataset[tuple[Tensor, ...]], shape: Shape) -> None:
    """A training loop as a user would write it, with our loss."""
    model, loss = _model(shape), PULoss(0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, s in DataLoader(data, batch_size=shape.batch_size, shuffle=True):
        optimizer.zero_grad()
        loss(model(x), s).backward()
        optimizer.step()


def _layers(shape: Shape) -> list[tuple[int, int]]:
    widths = (shape.n_features, *shape.hidden, 1)
    return list(itertools.pairwise(widths))


def _products(x: Tensor, shape: Shape) -> None:
    """The products of forward and backward passes: outputs, weight gradients, input gradients."""
    weights = [torch.rand(a, b) for a, b in _layers(shape)]
    inputs = [x[: shape.batch_size].clone()] + [
        torch.rand(shape.batch_size, b) for _, b in _layers(shape)
    ]
    for _ in range(-(-shape.n_rows // shape.batch_size)):
        for number, weight in enumerate(weights):
            torch.mm(inputs[number], weight)
            torch.mm(inputs[number].T, inputs[number + 1])
            if number:  # nobody needs the gradient of the data
                torch.mm(inputs[number + 1], weight.T)


def _forward_products(x: Tensor, shape: Shape) -> None:
    weights = [torch.rand(a, b) for a, b in _layers(shape)]
    for start in range(0, shape.n_rows, 2_048):
        batch = x[start : start + 2_048]
        for weight in weights:
            batch = torch.mm(batch, weight)
