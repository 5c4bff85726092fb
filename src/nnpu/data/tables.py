"""Read a user's table, whatever its format. No file is ever unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnpu.data.csvfile import explained, parse_options
from nnpu.data.packed import open_arrow
from nnpu.data.streams import check_file, format_reader, is_text
from nnpu.data.text_encoding import as_utf8
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os

__all__ = ["Table", "read_table"]


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
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Table:
    """Read a table; the file name says its format.

    ``.csv``, ``.tsv`` and ``.txt`` (a header line; separator, quotes and encoding are detected),
    ``.parquet``, ``.json``, ``.jsonl`` and ``.ndjson`` (an object a line), ``.feather`` and
    ``.arrow``, ``.xlsx`` (with the extra ``excel``), ``.npy``, ``.npz``, ``.svm``, ``.libsvm`` and
    ``.svmlight``; a folder of ``.parquet`` files with the same columns. Text may be packed by gzip,
    and SVMlight by bzip2 or xz.

    Parameters
    ----------
    path : path-like
        The file, or the folder of Parquet files.
    sep, encoding : str, optional
        What separates the cells of a text, and its encoding; by default detected.
    sheet : str, optional
        The sheet of an Excel workbook; by default the only one with data.

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
    if is_text(source):
        found = _typed_text(source, sep, encoding)
    else:
        reader = format_reader(source)
        found = reader(source, sheet) if reader.__name__ == "read_excel" else reader(source)
    if not isinstance(found, dict):
        found = {name: found.column(name).to_numpy() for name in found.column_names}
    table = Table(found, str(source))
    _check_rows(table)
    return table


def _check_rows(table: Table) -> None:
    if not table.columns:
        raise InputError(f"{table.source} has no columns.")
    shapes = {name: column.shape for name, column in table.columns.items()}
    if any(not shape for shape in shapes.values()) or len({s[0] for s in shapes.values()}) > 1:
        listed = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
        raise InputError(f"{table.source}: the arrays do not have one row per example ({listed}).")
    if table.n_rows == 0:
        raise InputError(f"{table.source} has no rows.")


def _typed_text(source: Path, sep: str | None = None, encoding: str | None = None) -> Any:
    """Return the whole text as a pyarrow table whose types pyarrow guesses."""
    import pyarrow.csv

    with as_utf8(source, encoding) as text, explained(text, sep) as dialect:
        return pyarrow.csv.read_csv(
            open_arrow(text.path),
            read_options=pyarrow.csv.ReadOptions(skip_rows=dialect.skip),
            parse_options=parse_options(dialect),
        )
