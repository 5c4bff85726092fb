"""Every mistake gives a clear error of the right type, before any work is done."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError
from torch import nn

from nnpu import PUClassifier
from nnpu.estimators import network
from nnpu.parameters import InputError, ParameterError

X = np.random.default_rng(0).normal(size=(20, 3))
S = np.repeat([1, 0], [8, 12])


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Make training and prior estimation fail, so that an error must come before them."""

    def refuse(*args, **kwargs):
        raise AssertionError("work was done before the input was checked")

    monkeypatch.setattr(network, "train", refuse)
    monkeypatch.setattr("nnpu.estimators.base.estimate_prior", refuse)


def with_value(value):
    x = X.copy()
    x[3, 1] = value
    return x


BAD_DATA = {
    "NaN": (with_value(np.nan), S, "Input X contains NaN"),
    "infinity": (with_value(np.inf), S, "Input X contains infinity"),
    "too large for float32": (with_value(1e300), S, "infinity or a value too large"),
    "NaN in a frame": (pd.DataFrame(with_value(np.nan)), S, "Input X contains NaN"),
    "NaN in a sparse matrix": (sparse.csr_array(with_value(np.nan)), S, "Input X contains NaN"),
    "NaN in a tensor": (torch.tensor(with_value(np.nan)), S, "Input X contains NaN"),
    "no rows": (X[:0], S[:0], r"Found array with 0 sample\(s\)"),
    "no columns": (X[:, :0], S, r"0 feature\(s\) \(shape=\(20, 0\)\) while a minimum of 1"),
    "one dimension": (X[:, 0], S, "Expected 2D array, got 1D array instead"),
    "text": (X.astype(str).astype(object) + "a", S, "could not convert string to float"),
    "complex": (X + 1j, S, "Complex data not supported"),
    "different length": (X, S[:-1], r"inconsistent numbers of samples: \[20, 19\]"),
    "one class": (X, np.ones(20), "Only one class"),
    "three classes": (X, np.arange(20) % 3, "Only binary classification is supported"),
    "three classes but not -1, 0, 1": (X, np.arange(20) % 3 - 2, "or be exactly -1"),
    "continuous labels": (X, X[:, 0], "Unknown label type: continuous"),
    "NaN labels": (X, np.where(S == 1, 1, np.nan), "Input y contains NaN"),
    "no labels": (X, None, "requires y to be passed, but the target y is None"),
    "two columns of labels": (X, np.c_[S, S], "y should be a 1d array"),
}


@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.parametrize("prior", [0.3, "auto"])
def test_unusable_data_is_a_value_error_in_scikit_learns_words(case, prior):
    x, s, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=message):
        PUClassifier(prior).fit(x, s)


RANGE = r"The '{0}' parameter of PUClassifier must be .*Got .* instead"
BAD_PARAMETERS = [
    *[("prior", value) for value in (0, 1, -0.1, 1.1, float("nan"), "abc", None, [0.5], True)],
    *[("beta", value) for value in (-0.1, float("nan"), "0", None)],
    *[("gamma", value) for value in (-0.1, 1.1, float("nan"), None)],
    *[("loss", value) for value in ("sigmod", 3, None)],
    *[("risk", value) for value in ("nnPU", 3, None)],
    *[("optimizer", value) for value in ("adm", 3, None)],
    *[("sampling", value) for value in ("single", 1, None)],
    *[("lr", value) for value in (0, -1e-3, float("nan"), "fast")],
    *[("weight_decay", value) for value in (-1, None)],
    *[("batch_size", value) for value in (0, -5, 2.5, "all", None, True)],
    *[("epochs", value) for value in (0, -1, 1.5, "many", None)],
    *[("device", value) for value in ("gpu", "cuda:99", 3.5)],
    *[("verbose", value) for value in (-1, "yes", None, 0.5)],
    *[("module", value) for value in ("mlp", 3, [nn.Linear(3, 1)])],
    *[("training", value) for value in ("cosine", {})],
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS)
def test_a_parameter_out_of_range_is_named_with_what_came(name, value):
    clf = PUClassifier(**({"prior": 0.3} | {name: value}))  # the constructor only stores
    with pytest.raises(ParameterError, match=RANGE.format(name)):
        clf.fit(X, S)


