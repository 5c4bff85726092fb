"""How rows came about: signs that one sample was taken for two, or two samples for one.

Labelled rows that stand among the unlabelled ones too are taken out of these in two samples, and
noticed in one.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.cells import as_text, is_plain, is_string
from nnpu.data.folds import equal_rows
from nnpu.parameters import InputError
from nnpu.table.columns.column_kinds import is_named_like_an_id, is_unique

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.columns import ColumnPlan

__all__ = [
    "hint_at_one_sample",
    "hint_at_two_samples",
    "id_numbers",
    "in_both",
    "prior_of_the_rest",
]

_FEWEST = 20  # labelled rows: fewer may lie anywhere by chance
_CHANCE = 0.05  # p-value above which two ranges of ids look the same
_CONTIGUOUS = 0.9  # of the numbers between the least and the greatest id, that are there
_MANY_TWINS = 0.5  # of the labelled rows: some equal rows are in any table
_SEVERAL = 3.0  # times as many equal rows as within the unlabelled ones are not chance


def in_both(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None], id_name: str | None
) -> NDArray[np.intp]:
    """Return the unlabelled rows that are labelled ones: by equal cells, or by their id.

    Equal rows of a table of a few categories are chance: labelled rows must have a twin among the
    unlabelled ones more often than these have among themselves. Equal ids count only if most of
    them go with equal cells: two tables whose rows are both numbered 1, 2, 3 have equal ids too.
    Where most equal rows have equal ids, the ids alone count.

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
        if np.sum(same & found) > np.sum(found) / 2:
            found = same  # other equal rows are chance
        elif np.sum(same & found) > np.sum(same) / 2:
            found |= same
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
            f"{taken:,} of the {n_u:,} unlabelled rows are labelled positives, more than the prior "
            f"allows ({ends[-1]:g}): give a larger one, or remove these rows."
        )
    rest = tuple(max(end, 0.0) for end in rest)
    return rest if isinstance(prior, tuple) else rest[0]


def hint_at_two_samples(
    batch: Batch,
    codes: NDArray[np.int8],
    exempt: Collection[str | None] = (),
    id_name: str | None = None,
) -> None:
    """Warn if labelled rows of a single sample stand among its unlabelled ones a second time.

    Parameters
    ----------
    batch, codes, exempt, id_name
        As in `in_both`.
    """
    n_p = int((codes == 1).sum())
    if n_p < _FEWEST or batch.matrices:
        return
    twins = len(in_both(batch, codes, exempt, id_name))
    if twins < _MANY_TWINS * n_p:
        return
    warnings.warn(
        f"{twins:,} unlabelled rows are equal to one of the {n_p:,} labelled rows. In one sample "
        "a row is either labelled or not. If the labelled rows were added to a list of the whole "
        "population, these are two samples: sampling='two-sample' (--sampling two-sample); if they "
        "are copies, remove the unlabelled ones.",
        UserWarning,
        stacklevel=3,
    )


def hint_at_one_sample(plan: ColumnPlan, batch: Batch, codes: NDArray[np.int8]) -> None:
    """Warn if the labelled rows of two samples fill the gaps in the ids of the unlabelled ones.

    Parameters
    ----------
    plan, batch, codes
        The columns, the rows and their PU labels.
    """
    from scipy.stats import mannwhitneyu

    n_p = int((codes == 1).sum())
    ids = id_numbers(plan, batch)
    if n_p < _FEWEST or ids is None or np.isnan(ids).any():
        return
    p, u = ids[codes == 1], ids[codes != 1]
    filled = len(ids) / (ids.max() - ids.min() + 1)
    if np.unique(ids).size < len(ids) or filled < _CONTIGUOUS:
        return
    if mannwhitneyu(p, u).pvalue < _CHANCE:
        return
    warnings.warn(
        f"The ids ({plan.id_name!r}) of labelled and unlabelled rows come from one list: the "
        "labelled ones fill its gaps. If all rows are one sample, of which some positives got a "
        "label: sampling='one-sample' (--sampling one-sample).",
        UserWarning,
        stacklevel=3,
    )


def id_numbers(plan: ColumnPlan, batch: Batch) -> NDArray[np.float64] | None:
    """Return the ids as numbers, without a prefix that all have; None if they are not numbers.

    Parameters
    ----------
    plan, batch
        The columns and the rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    ids: Any = plan.ids(batch)
    if ids is None:
        return None
    if is_string(ids.type):
        ids = as_text(ids)
        if len(prefix := _prefixes(ids)) == 1:
            ids = pc.utf8_slice_codeunits(ids, len(prefix[0]))
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # names, dates
        return np.asarray(ids.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return None


def _prefixes(ids: Any) -> list[str]:
    """Return what stands before the last digits of ids: one prefix, as in s00007, is no name."""
    import pyarrow.compute as pc

    found = pc.unique(pc.replace_substring_regex(ids, r"\d+$", ""))
    return [each or "" for each in found.slice(0, 2).to_pylist()]
