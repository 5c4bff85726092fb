"""Risk curves: means and spreads by hand, and what a panel draws of which rows."""

from __future__ import annotations

import numpy as np
import pytest

from nnpu.report import mean_and_spread, risk_panel


def table(values, *, method="nnPU", curve="test_risk"):
    """Rows of one curve from ``values[sampling][epoch]``."""
    return [
        {"method": method, "curve": curve, "sampling": k, "epoch": epoch, "value": value}
        for k, run in enumerate(values)
        for epoch, value in enumerate(run, start=1)
    ]


def test_mean_and_standard_deviation_are_taken_over_the_samplings():
    """Epoch 1: 1 and 3, mean 2, deviation 1; epoch 2: 4 and 4, mean 4, deviation 0."""
    rows = table([[1, 4], [3, 4]]) + table([[100, 100]], method="uPU")
    rows += table([[7, 7]], curve="train_risk")
    epochs, means, spreads = mean_and_spread(rows[::-1], "nnPU", "test_risk")
    assert epochs.tolist() == [1, 2]
    assert means.tolist() == [2, 4]
    assert spreads.tolist() == [1, 0]


def both(test, train, method):
    return table(test, method=method) + table(train, method=method, curve="train_risk")


def test_each_method_has_its_test_curve_solid_and_its_training_curve_dashed():
    rows = both([[0.4, 0.3]], [[0.2, -0.1]], "uPU") + both([[0.4, 0.2]], [[0.3, 0.1]], "nnPU")
    panel = risk_panel(rows, ["uPU", "nnPU"], "Title")
    drawn = {curve.label: curve for curve in panel.curves}
    assert list(drawn) == ["uPU", "uPU, training", "nnPU", "nnPU, training"]
    assert [curve.style for curve in panel.curves] == ["solid", "dashed"] * 2
    assert list(drawn["uPU, training"].y) == [0.2, -0.1]
    assert drawn["uPU"].colour == drawn["uPU, training"].colour != drawn["nnPU"].colour
    assert panel.title == "Title"
    assert "sigmoid" in panel.y_label


def test_a_band_is_drawn_only_where_samplings_differ():
    one = risk_panel(table([[0.4, 0.3]]), ["nnPU"], "", training=False)
    two = risk_panel(table([[0.4, 0.3], [0.4, 0.5]]), ["nnPU"], "", training=False)
    assert one.curves[0].spread is None
    assert np.allclose(two.curves[0].spread, [0, 0.1])


@pytest.mark.parametrize("training", [True, False])
def test_the_lowest_mean_test_risk_is_marked_whether_or_not_training_is_drawn(training):
    rows = both([[0.4, 0.2, 0.3]], [[0.5, 0.4, 0.1]], "nnPU")
    panel = risk_panel(rows, ["nnPU"], "", mark_best=True, training=training)
    assert list(panel.marks) == [(2.0, 0.2)]


def test_the_zero_one_loss_has_curves_and_a_name_of_its_own():
    rows = table([[0.4]], curve="test_zero_one") + table([[0.9]])
    panel = risk_panel(rows, ["nnPU"], "", loss="zero_one", training=False)
    assert list(panel.curves[0].y) == [0.4]
    assert "zero-one" in panel.y_label


def test_no_method_is_left_out_however_many_there_are():
    names = [f"method {k}" for k in range(9)]
    rows = [row for name in names for row in table([[0.1]], method=name)]
    panel = risk_panel(rows, names, "", training=False)
    assert [curve.label for curve in panel.curves] == names
