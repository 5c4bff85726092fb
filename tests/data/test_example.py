"""The bundled table: real, the same each time, and honest about its labels."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer

from nnpu.data import example_table


def test_every_labelled_row_of_the_example_is_malignant_and_about_half_of_those_are_labelled():
    known = example_table()["known"].fill_null(0).to_numpy()
    malignant = load_breast_cancer().target == 0
    assert not (known.astype(bool) & ~malignant).any()
    assert 90 < known.sum() < 122  # 106 expected, 16 is more than two standard deviations
    assert known.sum() == 96


def test_the_example_holds_the_measurements_and_nothing_that_gives_the_truth_away():
    table, data = example_table(), load_breast_cancer()
    measured = table.drop_columns(["id", "known"])
    np.testing.assert_array_equal(
        np.column_stack([column.to_numpy() for column in measured.columns]), data.data
    )
    assert len(set(table["id"].to_pylist())) == table.num_rows


def test_the_example_is_the_same_each_time():
    assert example_table().equals(example_table())
