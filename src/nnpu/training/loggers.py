"""Histories of runs in TensorBoard and MLflow, as callables for ``Training(on_epoch_end=…)``.

Both write what the history holds (risks, their parts, the share of corrected steps) at the step of
its epoch. A run that was interrupted and goes on may report its last epoch twice; both end with
one curve.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from nnpu.extras import need
from nnpu.parameters import ParameterError

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MLflow", "TensorBoard"]


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
        there is none. Name the run to go on in it after an interruption.

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
