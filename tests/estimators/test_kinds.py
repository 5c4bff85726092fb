"""Features of other kinds than numbers: one line that says what to do, and no mask is lost."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from nnpu import BoostedPU, EnsemblePU, LinearPU, PUClassifier, metrics
from nnpu.parameters import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
S = np.arange(60) % 2
DAYS = np.datetime64("2024-01-01") + np.arange(60)

KINDS = {
    "a LazyFrame": (pl.DataFrame({"a": X[:, 0]}).lazy(), r"Got a LazyFrame; pass X.collect\(\)"),
    "a structured array": (
        np.array([tuple(row) for row in X], dtype=[("a", float), ("b", float)]),
        "Got a structured array; pass",
    ),
    "dates": (DAYS[:, None], "X holds dates or times"),
    "durations": ((DAYS - DAYS[0])[:, None], "X holds dates or times"),
    "dates in pandas": (pd.DataFrame({"a": X[:, 0], "when": DAYS}), "Column 'when' holds dates"),
    "dates with a zone": (
        pd.DataFrame({"when": pd.to_datetime(DAYS).tz_localize("UTC")}),
        "Column 'when' holds dates",
    ),
    "dates in polars": (pl.DataFrame({"a": X[:, 0], "when": DAYS}), "Column 'when' holds dates"),
    "dates as objects": (
        np.array([[1.0, datetime.date(2024, 1, 3)]] * 60, dtype=object),
        "Column 1 holds dates",
    ),
    "a tensor without numbers": (torch.empty(60, 2, device="meta"), "meta device"),
}
CLASSIFIERS = {
    "network": lambda: PUClassifier(0.4, epochs=1, random_state=0),
    "linear": lambda: LinearPU(0.4),
    "trees": lambda: BoostedPU(0.4, n_estimators=2),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_no_matrix_of_numbers_is_an_input_error(name, kind):
    features, message = KINDS[kind]
    with pytest.raises(InputError, match=message):
        CLASSIFIERS[name]().fit(features, S)
    clf = CLASSIFIERS[name]().fit(X, S)
    with pytest.raises(InputError, match=message):
        clf.predict(features)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if "dates in" not in kind and "zone" not in kind]
)
def test_the_ensemble_says_the_same_of_what_it_does_not_take(kind):
    features, message = KINDS[kind]
    with pytest.raises(InputError, match=message):
        EnsemblePU(0.4).fit(features, S)


def test_masked_cells_are_missing_values_to_the_ensemble():
    masked = np.ma.masked_array(X.copy(), X > 1)
    masked.data[X > 1] = 1e9
    matrix, _ = EnsemblePU(0.4)._validate(masked, S)
    assert np.array_equal(matrix, np.where(X > 1, np.nan, X), equal_nan=True)


@pytest.mark.parametrize("name", ["network", "linear"])
def test_masked_cells_are_missing_values_and_refused(name):
    masked = np.ma.masked_array(X, np.zeros_like(X, bool))
    expected = CLASSIFIERS[name]().fit(X, S).decision_function(X)
    assert np.array_equal(CLASSIFIERS[name]().fit(masked, S).decision_function(masked), expected)
    masked[3, 1] = np.ma.masked
    with pytest.raises(InputError, match=r"takes no missing values: the cell \(3, 1\) is masked"):
        CLASSIFIERS[name]().fit(masked, S)


def test_masked_cells_are_missing_values_to_trees():
    masked = np.ma.masked_array(X.copy(), X > 1)
    masked.data[X > 1] = 1e9  # what nobody should see
    holes = np.where(X > 1, np.nan, X)
    found = CLASSIFIERS["trees"]().fit(masked, S).decision_function(masked)
    assert np.array_equal(found, CLASSIFIERS["trees"]().fit(holes, S).decision_function(holes))


def test_metrics_refuse_a_tensor_without_numbers():
    with pytest.raises(InputError, match="meta device"):
        metrics.pu_roc_auc(S, torch.empty(60, device="meta"), prior=0.4)
