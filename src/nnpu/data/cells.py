"""Cells of a table as pyarrow arrays: from frames, as text, and as codes of categories.

A category has the same code wherever it is read: a column of a file, a frame, a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "as_cells",
    "as_text",
    "by_frequency",
    "check_type",
    "codes_of",
    "counted",
    "distinct",
    "frame_columns",
    "is_missing_word",
    "is_plain",
    "is_string",
    "is_temporal",
    "plain_text",
]


def as_cells(values: Sequence[Any]) -> Any:
    """Return values as a pyarrow array; values of several types as strings.

    Examples
    --------
    >>> as_cells([1, None, 2.5]).to_pylist(), as_cells([1, "x", True]).to_pylist()
    ([1.0, None, 2.5], ['1', 'x', 'true'])
    """
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([_as_string(value) for value in values], pa.large_string())


def _as_string(value: Any) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def frame_columns(table: Any) -> dict[str, Any]:
    """Return the columns of a table in memory as pyarrow arrays by name.

    Taken is what has an Arrow stream (``__arrow_c_stream__``: polars, pyarrow, DuckDB, Ibis, Modin
    and others), a lazy frame with `collect`, and pandas frames.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame_columns(pa.table({"age": [31, 45]}))["age"].to_pylist()
    [31, 45]
    """
    import pyarrow as pa

    if not hasattr(table, "__arrow_c_stream__"):
        if callable(getattr(table, "collect", None)) and hasattr(table, "collect_schema"):
            table = table.collect()  # a lazy frame of polars or narwhals
        if hasattr(table, "to_arrow"):  # polars before 1.3
            table = table.to_arrow()
    named: list[tuple[Any, Any]]
    if hasattr(table, "columns") and hasattr(table, "items") and not isinstance(table, pa.Table):
        # pandas, whose own stream refuses columns of mixed cells
        named = [(name, _pandas_cells(cells)) for name, cells in table.items()]
    elif hasattr(table, "__arrow_c_stream__"):
        try:
            found = pa.table(table)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(
                f"{type(table).__name__} gives no table of columns as an Arrow stream ({error})."
            ) from error
        named = [
            (name, _cells_of(table, name, column))
            for name, column in zip(found.column_names, found.columns, strict=True)
        ]
    else:
        raise InputError(
            "A pandas, polars or pyarrow table, another one with __arrow_c_stream__, a NumPy array "
            f"or a path is needed. Got {type(table).__name__} instead."
        )
    columns = {str(name): cells for name, cells in named}
    if len(columns) < len(named):
        raise InputError("The table has two columns of the same name; rename one of them.")
    return columns


def _cells_of(table: Any, name: str, column: Any) -> Any:
    """Return a column of an Arrow stream as one array."""
    kind = str(column.type)
    if kind == "string_view":  # pyarrow cannot join chunks of these
        column = column.cast("large_string")
    if kind.startswith("fixed_size_binary") and hasattr(table, "get_column"):
        return as_cells(table.get_column(name).to_list())  # Python's objects in polars
    return column.combine_chunks()


def _pandas_cells(cells: Any) -> Any:
    """Return a column of a DataFrame; values of several types become strings."""
    import pyarrow as pa

    try:
        found = pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return as_cells(cells.tolist())
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


#: What stands for "not known" in any column; "?" is the census files' way.
_MISSING = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<NA>", "NaT"),
    "\\N",  # in MySQL's dumps
)
_NONE = ("None", "none")
#: What stands for it among numbers and dates, where a word cannot be a value.
_NO_VALUE = (
    "(?i)^([-\u2013\u2014.*_?]+|n[.]?a[.]?n?|n/a|#n/?a|null|none|nil|nothing|unknown|unk|undefined|missing|"
    "not (known|available|applicable|given)|tbd|unbekannt|k[.]?a[.]?|keine( angabe)?|inconnu|"
    "desconocido|#(value|div/0|ref|num|name)[!?]?)$"
)


def plain_text(cells: Any) -> Any:
    """Return cells as strings without surrounding spaces; 7.0 is 7.

    Letters with accents become one character each (NFC), however a program writes them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_text(pa.array([7.0, None])).to_pylist(), plain_text(pa.array([" a"])).to_pylist()
    (['7', None], ['a'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_floating(cells.type):
        cells = _whole(cells)
    if pa.types.is_null(cells.type):
        return pa.nulls(len(cells), pa.large_string())
    text = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    plain = pc.all(pc.string_is_ascii(text)).as_py() is not False
    return text if plain else pc.utf8_normalize(text, form="NFC")


def as_text(cells: Any, *, none_is_missing: bool = False) -> Any:
    """Return cells as `plain_text` does, missing ones as null.

    Parameters
    ----------
    cells : pyarrow array
        Any cells that `is_plain` accepts.
    none_is_missing : bool, default=False
        Whether the word "none" is a missing cell rather than a value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_text(pa.array([" a", "?", "none", None])).to_pylist()
    ['a', None, 'none', None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = plain_text(cells)
    words = _MISSING + (_NONE if none_is_missing else ())
    missing = pc.is_in(text, pa.array(words, pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), text)


def _whole(cells: Any) -> Any:
    """Return whole numbers as integers: a gap makes pandas store 7 as 7.0, which is still 7."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:  # a fraction, or beyond 64 bits
        return cells


def is_missing_word(text: Any) -> NDArray[np.bool_]:
    """Return which strings say that a number or a date is not known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_missing_word(pa.array(["-", "unknown", "none", "7"])).tolist()
    [True, True, True, False]
    """
    import pyarrow.compute as pc

    found = pc.fill_null(pc.match_substring_regex(text, _NO_VALUE), False)
    return np.asarray(found, dtype=bool)


def distinct(cells: Any, *, none_is_missing: bool = False) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct strings and each cell's place among them, −1 for a missing one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> distinct(pa.array(["b", None, "a", "b"]))
    (['b', 'a'], array([ 0, -1,  1,  0]))
    """
    values, places = counted(as_text(cells, none_is_missing=none_is_missing))
    return values.to_pylist(), places


def counted(text: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the distinct values of an array, still as an array, and each cell's place."""
    import pyarrow.compute as pc

    encoded = text.dictionary_encode()
    places = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary, places.astype(np.intp)


def by_frequency(values: Sequence[str], counts: Any, least: int = 1) -> list[int]:
    """Return the places of the values that occur at least so often, the most frequent first.

    Equally frequent ones are in the order of the alphabet, so that rows in another order give the
    same codes.

    Examples
    --------
    >>> by_frequency(["Ulm", "Bonn", "Aach"], [2, 7, 2])
    [1, 2, 0]
    """
    order = sorted(range(len(values)), key=lambda place: (-counts[place], values[place]))
    return [place for place in order if counts[place] >= least]


def codes_of(
    cells: Any, values: Sequence[str], *, none_is_missing: bool = False
) -> NDArray[np.intp]:
    """Return the code of each cell: its place among the values.

    Parameters
    ----------
    cells : pyarrow array
        The cells of a column.
    values : sequence of str
        The categories, as `plain_text` writes them. One of them may be a word such as "?", which
        else stands for a missing cell.
    none_is_missing : bool, default=False
        As in `as_text`.

    Returns
    -------
    ndarray of shape (n,)
        −1 for a missing cell, ``len(values)`` for a value that is not among them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes_of(pa.array(["Ulm", "?", "Bonn", "Aach"]), ["Bonn", "Ulm"])
    array([ 1, -1,  0,  2])
    """
    found, places = counted(plain_text(cells))
    own = {value: code for code, value in enumerate(values)}
    words = {*_MISSING, *(_NONE if none_is_missing else ())}
    codes = [own.get(text, -1 if text in words else len(values)) for text in found.to_pylist()]
    return np.array([*codes, -1], dtype=np.intp)[places]


def is_string(kind: Any) -> bool:
    """Return whether a pyarrow type is that of strings, plain or by dictionary."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def is_temporal(kind: Any) -> bool:
    """Return whether a pyarrow type is that of dates, times or both (not of durations)."""
    import pyarrow as pa

    return bool(pa.types.is_temporal(kind) and not _is_span(kind))


def _is_span(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_duration(kind) or pa.types.is_interval(kind))


def is_plain(kind: Any) -> bool:
    """Return whether cells of a pyarrow type are numbers, strings, dates, yes or no, or nothing."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    others = (types.is_null, types.is_duration, is_temporal, is_string)
    return any(test(kind) for test in (*numbers, *others))


def check_type(name: str, kind: Any) -> None:
    """Raise `InputError` for a column whose cells are lists, bytes or the like."""
    if not is_plain(kind):
        raise InputError(
            f"Column {name!r} holds {kind} cells; turn it into numbers or strings, or exclude it "
            f"with --drop {name}."
        )
