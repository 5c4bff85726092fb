"""The one renderer: panels of curves in, a PNG and an SVG out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from nnpu.extras import need
from nnpu.files import atomic_path
from nnpu.parameters import ParameterError, check_choice, check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

__all__ = ["COLOURS", "Curve", "Panel", "draw_figure", "draw_panel", "save_figure"]

#: Okabe and Ito's palette: told apart by colour-blind readers and in print.
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "grey": "#777777",
    "black": "#000000",
}
_DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "points": "none", "band": "none"}
# No date in the file: the same table gives the same bytes.
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


@dataclass(frozen=True)
class Curve:
    """One line of a panel.

    Parameters
    ----------
    label : str
        Name in the legend; empty for none.
    x, y : array-like
        The points.
    spread : array-like, optional
        Half the width of a band around `y`, such as a standard deviation; or two rows, how far
        the band reaches below and above `y`.
    colour : str
        One of blue, orange, green, red, purple, sky, grey, black.
    style : {"solid", "dashed", "dotted", "points", "band"}
        How it is drawn; the spread of points is an error bar, and a band is nothing but spread.
    fill : bool
        Whether the area between the line and zero is filled.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    spread: ArrayLike | None = None
    colour: str = "blue"
    style: Literal["solid", "dashed", "dotted", "points", "band"] = "solid"
    fill: bool = False

    def __post_init__(self) -> None:
        check_choice("colour", self.colour, "Curve", COLOURS)
        check_choice("style", self.style, "Curve", _DASHES)

    def limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper end of the band; both are `y` if there is none."""
        y = np.asarray(self.y, dtype=float)
        spread = np.asarray(0.0 if self.spread is None else self.spread, dtype=float)
        below, above = spread if spread.ndim == 2 else (spread, spread)
        return y - below, y + above


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title, x_label, y_label : str
        What it shows.
    curves : sequence of Curve
        The lines.
    log_x, log_y : bool
        Logarithmic axes.
    y_range : tuple of float, optional
        Limits of the vertical axis.
    marks : sequence of (x, y) pairs
        Points to single out: a thin cross-hair through each.
    x_ticks : sequence of (x, text) pairs
        In place of numbers along the horizontal axis.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None
    marks: Sequence[tuple[float, float]] = ()
    x_ticks: Sequence[tuple[float, str]] = ()


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
