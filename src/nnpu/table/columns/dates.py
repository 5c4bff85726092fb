"""Dates and times as people write them, and their features: day, hour, weekday, month."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nnpu.data.cells import as_text, counted, is_string, is_temporal
from nnpu.parameters import InputError
from nnpu.table.columns.column import (
    DAY,
    Block,
    Column,
    Dropped,
    Reading,
    as_features,
    read_once,
    tolerant,
)
from nnpu.table.columns.numbers import as_numbers
from nnpu.table.columns.summaries import Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Date",
    "as_dates",
    "day_first",
    "row_times",
    "spelled_dates",
    "stored_dates",
]

_ZONES = {"z": 0, "utc": 0, "gmt": 0, "wet": 0, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3}
_ZONES |= {"msk": 3, "jst": 9, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6}
_ZONES |= {"pst": -8, "pdt": -7}
_TIME = (
    r"(?:(?:\s*T|,?\s+)(?P<hour>\d{1,2})[:h](?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>[a-z]{1,4}|(?:utc|gmt)?[+-]\d{2}(?::?\d{2})?)?)?\s*$"
)
#: A zone after a time, which a.m. and p.m. are not.
_ZONE = r"(?i)\d[:h]\d{2}.*?(?:[+-]\d{2}(?::?\d{2})?|\b(?:[b-oq-z]|[a-z]*[a-ln-z])|\dz)$"
_FIRST = 100  # cells that tell whether times have a zone
_WEEKDAY = r"^(?:\pL{2,}\.?,?\s+)?"
#: One regular expression for each way of writing; `one` and `two` are a day and a month.
_SPELLINGS = (
    rf"^(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}",
    rf"^(?P<one>\d{{1,2}})(?P<mark>[-/.])\s?(?P<two>\d{{1,2}})[-/.]\s?(?P<year>\d{{4}}|\d{{2}})"
    rf"{_TIME}",
    r"^(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})"
    r"(?:[T ]?(?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2}))?(?P<zone>z)?)?$",
    r"^(?P<year>\d{4})[-/](?P<month>\d{1,2})$",
    r"^(?P<month>\d{1,2})[-/](?P<year>\d{4})$",
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -]+(?:de\s+|of\s+)?(?P<name>\pL{{3,}})\.?,?"
    rf"[ -]+(?:de\s+)?(?P<year>\d{{4}}|\d{{2}}){_TIME}",
    rf"{_WEEKDAY}(?P<name>\pL{{3,}})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})"
    rf"{_TIME}",
    r"^(?P<day>\d{1,2})(?P<name>\pL{3})(?P<year>\d{4}|\d{2})"  # 15JAN2023, as SAS writes it
    r"(?:[: ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?)?$",
    r"^(?P<name>\pL{3,})\.?[ -](?P<year>\d{4})$",
    r"^(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?$",
)
#: The beginnings of the months' names: English, German, French, Spanish, Italian, Dutch.
_MONTHS = (
    ("jan", "jän", "ene", "gen"),
    ("feb", "fév", "fev"),
    ("mar", "mär", "mrt", "mrz", "maa"),
    ("apr", "avr", "abr"),
    ("may", "mai", "mei", "mag"),
    ("jun", "juin", "giu"),
    ("jul", "juil", "lug"),
    ("aug", "aoû", "aou", "ago"),
    ("sep", "set"),
    ("oct", "okt", "ott"),
    ("nov",),
    ("dec", "dez", "déc", "dic"),
)


def spelled_dates(text: Any, first_is_day: bool | None) -> NDArray[np.float64]:
    """Return dates and times as seconds since 1970 (UTC where a zone is given), NaN for others.

    Parameters
    ----------
    text : pyarrow array of strings
        Without surrounding spaces.
    first_is_day : bool or None
        Whether 3/4/2024 is in April. If None, such a date is NaN unless it can be read in one
        way only; 3.4.2024 is in April then.

    Examples
    --------
    >>> import pyarrow as pa
    >>> text = pa.array(["1970-01-02", "3 Jan 1970", "19700104", "5.1.70 12:00", "1/2/1970", "x"])
    >>> spelled_dates(text, None) / 86400
    array([1. , 2. , 3. , 4.5, nan, nan])
    >>> spelled_dates(text, False)[4] / 86400
    np.float64(1.0)
    """
    seconds = np.full(len(text), np.nan)
    for spelling in _SPELLINGS:
        rest = np.flatnonzero(np.isnan(seconds))
        if not rest.size:
            break
        matched, parts = _extract(text.take(rest), spelling)
        if matched.size:
            seconds[rest[matched]] = _seconds(parts, matched.size, first_is_day)
    return seconds


def day_first(text: Any) -> tuple[bool | None, bool]:
    """Return whether the day stands before the month, and whether a cell proves it.

    Parameters
    ----------
    text : pyarrow array of strings
        The distinct cells of a column. If none has both as numbers, the answer is None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> day_first(pa.array(["1/2/2024", "1/31/2024"])), day_first(pa.array(["2024-01-31"]))
    ((False, True), (None, False))
    """
    matched, parts = _extract(text, _SPELLINGS[1])
    if not matched.size:
        return None, False
    one, two = parts["one"].astype(int), parts["two"].astype(int)
    day_comes_first, month_comes_first = int((one > 12).sum()), int((two > 12).sum())
    if day_comes_first or month_comes_first:
        return day_comes_first >= month_comes_first, True
    return bool(np.mean(parts["mark"] != "/") >= 0.5), False


def _extract(text: Any, spelling: str) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """Return which strings match, and their named parts."""
    import pyarrow.compute as pc

    found = pc.extract_regex(text, pattern=f"(?i){spelling}")
    matched = np.flatnonzero(np.asarray(pc.is_valid(found), dtype=bool))
    found = found.take(matched)
    names = [field.name for field in found.type]
    parts = {name: found.field(name).to_numpy(zero_copy_only=False) for name in names}
    return matched, parts


def _seconds(parts: dict[str, Any], n: int, first_is_day: bool | None) -> NDArray[np.float64]:
    years = _years(parts["year"]) if "year" in parts else np.full(n, 1970)
    months, days = _months_and_days(parts, n, first_is_day)
    right = (months >= 1) & (months <= 12) & (days >= 1)
    month = ((years - 1970) * 12 + np.where(right, months, 1) - 1).astype("datetime64[M]")
    day = month.astype("datetime64[D]") + (np.where(right, days, 1) - 1)
    right &= day.astype("datetime64[M]") == month  # no 30 February
    time, possible = _time_of_day(parts, n)
    return np.where(right & possible, day.astype(np.int64) * DAY + time, np.nan)


def _years(text: NDArray[Any]) -> NDArray[np.int64]:
    years = text.astype(np.int64)
    short = np.array([len(year) == 2 for year in text], dtype=bool)
    return np.where(short, np.where(years < 69, 2000, 1900) + years, years)  # as POSIX does


def _months_and_days(
    parts: dict[str, Any], n: int, first_is_day: bool | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if "one" in parts:
        one, two = parts["one"].astype(np.int64), parts["two"].astype(np.int64)
        if first_is_day is not None:
            return (two, one) if first_is_day else (one, two)
        by_mark = parts["mark"] == "."
        is_day = by_mark | (one > 12)
        is_month = ~by_mark & (two > 12)
        either = is_day | is_month  # else 3/4/2024 could be in March or in April
        return np.where(either, np.where(is_day, two, one), 0), np.where(is_day, one, two)
    days = parts["day"].astype(np.int64) if "day" in parts else np.ones(n, dtype=np.int64)
    if "name" in parts:
        numbers = {name: _month(name) for name in set(parts["name"])}
        return np.array([numbers[name] for name in parts["name"]], dtype=np.int64), days
    months = parts["month"].astype(np.int64) if "month" in parts else np.ones(n, dtype=np.int64)
    return months, days


def _month(name: str) -> int:
    lower = name.lower()
    for number, beginnings in enumerate(_MONTHS, start=1):
        if lower.startswith(beginnings):
            return number
    return 0


def _time_of_day(parts: dict[str, Any], n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return seconds since midnight, UTC where there is a zone, and whether they can be."""
    if "hour" not in parts:
        return np.zeros(n), np.ones(n, dtype=bool)
    hour, minute = _numbers(parts["hour"]), _numbers(parts["minute"])
    second = _numbers(parts["second"])
    possible = (hour < 25) & (minute < 60) & (second < 61)
    if "half" in parts:
        half = np.array([text[:1].lower() for text in parts["half"]])
        possible &= (half == "") | ((hour >= 1) & (hour <= 12))
        hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    offset = np.zeros(n)
    if "zone" in parts:
        offsets = {zone: _offset(zone) for zone in set(parts["zone"])}
        offset = np.array([offsets[zone] for zone in parts["zone"]])
        possible &= ~np.isnan(offset)
    return hour * 3600 + minute * 60 + second - np.nan_to_num(offset), possible


