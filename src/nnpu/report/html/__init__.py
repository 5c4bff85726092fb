"""A report that one can open: a single HTML file, without network, with a threshold explorer."""

from nnpu.report.html.document import Page, Section, render
from nnpu.report.html.explorer import explorer_section
from nnpu.report.html.sections import (
    calibration_section,
    data_section,
    metrics_section,
    prior_section,
    scores_section,
    training_section,
)

__all__ = [
    "Page",
    "Section",
    "calibration_section",
    "data_section",
    "explorer_section",
    "metrics_section",
    "prior_section",
    "render",
    "scores_section",
    "training_section",
]
