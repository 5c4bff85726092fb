"""Charts: every line stands where its axes say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.elements import Elements

from nnpu.report import Curve, Panel
from nnpu.report.charts import Axis, axes_of, drawing
from nnpu.report.html import fill


def chart(panel, name, *, marker=False):
    """Return a panel as a page shows it."""
    return fill("charts.html", words=[], drawings=[drawing(panel, name, marker=marker)])


def points(path):
    return np.array([pair.split() for pair in path.strip("MZ").split("L")], dtype=float)


def test_a_curve_is_drawn_where_its_axes_say():
    """The ends of the axes are known places; between them the scale is linear, or logarithmic."""
    x, y = np.array([1.0, 10.0, 1000.0]), np.array([0.0, 0.25, 1.0])
    panel = Panel("t", "x", "y", [Curve("c", x, y)], log_x=True, y_range=(0.0, 1.0))
    (path,) = [a["d"] for a in Elements(chart(panel, "n")).of("path") if "d" in a][-1:]
    drawn = points(path)
    across = (drawn[:, 0] - drawn[0, 0]) / (drawn[-1, 0] - drawn[0, 0])
    np.testing.assert_allclose(across, [0, 1 / 3, 1], atol=1e-3)
    np.testing.assert_allclose(drawn[:, 1], [222, 222 - 0.25 * 196, 26], atol=0.06)


def test_what_cannot_be_drawn_is_left_out():
    y = [0.1, float("nan"), 10.0, -1.0]
    panel = Panel("t", "x", "y", [Curve("c", [1, 2, 3, 4], y)], log_y=True)
    drawn = Elements(chart(panel, "n"))
    assert len(points(drawn.of("path")[-1]["d"])) == 2
    assert "nan" not in chart(panel, "n")
    empty = Panel("t", "x", "y", [Curve("c", [1.0], [float("nan")])])
    assert "nan" not in chart(empty, "n")


def test_a_curve_of_one_point_equal_values_bands_and_bars_are_drawn():
    curves = [
        Curve("one", [1], [2]),
        Curve("flat", [0, 1], [2, 2], [0.5, 0.5], style="band"),
        Curve("bars", [0, 1], [1, 3], [0.5, 1.0], style="points"),
        Curve("area", [0, 1], [1, 3], fill=True),
    ]
    drawn = Elements(chart(Panel("t", "x", "y", curves, marks=[(0.5, 2)]), "n", marker=True))
    classes = [attributes.get("class", "") for _, attributes in drawn.found]
    assert sum("point" in name for name in classes) == 1 + 2 + 1  # and one in the legend
    assert sum(name.startswith("area") for name in classes) == 2 + 1
    assert sum("bar" in name for name in classes) == 1
    assert classes.count("cross") == 2
    assert [a["id"] for a in drawn.of("line") if "id" in a] == ["n-marker"]


def test_the_vertical_axis_holds_zero_and_the_spread():
    panel = Panel("t", "x", "y", [Curve("c", [0, 1], [5, 6], [1, 1])])
    _, y_axis = axes_of(panel)
    assert y_axis.low <= 0 < 7 <= y_axis.high


@pytest.mark.parametrize("low", [-1.0, 0.0, 0.013, 40.0, 1e-7])
@pytest.mark.parametrize("width", [1e-6, 0.37, 1.0, 12.0, 3e5])
def test_ticks_are_few_round_and_on_the_axis(low, width):
    ticks = Axis(low, low + width, 0, 1).ticks()
    assert 3 <= len(ticks) <= 8
    assert low - 1e-9 * width <= ticks[0] < ticks[-1] <= low + width * (1 + 1e-9)
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-5)
    assert f"{steps[0]:.6e}"[0] in "1259"  # 1, 2 or 5 times a power of ten (4.999… is 5)
