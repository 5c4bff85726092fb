"""Columns that name customers or patients with several rows each: to be grouped, not learned.

A model that sees such a column, or whose rows stand on both sides of a split, learns by heart
which customers are labelled, and fails with the next customer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.data.cells import as_text, counted, is_plain, is_temporal
from nnpu.data.folds import equal_rows
from nnpu.table.columns.column_kinds import fit_column, is_id, is_named_like_an_id

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch

__all__ = ["RepeatedId", "repeated_ids", "repeats_like_an_id", "without_copies"]

_FEWEST = 20  # values; a column such as site_id with five sites is a feature
_SHARED = 0.5  # correlation of the label status within a value: far beyond what a feature reaches
_LEAST_ROWS = 100  # rows that share their value with another one, below which chance may do it
_LEAST_LABELLED = 20  # of these
_ENOUGH = 20_000  # distinct rows that tell how many twins are chance
_BY_CHANCE = 0.01  # twins of a row, below which equal rows are copies


class RepeatedId(NamedTuple):
    """A column that names what several rows have in common.

    Attributes
    ----------
    name : str
        The column.
    values, rows : int
        How many values it has, and in how many rows.
    shared : float
        How far rows of one value share their label status: 0 by chance, 1 all of them.
    groups : ndarray of int
        A number for each row, equal for equal values; rows without a value stand alone.
    """

    name: str
    values: int
    rows: int
    shared: float
    groups: NDArray[np.intp]

    def line(self, together: bool) -> str:
        """Say what is done with the column, and how to keep it."""
        about = round(self.rows / self.values)
        each = f"{self.values:,} values with about {about:,} rows each"
        if about < 2:
            each = f"{self.values:,} values in {self.rows:,} rows"
        what = "; its rows stay together (as with --groups)" if together else ""
        return (
            f"Repeated id: {self.name} ({each}) is not a feature{what}. To use it: --keep "
            f"{self.name}."
        )


def repeated_ids(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None] = ()
) -> list[RepeatedId]:
    """Return the columns that are repeated ids, the one to group by first.

    Such a column has at least 20 values, of few rows each (more values than the square root of the
    rows), and is named like an id, or its rows share their label status far beyond chance; if
    both hold, the values may have many rows. Equal rows count once. A number whose neighbouring
    values share the status as well is a feature, and so is what follows from an id, such as the
    income of a customer.

    Parameters
    ----------
    batch : Batch
        The rows.
    codes : ndarray of shape (n,)
        Their PU labels.
    exempt : collection of str
        Columns that are not looked at.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.data.streams import Batch
    >>> who, x = np.repeat(np.arange(50), 4), np.arange(200) % 4
    >>> batch = Batch({"customer_id": pa.array(who), "x": pa.array(x)}, {}, 200, 0, "t.csv")
    >>> [found.name for found in repeated_ids(batch, (who < 20).astype(np.int8))]
    ['customer_id']
    """
    named, others = [], []
    distinct: NDArray[np.intp] | None = None
    for name, cells in batch.columns.items():
        if name in exempt or not is_plain(cells.type) or is_temporal(cells.type):
            continue
        if _has_fractions(cells):  # measured; and slow to write as text
            continue
        values, places = counted(as_text(cells))
        there = int((places >= 0).sum())
        if not _FEWEST <= len(values) < there:
            continue
        by_name, few = is_named_like_an_id(name), _repeat_a_few_times(len(values), there)
        shared = _shared(places, codes)
        if shared >= _SHARED:
            distinct = _distinct_rows(batch) if distinct is None else distinct
            shared = _shared(places[distinct], codes[distinct])
        alike = shared >= _SHARED
        if not ((by_name or alike) and few) and not (by_name and alike):
            continue
        found = RepeatedId(name, len(values), there, shared, _alone(places))
        if by_name:
            named.append(found)
        elif not _is_ordered(batch, name, codes):
            others.append(found)
    ids = sorted(named, key=lambda one: (-round(one.shared, 2), one.values))
    for one in sorted(others, key=lambda one: (one.values, -one.shared)):
        if not any(_follows(one.groups, known.groups) for known in ids):
            ids.append(one)
    return sorted(ids, key=lambda one: -round(one.shared, 2))


def repeats_like_an_id(name: str, values: int, rows: int) -> bool:
    """Return whether a column is a repeated id by its name and the number of its values.

    Examples
    --------
    >>> repeats_like_an_id("customer_id", 300, 1000), repeats_like_an_id("site_id", 5, 1000)
    (True, False)
    """
    there = _FEWEST <= values < rows
    return there and is_named_like_an_id(name) and _repeat_a_few_times(values, rows)


def _repeat_a_few_times(values: int, rows: int) -> bool:
    """Return whether there are at least as many values as rows of each."""
    return values**2 >= rows


def _has_fractions(cells: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(cells.type):
        return False
    values = pc.drop_null(cells).to_numpy(zero_copy_only=False)
    values = values[np.isfinite(values)]
    return bool((values != np.floor(values)).any())


def _alone(places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places, with a number of its own for each row without a value."""
    return np.where(places >= 0, places, places.max() + 1 + np.arange(len(places)))


