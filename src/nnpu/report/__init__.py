"""Reads result tables and draws them; nothing else in the package draws."""

from nnpu.report.figure import Curve, Panel, save_figure

__all__ = ["Curve", "Panel", "save_figure"]
