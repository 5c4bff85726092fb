"""Numbers as people write them: currencies, percent, separators, decimal commas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nnpu.data.cells import as_text, counted, is_string
from nnpu.parameters import InputError
from nnpu.table.columns.column import (
    Block,
    Column,
    Dropped,
    Reading,
    as_features,
    read_once,
    tolerant,
)
from nnpu.table.columns.summaries import Numbers, weighted_median

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Number",
    "as_numbers",
    "decimal_mark",
    "percent_cells",
    "plain_numbers",
    "spelled_numbers",
]

LARGEST = float(np.finfo(np.float32).max)
_FAR = 1000.0  # times the interquartile range: beyond it a number is a mistake or a code

#: No-break, narrow, thin, figure and plain space, and apostrophes: all of them separate thousands.
_SPACES = "\u00a0\u202f\u2009\u2007 '\u2019\u00b4`"
_CURRENCY = (
    r"(?:us\$|r\$|c\$|a\$|nz\$|hk\$|[$€£¥₹₽₩₪₫₴₺₦฿¢]|usd|eur|gbp|chf|jpy|cad|aud|nzd|inr|cny|rmb|"
    r"sek|nok|dkk|pln|czk|huf|brl|mxn|zar|try|krw|sgd|hkd|euros?|dollars?|kr|zł|kč|fr|rs)\.?"
)
#: What is taken away around a number, and signs written in other ways.
_CLEANING = (
    (r"^\s*\((.*)\)\s*$", r"-\1"),  # accountants' negatives
    ("[\u2212\u2013]", "-"),
    (rf"(?i)^([+-]?)\s*{_CURRENCY}\s*", r"\1"),
    (rf"(?i)\s*(?:{_CURRENCY}|%|percent|pct)\s*$", ""),
    (rf"(?i)\s*(?:{_CURRENCY}|%)\s*$", ""),
    (r"^(.*\d)\s*-$", r"-\1"),
    (r"^([+-])\s+", r"\1"),
    (r"^--", ""),  # a negative in parentheses with its sign
)


def spelled_numbers(text: Any, decimal: str, *, shares: bool = False) -> NDArray[np.float64]:
    """Return strings as numbers, NaN for those that are not.

    Parameters
    ----------
    text : pyarrow array of strings
        Without surrounding spaces.
    decimal : {".", ","}
        The decimal mark.
    shares : bool, default=False
        Whether 45 % is 0.45; else it is 45.

    Examples
    --------
    >>> import pyarrow as pa
    >>> spelled_numbers(pa.array(["$90,000.00", "45 %", "(1,234)", "1,2"]), ".")
    array([ 9.000e+04,  4.500e+01, -1.234e+03,        nan])
    >>> spelled_numbers(pa.array(["1234,56 €", "1.234.567", "1 234,5"]), ",")
    array([1.234560e+03, 1.234567e+06, 1.234500e+03])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if decimal == "." and (plain := _plain(text)) is not None:
        return plain
    percent = percent_cells(text) if shares else None
    for pattern, replacement in _CLEANING:
        text = pc.replace_substring_regex(text, pattern=pattern, replacement=replacement)
    thousands, mark = (",", r"\.") if decimal == "." else (r"\.", ",")
    groups = (
        rf"[1-9]\d{{0,2}}(?:(?:{thousands}\d{{2,3}})*{thousands}\d{{3}}|(?:[{_SPACES}]\d{{3}})+)"
    )
    number = rf"(?i)^[+-]?(?:(?:{groups}|\d+)(?:{mark}\d*)?|{mark}\d+)(?:e[+-]?\d+)?$"
    right = pc.match_substring_regex(text, number)
    text = pc.if_else(right, text, pa.scalar(None, text.type))
    text = pc.replace_substring_regex(text, pattern=f"[{thousands}{_SPACES}]", replacement="")
    if decimal == ",":
        text = pc.replace_substring(text, pattern=",", replacement=".")
    values: NDArray[np.float64] = text.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values if percent is None else np.where(percent, values / 100, values)