def _shared(places: NDArray[np.intp], codes: NDArray[np.int8]) -> float:
    """Return how far the rows of a value share their label status, as a correlation.

    Of the other rows of a labelled row's value a share a is labelled, of all rows p: (a − p)/(1 −
    p). 0 if there are too few rows to tell.
    """
    used = (places >= 0) & (codes >= 0)
    places, labelled = places[used], codes[used] == 1
    if not places.size:
        return 0.0
    rows = np.bincount(places)
    of_p = np.bincount(places, labelled)
    several = rows > 1
    n, n_p = rows[several].sum(), of_p[several].sum()
    if n < _LEAST_ROWS or n_p < _LEAST_LABELLED or n - n_p < _LEAST_LABELLED:
        return 0.0
    pairs = (of_p * (rows - 1))[several].sum()
    both = (of_p * (of_p - 1))[several].sum()
    p = n_p / n
    return float((both / pairs - p) / (1 - p))


def _distinct_rows(batch: Batch) -> NDArray[np.intp]:
    """Return the first of each set of equal rows; a unique id makes no difference."""
    columns = [
        counted(as_text(cells))[1]
        for name, cells in batch.columns.items()
        if is_plain(cells.type) and not is_id(name, cells)
    ]
    same = equal_rows(np.column_stack(columns))
    return np.arange(batch.n_rows) if same is None else np.unique(same, return_index=True)[1]


def without_copies(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None]
) -> NDArray[np.intp]:
    """Return the first of each set of rows that are equal in cells and label; all where by chance.

    Chance makes rows equal in a table of a few categories. How often is known from the rows that
    agree in all columns but one: fewer than one row of a hundred may have a twin by chance.

    Parameters
    ----------
    batch, codes
        The rows and their PU labels.
    exempt : collection of str
        Columns that are not compared. A unique id never is.
    """
    everything = np.arange(batch.n_rows)
    columns: list[NDArray[np.intp]] = []  # the same numbers for cells that are equal
    for name, cells in batch.columns.items():
        if name in exempt:
            continue
        if not is_plain(cells.type):
            return everything
        if not is_id(name, cells):
            places = cells.dictionary_encode().indices.cast("int64").fill_null(-1)
            columns.append(places.to_numpy(zero_copy_only=False))
    for matrix in batch.matrices.values():
        numbers = isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf"
        if not numbers or matrix.ndim != 2:
            return everything
        columns += [np.unique(column, return_inverse=True)[1] for column in matrix.T]
    same = equal_rows(np.column_stack([*columns, codes])) if columns else None
    if same is None:
        return everything
    once = np.sort(np.unique(same, return_index=True)[1])
    return (
        once if _twins_by_chance([column[once] for column in columns]) < _BY_CHANCE else everything
    )


def _twins_by_chance(columns: list[NDArray[np.intp]]) -> float:
    """Return how many twins a row of distinct ones would have in as many further rows.

    Two rows that agree in all columns but one would agree in that one too as often as any two rows
    do, at the least. A column that another one follows from, and the other way round, is no
    further column.
    """
    n = len(columns[0])
    some = np.linspace(0, n - 1, min(n, _ENOUGH)).astype(np.intp)
    firsts = [np.unique(c[some], return_index=True, return_inverse=True)[1:] for c in columns]
    patterns = {first[places].tobytes(): places for first, places in firsts}
    laws = np.random.default_rng(0).integers(1, 1 << 63, (len(patterns), n), dtype=np.uint64)
    parts = [law[places] for law, places in zip(laws, patterns.values(), strict=True)]
    total = sum(parts[1:], parts[0])
    most = 0.0
    for part, places in zip(parts, patterns.values(), strict=True):
        agree = _pairs(places) / max(_pairs(np.zeros(len(some), np.intp)), 1.0)
        alike = _pairs(np.unique(total - part, return_inverse=True)[1])
        most = max(most, alike * agree)
    return 2 * most / len(some) * n / len(some)


def _pairs(places: NDArray[np.intp]) -> float:
    """Return how many pairs of rows are equal."""
    rows = np.bincount(places)
    return float((rows * (rows - 1.0)).sum()) / 2


def _is_ordered(batch: Batch, name: str, codes: NDArray[np.int8]) -> bool:
    """Return whether a column is a date, or a number whose neighbours share the label status."""
    column: Any = fit_column(name, batch.columns[name], np.arange(batch.n_rows), batch.decimal)
    if column.kind == "category":
        return False
    if column.kind != "number":
        return bool(column.kind in ("date", "boolean"))
    numbers = column.read(batch.columns[name], decimal=batch.decimal).values
    there = ~np.isnan(numbers)
    if (numbers[there] % 1 != 0).any():  # of a text file
        return True
    _, places = np.unique(numbers[there], return_inverse=True)
    status = np.bincount(places, codes[there] == 1) / np.bincount(places)
    return bool(np.corrcoef(status[:-1], status[1:])[0, 1] >= _SHARED / 2)


def _follows(places: NDArray[np.intp], known: NDArray[np.intp]) -> bool:
    """Return whether rows that are equal in `known` are equal in `places` as well."""
    pairs = np.unique(np.column_stack([known, places]), axis=0)
    return len(pairs) == len(np.unique(known))
