"""How the training loop is run, beyond what Algorithm 1 names, and how its progress is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol

from torch import nn
from tqdm import tqdm

from nnpu.parameters import ParameterError, check_choice, check_count, check_number, shown
from nnpu.terminal import is_live

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "DEFAULT_TRAINING",
    "EpochEnd",
    "Progress",
    "Training",
    "progress_bar",
]

#: Called after every epoch with the row of history just made and the model as it is.
EpochEnd = Callable[[dict[str, float], nn.Module], Any]


@dataclass(frozen=True)
class Training:
    """Options of the training loop.

    Parameters
    ----------
    schedule : {"constant", "cosine", "one-cycle"}, default="constant"
        Whether the step size stays, or falls to zero along a half cosine over all steps; in
        "one-cycle" it first grows from zero over a fifth of them.
    averaging : float, default=0.0
        Decay of an exponential moving average of the weights, which then takes the place of the
        last weights; 0 for none. 0.99 averages over about a hundred steps.
    warm_up : float, default=0.0
        Share of all steps, the first ones, that minimise the logistic loss instead of the chosen
        one. A bounded loss is flat far from its best weights, and where positives are few, calling
        everything negative is a place it does not leave; the logistic loss is never flat there.
    validation_fraction : float, default=0.0
        Share of P and of U set aside to measure the PU risk on; it needs no negatives.
    patience : int or None, default=None
        Stop after so many epochs without a lower validation risk and go back to the best weights;
        None never stops early. It needs ``validation_fraction > 0``.
    monitor : {"risk", "zero_one"}, default="zero_one"
        The validation risk to go by: of the surrogate loss, or of the zero-one loss.
    least_per_batch : int, default=1
        Rows of each sample that every batch holds at the least; see `BatchPlan`.
    parallel : {"global", "local"}, default="global"
        What several processes minimise together. "global": the risk of the whole mini-batch, the
        same as one process does. "local": each corrects its own share of r, which bounds that risk
        from above and lets processes take different branches of Algorithm 1.
    block_rows : int, "auto" or None, default="auto"
        Rows of the blocks that are shuffled where the table is too large to be shuffled as a
        whole; see `BatchPlan`. None never makes blocks. "auto" does for tables that take more than
        1 GiB as float32, blocks of 16 MiB, wherever the table is kept.
    precision : {"float32", "bfloat16"}, default="float32"
        Of the matrix products of a training step. Weights, risk and prediction are float32.
    compile : bool, default=False
        Whether `torch.compile` makes kernels for the model's training steps: some seconds at the
        start for a faster step. It needs a compiler.
    on_epoch_end : callable, optional
        Called with the newest row of the history and the model; return True to stop. Numbers that
        it adds to the row become part of the history; what it keeps elsewhere is not in a
        checkpoint. A resumed run may call it again for the last epoch before the interruption.
        Of several processes the first calls it, and the others take over the row.
    checkpoint : path-like, optional
        A folder for checkpoints. If it holds one of the same run (data, model, objective, options
        and seed), that run goes on where it was and ends in the same bits as if it had never
        stopped. It disappears when the run is done. None keeps no checkpoints.
    checkpoint_every : int or timedelta, default=timedelta(seconds=30)
        Steps, or time, between two checkpoints. An interruption by the keyboard writes one too.
    keep_checkpoint : bool, default=False
        Whether the folder stays, with the finished run in it, for a caller who removes it once
        the result is stored; see `checkpoints_beside`.

    Examples
    --------
    >>> Training(validation_fraction=0.2, patience=10).monitor
    'zero_one'
    """

    schedule: Literal["constant", "cosine", "one-cycle"] = "constant"
    averaging: float = 0.0
    warm_up: float = 0.0
    validation_fraction: float = 0.0
    patience: int | None = None
    monitor: Literal["risk", "zero_one"] = "zero_one"
    least_per_batch: int = 1
    parallel: Literal["global", "local"] = "global"
    block_rows: int | Literal["auto"] | None = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    on_epoch_end: EpochEnd | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: int | timedelta = timedelta(seconds=30)
    keep_checkpoint: bool = False

    def __post_init__(self) -> None:
        owner = "Training"
        check_choice("schedule", self.schedule, owner, ["constant", "cosine", "one-cycle"])
        check_choice("monitor", self.monitor, owner, ["risk", "zero_one"])
        check_choice("parallel", self.parallel, owner, ["global", "local"])
        check_number("warm_up", self.warm_up, owner, low=0, high=1)
        check_number("averaging", self.averaging, owner, low=0, high=1, include_high=False)
        check_number(
            "validation_fraction",
            self.validation_fraction,
            owner,
            low=0,
            high=1,
            include_high=False,
        )
        check_count("least_per_batch", self.least_per_batch, owner)
        if self.block_rows not in ("auto", None):
            check_count("block_rows", self.block_rows, owner)
        check_choice("precision", self.precision, owner, ["float32", "bfloat16"])
        if not isinstance(self.compile, bool):
            raise ParameterError(
                f"The 'compile' parameter of {owner} must be True or False. "
                f"Got {self.compile!r} instead."
            )
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise ParameterError(
                f"The 'checkpoint' parameter of {owner} must be the path of a folder or None. "
                f"Got {shown(self.checkpoint)} instead."
            )
        if not isinstance(self.checkpoint_every, timedelta):
            check_count("checkpoint_every", self.checkpoint_every, owner)
        if self.on_epoch_end is not None and not callable(self.on_epoch_end):
            raise ParameterError(
                f"The 'on_epoch_end' parameter of {owner} must be a callable or None. "
                f"Got {shown(self.on_epoch_end)} instead."
            )
        if self.patience is not None:
            check_count("patience", self.patience, owner)
            check_number(
                "validation_fraction (with patience)",
                self.validation_fraction,
                owner,
                low=0,
                high=1,
                include_low=False,
                include_high=False,
            )


#: How `PUClassifier` trains by default.
DEFAULT_TRAINING = Training(schedule="cosine", warm_up=0.2)


class Progress(Protocol):
    """Something that shows every epoch."""

    def update(self, row: Mapping[str, float]) -> None:
        """Show a row of history."""


class _Silent:
    def update(self, row: Mapping[str, float]) -> None:
        pass


class _Bar:
    def __init__(self, bar: tqdm[Any]) -> None:
        self.bar = bar

    def update(self, row: Mapping[str, float]) -> None:
        self.bar.set_postfix_str(_sentence(row), refresh=False)
        self.bar.update()


class _Lines:
    """At most about twenty lines for a run, so a log stays readable."""

    def __init__(self, epochs: int) -> None:
        self.epochs, self.every = epochs, max(1, epochs // 20)

    def update(self, row: Mapping[str, float]) -> None:
        done = int(row["epoch"]) + 1
        if done % self.every == 0 or done == self.epochs:
            print(f"epoch {done}/{self.epochs}: {_sentence(row)}", file=sys.stderr, flush=True)


def _sentence(row: Mapping[str, float]) -> str:
    text = f"risk {row['train_risk']:.4f}"
    if "valid_risk" in row:
        text += f", held out {row['valid_risk']:.4f}"
    return text + f", {100 * row['corrected']:.0f} % of steps corrected"


@contextmanager
def progress_bar(epochs: int, *, shown: bool, label: str = "training") -> Iterator[Progress]:
    """Show the epochs of a run on standard error while the body runs."""
    if not shown:
        yield _Silent()
    elif is_live(sys.stderr):
        bar: tqdm[Any]
        with tqdm(total=epochs, desc=label, unit="epoch") as bar:
            yield _Bar(bar)
    else:
        yield _Lines(epochs)
