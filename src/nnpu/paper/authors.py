"""The authors' code beside ours, on the paper's MNIST experiment.

Their code is not part of this package: the caller names a checkout of it and an interpreter that
has Chainer. It runs there unchanged; only `fetch_mldata`, which scikit-learn no longer has, is put
back.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnpu.data import load
from nnpu.paper.presets import FIGURE_2
from nnpu.paper.runner import ExperimentRun, run_one
from nnpu.paper.settings import NNPU, UPU
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from nnpu.data import Dataset
    from nnpu.paper.results import Row

__all__ = ["compare_with_authors"]

_DRIVER = """
import sys, types
import numpy as np

code, data, out, epochs = sys.argv[1:]
arrays = np.load(data)
datasets = types.ModuleType("sklearn.datasets")
datasets.fetch_mldata = lambda *a, **k: types.SimpleNamespace(**arrays)
sys.modules["sklearn"] = types.ModuleType("sklearn")
sys.modules["sklearn.datasets"] = datasets
sys.path.insert(0, code)
import train

train.main(["--preset", "exp-mnist", "--epoch", epochs, "--out", out])
"""


def compare_with_authors(code: Path, python: str, *, epochs: int = 3) -> list[Row]:
    """Time an epoch of nnPU and uPU, both trained and both evaluated, there and here.

    Parameters
    ----------
    code : Path
        A checkout of the authors' repository, github.com/kiryor/nnPUlearning.
    python : str
        An interpreter with Chainer 7.
    epochs : int, default=3
        Epochs to time, after one that is not.

    Returns
    -------
    list of dict
        ``what``, ``seconds`` and ``ratio``, the time as a multiple of ours.
    """
    if not (code / "train.py").is_file():
        raise InputError(f"{code} holds no train.py; name a checkout of the authors' repository.")
    ours = _our_seconds(epochs)
    theirs = _their_seconds(code, python, load("mnist"), epochs)
    return [
        {"what": "nnPU and uPU, evaluated, ours", "seconds": round(ours, 3), "ratio": 1.0},
        {
            "what": "nnPU and uPU, evaluated, the authors'",
            "seconds": round(theirs, 3),
            "ratio": round(theirs / ours, 6),
        },
    ]


def _our_seconds(epochs: int) -> float:
    setting = FIGURE_2[0]

    def seconds(n: int) -> float:
        start = time.perf_counter()
        for method in (NNPU, UPU):
            run_one(ExperimentRun(replace(setting, epochs=n), method, 0, 0))
        return time.perf_counter() - start

    return (-seconds(1) + seconds(1 + epochs)) / epochs


def _their_seconds(code: Path, python: str, data: Dataset, epochs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "mnist.npz", Path(folder) / "out"
        # Their code takes pixels from 0 to 255 and digits, of which it asks only the parity.
        pixels = np.concatenate([data.x_train, data.x_test])
        pixels = pixels.reshape(len(pixels), -1)
        digits = np.concatenate([data.y_train, data.y_test]) == -1
        np.savez(file, data=np.rint(pixels * 255).astype(np.uint8), target=digits.astype(np.int32))
        arguments = [code.resolve(), file, out, 1 + epochs]
        command = [python, "-c", _DRIVER, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"The code in {code} did not run under {python}: {last}")
        ends = [row["elapsed_time"] for row in json.loads((out / "log").read_text())]
    return float(ends[-1] - ends[0]) / epochs
