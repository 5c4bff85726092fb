"""A user's file as a stream of batches of rows: memory does not grow with a CSV or Parquet file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.csvfile import read_batches
from nnpu.data.tables import check_file, is_text, read_table, table_reader
from nnpu.parameters import InputError, check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Batch", "ahead", "read_rows", "stream_rows"]

_ROWS = 16_384  # of a batch, where the format does not decide


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
    """

    columns: dict[str, Any]
    matrices: dict[str, Any]
    n_rows: int
    first: int
    source: str
    decimal: str | None = None
    read_as: str = ""

    @property
    def names(self) -> list[str]:
        """Names of all columns and matrices."""
        return [*self.columns, *self.matrices]


def stream_rows(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
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
        The decimal mark of a text; by default inferred for each column.

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
    if is_text(source):
        first = 0
        for dialect, batch in read_batches(source, sep, encoding):
            if batch.num_rows:
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                words = dialect.words()
                yield Batch(columns, {}, batch.num_rows, first, str(source), decimal, words)
                first += batch.num_rows
    elif (reader := table_reader(source)) is not None:
        yield from _numbered(iter(reader(source).to_batches(_ROWS)), source)
    elif source.is_dir() or source.name.lower().endswith(".parquet"):
        yield from _numbered(_parquet_batches(source), source)
    else:
        yield _from_arrays(source)


def read_rows(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Batch:
    """Return all rows of a file as one batch; no row at all is an error.

    Parameters
    ----------
    path, sep, decimal, encoding
        As in `stream_rows`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.npz"
    >>> np.savez(path, x=np.zeros((3, 2)), s=np.array([1, 0, 0]))
    >>> batch = read_rows(path)
    >>> batch.n_rows, sorted(batch.names)
    (3, ['s', 'x'])
    """
    import pyarrow as pa

    batches = list(stream_rows(path, sep=sep, decimal=decimal, encoding=encoding))
    if not batches:
        raise InputError(f"{path} has no rows.")
    if len(batches) == 1:
        return batches[0]
    columns = {
        name: pa.chunked_array([batch.columns[name] for batch in batches]).combine_chunks()
        for name in batches[0].columns
    }
    rows = sum(batch.n_rows for batch in batches)
    return replace(batches[0], columns=columns, n_rows=rows)


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Yield the items; a thread makes the next one while the last one is used.

    Parameters
    ----------
    items : iterator
        Not None.

    Examples
    --------
    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1, "nnpu-ahead") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


def _numbered(batches: Iterator[Any], source: Path) -> Iterator[Batch]:
    first = 0
    for batch in batches:
        if batch.num_rows:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield Batch(columns, {}, batch.num_rows, first, str(source))
            first += batch.num_rows


def _parquet_batches(source: Path) -> Iterator[Any]:
    from nnpu.data.parquet import check_parquet, open_parquet

    for path in check_parquet(source):
        with open_parquet(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                batch.validate(full=True)  # the reader trusts the file: text may be no UTF-8
                yield batch


def _from_arrays(source: Path) -> Batch:
    table = read_table(source)
    columns, matrices = {}, {}
    for name, array in table.columns.items():
        if getattr(array, "ndim", 1) == 1 and isinstance(array, np.ndarray):
            columns[name] = _cells(name, array, source)
        else:
            matrices[name] = array
    return Batch(columns, matrices, table.n_rows, 0, str(source))


def _cells(name: str, array: NDArray[Any], source: Path) -> Any:
    import pyarrow as pa

    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    try:
        return pa.array(native, from_pandas=True)  # NaN is a missing cell
    except (pa.ArrowException, ValueError) as error:  # a type of NumPy's own, or no text
        raise InputError(
            f"{source}: the array {name!r} holds {array.dtype} values; save numbers or strings."
        ) from error
