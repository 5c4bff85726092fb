"""Read a user's table, whatever its format. No file is ever unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnpu.data.csvfile import read_typed
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

__all__ = ["Table", "check_file", "is_text", "read_table", "table_reader"]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, all with the same number of rows.

    Parameters
    ----------
    columns : dict
        One-dimensional arrays for CSV, Parquet and the like; the arrays of an NPZ file by their
        names; ``x`` for NPY; ``x`` (scipy.sparse.csr_array) and ``y`` for SVMlight.
    source : str
        Path of the file.
    """

    columns: dict[str, Any]
    source: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(next(iter(self.columns.values())).shape[0])


def read_table(
    path: str | os.PathLike[str], *, sep: str | None = None, encoding: str | None = None
) -> Table:
    """Read a table; the file name says its format.

    ``.csv``, ``.tsv`` and ``.txt`` (a header line; separator, quotes and encoding are detected),
    ``.parquet``, ``.json``, ``.jsonl`` and ``.ndjson`` (an object a line), ``.feather`` and
    ``.arrow``, ``.xlsx`` (with the extra ``excel``; the first sheet), ``.npy``, ``.npz``, ``.svm``,
    ``.libsvm`` and ``.svmlight``; a folder of ``.parquet`` files with the same columns. Text may be
    packed by gzip, and SVMlight by bzip2 or xz.

    Parameters
    ----------
    path : path-like
        The file, or the folder of Parquet files.
    sep, encoding : str, optional
        What separates the cells of a text, and its encoding; by default detected.

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
    >>> import numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "table.npz"
    >>> np.savez(path, x=np.zeros((3, 2)), s=np.array([1, 0, 0]))
    >>> table = read_table(path)
    >>> table.n_rows, sorted(table.columns)
    (3, ['s', 'x'])
    """
    source = Path(path)
    check_file(source)
    found = read_typed(source, sep, encoding) if is_text(source) else _format(source)(source)
    if not isinstance(found, dict):
        found = {name: found.column(name).to_numpy() for name in found.column_names}
    table = Table(found, str(source))
    _check_rows(table)
    return table


def check_file(source: Path) -> None:
    """Raise `InputError` unless a file can be read by its name, is there, and is not empty.

    A folder is one of Parquet files.
    """
    if source.is_dir():
        from nnpu.data.parquet import parquet_files

        parquet_files(source)
        return
    if not is_text(source):
        _format(source)
    if not source.is_file():
        raise InputError(f"{source} is not there, or is not a file.")
    if source.stat().st_size == 0:
        raise InputError(f"{source} is empty.")


def is_text(source: Path) -> bool:
    """Return whether a file is text with separators, by its name."""
    return not source.is_dir() and source.name.lower().endswith(_packed(_SEPARATED))


def table_reader(source: Path) -> Callable[[Path], Any] | None:
    """Return what reads a file whole as a pyarrow table, if its name says that it is one."""
    reader = _format(source)
    return reader if reader.__name__ in ("read_json", "read_arrow", "read_excel") else None


def _format(source: Path) -> Callable[[Path], Any]:
    """Return what reads a file of that name."""
    name = ".parquet" if source.is_dir() else source.name.lower()
    for ends, reader in _FORMATS.items():
        if name.endswith(ends):
            from nnpu.data import formats  # here: most files are text

            found: Callable[[Path], Any] = getattr(formats, reader)
            return found
    packed = (".gz", ".bz2", ".xz")
    known = [end for ends in (_SEPARATED, *_FORMATS) for end in ends if not end.endswith(packed)]
    raise InputError(
        f"{source}: the file name must end in one of {', '.join(known)}; text may be packed (.gz)."
    )


def _check_rows(table: Table) -> None:
    if not table.columns:
        raise InputError(f"{table.source} has no columns.")
    shapes = {name: column.shape for name, column in table.columns.items()}
    if any(not shape for shape in shapes.values()) or len({s[0] for s in shapes.values()}) > 1:
        listed = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise InputError(f"{table.source}: the arrays do not have one row per example ({listed}).")
    if table.n_rows == 0:
        raise InputError(f"{table.source} has no rows.")


def _packed(ends: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(f"{end}{packed}" for end in ends for packed in ("", ".gz", *more))


_SEPARATED = (".csv", ".tsv", ".tab", ".txt")
_FORMATS = {  # by the names of functions in nnpu.data.formats
    _packed((".json", ".jsonl", ".ndjson")): "read_json",
    (".feather", ".arrow", ".ipc"): "read_arrow",
    (".xlsx", ".xlsm"): "read_excel",
    (".parquet",): "read_parquet",
    (".npy",): "read_npy",
    (".npz",): "read_npz",
    _packed((".svm", ".libsvm", ".svmlight"), ".bz2", ".xz"): "read_svmlight",
}
