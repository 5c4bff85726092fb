"""Has a table left what the training rows held? Cells a column at a time, and the scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.table.columns.column import DAY, percent
from nnpu.table.columns.summaries import Numbers
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nnpu.table.columns.column import Column, Reading

__all__ = [
    "DriftWatch",
    "TrainingRows",
    "UsualScores",
    "binned",
    "count_cells",
    "drift_sentence",
]

_TEXTS = 200  # texts of a batch that are looked at


class CellCounts(NamedTuple):
    """What some cells of a column are.

    Attributes
    ----------
    missing, unseen, looked : int
        Gaps; values that are new or rare; and how many cells could have been.
    numbers : ndarray or None
        The numbers among them, days for dates.
    midnight : int
        How many dates have no time of day, or midnight.
    """

    missing: int
    unseen: int = 0
    looked: int = 0
    numbers: NDArray[np.float64] | None = None
    midnight: int = 0


class TrainingRows:
    """Notes what the training rows hold while their features are made, a batch at a time.

    Parameters
    ----------
    rows : ndarray of int
        The training rows of the batch that comes next; it may be set anew for each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.table.columns.numbers import Number
    >>> cells = pa.array([1.0, None, 3.0])
    >>> column, rows = Number.fit("age", cells), TrainingRows(np.arange(3))
    >>> rows.add(column, column.read(cells))
    >>> rows.seen["age"]["missing"], rows.seen["age"]["median"]
    (1, 2.0)
    """

    def __init__(self, rows: NDArray[np.intp]) -> None:
        self.rows = rows
        self._columns: dict[str, _TrainingColumn] = {}

    def add(self, column: Column, reading: Reading) -> None:
        """Take the cells of a column, read."""
        if column.kind == "matrix":
            return
        values = reading.values
        part = values.take(self.rows) if hasattr(values, "take") else values[self.rows]
        found = self._columns.setdefault(column.name, _TrainingColumn(column.kind))
        found.add(count_cells(column, part), len(part))
        found.zoned = found.zoned if reading.zoned is None else reading.zoned

    def merge(self, other: TrainingRows) -> None:
        """Take what others note of other rows."""
        for name, found in other._columns.items():
            self._columns.setdefault(name, _TrainingColumn(found.kind)).merge(found)

    @property
    def seen(self) -> dict[str, dict[str, Any]]:
        """What the training rows held, by column, as `Column.seen` stores it."""
        return {name: found.seen() for name, found in self._columns.items()}


@dataclass
class _TrainingColumn:
    """Counts of the training rows' cells in a column."""

    kind: str
    rows: int = 0
    missing: int = 0
    unseen: int = 0
    looked: int = 0
    midnight: int = 0
    zoned: bool | None = None
    numbers: Numbers = field(default_factory=Numbers)

    def add(self, counts: CellCounts, rows: int) -> None:
        self.rows += rows
        self.missing += counts.missing
        self.unseen += counts.unseen
        self.looked += counts.looked
        self.midnight += counts.midnight
        if counts.numbers is not None and self.kind in ("number", "date"):
            self.numbers.add(counts.numbers)

    def merge(self, other: _TrainingColumn) -> None:
        self.rows += other.rows
        self.missing += other.missing
        self.unseen += other.unseen
        self.looked += other.looked
        self.midnight += other.midnight
        self.zoned = self.zoned if other.zoned is None else other.zoned
        self.numbers.merge(other.numbers)

    def seen(self) -> dict[str, Any]:
        seen: dict[str, Any] = {"rows": self.rows, "missing": self.missing}
        if self.looked:
            seen["unseen"] = self.unseen / self.looked
        numbers = self.numbers
        if not numbers.count:
            return seen
        seen |= {"low": numbers.low, "high": numbers.high, "median": numbers.median}
        if self.kind == "date":
            seen["midnight"] = self.midnight / numbers.count
        if self.zoned is not None:
            seen["zoned"] = self.zoned
        if self.kind == "number":
            edges = np.unique(numbers.quantiles(np.arange(1, 10) / 10))
            shares = binned(numbers.values, edges, numbers.counts) / numbers.count
            seen |= {"edges": edges.tolist(), "shares": shares.tolist()}
        return seen


