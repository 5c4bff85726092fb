"""From columns with gaps and categories to the dense inputs that linear members and kernels take.

Every design is fitted to the features alone, never to labels, and is a handful of plain arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Dense", "Expansion", "fit_dense", "fit_expansion"]

_TAIL = 0.002  # of each end of a column is cut off: one value of 1e30 must not set the scale
_LEAST_SHARE = 1e-3  # of the rows that a category or a gap needs for a column of its own
_MOST_LEVELS = 50  # categories of one column that get one
_ENOUGH = 100_000  # rows that a design is fitted to
_MOST_PRODUCTS = 300  # columns of squares and products
_MOST_HINGES = 200  # columns of hinges, as far as two for each number allow


@dataclass(frozen=True, eq=False)
class Dense:
    """Numbers with gaps filled, a column for each kind of gap, one for each common category.

    Parameters
    ----------
    numeric : ndarray of shape (k,)
        The columns that are numbers.
    low, high, mean, scale : ndarray of shape (k,)
        Values are cut off at `low` and `high`, then centred and scaled; a gap becomes 0.
    flagged : ndarray of shape (m,)
        The columns (of any kind) whose gaps have a column of their own.
    level_column, level_code : ndarray of shape (l,)
        The categories that have a column of their own.
    """

    numeric: NDArray[np.int32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    flagged: NDArray[np.int32]
    level_column: NDArray[np.int32]
    level_code: NDArray[np.float32]

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.numeric) + len(self.flagged) + len(self.level_column)

    def transform(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the dense columns of some rows."""
        out = np.empty((len(x), self.size), dtype=np.float32)
        k, m = len(self.numeric), len(self.flagged)
        numbers = np.clip(x[:, self.numeric], self.low, self.high)
        numbers = (numbers - self.mean) / self.scale
        out[:, :k] = np.where(np.isnan(numbers), np.float32(0), numbers)
        out[:, k : k + m] = np.isnan(x[:, self.flagged])
        levels = out[:, k + m :]
        for column, first, last in _runs(self.level_column):
            levels[:, first:last] = x[:, column, None] == self.level_code[first:last]
        return out


