"""Training and prediction against their matrix products, and against a plain PyTorch loop."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from nnpu.data.rows import as_rows
from nnpu.models import mlp
from nnpu.objective import Objective, PULoss
from nnpu.paper.speed.contest import Contender, contest
from nnpu.training import Training, TrainingSample, predict_scores, train

if TYPE_CHECKING:
    from torch import Tensor, nn

    from nnpu.paper.results import Row
    from nnpu.paper.speed.contest import Clock

__all__ = ["Shape", "measure_speed"]

_OURS = "training, an epoch of ours"
_JUDGED = "training and evaluation, ours"
_SCORED = "prediction, ours"


@dataclass(frozen=True)
class Shape:
    """What is trained: rows, features, hidden widths, rows per mini-batch, labelled positives."""

    n_rows: int = 60_000
    n_features: int = 784
    hidden: tuple[int, ...] = (300, 300, 300, 300)
    batch_size: int = 1_000
    n_p: int = 1_000

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        return list(itertools.pairwise((self.n_features, *self.hidden, 1)))

    def draw(self) -> tuple[Tensor, Tensor]:
        """Return random rows and their PU labels."""
        generator = torch.Generator().manual_seed(0)
        x = torch.rand(self.n_rows, self.n_features, generator=generator)
        s = torch.zeros(self.n_rows, dtype=torch.int8)
        s[: self.n_p] = 1
        return x, s


class _RowByRow(Dataset[tuple["Tensor", "Tensor"]]):
    """What most people write: one row at a time."""

    def __init__(self, x: Tensor, s: Tensor) -> None:
        self.x, self.s = x, s

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.s[index]


def measure_speed(shape: Shape | None = None, *, repeats: int = 3) -> list[Row]:
    """Time an epoch of each contender, after one that does not count, and return ratios to ours.

    Parameters
    ----------
    shape : Shape, optional
        By default MNIST's and the 6-layer perceptron's.
    repeats : int, default=3
        Rounds; the best time of each contender counts.

    Returns
    -------
    list of dict
        See `contest`. The evaluation scores every row once more at the end of the epoch, as the
        paper's curves need it.
    """
    shape = shape or Shape()
    x, s = shape.draw()
    products = _Products(x, shape)
    contenders = {
        _OURS: lambda clock: _ours(x, s, shape, clock, judged=False),
        "training, its matrix products alone": products.train,
        "training, a DataLoader over tensors": lambda clock: _plain(
            TensorDataset(x, s), shape, clock
        ),
        "training, a DataLoader over rows": lambda clock: _plain(_RowByRow(x, s), shape, clock),
        _JUDGED: lambda clock: _ours(x, s, shape, clock, judged=True),
        "training and evaluation, matrix products": products.train_and_predict,
        _SCORED: lambda clock: _predict(x, shape, clock),
        "prediction, its matrix products alone": products.predict,
    }
    return contest(
        [Contender(name, run, _unit(name), shape.n_rows) for name, run in contenders.items()],
        repeats=repeats,
    )


def _unit(name: str) -> str:
    if name.startswith("prediction"):
        return _SCORED
    return _JUDGED if name.startswith("training and") else _OURS


def _model(shape: Shape) -> nn.Module:
    return mlp(shape.n_features, shape.hidden)


def _ours(x: Tensor, s: Tensor, shape: Shape, clock: Clock, *, judged: bool) -> None:
    """Two epochs, of which the second counts: the first one takes the memory."""
    rows = as_rows(x)

    def tick(row: dict[str, float], model: nn.Module) -> None:
        if judged:
            predict_scores(model, rows)
        clock.stop() if row["epoch"] else clock.start()

    train(
        _model(shape),
        TrainingSample(rows, s),
        Objective(0.5),
        epochs=2,
        batch_size=shape.batch_size,
        options=Training(on_epoch_end=tick),
    )


def _plain(data: Dataset[tuple[Tensor, ...]], shape: Shape, clock: Clock) -> None:
    """A training loop as a user would write it, with our loss."""
    model, loss = _model(shape), PULoss(0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(data, batch_size=shape.batch_size, shuffle=True)
    for _ in range(2):
        clock.start()
        for x, s in loader:
            optimizer.zero_grad()
            loss(model(x), s).backward()
            optimizer.step()
        clock.stop()


def _predict(x: Tensor, shape: Shape, clock: Clock) -> None:
    model, rows = _model(shape), as_rows(x)
    for _ in range(2):
        clock.start()
        predict_scores(model, rows)
        clock.stop()


class _Products:
    """The matrix products of training and of prediction, and nothing else: into ready memory."""

    def __init__(self, x: Tensor, shape: Shape) -> None:
        self.x, self.shape = x, shape
        size, layers = min(shape.batch_size, shape.n_rows), shape.layers
        self.weights = [torch.rand(a, b) for a, b in layers]
        self.inputs = [x[:size].clone(), *(torch.rand(size, b) for _, b in layers)]
        self.outputs = [torch.empty(size, b) for _, b in layers]
        self.weight_gradients = [torch.empty(a, b) for a, b in layers]
        self.input_gradients = [torch.empty(size, a) for a, _ in layers]

    def train(self, clock: Clock) -> None:
        for _ in range(2):
            clock.start()
            self._train()
            clock.stop()

    def predict(self, clock: Clock) -> None:
        for _ in range(2):
            clock.start()
            self._predict()
            clock.stop()

    def train_and_predict(self, clock: Clock) -> None:
        for _ in range(2):
            clock.start()
            self._train()
            self._predict()
            clock.stop()

    def _train(self) -> None:
        """The products of forward and backward passes: outputs and both gradients."""
        for _ in range(-(-self.shape.n_rows // self.shape.batch_size)):
            for number, weight in enumerate(self.weights):
                x, y = self.inputs[number], self.inputs[number + 1]
                torch.mm(x, weight, out=self.outputs[number])
                torch.mm(x.T, y, out=self.weight_gradients[number])
                if number:  # nobody needs the gradient of the data
                    torch.mm(y, weight.T, out=self.input_gradients[number])

    def _predict(self) -> None:
        for start in range(0, self.shape.n_rows, 2_048):
            batch = self.x[start : start + 2_048]
            for weight in self.weights:
                batch = torch.mm(batch, weight)
