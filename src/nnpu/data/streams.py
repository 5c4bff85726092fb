"""A user's file as batches of rows: memory does not grow with a CSV or Parquet file.

`stream_rows` reads any format in batches, with a thread that reads ahead; `read_table` reads a file
whole. No file is ever unpickled.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.disk_rows import parquet_files
from nnpu.data.packed import open_arrow
from nnpu.data.text_files import as_utf8, explained, parse_options, read_batches
from nnpu.parameters import InputError, check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = [
    "TOLERATED",
    "Batch",
    "Faults",
    "Table",
    "check_file",
    "format_reader",
    "is_text",
    "prefetched",
    "read_rows",
    "read_table",
    "stream_rows",
]

#: The share of a column's cells that may be unreadable and count as missing: slips of the pen. With
#: more, the column is not what it was in the fit, and the file is refused.
TOLERATED = 0.05


class Faults:
    """Counts the cells of a file that do not fit the kind of their column.

    Few are taken for missing, and many are an error. How many there are is known when all batches
    were read: the rule is one for the whole file.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, int, str]] = {}

    def add(self, column: str, wrong: int, cells: int, complaint: str) -> None:
        """Take the counts of a batch, and what to say if the file has too many such cells."""
        before = self._found.get(column, (0, 0, ""))
        said = before[2] or (complaint if wrong else "")
        self._found[column] = (before[0] + wrong, before[1] + cells, said)

    def merge(self, other: Faults) -> None:
        """Take the counts of other rows."""
        for column, found in other._found.items():
            self.add(column, *found)

    def check(self) -> None:
        """Raise `InputError` if a column has more such cells than one in twenty."""
        for wrong, cells, complaint in self._found.values():
            if wrong > TOLERATED * cells:
                raise InputError(complaint)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    columns : dict
        pyarrow arrays by name. The cells of a CSV file are all strings, an empty one null.
    matrices : dict
        Arrays of two or more dimensions and sparse matrices by name (NPZ, SVMlight).
    n_rows : int
        Number of rows.
    first : int
        Number of rows of the file before these.
    source : str
        Path of the file.
    decimal : {".", ","}, optional
        Decimal mark of numbers that are strings, if it is known.
    read_as : str
        What is unusual about the way in which the file is written.
    numbers : ndarray of int, optional
        Which rows of the file these are, from `first` on; by default those that follow it.
    faults : Faults, optional
        Counts cells over the batches of a file; without it, each batch is judged alone.
    parsed : dict
        What was read last of columns of strings: their cells, in which way, and the values.
    """

    columns: dict[str, Any]
    matrices: dict[str, Any]
    n_rows: int
    first: int
    source: str
    decimal: str | None = None
    read_as: str = ""
    numbers: NDArray[np.intp] | None = None
    faults: Faults | None = None
    parsed: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name, cells in self.columns.items():
            if str(cells.type) == "string_view":  # pyarrow cannot take rows of it
                self.columns[name] = cells.cast("large_string")

    @property
    def names(self) -> list[str]:
        """Names of all columns and matrices."""
        return [*self.columns, *self.matrices]

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Return some of the rows."""
        columns = {name: cells.take(rows) for name, cells in self.columns.items()}
        matrices = {name: matrix[rows] for name, matrix in self.matrices.items()}
        parsed = {  # only what belongs to these very cells
            name: (columns[name], how, _taken(values, rows))
            for name, (cells, how, values) in self.parsed.items()
            if cells is self.columns.get(name)
        }
        return replace(self, columns=columns, matrices=matrices, n_rows=len(rows), parsed=parsed)

    def joined(self, other: Batch) -> Batch:
        """Return these rows with others of the same file below them."""
        import pyarrow as pa
        from scipy import sparse

        def stacked(a: Any, b: Any) -> Any:
            return sparse.vstack([a, b]).tocsr() if sparse.issparse(a) else np.concatenate([a, b])

        def chained(a: Any, b: Any) -> Any:
            parts = [c for each in (a, b) for c in getattr(each, "chunks", [each])]
            return pa.chunked_array(parts, a.type).combine_chunks()

        columns = {
            name: chained(cells, other.columns[name]) for name, cells in self.columns.items()
        }
        return replace(
            self,
            columns=columns,
            matrices={name: stacked(m, other.matrices[name]) for name, m in self.matrices.items()},
            n_rows=self.n_rows + other.n_rows,
            parsed={},
        )


