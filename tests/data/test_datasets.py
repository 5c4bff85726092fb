"""The embedded digits, and where the paper's data sets are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from nnpu.data import example_table, load
from nnpu.parameters import InputError, ParameterError


def test_digits_are_split_once_and_for_all() -> None:
    """1,797 digits, of which 450 are for testing; each class keeps its share."""
    from sklearn.datasets import load_digits

    x, codes = load_digits(return_X_y=True)
    digits, again = load("digits"), load("digits")
    assert digits.x_train.shape == (1347, 64)
    assert digits.x_test.shape == (450, 64)
    assert digits.x_train.max() == 1
    assert np.array_equal(digits.x_train, again.x_train)
    assert np.array_equal(digits.y_test, again.y_test)
    # Every digit of the source is there once: its pixels and parity, in any order.
    stored = np.vstack(
        [
            np.column_stack([digits.x_train * 16, digits.y_train]),
            np.column_stack([digits.x_test * 16, digits.y_test]),
        ]
    )
    source = np.column_stack([x, np.where(codes % 2 == 0, 1, -1)])
    assert sorted(map(tuple, stored)) == sorted(map(tuple, source))
    assert abs(digits.prior - (digits.y_test == 1).mean()) < 0.01


def test_other_classes_can_be_the_positive_ones() -> None:
    from sklearn.datasets import load_digits

    codes = load_digits().target
    digits = load("digits", positive=[7])
    n_sevens = (digits.y_train == 1).sum() + (digits.y_test == 1).sum()
    assert n_sevens == (codes == 7).sum()


@pytest.mark.parametrize("positive", [[], range(10), [11], ["0"]])
def test_positive_must_be_some_but_not_all_classes(positive: Any) -> None:
    with pytest.raises(ParameterError, match="'positive' parameter of load"):
        load("digits", positive=positive)


@pytest.mark.parametrize("name", ["mnist", "epsilon", "20news", "cifar10"])
def test_a_data_set_of_the_paper_is_an_error_that_says_where_it_is(name: str) -> None:
    with pytest.raises(InputError, match=rf"install nnpu-paper .* nnpu_paper\.load\('{name}'\)"):
        load(name)


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
