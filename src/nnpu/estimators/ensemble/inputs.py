"""From what a user passes to the matrix that members take: numbers near zero, codes, NaN.

Every column of numbers is centred and scaled in float64 before it becomes float32, so that 1e8 + x
and timestamps in nanoseconds keep what tells rows apart. Words and categories of a frame become
codes by a list of the levels that were seen in `fit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from nnpu.data.vectors import as_array
from nnpu.parameters import InputError, ParameterError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "FAR",
    "Columns",
    "Levels",
    "check_matrix",
    "find_categories",
    "fit_columns",
    "levels_of",
    "usable",
]

FAR = 1e30  # a value farther out than this many times the spread counts as this far
_FAR_APART = 1e6  # a sparse column this many times the usual size is brought down to it
_ENOUGH = 100_000  # rows that the spread of a column is taken from
MOST_CODES = 1 << 16  # categories of a column that are told apart

#: The levels of each column of words, by the number of the column.
Levels = dict[int, list[Any]]


def usable(X: Any, owner: str) -> Any:
    """Return what a user passed as an array, a frame or a sparse matrix, if it can be numbers."""
    X = as_array(X)
    if type(X) is np.ndarray and X.dtype.kind in "biuf":
        return X
    from nnpu.estimators._kinds import as_numbers

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
    """Return the levels of every column of words of a frame; nothing for an array."""
    if not _is_frame(X):
        return {}
    from nnpu.estimators.ensemble.frame_codes import frame_levels

    return frame_levels(X)


def check_matrix(X: Any, levels: Levels, owner: str, n_dense: int = 0) -> Any:
    """Return a two-dimensional array of float64 or float32, or a CSR matrix; words are codes.

    NaN is allowed in an array, where it is a gap, and not among the entries of a sparse matrix but
    for its first `n_dense` columns. With such columns an array becomes a CSR matrix.
    """
    if _is_frame(X):
        from nnpu.estimators.ensemble.frame_codes import encode_frame

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