def count_cells(column: Column, values: Any) -> CellCounts:
    """Count what the cells of a column, as its `read` returned them, are."""
    if column.kind == "category":
        there = values >= 0
        unseen = int((values == len(column.codes)).sum())  # type: ignore[attr-defined]
        return CellCounts(int((~there).sum()), unseen, int(there.sum()))
    if column.kind == "text":
        return CellCounts(values.null_count, *_other_texts(column, values))
    gaps = np.isnan(values)
    if column.kind != "date":
        return CellCounts(int(gaps.sum()), numbers=values[~gaps])
    days = values[~gaps] / DAY
    midnight = int((days == np.floor(days)).sum())
    return CellCounts(int(gaps.sum()), numbers=days, midnight=midnight)


def _other_texts(column: Any, values: Any) -> tuple[int, int]:
    """Return how many texts share no word with the training, and how many were looked at."""
    step = max(1, len(values) // _TEXTS)
    texts = [text for text in values[::step].to_pylist() if text] if len(values) else []
    if column.directions is None or not texts:
        return 0, 0
    found = column.directions(texts, column.analyzer)  # dense or CSR
    return int((abs(found).sum(axis=1) == 0).sum()), len(texts)


def binned(
    values: NDArray[np.float64], edges: Any, counts: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return how many values lie up to each edge, and beyond the last; each may count often."""
    places = np.searchsorted(np.asarray(edges), values, side="left")
    return np.bincount(places, counts, minlength=len(edges) + 1).astype(np.int64)


_MATTERS = 0.05  # share of the cells from which a difference is worth a line
_CHANCE = 1e-3  # probability below which a difference is not chance
_MOVED = 0.5  # share of the cells in other tenths of the training's values
_LEAST_ROWS = 30  # fewer rows say too little about medians, ranges and scores
_OTHER_SHARE = 0.1  # difference of the flagged shares that is worth a line
_SURELY = 4.0  # standard errors beyond which a difference of scores is not chance
_OTHER_MEAN = 0.5  # difference of the mean scores, in standard deviations of the training's


class DriftWatch:
    """Compares the rows of a table with those of the training, a batch at a time.

    Parameters
    ----------
    usual : UsualScores, optional
        What the scores were like in training; without it, scores are not watched.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.table.columns.numbers import Number
    >>> from nnpu.table.columns.drift import TrainingRows
    >>> cells = pa.array(np.arange(100.0))
    >>> column, rows = Number.fit("age", cells), TrainingRows(np.arange(100))
    >>> rows.add(column, column.read(cells))
    >>> column = Number.fit("age", cells).with_seen(rows.seen["age"])
    >>> watch = DriftWatch()
    >>> watch.add(column, column.read(pa.array(np.arange(100.0) * 60)))
    >>> watch.lines()
    ('age: 98 % of the values are outside 0 to 99, the range in training; median 2970, was 49.5',)
    """

    def __init__(self, usual: UsualScores | None = None) -> None:
        self._tallies: dict[str, _Tally] = {}
        self._usual = usual
        self._rows, self._flagged, self._total = 0, 0, 0.0

    def add(self, column: Column, reading: Reading) -> None:
        """Take the cells of a column, read."""
        if column.seen is None:  # a folder of an older version, or a matrix
            return
        tally = self._tallies.setdefault(column.name, _Tally(column))
        tally.add(reading.values, reading.unreadable, reading.example)
        tally.zoned = tally.zoned if reading.zoned is None else reading.zoned

    def merge(self, other: DriftWatch) -> None:
        """Take what another one knows of other rows."""
        for name, tally in other._tallies.items():
            self._tallies.setdefault(name, _Tally(tally.column)).merge(tally)
        self._rows += other._rows
        self._flagged += other._flagged
        self._total += other._total

    def add_scores(self, scores: NDArray[Any]) -> None:
        """Take the scores of some rows."""
        if self._usual is not None:
            self._rows += len(scores)
            self._flagged += int((scores > self._usual.threshold).sum())
            self._total += float(np.asarray(scores, dtype=np.float64).sum())

    def counts(self) -> dict[str, tuple[int, int | None]]:
        """Return how many cells of each column were missing, and how many were new or rare."""
        return {
            name: (tally.missing, tally.unseen if tally.column.is_category else None)
            for name, tally in self._tallies.items()
        }

    def lines(self) -> tuple[str, ...]:
        """Return a line for each column that differs, in order, then one for the scores."""
        found = ((name, tally.differences()) for name, tally in self._tallies.items())
        lines = [f"{name}: {'; '.join(said)}" for name, said in found if said]
        if self._usual is not None and self._rows >= _LEAST_ROWS:
            lines += self._usual.differences(self._rows, self._flagged, self._total / self._rows)
        return tuple(lines)


@dataclass(frozen=True)
class UsualScores:
    """What scores were like on rows that the model behind them was not fitted to.

    New rows may be like all rows of the training or like the unlabelled ones alone, so each
    figure is a range between the two.

    Parameters
    ----------
    rows : int
        How many rows there were.
    threshold : float
        Scores above it are flagged.
    flagged, mean : (float, float)
        The share of the rows that was flagged and the mean score.
    spread : float
        The standard deviation of the scores.

    Examples
    --------
    >>> usual = UsualScores.of(np.arange(100.0), np.arange(100) > 94, 70, "one-sample")
    >>> usual.flagged
    (0.25..., 0.29)
    >>> usual.differences(1_000, 20, 10.0)
    ['score: 2 % of the rows are flagged, 25 to 29 % in training; mean 10, was 47 to 49.5']
    """

    rows: int
    threshold: float
    flagged: tuple[float, float]
    mean: tuple[float, float]
    spread: float

    @classmethod
    def of(
        cls, scores: NDArray[Any], labelled: NDArray[np.bool_], threshold: float, sampling: str
    ) -> UsualScores:
        """Describe the scores of some rows; those of two samples by the unlabelled rows alone."""
        values = np.asarray(scores, dtype=np.float64)
        free = values[~labelled]
        samples = [free] if sampling == "two-sample" else [free, values]
        shares = sorted(float((sample > threshold).mean()) for sample in samples)
        means = sorted(float(sample.mean()) for sample in samples)
        return cls(
            rows=len(free),
            threshold=threshold,
            flagged=(shares[0], shares[-1]),
            mean=(means[0], means[-1]),
            spread=float(values.std()),
        )

    def differences(self, rows: int, flagged: int, mean: float) -> list[str]:
        """Return a line if the scores of new rows differ, and no line otherwise."""
        share, said = flagged / rows, []
        away = _distance(share, self.flagged)
        usual = float(np.clip(share, *self.flagged))
        noise = np.sqrt(max(usual * (1 - usual), 0.25 / self.rows) * (1 / rows + 1 / self.rows))
        if away >= _OTHER_SHARE and away > _SURELY * noise:
            ends = dict.fromkeys(f"{100 * end:.0f}" for end in self.flagged)
            said.append(
                f"{percent(flagged, rows)} of the rows are flagged, "
                f"{' to '.join(ends)} % in training"
            )
        noise = self.spread * np.sqrt(1 / rows + 1 / self.rows)
        away = _distance(mean, self.mean)
        if away >= _OTHER_MEAN * self.spread and away > _SURELY * noise:
            ends = dict.fromkeys(f"{end:.3g}" for end in self.mean)
            said.append(f"mean {mean:.3g}, was {' to '.join(ends)}")
        return [f"score: {'; '.join(said)}"] if said else []


def _distance(value: float, limits: tuple[float, float]) -> float:
    return float(abs(value - np.clip(value, *limits)))


def drift_sentence(lines: tuple[str, ...]) -> str:
    """Return the lines as one sentence for a warning."""
    return f"These rows differ from the training rows: {' | '.join(lines)}."


@dataclass
class _Tally:
    """Counts of the cells of a column."""

    column: Column
    rows: int = 0
    missing: int = 0
    unreadable: int = 0
    example: str = ""
    unseen: int = 0
    looked: int = 0  # cells that could be unseen
    outside: int = 0
    far: int = 0
    bins: Any = 0
    medians: list[float] = field(default_factory=list)
    midnight: int = 0
    zoned: bool | None = None

    def add(self, values: Any, unreadable: int, example: str) -> None:
        self.rows += len(values)
        self.unreadable += unreadable
        self.example = self.example or example
        counts = count_cells(self.column, values)
        self.missing += counts.missing
        self.looked += counts.looked
        self.unseen += counts.unseen
        self.midnight += counts.midnight
        if counts.numbers is not None and counts.numbers.size and self.column.seen is not None:
            self._add_numbers(counts.numbers, self.column.seen)

    def merge(self, other: _Tally) -> None:
        self.rows += other.rows
        self.unreadable += other.unreadable
        self.example = self.example or other.example
        self.missing += other.missing
        self.looked += other.looked
        self.unseen += other.unseen
        self.outside += other.outside
        self.far += other.far
        self.bins = self.bins + other.bins
        self.medians += other.medians

    def _add_numbers(self, there: NDArray[np.float64], seen: Mapping[str, Any]) -> None:
        if "low" not in seen:
            return
        low, high = seen["low"], seen["high"]
        span = high - low
        self.outside += int(((there < low) | (there > high)).sum())
        self.far += int(((there < low - span) | (there > high + span)).sum())
        self.medians.append(float(np.median(there)))
        if "edges" in seen:
            self.bins = self.bins + binned(there, seen["edges"])

    def differences(self) -> list[str]:
        """Return what differs and matters, a clause each."""
        seen = self.column.seen
        if seen is None or not self.rows:
            return []
        there = self.rows - self.missing
        usual = seen.get("missing", 0) / seen["rows"]
        said = []
        least = min(max(usual + 0.2, 1.5 * usual), 0.95) if usual else _MATTERS
        if _many(self.missing, self.rows, usual, seen["rows"], least):
            if there == 0:
                return [f"empty ({_usual(usual)} missing in training)"]
            share = percent(self.missing, self.rows)
            said.append(f"{share} of the cells are missing, {_usual(usual)} in training")
        if there == 0:
            return []
        if self.unreadable:
            cells = how_many(self.unreadable, "cell")
            said.append(f"{cells} cannot be read ({self.example})")
        said += self._new_values(seen) if self.looked else self._other_numbers(seen, there)
        return said

    def _new_values(self, seen: Mapping[str, Any]) -> list[str]:
        usual = seen.get("unseen", 0.0)
        if not _many(self.unseen, self.looked, usual, seen["rows"], usual + _MATTERS):
            return []
        share = "all" if self.unseen == self.looked else percent(self.unseen, self.looked)
        if self.column.kind == "text":
            return [f"{share} of the texts share no word with the training texts"]
        rare = f", {_usual(usual)} in training" if usual else ""
        return [f"{share} of the values are new or rare{rare}"]

    def _other_numbers(self, seen: Mapping[str, Any], there: int) -> list[str]:
        if "low" not in seen or not self.medians:
            return []
        dates, said = self.column.kind == "date", []
        outside = self.far if dates else self.outside
        share = _MATTERS if not self.far else 0.0
        if (self.far and self.far >= _MATTERS * there) or _many(
            outside, there, 2 / seen["rows"], seen["rows"], max(share, _MATTERS)
        ):
            ends = f"{_shown(seen['low'], dates)} to {_shown(seen['high'], dates)}"
            what = "dates are far" if dates else "values are"
            said.append(
                f"{percent(outside, there)} of the {what} outside {ends}, the range in training"
            )
        if "shares" in seen and there >= _LEAST_ROWS:
            moved = np.abs(self.bins / there - np.array(seen["shares"])).sum() / 2
            if moved >= _MOVED and not dates:
                now = float(np.median(self.medians))
                said.append(f"median {now:.4g}, was {seen['median']:.4g}")
        return said + self._other_times(seen, there)

    def _other_times(self, seen: Mapping[str, Any], there: int) -> list[str]:
        """Say that times of day are lost, or are those of another zone."""
        zoned, usual = seen.get("zoned"), seen.get("midnight")
        if usual is None or there < _LEAST_ROWS:
            return []
        if self.midnight == there and usual <= 1 - _MOVED:
            had = percent(round((1 - usual) * there), there)
            return [f"no cell has a time of day, {had} had one in training"]
        if None not in (zoned, self.zoned) and zoned != self.zoned:
            ways = "with a zone", "without one, which counts as UTC"
            now, was = ways if self.zoned else ways[::-1]
            return [f"times are written {now}; in training {was}"]
        return []


def _many(found: int, cells: int, usual: float, rows: int, least: float) -> bool:
    """Return whether so many cells matter and are not chance."""
    if found <= least * cells:
        return False
    from scipy.stats import binom

    expected = min(max(usual, 0.5 / rows), 1.0)
    return bool(binom.sf(found - 1, cells, expected) < _CHANCE)


def _usual(share: float) -> str:
    return "none" if share == 0 else percent(round(share * 10_000), 10_000)


def _shown(value: float, date: bool) -> str:
    if not date:
        return f"{value:.4g}"
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(value), "D"))
