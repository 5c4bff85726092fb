"""Read a user's table, whatever its format. No file is ever unpickled."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nnpu.data.archives import check_unpacked, open_text
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
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "table.npz"
    >>> np.savez(path, x=np.zeros((3, 2)), s=np.array([1, 0, 0]))
    >>> table = read_table(path)
    >>> table.n_rows, sorted(table.columns)
    (3, ['s', 'x'])
    """
    source = Path(path)
    reader = check_file(source)
    if is_text(source):
        table = Table(_columns(read_typed(source, sep, encoding)), str(source))
    else:
        table = Table(reader(source), str(source))
    _check_rows(table)
    return table


def check_file(source: Path) -> Callable[[Path], dict[str, Any]]:
    """Return what reads a file of that name; an error if there is no such file, or it is empty.

    A folder is one of Parquet files.
    """
    if source.is_dir():
        from nnpu.data.parquet import parquet_files

        parquet_files(source)
        return _read_parquet
    reader = _reader(source)
    if not source.is_file():
        raise InputError(f"{source} is not there, or is not a file.")
    if source.stat().st_size == 0:
        raise InputError(f"{source} is empty.")
    return reader


def is_text(source: Path) -> bool:
    """Return whether a file is text with separators, by its name."""
    return not source.is_dir() and _bare(source).endswith(_SEPARATED)


def table_reader(source: Path) -> Callable[[Path], Any] | None:
    """Return what reads a file whole as a pyarrow table, if its name says that it is one."""
    if source.is_dir():
        return None
    name = next((read for ends, read in _TABLES.items() if _bare(source).endswith(ends)), None)
    if name is None:
        return None
    from nnpu.data import formats

    reader: Callable[[Path], Any] = getattr(formats, name)
    return reader


def _bare(source: Path) -> str:
    return source.name.lower().removesuffix(".gz")


def _reader(source: Path) -> Callable[[Path], dict[str, Any]]:
    name = source.name.lower()
    for suffixes, reader in _READERS:
        if name.endswith(suffixes):
            return reader
    packed = (".gz", ".bz2", ".xz")
    known = [end for ends, _ in _READERS for end in ends if not end.endswith(packed)]
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


def _read_csv(source: Path) -> dict[str, Any]:
    return _columns(read_typed(source))


def _read_whole(source: Path) -> dict[str, Any]:
    reader = table_reader(source)
    assert reader is not None
    return _columns(reader(source))


def _read_parquet(source: Path) -> dict[str, Any]:
    import pyarrow as pa

    from nnpu.data.parquet import check_parquet, open_parquet

    tables = []
    for path in check_parquet(source):
        with open_parquet(path) as file:
            tables.append(file.read())
            tables[-1].validate(full=True)  # the reader trusts the file: text may be no UTF-8
    return _columns(pa.concat_tables([table.select(tables[0].column_names) for table in tables]))


def _read_npy(source: Path) -> dict[str, Any]:
    with source.open("rb") as stream:
        return {"x": _load_numpy(source, stream)}


def _read_npz(source: Path) -> dict[str, Any]:
    if not zipfile.is_zipfile(source):
        raise InputError(f"{source} is not an NPZ file, or is damaged.")
    with source.open("rb") as stream, _load_numpy(source, stream) as archive:
        check_unpacked(source, sum(member.file_size for member in archive.zip.infolist()))
        return {name: _member(archive, name, source) for name in archive.files}


def _member(archive: Any, name: str, source: Path) -> Any:
    try:
        array = archive[name]
    except Exception as error:  # whatever the parsers below NumPy's raise
        raise InputError(f"{source}: the array {name!r} cannot be used ({error}).") from error
    if not isinstance(array, np.ndarray):  # NumPy gives back the bytes of any other file
        raise InputError(f"{source}: {name!r} is not a NumPy array.")
    return array


def _read_svmlight(source: Path) -> dict[str, Any]:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    try:
        with open_text(source) as stream:
            x, y = load_svmlight_file(stream, dtype=np.float32)
    except InputError:
        raise
    except (ValueError, OSError, EOFError, OverflowError, MemoryError) as error:
        raise InputError(f"{source} is not SVMlight text ({error}).") from error
    if x.shape[1] > _MOST_FEATURES:
        raise InputError(f"{source} has a feature of index {x.shape[1]:,}, beyond any table's.")
    return {"x": csr_array(x), "y": y}


def _load_numpy(source: Path, stream: IO[bytes]) -> Any:
    try:
        return np.load(stream, allow_pickle=False)
    except Exception as error:  # of zip, of headers, of memory: there are a dozen kinds
        raise InputError(
            f"{source} is not a file of plain NumPy arrays ({error}); save numbers or strings, "
            f"not objects."
        ) from error


def _columns(table: Any) -> dict[str, Any]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _packed(ends: tuple[str, ...]) -> tuple[str, ...]:
    return (*ends, *(f"{end}.gz" for end in ends))


_MOST_FEATURES = 2**31 - 1
_TEXT = (".svm", ".libsvm", ".svmlight")
_SEPARATED = (".csv", ".tsv", ".tab", ".txt")
_JSON = (".json", ".jsonl", ".ndjson")
_TABLES: dict[tuple[str, ...], str] = {  # by the names of functions in nnpu.data.formats
    _JSON: "read_json",
    (".feather", ".arrow", ".ipc"): "read_arrow",
    (".xlsx", ".xlsm"): "read_excel",
}
_READERS: tuple[tuple[tuple[str, ...], Callable[[Path], dict[str, Any]]], ...] = (
    (_packed(_SEPARATED), _read_csv),
    *(((_packed(ends) if ends is _JSON else ends), _read_whole) for ends in _TABLES),
    ((".parquet",), _read_parquet),
    ((".npy",), _read_npy),
    ((".npz",), _read_npz),
    (
        tuple(f"{text}{packed}" for text in _TEXT for packed in ("", ".gz", ".bz2", ".xz")),
        _read_svmlight,
    ),
)
