"""From the columns of a table to features: column types are inferred, reported and stored."""

from nnpu.table.columns.column_plan import (
    ColumnPlan,
    TableSummary,
    TrainingSummary,
    find_column,
    finished_plan,
    fit_columns,
)
from nnpu.table.columns.label_column import known_labels, read_label_cells

__all__ = [
    "ColumnPlan",
    "TableSummary",
    "TrainingSummary",
    "find_column",
    "finished_plan",
    "fit_columns",
    "known_labels",
    "read_label_cells",
]
