"""Columns that give the label away: a copy of it, a note written with it, a sorted row number.

If labels are given at random among the positives, a region that holds a share q of P holds at
least π q of the unlabelled rows. A region of a single column with half of P and next to nothing
of U means that there are hardly any positives in U, or that the column knows the label.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.data.cells import as_text, counted, is_plain, is_string
from nnpu.table.both_samples import id_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.columns import ColumnPlan

__all__ = [
    "FEWEST",
    "column_owners",
    "has_values_of_one_side",
    "is_filled",
    "leaking_columns",
    "leaks",
    "one_sided",
    "one_sided_fillings",
]

_OF_P = 0.5  # share of P that a region must hold to be a leak
_OF_U = 0.02  # share of U that it may hold, as a share of P's
FEWEST = 20  # labelled or unlabelled rows: fewer may agree in a column by chance
_CHANCE = 1e-6  # that the fillings of a column fall on one side by accident
_SHARED = 0.9  # of the unlabelled rows have a value that another one has
_ENOUGH = 20_000  # rows of P, and of U, that are looked at


def leaking_columns(
    plan: ColumnPlan, features: Any, codes: NDArray[np.int8], batch: Batch, sampling: str
) -> list[str]:
    """Return the columns that alone almost separate labelled from unlabelled rows; warn of them.

    Ids that do so are not a leak, since the id column is not a feature. But these look like two
    samples, which has a warning of its own.

    Parameters
    ----------
    plan : ColumnPlan
        The columns.
    features : ndarray or CSR matrix of shape (n, d)
        Their raw or their dense view.
    codes : ndarray of shape (n,)
        PU labels.
    batch : Batch
        The rows.
    sampling : {"one-sample", "two-sample"}
        How they came about.
    """
    if min((codes == 1).sum(), (codes == 0).sum()) < FEWEST:
        return []
    ids = id_numbers(plan, batch)
    if sampling == "one-sample" and ids is not None and leaks(ids[:, None], codes).size:
        warnings.warn(
            f"Labelled and unlabelled rows differ in the range of their ids ({plan.id_name!r}). "
            "If the labelled rows were collected separately, these are two samples: --sampling "
            "two-sample.",
            UserWarning,
            stacklevel=3,
        )
    if plan.has_images:
        return []
    owners = column_owners(plan, features.shape[1])
    first = plan.n_dense if sparse.issparse(features) and len(owners) == len(plan.raw_names) else 0
    found = [owners[index] for index in leaks(features[:, first:], codes) + first]
    if first:  # numbers and codes before words
        found += [owners[index] for index in leaks(features[:, :first].toarray(), codes)]
    for column in plan.columns:
        cells = batch.columns.get(column.name)
        if cells is not None and column.kind in ("category", "number") and is_plain(cells.type):
            places = counted(as_text(cells) if column.kind == "category" else cells)[1]
            found += [column.name] * has_values_of_one_side(places, codes)
    names = list(dict.fromkeys(found))
    if names:
        shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        warnings.warn(
            f"{shown}: such a column alone almost separates labelled from unlabelled rows. If it "
            f"was filled in with the label or after it, exclude it (--drop {names[0]}) and fit "
            "again: with it the model learns who was labelled, not who is positive.",
            UserWarning,
            stacklevel=3,
        )
    return names


def one_sided_fillings(
    batch: Batch, codes: NDArray[np.int8], exempt: Collection[str | None] = ()
) -> dict[str, str]:
    """Return the columns that are filled in labelled or in unlabelled rows alone, and say how.

    A note that is written with the label need not be written in all labelled rows, and a question
    may be asked only of people without the diagnosis: either way the column tells who was labelled.

    Parameters
    ----------
    batch, codes
        The rows and their PU labels.
    exempt : collection of str
        Columns that are not looked at.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.data.streams import Batch
    >>> s = np.repeat([1, 0], [100, 900]).astype(np.int8)
    >>> note = pa.array(["seen"] * 40 + [None] * 960)
    >>> one_sided_fillings(Batch({"note": note}, {}, 1000, 0, "t.csv"), s)
    {'note': 'filled in 40 of 100 labelled rows and in no unlabelled one'}
    """
    counts = {}
    for name, cells in batch.columns.items():
        if name not in exempt and is_plain(cells.type):
            filled = is_filled(cells)
            counts[name] = int(filled[codes == 1].sum()), int(filled[codes == 0].sum())
    return one_sided(counts, int((codes == 1).sum()), int((codes == 0).sum()))


def one_sided(counts: Mapping[str, tuple[int, int]], n_p: int, n_u: int) -> dict[str, str]:
    """Return the columns of `one_sided_fillings` from counts.

    Parameters
    ----------
    counts : mapping of str to (int, int)
        By column, in how many labelled and in how many unlabelled rows a cell is filled.
    n_p, n_u : int
        How many rows there are of both.
    """
    found = {}
    for name, (p, u) in counts.items():
        if min(p, u) > 0 or max(p, u) < FEWEST:
            continue
        # The chance that so many cells all fall on one side.
        if max(p, u) * np.log((n_p if p else n_u) / (n_p + n_u)) > np.log(_CHANCE):
            continue
        found[name] = (
            f"filled in {p:,} of {n_p:,} labelled rows and in no unlabelled one"
            if p
            else f"filled in {u:,} of {n_u:,} unlabelled rows and in no labelled one"
        )
    return found


def is_filled(cells: Any) -> NDArray[np.bool_]:
    """Return which cells hold a value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_string(cells.type):
        cells = as_text(cells)
    there = np.asarray(cells.is_valid(), dtype=bool)
    if pa.types.is_floating(cells.type):
        there &= ~np.asarray(pc.fill_null(pc.is_nan(cells), False), dtype=bool)
    return there


