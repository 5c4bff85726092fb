"""Tables in files that are not text with separators: as pyarrow tables, or as arrays by name."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nnpu.data.cells import as_cells
from nnpu.data.disk_rows import check_parquet, open_parquet
from nnpu.data.packed import check_unpacked, is_gzip, open_arrow, open_text
from nnpu.data.streams import Batch, format_reader, read_table
from nnpu.data.text_files import check_unique
from nnpu.extras import need
from nnpu.parameters import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "other_batches",
    "read_arrow",
    "read_excel",
    "read_json",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_svmlight",
]

ROWS = 16_384  # of a batch, where the format does not decide
READ_AS = b"nnpu.read_as"  # in the metadata of a table: what is unusual about its file
_MOST_FEATURES = 2**31 - 1  # of SVMlight text
_MOST_BLANK = 1 << 24  # blank cells of a sheet for each other one: more take minutes to skip
_MOST_GAPS = 1000  # blank rows of a sheet that may be more than its other rows


def read_json(source: Path) -> Any:
    """Return a file of one JSON object a line, or of one list of objects, as a table."""
    import pyarrow as pa
    import pyarrow.json

    with open_text(source) as stream:
        beginning = stream.read(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not beginning:
        raise InputError(f"{source} is empty.")
    if not beginning.startswith(b"["):
        if is_gzip(source):
            _check_gzip(source)
        try:
            with open_arrow(source) as stream:
                table = pyarrow.json.read_json(stream)
            check_unique(source, table.column_names)
            return table
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError):
            pass  # a column of several types, or no JSON: the slow way knows the line
    return _table(source, _records(source))


def _check_gzip(source: Path) -> None:
    """Read a packed file through once: a damaged one, or a bomb, is refused."""
    with open_text(source) as stream:
        while stream.read(1 << 20):
            pass


def _records(source: Path) -> list[dict[str, Any]]:
    with open_text(source) as stream:
        content = stream.read().decode("utf-8-sig", "replace")
    lines = [content] if content.lstrip().startswith("[") else content.split("\n")
    records: list[Any] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:  # the latter of 100,000 brackets
            raise InputError(f"{source}, line {number}: not JSON ({error}).") from None
        records += found if isinstance(found, list) else [found]
        if not all(isinstance(record, dict) for record in records[-1:]):
            raise InputError(f"{source}, line {number}: a row is an object, such as {{'age': 31}}.")
    if not all(isinstance(record, dict) for record in records):
        raise InputError(f"{source}: a row is an object, such as {{'age': 31}}.")
    return records


def _table(source: Path, records: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    names = list(dict.fromkeys(name for record in records for name in record))
    cells = [as_cells([record.get(name) for record in records]) for name in names]
    if not names:
        raise InputError(f"{source} has no rows.")
    return pa.table(cells, names=names)


def read_arrow(source: Path) -> Any:
    """Return a Feather or Arrow file as a table: version 1 or 2, a file or a stream."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.ipc

    try:
        with source.open("rb") as stream:
            is_file = stream.read(4) in (b"ARRO", b"FEA1")
        if is_file:
            with open_arrow(source) as stream:
                table = pyarrow.feather.read_table(stream)
        else:
            with open_arrow(source) as stream, pyarrow.ipc.open_stream(stream) as reader:
                table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{source} is not an Arrow file, or is damaged ({error}).") from error
    check_unique(source, table.column_names)
    return table


def read_excel(source: Path, sheet: str | None = None) -> Any:
    """Return a sheet of an Excel workbook; a blank row between others counts as a row.

    Parameters
    ----------
    source : Path
        The workbook; the first row of the sheet that is not blank holds the names.
    sheet : str, optional
        The name of the sheet; by default the only one with data.
    """
    import pyarrow as pa

    names, rows, blank = _excel_rows(source, sheet)
    table = pa.table(
        [as_cells([row.get(place) for row in rows]) for place in names],
        names=list(names.values()),
    )
    if blank:
        words = "1 blank row is a row" if blank == 1 else f"{blank:,} blank rows are rows"
        table = table.replace_schema_metadata({READ_AS: f"{words} without values"})
    return table


