"""A generated stand-in for epsilon: files of its format and shape, and what running them costs.

Generated numbers show that files of epsilon's size go through the same reading, sampling and
training as the real ones, and in which time and memory. What is learned from them says nothing
about the paper.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnpu_paper.contest import Clock
from nnpu_paper.epsilon import EpsilonSpec, load_epsilon
from nnpu_paper.experiments import FIGURE_2
from nnpu_paper.manifest import Bundle, DataFile
from nnpu_paper.memory import peak_memory
from nnpu_paper.runs import ExperimentRun, run_one
from nnpu_paper.speed import check_room

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from numpy.typing import NDArray

    from nnpu_paper.results import Row

    Made = TypeVar("Made")

__all__ = ["GENERATED", "generate_epsilon", "measure_epsilon"]

_BLOCK = 1_000  # rows made together
_TEXT = 17  # bytes of a number with its index, at the most
_SHIFT = 2.0  # distance of the class means, in standard deviations of a feature

#: epsilon's panel of Figure 2 on generated files.
GENERATED = replace(
    next(setting for setting in FIGURE_2 if setting.name == "epsilon"),
    name="epsilon-generated",
    title="epsilon, generated",
    dataset="epsilon-generated",
)


def generate_epsilon(folder: Path, spec: EpsilonSpec, *, seed: int = 0) -> Bundle:
    """Write a training and a test file in epsilon's format and return what is in them.

    Rows are normal numbers around one of two class means, half of them each, scaled to length 1
    and written with six significant digits, as LIBSVM text with every index.

    Parameters
    ----------
    folder : Path
        Where ``epsilon_generated`` and ``epsilon_generated.t`` are written.
    spec : EpsilonSpec
        How many rows and columns.
    seed : int, default=0
        The same seed gives the same files.

    Returns
    -------
    Bundle
        Names and checksums, as `load_epsilon` takes them.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> bundle = generate_epsilon(folder, EpsilonSpec(n_train=2, n_test=1, n_features=3))
    >>> [file.name for file in bundle.files]
    ['epsilon_generated', 'epsilon_generated.t']
    >>> print((folder / "epsilon_generated.t").read_text(), end="")
    +1 1:-0.0927421 2:-0.689562 3:0.718264
    """
    direction = np.random.default_rng([seed, 0]).standard_normal(spec.n_features)
    direction *= _SHIFT / np.linalg.norm(direction)
    files = []
    parts = (("epsilon_generated", spec.n_train), ("epsilon_generated.t", spec.n_test))
    for number, (name, n_rows) in enumerate(parts, start=1):
        rng = np.random.default_rng([seed, number])
        digest = hashlib.sha256()
        with (folder / name).open("wb") as out:
            for start in range(0, n_rows, _BLOCK):
                text = _text(*_draw(rng, min(_BLOCK, n_rows - start), direction))
                digest.update(text)
                out.write(text)
        files.append(DataFile(name, digest.hexdigest(), source="generated"))
    return Bundle("epsilon-generated", "libsvm", tuple(files))


def _draw(
    rng: np.random.Generator, n_rows: int, direction: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    y = rng.choice([-1, 1], n_rows)
    x = rng.standard_normal((n_rows, len(direction))) + 0.5 * y[:, None] * direction
    return x / np.linalg.norm(x, axis=1, keepdims=True), y


def _text(x: NDArray[np.float64], y: NDArray[np.int64]) -> bytes:
    line = "%+d " + " ".join(f"{index}:%.6g" for index in range(1, x.shape[1] + 1))
    lines = (line % (label, *row) for label, row in zip(y.tolist(), x.tolist(), strict=True))
    return ("\n".join(lines) + "\n").encode()


def measure_epsilon(
    n_rows: int = 400_000,
    n_features: int = 2_000,
    *,
    epochs: int = 1,
    folder: Path | None = None,
) -> list[Row]:
    """Time generated epsilon from the files to the first epochs of PN, uPU and nnPU.

    The files are read, converted and mapped as epsilon's are, and each method runs as in Figure 2:
    the 6-layer Softsign perceptron, 1,000 P inside U, batches of 30,000, and all training and test
    rows scored after every epoch. There is one test row for four training rows, as in epsilon. All
    files are made in a temporary folder and removed.

    Parameters
    ----------
    n_rows, n_features : int
        Of the training file; by default epsilon's.
    epochs : int, default=1
        Of each method.
    folder : Path, optional
        Where the temporary folder is made; by default the system's.

    Returns
    -------
    list of dict
        A phase each: ``what``, ``seconds``, ``cpu_seconds`` (of this process), ``rows_per_second``
        of the files, ``peak_mb`` (anonymous memory at its highest) and ``resident_mb`` (the highest
        resident size of the process so far, with pages of mapped files).
    """
    parent = Path(tempfile.gettempdir() if folder is None else folder)
    spec = EpsilonSpec(n_rows, n_rows // 4, n_features)
    n_all = spec.n_train + spec.n_test
    check_room(parent, n_all * n_features * (_TEXT + 4))
    phases: list[Row] = []

    def timed(what: str, work: Callable[[], Made], rows: int | None = None) -> Made:
        clock = Clock()
        with peak_memory() as peak:
            clock.start()
            made = work()
            clock.stop()
        phases.append(
            {
                "what": what,
                "seconds": round(clock.wall, 2),
                "cpu_seconds": round(clock.processor, 2),
                **({"rows_per_second": round(rows / clock.wall)} if rows else {}),
                "peak_mb": round(peak[0]),
                "resident_mb": round(_resident_mb()),
            }
        )
        return made

    with tempfile.TemporaryDirectory(dir=parent, prefix="nnpu-bench-") as name:
        place = Path(name)
        bundle = timed("generate the text", lambda: generate_epsilon(place, spec), n_all)

        convert = partial(
            load_epsilon,
            spec=spec,
            bundles=(bundle,),
            name=GENERATED.dataset,
            cache=place,
            folder=place,
            download=False,
        )
        data = timed("convert the text", convert, n_all)
        setting = GENERATED.shortened(epochs=epochs, samplings=1)
        for method in setting.methods:
            run = ExperimentRun(setting, method, 0, 0)
            timed(
                f"{method.name}, {epochs} epoch{'s' * (epochs > 1)}",
                partial(run_one, run, data=data),
            )
    return phases


def _resident_mb() -> float:
    """The highest resident size of this process so far, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes, or KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
