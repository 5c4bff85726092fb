"""What the training rows held, column by column: stored, so that other data can be noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.table.columns.column import DAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.table.columns.column import Column, Reading

__all__ = ["TrainingRows", "binned", "count_cells"]

_TEXTS = 200  # texts of a batch that are looked at


class CellCounts(NamedTuple):
    """What some cells of a column are.

    Attributes
    ----------
    missing, unseen, looked : int
        Gaps; values that are new or rare; and how many cells could have been.
    numbers : ndarray or None
        The numbers among them, days for dates.
    """

    missing: int
    unseen: int = 0
    looked: int = 0
    numbers: NDArray[np.float64] | None = None


class TrainingRows:
    """Notes what the training rows hold while their features are made.

    Parameters
    ----------
    rows : ndarray of int
        The training rows.
    """

    def __init__(self, rows: NDArray[np.intp]) -> None:
        self.rows = rows
        self.seen: dict[str, dict[str, Any]] = {}

    def add(self, column: Column, reading: Reading) -> None:
        """Take the cells of a column, read."""
        if column.kind == "matrix":
            return
        values = reading.values
        part = values.take(self.rows) if hasattr(values, "take") else values[self.rows]
        counts = count_cells(column, part)
        seen: dict[str, Any] = {"rows": len(part), "missing": counts.missing}
        if counts.looked:
            seen["unseen"] = counts.unseen / counts.looked
        numbers = counts.numbers
        if numbers is not None and numbers.size and column.kind in ("number", "date"):
            seen |= {"low": float(numbers.min()), "high": float(numbers.max())}
            seen["median"] = float(np.median(numbers))
            if column.kind == "number":
                edges = np.unique(np.quantile(numbers, np.arange(1, 10) / 10))
                shares = binned(numbers, edges) / numbers.size
                seen |= {"edges": edges.tolist(), "shares": shares.tolist()}
        self.seen[column.name] = seen


def count_cells(column: Column, values: Any) -> CellCounts:
    """Count what the cells of a column, as its `read` returned them, are."""
    if column.kind == "category":
        there = values >= 0
        unseen = int((values == len(column.codes)).sum())  # type: ignore[attr-defined]
        return CellCounts(int((~there).sum()), unseen, int(there.sum()))
    if column.kind == "text":
        return CellCounts(values.null_count, *_other_texts(column, values))
    gaps = np.isnan(values)
    unit = DAY if column.kind == "date" else 1
    return CellCounts(int(gaps.sum()), numbers=values[~gaps] / unit)


def _other_texts(column: Any, values: Any) -> tuple[int, int]:
    """Return how many texts share no word with the training, and how many were looked at."""
    step = max(1, len(values) // _TEXTS)
    texts = [text for text in values[::step].to_pylist() if text] if len(values) else []
    if column.directions is None or not texts:
        return 0, 0
    found = column.directions(texts, column.analyzer)  # dense or CSR
    return int((abs(found).sum(axis=1) == 0).sum()), len(texts)


def binned(values: NDArray[np.float64], edges: Any) -> NDArray[np.int64]:
    """Return how many values lie up to each edge, and beyond the last."""
    places = np.searchsorted(np.asarray(edges), values, side="left")
    return np.bincount(places, minlength=len(edges) + 1)
