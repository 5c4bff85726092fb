"""Which rows are set aside to judge a model: at random, by groups, or the latest ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.folds import PUStratifiedKFold
from nnpu.parameters import InputError
from nnpu.table.columns.guess import fit_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LEAST_LABELLED", "as_time", "set_aside"]

#: With fewer labelled rows than this, none is set aside: they would judge nothing.
LEAST_LABELLED = 10


def set_aside(
    s: NDArray[np.int8],
    share: float,
    seed: int,
    *,
    groups: Any = None,
    time: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Return which rows are set aside.

    Parameters
    ----------
    s : ndarray of shape (n,)
        PU labels.
    share : float
        The share of the rows; 0 sets none aside.
    seed : int
        Decides which, unless `time` does.
    groups : array-like of shape (n,), optional
        Rows of one group stay together.
    time : ndarray of shape (n,), optional
        The latest rows are set aside.

    Examples
    --------
    >>> set_aside(np.array([1, 0] * 20), 0.2, 0).sum()
    np.int64(8)
    >>> set_aside(np.array([1, 0] * 20), 0.2, 0, time=np.arange(40.0)).nonzero()[0]
    array([32, 33, 34, 35, 36, 37, 38, 39])
    """
    nothing = np.zeros(len(s), dtype=bool)
    if share == 0 or int((s == 1).sum()) < LEAST_LABELLED:
        return nothing
    if time is not None:
        chosen = time > np.quantile(time, 1 - share)
    else:
        folds = PUStratifiedKFold(max(2, round(1 / share)), random_state=seed)
        chosen = folds.assign(s == 1, groups) == 0
    for kept in (s[chosen], s[~chosen]):
        if not (kept == 1).any() or not (kept == 0).any():
            how = "time" if time is not None else "groups"
            raise InputError(
                f"The rows cannot be split by '{how}': one part has no labelled or no unlabelled "
                "row. Split by another column, or at random."
            )
    return chosen


def as_time(cells: Any, name: str) -> NDArray[np.float64]:
    """Return the cells of a column of numbers or dates as numbers that order the rows."""
    column = fit_column(name, cells, np.arange(len(cells)))
    if column.kind not in ("number", "date"):
        raise InputError(f"Column {name!r} cannot order the rows: it holds no numbers or dates.")
    time: NDArray[np.float64] = column.read(cells).values
    if np.isnan(time).any():
        raise InputError(f"Column {name!r} cannot order the rows: some cells are empty.")
    return time
