"""A panel as a drawing: where each line, tick and word of its picture stands.

Coordinates are made here, with NumPy; `templates/parts.html` writes them as inline SVG, whose
colours are names that the style sheet knows, in light and in dark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from nnpu.report.panels import Curve, Panel

__all__ = ["PLOT", "Axis", "Drawing", "axes_of", "drawing", "horizontal", "number"]


class Plot(NamedTuple):
    """The plot's place in the picture."""

    left: float
    top: float
    right: float
    bottom: float


PLOT = Plot(46, 26, 432, 222)


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers on a stretch of the picture.

    Parameters
    ----------
    low, high : float
        The numbers at its ends; both positive if it is logarithmic.
    start, end : float
        Their places.
    log : bool
        Whether equal ratios, not equal differences, are equally far apart.

    Examples
    --------
    >>> Axis(0.0, 1.0, 100.0, 300.0).place([0.0, 0.5]).tolist()
    [100.0, 200.0]
    >>> Axis(1.0, 100.0, 0.0, 10.0, log=True).place([10.0]).tolist()
    [5.0]
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def around(
        cls, values: ArrayLike, start: float, end: float, *, log: bool = False, margin: float = 0.0
    ) -> Axis:
        """Return an axis that holds all values that can stand on it, with a margin."""
        found = np.asarray(values, dtype=float)
        found = found[np.isfinite(found) & ((found > 0) if log else True)]
        if found.size == 0:
            found = np.array([1.0])
        low, high = float(found.min()), float(found.max())
        if log:
            low, high = (low / 2, high * 2) if low == high else (low, high)
            spare = (high / low) ** margin
            return cls(low / spare, high * spare, start, end, log)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        spare = margin * (high - low)
        return cls(low - spare, high + spare, start, end)

    def place(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return where the values stand; NaN for those that cannot."""
        x = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.where(x > 0, np.log10(x), np.nan)
            low, high = math.log10(low), math.log10(high)
        places: NDArray[np.float64] = self.start + (x - low) / (high - low) * (
            self.end - self.start
        )
        return places

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers on the axis.

        >>> Axis(0.03, 0.97, 0, 1).ticks()
        [0.2, 0.4, 0.6, 0.8]
        >>> Axis(5, 2000, 0, 1, log=True).ticks()
        [10.0, 100.0, 1000.0]
        """
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            if last > first:
                every = max(1, round((last - first) / about))
                return [10.0**power for power in range(first, last + 1, every)]
        raw = (self.high - self.low) / about
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * 0.8)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(n * step, 12) + 0.0 for n in range(first, last + 1)]


class Shape(NamedTuple):
    """A path, or a point, and the classes that say how it looks."""

    look: str
    path: str = ""
    point: tuple[float, float] | None = None


class Tick(NamedTuple):
    """A number beside an axis: its place, its text, and where the text begins or ends."""

    place: float
    text: str
    anchor: str
    zero: bool = False


@dataclass(frozen=True)
class Drawing:
    """A panel with everything in its place, for the template.

    Attributes
    ----------
    name : str
        An id that nothing else on the page has.
    panel : Panel
        What is drawn; its titles and labels are written as they are.
    description : str
        For those who do not see it.
    legend : list of Curve
        The curves that have a name.
    x_ticks, y_ticks : list of Tick
        The numbers beside the axes.
    shapes : list of Shape
        Lines, areas and points, in the order in which they cover each other.
    crosses : list of (float, float)
        Places that are singled out.
    marker : bool
        Whether there is a vertical line that the page's script can move.
    width, height, plot
        Of every picture: its size, and where in it the axes are.
    """

    width: ClassVar[int] = 440
    height: ClassVar[int] = 264
    plot: ClassVar[Plot] = PLOT

    name: str
    panel: Panel
    description: str
    legend: list[Curve]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    shapes: list[Shape]
    crosses: list[tuple[float, float]]
    marker: bool = False


def drawing(panel: Panel, name: str, *, marker: bool = False) -> Drawing:
    """Put everything of a panel in its place.

    Parameters
    ----------
    panel : Panel
        What to draw.
    name : str
        An id that nothing else on the page has.
    marker : bool
        Whether there is a vertical line that a script can move.

    Examples
    --------
    >>> from nnpu.report.panels import Curve, Panel
    >>> found = drawing(Panel("Risk", "epoch", "risk", [Curve("nnPU", [1, 2], [0.5, 0.2])]), "risk")
    >>> found.description
    'nnPU: 0.5 at 1, 0.2 at 2.'
    >>> [tick.text for tick in found.y_ticks]
    ['0', '0.1', '0.2', '0.3', '0.4', '0.5']
    """
    x_axis, y_axis = axes_of(panel)
    return Drawing(
        name=name,
        panel=panel,
        description=_description(panel),
        legend=[curve for curve in panel.curves if curve.label],
        x_ticks=list(_x_ticks(panel, x_axis)),
        y_ticks=[
            Tick(round(float(y), 1), number(value), "end", value == 0)
            for value, y in zip(y_axis.ticks(), y_axis.place(y_axis.ticks()), strict=True)
        ],
        shapes=[shape for curve in panel.curves for shape in _shapes(curve, x_axis, y_axis)],
        crosses=[
            (round(float(x_axis.place(x)), 1), round(float(y_axis.place(y)), 1))
            for x, y in panel.marks
        ],
        marker=marker,
    )


