"""A run of Algorithm 1: everything that changes while it goes on, in one place."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from nnpu.training.distributed import ALONE
from nnpu.training.history import EpochRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from nnpu.training._options import Training
    from nnpu.training.distributed import World

__all__ = ["History", "Run"]

History = list[dict[str, float]]


class Run:
    """The state of a run, and how far it has come.

    ``epoch`` and ``step`` count what is done: `step` steps of epoch number `epoch`.

    Parameters
    ----------
    model : torch.nn.Module
        g(x; θ).
    optimizer : torch.optim.Optimizer
        𝒜.
    options : Training
        Averaging and early stopping.
    world : World, optional
        The processes that share the run.
    """

    def __init__(
        self, model: nn.Module, optimizer: Optimizer, options: Training, world: World = ALONE
    ) -> None:
        self.model, self.optimizer, self.options, self.world = model, optimizer, options, world
        self.averaged = _average_of(model, options.averaging)
        self.best = _Best()
        self.history: History = []
        self.record = EpochRecord()
        self.epoch, self.step = 0, 0
        self.stopped = False
        self.whole = True  # not in the middle of a step
        self.after_step: Callable[[], None] = lambda: None

    @property
    def current(self) -> nn.Module:
        """The model with the weights that count: the averaged ones if there are any."""
        return self.averaged.module if self.averaged else self.model

    def begin_epoch(self, seed: int) -> None:
        """Seed what the model draws from, unless the epoch was begun before a restart."""
        if self.step == 0:
            _seed_torch(seed)
            self.record = EpochRecord()

    def batches(self, left: Iterable[Tensor]) -> Iterator[Tensor]:
        """Yield the rows of each mini-batch that is left of the epoch; count its step as done."""
        for rows in left:
            self.whole = False
            yield rows
            self.step += 1
            self.whole = True
            self.after_step()

    def end_epoch(self, row: dict[str, float]) -> None:
        """Add a row to the history, and stop if the options say so."""
        row, asked = self.world.from_first(lambda: self._tell(row))
        patience = self.options.patience
        if patience is not None:
            self.best.note(row[f"valid_{self.options.monitor}"], self.epoch, self.current)
        late = patience is not None and self.epoch - self.best.epoch >= patience
        self.history.append(row)
        self.stopped = asked or late
        self.epoch, self.step = self.epoch + 1, 0

    def _tell(self, row: dict[str, float]) -> tuple[dict[str, float], bool]:
        tell = self.options.on_epoch_end
        stop = tell is not None and bool(tell(row, self.current))
        return row, stop

    def result(self) -> nn.Module:
        """Return the model with its best weights if those were kept, else as it is."""
        if self.best.weights is not None:
            self.current.load_state_dict(self.best.weights)
        return self.current

    def state(self) -> dict[str, Any]:
        """Return all that later processes need to go on from here."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "stopped": self.stopped,
            "history": self.history,
            "model": self.model.state_dict(),
            "buffers": _unsaved_buffers(self.model),
            "optimizer": self.optimizer.state_dict(),
            "averaged": self.averaged.state_dict() if self.averaged else None,
            "best": vars(self.best),
            "ranks": self.world.gather(
                {"record": self.record.state(), "generators": _generators()}
            ),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        self.epoch, self.step = state["epoch"], state["step"]
        self.stopped, self.history = state["stopped"], state["history"]
        self.model.load_state_dict(state["model"])
        with torch.no_grad():
            for name, buffer in _unsaved_buffers(self.model).items():
                buffer.copy_(state["buffers"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.averaged:
            self.averaged.load_state_dict(state["averaged"])
        vars(self.best).update(state["best"])
        device = next(self.model.parameters()).device
        mine = state["ranks"][self.world.rank]
        self.record = EpochRecord.restored(mine["record"], device)
        _set_generators(mine["generators"])


class _Best:
    """Early stopping: the best weights so far and when they were seen."""

    def __init__(self) -> None:
        self.value, self.epoch = float("inf"), 0
        self.weights: dict[str, Any] | None = None

    def note(self, value: float, epoch: int, model: nn.Module) -> None:
        if value < self.value:
            self.value, self.epoch = value, epoch
            self.weights = copy.deepcopy(model.state_dict())


def _average_of(model: nn.Module, decay: float) -> Any:
    """Keep an exponential moving average of weights and buffers, if one is wanted."""
    if decay == 0:
        return None
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)


def _unsaved_buffers(model: nn.Module) -> dict[str, Tensor]:
    """Buffers that a module keeps out of its state_dict; they change all the same."""
    saved = model.state_dict()
    return {name: buffer for name, buffer in model.named_buffers() if name not in saved}


def _seed_torch(seed: int) -> None:
    """Seed what a model draws from; `torch.manual_seed` costs more than a small step."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def _generators() -> dict[str, Any]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _set_generators(states: dict[str, Any]) -> None:
    torch.set_rng_state(states["cpu"])
    for number, state in enumerate(states["cuda"]):
        torch.cuda.set_rng_state(state, number)
