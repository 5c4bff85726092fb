"""A report that one can open: a single HTML file, without network, with a threshold explorer."""

from nnpu.report.html.answers import (
    drift_section,
    importance_section,
    models_section,
    rows_section,
    verdict_section,
)
from nnpu.report.html.cost_explorer import costs_section
from nnpu.report.html.document import Page, Section, render
from nnpu.report.html.explorer import explorer_section, scenarios_table
from nnpu.report.html.sections import (
    ColumnFate,
    calibration_section,
    columns_section,
    labels_section,
    metrics_section,
    prior_section,
    scores_section,
    training_section,
)

__all__ = [
    "ColumnFate",
    "Page",
    "Section",
    "calibration_section",
    "columns_section",
    "costs_section",
    "drift_section",
    "explorer_section",
    "importance_section",
    "labels_section",
    "metrics_section",
    "models_section",
    "prior_section",
    "render",
    "rows_section",
    "scenarios_table",
    "scores_section",
    "training_section",
    "verdict_section",
]
