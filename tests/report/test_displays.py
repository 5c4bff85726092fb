"""Displays and figures: those of the metrics, drawn where one wants them, the same on every run."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.image import imread

from nnpu import LinearPU, TablePU, metrics
from nnpu.parameters import InputError, ParameterError
from nnpu.report import (
    Curve,
    Panel,
    PriorDisplay,
    PUCalibrationDisplay,
    ScoreDisplay,
    ThresholdDisplay,
    save_figure,
)

DISPLAYS = (PriorDisplay, PUCalibrationDisplay, ScoreDisplay, ThresholdDisplay)


@pytest.fixture(autouse=True)
def _closed():
    import matplotlib as mpl

    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.4
    X = rng.normal(2.5 * y[:, None], 1, (1500, 2))
    return X, (y & (rng.random(1500) < 0.5)).astype(int)


@pytest.fixture(scope="module")
def linear(rows):
    X, s = rows
    return LinearPU(sampling="one-sample", random_state=0).fit(X[:800], s[:800])


@pytest.fixture(scope="module")
def table(rows):
    X, s = rows
    return TablePU(model="linear").fit(X, s)


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_is_drawn_on_the_axes_that_are_given(display, linear, rows):
    X, s = rows
    figure, (left, right) = plt.subplots(1, 2)
    shown = display.from_estimator(linear, X[800:], s[800:], ax=right)
    assert shown.ax_ is right
    assert shown.figure_ is figure
    assert not left.lines
    assert right.lines
    assert right.get_xlabel()
    assert right.get_ylabel()
    again = shown.plot()
    assert again is shown
    assert shown.ax_ is not right


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_table_s_model_shows_the_rows_that_it_set_aside(display, table):
    assert display.from_estimator(table).ax_.lines


def test_the_figures_are_those_of_the_metrics(linear, rows):
    X, s = rows[0][800:], rows[1][800:]
    shown = ThresholdDisplay.from_estimator(linear, X, s, plot=False)
    own = [row for row in shown.rows if row["threshold"] == linear.threshold_]
    how = {"prior": linear.prior_, "sampling": "one-sample"}
    flags = linear.predict(X)
    assert own[0]["precision"] == pytest.approx(metrics.pu_precision(s, flags, **how))
    assert own[0]["recall"] == pytest.approx(metrics.pu_recall(s, flags, **how))
    probabilities = linear.predict_proba(X)[:, 1]
    calibration = PUCalibrationDisplay.from_estimator(linear, X, s, plot=False)
    assert calibration.rows == metrics.reliability_table(s, probabilities, **how)


def test_drawn_shares_lie_between_none_and_all(rows):
    X, s = rows
    shown = ThresholdDisplay.from_predictions(
        s, X[:, 0], prior=0.9, sampling="one-sample", threshold=0.5
    )
    assert max(row["precision"] for row in shown.rows) > 1
    for line in shown.ax_.lines:
        y = line.get_ydata().astype(float)
        assert np.nanmax(y) <= 1
        assert np.nanmin(y) >= 0


def test_a_given_prior_has_no_curve_to_show(rows):
    X, s = rows
    given = LinearPU(0.4, sampling="one-sample").fit(X, s)
    with pytest.raises(InputError, match="from_predictions"):
        PriorDisplay.from_estimator(given, X, s)
    shown = PriorDisplay.from_predictions(
        s, given.decision_function(X), sampling="one-sample", random_state=0
    )
    assert abs(shown.estimate.value - 0.4) < 0.15


def test_rows_are_asked_for_where_none_were_kept(linear):
    with pytest.raises(InputError, match="X and s"):
        ScoreDisplay.from_estimator(linear)


def test_without_matplotlib_the_message_names_the_extra():
    """In a process of its own, in which matplotlib cannot be imported."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from nnpu.report import ScoreDisplay\n"
        "d = ScoreDisplay.from_predictions([1, 1, 0, 0], [3., 2., 1., 0.], prior=0.3, plot=False)\n"
        "try:\n    d.plot()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'nnpu[plot]'" in done.stdout


def test_a_notebook_shows_the_fitted_prior_and_how_sure_it_is(linear, rows):
    from sklearn.utils import estimator_html_repr

    X, s = rows
    given = LinearPU(0.4, sampling="one-sample")
    assert "Share of positives" not in given._repr_html_()
    given.fit(X, s)
    shown = given._repr_html_()
    assert shown.startswith(estimator_html_repr(given)[:200])
    assert "Share of positives: 0.4, as given." in shown
    assert "as given" in given._repr_mimebundle_()["text/html"]
    estimated = linear._repr_html_()
    assert f"{linear.prior_estimate_.low:.2f} to {linear.prior_estimate_.high:.2f}" in estimated


def test_the_box_links_to_the_site_if_the_package_names_one(monkeypatch):
    from email.message import Message

    assert "nnpu.LinearPU.html" not in LinearPU(0.4)._repr_html_()  # no site is published
    about = Message()
    about["Project-URL"] = "Source, https://example.org/code"
    about["Project-URL"] = "Documentation, https://example.org/nnpu/"
    monkeypatch.setattr("nnpu.estimators.base.metadata.metadata", lambda name: about)
    link = "https://example.org/nnpu/api/nnpu.LinearPU.html"
    assert f'href="{link}"' in LinearPU(0.4)._repr_html_()


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
