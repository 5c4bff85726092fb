"""Panels drawn by matplotlib, as a PNG and an SVG, or on axes of the caller's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnpu.extras import need
from nnpu.files import atomic_path
from nnpu.parameters import ParameterError, check_count
from nnpu.report.panels import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nnpu.report.panels import Panel

__all__ = ["draw_figure", "draw_panel", "save_figure"]

_DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "points": "none", "band": "none"}
# No date in the file: the same table gives the same bytes.
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save_figure(
    panels: Sequence[Panel],
    path: str | os.PathLike[str],
    *,
    columns: int = 2,
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw the panels in a grid and write one file per format; return their paths.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw, row by row.
    path : path-like
        The file without its suffix: ``out/figure1`` gives ``out/figure1.png`` and ``.svg``.
    columns : int, default=2
        Panels in a row.
    formats : sequence of str
        Suffixes that matplotlib knows.

    Examples
    --------
    >>> import tempfile
    >>> from nnpu.report import Curve, Panel
    >>> panel = Panel("Risk", "epoch", "risk", [Curve("nnPU", [1, 2, 3], [0.5, 0.3, 0.2])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure([panel], f"{folder}/risk")]
    ['risk.png', 'risk.svg']
    """
    need("matplotlib", extra="plot", owner="save_figure")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = _grid(panels, columns, "save_figure")
    with rc_context({"svg.hashsalt": "nnpu", "font.size": 9}):  # a fixed salt: fixed names
        figure = Figure(figsize=(4.6 * size[1], 3.4 * size[0]), layout="constrained")
        FigureCanvasAgg(figure)
        _draw_panels(panels, figure, size)
        written = []
        for suffix in formats:
            target = Path(f"{os.fspath(path)}.{suffix}")
            with atomic_path(target) as temporary:
                figure.savefig(temporary, dpi=150, metadata=_UNDATED.get(suffix))
            written.append(target)
    return written


def draw_figure(panels: Sequence[Panel], *, columns: int = 2) -> Figure:
    """Draw the panels in a grid on a new figure of pyplot, which a notebook shows by itself.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw, row by row.
    columns : int, default=2
        Panels in a row.

    Examples
    --------
    >>> from nnpu.report import Curve, Panel
    >>> panel = Panel("Risk", "epoch", "risk", [Curve("nnPU", [1, 2, 3], [0.5, 0.3, 0.2])])
    >>> len(draw_figure([panel]).axes)
    1
    """
    need("matplotlib", extra="plot", owner="draw_figure")
    import matplotlib.pyplot as plt

    size = _grid(panels, columns, "draw_figure")
    figure = plt.figure(figsize=(4.6 * size[1], 3.4 * size[0]), layout="constrained")
    _draw_panels(panels, figure, size)
    return figure


def _grid(panels: Sequence[Panel], columns: int, owner: str) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    columns = min(check_count("columns", columns, owner), len(panels))
    if not panels:
        raise ParameterError(
            f"The 'panels' parameter of {owner} must hold at least one Panel. Got none instead."
        )
    return -(-len(panels) // columns), columns


def _draw_panels(panels: Sequence[Panel], figure: Figure, size: tuple[int, int]) -> None:
    axes = np.atleast_1d(np.asarray(figure.subplots(*size))).ravel()
    for panel, ax in zip(panels, axes, strict=False):
        draw_panel(panel, ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()


def draw_panel(panel: Panel, ax: Axes) -> None:
    """Draw a panel on axes of matplotlib."""
    for curve in panel.curves:
        x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        colour = COLOURS[curve.colour]
        marker = "o" if curve.style == "points" or len(x) == 1 else ""
        ax.plot(
            x,
            y,
            label=curve.label or None,
            color=colour,
            linestyle=_DASHES[curve.style],
            marker=marker,
            markersize=3,
            linewidth=1.5,
        )
        if curve.fill:
            ax.fill_between(x, 0, y, color=colour, alpha=0.15, linewidth=0)
        if curve.spread is not None:
            low, high = curve.limits()
            if curve.style == "points":
                ax.errorbar(x, y, (y - low, high - y), fmt="none", ecolor=colour, elinewidth=1)
            else:
                ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    for x_mark, y_mark in panel.marks:
        ax.axvline(x_mark, color=COLOURS["grey"], linewidth=0.6, linestyle=":")
        ax.axhline(y_mark, color=COLOURS["grey"], linewidth=0.6, linestyle=":")
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    if panel.x_ticks:
        ax.set_xticks(*zip(*panel.x_ticks, strict=True))
    if panel.y_range is not None:
        ax.set_ylim(*panel.y_range)
    ax.set_title(panel.title, fontsize=10)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    ax.grid(alpha=0.25, linewidth=0.5)
    ax.spines[["top", "right"]].set_visible(False)
    if any(curve.label for curve in panel.curves):
        ax.legend(fontsize=8, frameon=False)
