"""Labels of every coding become 1 labelled positive, 0 unlabelled, −1 known negative."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nnpu.estimators.labels import encode, fit_labels
from nnpu.parameters import InputError

CODINGS = [
    [0, 1],
    [1, 2],
    [-1, 1],
    [0.0, 1.0],
    [False, True],
    ["no", "yes"],
    ["p", "u"],  # the greater is labelled, whatever the letters suggest
    [-5, 70],
]
WRAPS = {
    "list": list,
    "array": np.array,
    "pandas": pd.Series,
    "objects": lambda s: np.array(s, dtype=object),
}


@pytest.mark.filterwarnings("ignore:The labels are words")
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("values", CODINGS)
def test_the_greater_of_two_values_is_labelled_and_the_other_unlabelled(values, wrap):
    if wrap == "objects" and not isinstance(values[0], str):
        return  # scikit-learn takes objects for labels only if they are strings
    low, high = values
    found, codes = fit_labels(WRAPS[wrap]([high, low, low, high]))
    assert found.tolist() == values
    assert codes.tolist() == [1, 0, 0, 1]
    assert codes.dtype == np.int8
    assert encode(WRAPS[wrap]([low, high]), found).tolist() == [0, 1]


@pytest.mark.parametrize("kind", [int, float, np.int8])
def test_exactly_minus_one_zero_one_are_known_negatives_too(kind):
    found, codes = fit_labels(np.array([0, -1, 1, 0], dtype=kind))
    assert found.tolist() == [-1, 1]
    assert codes.tolist() == [0, -1, 1, 0]


@pytest.mark.parametrize(
    "values", [[0, 1, 2], [-1, 1, 2], ["a", "b", "c"], ["-1", "0", "1"], list(range(9))]
)
def test_any_other_three_values_are_refused_and_shown(values):
    with pytest.raises(
        InputError, match=r"Only binary classification is supported.*Got \d instead"
    ):
        fit_labels(values)


def test_one_value_is_refused():
    with pytest.raises(InputError, match=r"Only one class.*Got 1 instead: 1\."):
        fit_labels([1, 1, 1])


def test_continuous_labels_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        fit_labels([0.1, 0.7, 0.3])


def test_labels_in_two_columns_are_refused():
    with pytest.raises(ValueError, match="1d array"):
        fit_labels([[0, 1], [1, 0]])


def test_a_label_that_fit_did_not_see_is_refused_with_the_way_out():
    with pytest.raises(InputError, match=r"among \[0, 1\], as in fit\. Got \[2\].*accuracy_score"):
        encode([0, 1, 2], np.array([0, 1]))


def test_minus_one_means_what_it_meant_in_fit():
    """Fitted to {−1, 1}, −1 is unlabelled and 0 unknown; fitted to {−1, 0, 1}, −1 is negative."""
    classes = np.array([-1, 1])
    assert encode([-1, 1], classes).tolist() == [0, 1]
    assert encode([-1, 1], classes, known_negatives=True).tolist() == [-1, 1]
    assert encode([-1, 0, 1], classes, known_negatives=True).tolist() == [-1, 0, 1]
    with pytest.raises(InputError, match=r"among \[-1, 1\], as in fit"):
        encode([-1, 0, 1], classes)


@pytest.mark.parametrize(
    ("labels", "word"), [(["fraud", "unknown"], "unknown"), (["spam", "ham"], "spam")]
)
def test_of_two_words_the_one_that_was_taken_is_named(labels, word):
    with pytest.warns(UserWarning, match=f"'{word}' is taken as labelled positive"):
        fit_labels(labels * 3)


def test_yes_and_no_need_no_warning(recwarn):
    fit_labels(["yes", "no", "no"])
    assert not recwarn.list
