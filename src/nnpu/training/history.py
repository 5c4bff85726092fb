"""What is kept of every epoch: the risks, their parts, and how often the gradient was corrected.

`TensorBoardLogger` and `MLflowLogger` write it elsewhere, as callables for
``Training(on_epoch_end=…)``. A run that was interrupted and goes on may report its last epoch
twice; both end with one curve.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from nnpu.extras import need
from nnpu.losses import LOSSES
from nnpu.parameters import InputError, ParameterError
from nnpu.training.distributed import ALONE

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from nnpu.objective import Objective
    from nnpu.risk import Terms
    from nnpu.training.distributed import World

__all__ = [
    "EpochRecord",
    "MLflow",
    "TensorBoard",
    "evaluate",
]

_LEAST = 1 << 16  # values for which there is room at first


def evaluate(objective: Objective, scores: Tensor, s: Tensor) -> dict[str, float]:
    """Return the PU risk of scores under the objective's own loss and under the zero-one loss.

    ``risk`` and ``zero_one`` are the reported values, ``positive`` and ``negative`` the two parts
    of the first: for nnPU π R̂_p⁺ and r.

    Parameters
    ----------
    objective : Objective
        The risk, with its prior and its loss.
    scores : Tensor of shape (n,)
        What a model says of the rows.
    s : Tensor of shape (n,)
        PU labels: 1, 0, or −1 for known negatives.

    Examples
    --------
    >>> import torch
    >>> from nnpu.training import Objective
    >>> scores, s = torch.tensor([2.0, -1.0, 3.0, -2.0]), torch.tensor([1, 1, 0, 0])
    >>> evaluate(Objective(0.4), scores, s)["zero_one"]  # 0.4 · 1/2 + max(0, 1/2 − 0.4 · 1/2)
    0.5
    """
    surrogate = objective.terms(scores, s)
    zero_one = objective.terms(scores, s, loss=LOSSES["zero_one"])
    return {
        "risk": surrogate.risk.item(),
        "zero_one": zero_one.risk.item(),
        "positive": surrogate.positive.item(),
        "negative": surrogate.negative.item(),
    }


class _Tape:
    """Values of many steps, one after another in one tensor.

    A small tensor of every step would lie between the large ones that the next step takes again,
    and split them: memory would grow from step to step.
    """

    def __init__(self) -> None:
        self._room: Tensor | None = None
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, values: Tensor) -> None:
        """Copy values of shape (n,) to the end."""
        end = self._n + len(values)
        if self._room is None or end > len(self._room):
            larger = values.new_empty(max(2 * end, _LEAST))
            if self._room is not None:
                larger[: self._n] = self._room[: self._n]
            self._room = larger
        self._room[self._n : end] = values
        self._n = end

    def values(self) -> Tensor:
        """Return all of them."""
        assert self._room is not None
        return self._room[: self._n].clone()


class EpochRecord:
    """Collects the scores of an epoch's steps, on their device; nothing waits until its end."""

    def __init__(self) -> None:
        self._scores, self._s, self._corrected = _Tape(), _Tape(), _Tape()

    def add(self, scores: Tensor, s: Tensor, terms: Terms) -> None:
        """Keep what a step computed anyway."""
        self._scores.add(scores.detach())
        self._s.add(s)
        self._corrected.add(terms.corrected.view(1))

    def state(self) -> dict[str, Tensor]:
        """Return what was added so far as three tensors."""
        if not len(self._corrected):  # a process may have steps without rows
            return {}
        return {
            "scores": self._scores.values(),
            "s": self._s.values(),
            "corrected": self._corrected.values(),
        }

    @classmethod
    def restored(cls, state: dict[str, Tensor], device: torch.device) -> EpochRecord:
        """Return the record of which `state` is the state."""
        record = cls()
        if state:
            record._scores.add(state["scores"].to(device))
            record._s.add(state["s"].to(device))
            record._corrected.add(state["corrected"].to(device))
        return record

    def summary(self, objective: Objective, epoch: int, world: World = ALONE) -> dict[str, float]:
        """Return the row of history: training risks over all rows as they were scored."""
        values = evaluate(objective, self._scores.values(), self._s.values())
        if not math.isfinite(values["risk"]):
            raise InputError(
                f"The training risk became {values['risk']} in epoch {epoch}: the run diverged. "
                "Lower 'lr', or scale the features if the module is your own."
            )
        corrected = sum(world.gather(self._corrected.values().double().mean().item())) / world.size
        return {f"train_{name}": value for name, value in values.items()} | {"corrected": corrected}


class TensorBoard:
    """Write every epoch of a run to a folder that ``tensorboard --logdir`` shows.

    Parameters
    ----------
    folder : path-like
        The run's folder. A run that goes on after an interruption takes the same one: its first
        epoch then replaces what was written from that epoch on.

    Examples
    --------
    >>> from nnpu.training import Training
    >>> training = Training(on_epoch_end=TensorBoard("runs/first"))

    Then ``PUClassifier(..., training=training)``. It needs ``pip install 'nnpu[tensorboard]'``.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, str | os.PathLike):
            raise ParameterError(
                "The 'folder' parameter of TensorBoard must be the path of a folder. "
                f"Got {folder!r} instead."
            )
        self.folder = os.fspath(folder)
        self._writer: Any = None

    def __call__(self, row: dict[str, float], model: nn.Module) -> None:
        """Write a row of history."""
        epoch = int(row["epoch"])
        if self._writer is None:
            need("tensorboard", extra="tensorboard", owner="TensorBoard")
            from torch.utils.tensorboard import SummaryWriter

            # Whatever an earlier process wrote from this epoch on is taken back.
            self._writer = SummaryWriter(self.folder, purge_step=epoch)
        for name, value in row.items():
            if name != "epoch":
                self._writer.add_scalar(name.replace("_", "/", 1), value, epoch)
        self._writer.flush()

    def close(self) -> None:
        """Close the file; the next call opens another one."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies, as scikit-learn's `clone` makes them, share no open file."""
        return {"folder": self.folder, "_writer": None}


class MLflow:
    """Log every epoch of a run to MLflow, at its tracking URI.

    Parameters
    ----------
    run_id : str or None, default=None
        The run to log to; None is the active one (``mlflow.start_run()``), which MLflow starts if
        needed. Name a run to continue it after an interruption.

    Examples
    --------
    >>> from nnpu.training import Training
    >>> training = Training(on_epoch_end=MLflow())

    Then ``PUClassifier(..., training=training)``. It needs ``pip install 'nnpu[mlflow]'``.
    """

    def __init__(self, run_id: str | None = None) -> None:
        if not isinstance(run_id, str | None):
            raise ParameterError(
                f"The 'run_id' parameter of MLflow must be a str or None. Got {run_id!r} instead."
            )
        self.run_id = run_id

    def __call__(self, row: dict[str, float], model: nn.Module) -> None:
        """Log a row of history."""
        mlflow = need("mlflow", extra="mlflow", owner="MLflow")
        values = {name: float(value) for name, value in row.items() if name != "epoch"}
        mlflow.log_metrics(values, step=int(row["epoch"]), run_id=self.run_id)
