"""Displays: the figures are those of the metrics, and they are drawn where one wants them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from nnpu import LinearPU, TablePU, metrics
from nnpu.parameters import InputError
from nnpu.report import PriorDisplay, PUCalibrationDisplay, ScoreDisplay, ThresholdDisplay

plt = pytest.importorskip("matplotlib.pyplot")

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
    monkeypatch.setattr("nnpu.estimators.notebook.metadata.metadata", lambda name: about)
    link = "https://example.org/nnpu/api/nnpu.LinearPU.html"
    assert f'href="{link}"' in LinearPU(0.4)._repr_html_()
