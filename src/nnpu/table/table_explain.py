"""Which columns of a table matter, and which of them put a row where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.estimators.explain import contributions, importance
from nnpu.table.named_models import takes_raw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.table.table_pu import TablePU

__all__ = ["Explained", "RowReasons", "explain_aside", "explain_rows"]

_ROWS = 500  # that importance is estimated from
_MOST_FEATURES = 200  # beyond which the cost is not worth it
_NAMED = 3  # columns that are named for a row


class Explained(NamedTuple):
    """What the rows that were set aside say about the columns.

    Attributes
    ----------
    importance : tuple of (name, value, low, high)
        What the estimated AUC loses if a column is shuffled, with a 90 % interval.
    why : dict of str to str
        For the rows to look at first, by name, the columns that moved their scores most.
    """

    importance: tuple[tuple[str, float, float, float], ...] = ()
    why: dict[str, str] = {}  # noqa: RUF012 - never changed


class RowReasons(NamedTuple):
    """What each column of the table adds to the score of each row."""

    base: float
    names: list[str]
    values: NDArray[np.float64]  # (n, n_columns)


def explain_rows(model: TablePU, features: Any, background: Any) -> RowReasons:
    """Divide the scores of rows among the columns of their table.

    Parameters
    ----------
    model : TablePU
        Fitted.
    features, background
        The rows, and those that they are compared with, as the classifier takes them.
    """
    found = contributions(model.classifier_, features, background=background)
    groups = _groups(model)
    values = np.stack([found.values[:, columns].sum(axis=1) for columns in groups.values()], axis=1)
    return RowReasons(found.base, list(groups), values)


def explain_aside(
    model: TablePU, features: Any, codes: NDArray[np.int8], names: NDArray[Any]
) -> Explained:
    """Explain the model by rows that it was not fitted to; nothing if it cannot be.

    Parameters
    ----------
    model : TablePU
        Fitted and judged.
    features, codes, names
        The rows that were set aside, their PU labels, and what they are called.
    """
    if model.holdout_ is None or not isinstance(features, np.ndarray):
        return Explained()
    if model.columns_.has_images or features.shape[1] > _MOST_FEATURES:
        return Explained()
    some = _some(codes)
    found = importance(
        model.classifier_, features[some], codes[some], n_repeats=1, groups=_groups(model)
    )
    rows = tuple((one.column, one.value, one.low, one.high) for one in found)
    ranking = model.holdout_.ranking
    if ranking is None:
        return Explained(rows)
    wanted = {row.name for part in ranking for row in part}
    index = np.array([i for i, name in enumerate(names) if str(name) in wanted], dtype=np.intp)
    if not len(index):
        return Explained(rows)
    reasons = explain_rows(model, features[index], features[some])
    return Explained(rows, {str(names[i]): _words(reasons, k) for k, i in enumerate(index)})


def _some(codes: NDArray[np.int8]) -> NDArray[np.intp]:
    """Return at most 500 rows, labelled and others in the shares that they have, two at least."""
    step = max(1, -(-len(codes) // _ROWS))
    parts = [np.flatnonzero(of)[::step] for of in (codes == 1, codes != 1)]
    return np.sort(np.concatenate(parts))


def _groups(model: TablePU) -> dict[str, list[int]]:
    """Return the features of each column of the table."""
    raw = takes_raw(model.classifier_)
    groups: dict[str, list[int]] = {}
    first = 0
    for column in model.columns_.columns:
        width = len(column.raw_names) if raw else column.width
        if width:
            groups[column.name] = list(range(first, first + width))
        first += width
    return groups


def _words(reasons: RowReasons, row: int) -> str:
    """Say which columns moved the score of a row most: "age +1.2, town -0.4"."""
    values = reasons.values[row]
    order = [j for j in np.argsort(-np.abs(values), kind="stable")[:_NAMED] if values[j]]
    return ", ".join(f"{reasons.names[j]} {values[j]:+.2g}" for j in order)
