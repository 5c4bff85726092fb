"""Tables in memory: pandas, polars and pyarrow, as pyarrow arrays by name."""

from __future__ import annotations

from typing import Any

from nnpu.parameters import InputError

__all__ = ["frame_columns"]


def frame_columns(table: Any) -> dict[str, Any]:
    """Return the columns of a table in memory as pyarrow arrays by name."""
    import pyarrow as pa

    if type(table).__name__ == "LazyFrame":
        raise InputError("A table in memory is needed. Got a LazyFrame; pass table.collect().")
    if hasattr(table, "to_arrow"):  # polars
        table = table.to_arrow()
    if isinstance(table, pa.Table):
        cells = [column.combine_chunks() for column in table.columns]
        named = list(zip(table.column_names, cells, strict=True))
    elif hasattr(table, "columns") and hasattr(table, "items"):  # pandas
        named = [(name, _pandas_cells(cells)) for name, cells in table.items()]
    else:
        raise InputError(
            "A pandas, polars or pyarrow table, a NumPy array or a path is needed. Got "
            f"{type(table).__name__} instead."
        )
    columns = {str(name): cells for name, cells in named}
    if len(columns) < len(named):
        raise InputError("The table has two columns of the same name; rename one of them.")
    return columns


def _pandas_cells(cells: Any) -> Any:
    """Return a column of a DataFrame; values of several types become strings."""
    import pyarrow as pa

    try:
        found = pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        from nnpu.data.formats import as_cells

        return as_cells(cells.tolist())
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
