"""Frames as numbers: columns of words become codes by the levels that were seen in `fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.estimators.ensemble.inputs import MOST_CODES, Levels
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["encode_frame", "frame_levels"]


def _words(X: Any) -> list[int]:
    """Return the columns of a frame that are not numbers."""
    numbers = ("int", "uint", "float", "bool", "decimal", "date", "duration", "timedelta")
    kinds = [str(kind).lower() for kind in X.dtypes]
    return [i for i, kind in enumerate(kinds) if not kind.startswith(numbers)]


def frame_levels(X: Any) -> Levels:
    """Return the levels of every column of words of a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_levels(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    {1: ['x', 'y']}
    """
    levels: Levels = {}
    for i in _words(X):
        seen = {_plain(value) for value in _column(X, i) if not _is_missing(value)}
        found = sorted(seen, key=lambda value: (type(value).__name__, value))
        if len(found) > MOST_CODES:
            raise InputError(
                f"The column {str(X.columns[i])!r} has {len(found):,} different values, more than "
                f"{MOST_CODES:,}: leave it out or make it numbers."
            )
        levels[i] = found
    return levels


def encode_frame(X: Any, levels: Levels) -> Any:
    """Return a frame as numbers, with codes in the columns of words.

    A word that was not seen in `fit` is missing.
    """
    columns = []
    for i in range(X.shape[1]):
        values = _column(X, i)
        if i in levels:
            codes = {level: code for code, level in enumerate(levels[i])}
            cells = [codes.get(_plain(v), np.nan) if not _is_missing(v) else np.nan for v in values]
            columns.append(np.array(cells, dtype=np.float64))
        else:
            columns.append(_numbers(values, X.columns[i]))
    return np.column_stack(columns) if columns else np.zeros((X.shape[0], 0))


def _column(X: Any, i: int) -> Any:
    name = X.columns[i]
    column = X.iloc[:, i] if hasattr(X, "iloc") else X[name]
    return column.to_numpy()


def _numbers(values: Any, name: Any) -> NDArray[np.float64]:
    if values.dtype.kind in "mM":  # times: counts of their unit
        return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))
    try:
        return np.array(
            [np.nan if _is_missing(v) else v for v in values] if values.dtype == object else values,
            dtype=np.float64,
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"The column {str(name)!r} cannot be read as numbers: {error}.") from error


def _plain(value: Any) -> Any:
    """Return a level as JSON can hold it: a truth value, a number or a text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str) else str(value)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN, NaT
    except TypeError:  # pandas.NA is neither
        return True