def fit_dense(x: NDArray[np.float32], categories: NDArray[np.int32]) -> Dense:
    """Fit a `Dense` to rows of numbers and category codes, with NaN for what is missing.

    Examples
    --------
    >>> x = np.float32([[0, 1], [1, 1], [np.nan, 2], [2, 2]])
    >>> fit_dense(x, np.int32([1])).transform(x).shape
    (4, 4)
    """
    x = x[:: max(1, -(-len(x) // _ENOUGH))]
    gaps = np.isnan(x)
    numeric = np.setdiff1d(np.arange(x.shape[1]), categories).astype(np.int32)
    least = max(1.0, _LEAST_SHARE * len(x))
    flagged = np.flatnonzero(gaps.sum(axis=0) >= least).astype(np.int32)
    numeric = numeric[~gaps[:, numeric].all(axis=0)]
    low, high = _tails(x[:, numeric], gaps[:, numeric])
    clipped = np.clip(x[:, numeric].astype(np.float64), low, high)
    mean = np.nanmean(clipped, axis=0) if len(numeric) else np.zeros(0)
    scale = np.nanstd(clipped, axis=0) if len(numeric) else np.zeros(0)
    columns, codes = [], []
    for column in categories:
        values, counts = np.unique(x[~gaps[:, column], column], return_counts=True)
        kept = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
        kept = np.sort(kept[counts[kept] >= least])
        columns += [int(column)] * len(kept)
        codes += values[kept].tolist()
    return Dense(
        numeric,
        low,
        high,
        mean.astype(np.float32),
        np.where(scale > 0, scale, 1).astype(np.float32),
        flagged,
        np.array(columns, dtype=np.int32),
        np.array(codes, dtype=np.float32),
    )


def _tails(
    x: NDArray[np.float32], gaps: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    limits = np.empty((2, x.shape[1]), dtype=np.float32)
    for j in range(x.shape[1]):
        values = x[~gaps[:, j], j]
        limits[:, j] = np.quantile(values, [_TAIL, 1 - _TAIL], method="nearest")
        if limits[0, j] == limits[1, j]:  # a rare value is all that the column says
            limits[:, j] = values.min(), values.max()
    return limits[0], limits[1]


@dataclass(frozen=True, eq=False)
class Expansion:
    """Dense columns, hinges max(0, x − knot) and products of two columns, each standardised.

    Parameters
    ----------
    hinge_column, hinge_knot : ndarray of shape (h,)
    left, right : ndarray of shape (p,)
        The factors of each product; equal ones make a square.
    mean, scale : ndarray of shape (d + h + p,)
    """

    hinge_column: NDArray[np.int32]
    hinge_knot: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]

    def raw(self, dense: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the expanded columns before they are standardised."""
        hinges = np.maximum(dense[:, self.hinge_column] - self.hinge_knot, np.float32(0))
        products = dense[:, self.left] * dense[:, self.right]
        return np.concatenate([dense, hinges, products], axis=1)

    def transform(self, dense: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the expanded columns of some dense rows."""
        out = self.raw(dense)
        out -= self.mean
        out /= self.scale
        return out

    def dot(self, dense: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``transform(dense) @ weights`` without the expanded columns in between."""
        w = weights / self.scale
        d, h = dense.shape[1], len(self.hinge_column)
        x = dense.astype(np.float64)
        total: NDArray[np.float64] = x @ w[:d] - self.mean @ w
        for column, first, last in _runs(self.hinge_column):
            hinges = np.maximum(x[:, column, None] - self.hinge_knot[first:last], 0)
            total += hinges @ w[d + first : d + last]
        if np.array_equal(self.left, self.right):
            total += np.square(x[:, self.left]) @ w[d + h :]
        else:
            k = int(max(self.left.max(), self.right.max())) + 1
            form = np.zeros((k, k))
            np.add.at(form, (self.left, self.right), w[d + h :])
            total += np.einsum("ij,ij->i", x[:, :k] @ form, x[:, :k])
        return total


def _runs(columns: NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
    """Yield each column with the first and the last place of a run of it."""
    edges = np.flatnonzero(np.diff(columns, prepend=-1, append=-1)).tolist()
    for first, last in pairwise(edges):
        yield int(columns[first]), first, last


def fit_expansion(dense: NDArray[np.float32], n_numeric: int, *, kind: str) -> Expansion:
    """Fit an `Expansion` to dense rows of which the first `n_numeric` columns are numbers.

    Parameters
    ----------
    dense : ndarray of shape (n, d)
    n_numeric : int
    kind : {"plain", "products", "splines"}
        Nothing more; squares and products of numbers (squares alone where products would be too
        many); hinges at quantiles of each number, six of a column and fewer where columns are many.
    """
    columns: list[int] = []
    knots: list[float] = []
    left, right = np.zeros(0, np.int32), np.zeros(0, np.int32)
    if kind == "splines":
        n_knots = int(np.clip(_MOST_HINGES // max(n_numeric, 1), 2, 6))
        levels = np.linspace(0, 1, n_knots + 2)[:-1]
        for j in range(n_numeric):
            found = np.unique(np.quantile(dense[:, j], levels))
            inner = found[(found > dense[:, j].min()) & (found < dense[:, j].max())]
            columns += [j] * len(inner)
            knots += inner.tolist()
    elif kind == "products":
        left, right = (part.astype(np.int32) for part in np.triu_indices(n_numeric))
        if len(left) > _MOST_PRODUCTS:
            left = right = np.arange(n_numeric, dtype=np.int32)
    unit = Expansion(
        np.array(columns, dtype=np.int32),
        np.array(knots, dtype=np.float32),
        left,
        right,
        np.zeros(1, np.float32),
        np.ones(1, np.float32),
    )
    raw: NDArray[Any] = unit.raw(dense).astype(np.float64)
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    return Expansion(
        unit.hinge_column,
        unit.hinge_knot,
        left,
        right,
        mean.astype(np.float32),
        np.where(scale > 1e-6, scale, 1).astype(np.float32),
    )
