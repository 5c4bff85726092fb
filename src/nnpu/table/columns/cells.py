"""Cells as people write them: which are missing, which are strings, which are distinct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "as_text",
    "check_type",
    "counted",
    "distinct",
    "is_missing_word",
    "is_plain",
    "is_string",
    "is_temporal",
]

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


def as_text(cells: Any, *, none_is_missing: bool = False) -> Any:
    """Return cells as strings without surrounding spaces, missing ones as null.

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

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_floating(cells.type):
        cells = _whole(cells)
    if pa.types.is_null(cells.type):
        return pa.nulls(len(cells), pa.large_string())
    text = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
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