def axes_of(panel: Panel) -> tuple[Axis, Axis]:
    """Return the two axes of a panel; the vertical one holds zero unless it is logarithmic."""
    _, top, _, bottom = PLOT
    x = np.concatenate([np.asarray(curve.x, dtype=float) for curve in panel.curves])
    if panel.y_range is not None:
        y_axis = Axis(*panel.y_range, bottom, top, panel.log_y)
    else:
        y = np.concatenate([limit for curve in panel.curves for limit in curve.limits()])
        y = y if panel.log_y else np.append(y, 0.0)
        y_axis = Axis.around(y, bottom, top, log=panel.log_y, margin=0.03)
    return horizontal(x, log=panel.log_x), y_axis


def horizontal(values: ArrayLike, *, log: bool = False) -> Axis:
    """Return the horizontal axis of a chart of these values."""
    return Axis.around(values, PLOT.left, PLOT.right, log=log, margin=0.01)


def _x_ticks(panel: Panel, axis: Axis) -> Iterator[Tick]:
    for value, text in panel.x_ticks or [(value, number(value)) for value in axis.ticks()]:
        x = round(float(axis.place(value)), 1)
        # The text of a tick at the right end would leave the picture if it stood below its middle.
        yield Tick(x, text, "end" if x > PLOT.right - 12 else "middle")


def _shapes(curve: Curve, x_axis: Axis, y_axis: Axis) -> Iterator[Shape]:
    x, y = x_axis.place(curve.x), y_axis.place(curve.y)
    shown = np.isfinite(x) & np.isfinite(y)
    colour = f"c-{curve.colour}"
    if curve.fill:
        floor = np.full_like(y, float(y_axis.place(0.0)))
        yield Shape(f"area {colour}", _outline(x[shown], y[shown], floor[shown]))
    if curve.spread is not None:
        low, high = (y_axis.place(limit) for limit in curve.limits())
        if curve.style == "points":
            yield Shape(f"line bar {colour}", _bars(x[shown], low[shown], high[shown]))
        else:
            band = shown & np.isfinite(low) & np.isfinite(high)
            yield Shape(f"area {colour}", _outline(x[band], low[band], high[band]))
    if curve.style == "band":
        return
    if curve.style == "points" or shown.sum() == 1:
        for across, up in zip(x[shown].round(1), y[shown].round(1), strict=True):
            yield Shape(f"point {colour}", point=(float(across), float(up)))
    else:
        yield Shape(f"line {curve.style} {colour}", _path(x[shown], y[shown]))


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    points = [f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)]
    return "M" + "L".join(points) if points else ""


def _outline(x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    return _path(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])) + "Z"


def _bars(x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    return "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(x, low, high, strict=True))


def _description(panel: Panel) -> str:
    """Say where every named curve begins and ends, and its extremes where they are elsewhere."""
    sentences = []
    for curve in panel.curves:
        x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        seen = np.flatnonzero(np.isfinite(y))
        if not curve.label or seen.size == 0:
            continue
        marks = {seen[0]: "", seen[-1]: ""}
        marks |= {seen[np.argmin(y[seen])]: "lowest ", seen[np.argmax(y[seen])]: "highest "}
        ends = {seen[0], seen[-1]}
        words = [
            f"{'' if i in ends else marks[i]}{number(y[i])} at {number(x[i])}"
            for i in sorted(marks)
        ]
        sentences.append(f"{curve.label}: {', '.join(words)}.")
    return " ".join(sentences) or f"{panel.y_label} against {panel.x_label}."


def number(value: float, digits: int = 3) -> str:
    """Write a number of an axis or a sentence, short.

    >>> number(0.25), number(-3.0), number(12000.0), number(1e-05), number(float("nan"))
    ('0.25', '−3', '12,000', '1e−5', '–')
    >>> number(-0.12344, digits=4)
    '−0.1234'
    """
    if not math.isfinite(value):
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        text = f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e")
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return text.replace("-", "−")
