"""Reads result tables and draws them; nothing else in the package draws."""

from nnpu.report.curves import curve_panel, mean_and_spread, risk_panel
from nnpu.report.figure import Curve, Panel, save_figure
from nnpu.report.sensitivity import sensitivity_panels

__all__ = [
    "Curve",
    "Panel",
    "curve_panel",
    "mean_and_spread",
    "risk_panel",
    "save_figure",
    "sensitivity_panels",
]