def _taken(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, or of each of several; None stays None."""
    if isinstance(values, tuple):
        return tuple(each[rows] for each in values)
    return None if values is None else values[rows]


def stream_rows(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Iterator[Batch]:
    r"""Yield the rows of a file in order, a batch at a time.

    CSV and Parquet are read as they are needed; other files are read whole.

    Parameters
    ----------
    path : path-like
        See `nnpu.data.read_table` for the formats.
    sep, encoding : str, optional
        What separates the cells of a text, and its encoding; by default detected.
    decimal : {".", ","}, optional
        The decimal mark of cells that are strings; by default inferred for each column.
    sheet : str, optional
        The sheet of an Excel workbook; by default the only one with data.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("age,s\n31,1\n45,\n")
    >>> [(batch.n_rows, batch.columns["age"].to_pylist()) for batch in stream_rows(path)]
    [(2, ['31', '45'])]
    """
    source = Path(path)
    if decimal is not None:
        check_choice("decimal", decimal, "stream_rows", (".", ","))
    check_file(source)
    faults = Faults()
    for batch in _batches(source, sep, decimal, encoding, sheet):
        yield replace(batch, faults=faults)
    faults.check()


def _batches(
    source: Path, sep: str | None, decimal: str | None, encoding: str | None, sheet: str | None
) -> Iterator[Batch]:
    if is_text(source):
        first = 0
        for dialect, batch in read_batches(source, sep, encoding):
            if batch.num_rows:
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                words = dialect.words()
                yield Batch(columns, {}, batch.num_rows, first, str(source), decimal, words)
                first += batch.num_rows
    else:
        from nnpu.data.formats import other_batches

        yield from other_batches(source, decimal=decimal, sheet=sheet)


def read_rows(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Batch:
    """Return all rows of a file as one batch; no row at all is an error.

    Parameters
    ----------
    path, sep, decimal, encoding, sheet
        As in `stream_rows`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.npz"
    >>> import numpy as np
    >>> np.savez(path, x=np.zeros((3, 2)), s=np.array([1, 0, 0]))
    >>> batch = read_rows(path)
    >>> batch.n_rows, sorted(batch.names)
    (3, ['s', 'x'])
    """
    import pyarrow as pa

    batches = list(stream_rows(path, sep=sep, decimal=decimal, encoding=encoding, sheet=sheet))
    if not batches:
        raise InputError(f"{path} has no rows.")
    if len(batches) == 1:
        return replace(batches[0], faults=None)
    columns = {
        name: pa.chunked_array([batch.columns[name] for batch in batches]).combine_chunks()
        for name in batches[0].columns
    }
    rows = sum(batch.n_rows for batch in batches)
    return replace(batches[0], columns=columns, n_rows=rows, faults=None, parsed={})


def check_file(source: Path) -> None:
    """Raise `InputError` unless a file can be read by its name, is there, and is not empty.

    A folder is one of Parquet files.
    """
    if source.is_dir():
        parquet_files(source)
        return
    if not is_text(source):
        format_reader(source)
    if not source.is_file():
        raise InputError(f"{source} does not exist, or is not a file.")
    if source.stat().st_size == 0:
        raise InputError(f"{source} is empty.")


def is_text(source: Path) -> bool:
    """Return whether a file is text with separators, by its name."""
    return not source.is_dir() and source.name.lower().endswith(_packed(_SEPARATED))


def format_reader(source: Path) -> Callable[..., Any]:
    """Return what reads a file of that name."""
    name = ".parquet" if source.is_dir() else source.name.lower()
    for ends, reader in _FORMATS.items():
        if name.endswith(ends):
            from nnpu.data import formats  # here: most files are text

            found: Callable[..., Any] = getattr(formats, reader)
            return found
    packed = (".gz", ".bz2", ".xz")
    known = [end for ends in (_SEPARATED, *_FORMATS) for end in ends if not end.endswith(packed)]
    raise InputError(
        f"{source}: the file name must end in one of {', '.join(known)}; text may be gzipped (.gz)."
    )


def _packed(ends: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(f"{end}{packed}" for end in ends for packed in ("", ".gz", *more))


_SEPARATED = (".csv", ".tsv", ".tab", ".txt")
_WORKBOOKS = (".xlsx", ".xlsm")
_FORMATS = {  # by the names of functions in nnpu.data.formats
    _packed((".json", ".jsonl", ".ndjson")): "read_json",
    (".feather", ".arrow", ".ipc"): "read_arrow",
    _WORKBOOKS: "read_excel",
    (".parquet",): "read_parquet",
    (".npy",): "read_npy",
    (".npz",): "read_npz",
    _packed((".svm", ".libsvm", ".svmlight"), ".bz2", ".xz"): "read_svmlight",
}


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
        found = (
            reader(source, sheet) if source.name.lower().endswith(_WORKBOOKS) else reader(source)
        )
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


def prefetched(items: Iterator[Any]) -> Iterator[Any]:
    """Yield the items; a thread makes the next one while the last one is used.

    Parameters
    ----------
    items : iterator
        Not None.

    Examples
    --------
    >>> list(prefetched(iter([1, 2, 3])))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1, "nnpu-ahead") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
