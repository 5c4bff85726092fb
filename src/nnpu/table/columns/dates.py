"""Dates and times as features: the day, the hour, the weekday, the month."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nnpu.parameters import InputError
from nnpu.table.columns.cells import as_text, counted, is_string, is_temporal
from nnpu.table.columns.column import DAY, Block, Column, Dropped, Reading, as_features, tolerant
from nnpu.table.columns.numbers import as_numbers
from nnpu.table.columns.spellings import day_first, spelled_dates, stored_dates

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Date", "as_dates", "row_times"]

_PARTS = ("days", "hour", "weekday", "month")


def as_dates(
    cells: Any, first_is_day: bool | None
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
    text, places = counted(as_text(cells, none_is_missing=True))
    values = spelled_dates(text, first_is_day)
    return np.append(values, np.nan)[places], np.append(np.isnan(values), False)[places]


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
        values, _ = as_dates(cells, first_is_day)
        there = values[~np.isnan(values)]
        split = _split(there)
        parts = [part for part in _PARTS if np.unique(split[part]).size > 1]
        if not parts:
            return Dropped(name, "every row has the same date")
        spread = float(split["days"].std())
        return cls(
            name,
            parts,
            first_is_day,
            float(split["days"].mean()),
            spread if spread > 0 else 1.0,
            there.size < values.size,
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

    def read(self, cells: Any, first: int = 0, decimal: str | None = None) -> Reading:
        """Return seconds since 1970; few cells may be unreadable, and count as missing."""
        if not (is_string(cells.type) or is_temporal(cells.type) or _is_whole(cells.type)):
            raise InputError(f"Column {self.name!r} holds {cells.type} cells, and dates in fit.")
        values, unreadable = as_dates(cells, self.first_is_day)
        what = "a date that can be read in one way only"
        return tolerant(self, cells, values, unreadable, first, what)

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
