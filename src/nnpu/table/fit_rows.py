"""The rows of a fit: without copies, with what keeps some together, and with some set aside."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators.out_of_fold import MOST_ROWS
from nnpu.parameters import InputError
from nnpu.table.both_samples import in_both
from nnpu.table.columns import find_column
from nnpu.table.columns.dates import row_times
from nnpu.table.columns.repeated_ids import repeated_ids, without_copies
from nnpu.table.fitting import trains_in_epochs
from nnpu.table.leaks import one_sided_fillings
from nnpu.table.reading import labelled_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.table_pu import TablePU

__all__ = [
    "LEAST_LABELLED",
    "FitRows",
    "group_numbers",
    "rows_of_fit",
    "set_aside",
    "together",
]

#: With fewer labelled, or unlabelled, rows than this the model is not judged: they say nothing.
LEAST_LABELLED = 10


@dataclass(frozen=True)
class FitRows:
    """The rows of a table that a fit takes.

    Attributes
    ----------
    batch : Batch
        Their cells.
    codes : ndarray of shape (n,)
        PU labels: 1, 0, −1.
    groups : ndarray of shape (n,) or None
        Equal numbers where rows stay together.
    grouped_by : str or None
        The column that they come from.
    unused : dict of str to str
        The columns that are not features because of what is in them, with the reasons.
    in_folds : bool
        Whether all rows judge the model, each scored by one that was not fitted to it.
    aside : ndarray of bool, shape (n,)
        The rows that are set aside to judge it.
    taken_out : int, int
        How many unlabelled rows of two samples were labelled ones too, of how many.
    """

    batch: Batch
    codes: NDArray[np.int8]
    groups: NDArray[np.intp] | None
    grouped_by: str | None
    unused: dict[str, str]
    in_folds: bool
    aside: NDArray[np.bool_]
    taken_out: tuple[int, int] = (0, 0)

    @property
    def fitted(self) -> NDArray[np.intp]:
        """The numbers of the rows that the model is fitted to."""
        return np.flatnonzero(~self.aside)


def rows_of_fit(
    job: TablePU,
    batch: Batch,
    codes: NDArray[np.int8],
    *,
    whole: bool = False,
    say: Callable[[str], None],
) -> FitRows:
    """Return the rows that a fit takes, and say what was left out.

    Parameters
    ----------
    job : TablePU
        Its parameters, and the name of its label column.
    batch, codes
        The table and its PU labels.
    whole : bool, default=False
        Whether every row stays: the answers of a review go by the rows of the whole table.
    say : callable
        Takes each line.
    """
    taken_out = 0, 0
    if not whole and job.images is None:
        batch, codes = _once(job, batch, codes, say)
        if job.sampling == "two-sample":
            batch, codes, taken_out = _apart(job, batch, codes)
    kept = together(job, batch, codes, say=say)
    in_folds = _judged_in_folds(job, codes)
    aside = np.zeros(len(codes), dtype=bool)
    if not in_folds:
        time = _times(batch, job.time)
        aside = set_aside(codes, job.holdout, job.random_state, groups=kept.groups, time=time)
    return FitRows(batch, codes, *kept, in_folds, aside, taken_out)


def _once(
    job: TablePU, batch: Batch, codes: NDArray[np.int8], say: Callable[[str], None]
) -> tuple[Batch, NDArray[np.int8]]:
    """Return the rows without copies, which would judge a model that was fitted to them."""
    rows = without_copies(batch, codes, {job.label_, job.id, *job.drop})
    if len(rows) == batch.n_rows:
        return batch, codes
    copies = batch.n_rows - len(rows)
    say(f"{copies:,} of {batch.n_rows:,} rows repeat another row and are dropped.")
    return replace(batch.take(rows), numbers=rows), codes[rows]


def _apart(
    job: TablePU, batch: Batch, codes: NDArray[np.int8]
) -> tuple[Batch, NDArray[np.int8], tuple[int, int]]:
    """Return two samples without the unlabelled rows that are labelled ones, and their number."""
    twins = in_both(batch, codes, {job.label_, job.id, *job.drop}, job.id)
    n_u = int((codes == 0).sum())
    if len(twins) == n_u:
        raise InputError(
            "Every unlabelled row is a labelled one too: pass rows whose class is unknown."
        )
    if not len(twins):
        return batch, codes, (0, 0)
    warnings.warn(
        f"{len(twins):,} of the {n_u:,} unlabelled rows are labelled positives "
        "too and are no longer counted as unlabelled. If the positives were drawn from the "
        "unlabelled rows, this is one sample: mark them in a label column (--label) and use "
        "sampling='one-sample'.",
        UserWarning,
        stacklevel=4,
    )
    rows = np.setdiff1d(np.arange(len(codes)), twins)
    numbers = rows if batch.numbers is None else batch.numbers[rows]
    return replace(batch.take(rows), numbers=numbers), codes[rows], (len(twins), n_u)


class Together(NamedTuple):
    """What keeps rows together, and which columns are not features; see `FitRows`."""

    groups: NDArray[np.intp] | None
    grouped_by: str | None
    unused: dict[str, str]


def together(
    job: TablePU, batch: Batch, codes: NDArray[np.int8], *, say: Callable[[str], None]
) -> Together:
    """Find the columns that give the label away or are ids that repeat, and say so.

    Rows are kept together by `groups`; without it, and unless time decides, by an id that repeats.

    Parameters
    ----------
    job, batch, codes, say
        As in `rows_of_fit`.
    """
    for name in job.keep:
        find_column(name, batch.names, batch.source)
    groups, grouped_by = group_numbers(batch, job.groups), job.groups
    unused: dict[str, str] = {}
    if job.images is not None:  # all that is learned from
        return Together(groups, grouped_by, unused)
    named = job.label_, job.id, job.groups, job.time
    exempt = {*named, *job.drop, *job.keep, *labelled_by(job)}
    for name, how in one_sided_fillings(batch, codes, exempt).items():
        unused[name] = f"{how}; --keep {name} uses it"
        say(f"Excluded: {name} gives the label away ({how}). To use it: --keep {name}.")
    for found in repeated_ids(batch, codes, {*exempt, *unused}):
        decides = grouped_by is None and job.time is None
        if decides:
            groups, grouped_by = found.groups, found.name
        unused[found.name] = f"an id that repeats; --keep {found.name} uses it"
        say(found.line(decides))
    return Together(groups, grouped_by, unused)


def group_numbers(batch: Batch, name: str | None) -> NDArray[np.intp] | None:
    """Return a number for each row, equal in a group; empty cells are one group."""
    if name is None:
        return None
    cells = batch.columns[find_column(name, batch.columns, batch.source)]
    numbers: NDArray[np.intp] = cells.dictionary_encode().indices.fill_null(-1).to_numpy()
    return numbers


def _judged_in_folds(job: TablePU, codes: NDArray[np.int8]) -> bool:
    """Return whether the model is judged by all rows, in folds."""
    enough = min((codes == 1).sum(), (codes == 0).sum()) >= LEAST_LABELLED
    small = len(codes) <= MOST_ROWS and job.time is None and job.holdout > 0
    return bool(small and enough and not trains_in_epochs(job.model, job.images))


def _times(batch: Batch, name: str | None) -> NDArray[np.float64] | None:
    """Return the time of each row; None if no column orders them."""
    if name is None:
        return None
    return row_times(batch.columns[find_column(name, batch.columns, batch.source)], name)


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
        The latest rows are set aside; rows of one time stay together, so their share is the
        nearest one that whole times give.

    Examples
    --------
    >>> set_aside(np.array([1, 0] * 20), 0.2, 0).sum()
    np.int64(8)
    >>> set_aside(np.array([1, 0] * 20), 0.2, 0, time=np.arange(40.0)).nonzero()[0]
    array([32, 33, 34, 35, 36, 37, 38, 39])
    """
    nothing = np.zeros(len(s), dtype=bool)
    if share == 0 or min((s == 1).sum(), (s == 0).sum()) < LEAST_LABELLED:
        return nothing
    if time is not None:
        chosen = _latest(time, share)
    else:
        n_folds = max(2, round(1 / share))
        if groups is not None:
            n_folds = min(n_folds, np.unique(groups).size)
        folds = PUStratifiedKFold(n_folds, random_state=seed)
        chosen = folds.assign(s == 1, groups) == 0
    for kept in (s[chosen], s[~chosen]):
        if not (kept == 1).any() or not (kept == 0).any():
            how = "time" if time is not None else "groups"
            raise InputError(
                f"The rows cannot be split by '{how}': one part has no labelled or no unlabelled "
                "row. Split by another column, or at random."
            )
    return chosen


def _latest(time: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return the latest rows, whole times only, in number as near to the share as that allows."""
    times, rows = np.unique(time, return_counts=True)
    if len(times) == 1:
        raise InputError(
            "The rows cannot be split by 'time': all of them have the same time. Split by another "
            "column, or at random."
        )
    later = np.cumsum(rows[::-1])[::-1][1:] / len(time)  # at each time but the first, or after it
    found: NDArray[np.bool_] = time >= times[1:][np.abs(later - share).argmin()]
    return found
