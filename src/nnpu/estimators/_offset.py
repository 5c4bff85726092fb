"""Columns whose values are large and close together, such as time stamps, in float32.

Features are computed with as float32, which holds seven digits: 100,000,000.5 and 100,000,001 are
the same number there. Such columns are centred in float64 first; the others stay as they are.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "centred",
    "check_dense",
    "find_offset",
    "offset_from_json",
    "offset_to_json",
    "warn_of_lost_digits",
]

_SAMPLE = 10_000  # rows that are looked at
_LOST = 1e-4  # of a column's spread that the rounding to float32 may take


def find_offset(X: Any) -> Floats | None:
    """Return what to subtract from each column, mostly 0; None if no column needs it.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Numbers, NaN among them where they are missing.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 101)
    >>> find_offset(np.c_[x, 1e8 + x])
    array([0.e+00, 1.e+08])
    >>> find_offset(np.c_[x, x])
    """
    if X.ndim != 2 or X.dtype.itemsize < 8 or not X.size:
        return None  # float32 holds what has at most four bytes, or loses it before it comes here
    some = X[:: max(1, len(X) // _SAMPLE)].astype(np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value
        error = np.nanmedian(np.abs(some - some.astype(np.float32)), axis=0)
        low, middle, high = np.nanquantile(some, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, np.nanstd(some, axis=0))
        constant = np.nanmin(some, axis=0) == np.nanmax(some, axis=0)
        lost = ~constant & (error > _LOST * spread) & np.isfinite(middle)
    return np.where(lost, middle, 0.0) if lost.any() else None


def centred(X: Any, offset: Floats | None) -> NDArray[np.float32]:
    """Return X minus the offset, as float32 in the order of rows."""
    if offset is not None:
        X = X - offset
    return np.asarray(X, dtype=np.float32, order="C")


def check_dense(X: Any, offset: Floats | None, owner: str) -> None:
    """Raise `InputError` for features that cannot be centred as those of fit were."""
    if offset is not None and (sparse.issparse(X) or not isinstance(X, np.ndarray)):
        raise InputError(
            f"This {owner} was fitted to columns that float32 cannot hold (column "
            f"{np.flatnonzero(offset)[0]} has values around {offset[offset != 0][0]:.10g}) and "
            "centres them, which takes a dense array. Pass X.toarray() or an array in memory."
        )


def warn_of_lost_digits(X: Any, reason: str) -> None:
    """Warn if float32 loses what tells rows apart, where columns are not centred for a reason."""
    offset = None if sparse.issparse(X) else find_offset(X)
    if offset is not None:
        column = int(np.flatnonzero(offset)[0])
        warnings.warn(
            f"Column {column} has values around {offset[column]:.10g}, too close together for "
            f"float32, and {reason}. Subtract a number near them first.",
            UserWarning,
            stacklevel=6,
        )


def offset_to_json(offset: Floats | None) -> dict[str, list[Any]] | None:
    """Return an offset as plain values: the columns that have one, and their numbers.

    >>> offset_to_json(np.array([0.0, 1e8]))
    {'columns': [1], 'values': [100000000.0]}
    """
    if offset is None:
        return None
    columns = np.flatnonzero(offset)
    return {"columns": columns.tolist(), "values": offset[columns].tolist()}


def offset_from_json(stored: Any, n_features: int) -> Floats | None:
    """Return the offset that `offset_to_json` gave; raise a ValueError for anything else."""
    if stored is None:
        return None
    columns, values = stored["columns"], stored["values"]
    fits = (
        isinstance(columns, list)
        and isinstance(values, list)
        and 0 < len(columns) == len(values)
        and all(type(column) is int and 0 <= column < n_features for column in columns)
        and all(type(value) is float and np.isfinite(value) for value in values)
    )
    if not fits:
        raise ValueError("the offsets of the columns are not one number for each of some columns")
    offset = np.zeros(n_features)
    offset[columns] = values
    return offset
