"""A report that one can open: a single HTML file, without network, with a threshold explorer."""

from nnpu.report.page.document import Page, Section, render, write_page
from nnpu.report.page.explorer import explorer_section
from nnpu.report.page.paper import claims_section, panels_section, results_section
from nnpu.report.page.sections import (
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
    "claims_section",
    "data_section",
    "explorer_section",
    "metrics_section",
    "panels_section",
    "prior_section",
    "render",
    "results_section",
    "scores_section",
    "training_section",
    "write_page",
]
