"""Positives that stand among the unlabelled rows too, where the two are samples of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.row_keys import equal_rows
from nnpu.parameters import InputError
from nnpu.table.columns.cells import is_plain
from nnpu.table.columns.guess import is_named_like_an_id, is_unique

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch

__all__ = ["in_both", "prior_of_the_rest"]

_SEVERAL = 3.0  # times as many equal rows as within the unlabelled ones are no chance


def in_both(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None], id_name: str | None
) -> NDArray[np.intp]:
    """Return the unlabelled rows that are labelled ones: by equal cells, or by their id.

    Equal rows of a table of a few categories are chance: labelled rows must have a twin among the
    unlabelled ones more often than these have among themselves. Equal ids count only if most of
    them go with equal cells: two tables whose rows are both numbered 1, 2, 3 have equal ids too.

    Parameters
    ----------
    batch, codes
        The rows and their PU labels.
    exempt : collection of str
        Columns that are not compared: the label, and what the user excluded.
    id_name : str, optional
        The column of ids, if the user named one.
    """
    p, u = np.flatnonzero(codes == 1), np.flatnonzero(codes == 0)
    ids: NDArray[np.int64] | None = None
    columns: list[NDArray[Any]] = []
    for name, cells in batch.columns.items():
        if not is_plain(cells.type):
            if name not in exempt:
                return u[:0]
            continue
        places = _places(cells)
        if name == id_name or (is_named_like_an_id(name) and _names_rows(cells, p, u)):
            ids = places if id_name in (None, name) else ids
        elif name not in exempt:
            columns.append(places)
    for matrix in batch.matrices.values():
        numbers = isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf"
        if not numbers or matrix.ndim != 2:
            return u[:0]
        columns += list(matrix.T)
    groups = equal_rows(np.column_stack(columns)) if columns else None
    if groups is None:
        return u[:0]
    counts = np.bincount(groups[u], minlength=int(groups.max()) + 1)
    twins, by_chance = np.mean(counts[groups[p]] > 0), np.mean(counts[groups[u]] > 1)
    found = np.isin(groups[u], groups[p])
    if twins <= _SEVERAL * by_chance:
        return u[:0]
    if ids is not None:
        same = np.isin(ids[u], ids[p])
        found |= same & (np.sum(same & found) > np.sum(same) / 2)
    return u[found]


def _places(cells: Any) -> NDArray[np.int64]:
    places = cells.dictionary_encode().indices.cast("int64").fill_null(-1)
    return np.asarray(places.to_numpy(zero_copy_only=False))


def _names_rows(cells: Any, p: NDArray[np.intp], u: NDArray[np.intp]) -> bool:
    return all(is_unique(cells.take(rows)) for rows in (p, u))


def prior_of_the_rest(prior: Any, taken: int, n_u: int) -> Any:
    """Return the share of positives in the unlabelled rows that stay.

    Parameters
    ----------
    prior
        Of all unlabelled rows: a number, a pair of limits, or anything else, which stays.
    taken, n_u : int
        How many of how many unlabelled rows are known to be positive and left out.

    Examples
    --------
    >>> prior_of_the_rest(0.4, taken=40, n_u=240)  # of 96 positives 56 are left
    0.28
    >>> prior_of_the_rest("auto", taken=40, n_u=240)
    'auto'
    """
    if not taken or isinstance(prior, str) or not isinstance(prior, tuple | float | int):
        return prior
    ends = prior if isinstance(prior, tuple) else (prior,)
    rest = tuple(round((float(end) * n_u - taken) / (n_u - taken), 12) for end in ends)
    if rest[-1] <= 0:
        raise InputError(
            f"{taken:,} of the {n_u:,} unlabelled rows are labelled positives, more than the "
            f"prior allows ({ends[-1]:g}): give a larger one, or take these rows out."
        )
    rest = tuple(max(end, 0.0) for end in rest)
    return rest if isinstance(prior, tuple) else rest[0]
