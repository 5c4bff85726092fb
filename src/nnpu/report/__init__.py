"""Pictures of results, and the page about a classifier: `page` makes the report of any of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.lazy import lazy_names

if TYPE_CHECKING:
    from nnpu.report.classifier_page import page
    from nnpu.report.curves import curve_panel, mean_and_spread, risk_panel
    from nnpu.report.displays import (
        PriorDisplay,
        PUCalibrationDisplay,
        ScoreDisplay,
        ThresholdDisplay,
    )
    from nnpu.report.figure import draw_figure, save_figure
    from nnpu.report.panels import Curve, Panel
    from nnpu.report.sensitivity import sensitivity_panels

__all__ = [
    "Curve",
    "PUCalibrationDisplay",
    "Panel",
    "PriorDisplay",
    "ScoreDisplay",
    "ThresholdDisplay",
    "curve_panel",
    "draw_figure",
    "mean_and_spread",
    "page",
    "risk_panel",
    "save_figure",
    "sensitivity_panels",
]

__getattr__ = lazy_names(
    __name__,
    classifier_page="page",
    curves="curve_panel mean_and_spread risk_panel",
    displays="PUCalibrationDisplay PriorDisplay ScoreDisplay ThresholdDisplay",
    figure="draw_figure save_figure",
    panels="Curve Panel",
    sensitivity="sensitivity_panels",
)
