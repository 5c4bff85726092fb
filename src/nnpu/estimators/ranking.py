"""Rows worth a person's look: the top of the ranking, those near the cut, doubted labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["RankedRow", "Ranking", "rank_rows"]

_LONGEST_NAME = 80


class RankedRow(NamedTuple):
    """A row by its name, and its score."""

    name: str
    score: float


class Ranking(NamedTuple):
    """Rows worth a look.

    Attributes
    ----------
    top : tuple of RankedRow
        Unlabelled rows with the highest scores, the highest first.
    near : tuple of RankedRow
        Unlabelled rows whose scores are nearest to the threshold, the highest first; none that is
        far from it.
    doubted : tuple of RankedRow
        Labelled rows below their threshold, the lowest first.
    """

    top: tuple[RankedRow, ...]
    near: tuple[RankedRow, ...]
    doubted: tuple[RankedRow, ...]

    def to_json(self) -> dict[str, list[list[Any]]]:
        """Return plain values."""
        return {name: [list(row) for row in rows] for name, rows in self._asdict().items()}


def rank_rows(
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    threshold: float,
    names: Sequence[Any] | NDArray[Any] | None = None,
    *,
    most: int = 10,
    close: NDArray[np.bool_] | None = None,
    of_labelled: float | None = None,
) -> Ranking:
    """Return the rows to look at first.

    Parameters
    ----------
    s, scores : ndarray of shape (n,)
        PU labels and scores.
    threshold : float
        A row is predicted positive if its score is greater.
    names : sequence of length n, optional
        What the rows are called; by default by their number, the first is 1.
    most : int
        How many of each.
    close : ndarray of shape (n,), optional
        Which rows are close enough to the threshold to be called near; by default all.
    of_labelled : float, optional
        The threshold of labelled rows, if it is another.

    Examples
    --------
    >>> s, scores = np.array([1, 1, 0, 0, 0]), np.array([2.0, -1.0, 3.0, 0.1, -2.0])
    >>> found = rank_rows(s, scores, 0.0, ["a", "b", "c", "d", "e"], most=1)
    >>> [row.name for part in found for row in part]
    ['c', 'd', 'b']
    """
    values = np.asarray(scores, dtype=np.float64)
    unlabelled, labelled = np.flatnonzero(s == 0), np.flatnonzero(s == 1)
    top = unlabelled[np.argsort(-values[unlabelled], kind="stable")[:most]]
    near = unlabelled if close is None else unlabelled[close[unlabelled]]
    near = near[np.argsort(np.abs(values[near] - threshold), kind="stable")[:most]]
    near = near[np.argsort(-values[near], kind="stable")]
    below = labelled[values[labelled] <= (threshold if of_labelled is None else of_labelled)]
    doubted = below[np.argsort(values[below], kind="stable")[:most]]

    def seen(rows: NDArray[np.intp]) -> tuple[RankedRow, ...]:
        return tuple(RankedRow(_name(names, int(row)), float(values[row])) for row in rows)

    return Ranking(seen(top), seen(near), seen(doubted))


def _name(names: Sequence[Any] | NDArray[Any] | None, row: int) -> str:
    if names is None:
        return f"row {row + 1:,}"
    text = str(names[row])
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
