"""Dates and times as people write them, as seconds since 1970."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.table.columns.column import DAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["day_first", "spelled_dates", "stored_dates"]

_ZONES = {"z": 0, "utc": 0, "gmt": 0, "wet": 0, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3}
_ZONES |= {"msk": 3, "jst": 9, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6}
_ZONES |= {"pst": -8, "pdt": -7}
_TIME = (
    r"(?:(?:\s*T|,?\s+)(?P<hour>\d{1,2})[:h](?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>[a-z]{1,4}|(?:utc|gmt)?[+-]\d{2}(?::?\d{2})?)?)?\s*$"
)
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
