"""A run of Algorithm 1: everything that changes while it goes on, in one place.

The rows and which sample each belongs to, the model as the steps call it (compiled, or in another
precision, with weights of its own), the external optimiser 𝒜, and the seeds of what torch draws
from its one global generator.
"""

from __future__ import annotations

import copy
import math
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from nnpu.parameters import ParameterError, check_choice, shown
from nnpu.training.batches import derive_seed
from nnpu.training.distributed import ALONE
from nnpu.training.history import EpochRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch.optim import Optimizer

    from nnpu.data.rows import Rows, SparseBatch
    from nnpu.training.distributed import World
    from nnpu.training.options import Training

__all__ = [
    "OPTIMIZERS",
    "History",
    "Run",
    "TrainingSample",
    "accelerated",
    "check_optimizer",
    "discounted_step",
    "make_optimizer",
    "seeded",
    "set_schedule",
]

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


class TrainingSample:
    """Rows of features with PU labels.

    Parameters
    ----------
    rows : Rows
        The features.
    s : Tensor of shape (n,)
        1 labelled positive, 0 unlabelled, −1 known negative.
    index : Tensor, optional
        The rows to use; default all.
    """

    def __init__(self, rows: Rows, s: Tensor, index: Tensor | None = None) -> None:
        self.rows = rows
        self.s = s
        self.index = torch.arange(len(s)) if index is None else index

    def __len__(self) -> int:
        return len(self.index)

    @property
    def groups(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row indices of P, U and N."""
        labels = self.s[self.index]
        p, u, n = (self.index[labels == value] for value in (1, 0, -1))
        return p, u, n

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of P, U and N in the sample."""
        p, u, n = (len(group) / len(self) for group in self.groups)
        return p, u, n

    def split(self, fraction: float, seed: int) -> tuple[TrainingSample, TrainingSample]:
        """Set a fraction of P, of U and of N aside; return what is left and what was set aside.

        A sample of two rows or more keeps at least one on either side.
        """
        kept, held = [], []
        for number, group in enumerate(self.groups):
            generator = np.random.default_rng(derive_seed(seed, number))
            order = group[torch.from_numpy(generator.permutation(len(group)))]
            n_held = min(max(round(fraction * len(group)), 1), max(len(group) - 1, 0))
            held.append(order[:n_held])
            kept.append(order[n_held:])
        return (
            TrainingSample(self.rows, self.s, torch.cat(kept).sort().values),
            TrainingSample(self.rows, self.s, torch.cat(held).sort().values),
        )


def accelerated(model: nn.Module, *, precision: str, compiled: bool) -> nn.Module:
    """Return what a training step calls in place of the model.

    Parameters
    ----------
    model : torch.nn.Module
        g(x; θ), whose parameters stay float32 and are trained.
    precision : {"float32", "bfloat16"}
        Of the matrix products (autocast); the risk is computed in float32 in any case.
    compiled : bool
        Whether `torch.compile` makes kernels for the model.

    Raises
    ------
    ParameterError
        If the model is to be compiled and nothing here can.

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> accelerated(model, precision="float32", compiled=False) is model
    True
    >>> accelerated(model, precision="bfloat16", compiled=False)(torch.zeros(3, 2)).dtype
    torch.float32
    """
    called = _compile(model) if compiled else model
    return _Mixed(called, model) if precision == "bfloat16" else called


class _Mixed(nn.Module):
    """A model whose products are computed in bfloat16 and whose scores are float32."""

    def __init__(self, called: Any, model: nn.Module) -> None:
        super().__init__()
        self.called = called
        self.accepts_sparse = getattr(model, "accepts_sparse", False)

    def forward(self, batch: Tensor | SparseBatch) -> Tensor:
        device = next(self.parameters()).device.type
        with torch.autocast(device, torch.bfloat16):
            scores: Tensor = self.called(batch)
        return scores.float()


def _compile(model: nn.Module) -> Any:
    """Compile the model, after a trial: torch itself would fail in the middle of the first step."""
    device = next(model.parameters()).device
    try:
        torch.compile(torch.neg)(torch.zeros(2, device=device))
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise ParameterError(
            "The 'compile' parameter of Training must be False where torch.compile does not work: "
            f"it needs a compiler (on the CPU a C++ one, such as g++). Got True instead ({reason})."
        ) from error
    return torch.compile(model)


_RISE = 0.2  # share of the steps of a one-cycle schedule in which the step size grows

#: Optimisers by name. Weight decay is added to the gradient, as in the authors' code, except for
#: "adamw", which decays the weights themselves.
OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


def check_optimizer(optimizer: Any, owner: str) -> Callable[..., Optimizer]:
    """Return what makes the optimiser: a name's class, or the class or callable itself."""
    if isinstance(optimizer, str):
        return OPTIMIZERS[
            check_choice("optimizer", optimizer, owner, OPTIMIZERS, also="a torch optimiser class")
        ]
    if callable(optimizer):
        return optimizer  # type: ignore[no-any-return]
    raise ParameterError(
        f"The 'optimizer' parameter of {owner} must be a str among {sorted(OPTIMIZERS)} or a torch "
        f"optimiser class. Got {shown(optimizer)} instead."
    )


def make_optimizer(
    optimizer: Any, parameters: Iterable[nn.Parameter], *, lr: float, weight_decay: float
) -> Optimizer:
    """Build the optimiser for some parameters."""
    make = check_optimizer(optimizer, "make_optimizer")
    # One fused kernel per step instead of one per tensor and operation.
    fused = {"fused": True} if make in (torch.optim.Adam, torch.optim.AdamW) else {}
    return make(parameters, lr=lr, weight_decay=weight_decay, **fused)


def discounted_step(optimizer: Optimizer, factor: Tensor) -> None:
    """Let the optimiser take a step with its step size times `factor`, a tensor of shape ().

    What the optimiser changes is proportional to the step size, so a part of the step is the
    step with a part of the size; and nobody has to wait for the factor to leave its device.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    before = [weight.detach().clone() for weight in weights]
    optimizer.step()
    with torch.no_grad():
        for weight, old in zip(weights, before, strict=True):
            weight.copy_(old.lerp(weight, factor.to(weight)))  # exactly the step where it is 1


def set_schedule(optimizer: Optimizer, lr: float, schedule: str, progress: float) -> None:
    """Set the step size for a share of all steps done, `progress` in [0, 1)."""
    for group in optimizer.param_groups:
        group["lr"] = lr * _factor(schedule, progress)


def _factor(schedule: str, progress: float) -> float:
    """The step size at a share of all steps, as a share of the greatest.

    >>> [round(_factor("one-cycle", share), 3) for share in (0.0, 0.1, 0.2, 0.6, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if schedule == "constant":
        return 1.0
    if schedule == "one-cycle":
        if progress < _RISE:
            return progress / _RISE
        progress = (progress - _RISE) / (1 - _RISE)
    return (1 + math.cos(math.pi * progress)) / 2


_GENERATOR = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator for the body, then put it back as it was.

    All threads share that generator, so one body runs at a time: fits in several threads give
    the same bits as one after another. Use processes to train in parallel.

    Examples
    --------
    >>> import torch
    >>> def draw():
    ...     with seeded(0):
    ...         return torch.rand(1).item()
    >>> draw() == draw()
    True
    """
    with _GENERATOR, torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
