"""The renderer: what is asked for is drawn, in files that are the same on every run."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from nnpu.parameters import ParameterError
from nnpu.report import Curve, Panel, save_figure

X = np.arange(1, 6)


def panel(title="Risk", **options) -> Panel:
    curves = options.pop("curves", [Curve("nnPU", X, 1 / X), Curve("uPU", X, -X, colour="red")])
    return Panel(title, "epoch", "risk", curves, **options)


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draw panels and return matplotlib's axes, with their artists, instead of saving them."""
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))

    def draw(*panels, **options):
        save_figure(panels, tmp_path / "figure", formats=["png"], **options)
        return figures[-1].axes

    return draw


def test_one_file_is_written_for_each_format(tmp_path):
    paths = save_figure([panel()], tmp_path / "new" / "figure1.v2")
    assert [path.name for path in paths] == ["figure1.v2.png", "figure1.v2.svg"]
    assert sorted(entry.name for entry in (tmp_path / "new").iterdir()) == [
        "figure1.v2.png",
        "figure1.v2.svg",
    ]
    image = imread(paths[0])
    assert image.shape[:2] == (510, 690)  # 3.4 and 4.6 inches at 150 dots
    assert ElementTree.parse(paths[1]).getroot().tag.endswith("svg")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_panels_give_the_same_bytes_on_another_day(tmp_path, monkeypatch, suffix):
    written = []
    for day in ("0", "86400"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", day)  # matplotlib's clock for dated formats
        panels = [panel(curves=[Curve("nnPU", X, X, spread=X / 9)])]
        (path,) = save_figure(panels, tmp_path / f"day{day}", formats=[suffix])
        written.append(path.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("count", "columns", "shape"), [(1, 2, (1, 1)), (2, 2, (1, 2)), (3, 2, (2, 2)), (3, 1, (3, 1))]
)
def test_panels_fill_a_grid_row_by_row_and_leave_no_empty_axes(drawn, count, columns, shape):
    axes = drawn(*(panel(f"panel {i}") for i in range(count)), columns=columns)
    assert axes[0].get_subplotspec().get_gridspec().get_geometry() == shape
    assert [ax.get_title() for ax in axes if ax.axison] == [f"panel {i}" for i in range(count)]
    assert len(axes) - count == sum(not ax.axison for ax in axes)


def test_every_curve_is_drawn_with_its_points_name_colour_and_dashes(drawn):
    curves = [
        Curve("nnPU", X, 1 / X, colour="green", style="dashed"),
        Curve("", X, X**2, colour="black", style="points"),
    ]
    (ax,) = drawn(panel(curves=curves))
    first, second = ax.lines
    np.testing.assert_array_equal(first.get_xydata(), np.column_stack([X, 1 / X]))
    np.testing.assert_array_equal(second.get_ydata(), X**2)
    assert (first.get_color(), first.get_linestyle(), first.get_marker()) == ("#009E73", "--", "")
    assert (second.get_color(), second.get_linestyle(), second.get_marker()) == (
        "#000000",
        "None",
        "o",
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["nnPU"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epoch", "risk")


def test_a_curve_of_one_point_is_visible(drawn):
    (ax,) = drawn(panel(curves=[Curve("one", [1], [2])]))
    assert ax.lines[0].get_marker() == "o"


def test_there_is_no_legend_without_names(drawn):
    (ax,) = drawn(panel(curves=[Curve("", X, X)]))
    assert ax.get_legend() is None


def test_a_spread_is_a_band_around_the_curve(drawn):
    (ax,) = drawn(panel(curves=[Curve("mean", X, 10.0 * X, spread=np.full(5, 2.0))]))
    (band,) = ax.collections
    vertices = band.get_paths()[0].vertices
    for x in X:
        heights = vertices[vertices[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (10 * x - 2, 10 * x + 2)


def test_points_have_error_bars_and_a_band_has_no_line(drawn):
    curves = [
        Curve("points", X, X, spread=np.full(5, 0.5), style="points"),
        Curve("", X, X, spread=np.full(5, 0.5), style="band"),
        Curve("", X, X, fill=True),
    ]
    (ax,) = drawn(panel(curves=curves))
    bars, band, area = ax.collections
    assert bars.get_segments()[0].tolist() == [[1, 0.5], [1, 1.5]]
    heights = band.get_paths()[0].vertices
    assert (heights[:, 1].min(), heights[:, 1].max()) == (0.5, 5.5)
    assert area.get_paths()[0].vertices[:, 1].min() == 0
    line = ax.lines[-2]
    assert (line.get_linestyle(), line.get_marker()) == ("None", "")


def test_words_can_stand_in_place_of_numbers_along_an_axis(drawn):
    (ax,) = drawn(panel(x_ticks=[(1, "low"), (5, "high")]))
    assert ax.get_xticks().tolist() == [1, 5]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["low", "high"]


def test_axes_follow_the_panel(drawn):
    (ax,) = drawn(panel(curves=[Curve("", X, X)], log_x=True, log_y=True, y_range=(0.5, 8)))
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylim()) == ("log", "log", (0.5, 8))


def test_marks_are_cross_hairs(drawn):
    (ax,) = drawn(panel(curves=[Curve("", X, X)], marks=[(2, 3)]))
    assert [line.get_xdata()[0] for line in ax.lines[1:2]] == [2]
    assert [line.get_ydata()[0] for line in ax.lines[2:3]] == [3]


def test_nothing_to_draw_is_an_error_and_not_a_crash(tmp_path):
    with pytest.raises(ParameterError, match="The 'panels' parameter of save_figure must"):
        save_figure([], tmp_path / "figure")


@pytest.mark.parametrize("columns", [0, -1, 1.5, None])
def test_the_number_of_columns_is_checked(tmp_path, columns):
    with pytest.raises(ParameterError, match="The 'columns' parameter of save_figure must"):
        save_figure([panel()], tmp_path / "figure", columns=columns)


@pytest.mark.parametrize(("field", "value"), [("colour", "blau"), ("style", "wavy")])
def test_an_unknown_colour_or_style_is_refused_with_the_valid_ones(field, value):
    with pytest.raises(ParameterError, match=rf"The '{field}' parameter of Curve must be .*among"):
        Curve("x", X, X, **{field: value})


def test_drawing_leaves_no_figure_open_and_no_setting_changed(tmp_path):
    from matplotlib import pyplot, rcParams

    before = dict(rcParams)
    save_figure([panel()], tmp_path / "figure", formats=["png"])
    assert dict(rcParams) == before
    assert pyplot.get_fignums() == []


def test_matplotlib_is_loaded_only_to_draw_and_needs_no_screen(tmp_path):
    code = (
        "import sys; from nnpu.report import Curve, Panel, save_figure; "
        "assert 'matplotlib' not in sys.modules; "
        "save_figure([Panel('t', 'x', 'y', [Curve('c', [1, 2], [3, 4])])], sys.argv[1]); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "figure")], check=True)
    assert (tmp_path / "figure.png").stat().st_size > 0