def _excel_rows(
    source: Path, sheet: str | None
) -> tuple[dict[int, str], list[dict[int, Any]], int]:
    """Return the names of the columns by their places, the rows, and how many are blank."""
    openpyxl = need("openpyxl", extra="excel", owner=f"Reading {source.name}")
    book = None
    try:
        with zipfile.ZipFile(source) as archive:
            check_unpacked(source, sum(member.file_size for member in archive.infolist()))
        book = openpyxl.load_workbook(source, read_only=True, data_only=True)
        chosen = _excel_sheet(source, book, sheet)
        header, *rows = _filled_rows(source, chosen) or [{}]
        if not all(place in row for row in rows for place in header):
            _check_formulas(source, chosen)
    except InputError:
        raise
    except Exception as error:  # of zip, of XML, of openpyxl: there are a dozen kinds
        raise InputError(f"{source} is not an .xlsx workbook, or is damaged ({error}).") from error
    finally:
        if book is not None:
            book.close()
    if not header:
        raise InputError(f"{source} is empty.")
    if not rows:
        raise InputError(f"{source} has no rows.")
    places = sorted(set(header).union(*rows))  # columns without a name or a cell are ignored
    names = {place: str(header.get(place, "")) for place in places}
    check_unique(source, names.values())
    return names, rows, sum(not row for row in rows)


def _check_formulas(source: Path, sheet: Any) -> None:
    """Raise `InputError` if a sheet has formulas and the workbook none of their values.

    A program that writes formulas without computing them, such as openpyxl, leaves them out; one
    that has computed them has a value in at least one of the cells.
    """
    openpyxl = need("openpyxl", extra="excel", owner=f"Reading {source.name}")
    book = openpyxl.load_workbook(source, read_only=True)
    try:
        values, n = iter(sheet.iter_rows(values_only=True)), 0
        book[sheet.title].reset_dimensions()
        for row in book[sheet.title].iter_rows():
            cells = next(values, ())
            places = [place for place, cell in enumerate(row) if cell.data_type == "f"]
            if any(place < len(cells) and cells[place] is not None for place in places):
                return
            n += len(places)
    finally:
        book.close()
    if n:
        raise InputError(
            f"{source}: sheet {sheet.title!r} has {n:,} formulas and no value of any. Open the "
            "workbook in a spreadsheet program and save it once: that computes them."
        )


def _excel_sheet(source: Path, book: Any, sheet: str | None) -> Any:
    """Return the sheet that is asked for, or the only one with data."""
    sheets = {each.title: each for each in book.worksheets}
    if sheet is not None:
        if sheet not in sheets:
            raise InputError(
                f"{source} has no sheet {shown(sheet)}; it has {', '.join(map(repr, sheets))}: "
                "choose one with --sheet NAME, in Python sheet='NAME'."
            )
        return sheets[sheet]
    filled = [name for name, each in sheets.items() if any(True for _ in _sheet_rows(source, each))]
    if not filled:
        raise InputError(f"{source} is empty.")
    if len(filled) > 1:
        raise InputError(
            f"{source} has data on {len(filled)} sheets ({', '.join(map(repr, filled))}): choose "
            "one with --sheet NAME, in Python sheet='NAME'."
        )
    return sheets[filled[0]]


