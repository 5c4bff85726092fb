"""A panel as inline SVG: colours are names that the style sheet knows, in light and in dark."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu.report.html.markup import Html, join, number, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from nnpu.report.panels import Curve, Panel

__all__ = ["Axis", "axes_of", "chart", "charts", "horizontal"]

_WIDTH, _HEIGHT = 440, 264
# The plot in the picture: left, top, right, bottom.
_PLOT = (46, 26, 432, 222)


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


def charts(panels: Sequence[Panel], name: str) -> Html:
    """Return panels side by side where there is room, below each other where there is not."""
    figures = (chart(panel, f"{name}-{i}") for i, panel in enumerate(panels, start=1))
    return tag("div", *figures, class_="charts")


def chart(panel: Panel, name: str, *, marker: bool = False) -> Html:
    """Return a panel as a figure with its legend and a description for those who do not see it.

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
    >>> figure = chart(Panel("Risk", "epoch", "risk", [Curve("nnPU", [1, 2], [0.5, 0.2])]), "risk")
    >>> "<desc>nnPU: 0.5 at 1, 0.2 at 2.</desc>" in figure
    True
    """
    x_axis, y_axis = axes_of(panel)
    left, top, right, bottom = _PLOT
    inner = join(part for curve in panel.curves for part in _curve(curve, x_axis, y_axis))
    crosses = join(part for mark in panel.marks for part in _cross(*mark, x_axis, y_axis))
    line = tag("line", class_="marker", id=f"{name}-marker", x1=-9, x2=-9, y1=top, y2=bottom)
    box = f"{left} {top - 4} {right - left} {bottom - top + 8}"
    clip = {"x": left, "y": top - 4, "width": right - left, "height": bottom - top + 8}
    drawing = tag(
        "svg",
        tag("title", panel.title),
        tag("desc", _description(panel)),
        _grid(panel, x_axis, y_axis),
        tag("svg", inner, crosses, line if marker else Html(), viewBox=box, **clip),
        role="img",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
    )
    return tag("figure", tag("figcaption", panel.title), _legend(panel.curves), drawing, id=name)


def axes_of(panel: Panel) -> tuple[Axis, Axis]:
    """Return the two axes of a panel; the vertical one holds zero unless it is logarithmic."""
    _, top, _, bottom = _PLOT
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
    return Axis.around(values, _PLOT[0], _PLOT[2], log=log, margin=0.01)


def _grid(panel: Panel, x_axis: Axis, y_axis: Axis) -> Html:
    left, top, right, bottom = _PLOT
    parts = []
    for value, y in zip(y_axis.ticks(), y_axis.place(y_axis.ticks()), strict=True):
        zero = "grid zero" if value == 0 else "grid"
        parts.append(tag("line", class_=zero, x1=left, x2=right, y1=y, y2=y))
        parts.append(
            tag("text", number(value), class_="tick", x=left - 6, y=y + 4, text_anchor="end")
        )
    ticks = panel.x_ticks or [(value, number(value)) for value in x_axis.ticks()]
    for value, text in ticks:
        x = float(x_axis.place(value))
        anchor = "end" if x > right - 12 else "middle"
        parts.append(tag("line", class_="grid", x1=x, x2=x, y1=bottom, y2=bottom + 4))
        parts.append(
            tag("text", text, class_="tick", x=min(x, right), y=bottom + 17, text_anchor=anchor)
        )
    middle = (left + right) / 2
    parts.append(
        tag("text", panel.x_label, class_="label", x=middle, y=_HEIGHT - 6, text_anchor="middle")
    )
    parts.append(tag("text", panel.y_label, class_="label", x=2, y=top - 14))
    return tag("g", *parts, aria_hidden="true")


def _curve(curve: Curve, x_axis: Axis, y_axis: Axis) -> Iterator[Html]:
    x, y = x_axis.place(curve.x), y_axis.place(curve.y)
    shown = np.isfinite(x) & np.isfinite(y)
    colour = f"c-{curve.colour}"
    if curve.fill:
        floor = np.full_like(y, float(y_axis.place(0.0)))
        yield tag("path", class_=f"area {colour}", d=_outline(x[shown], y[shown], floor[shown]))
    if curve.spread is not None:
        low, high = (y_axis.place(limit) for limit in curve.limits())
        if curve.style == "points":
            yield tag(
                "path", class_=f"line bar {colour}", d=_bars(x[shown], low[shown], high[shown])
            )
        else:
            band = shown & np.isfinite(low) & np.isfinite(high)
            yield tag("path", class_=f"area {colour}", d=_outline(x[band], low[band], high[band]))
    if curve.style == "band":
        return
    if curve.style == "points" or shown.sum() == 1:
        for point in zip(x[shown], y[shown], strict=True):
            yield tag("circle", class_=f"point {colour}", cx=point[0], cy=point[1], r=3)
    else:
        yield tag("path", class_=f"line {curve.style} {colour}", d=_path(x[shown], y[shown]))


def _cross(x: float, y: float, x_axis: Axis, y_axis: Axis) -> Iterator[Html]:
    left, top, right, bottom = _PLOT
    across, up = float(x_axis.place(x)), float(y_axis.place(y))
    yield tag("line", class_="cross", x1=across, x2=across, y1=top, y2=bottom)
    yield tag("line", class_="cross", x1=left, x2=right, y1=up, y2=up)


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    points = [f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)]
    return "M" + "L".join(points) if points else ""


def _outline(x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    return _path(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])) + "Z"


def _bars(x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    return "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(x, low, high, strict=True))


def _legend(curves: Sequence[Curve]) -> Html:
    items = [tag("li", _swatch(curve), curve.label) for curve in curves if curve.label]
    return tag("ul", *items, class_="legend") if items else Html()


def _swatch(curve: Curve) -> Html:
    colour = f"c-{curve.colour}"
    if curve.style == "points":
        mark = tag("circle", class_=f"point {colour}", cx=12, cy=6, r=3.5)
    else:
        mark = tag("path", class_=f"line {curve.style} {colour}", d="M1 6H23")
    area = tag("rect", class_=f"area {colour}", x=1, y=6, width=22, height=6)
    return tag("svg", area if curve.fill else Html(), mark, viewBox="0 0 24 12", aria_hidden="true")


def _description(panel: Panel) -> str:
    """Say where every named curve begins and ends, and its extremes where they are elsewhere."""
    sentences = []
    for curve in panel.curves:
        x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        seen = np.flatnonzero(np.isfinite(y))
        if not curve.label or seen.size == 0:
            continue
        told = {seen[0]: "", seen[-1]: ""}
        told |= {seen[np.argmin(y[seen])]: "lowest ", seen[np.argmax(y[seen])]: "highest "}
        ends = {seen[0], seen[-1]}
        words = [
            f"{'' if i in ends else told[i]}{number(y[i])} at {number(x[i])}" for i in sorted(told)
        ]
        sentences.append(f"{curve.label}: {', '.join(words)}.")
    return " ".join(sentences) or f"{panel.y_label} against {panel.x_label}."
