"""From what a user passes to rows with PU labels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.streams import Batch, read_rows
from nnpu.parameters import InputError
from nnpu.table.columns import find_column, label_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.table.columns import ColumnPlan

__all__ = ["as_batch", "check_labels", "is_path", "read_labels", "row_names"]


def is_path(table: Any) -> bool:
    """Return whether a table was given as the path of a file."""
    return isinstance(table, str | os.PathLike)


def as_batch(table: Any) -> Batch:
    """Return a table as rows: a pandas, polars or pyarrow table, an array, or a path.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_batch(pa.table({"age": [31, 45]})).names
    ['age']
    """
    import pyarrow as pa
    from scipy import sparse

    if isinstance(table, Batch):
        return table
    if is_path(table):
        return read_rows(table)
    if isinstance(table, np.ndarray) or sparse.issparse(table):
        if table.ndim != 2:
            raise InputError(f"A table has two dimensions. Got an array of shape {table.shape}.")
        return Batch({}, {"x": table}, table.shape[0], 0, "the array")
    if type(table).__name__ == "LazyFrame":
        raise InputError("A table in memory is needed. Got a LazyFrame; pass table.collect().")
    if hasattr(table, "to_arrow"):  # polars
        table = table.to_arrow()
    elif not isinstance(table, pa.Table):
        try:
            table = pa.Table.from_pandas(table, preserve_index=False)
        except (AttributeError, TypeError) as error:
            raise InputError(
                "A pandas, polars or pyarrow table, a NumPy array or a path is needed. Got "
                f"{type(table).__name__} instead."
            ) from error
    columns = {
        str(name): column.combine_chunks()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    if len(columns) < table.num_columns:
        raise InputError("The table has two columns of the same name; rename one of them.")
    return Batch(columns, {}, table.num_rows, 0, "the table")


def read_labels(batch: Batch, s: Any) -> tuple[NDArray[np.int8], str | None]:
    """Return the PU labels and the name of their column, if they stand in the table.

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
        return label_codes(batch.columns[s], s, batch.source, batch.first), s
    cells = pa.array(np.asarray(s), from_pandas=True)
    if len(cells) != batch.n_rows:
        raise InputError(
            f"There are {len(cells):,} labels for {batch.n_rows:,} rows of {batch.source}."
        )
    return label_codes(cells, "s", "the labels"), None


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
    return np.array([f"row {number}" for number in batch.first + 1 + rows], dtype=object)
