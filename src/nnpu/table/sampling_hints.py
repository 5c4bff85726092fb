"""Signs that rows came about otherwise than was said: one sample as two, or two as one."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.row_keys import equal_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.columns import ColumnPlan

__all__ = ["hint_at_one_sample", "hint_at_two_samples", "id_numbers", "labelled_twins"]

_FEWEST = 20  # labelled rows: fewer may lie anywhere by chance
_CHANCE = 0.05  # p-value above which two ranges of ids look the same
_CONTIGUOUS = 0.9  # of the numbers between the least and the greatest id, that are there
_MANY_TWINS = 0.5  # of the labelled rows: some equal rows are in any table


def hint_at_two_samples(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None] = ()
) -> None:
    """Warn if labelled rows of a single sample stand among its unlabelled ones a second time.

    Parameters
    ----------
    batch, codes
        The rows and their PU labels.
    exempt : collection of str
        Columns that do not matter: the label, the id.
    """
    n_p = int((codes == 1).sum())
    if n_p < _FEWEST or batch.matrices:
        return
    twins = labelled_twins(batch, codes, exempt)
    if twins < _MANY_TWINS * n_p:
        return
    warnings.warn(
        f"{twins:,} of the {n_p:,} labelled rows stand among the unlabelled ones too, cell by "
        "cell. In a single sample a row is either labelled or not. If the labelled rows were added "
        "to a list of the whole population, these are two samples: sampling='two-sample' "
        "(--sampling two-sample); if they are copies, remove the unlabelled ones.",
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
        f"The ids ({plan.id_name!r}) of labelled and unlabelled rows are of one list: the labelled "
        "ones fill its gaps. If all rows are one sample, of which some positives got a label: "
        "sampling='one-sample' (--sampling one-sample).",
        UserWarning,
        stacklevel=3,
    )


def labelled_twins(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None] = ()
) -> int:
    """Return how many labelled rows equal an unlabelled one, 0 where rows are equal by chance.

    Parameters
    ----------
    batch, codes, exempt
        As in `hint_at_two_samples`.
    """
    cells = [
        cells.dictionary_encode().indices.fill_null(-1)
        for name, cells in batch.columns.items()
        if name not in exempt
    ]
    if not cells:
        return 0
    groups = equal_rows(np.column_stack([np.asarray(column, np.float32) for column in cells]))
    if groups is None:
        return 0
    p, u = codes == 1, codes == 0
    counts = np.bincount(groups[u], minlength=int(groups.max()) + 1)
    found = int((counts[groups[p]] > 0).sum())
    by_chance = float((counts[groups[u]] > 1).mean())  # tables of a few categories
    return found if found / max(int(p.sum()), 1) > 3 * by_chance else 0


def id_numbers(plan: ColumnPlan, batch: Batch) -> NDArray[np.float64] | None:
    """Return the ids as numbers; None if there are none, or they are no numbers.

    Parameters
    ----------
    plan, batch
        The columns and the rows.
    """
    import pyarrow as pa

    ids: Any = plan.ids(batch)
    if ids is not None:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # names, dates
            return np.asarray(ids.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return None