def percent_cells(text: Any) -> NDArray[np.bool_]:
    """Return which strings have a percent sign, or the word.

    Examples
    --------
    >>> import pyarrow as pa
    >>> percent_cells(pa.array(["45 %", "45 percent", "0.45"])).tolist()
    [True, True, False]
    """
    import pyarrow.compute as pc

    found = pc.match_substring_regex(text, "(?i)%|percent|pct")
    return np.asarray(pc.fill_null(found, False), dtype=bool)


def _plain(text: Any) -> NDArray[np.float64] | None:
    """Return strings that are all plain finite numbers, quickly: thousands of columns are."""
    values = _quick(text)
    return values if values is not None and np.isfinite(values).all() else None


def decimal_mark(text: Any) -> str:
    """Return the decimal mark under which more of the distinct strings are numbers.

    A point wins a draw: "1,234" alone is a number of four digits.

    Examples
    --------
    >>> import pyarrow as pa
    >>> decimal_mark(pa.array(["1,234", "12,5"])), decimal_mark(pa.array(["1,234", "5,678"]))
    (',', '.')
    """
    if _plain(text) is not None:
        return "."
    point, comma = (np.isfinite(spelled_numbers(text, mark)).sum() for mark in ".,")
    return "," if comma > point else "."


def as_numbers(
    cells: Any,
    name: str,
    first: int = 0,
    decimal: str = ".",
    *,
    shares: bool = False,
    memory: dict[str, Any] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return cells as numbers, NaN for missing ones, and which of them could not be read.

    Parameters
    ----------
    cells : pyarrow array
        Strings, numbers or truth values.
    name : str
        Name of the column, for messages.
    first : int
        Number of rows before these, for messages.
    decimal : {".", ","}
        The decimal mark of strings.
    shares : bool, default=False
        Whether 45 % is 0.45; else it is 45.
    memory : dict, optional
        As in `nnpu.table.columns.column.read_once`.

    Raises
    ------
    InputError
        If a number is one that float32 cannot hold, or the cells are dates or the like.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_numbers(pa.array(["1.5", "NA", "old"]), "age")
    (array([1.5, nan, nan]), array([False, False,  True]))
    """
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    unreadable = np.zeros(len(cells), dtype=bool)
    if is_string(cells.type):
        how = (decimal, shares)
        last = memory.get(name) if memory else None
        slow = last is not None and last[0] is cells and last[1] == how
        values = plain_numbers(cells, name, memory) if decimal == "." and not slow else None
        if values is None:
            values, unreadable = read_once(
                memory, name, cells, how, lambda cells: _slow(cells, decimal, shares)
            )
    elif pa.types.is_duration(cells.type):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[cells.type.unit]
        counts = cells.cast(pa.int64()).cast(pa.float64(), safe=False)
        values = counts.to_numpy(zero_copy_only=False) / unit
    else:
        try:
            values = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        except pa.ArrowNotImplementedError:
            raise InputError(f"Column {name!r} holds {cells.type} cells, not numbers.") from None
    too_large = np.flatnonzero(np.abs(values) > LARGEST)  # False for NaN
    if too_large.size:
        raise InputError(
            f"Column {name!r}, row {first + int(too_large[0]) + 1}: a number is too large (over "
            f"{LARGEST:.1e}); correct it or leave the cell empty."
        )
    return values, unreadable


def plain_numbers(
    cells: Any, name: str = "", memory: dict[str, Any] | None = None
) -> NDArray[np.float64] | None:
    """Return strings that are all numbers without more as numbers; None if they are not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_numbers(pa.array(["1.5", None])), plain_numbers(pa.array(["$1"]))
    (array([1.5, nan]), None)
    """
    found: NDArray[np.float64] | None = read_once(memory, name, cells, "plain", _quick)
    return found


def _quick(cells: Any) -> NDArray[np.float64] | None:
    import pyarrow as pa

    try:
        values: NDArray[np.float64] = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # what the cast does not take may still be clean
        return None
    return values


def _slow(cells: Any, decimal: str, shares: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    text, places = counted(as_text(cells, none_is_missing=True))
    values = spelled_numbers(text, decimal, shares=shares)
    wrong = np.isnan(values)
    return np.append(values, np.nan)[places], np.append(wrong, False)[places]


@dataclass(frozen=True)
class Number(Column):
    """A column of numbers, in the dense view standardised, a missing one being the median.

    Parameters
    ----------
    median, centre, scale : float
        Of the training rows: what fills a gap, and the mean and standard deviation.
    missing : bool
        Whether a second feature says that the cell was missing.
    decimal : {".", ","}
        The decimal mark of strings.
    low, high : float, optional
        Where the dense view clips.
    clipped : int
        How many training rows that concerned.
    shares : bool
        Whether 45 % is 0.45, as other cells are shares; else it is 45.
    """

    median: float
    centre: float
    scale: float
    missing: bool
    decimal: str = "."
    low: float | None = None
    high: float | None = None
    clipped: int = 0
    shares: bool = False
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        ends = (self.low or 0.0) + (self.high or 0.0)
        if not (math.isfinite(self.median + self.centre + self.scale + ends) and self.scale > 0):
            raise ValueError(f"column {self.name!r}: its numbers must be finite")
        if self.decimal not in (".", ","):
            raise ValueError(f"column {self.name!r}: the decimal mark must be a point or a comma")

    @classmethod
    def fit(
        cls, name: str, cells: Any, decimal: str = ".", note: str = "", *, shares: bool = False
    ) -> Self | Dropped:
        """Measure the training rows."""
        numbers = Numbers()
        numbers.add(as_numbers(cells, name, decimal=decimal, shares=shares)[0])
        return cls.of(name, numbers, decimal, note, shares=shares)

    @classmethod
    def of(
        cls,
        name: str,
        numbers: Numbers,
        decimal: str = ".",
        note: str = "",
        *,
        shares: bool = False,
    ) -> Self | Dropped:
        """Return the column of the training rows' numbers."""
        if not numbers.count:
            return Dropped(name, "no cell has a value")
        low, high = _ends(numbers)
        centre, spread = numbers.moments(low, high)
        return cls(
            name,
            numbers.median,
            centre,
            spread if spread > 0 else 1.0,
            numbers.gaps > 0,
            decimal,
            low,
            high,
            numbers.outside(low, high),
            shares,
            note=note,
        )

    @property
    def width(self) -> int:
        """One, or two with the indicator."""
        return 1 + self.missing

    def words(self) -> str:
        """Say what a missing number becomes, and what was clipped."""
        parts = ["number (decimal comma)" if self.decimal == "," else "number"]
        if self.missing:
            parts.append(f"missing cells get the median {self.median:g} and a flag")
        if self.clipped:
            ends = f"{self.low:g} to {self.high:g}"
            cells = (
                "1 extreme value is"
                if self.clipped == 1
                else (f"{self.clipped:,} extreme values are")
            )
            parts.append(f"{cells} clipped to {ends}")
        return "; ".join(parts)

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Return float64 values; few cells may be unreadable, and count as missing."""
        values, unreadable = as_numbers(
            cells, self.name, first, decimal or self.decimal, shares=self.shares, memory=memory
        )
        return tolerant(self, cells, values, unreadable, first, "a number")

    def dense(self, values: Any) -> Block:
        """Fill the gaps, clip and standardise."""
        gaps = np.isnan(values)
        filled = np.where(gaps, self.median, values)
        if self.low is not None:
            filled = filled.clip(self.low, self.high)
        with np.errstate(over="ignore"):  # cut off below
            filled = ((filled - self.centre) / self.scale).clip(-LARGEST, LARGEST)
        return as_features([filled, gaps] if self.missing else [filled])

    def raw(self, values: Any) -> Any:
        """Return the values as they are."""
        return values[:, None]


def _ends(numbers: Numbers) -> tuple[float, float]:
    """Return the range of numbers that are not so far from the others that they drown them."""
    low, high = numbers.quantiles([0.25, 0.75])
    span = high - low
    values, counts = numbers.values, numbers.counts
    if span == 0:  # most are equal: the others say what is usual
        away = np.abs(values - low)
        order = np.argsort(away, kind="stable")[int((away == 0).sum()) :]
        span = 2 * weighted_median(away[order], counts[order]) if order.size else 1.0
    far = _FAR * span
    ends = float(max(low - far, -LARGEST)), float(min(high + far, LARGEST))
    inside = (values >= ends[0]) & (values <= ends[1])
    if inside.all():
        return ends
    return float(numbers.least[inside].min()), float(numbers.greatest[inside].max())
