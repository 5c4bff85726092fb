"""Training from the disk against training from memory."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from nnpu.data import ParquetRows
from nnpu.data.rows import as_rows
from nnpu.estimators import PUClassifier
from nnpu.files import sync
from nnpu.models import mlp
from nnpu.paper.speed.contest import Contender, contest
from nnpu.parameters import InputError
from nnpu.training import Training
from nnpu.training.batches import automatic_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from nnpu.paper.results import Row
    from nnpu.paper.speed.contest import Clock

__all__ = ["check_room", "measure_disk"]

_BLOCK = 8_192  # rows written together
_MEMORY = "in memory"
_BATCH = 1_000


def measure_disk(
    n_rows: int = 400_000,
    n_features: int = 2_000,
    *,
    repeats: int = 1,
    parquet: bool = True,
    folder: Path | None = None,
) -> list[Row]:
    """Time an epoch of `PUClassifier` from a memory map, from Parquet and from memory.

    The 6-layer Softsign perceptron on normal numbers, batches of 1,000, the second of two epochs.
    The files are made in a temporary folder and removed. Where a table is kept must not change
    what is learned: the weights are compared.

    Parameters
    ----------
    n_rows, n_features : int
        Of float32; by default 3.2 GB.
    repeats : int, default=1
        Rounds; the best time of each counts.
    parquet : bool, default=True
        Whether Parquet is among them.
    folder : Path, optional
        Where the temporary folder is made; by default the system's.

    Returns
    -------
    list of dict
        See `contest`; the ratio is the time as a multiple of that from memory.
    """
    size = 4 * n_rows * n_features
    parent = Path(tempfile.gettempdir() if folder is None else folder)
    check_room(parent, size * (2 if parquet else 1))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=parent, prefix="nnpu-bench-") as name:
        path = Path(name)
        _write(path, n_rows, n_features, parquet=parquet)
        s = np.zeros(n_rows, dtype=np.int8)
        s[::20] = 1
        sources: dict[str, Callable[[], Any]] = {
            "a memory map": lambda: np.load(path / "table.npy", mmap_mode="r"),
            **({"a Parquet folder": lambda: ParquetRows(path / "parquet")} if parquet else {}),
            _MEMORY: lambda: np.load(path / "table.npy"),
        }

        def contender(kind: str, open_table: Callable[[], Any]) -> Contender:
            def run(clock: Clock) -> None:
                results[kind] = _fit(open_table(), s, clock)

            return Contender(kind, run, _MEMORY, n_rows)

        rows = contest([contender(*source) for source in sources.items()], repeats=repeats)
    for kind, weights in results.items():
        if not torch.equal(weights, results[_MEMORY]):
            raise AssertionError(f"{kind}: the weights are not those of training in memory.")
    return rows


def check_room(folder: Path, size: int) -> None:
    """Raise `InputError` unless a folder's disk has room for `size` bytes and a tenth more."""
    free = shutil.disk_usage(folder).free
    if free < 1.1 * size:
        raise InputError(
            f"{folder} has {free / 1e9:.1f} GB left and {1.1 * size / 1e9:.1f} GB are needed; set "
            "TMPDIR to a folder with more room."
        )


def _write(folder: Path, n_rows: int, n_features: int, *, parquet: bool) -> None:
    """Write the same numbers as one NPY file and as a folder of Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet

    table = np.lib.format.open_memmap(
        folder / "table.npy", mode="w+", dtype=np.float32, shape=(n_rows, n_features)
    )
    (folder / "parquet").mkdir()
    names = [f"x{number}" for number in range(n_features)]
    group = automatic_blocks(as_rows(table)) or _BLOCK
    generator = np.random.default_rng(0)
    for start in range(0, n_rows, group):
        block = generator.standard_normal((min(group, n_rows - start), n_features), np.float32)
        table[start : start + group] = block
        if parquet:
            columns = pa.table(list(np.ascontiguousarray(block.T)), names=names)
            file = folder / "parquet" / f"{start:012d}.parquet"
            pyarrow.parquet.write_table(
                columns, file, compression="none", use_dictionary=False, write_statistics=False
            )
            sync(file)  # or the system would write it while a contender is timed
    table.flush()


def _fit(table: Any, s: Any, clock: Clock) -> torch.Tensor:
    """Fit two epochs, time the second, and return the weights."""

    def tick(row: dict[str, float], model: nn.Module) -> None:
        clock.stop() if row["epoch"] else clock.start()

    classifier = PUClassifier(
        0.5,
        module=lambda n_features: mlp(n_features, activation="softsign"),
        batch_size=_BATCH,
        epochs=2,
        random_state=0,
        training=Training(on_epoch_end=tick),
    ).fit(table, s)
    weights = classifier.module_.parameters()
    return torch.cat([weight.detach().flatten() for weight in weights])
