"""Read a user's table: CSV, Parquet, NPY, NPZ, SVMlight / LIBSVM. No file is ever unpickled."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.csvfile import read_typed
from nnpu.data.libsvm import open_text
from nnpu.data.parquet import check_parquet, parquet_files
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

__all__ = ["Table", "check_file", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, all with the same number of rows.

    Parameters
    ----------
    columns : dict
        One-dimensional arrays for CSV and Parquet; the arrays of an NPZ file by their names;
        ``x`` for NPY; ``x`` (scipy.sparse.csr_array) and ``y`` for SVMlight.
    source : str
        Path of the file.
    """

    columns: dict[str, Any]
    source: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(next(iter(self.columns.values())).shape[0])


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table; its format is told by the file name.

    ``.csv`` and ``.csv.gz`` (UTF-8, a header line, commas), ``.parquet``, ``.npy``, ``.npz``,
    ``.svm``, ``.libsvm`` and ``.svmlight`` (also with ``.gz``, ``.bz2`` or ``.xz``); a folder of
    ``.parquet`` files with the same columns.

    Parameters
    ----------
    path : path-like
        The file, or the folder of Parquet files.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If the file cannot be used; the message says where it is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "table.npz"
    >>> np.savez(path, x=np.zeros((3, 2)), s=np.array([1, 0, 0]))
    >>> table = read_table(path)
    >>> table.n_rows, sorted(table.columns)
    (3, ['s', 'x'])
    """
    source = Path(path)
    reader = check_file(source)
    table = Table(reader(source), str(source))
    _check_rows(table)
    return table


def check_file(source: Path) -> Callable[[Path], dict[str, Any]]:
    """Return what reads a file of that name; an error if there is no such file, or it is empty.

    A folder is one of Parquet files.
    """
    if source.is_dir():
        parquet_files(source)
        return _read_parquet
    reader = _reader(source)
    if not source.is_file():
        raise InputError(f"{source} is not there, or is not a file.")
    if source.stat().st_size == 0:
        raise InputError(f"{source} is empty.")
    return reader


def _reader(source: Path) -> Callable[[Path], dict[str, Any]]:
    name = source.name.lower()
    for suffixes, reader in _READERS:
        if name.endswith(suffixes):
            return reader
    known = ", ".join(suffix for suffixes, _ in _READERS for suffix in suffixes)
    raise InputError(f"{source}: the file name must end in one of {known}.")


def _check_rows(table: Table) -> None:
    if not table.columns:
        raise InputError(f"{table.source} has no columns.")
    shapes = {name: column.shape for name, column in table.columns.items()}
    if any(not shape for shape in shapes.values()) or len({s[0] for s in shapes.values()}) > 1:
        listed = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise InputError(f"{table.source}: the arrays do not have one row per example ({listed}).")
    if table.n_rows == 0:
        raise InputError(f"{table.source} has no rows.")


def _read_csv(source: Path) -> dict[str, Any]:
    return _columns(read_typed(source))


def _read_parquet(source: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet

    files = check_parquet(source)
    try:
        # One file after the other, as it is: no reading of folder names as columns.
        tables = [pyarrow.parquet.ParquetFile(file).read() for file in files]
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source} is damaged ({error}).") from error
    return _columns(pa.concat_tables([table.select(tables[0].column_names) for table in tables]))


def _read_npy(source: Path) -> dict[str, Any]:
    return {"x": _load_numpy(source)}


def _read_npz(source: Path) -> dict[str, Any]:
    if not zipfile.is_zipfile(source):
        raise InputError(f"{source} is not an NPZ file, or is damaged.")
    archive = _load_numpy(source)
    try:
        with archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{source} cannot be used ({error}).") from error


def _read_svmlight(source: Path) -> dict[str, Any]:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    try:
        with open_text(source) as stream:
            x, y = load_svmlight_file(stream, dtype=np.float32)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{source} is not SVMlight text ({error}).") from error
    return {"x": csr_array(x), "y": y}


def _load_numpy(source: Path) -> Any:
    try:
        return np.load(source, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(
            f"{source} is not a file of plain NumPy arrays ({error}); save numbers or strings, "
            f"not objects."
        ) from error


def _columns(table: Any) -> dict[str, Any]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


_TEXT = (".svm", ".libsvm", ".svmlight")
_READERS: tuple[tuple[tuple[str, ...], Callable[[Path], dict[str, Any]]], ...] = (
    ((".csv", ".csv.gz"), _read_csv),
    ((".parquet",), _read_parquet),
    ((".npy",), _read_npy),
    ((".npz",), _read_npz),
    (
        tuple(f"{text}{packed}" for text in _TEXT for packed in ("", ".gz", ".bz2", ".xz")),
        _read_svmlight,
    ),
)
