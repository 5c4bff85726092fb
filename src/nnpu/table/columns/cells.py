"""Cells as users write them: which are missing, which are numbers, which label a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LARGEST",
    "as_numbers",
    "as_text",
    "as_truth",
    "check_type",
    "distinct",
    "is_plain",
    "is_string",
    "label_codes",
]

#: What stands for "not known" in a table; "?" is the census files' way.
_MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "none")
_TRUE = ("true", "yes", "t", "y")
_FALSE = ("false", "no", "f", "n")
LARGEST = float(np.finfo(np.float32).max)


def as_text(cells: Any) -> Any:
    """Return cells as strings without surrounding spaces; a missing one is null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_text(pa.array([" a", "?", None])).to_pylist()
    ['a', None, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    text = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    missing = pc.is_in(text, pa.array(_MISSING, pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), text)


def as_numbers(cells: Any, name: str, first: int = 0) -> NDArray[np.float64]:
    """Return cells as numbers, a missing one as NaN.

    Parameters
    ----------
    cells : pyarrow array
        Strings or numbers.
    name : str
        Name of the column, for messages.
    first : int
        Number of rows before these, for messages.

    Raises
    ------
    InputError
        If a cell is no number, or one that float32 cannot hold.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_numbers(pa.array(["1.5", "NA"]), "age")
    array([1.5, nan])
    """
    import pyarrow as pa

    if is_string(cells.type):
        try:
            numbers = cells.cast(pa.float64())  # quick; what it does not take may still be clean
        except pa.ArrowInvalid:
            numbers = _clean_numbers(as_text(cells), name, first)
    else:
        numbers = cells.cast(pa.float64(), safe=False)
    values: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    too_large = np.flatnonzero(np.abs(values) > LARGEST)  # False for NaN
    if too_large.size:
        raise InputError(
            f"Column {name!r}, row {first + int(too_large[0]) + 1}: a number is too large (over "
            f"{LARGEST:.1e}); correct it or leave the cell empty."
        )
    return values


def _clean_numbers(cells: Any, name: str, first: int) -> Any:
    import pyarrow as pa

    try:
        return cells.cast(pa.float64())
    except pa.ArrowInvalid:
        row, cell = _first_non_number(cells)
        raise InputError(
            f"Column {name!r}, row {first + row + 1}: {cell!r} is not a number, as the column "
            "was in fit; correct it or leave the cell empty."
        ) from None


def as_truth(cells: Any, name: str, first: int = 0) -> NDArray[np.float64]:
    """Return yes/no cells as 1 and 0, a missing or unknown one as NaN.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_truth(pa.array(["Yes", "no", ""]), "smoker")
    array([ 1.,  0., nan])
    """
    if not is_string(cells.type):
        numbers = as_numbers(cells, name, first)
        return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)
    values, inverse = distinct(cells)
    codes = [
        1.0 if value.lower() in _TRUE else 0.0 if value.lower() in _FALSE else np.nan
        for value in values
    ]
    return np.array([*codes, np.nan])[inverse]


def label_codes(cells: Any, name: str, source: str, first: int = 0) -> NDArray[np.int8]:
    """Return PU labels: 1 for 1/true/yes, 0 for 0/false/no and missing cells, −1 for −1.

    Parameters
    ----------
    cells : pyarrow array
        The label column.
    name, source, first : str, str, int
        Name of the column, of the file, and number of rows before these, for messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> label_codes(pa.array(["yes", "", "0", "-1"]), "s", "table.csv")
    array([ 1,  0,  0, -1], dtype=int8)
    """
    import pyarrow as pa

    check_type(name, cells.type)
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    values, inverse = distinct(cells)
    codes = [_label(value) for value in values]
    if None in codes:
        wrong = codes.index(None)
        row = first + int(np.argmax(inverse == wrong)) + 1
        raise InputError(
            f"{source}: the label column {name!r} holds {values[wrong]!r} (row {row}); a label is "
            "1/true/yes, or 0/false/no/empty for unknown, or -1 for a known negative."
        )
    return np.array([*codes, 0], dtype=np.int8)[inverse]


def distinct(cells: Any) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct strings and each cell's place among them, −1 for a missing one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> distinct(pa.array(["b", None, "a", "b"]))
    (['b', 'a'], array([ 0, -1,  1,  0]))
    """
    import pyarrow.compute as pc

    encoded = as_text(cells).dictionary_encode()
    places = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), places.astype(np.intp)


def _label(value: str) -> int | None:
    lower = value.lower()
    if lower in _TRUE or lower in _FALSE:
        return int(lower in _TRUE)
    try:
        number = float(lower)
    except ValueError:
        return None
    return int(number) if number in (1, 0, -1) else None


def is_string(kind: Any) -> bool:
    """Return whether a pyarrow type is that of strings, plain or by dictionary."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_plain(kind: Any) -> bool:
    """Return whether cells of a pyarrow type are numbers, strings, yes or no, or nothing."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    numbers = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    return is_string(kind) or any(test(kind) for test in (*numbers, types.is_null))


def check_type(name: str, kind: Any) -> None:
    """Raise `InputError` for a column that holds dates, or something that is no cell at all."""
    import pyarrow as pa

    if pa.types.is_temporal(kind):
        raise InputError(dates_refused(name, str(kind)))
    if not is_plain(kind):
        raise InputError(
            f"Column {name!r} holds {kind} cells; turn it into numbers or strings, or leave it out "
            f"with --drop {name}."
        )


def dates_refused(name: str, example: str) -> str:
    """Say why dates are no features, and what to do."""
    return (
        f"Column {name!r} holds dates ({example}), whose meaning cannot be guessed; turn it into a "
        f"number, such as days before today or the month, or leave it out with --drop {name}."
    )


def _first_non_number(cells: Any) -> tuple[int, str]:
    import pyarrow as pa

    for row, cell in enumerate(cells):
        try:
            cell.cast(pa.float64())
        except pa.ArrowInvalid:
            return row, str(cell.as_py())[:40]
    return 0, ""