def has_values_of_one_side(places: NDArray[np.intp], codes: NDArray[np.int8]) -> bool:
    """Return whether labelled rows have values that unlabelled ones would have, but never do.

    That is a single value, or half of the labelled rows, although a value of an unlabelled row is
    nearly always found in another one. An "X" that is "x" in the other file is the usual reason.

    Parameters
    ----------
    places : ndarray of shape (n,)
        Which of the column's values each row has, −1 for none.
    codes : ndarray of shape (n,)
        PU labels.

    Examples
    --------
    >>> s = np.repeat([1, 0], [30, 90]).astype(np.int8)
    >>> has_values_of_one_side(np.r_[np.arange(30) % 3, 3 + np.arange(90) % 3], s)
    True
    >>> has_values_of_one_side(np.arange(120) % 6, s)
    False
    """
    there = places >= 0
    p, u = (places[there & (codes == label)] for label in (1, 0))
    if min(len(p), len(u)) < FEWEST:
        return False
    of_p, of_u = (np.bincount(rows, minlength=int(places.max()) + 1) for rows in (p, u))
    alone = of_p[of_u == 0]
    chance = alone.max(initial=0) * np.log(len(p) / (len(p) + len(u)))
    if alone.max(initial=0) >= FEWEST and chance < np.log(_CHANCE / np.count_nonzero(of_p)):
        return True
    shared = 1 - np.sum(of_u == 1) / len(u)
    return bool(alone.sum() >= max(FEWEST, _OF_P * len(p)) and shared >= _SHARED)


def column_owners(plan: ColumnPlan, width: int) -> list[str]:
    """Return the column that each feature comes from, in the raw or in the dense view."""
    raw = width == len(plan.raw_names)
    return [c.name for c in plan.columns for _ in range(len(c.raw_names) if raw else c.width)]


def leaks(features: Any, codes: NDArray[np.int8]) -> NDArray[np.intp]:
    """Return the features that have a region with half of P and next to nothing of U.

    The regions are: missing, present, the middle half of P, and what is equal to the median of P,
    at most it, at least it. More than half of P in one category makes it the median.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [50, 150]).astype(np.int8)
    >>> noted = np.where(s == 1, rng.normal(size=200), np.nan)
    >>> leaks(np.c_[rng.normal(size=200) + s, noted, np.arange(200)], s)
    array([1, 2])
    """
    p, u = (_some(features, codes, label) for label in (1, 0))
    if sparse.issparse(p):
        shares = [(_stored(p), _stored(u))]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value in P
            quartiles = np.nanquantile(p, [0.25, 0.5, 0.75], axis=0, method="nearest")
        shares = [
            (a.mean(axis=0), b.mean(axis=0))
            for a, b in zip(_regions(p, quartiles), _regions(u, quartiles), strict=True)
        ]
    one_sided = [(of_p >= _OF_P) & (of_u <= _OF_U * of_p) for of_p, of_u in shares]
    return np.flatnonzero(np.any(one_sided, axis=0))


def _regions(x: NDArray[Any], quartiles: NDArray[Any]) -> Iterator[NDArray[np.bool_]]:
    low, middle, high = quartiles
    gap = np.isnan(x)
    yield from (gap, ~gap, (low <= x) & (x <= high), x == middle, x <= middle, x >= middle)


def _stored(x: Any) -> NDArray[np.float64]:
    """The share of rows in which each sparse column is not zero."""
    counts = np.bincount(x.indices[x.data != 0], minlength=x.shape[1])
    return counts.astype(np.float64) / int(x.shape[0])


def _some(features: Any, codes: NDArray[np.int8], label: int) -> Any:
    rows = np.flatnonzero(codes == label)
    return features[rows[:: -(-len(rows) // _ENOUGH)]]
