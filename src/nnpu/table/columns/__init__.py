"""From the columns of a table to features: column types are inferred, reported and stored."""

from nnpu.table.columns.labels import label_codes
from nnpu.table.columns.plan import ColumnPlan, find_column, fit_columns

__all__ = ["ColumnPlan", "find_column", "fit_columns", "label_codes"]
