"""Two processes against one: the time of an epoch at the same mini-batches, as a ratio.

Started by torchrun this module is the worker: ``python -m nnpu.paper.speed.processes`` trains and
prints the seconds of each epoch.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from nnpu.data.rows import as_rows
from nnpu.launch import is_first
from nnpu.models import mlp
from nnpu.objective import Objective
from nnpu.paper.speed import Shape
from nnpu.training import Training, TrainingSample, train

if TYPE_CHECKING:
    from nnpu.paper.results import Row

__all__ = ["epoch_seconds", "measure_processes"]

_EPOCHS = 4  # the first of them is not counted


def measure_processes(shape: Shape | None = None, *, repeats: int = 3) -> list[Row]:
    """Time epochs of one process with two threads and of two processes with one, in turn.

    Parameters
    ----------
    shape : Shape, optional
        By default MNIST's and the 6-layer perceptron's.
    repeats : int, default=3
        Rounds; the best epoch of each counts. Starting up is not part of an epoch.

    Returns
    -------
    list of dict
        ``what``, ``seconds`` and ``ratio``, the time as a multiple of one process's.
    """
    task = json.dumps(asdict(shape or Shape()))
    launcher = ["torch.distributed.run", "--nproc-per-node", "2", "-m"]
    contenders: dict[str, tuple[list[str], int]] = {
        "one process with two threads": ([], 2),
        "two processes with one thread": (launcher, 1),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, (words, threads) in contenders.items():
            command = [sys.executable, "-m", *words, __name__, task]
            environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            output = subprocess.run(
                command, env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            best[name] = min(best[name], *json.loads(output.stdout))
    alone = best["one process with two threads"]
    return [
        {"what": name, "seconds": round(seconds, 3), "ratio": round(seconds / alone, 6)}
        for name, seconds in best.items()
    ]


def epoch_seconds(shape: Shape) -> list[float]:
    """Train, alone or with the other processes, and return the seconds of all epochs but one."""
    x, s = shape.draw()
    torch.manual_seed(0)
    ends: list[float] = []

    def note(row: dict[str, float], model: Any) -> None:
        ends.append(time.perf_counter())

    train(
        mlp(shape.n_features, shape.hidden),
        TrainingSample(as_rows(x), s),
        Objective(0.5),
        epochs=_EPOCHS,
        batch_size=shape.batch_size,
        options=Training(on_epoch_end=note),
    )
    return [later - earlier for earlier, later in itertools.pairwise(ends)]


if __name__ == "__main__":
    seconds = epoch_seconds(Shape(**json.loads(sys.argv[1])))
    if is_first():
        print(json.dumps(seconds))
