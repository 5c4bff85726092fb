"""From the columns of a user's table to features: found out by themselves, told, and stored."""

from nnpu.table.columns.cells import label_codes
from nnpu.table.columns.plan import ColumnPlan, find_column, fit_columns

__all__ = ["ColumnPlan", "find_column", "fit_columns", "label_codes"]
