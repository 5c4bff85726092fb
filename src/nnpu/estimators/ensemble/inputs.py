"""From what a user passes to what members take: numbers near zero, codes, NaN; dense designs.

Every column of numbers is centred and scaled in float64 before it becomes float32, so 1e8 + x
and timestamps in nanoseconds keep what tells rows apart. Words and categories of a frame become
codes as in a table (`nnpu.data.cells`). Linear members and kernels take dense designs
without gaps, which are fitted to the features alone, never to labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from nnpu.data.cells import (
    as_text,
    by_frequency,
    check_type,
    codes_of,
    counted,
    frame_columns,
    is_string,
)
from nnpu.data.vectors import as_array, mean_and_scale
from nnpu.estimators.features import as_numbers
from nnpu.parameters import InputError, ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "FAR",
    "Columns",
    "Dense",
    "Expansion",
    "Levels",
    "check_matrix",
    "encode_frame",
    "find_categories",
    "fit_columns",
    "fit_dense",
    "fit_expansion",
    "levels_of",
    "usable",
]


FAR = 1e30  # a value farther out than this many times the spread counts as this far
_FAR_APART = 1e6  # a sparse column this many times the usual size is brought down to it
_ENOUGH = 100_000  # rows that the spread of a column is taken from
MOST_CODES = 1 << 16  # different categories of a column, at most

#: The categories of each column of words, by the number of the column.
Levels = dict[int, list[str]]


def usable(X: Any, owner: str) -> Any:
    """Return what a user passed as an array, a frame or a sparse matrix, if it can be numbers."""
    X = as_array(X)
    if type(X) is np.ndarray and X.dtype.kind in "biuf":
        return X
    return as_numbers(X, missing=True, dates=True, owner=owner)


def find_categories(
    categories: Any, levels: Levels, n_features: int, owner: str
) -> tuple[int, ...]:
    """Return the columns of codes: those of words, and those that the user named."""
    if isinstance(categories, str) and categories == "auto":
        return tuple(sorted(levels))
    fault = ParameterError(
        f"The 'categories' parameter of {owner} must be 'auto' or a list of column numbers in the "
        f"range [0, {n_features}). Got {shown(categories)} instead."
    )
    if isinstance(categories, str):
        raise fault
    try:
        found = [int(i) for i in np.asarray(list(categories), dtype=object)]
        exact = all(a == b for a, b in zip(found, categories, strict=True))
    except (TypeError, ValueError) as error:
        raise fault from error
    if not exact or any(not 0 <= i < n_features for i in found):
        raise fault
    return tuple(sorted({*found, *levels}))


@dataclass(frozen=True, eq=False)
class Columns:
    """How numbers become small: (x − centre) / spread, and codes stay codes.

    Parameters
    ----------
    centre, spread : ndarray of shape (n_features,)
        0 and 1 for codes; `centre` is 0 for sparse data, whose zeros must stay zeros.
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    def transform(self, X: Any) -> Any:
        """Return float32 rows, in memory: dense with NaN, or CSR."""
        if sp.issparse(X):
            scaled = sp.csr_array(X, dtype=np.float64, copy=True)
            scaled.sum_duplicates()
            scaled.data /= self.spread[scaled.indices]
            np.clip(scaled.data, -FAR, FAR, out=scaled.data)
            return scaled.astype(np.float32)
        out = np.empty(X.shape, dtype=np.float32)
        for start in range(0, len(X), 1 << 16):  # a block at a time: no copy in float64
            block = (
                np.asarray(X[start : start + (1 << 16)], np.float64) - self.centre
            ) / self.spread
            out[start : start + (1 << 16)] = np.clip(block, -FAR, FAR)
        return out

    def parts(self, X: Any, n_dense: int) -> tuple[Any, Any]:
        """Return the rows, and the words beside them if a CSR matrix begins with dense columns."""
        if not (sp.issparse(X) and n_dense):
            return self.transform(X), None
        first = Columns(self.centre[:n_dense], self.spread[:n_dense])
        rest = Columns(self.centre[n_dense:], self.spread[n_dense:])
        return first.transform(X[:, :n_dense].toarray()), rest.transform(X[:, n_dense:])


