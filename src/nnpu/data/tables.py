"""Read a user's table: CSV, Parquet, NPY, NPZ, SVMlight / LIBSVM. No file is ever unpickled."""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.libsvm import open_text
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

__all__ = ["Table", "read_table"]

_SNIFFED = 1 << 16  # bytes at the beginning of a text that are looked at
_LONGEST_HEADER = 1 << 24


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
    ``.svm``, ``.libsvm`` and ``.svmlight`` (also with ``.gz``, ``.bz2`` or ``.xz``). CSV and
    Parquet need pyarrow: ``pip install 'nnpu[tables]'``.

    Parameters
    ----------
    path : path-like
        The file.

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
    reader = _reader(source)
    if not source.is_file():
        raise InputError(f"{source} is not there, or is not a file.")
    if source.stat().st_size == 0:
        raise InputError(f"{source} is empty.")
    table = Table(reader(source), str(source))
    _check_rows(table)
    return table


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
    pa = _pyarrow(source)
    import pyarrow.csv

    _check_header(source, _sniff(source))
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    try:
        with pa.input_stream(source) as stream:
            table = pyarrow.csv.read_csv(stream, parse_options=options)
    except pa.ArrowInvalid as error:
        raise InputError(_ragged(source) or f"{source} is not a CSV table ({error}).") from error
    except OSError as error:
        raise InputError(f"{source} is damaged or incomplete ({error}).") from error
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if kind == pa.binary():
            raise InputError(f"{source}: column {name!r} is not UTF-8 text; save it as UTF-8.")
    return _columns(table)


def _read_parquet(source: Path) -> dict[str, Any]:
    pa = _pyarrow(source)
    import pyarrow.parquet

    try:
        # One file, as it is: no reading of folder names as columns.
        table = pyarrow.parquet.ParquetFile(source).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{source} is not a Parquet file, or is damaged ({error}).") from error
    _check_unique(source, table.column_names)
    return _columns(table)


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


def _pyarrow(source: Path) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            f"{source}: reading CSV and Parquet needs pyarrow: pip install 'nnpu[tables]'."
        ) from None
    return pyarrow


def _columns(table: Any) -> dict[str, Any]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _sniff(source: Path) -> bytes:
    """First bytes of the text; an error if they cannot be the beginning of a UTF-8 table."""
    try:
        with open_text(source) as stream:
            head = stream.read(_SNIFFED)
            if b"\n" not in head:  # a header of thousands of names
                head += stream.readline(_LONGEST_HEADER)
    except (OSError, EOFError) as error:
        raise InputError(f"{source} is damaged or incomplete ({error}).") from error
    if not head.strip():
        raise InputError(f"{source} is empty.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{source} is UTF-16 text; save it as UTF-8.")
    if b"\0" in head:
        raise InputError(f"{source} is a binary file, not a CSV table.")
    return head


def _check_header(source: Path, head: bytes) -> None:
    try:
        text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        cut = len(head) >= _SNIFFED and error.start > len(head) - 8  # in two, by our look at it
        if not cut:
            line = head[: error.start].count(b"\n") + 1
            raise InputError(f"{source}, line {line}: not UTF-8 text; save it as UTF-8.") from None
        text = head[: error.start].decode("utf-8", "ignore")
    names = next(row for row in csv.reader(io.StringIO(text, newline="")) if row)
    numbered = names == [str(number) for number in range(len(names))]  # pandas' default names
    if all(_is_number(name) for name in names) and not numbered:
        raise InputError(f"{source}: the first line holds numbers; add a header line of names.")
    _check_unique(source, names)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_unique(source: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{source}: two columns are named {name!r}; rename one.")
        seen.add(name)


def _ragged(source: Path) -> str | None:
    """Message about the first row with too many or too few cells, with its line number."""
    with io.TextIOWrapper(open_text(source), "utf-8-sig", "replace", newline="") as text:
        reader = csv.reader(text)
        expected = None
        for row in reader:
            if not row:
                continue
            expected = expected or len(row)
            if len(row) != expected:
                return (
                    f"{source}, line {reader.line_num}: {len(row)} cells instead of {expected}, "
                    f"the number of the header's names."
                )
    return None


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
