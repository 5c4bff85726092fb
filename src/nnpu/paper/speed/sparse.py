"""A million sparse rows of a hundred thousand features, from a folder on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.data import read_csr, write_csr
from nnpu.estimators import LinearPU, PUClassifier
from nnpu.paper.speed.contest import Contender, contest
from nnpu.paper.speed.disk import check_room
from nnpu.training import Training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nnpu.paper.results import Row
    from nnpu.paper.speed.contest import Clock

__all__ = ["measure_sparse"]

_PRIOR = 0.4
_BLOCK = 100_000  # rows written together
_NETWORK = "PUClassifier, an epoch"


def measure_sparse(
    n_rows: int = 1_000_000,
    n_features: int = 100_000,
    per_row: int = 50,
    *,
    repeats: int = 1,
    folder: Path | None = None,
) -> list[Row]:
    """Time an epoch of `PUClassifier`, default network, and a fit of `LinearPU` (logistic).

    Each row has `per_row` random features; 1,000 features are commoner in one class. A twentieth
    of the rows are labelled. The table is made in a temporary folder and removed; its arrays stay
    on disk, and no row is made dense.

    Parameters
    ----------
    n_rows, n_features, per_row : int
        Shape of the table and non-zeros of a row.
    repeats : int, default=1
        Rounds; the best time of each counts.
    folder : Path, optional
        Where the temporary folder is made; by default the system's.

    Returns
    -------
    list of dict
        See `contest`; the ratio is the time as a multiple of the network's epoch.
    """
    parent = Path(tempfile.gettempdir() if folder is None else folder)
    check_room(parent, 8 * n_rows * per_row)
    with tempfile.TemporaryDirectory(dir=parent, prefix="nnpu-bench-") as name:
        x = read_csr(write_csr(Path(name) / "table", _blocks(n_rows, n_features, per_row)))
        s = np.zeros(n_rows, dtype=np.int8)
        s[: n_rows // 20] = 1
        return contest(
            [
                Contender(_NETWORK, lambda clock: _network(x, s, clock), _NETWORK, n_rows),
                Contender(
                    "LinearPU, to the optimum", lambda clock: _linear(x, s, clock), _NETWORK, n_rows
                ),
            ],
            repeats=repeats,
        )


def _blocks(n_rows: int, n_features: int, per_row: int) -> Iterator[Any]:
    generator = np.random.default_rng(0)
    telling = min(500, n_features // 2)
    for start in range(0, n_rows, _BLOCK):
        number = np.arange(start, min(start + _BLOCK, n_rows))
        positive = (number < n_rows // 20) | (generator.random(len(number)) < _PRIOR)
        columns = generator.integers(0, n_features, (len(number), per_row), dtype=np.int32)
        columns[:, :2] %= telling
        columns[~positive, :2] += telling
        columns.sort(axis=1)
        values = generator.random(columns.size, dtype=np.float32)
        indptr = np.arange(0, columns.size + 1, per_row, dtype=np.int32)
        yield sparse.csr_array((values, columns.ravel(), indptr), shape=(len(number), n_features))


def _network(x: Any, s: Any, clock: Clock) -> None:
    """The whole fit is timed: one epoch is long beside the passes that check and scale."""
    clock.start()
    PUClassifier(_PRIOR, epochs=1, random_state=0, training=Training()).fit(x, s)
    clock.stop()


def _linear(x: Any, s: Any, clock: Clock) -> None:
    clock.start()
    LinearPU(_PRIOR, loss="logistic", alpha=1.0).fit(x, s)
    clock.stop()