def _numbers(text: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([float(cell.replace(",", ".")) if cell else 0.0 for cell in text])


def _offset(zone: str) -> float:
    """Return a zone's seconds ahead of UTC; NaN if it is not known."""
    name = zone.strip().lower()
    if not name:
        return 0.0
    if name in _ZONES:
        return 3600.0 * _ZONES[name]
    found = re.fullmatch(r"(?:utc|gmt)?([+-])(\d{2}):?(\d{2})?", name)
    if not found:
        return np.nan
    sign = -1 if found[1] == "-" else 1
    return sign * (3600.0 * int(found[2]) + 60.0 * int(found[3] or 0))


def stored_dates(cells: Any) -> NDArray[np.float64]:
    """Return the seconds since 1970, or since midnight, of cells that are stored as dates or times.

    Examples
    --------
    >>> import pyarrow as pa
    >>> stored_dates(pa.array([1, None], pa.date32()))
    array([86400.,    nan])
    """
    import pyarrow as pa

    kind = cells.type
    if pa.types.is_date(kind):
        cells = cells.cast(pa.date32()).cast(pa.int32())
        unit = DAY
    else:
        unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
        cells = cells.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    values: NDArray[np.float64] = cells.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return values * unit


_PARTS = ("days", "hour", "weekday", "month")


def as_dates(
    cells: Any,
    first_is_day: bool | None,
    name: str = "",
    memory: dict[str, Any] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return cells as seconds since 1970, NaN for missing ones, and which could not be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_dates(pa.array(["1970-01-02", "", "soon"]), None)
    (array([86400.,    nan,    nan]), array([False, False,  True]))
    """
    if is_temporal(cells.type):
        return stored_dates(cells), np.zeros(len(cells), dtype=bool)

    def read(cells: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        text, places = counted(as_text(cells, none_is_missing=True))
        values = spelled_dates(text, first_is_day)
        return np.append(values, np.nan)[places], np.append(np.isnan(values), False)[places]

    found: tuple[NDArray[np.float64], NDArray[np.bool_]] = read_once(
        memory, name, cells, ("dates", first_is_day), read
    )
    return found


def row_times(cells: Any, name: str) -> NDArray[np.float64]:
    """Return numbers that order rows by a column of dates, times or numbers.

    Raises
    ------
    InputError
        If a cell is missing or is neither a date nor a number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> row_times(pa.array(["2 Jan 1970", "1970-01-03"]), "day").argsort()
    array([0, 1])
    """
    if is_temporal(cells.type):
        values = stored_dates(cells)
    else:
        values, _ = as_numbers(cells, name)
        if is_string(cells.type) and np.isnan(values).any():
            text = as_text(cells)
            values, _ = as_dates(cells, day_first(text.unique().drop_null())[0])
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise InputError(
            f"Column {name!r} cannot order the rows: row {row + 1} has no date or number."
        )
    return values


class Days:
    """A summary of dates: their days, and the range of each part.

    Examples
    --------
    >>> days = Days()
    >>> days.add(np.array([0.0, 7 * 86400.0, np.nan]))
    >>> days.parts, days.numbers.quantiles([0, 1]).tolist(), days.numbers.gaps
    (['days'], [0.0, 7.0], 1)
    """

    def __init__(self) -> None:
        self.numbers = Numbers()
        self._low = dict.fromkeys(_PARTS, np.inf)
        self._high = dict.fromkeys(_PARTS, -np.inf)

    def add(self, seconds: NDArray[np.float64]) -> None:
        """Take dates as seconds since 1970; NaN is a gap."""
        there = seconds[~np.isnan(seconds)]
        self.numbers.gaps += len(seconds) - len(there)
        if not there.size:
            return
        split = _split(there)
        self.numbers.add(split["days"])
        self._widen(
            {part: float(values.min()) for part, values in split.items()},
            {part: float(values.max()) for part, values in split.items()},
        )

    def merge(self, other: Days) -> None:
        """Take the dates of another summary."""
        self.numbers.merge(other.numbers)
        self._widen(other._low, other._high)

    def _widen(self, low: dict[str, float], high: dict[str, float]) -> None:
        for part in _PARTS:
            self._low[part] = min(self._low[part], low[part])
            self._high[part] = max(self._high[part], high[part])

    @property
    def parts(self) -> list[str]:
        """The parts that vary."""
        return [part for part in _PARTS if self._low[part] < self._high[part]]


@dataclass(frozen=True)
class Date(Column):
    """A column of dates, of times, or of both.

    Parameters
    ----------
    parts : list of str
        Of days (since 1970), hour, weekday (0 is Monday) and month: those that vary.
    first_is_day : bool or None
        Whether 3/4/2024 is in April; None if the training had no such date.
    centre, scale : float
        Mean and standard deviation of the days of the training rows.
    missing : bool
        Whether a feature of the dense view says that the cell was missing.
    """

    parts: list[str]
    first_is_day: bool | None
    centre: float
    scale: float
    missing: bool
    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.centre + self.scale) and self.scale > 0):
            raise ValueError(f"column {self.name!r}: its numbers must be finite")
        if not self.parts or not set(self.parts) <= set(_PARTS):
            raise ValueError(f"column {self.name!r}: no such parts of a date")

    @classmethod
    def fit(
        cls, name: str, cells: Any, first_is_day: bool | None = None, note: str = ""
    ) -> Self | Dropped:
        """Find out which parts vary in the training rows."""
        days = Days()
        days.add(as_dates(cells, first_is_day)[0])
        return cls.of(name, days, first_is_day, note)

    @classmethod
    def of(
        cls, name: str, days: Days, first_is_day: bool | None = None, note: str = ""
    ) -> Self | Dropped:
        """Return the column of the training rows' dates."""
        if not days.parts:
            return Dropped(name, "every row has the same date")
        centre, spread = days.numbers.moments(-np.inf, np.inf)
        return cls(
            name,
            days.parts,
            first_is_day,
            centre,
            spread if spread > 0 else 1.0,
            days.numbers.gaps > 0,
            note=note,
        )

    @property
    def width(self) -> int:
        """A day is one feature, a weekday seven, an hour or a month a point on a circle."""
        widths = {"days": 1, "hour": 2, "weekday": 7, "month": 2}
        return sum(widths[part] for part in self.parts) + self.missing

    @property
    def raw_names(self) -> list[str]:
        """The parts."""
        return [f"{self.name} ({part})" for part in self.parts]

    @property
    def dense_names(self) -> list[str]:
        """The day, the sine and cosine of hour and month, a name for each day of the week."""
        parts: list[str] = []
        for part in self.parts:
            if part == "days":
                parts.append(part)
            elif part == "weekday":
                parts += [f"weekday {day}" for day in range(7)]
            else:
                parts += [f"{part} sine", f"{part} cosine"]
        parts += ["missing"] if self.missing else []
        return [f"{self.name} ({part})" for part in parts]

    def words(self) -> str:
        """Say what the date became."""
        parts = [f"{'time' if 'days' not in self.parts else 'date'}: {', '.join(self.parts)}"]
        parts += ["missing cells get a flag"] if self.missing else []
        return "; ".join(parts)

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Return seconds since 1970; few cells may be unreadable, and count as missing."""
        if not (is_string(cells.type) or is_temporal(cells.type) or _is_whole(cells.type)):
            raise InputError(f"Column {self.name!r} holds {cells.type} cells, and dates in fit.")
        values, unreadable = as_dates(cells, self.first_is_day, self.name, memory)
        what = "a date that can be read in one way only"
        reading = tolerant(self, cells, values, unreadable, first, what)
        return replace(reading, zoned=_zoned(cells) if "hour" in self.parts else None)

    def dense(self, values: Any) -> Block:
        """Standardise the days, put hours and months on a circle, give each weekday a feature."""
        gaps = np.isnan(values)
        split = _split(np.where(gaps, self.centre * DAY, values))
        features: list[Any] = []
        for part in self.parts:
            if part == "days":
                features.append((split[part] - self.centre) / self.scale)
            elif part == "weekday":
                features += [split[part] == day for day in range(7)]
            else:
                angle = 2 * np.pi * split[part] / (24 if part == "hour" else 12)
                features += [np.sin(angle), np.cos(angle)]
        block = np.where(gaps[:, None], 0, np.column_stack(features))
        return as_features([block, gaps] if self.missing else [block])

    def raw(self, values: Any) -> Any:
        """Return the parts as numbers, NaN for a missing date."""
        gaps = np.isnan(values)
        split = _split(np.where(gaps, 0.0, values))
        return np.column_stack([np.where(gaps, np.nan, split[part]) for part in self.parts])


def _zoned(cells: Any) -> bool | None:
    """Return whether the first times of a column have a zone; None if there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(cells.type):
        return cells.type.tz is not None
    if not is_string(cells.type):
        return None
    text = as_text(cells[:_FIRST], none_is_missing=True).drop_null()
    times = text.filter(pc.match_substring_regex(text, r"\d[:h]\d{2}"))
    if not len(times):
        return None
    return bool(pc.any(pc.match_substring_regex(times, _ZONE)).as_py())


def _split(seconds: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the parts of dates; there may be no gap."""
    days = np.floor(seconds / DAY)
    dates = days.astype(np.int64).astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    return {
        "days": days,
        "hour": (seconds - days * DAY) / 3600,
        "weekday": (days + 3) % 7,  # 1 January 1970 was a Thursday
        "month": months % 12 + 1.0,
    }


def _is_whole(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind) or pa.types.is_floating(kind))
