"""Pictures of results, and pages: `page` makes the report of any classifier here.

`Page` with `chart_section` and `table_section` makes a self-contained page of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.extras import lazy_names

if TYPE_CHECKING:
    from nnpu.report.displays import (
        PriorDisplay,
        PUCalibrationDisplay,
        ScoreDisplay,
        ThresholdDisplay,
        draw_figure,
        save_figure,
    )
    from nnpu.report.html import Page, Section, chart_section, table_section
    from nnpu.report.model_page import page
    from nnpu.report.panels import (
        Curve,
        Panel,
        curve_panel,
        mean_and_spread,
        risk_panel,
        sensitivity_panels,
    )

__all__ = [
    "Curve",
    "PUCalibrationDisplay",
    "Page",
    "Panel",
    "PriorDisplay",
    "ScoreDisplay",
    "Section",
    "ThresholdDisplay",
    "chart_section",
    "curve_panel",
    "draw_figure",
    "mean_and_spread",
    "page",
    "risk_panel",
    "save_figure",
    "sensitivity_panels",
    "table_section",
]

__getattr__ = lazy_names(
    __name__,
    displays="PUCalibrationDisplay PriorDisplay ScoreDisplay ThresholdDisplay draw_figure "
    "save_figure",
    html="Page Section chart_section table_section",
    model_page="page",
    panels="Curve Panel curve_panel mean_and_spread risk_panel sensitivity_panels",
)