def fit_columns(X: Any, categories: tuple[int, ...], owner: str, n_dense: int = 0) -> Columns:
    """Take centre and spread (the distance of the quartiles) from at most 100,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> x = 1e8 + np.array([[0.0], [1.0], [2.0], [np.nan]])
    >>> fit_columns(x, (), "EnsemblePU").transform(x).ravel()
    array([-0.5,  0. ,  0.5,  nan], dtype=float32)
    """
    if sp.issparse(X) and n_dense:
        found = fit_columns(X[:, :n_dense].toarray(), categories, owner)
        words = sp.csr_array(X[:, n_dense:], dtype=np.float64)
        length = float(np.sqrt(words.multiply(words).sum() / X.shape[0])) or 1.0
        spread = np.append(found.spread, np.full(words.shape[1], length))
        return Columns(np.append(found.centre, np.zeros(words.shape[1])), spread)
    n, d = X.shape
    centre, spread = np.zeros(d), np.ones(d)
    if sp.issparse(X):
        squares = sp.csr_array(X, dtype=np.float64)
        size = np.sqrt(np.asarray((squares * squares).mean(axis=0)).ravel())
        used = (size > 0) & np.isfinite(size)
        # One spread for all: the weights of TF-IDF stay. Columns of quite another size get theirs.
        one = float(np.median(size[used])) if used.any() else 1.0
        return Columns(centre, np.where(used, np.maximum(one, size / _FAR_APART), one))
    rows = X[:: -(-n // _ENOUGH)]
    for j in range(d):
        column = np.asarray(rows[:, j], dtype=np.float64)
        column = column[~np.isnan(column)]
        if j in categories:
            _check_codes(column, j, owner)
        elif column.size:
            centre[j], spread[j] = _centre_and_spread(column)
    return Columns(centre, spread)


def _centre_and_spread(column: NDArray[np.float64]) -> tuple[float, float]:
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75], method="nearest")
    with np.errstate(over="ignore"):
        spread = high - low
        if spread == 0:  # more than half of the values are equal
            away = np.abs(column[column != middle] - middle)
            spread = np.median(away) if away.size else 1.0
    usable = np.isfinite(spread) and spread > 0
    return float(middle), float(spread) if usable else max(abs(float(middle)), 1.0)


def _check_codes(column: NDArray[np.float64], j: int, owner: str) -> None:
    if np.any(column != np.floor(column)) or np.any(column < 0) or np.any(column >= MOST_CODES):
        raise InputError(
            f"{owner}: the category column {j} must hold whole numbers from 0 to {MOST_CODES - 1} "
            "(or NaN where the category is missing)."
        )


def levels_of(X: Any) -> Levels:
    """Return the categories of every column of words of a frame, the most frequent first.

    There are none in an array.

    Examples
    --------
    >>> import pandas as pd
    >>> levels_of(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "y"]}))
    {1: ['y', 'x']}
    """
    levels: Levels = {}
    for i, (name, cells) in enumerate(frame_columns(X).items() if _is_frame(X) else ()):
        check_type(name, cells.type)
        if not _are_words(cells.type):
            continue
        found, places = counted(as_text(cells))
        if len(found) > MOST_CODES:
            raise InputError(
                f"The column {name!r} has {len(found):,} different values, more than "
                f"{MOST_CODES:,}: exclude it or turn it into numbers."
            )
        values = found.to_pylist()
        counts = np.bincount(places[places >= 0], minlength=len(values))
        levels[i] = [values[place] for place in by_frequency(values, counts)]
    return levels


def encode_frame(X: Any, levels: Levels) -> NDArray[np.float64]:
    """Return a frame as numbers, with codes in the columns of words.

    A word that is not among the levels is missing.
    """
    matrix = np.empty(X.shape)
    for i, (name, cells) in enumerate(frame_columns(X).items()):
        check_type(name, cells.type)
        if i in levels:
            codes = codes_of(cells, levels[i])
            matrix[:, i] = np.where((codes < 0) | (codes == len(levels[i])), np.nan, codes)
        else:
            matrix[:, i] = _numbers(cells, name)
    return matrix


def _are_words(kind: Any) -> bool:
    import pyarrow as pa

    return bool(is_string(kind) or pa.types.is_dictionary(kind))


def _numbers(cells: Any, name: str) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        if pa.types.is_temporal(cells.type):  # dates, times and durations: counts of their unit
            unit = pa.int64() if cells.type.bit_width == 64 else pa.int32()
            cells = cells.cast(unit)
        numbers = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"The column {name!r} cannot be read as numbers: {error}.") from error
    return np.asarray(numbers, dtype=np.float64)


def check_matrix(X: Any, levels: Levels, owner: str, n_dense: int = 0) -> Any:
    """Return a two-dimensional array of float64 or float32, or a CSR matrix; words are codes.

    NaN is allowed in an array, where it is a gap, and not among the entries of a sparse matrix but
    for its first `n_dense` columns. With such columns an array becomes a CSR matrix.
    """
    if _is_frame(X):
        X = encode_frame(X, levels)
    gaps = bool(n_dense) or not sp.issparse(X)
    with np.errstate(invalid="ignore"):  # ∞ − ∞, of which it then says what is wrong
        matrix = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if gaps else True,
            estimator=owner,
            input_name="X",
        )
    if not n_dense:
        return matrix
    matrix = sp.csr_array(matrix)
    if matrix.shape[1] < n_dense:
        raise ParameterError(
            f"The 'n_dense' parameter of {owner} must be at most the number of columns, "
            f"{matrix.shape[1]}. Got {n_dense} instead."
        )
    if np.isnan(matrix.data[matrix.indices >= n_dense]).any():
        raise InputError(f"{owner}: X has NaN beyond the first {n_dense} columns (n_dense).")
    return matrix


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


_TAIL = 0.002  # of each end of a column is cut off: one value of 1e30 must not set the scale
_LEAST_SHARE = 1e-3  # of the rows that a category or a gap needs for a column of its own
_MOST_LEVELS = 50  # categories of one column that get one
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
    mean, scale = mean_and_scale(clipped)
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
        scale.astype(np.float32),
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
    mean, scale = mean_and_scale(raw, least=1e-6)
    return Expansion(
        unit.hinge_column,
        unit.hinge_knot,
        left,
        right,
        mean.astype(np.float32),
        scale.astype(np.float32),
    )
