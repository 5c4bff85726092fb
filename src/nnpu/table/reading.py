"""From what a user passes to rows with PU labels.

Tables in memory, pandas, polars, pyarrow and all with an Arrow stream, become pyarrow arrays by
name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.cells import as_cells, as_text, counted, frame_columns, is_string
from nnpu.data.streams import Batch, read_rows
from nnpu.extras import need
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_label_bias,
    check_number,
    check_prior,
    check_prior_range,
    check_sampling,
    shown,
)
from nnpu.table.columns import find_column, read_label_cells

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from nnpu.table.columns import ColumnPlan
    from nnpu.table.columns.label_column import LabelCells
    from nnpu.table.table_pu import TablePU

__all__ = [
    "as_batch",
    "check_labels",
    "check_order",
    "check_parameters",
    "is_mixed",
    "is_on_dask",
    "is_path",
    "label_cells",
    "labelled_by",
    "prior_from",
    "read_labels",
    "row_names",
    "source_name",
    "stacked",
]


def is_path(table: Any) -> bool:
    """Return whether a table was given as the path of a file."""
    return isinstance(table, str | os.PathLike)


def is_mixed(table: Any) -> bool:
    """Return whether an array holds strings, or cells of several types, as a table does."""
    return isinstance(table, np.ndarray) and table.dtype.kind in "OUS"


def is_on_dask(table: Any) -> bool:
    """Return whether a table gives its partitions as tasks, as those of Dask do."""
    return hasattr(table, "to_delayed")


def source_name(table: Any) -> str:
    """Return what a table is called in messages."""
    if isinstance(table, Batch):
        return table.source
    return str(table) if is_path(table) else "the table"


def as_batch(
    table: Any,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Batch:
    """Return a table as rows: a frame (see `frame_columns`), an array, or a path.

    The columns of an array of strings or of mixed cells are called ``x0``, ``x1`` and so on.

    Parameters
    ----------
    table
        The table.
    sep, decimal, encoding, sheet : str, optional
        As in `nnpu.data.streams.stream_rows`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_batch(pa.table({"age": [31, 45]})).names
    ['age']
    """
    from scipy import sparse

    if isinstance(table, Batch):
        return table
    if is_path(table):
        return read_rows(table, sep=sep, decimal=decimal, encoding=encoding, sheet=sheet)
    if isinstance(table, np.ndarray) or sparse.issparse(table):
        if table.ndim != 2:
            raise InputError(f"A table has two dimensions. Got an array of shape {table.shape}.")
        if is_mixed(table):
            cells = {
                f"x{number}": as_cells(column.tolist()) for number, column in enumerate(table.T)
            }
            return Batch(cells, {}, table.shape[0], 0, "the array", decimal)
        return Batch({}, {"x": table}, table.shape[0], 0, "the array")

    columns = frame_columns(table)
    if not columns:
        raise InputError("The table has no columns.")
    rows = len(next(iter(columns.values())))
    return Batch(columns, {}, rows, 0, "the table", decimal)


def stacked(
    unlabelled: Batch, positives: Batch, drop: Collection[str] = ()
) -> tuple[Batch, list[str]]:
    """Return the rows of two tables as one, by the names of their columns.

    Parameters
    ----------
    unlabelled, positives : Batch
        The rows that come first, and those below them.
    drop : collection of str
        Columns that nobody will read: their cells are left out, so they may be of two types.

    Returns
    -------
    batch : Batch
        The rows, with the columns that both tables have.
    lines : list of str
        Which columns only one of them has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one, other = pa.table({"age": [31], "a": [1]}), pa.table({"age": [4.5]})
    >>> batch, lines = stacked(as_batch(one), as_batch(other))
    >>> batch.columns["age"].to_pylist(), lines
    ([31.0, 4.5], ["not used, since only the unlabelled table has it: 'a'"])
    """
    import pyarrow as pa

    if unlabelled.matrices or positives.matrices:
        raise InputError("Two tables need columns with names. Got an array or a matrix.")
    both = [name for name in unlabelled.columns if name in positives.columns]
    if not both:
        raise InputError(
            "The two tables have no column in common. The positives have "
            f"{', '.join(positives.names[:5])}; the unlabelled rows have "
            f"{', '.join(unlabelled.names[:5])}."
        )
    lines = []
    for which, batch in (("positives'", positives), ("unlabelled", unlabelled)):
        if alone := [repr(name) for name in batch.columns if name not in both]:
            has = "it" if len(alone) == 1 else "them"
            lines.append(f"not used, since only the {which} table has {has}: {', '.join(alone)}")
    columns = {}
    for name in both:
        if name in drop:
            columns[name] = pa.nulls(unlabelled.n_rows + positives.n_rows)
            continue
        parts = [
            pa.table({name: b.columns[name].cast(b.columns[name].type.value_type)})
            if pa.types.is_dictionary(b.columns[name].type)
            else pa.table({name: b.columns[name]})
            for b in (unlabelled, positives)
        ]
        parts = _as_one_mark(name, parts, (unlabelled.decimal, positives.decimal))
        try:
            joined = pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            kinds = " and ".join(str(part.schema.field(0).type) for part in parts)
            raise InputError(
                f"Column {name!r} is of two types: {kinds} (unlabelled, positives). "
                f"Convert one of them, or exclude the column (--drop {name})."
            ) from error
        columns[name] = joined.column(0).combine_chunks()
        if is_string(columns[name].type):
            _check_date_order(name, *(part.column(0).combine_chunks() for part in parts))
    rows = unlabelled.n_rows + positives.n_rows
    source = f"{unlabelled.source} and {positives.source}"
    return Batch(columns, {}, rows, 0, source, unlabelled.decimal, unlabelled.read_as), lines


def _as_one_mark(name: str, parts: list[Any], marks: tuple[str | None, str | None]) -> list[Any]:
    """Return one column of both tables as numbers if they write these with other decimal marks."""
    import pyarrow as pa

    from nnpu.table.columns.numbers import as_numbers, decimal_mark

    cells = [part.column(0).combine_chunks() for part in parts]
    if not all(is_string(one.type) for one in cells):
        return parts
    text = [as_text(one) for one in cells]
    found = [mark or decimal_mark(counted(one)[0]) for mark, one in zip(marks, text, strict=True)]
    if found[0] == found[1]:
        return parts
    read = [as_numbers(one, name, decimal=mark) for one, mark in zip(text, found, strict=True)]
    if any(unreadable.any() or np.isnan(values).all() for values, unreadable in read):
        return parts
    return [pa.table({name: pa.array(values, from_pandas=True)}) for values, _ in read]


def _check_date_order(name: str, unlabelled: Any, positives: Any) -> None:
    """Refuse 31/1/2024 in one table and 1/31/2024 in the other: each table proves its order."""
    from nnpu.table.columns.dates import day_first

    found = [day_first(counted(as_text(cells))[0]) for cells in (unlabelled, positives)]
    if all(proven for _, proven in found) and found[0][0] != found[1][0]:
        which = ("the unlabelled", "the positives'")
        first, second = which if found[0][0] else which[::-1]
        raise InputError(
            f"Column {name!r}: dates begin with the day in {first} table and with the month in "
            f"{second}. Write them alike, as 2024-01-31, or drop the column in one table."
        )


def label_cells(batch: Batch, s: Any) -> Any:
    """Return the cells with the PU labels of some rows, as a pyarrow array.

    Parameters
    ----------
    batch : Batch
        The rows.
    s : str or array-like
        The name of a column, or the labels themselves.
    """
    import pyarrow as pa

    if isinstance(s, str):
        find_column(s, batch.names, batch.source)
        if s in batch.matrices:
            raise InputError(f"{batch.source}: {s!r} is a matrix; labels are one value per row.")
        return batch.columns[s]
    values = np.asarray(s)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"Labels are one value per row. Got an array of shape {values.shape}.")
    try:
        cells = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        cells = pa.array([None if v is None or v != v else str(v) for v in values.tolist()])
    if len(cells) != batch.n_rows:
        raise InputError(
            f"There are {len(cells):,} labels for {batch.n_rows:,} rows of {batch.source}."
        )
    return cells


def read_labels(
    parts: list[Any], s: Any, source: str, pos_label: str | float | None = None
) -> LabelCells:
    """Return the PU labels of some cells, at least two rows labelled and two not.

    Parameters
    ----------
    parts : list of pyarrow array
        What `label_cells` returned for each batch.
    s : str or array-like
        As there.
    source : str
        What the rows are called in messages.
    pos_label : str or number, optional
        The value of the labelled rows.
    """
    import pyarrow as pa

    cells = pa.chunked_array(parts).combine_chunks() if len(parts) > 1 else parts[0]
    name = s if isinstance(s, str) else None
    found = read_label_cells(cells, name or "s", source if name else "the labels", pos_label)
    check_labels(found.codes, name, source)
    return found


def check_labels(s: NDArray[np.int8], label: str | None, source: str) -> None:
    """Raise `InputError` unless there are at least two labelled and two unlabelled rows."""
    where = f" in column {label!r}" if label else ""
    n_p, n_u = int((s == 1).sum()), int((s == 0).sum())
    if n_p == 0:
        raise InputError(
            f"{source}: no row is labelled{where}: write 1, true or yes where a row is known to be "
            "positive."
        )
    if n_u == 0:
        raise InputError(
            f"{source}: no row is unlabelled{where}: write 0, or leave the cell empty, where the "
            "class is unknown (-1 means known to be negative)."
        )
    if min(n_p, n_u) < 2:
        raise InputError(
            f"{source}: {n_p} labelled and {n_u} unlabelled rows{where}; at least two of each are "
            "needed."
        )


def check_order(table: Any, s: Any) -> None:
    """Raise `InputError` if labels with an index have that of the table in another order.

    Labels belong to rows by their place; pandas would join them by the index.

    Parameters
    ----------
    table, s
        A table and its labels, as a user passed them.
    """
    here: Any = getattr(table, "index", None)
    there: Any = getattr(s, "index", None)
    if not hasattr(here, "equals") or not hasattr(there, "equals") or here.equals(there):
        return
    with suppress(TypeError):  # an index that cannot be sorted
        if len(here) == len(there) and here.sort_values().equals(there.sort_values()):
            raise InputError(
                "The labels have the index of the table in another order, and labels are matched "
                "by position: pass s.loc[table.index], or s.to_numpy() if the positions are right."
            )


def row_names(
    batch: Batch, plan: ColumnPlan, rows: NDArray[np.intp] | None = None
) -> NDArray[np.object_]:
    """Return what people call the rows: by the id column, else by their number in the file.

    Parameters
    ----------
    batch, plan : Batch, ColumnPlan
        The rows, and which column is the id.
    rows : ndarray of int, optional
        Which rows of the batch; by default all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.table.columns import fit_columns
    >>> batch = as_batch(pa.table({"age": [31, 45]}))
    >>> row_names(batch, fit_columns(batch, np.arange(2))).tolist()
    ['row 1', 'row 2']
    """
    rows = np.arange(batch.n_rows) if rows is None else rows
    ids = plan.ids(batch)
    if ids is not None:
        return np.array([f"{cell}" for cell in ids.take(rows).to_pylist()], dtype=object)
    rows = rows if batch.numbers is None else batch.numbers[rows]
    return np.array([f"row {number}" for number in batch.first + 1 + rows], dtype=object)


def labelled_by(job: TablePU) -> tuple[str, ...]:
    """Return the columns that decided who got a label."""
    names = job.labelled_by
    return (names,) if isinstance(names, str) else tuple(names)


def prior_from(job: TablePU, codes: NDArray[np.int8]) -> Any:
    """Return the prior of a job: what was given, or what follows from the labelled share."""
    if job.labelled is None:
        return tuple(job.prior) if isinstance(job.prior, list) else job.prior
    share = float(np.mean(codes == 1))
    ends = job.labelled if isinstance(job.labelled, tuple | list) else [job.labelled]
    if max(ends) <= share:
        raise ParameterError(
            "The 'labelled' parameter of TablePU is the share of the positives that is labelled; "
            f"it must be greater than the labelled share of all rows, {share:.3g}, or every "
            f"row would be positive. Got {shown(job.labelled)} instead."
        )
    if len(ends) == 1:
        return share / float(ends[0])
    low, high = ends
    return (share / float(high), min(share / float(low), 1 - 1e-6))


def _check_labelled(job: TablePU) -> None:
    """Check what was said about the share of the positives that is labelled."""
    if job.labelled is None:
        return
    if job.sampling != "one-sample":
        raise ParameterError(
            "The 'labelled' parameter of TablePU is for one sample: in two samples the labelled "
            f"rows are not part of the others. Got {shown(job.labelled)} with "
            f"sampling={job.sampling!r}."
        )
    if not (isinstance(job.prior, str) and job.prior == "auto"):
        raise ParameterError(
            "The 'prior' and 'labelled' parameters of TablePU must not both be given: each "
            f"follows from the other. Got {shown(job.prior)} and {shown(job.labelled)}."
        )
    if isinstance(job.labelled, tuple | list):
        check_prior_range(job.labelled, "TablePU", name="labelled")
        check_number("labelled", job.labelled[0], "TablePU", low=0, high=1, include_low=False)
    else:
        check_prior(job.labelled, "TablePU", name="labelled")


def check_parameters(job: TablePU) -> None:
    """Check the parameters of a table's job before any work is done."""
    check_sampling(job.sampling, "TablePU")
    check_number("holdout", job.holdout, "TablePU", low=0, high=0.5)
    if job.random_state is not None:
        check_count("random_state", job.random_state, "TablePU", low=0)
    if not isinstance(job.verbose, bool):
        check_count("verbose", job.verbose, "TablePU", low=0)
    if isinstance(job.drop, str) or not isinstance(job.drop, Iterable):
        raise ParameterError(
            "The 'drop' parameter of TablePU must be a sequence of columns, such as ['day']. "
            f"Got {shown(job.drop)} instead."
        )
    if job.images is not None:
        need("torch", extra="torch", owner="TablePU with images")
    if isinstance(job.model, str) and job.model == "network":
        need("torch", extra="torch", owner="TablePU with model='network'")
    check_label_bias(job.label_bias, "TablePU")
    _check_labelled(job)
    if job.labelled_by and job.model not in (None, "biased"):
        raise ParameterError(
            "The 'labelled_by' parameter of TablePU needs model='biased', which is its default "
            f"then. Got {shown(job.model)} instead."
        )
    if job.labelled_by and job.images is not None:
        raise ParameterError(
            "The 'labelled_by' and 'images' parameters of TablePU must not both be given: images "
            f"are learned from alone. Got {shown(job.labelled_by)} and {shown(job.images)}."
        )
    if job.decimal is not None:
        check_choice("decimal", job.decimal, "TablePU", (".", ","))
    if not isinstance(job.sheet, str | None):
        raise ParameterError(
            "The 'sheet' parameter of TablePU must be the name of a sheet or None. "
            f"Got {shown(job.sheet)} instead."
        )
    if not isinstance(job.pos_label, str | int | float | np.generic | None):
        raise ParameterError(
            "The 'pos_label' parameter of TablePU must be a text, a number or None. "
            f"Got {shown(job.pos_label)} instead."
        )
    if job.groups is not None and job.time is not None:
        raise ParameterError(
            "The 'groups' and 'time' parameters of TablePU must not both be given. "
            f"Got {job.groups!r} and {job.time!r}."
        )