@pytest.mark.parametrize(
    ("name", "value", "valid"),
    [
        ("loss", "sigmod", ["zero_one", "ramp", "squared", "logistic", "hinge", "sigmoid"]),
        ("risk", "nn", ["nnpu", "upu", "pn", "abs", "imbalanced", "pnu", "nnpnu"]),
        ("optimizer", "adm", ["adam", "adamw", "adagrad", "rmsprop", "sgd"]),
        ("sampling", "one", ["one-sample", "two-sample"]),
    ],
)
def test_an_unknown_name_is_answered_with_the_valid_ones(name, value, valid):
    with pytest.raises(ParameterError) as error:
        PUClassifier(0.3, **{name: value}).fit(X, S)
    assert all(repr(choice) in str(error.value) for choice in valid)


def test_parameters_are_checked_before_the_data():
    with pytest.raises(ParameterError, match="'beta' parameter"):
        PUClassifier(0.3, beta=-1).fit(with_value(np.nan), S)


@pytest.mark.parametrize("bad", [-1, 2**32, 1.5, "seed"])
def test_a_seed_that_is_none_is_refused_in_scikit_learns_words(bad):
    with pytest.raises(ValueError, match=r"seed|Seed"):
        PUClassifier(0.3, random_state=bad).fit(X, S)


class Returns(nn.Module):
    """A module whose output is what `make` makes of the layer's."""

    def __init__(self, make):
        super().__init__()
        self.layer, self.make = nn.Linear(3, 1), make

    def forward(self, x):
        return self.make(self.layer(x))


WRONG_OUTPUT = {
    "two columns": (lambda g: g.repeat(1, 2), r"Got \(2, 2\) instead"),
    "an image": (lambda g: g[:, :, None], r"Got \(2, 1, 1\) instead"),
    "a scalar": (lambda g: g.sum(), r"Got \(\) instead"),
    "a row": (lambda g: g.T, r"Got \(1, 2\) instead"),
    "too many": (lambda g: g.repeat(2, 1), "Got 4 scores for a batch of 2 rows"),
}


@pytest.mark.parametrize("case", WRONG_OUTPUT)
@pytest.mark.parametrize("prior", [0.3, "auto"])
def test_a_module_of_the_wrong_shape_is_told_which_came_and_which_is_needed(case, prior):
    make, came = WRONG_OUTPUT[case]
    with pytest.raises(InputError, match=r"'module'.*shape \(n,\) or \(n, 1\).*" + came):
        PUClassifier(prior, module=Returns(make)).fit(X, S)


@pytest.mark.parametrize(
    "module", [Returns(lambda g: (g, g)), nn.Linear(5, 1), nn.Conv2d(1, 1, 3), nn.Embedding(9, 1)]
)
def test_a_module_that_cannot_take_the_rows_is_told_their_shape(module):
    with pytest.raises(InputError, match=r"'module'.*must take a batch of shape \(2, 3\)"):
        PUClassifier(0.3, module=module).fit(X, S)


@pytest.mark.parametrize("module", [nn.Identity(), nn.Linear(3, 1).requires_grad_(False)])
def test_a_module_without_weights_to_train_is_refused(module):
    with pytest.raises(ParameterError, match="must have parameters to train"):
        PUClassifier(0.3, module=module).fit(X, S)


def test_a_function_that_makes_no_module_is_refused():
    with pytest.raises(ParameterError, match=r"'module' parameter .* It made 3 instead"):
        PUClassifier(0.3, module=lambda: 3).fit(X, S)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_nothing_is_predicted_before_fit(method):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(PUClassifier(), method)(X)


def test_nothing_is_scored_before_fit():
    with pytest.raises(NotFittedError):
        PUClassifier().score(X, S)


@pytest.fixture
def fitted(monkeypatch):
    monkeypatch.undo()
    return PUClassifier(0.3, epochs=1, batch_size=20).fit(X, S)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_other_features_than_in_fit_are_refused(fitted, method):
    with pytest.raises(ValueError, match="X has 2 features, but PUClassifier is expecting 3"):
        getattr(fitted, method)(X[:, :2])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        getattr(fitted, method)(with_value(np.nan))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        getattr(fitted, method)(X[:0])
