"""Features of a kind that cannot be numbers as they are: said in one line, with what to do."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from nnpu.parameters import InputError

__all__ = ["as_numbers"]


def as_numbers(X: Any, *, missing: bool, owner: str, dates: bool = False) -> Any:
    """Return features as they are, or with NaN in place of what is masked.

    Parameters
    ----------
    X : array-like
        What a user passed as features.
    missing : bool
        Whether the classifier takes missing values.
    owner : str
        Its name, for messages.
    dates : bool
        Whether it takes frames with columns of dates.

    Raises
    ------
    InputError
        For masked cells that the classifier does not take, lazy frames, structured arrays, dates.

    Examples
    --------
    >>> as_numbers(np.ma.masked_equal([[1, 2]], 2), missing=True, owner="BoostedPU")
    array([[ 1., nan]])
    >>> as_numbers(np.array([["2024-01-03"]], dtype="M8[D]"), missing=True, owner="BoostedPU")
    Traceback (most recent call last):
    nnpu.parameters.InputError: X holds dates or times, which BoostedPU does not take. Turn them
    into numbers, or use nnpu.TablePU, which does.
    """
    if type(X).__name__ == "LazyFrame":
        raise InputError(f"{owner} takes frames in memory. Got a LazyFrame; pass X.collect().")
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "names", None):
        raise InputError(
            f"{owner} takes a matrix of numbers. Got a structured array; pass "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    name = _date_column(X)
    if name is not None and not (dates and hasattr(X, "columns")):
        raise InputError(
            f"{name} holds dates or times, which {owner} does not take. Turn them into numbers, or "
            "use nnpu.TablePU, which does."
        )
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    if not missing:
        row = np.argwhere(np.ma.getmaskarray(X))[0].tolist()
        raise InputError(
            f"X is a masked array, and {owner} takes no missing values: the cell {tuple(row)} is "
            "masked. Fill it, with X.filled(0) say, or leave out the row."
        )
    return np.where(np.ma.getmaskarray(X), np.nan, X.data.astype(np.float64))


def _date_column(X: Any) -> str | None:
    """Return what holds dates: X, or one of its columns."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        return "X"
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and len(X):
        for number, value in enumerate(X[0]):
            if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
                return f"Column {number}"
    columns = getattr(X, "columns", None)
    dtypes = getattr(X, "dtypes", None)
    if columns is None or dtypes is None or callable(dtypes):
        return None
    for column, kind in zip(columns, dtypes, strict=False):
        temporal = getattr(kind, "is_temporal", None)  # polars
        if temporal() if callable(temporal) else getattr(kind, "kind", "") in ("M", "m"):
            return f"Column {column!r}"
    return None
