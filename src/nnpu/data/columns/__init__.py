"""From the columns of a user's table to features: found out by themselves, told, and stored."""

from nnpu.data.columns.cells import label_codes
from nnpu.data.columns.plan import ColumnPlan, find_column, fit_columns

__all__ = ["ColumnPlan", "find_column", "fit_columns", "label_codes"]