def _sheet_rows(source: Path, sheet: Any) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield the rows of a sheet that are not blank: their numbers, and their cells by place."""
    sheet.reset_dimensions()  # else every row is as wide as the sheet says that it is
    looked = filled = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = {
            place: cell
            for place, cell in enumerate(row)
            if cell is not None and not (isinstance(cell, str) and not cell.strip())
        }
        looked, filled = looked + len(row), filled + len(cells)
        if looked > _MOST_BLANK * (1 + filled):
            raise InputError(f"{source}: nearly all cells of sheet {sheet.title!r} are blank.")
        if cells:
            yield number, cells


def _filled_rows(source: Path, sheet: Any) -> list[dict[int, Any]]:
    """Return the rows of a sheet from the first to the last that is not blank."""
    rows: list[dict[int, Any]] = []
    last = blank = 0
    for number, cells in _sheet_rows(source, sheet):
        gap = number - last - 1 if rows else 0
        blank += gap
        if blank > len(rows) + _MOST_GAPS:
            raise InputError(
                f"{source}: {gap:,} rows before row {number:,} of sheet {sheet.title!r} are blank; "
                "delete them, or the cells below them."
            )
        rows += [{} for _ in range(gap)]
        rows.append(cells)
        last = number
    return rows


def read_parquet(source: Path) -> Any:
    """Return a Parquet file, or a folder of them, as a table."""
    import pyarrow as pa

    tables = []
    for path in check_parquet(source):
        with open_parquet(path) as file:
            tables.append(file.read())
            tables[-1].validate(full=True)  # the reader trusts the file: text may be no UTF-8
    return pa.concat_tables([table.select(tables[0].column_names) for table in tables])


def read_npy(source: Path) -> dict[str, Any]:
    """Return the array of an NPY file."""
    with source.open("rb") as stream:
        return {"x": _load_numpy(source, stream)}


def read_npz(source: Path) -> dict[str, Any]:
    """Return the arrays of an NPZ file by their names."""
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


def read_svmlight(source: Path) -> dict[str, Any]:
    """Return the features (CSR) and the labels of SVMlight text."""
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
        raise InputError(
            f"{source} has a feature of index {x.shape[1]:,} (too large for any table)."
        )
    return {"x": csr_array(x), "y": y}


def _load_numpy(source: Path, stream: IO[bytes]) -> Any:
    try:
        return np.load(stream, allow_pickle=False)
    except Exception as error:  # of zip, of headers, of memory: there are a dozen kinds
        raise InputError(
            f"{source} is not a file of plain NumPy arrays ({error}); save numbers or strings, "
            f"not objects."
        ) from error


def other_batches(
    source: Path, *, decimal: str | None = None, sheet: str | None = None
) -> Iterator[Batch]:
    """Yield the rows of a file that is not text with separators, a batch at a time.

    Parquet is read as it is needed; other files are read whole.

    Parameters
    ----------
    source : Path
        The file.
    decimal, sheet : str, optional
        The decimal mark of cells that are strings, and the sheet of a workbook.
    """
    reader = format_reader(source)
    if reader is read_parquet:
        yield from _numbered(_parquet_batches(source), source, decimal)
    elif reader is read_excel:
        table = read_excel(source, sheet)
        words = (table.schema.metadata or {}).get(READ_AS, b"").decode()
        yield from _numbered(table.to_batches(ROWS), source, decimal, words)
    elif reader in (read_json, read_arrow):
        yield from _numbered(reader(source).to_batches(ROWS), source, decimal)
    else:
        yield replace(_array_batch(source), decimal=decimal)


def _numbered(
    batches: Iterable[Any], source: Path, decimal: str | None, read_as: str = ""
) -> Iterator[Batch]:
    first = 0
    for batch in batches:
        if batch.num_rows:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield Batch(columns, {}, batch.num_rows, first, str(source), decimal, read_as)
            first += batch.num_rows


def _parquet_batches(source: Path) -> Iterator[Any]:
    for path in check_parquet(source):
        with open_parquet(path) as file:
            for batch in file.iter_batches(batch_size=ROWS):
                batch.validate(full=True)  # the reader trusts the file: text may be no UTF-8
                yield batch


def _array_batch(source: Path) -> Batch:
    table = read_table(source)
    columns, matrices = {}, {}
    for name, array in table.columns.items():
        if getattr(array, "ndim", 1) == 1 and isinstance(array, np.ndarray):
            columns[name] = _array_cells(name, array, source)
        else:
            matrices[name] = array
    return Batch(columns, matrices, table.n_rows, 0, str(source))


def _array_cells(name: str, array: NDArray[Any], source: Path) -> Any:
    import pyarrow as pa

    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    try:
        return pa.array(native, from_pandas=True)  # NaN is a missing cell
    except (pa.ArrowException, ValueError) as error:  # a type of NumPy's own, or no text
        raise InputError(
            f"{source}: the array {name!r} holds {array.dtype} values; save numbers or strings."
        ) from error
