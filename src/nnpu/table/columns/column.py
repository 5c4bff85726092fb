"""What every kind of column shares: cells are read once, then shown in two views.

A kind is a frozen dataclass of strings, numbers and lists, so it is JSON as it stands; only
text has arrays beside. `read` turns cells into values. `dense` gives what networks and linear
models take: standardised, without gaps. `raw` gives what trees take: plain numbers and category
codes, NaN where a cell is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = [
    "DAY",
    "Block",
    "Column",
    "Dropped",
    "Id",
    "Reading",
    "as_features",
    "as_text",
    "check_type",
    "counted",
    "distinct",
    "is_missing_word",
    "is_plain",
    "is_string",
    "is_temporal",
    "percent",
    "read_once",
    "tolerant",
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


Block: TypeAlias = Any  # a float32 array, or a CSR one

DAY = 86_400.0  # seconds


def read_once(memory: dict[str, Any] | None, name: str, cells: Any, how: Any, read: Any) -> Any:
    """Return what `read` makes of the cells of a column, as it did the last time.

    Parameters
    ----------
    memory : dict or None
        What was read last of each column, as `nnpu.data.streams.Batch` keeps it for its cells.
    name : str
        The column.
    cells : pyarrow array
        Its cells; others than the last time are read again.
    how : tuple
        In which way they are read.
    read : callable
        Takes the cells.
    """
    if memory is None or not is_string(cells.type):
        return read(cells)
    last = memory.get(name)
    if last is None or last[0] is not cells or last[1] != how:
        memory[name] = last = (cells, how, read(cells))
    return last[2]


@dataclass(frozen=True)
class Reading:
    """The cells of a column, read.

    Parameters
    ----------
    values : ndarray
        What the kind makes of them; see there.
    unreadable : int
        Number of cells that hold something else than the column does.
    example : str
        The first of these, with its row: "row 6 is 'unknown'".
    wrong, cells : int
        Number of those that do not say "not known", and of all that hold something.
    complaint : str
        What to say if these are too many.
    """

    values: Any
    unreadable: int = 0
    example: str = ""
    wrong: int = 0
    cells: int = 0
    complaint: str = ""


@dataclass(frozen=True)
class Column(ABC):
    """A column of a table and what is done with it. Use one of its subclasses.

    Parameters
    ----------
    name : str
        The column.
    note : str
        What else should be known about its cells.
    seen : mapping, optional
        What the training rows held, to notice other data later; see `nnpu.table.columns.drift`.
    """

    name: str
    note: str = field(default="", kw_only=True)
    seen: Mapping[str, Any] | None = field(default=None, kw_only=True)
    kind: ClassVar[str] = ""

    @property
    def width(self) -> int:
        """Number of features in the dense view."""
        return 0

    @property
    def raw_names(self) -> list[str]:
        """Names of the features in the raw view: the column's own, if it has any feature."""
        return [self.name] if self.width else []

    @property
    def dense_names(self) -> list[str]:
        """Names of the features in the dense view; the second, if any, flags missing cells."""
        return [self.name, f"{self.name} (missing)"][: self.width]

    @property
    def is_category(self) -> bool:
        """Whether the raw view holds codes of categories."""
        return False

    @abstractmethod
    def words(self) -> str:
        """Say in a few words what is done with the column."""

    def description(self) -> str:
        """Return `words` and the note."""
        return f"{self.words()}; {self.note}" if self.note else self.words()

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Read cells.

        Parameters
        ----------
        cells : pyarrow array
            The cells.
        first : int
            How many rows came before them.
        decimal : {".", ","}, optional
            Replaces the mark of `fit`.
        memory : dict, optional
            As in `read_once`.
        """
        return Reading(np.zeros((len(cells), 0)))

    def dense(self, values: Any) -> Block:
        """Return the dense view of values: float32, no gaps."""
        return np.zeros((len(values), 0), dtype=np.float32)

    def raw(self, values: Any) -> Any:
        """Return the raw view of values: float64, NaN for gaps."""
        return np.zeros((len(values), 0))

    def transform(self, cells: Any, first: int = 0) -> Block:
        """Read cells and return their dense view."""
        return self.dense(self.read(cells, first).values)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is too large for JSON."""
        return {}

    def with_seen(self, seen: Mapping[str, Any] | None) -> Self:
        """Return the column with a note of what the training rows held."""
        return replace(self, seen=seen)


@dataclass(frozen=True)
class Dropped(Column):
    """A column that is not used.

    Parameters
    ----------
    reason : str
        Why.
    """

    reason: str
    kind: ClassVar[str] = "dropped"

    def words(self) -> str:
        """Say why."""
        old = self.reason == "you said so"  # as version 0.1.0 stored it
        return f"excluded ({'as requested' if old else self.reason})"


@dataclass(frozen=True)
class Id(Column):
    """A column that names the rows: copied to the predictions, not a feature."""

    kind: ClassVar[str] = "id"

    def words(self) -> str:
        """Say where it goes."""
        return "id: copied to the predictions"


def tolerant(
    column: Column, cells: Any, values: Any, unreadable: NDArray[np.bool_], first: int, what: str
) -> Reading:
    """Return what was read; cells that hold something else count as missing, if they are few.

    Words that say "not known" are not mistakes, however many there are.

    Parameters
    ----------
    column, cells, values, unreadable
        The column, its cells, what was read (NaN for gaps), and which cells could not be read.
    first : int
        Rows before these, for messages.
    what : str
        What a cell should be.
    """
    there = int((~np.isnan(values)).sum() + unreadable.sum())
    if not unreadable.any():
        return Reading(values, cells=there)
    text = as_text(cells)
    wrong = unreadable & ~is_missing_word(text)
    row = int(np.argmax(wrong if wrong.any() else unreadable))
    place, cell = f"row {first + row + 1}", repr(text[row].as_py()[:40])
    return Reading(
        values,
        int(unreadable.sum()),
        f"{place} is {cell}",
        wrong=int(wrong.sum()),
        cells=there,
        complaint=f"Column {column.name!r}, {place}: {cell} is not {what}, as the column was in "
        "fit; correct it or leave the cell empty.",
    )


def percent(part: int, whole: int) -> str:
    """Return a share for people, never rounded to all or to nothing.

    Examples
    --------
    >>> percent(9997, 10000), percent(999_999, 1_000_000), percent(1, 3)
    ('99.97 %', '99.99 %', '33 %')
    """
    share = 100 * part / whole
    if 1 <= share <= 99:
        return f"{share:.0f} %"
    if 0 < share < 100:
        return f"{min(max(round(share, 2), 0.01), 99.99):g} %"
    return f"{share:.0f} %"


def as_features(features: list[Any]) -> NDArray[np.float32]:
    """Return columns of numbers as one float32 block."""
    return np.column_stack(features).astype(np.float32)
