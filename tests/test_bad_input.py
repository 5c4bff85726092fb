"""Bad input, one table: every public entry, what comes in, and what comes of it.

A row is a name, a call, and what must follow: an error of a stated type whose message says what is
wrong (a regular expression that must occur in it), or `FINITE`: a result without NaN or infinity.
No row may end in anything else, warnings included, and no row may train or estimate a prior before
it complains. Files that commands refuse stand in tests/cli/test_bad_files.py, forged model folders
in tests/estimators/test_hostile.py.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from torch import nn

import nnpu
from nnpu import (
    EnsemblePU,
    LinearPU,
    PUClassifier,
    PULoss,
    PUWrapper,
    TablePU,
    calibration,
    data,
    estimate_prior,
    losses,
    metrics,
    models,
    risk,
    sensitivity,
    theory,
)
from nnpu.cli import main
from nnpu.convex import CONVEX_LOSSES
from nnpu.estimators import network
from nnpu.parameters import InputError, ParameterError
from nnpu.training import Training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FINITE = None
NAN, INF = float("nan"), float("inf")
P, E, V = ParameterError, InputError, ValueError  # ValueError: scikit-learn's own words
RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
S = np.repeat([1, 0], [8, 12])
T = torch.tensor


class Row(NamedTuple):
    """A case of the table."""

    name: str
    call: Callable[[SimpleNamespace], Any]
    error: type[Exception] | None
    says: str


def rows(entry: str, *cases: tuple[str, Callable[[SimpleNamespace], Any], Any, str]) -> list[Row]:
    return [Row(f"{entry}: {case}", *rest) for case, *rest in cases]


def changed(value: float) -> np.ndarray:
    x = X.copy()
    x[3, 1] = value
    return x


def fit(x: Any = X, s: Any = S, **parameters: Any) -> Callable[[SimpleNamespace], Any]:
    return lambda _: PUClassifier(**({"prior": 0.3} | parameters)).fit(x, s)


class Returns(nn.Module):
    """A module whose output is what `make` makes of the layer's."""

    def __init__(self, make: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.layer, self.make = nn.Linear(3, 1), make

    def forward(self, x: torch.Tensor) -> Any:
        return self.make(self.layer(x))


# What PUClassifier, LinearPU and PUWrapper say of the same data, in scikit-learn's words.
BAD_DATA = [
    ("NaN", changed(NAN), S, "Input X contains NaN"),
    ("infinity", changed(INF), S, "Input X contains infinity"),
    ("too large for float32", changed(1e300), S, "infinity or a value too large"),
    ("NaN in a frame", pd.DataFrame(changed(NAN)), S, "Input X contains NaN"),
    ("NaN in a sparse matrix", sparse.csr_array(changed(NAN)), S, "Input X contains NaN"),
    ("NaN in a tensor", torch.tensor(changed(NAN)), S, "Input X contains NaN"),
    ("no rows", X[:0], S[:0], r"Found array with 0 sample\(s\)"),
    ("no columns", X[:, :0], S, r"0 feature\(s\) \(shape=\(20, 0\)\) while a minimum of 1"),
    ("one dimension", X[:, 0], S, "Expected 2D array, got 1D array instead"),
    ("text", X.astype(str).astype(object) + "a", S, "could not convert string to float"),
    ("complex", X + 1j, S, "Complex data not supported"),
    ("different length", X, S[:-1], r"inconsistent numbers of samples: \[20, 19\]"),
    ("one class", X, np.ones(20), "Only one class"),
    ("three classes", X, np.arange(20) % 3, "Only binary classification is supported"),
    ("three classes, not -1, 0, 1", X, np.arange(20) % 3 - 2, "or be exactly -1"),
    ("continuous labels", X, X[:, 0], "Unknown label type: continuous"),
    ("NaN labels", X, np.where(S == 1, 1, NAN), "Input y contains NaN"),
    ("no labels", X, None, "requires y to be passed, but the target y is None"),
    ("two columns of labels", X, np.c_[S, S], "y should be a 1d array"),
]
ESTIMATORS = {
    "PUClassifier": lambda prior: PUClassifier(prior),
    "LinearPU": lambda prior: LinearPU(prior),
    "PUWrapper": lambda prior: PUWrapper(LogisticRegression(), prior),
    "EnsemblePU": lambda prior: EnsemblePU(prior),
}
LEFT_TO_THE_ESTIMATOR = ("too large", "tensor", "no columns", "one dimension", "text")
# What EnsemblePU takes: gaps, and numbers of any size, which it centres first.
TAKEN = ("NaN", "NaN in a frame", "NaN in a tensor", "too large for float32")


def data_rows() -> Iterator[Row]:
    for name, make in ESTIMATORS.items():
        for case, x, s, says in BAD_DATA:
            if name == "PUWrapper" and any(word in case for word in LEFT_TO_THE_ESTIMATOR):
                continue
            if name == "EnsemblePU" and case in TAKEN:
                continue
            for prior in (0.3, "auto"):
                yield Row(
                    f"{name}({prior}).fit: {case}",
                    lambda _, make=make, prior=prior, x=x, s=s: make(prior).fit(x, s),
                    V,
                    says,
                )


BAD_PARAMETERS = {
    "prior": (0, 1, -0.1, 1.1, NAN, "abc", None, [0.5], True, 10**400),
    "beta": (-0.1, NAN, "0", None),
    "gamma": (-0.1, 1.1, NAN, None),
    "loss": ("sigmod", 3, None),
    "risk": ("nnPU", 3, None),
    "optimizer": ("adm", 3, None),
    "sampling": ("single", 1, None),
    "lr": (0, -1e-3, NAN, "fast"),
    "weight_decay": (-1, None),
    "batch_size": (0, -5, 2.5, "all", None, True),
    "epochs": (0, -1, 1.5, "many", None),
    "device": ("gpu", "cuda:99", 3.5),
    "verbose": (-1, "yes", None, 0.5),
    "module": ("mlp", 3, [nn.Linear(3, 1)]),
    "training": ("cosine", {}),
}
BAD_LINEAR = {
    "loss": ("sigmoid", "hinge", 3),
    "alpha": (0, -1, NAN, INF, "a", None),
    "basis": ("poly", 3),
    "n_components": (0, 1.5, "a"),
    "gamma": (0, -1, NAN, "scale"),
    "tol": (0, NAN, "a"),
    "max_iter": (0, 1.5),
    "sampling": ("one", 1, None),
    "prior": (0, 1, -0.1, NAN, "half", None),
    "fit_intercept": (None, "yes", 2),
}


def parameter_rows() -> Iterator[Row]:
    """Each parameter is named together with what came; the constructor only stores it."""
    for owner, make, table in (
        ("PUClassifier", PUClassifier, BAD_PARAMETERS),
        ("LinearPU", LinearPU, BAD_LINEAR),
    ):
        for name, values in table.items():
            for value in values:
                parameters = {"prior": 0.3} | {name: value}
                yield Row(
                    f"{owner}.fit: {name}={str(value)[:20]}",
                    lambda _, make=make, parameters=parameters: make(**parameters).fit(X, S),
                    P,
                    rf"'{name}' parameter of {owner} (must be .*|is convex only .*)?Got .*instead"
                    if (owner, name) != ("LinearPU", "loss")
                    else r"'loss' parameter of LinearPU",
                )


def table(x: Any = X, s: Any = S, **parameters: Any) -> Callable[[SimpleNamespace], Any]:
    return lambda _: TablePU(**({"prior": 0.5, "model": "linear"} | parameters)).fit(x, s)


TABLE_ROWS = rows(
    "TablePU.fit",
    ("a list", table(X.tolist()), E, "pandas, polars or pyarrow table, .*Got list instead"),
    ("one dimension", table(X[:, 0]), E, r"A table has two dimensions. Got .* \(20,\)"),
    ("no rows", table(X[:0], S[:0]), E, "The table has no rows"),
    ("no columns", table(X[:, :0]), E, "has no column to learn from"),
    ("complex", table(X + 1j), E, "holds complex128 values; save numbers"),
    ("infinity", table(changed(INF)), E, "missing, infinite or too large values"),
    ("different length", table(X, S[:-1]), E, "19 labels for 20 rows"),
    ("one class", table(X, np.ones(20)), E, "no row is unlabelled"),
    ("three classes", table(X, np.arange(20) % 3), E, "holds '2' .*name it: pos_label"),
    ("no labels", table(X, None), E, "Labels are one value per row"),
    ("two columns of labels", table(X, np.c_[S, S]), E, r"Got an array of shape \(20, 2\)"),
    ("prior 1.4", table(prior=1.4), P, r"'prior' parameter of TablePU .*Got 1.4 instead"),
    ("prior below the labelled share", table(prior=0.3), P, "greater than the share of labelled"),
    ("sampling", table(sampling="both"), P, "'sampling' parameter of TablePU .*'two-sample'"),
    ("holdout 0.7", table(holdout=0.7), P, r"'holdout' parameter of TablePU .*\[0, 0.5\]"),
    ("model 'forest'", table(model="forest"), P, "'model' parameter of TablePU .*'ensemble'"),
    ("model 3", table(model=3), P, "or a classifier of nnpu. Got 3 instead"),
    ("decimal ';'", table(decimal=";"), P, "'decimal' parameter of TablePU"),
    ("pos_label [1]", table(pos_label=[1]), P, "must be a text, a number or None. Got .1. instead"),
    ("groups and time", table(groups="a", time="b"), P, "must not both be given"),
    ("drop of no column", table(drop=["zz"]), E, "has no column 'zz'. It has: x"),
    ("no such file", table("nothere.csv", "s"), E, "nothere.csv does not exist"),
    (
        "fewer columns in predict",
        lambda _: TablePU(0.5, model="linear", holdout=0.0).fit(X, S).predict(X[:, :2]),
        E,
        "has 2 features instead of 3, the number in fit",
    ),
    (
        "mixed cells after numbers",
        lambda _: table(holdout=0.0)(_).predict(np.array([["a", 1, 2]], dtype=object)),
        E,
        "fitted to an array of numbers",
    ),
    ("no wanted cut", lambda _: table()(_).choose_threshold(X + 1, S), P, "Pass exactly one"),
    ("a recall of 2", lambda _: table()(_).choose_threshold(X + 1, S, recall=2), P, "'recall'"),
    ("a cut without labels", lambda _: table()(_).choose_threshold(X, at="half"), E, "or neither"),
    ("prior 1 to shift to", lambda _: table()(_).shift_prior(1), P, "'new_prior' parameter"),
    ("no order to explain by", lambda _: table()(_).explain(X, n_orders=0), P, "'n_orders'"),
    ("nothing to transform", lambda _: table()(_).transform(None), E, "Got NoneType instead"),
)


# module → what the error says of its output.
WRONG_MODULES = {
    "two columns": (Returns(lambda g: g.repeat(1, 2)), r"\(n,\) or \(n, 1\).*Got \(2, 2\) instead"),
    "an image": (Returns(lambda g: g[:, :, None]), r"\(n, 1\).*Got \(2, 1, 1\) instead"),
    "a scalar": (Returns(lambda g: g.sum()), r"\(n, 1\).*Got \(\) instead"),
    "a row": (Returns(lambda g: g.T), r"\(n, 1\).*Got \(1, 2\) instead"),
    "too many": (Returns(lambda g: g.repeat(2, 1)), "Got 4 scores for a batch of 2 rows"),
    "a pair": (Returns(lambda g: (g, g)), r"must take a batch of shape \(2, 3\)"),
    "other features": (nn.Linear(5, 1), r"must take a batch of shape \(2, 3\)"),
    "a convolution": (nn.Conv2d(1, 1, 3), r"must take a batch of shape \(2, 3\)"),
    "an embedding": (nn.Embedding(9, 1), r"must take a batch of shape \(2, 3\)"),
}

ESTIMATOR_ROWS = [
    *data_rows(),
    *parameter_rows(),
    *[
        Row(f"PUClassifier({prior}).fit: module with {case}", fit(prior=prior, module=m), E, says)
        for case, (m, says) in WRONG_MODULES.items()
        for prior in (0.3, "auto")
    ],
    *rows(
        "PUClassifier.fit",
        ("a parameter before the data", fit(changed(NAN), beta=-1), P, "'beta' parameter"),
        ("seed -1", fit(random_state=-1), V, "Seed must be between 0"),
        ("seed 2**32", fit(random_state=2**32), V, "Seed must be between 0"),
        ("seed 1.5", fit(random_state=1.5), V, "cannot be used to seed"),
        ("a module without weights", fit(module=nn.Identity()), P, "must have parameters to train"),
        (
            "a frozen module",
            fit(module=nn.Linear(3, 1).requires_grad_(False)),
            P,
            "must have parameters to train",
        ),
        ("a function that makes no module", fit(module=lambda: 3), P, "It made 3 instead"),
        (
            "a one-sample prior below the labelled share",
            fit(prior=0.3, sampling="one-sample"),
            P,
            "greater than the share of labelled rows, 0.4",
        ),
        ("loss 'sigmod' lists the names", fit(loss="sigmod"), P, "'double_hinge', 'hinge', 'log"),
        ("risk 'nn' lists the names", fit(risk="nn"), P, "'abs', 'imbalanced', 'kl', 'nnpnu'"),
        ("optimizer 'adm' lists the names", fit(optimizer="adm"), P, "'adagrad', 'adam', 'adamw'"),
    ),
    *rows(
        "PUClassifier",
        ("predict before fit", lambda _: PUClassifier().predict(X), NotFittedError, "not fitted"),
        ("score before fit", lambda _: PUClassifier().score(X, S), NotFittedError, "not fitted"),
        ("calibrate before fit", lambda _: PUClassifier().calibrate(X, S), NotFittedError, "fit"),
        ("save before fit", lambda f: PUClassifier().save(f.folder / "m"), NotFittedError, "fit"),
        ("predict two of three features", lambda f: f.clf.predict(X[:, :2]), V, "X has 2 features"),
        ("predict_proba of NaN", lambda f: f.clf.predict_proba(changed(NAN)), V, "contains NaN"),
        ("decision_function of no rows", lambda f: f.clf.decision_function(X[:0]), V, "0 sample"),
        ("predict nothing", lambda f: f.clf.predict(None), V, "Expected 2D array, got scalar"),
        ("predict very large rows", lambda f: f.clf.predict_proba(X * 1e30), FINITE, ""),
        ("predict very small rows", lambda f: f.clf.predict_proba(X * 1e-40), FINITE, ""),
        ("predict one row", lambda f: f.clf.predict_proba(X[:1]), FINITE, ""),
        (
            "predict in Fortran's order",
            lambda f: f.clf.predict_proba(np.asfortranarray(X)),
            None,
            "",
        ),
        ("predict backwards", lambda f: f.clf.predict_proba(X[::-1, ::-1]), FINITE, ""),
        ("predict big-endian", lambda f: f.clf.predict_proba(X.astype(">f8")), FINITE, ""),
        ("predict integers", lambda f: f.clf.predict_proba(X.astype(np.int8)), FINITE, ""),
        (
            "predict half floats",
            lambda f: f.clf.predict_proba(T(X, dtype=torch.bfloat16)),
            None,
            "",
        ),
        ("score with other labels", lambda f: f.clf.score(X, S + 7), E, r"among \[0, 1\], as in"),
        ("score of other length", lambda f: f.clf.score(X, S[:3]), V, "inconsistent numbers"),
        ("calibrate without U", lambda f: f.clf.calibrate(X[:8], S[:8]), E, "needs labelled and"),
        ("calibrate without P", lambda f: f.clf.calibrate(X[8:], S[8:]), E, "needs labelled and"),
        ("choose no threshold", lambda f: f.clf.choose_threshold(X, S), P, "Pass exactly one"),
        (
            "choose two thresholds",
            lambda f: f.clf.choose_threshold(X, S, at="prior", recall=0.5),
            P,
            "Pass exactly one",
        ),
        ("threshold at 'pior'", lambda f: f.clf.choose_threshold(X, S, at="pior"), P, "'prior'"),
        ("recall 2", lambda f: f.clf.choose_threshold(X, S, recall=2), P, "'recall' parameter"),
        ("precision NaN", lambda f: f.clf.choose_threshold(X, S, precision=NAN), P, "'precision'"),
        ("shift to prior 1", lambda f: f.clf.shift_prior(1), P, "'new_prior' parameter"),
        ("shift to prior '0.5'", lambda f: f.clf.shift_prior("0.5"), P, "'new_prior' parameter"),
    ),
    *rows(
        "LinearPU",
        ("predict before fit", lambda _: LinearPU().predict(X), NotFittedError, "not fitted"),
        ("predict two of three features", lambda f: f.linear.predict(X[:, :2]), V, "2 features"),
        ("predict NaN", lambda f: f.linear.predict(changed(NAN)), V, "contains NaN"),
        ("predict very large rows", lambda f: f.linear.predict_proba(X * 1e30), FINITE, ""),
        ("no alphas", lambda _: LinearPU(0.3).regularisation_path(X, S, []), P, "'alphas'"),
        ("alpha 0", lambda _: LinearPU(0.3).regularisation_path(X, S, [0.0]), P, "'alphas'"),
        (
            "one fold",
            lambda _: LinearPU(0.3).regularisation_path(X, S, [1.0], n_splits=1),
            P,
            "'n_splits'",
        ),
        ("constant features", lambda _: LinearPU(0.3).fit(X * 0, S).coef_, FINITE, ""),
        ("huge features", lambda _: LinearPU(0.3).fit(X * 1e30, S).coef_, FINITE, ""),
        ("tiny features", lambda _: LinearPU(0.3).fit(X * 1e-30, S).coef_, FINITE, ""),
        ("two rows", lambda _: LinearPU(0.3).fit(X[7:9], S[7:9]).coef_, FINITE, ""),
        (
            "a one-sample prior below the labelled share",
            lambda _: LinearPU(0.3, sampling="one-sample").fit(X, S),
            P,
            "greater than the share of labelled rows, 0.4",
        ),
    ),
    *rows(
        "EnsemblePU",
        ("predict before fit", lambda _: EnsemblePU().predict(X), NotFittedError, "not fitted"),
        ("prior 2", lambda _: EnsemblePU(2).fit(X, S), P, "'prior' parameter"),
        ("sampling 'x'", lambda _: EnsemblePU(0.3, sampling="x").fit(X, S), P, "'sampling'"),
        ("one fold", lambda _: EnsemblePU(0.3, n_folds=1).fit(X, S), P, "'n_folds'"),
        ("no threads", lambda _: EnsemblePU(0.3, n_jobs=0).fit(X, S), P, "'n_jobs'"),
        ("no member", lambda _: EnsemblePU(0.3, members=[]).fit(X, S), P, "'members'"),
        ("a strange member", lambda _: EnsemblePU(0.3, members=["x"]).fit(X, S), P, "'members'"),
        ("a member, no list", lambda _: EnsemblePU(0.3, members="x").fit(X, S), P, "'members'"),
        ("a strange column", lambda _: EnsemblePU(0.3, categories=[7]).fit(X, S), P, "range"),
        ("half a code", lambda _: EnsemblePU(0.3, categories=[0]).fit(X, S), E, "whole numbers"),
        ("one labelled row", lambda _: EnsemblePU(0.3).fit(X[7:], S[7:]), E, "at least 2 labelled"),
        (
            "a one-sample prior below the labelled share",
            lambda _: EnsemblePU(0.3, sampling="one-sample").fit(X, S),
            P,
            "greater than the share of labelled rows, 0.4",
        ),
    ),
    *rows(
        "PUWrapper",
        ("no estimator", lambda _: PUWrapper(None, 0.3).fit(X, S), P, "'estimator' parameter"),
        ("a class", lambda _: PUWrapper(LogisticRegression, 0.3).fit(X, S), P, "'estimator'"),
        (
            "a regression",
            lambda _: PUWrapper(LinearRegression(), 0.3).fit(X, S),
            P,
            "predict_proba",
        ),
        ("prior 2", lambda _: PUWrapper(LogisticRegression(), 2).fit(X, S), P, "'prior' parameter"),
        (
            "sampling 'x'",
            lambda _: PUWrapper(LogisticRegression(), 0.3, sampling="x").fit(X, S),
            P,
            "'sampling'",
        ),
        ("save", lambda f: f.wrapper.save(f.folder / "m"), E, "pickle"),
        (
            "one labelled row",
            lambda _: PUWrapper(LogisticRegression()).fit(X[7:], S[7:]),
            E,
            "two labelled",
        ),
    ),
    *rows(
        "sensitivity",
        ("prior 2", lambda _: sensitivity(LinearPU(0.3), X, S, [2.0]), P, "'priors' parameter"),
        ("no PU estimator", lambda _: sensitivity(LogisticRegression(), X, S), P, "'estimator'"),
        ("one fold", lambda _: sensitivity(LinearPU(0.3), X, S, n_splits=1), P, "'n_splits'"),
        ("one class", lambda _: sensitivity(LinearPU(0.3), X, S * 0), E, "Only one class"),
    ),
    *rows(
        "load",
        ("no folder", lambda f: nnpu.load(f.folder / "none"), E, "is not a model folder"),
        ("a file", lambda f: nnpu.load(f.file), E, "is not a model folder"),
        ("an empty folder", lambda f: nnpu.load(f.folder), E, "has no file model.safetensors"),
        ("no path", lambda _: nnpu.load(3), TypeError, "os.PathLike"),
        ("another's folder as target", lambda f: f.clf.save(f.folder), E, "cannot be replaced"),
        ("a file as target", lambda f: f.clf.save(f.file), E, "is not a folder"),
    ),
]

TENSOR_ROWS = [
    *rows(
        "losses.get_loss",
        ("a near name", lambda _: losses.get_loss("sigmod"), P, "Did you mean 'sigmoid'"),
        ("a number", lambda _: losses.get_loss(3), P, "'loss' parameter of get_loss"),
        ("nothing", lambda _: losses.get_loss(None), P, "Got None instead"),
    ),
    *[
        Row(f"losses.{name}: margins of ±1e4", lambda _, f=f: f(T([-1e4, 0.0, 1e4])), None, "")
        for name, f in losses.LOSSES.items()
    ],
    *[
        Row(f"losses.{name}: no margin", lambda _, f=f: f(T([])), None, "")
        for name, f in losses.LOSSES.items()
    ],
    *[
        Row(f"risk.{name}: {case}", lambda _, f=f, call=call: call(f), error, says)
        for name, f in {
            "pn_risk": risk.pn_risk,
            "upu_risk": risk.upu_risk,
            "upu_risk_symmetric": risk.upu_risk_symmetric,
            "nnpu_risk": risk.nnpu_risk,
        }.items()
        for case, call, error, says in (
            ("prior 0", lambda f: f(T([1.0]), T([1.0]), 0), P, f"'prior' parameter of {name}"),
            ("prior '0.5'", lambda f: f(T([1.0]), T([1.0]), "0.5"), P, "'prior' parameter"),
            (
                "loss 'x'",
                lambda f: f(T([1.0]), T([1.0]), 0.5, "x"),
                P,
                f"'loss' parameter of {name}",
            ),
            ("an array", lambda f: f(np.ones(2), T([1.0]), 0.5), P, "'scores_p' .*torch.Tensor"),
            ("a list", lambda f: f(T([1.0]), [1.0], 0.5), P, "must be a torch.Tensor"),
            ("complex", lambda f: f(T([1j]), T([1.0]), 0.5), P, "of real numbers"),
            ("no scores", lambda f: f(T([]), T([]), 0.5), FINITE, ""),
            ("no positives", lambda f: f(T([]), T([1.0]), 0.5), FINITE, ""),
            ("integers", lambda f: f(T([1, 2]), T([3]), 0.5), FINITE, ""),
            ("scores of 1e30", lambda f: f(T([1e30]), T([-1e30]), 0.5), FINITE, ""),
        )
    ],
    *rows(
        "risk",
        (
            "Eq. (4) with the logistic loss",
            lambda _: risk.upu_risk_symmetric(T([1.0]), T([1.0]), 0.5, "logistic"),
            P,
            "must satisfy Eq. .3.",
        ),
        (
            "integers and the hinge loss",
            lambda _: risk.nnpu_risk(T([1, 2]), T([3]), 0.5, "hinge"),
            None,
            "",
        ),
        ("get_risk('nnup')", lambda _: risk.get_risk("nnup"), P, "Did you mean 'nnpu'"),
        ("target prior 2", lambda _: risk.ImbalancedRisk(2), P, "'target_prior' parameter"),
        ("eta 'a'", lambda _: risk.PNURisk("a"), P, "'eta' parameter"),
        ("negative weight 2", lambda _: risk.NonNegativePNURisk(2), P, "'negative_weight'"),
    ),
    *[
        Row(
            f"PULoss: {name}={str(value)[:10]}",
            lambda _, parameters={"prior": 0.3} | {name: value}: PULoss(**parameters),
            P,
            f"'{name}' parameter of PULoss",
        )
        for name in ("prior", "beta", "gamma", "loss", "risk", "sampling")
        for value in BAD_PARAMETERS[name]
    ],
    *rows(
        "PULoss.forward",
        ("an array", lambda _: PULoss(0.3)(np.ones(3), np.ones(3)), E, "scores must be a torch.T"),
        ("a list", lambda _: PULoss(0.3)([1.0], [1]), E, "torch.as_tensor converts an array"),
        (
            "labels in an array",
            lambda _: PULoss(0.3)(torch.ones(3), np.ones(3)),
            E,
            "labels s must",
        ),
        ("complex", lambda _: PULoss(0.3)(T([1j]), T([1])), E, "of real numbers"),
        ("two columns", lambda _: PULoss(0.3)(torch.ones(3, 2), torch.ones(3)), E, r"Got \(3, 2\)"),
        ("too few labels", lambda _: PULoss(0.3)(torch.ones(3), torch.ones(2)), E, r"Got \(2,\)"),
        ("label 2", lambda _: PULoss(0.3)(torch.ones(3), T([1, 0, 2])), E, r"Got \[2\] as well"),
        ("label -1", lambda _: PULoss(0.3)(torch.ones(2), T([1, -1])), E, "choose risk='nnpnu'"),
        ("label NaN", lambda _: PULoss(0.3)(torch.ones(2), T([1, NAN])), E, r"among \[0, 1\]"),
        (
            "a loss that reduces",
            lambda _: PULoss(0.3, loss=torch.sum)(torch.ones(3), T([1, 0, 0])),
            E,
            "one value per margin",
        ),
        (
            "a loss that is no tensor",
            lambda _: PULoss(0.3, loss=lambda z: 3)(torch.ones(3), T([1, 0, 0])),
            E,
            "Got int instead",
        ),
        ("an empty batch", lambda _: PULoss(0.3)(T([]), T([])), FINITE, ""),
        ("no positives", lambda _: PULoss(0.3)(torch.ones(3), torch.zeros(3)), FINITE, ""),
        ("no unlabelled", lambda _: PULoss(0.3)(torch.ones(3), torch.ones(3)), FINITE, ""),
        ("integers", lambda _: PULoss(0.3)(T([1, 2]), T([1, 0])), FINITE, ""),
        ("beta infinite", lambda _: PULoss(0.3, beta=INF)(T([-9.0, 9.0]), T([1, 0])), FINITE, ""),
        (
            "half scores of 6e4",
            lambda _: PULoss(0.3, loss="logistic")(T([6e4, -6e4]).half(), T([1, 0])),
            None,
            "",
        ),
    ),
    *rows(
        "models",
        ("linear(0)", lambda _: models.linear(0), P, "'n_features' parameter of linear"),
        ("linear('a')", lambda _: models.linear("a"), P, "'n_features' parameter"),
        ("mlp(2.5)", lambda _: models.mlp(2.5), P, "'n_features' parameter of mlp"),
        ("a layer of no unit", lambda _: models.mlp(3, (0,)), P, "'hidden' parameter of mlp"),
        ("hidden layers 3", lambda _: models.mlp(3, 3), P, "must be a sequence of int"),
        ("hidden layers '33'", lambda _: models.mlp(3, "33"), P, "'hidden' parameter of mlp"),
        ("activation 'x'", lambda _: models.mlp(3, activation="x"), P, "'relu', 'softsign'"),
        ("embeddings 3", lambda _: models.word_average(3), P, "tensor of shape .words, dimension."),
        ("embeddings in a row", lambda _: models.word_average(torch.ones(3)), P, "'embeddings'"),
        ("dropout 1", lambda _: models.FastDropout(1.0), P, r"'share' .*\[0, 1\)"),
        ("dropout -1", lambda _: models.FastDropout(-1), P, "'share' parameter of FastDropout"),
        ("dropout 0.999", lambda _: models.FastDropout(0.999)(torch.ones(99)), FINITE, ""),
        (
            "no hidden layer",
            lambda _: models.TabularNet(torch.zeros(2), torch.ones(2), ()),
            P,
            "width",
        ),
        (
            "scales of other length",
            lambda _: models.TabularNet(torch.zeros(2), torch.ones(3)),
            P,
            "'scale'",
        ),
    ),
]

s, predicted = [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]
METRIC_ROWS = [
    *[
        Row(f"metrics.{name}: {case}", lambda _, f=f, call=call: call(f), error, says)
        for name, f in metrics.METRICS.items()
        for case, call, error, says in (
            ("prior 1", lambda f: f(s, predicted, prior=1), P, f"'prior' parameter of {name}"),
            ("prior None", lambda f: f(s, predicted, prior=None), P, "'prior' parameter"),
            ("sampling 'x'", lambda f: f(s, predicted, prior=0.4, sampling="x"), P, "'sampling'"),
            (
                "a one-sample prior below the labelled share",
                lambda f: f(s, predicted, prior=0.4, sampling="one-sample"),
                P,
                "greater than the labelled share 0.4",
            ),
            ("text", lambda f: f(list("abcde"), predicted, prior=0.4), E, f"{name}: s must be"),
            (
                "rows of lists",
                lambda f: f([[1], [1, 0]], predicted, prior=0.4),
                E,
                "list of numbers",
            ),
            ("complex", lambda f: f(s, np.array(predicted) * 1j, prior=0.4), E, "complex128"),
            (
                "nothing",
                lambda f: f(s, None, prior=0.4),
                E,
                f"{name}: .* must be a list of numbers",
            ),
            ("objects", lambda f: f(s, [object()] * 5, prior=0.4), E, "list of numbers"),
            ("two columns", lambda f: f(s, np.ones((5, 2)), prior=0.4), E, r"shape is \(5, 2\)"),
            ("no rows", lambda f: f([], [], prior=0.4), E, "s has 0 rows"),
            ("too few", lambda f: f(s, predicted[:4], prior=0.4), E, "s has 5 rows and .* has 4"),
            ("NaN", lambda f: f(s, [NAN] * 5, prior=0.4), E, "NaN or infinite; |holds NaN"),
            (
                "label 2",
                lambda f: f([1, 2, 0, 0, 0], predicted, prior=0.4),
                E,
                r"s must be 1 \(lab",
            ),
            ("no labelled", lambda f: f([0] * 5, predicted, prior=0.4), E, "needs labelled"),
            ("no unlabelled", lambda f: f([1] * 5, predicted, prior=0.4), E, "needs labelled"),
            (
                "negative weights",
                lambda f: f(s, predicted, prior=0.4, sample_weight=[-1] * 5),
                E,
                "sample_weight holds negative",
            ),
            (
                "weights of 0",
                lambda f: f(s, predicted, prior=0.4, sample_weight=[0] * 5),
                E,
                "needs labelled",
            ),
            (
                "weights of 1e308",
                lambda f: f(s, predicted, prior=0.4, sample_weight=[1e308] * 5),
                E,
                "sample_weight holds values beyond 1e100",
            ),
            (
                "weights of 1e-320",
                lambda f: f(s, predicted, prior=0.4, sample_weight=[1e-320] * 5),
                FINITE,
                "",
            ),
            ("a prior of 1e-300", lambda f: f(s, predicted, prior=1e-300), FINITE, ""),
            ("truth values", lambda f: f(s, np.array(predicted) == 1, prior=0.4), FINITE, ""),
            (
                "half floats",
                lambda f: f(T(s), T(predicted, dtype=torch.bfloat16), prior=0.4),
                None,
                "",
            ),
        )
    ],
    *[
        Row(
            f"metrics.{name}: scores",
            lambda _, f=f: f(s, X[:5, 0], prior=0.4),
            E,
            "compare scores with a threshold",
        )
        for name, f in metrics.METRICS.items()
        if name != "pu_roc_auc"
    ],
    *rows(
        "metrics",
        (
            "AUC of ±1e300",
            lambda _: metrics.pu_roc_auc(s, [1e300, 0, 0, 1, 2], prior=0.4),
            E,
            "1e100",
        ),
        (
            "interval of None",
            lambda _: metrics.interval(None, s, predicted, prior=0.4),
            P,
            "'metric'",
        ),
        (
            "interval of 'f1'",
            lambda _: metrics.interval("f1", s, predicted, prior=0.4),
            P,
            "'pu_f1'",
        ),
        (
            "interval of len",
            lambda _: metrics.interval(len, s, predicted, prior=0.4),
            P,
            "'metric'",
        ),
        (
            "level 1",
            lambda _: metrics.interval("pu_f1", s, predicted, prior=0.4, level=1),
            P,
            "'level'",
        ),
        (
            "scorer of 'x'",
            lambda _: metrics.make_pu_scorer("x"),
            P,
            "'metric' parameter of make_pu",
        ),
        ("scorer with prior 2", lambda _: metrics.make_pu_scorer("pu_f1", prior=2), P, "'prior'"),
        (
            "scorer without a prior",
            lambda _: metrics.make_pu_scorer("pu_f1")(LogisticRegression().fit(X, S), X, S),
            P,
            "must be given for an estimator without prior_",
        ),
    ),
]

scores_p, scores_u = RNG.normal(1, 1, 20), RNG.normal(0, 1, 30)
CALIBRATION_ROWS = rows(
    "calibration",
    (
        "probability 2",
        lambda _: calibration.posterior([2], prior=0.3, labelled_share=0.2),
        E,
        r"\[0, 1\]",
    ),
    (
        "a text",
        lambda _: calibration.posterior(["a"], prior=0.3, labelled_share=0.2),
        E,
        "list of numbers",
    ),
    (
        "share 0",
        lambda _: calibration.posterior([0.5], prior=0.3, labelled_share=0),
        P,
        "'labelled_share'",
    ),
    (
        "certainty",
        lambda _: calibration.posterior([1.0], prior=0.3, labelled_share=0.2),
        FINITE,
        "",
    ),
    (
        "no scores",
        lambda _: calibration.fit_calibration([], scores_u, prior=0.3),
        E,
        "scores_p has 0",
    ),
    (
        "scores as text",
        lambda _: calibration.fit_calibration(scores_p, ["a"], prior=0.3),
        E,
        "scores_u",
    ),
    ("a matrix", lambda _: calibration.fit_calibration(X, scores_u, prior=0.3), E, r"\(20, 3\)"),
    ("NaN", lambda _: calibration.fit_calibration([NAN], scores_u, prior=0.3), E, "NaN"),
    (
        "1e200",
        lambda _: calibration.fit_calibration(scores_p * 1e200, scores_u, prior=0.3),
        E,
        "1e100",
    ),
    ("equal scores", lambda _: calibration.fit_calibration([1, 1], [1, 1], prior=0.3), E, "equal"),
    (
        "equal scores of U",
        lambda _: calibration.fit_calibration([2], [1, 1], prior=0.3),
        E,
        "population",
    ),
    (
        "ridge 0",
        lambda _: calibration.fit_calibration(scores_p, scores_u, prior=0.3, ridge=0),
        P,
        "'ridge'",
    ),
    ("prior 0", lambda _: calibration.fit_calibration(scores_p, scores_u, prior=0), P, "'prior'"),
    (
        "a one-sample prior below the labelled share",
        lambda _: calibration.fit_calibration(scores_p, scores_u, prior=0.3, sampling="one-sample"),
        P,
        "labelled share 0.4",
    ),
    (
        "tensors with gradients",
        lambda _: calibration.fit_calibration(
            T(scores_p), T(scores_u, requires_grad=True), prior=0.3
        ),
        FINITE,
        "",
    ),
    (
        "no cut",
        lambda _: calibration.threshold_for(scores_p, scores_u, prior=0.3),
        P,
        "exactly one",
    ),
    (
        "a cut that no score reaches",
        lambda _: calibration.threshold_for(scores_p, scores_u, prior=0.01, precision=1.0),
        E,
        "No cut reaches a precision of 1",
    ),
    (
        "recall 0",
        lambda _: calibration.threshold_for(scores_p, scores_u, prior=0.3, recall=0),
        P,
        "'recall'",
    ),
    (
        "prior of 1",
        lambda _: calibration.threshold_at_prior(scores_p, scores_u, prior=1),
        P,
        "'prior'",
    ),
    ("new prior 1", lambda _: calibration.shift_prior([0.5], 0.5, 1), P, "'new_prior' parameter"),
    ("threshold 2", lambda _: calibration.shift_threshold(2, 0.5, 0.5), P, "'threshold' parameter"),
)

x_p, x_u = X[:8], X[8:]
PRIOR_ROWS = rows(
    "estimate_prior",
    ("method 'bbx'", lambda _: estimate_prior(x_p, x_u, method="bbx"), P, "'method' .*'bbe'"),
    ("method None", lambda _: estimate_prior(x_p, x_u, method=None), P, "'method' parameter"),
    (
        "sampling 'two'",
        lambda _: estimate_prior(x_p, x_u, sampling="two"),
        P,
        "'sampling' parameter",
    ),
    ("model 'forest'", lambda _: estimate_prior(x_p, x_u, model="forest"), P, "'model' parameter"),
    (
        "a class as model",
        lambda _: estimate_prior(x_p, x_u, model=LogisticRegression),
        P,
        "'model'",
    ),
    (
        "a regression as model",
        lambda _: estimate_prior(x_p, x_u, model=LinearRegression()),
        P,
        "'model'",
    ),
    ("seed -1", lambda _: estimate_prior(x_p, x_u, random_state=-1), P, "'random_state' parameter"),
    (
        "seed 1.5",
        lambda _: estimate_prior(scores_p, scores_u, random_state=1.5),
        P,
        "'random_state'",
    ),
    ("no positive", lambda _: estimate_prior(x_p[:0], x_u), E, "x_p is empty"),
    ("no unlabelled", lambda _: estimate_prior(x_p, x_u[:0]), E, "x_u is empty"),
    ("no score", lambda _: estimate_prior(scores_p[:0], scores_u), E, "x_p has 0 rows"),
    ("one score", lambda _: estimate_prior(scores_p, scores_u[:1]), E, "x_u has 1 row;"),
    ("one row", lambda _: estimate_prior(x_p[:1], x_u), E, "at least two rows"),
    ("equal scores", lambda _: estimate_prior([1.0, 1.0], [1.0, 1.0]), E, "All scores are equal"),
    ("equal rows", lambda _: estimate_prior(np.ones((5, 2)), np.ones((9, 2))), E, "rows are equal"),
    ("NaN", lambda _: estimate_prior(x_p * NAN, x_u), E, "need different rows, in x_p"),
    ("NaN scores", lambda _: estimate_prior(scores_p, scores_u * NAN), E, "x_u holds NaN"),
    ("a sparse NaN", lambda _: estimate_prior(sparse.csr_array(x_p * NAN), x_u), E, "contains NaN"),
    ("text", lambda _: estimate_prior(["a", "b"], ["c", "d"]), E, "x_p must be a list of numbers"),
    ("complex", lambda _: estimate_prior(x_p + 1j, x_u), E, "Complex data not supported"),
    ("complex scores", lambda _: estimate_prior(scores_p * 1j, scores_u), E, "complex128"),
    ("1e300", lambda _: estimate_prior(x_p * 1e300, x_u), E, "x_p holds values too large"),
    ("scores of 1e300", lambda _: estimate_prior(scores_p * 1e300, scores_u), E, "beyond 1e100"),
    ("other features", lambda _: estimate_prior(x_p, x_u[:, :2]), E, "3 features and x_u has 2"),
    ("features and scores", lambda _: estimate_prior(x_p, scores_u), E, "Expected 2D array"),
    ("numbers", lambda _: estimate_prior(1.0, 2.0), E, "Expected 2D array"),
    ("nothing", lambda _: estimate_prior(None, None), E, "Expected 2D array"),
    (
        "half scores",
        lambda _: estimate_prior(T(scores_p).bfloat16(), T(scores_u).bfloat16(), random_state=0),
        FINITE,
        "",
    ),
    *[
        (
            f"nearly all tied, {method}",
            lambda _, method=method: estimate_prior(
                [1.0] * 10, [1.0] * 9 + [2.0], method=method, random_state=0
            ),
            FINITE,
            "",
        )
        for method in ("bbe", "dedpul", "elkan_noto", "km", "pen_l1")
    ],
)

# Each statement of Section 4 with arguments that fit, and each argument with a value that does not.
STATEMENTS: dict[str, dict[str, Any]] = {
    "negative_part_probability_bound": {"alpha": 0.3, "prior": 0.4, "n_p": 100, "n_u": 1000},
    "bias_bound": {"alpha": 0.3, "prior": 0.4, "n_p": 100, "n_u": 1000},
    "convergence_rate": {"prior": 0.4, "n_p": 100, "n_u": 1000},
    "deviation_bound": {"delta": 0.1, "prior": 0.4, "n_p": 100, "n_u": 1000},
    "deviation_confidence": {"delta": 0.1},
    "mse_reduction_bound": {"beta": 0.1, "probability": 0.2, "prior": 0.4},
    "mse_remainder": {"alpha": 0.3, "prior": 0.4, "n_u": 1000},
    "mse_condition": {"risk_p_minus": 0.4, "risk_n_minus": 0.4, "prior": 0.4},
    "mse_reduction_integrand": {"upu_risk": 0.1, "r": -0.1, "risk": 0.2},
    "estimation_error_bound": {
        "rademacher_p": 0.1,
        "rademacher_u": 0.1,
        "delta": 0.1,
        "prior": 0.4,
        "n_p": 100,
        "n_u": 1000,
        "lipschitz": 1.0,
    },
    "pu_beats_pn": {"prior": 0.4, "n_p": 100, "n_u": 1000, "n_n": 50},
    "break_even_n_n": {"prior": 0.4, "n_p": 100, "n_u": 1000},
    "section_5_n_n": {"prior": 0.4, "n_p": 100},
    "rademacher_linear": {"norm_bound": 1.0, "feature_bound": 1.0, "n": 100},
    "rademacher_finite": {"n_functions": 5, "score_bound": 1.0, "n": 100},
    "guaranteed_half_width": {"prior": 0.4, "n_p": 100, "n_u": 1000},
    "plan": {"prior": 0.4, "n_p": 100, "n_u": 1000, "half_width": 0.2},
}


def theory_rows() -> Iterator[Row]:
    for name, right in STATEMENTS.items():
        function = getattr(theory, name)
        yield Row(f"theory.{name}: right", lambda _, f=function, a=right: f(**a), FINITE, "")
        for argument in right:
            for value in (NAN, "a", [[1], [1, 2]], 1j):
                wrong = right | {argument: value}
                yield Row(
                    f"theory.{name}: {argument}={value}",
                    lambda _, f=function, a=wrong: f(**a),
                    P,
                    f"'{argument}' parameter of ",  # some statements ask others
                )


THEORY_ROWS = [
    *theory_rows(),
    *rows(
        "theory",
        ("alpha over C", lambda _: theory.bias_bound(2, 0.4, 100, 1000), P, "'alpha' .*Theorem 2"),
        (
            "an unbounded loss",
            lambda _: theory.bias_bound(0.3, 0.4, 9, 9, INF),
            P,
            "loss_constants",
        ),
        ("form 'exact'", lambda _: theory.bias_bound(0.3, 0.4, 9, 9, form="exact"), P, "'form'"),
        ("half a row", lambda _: theory.convergence_rate(0.4, 0.5, 10), P, "'n_p' .*at least one"),
        ("prior 0", lambda _: theory.section_5_n_n(0, 10), P, "'prior' .*both classes"),
        (
            "shapes that do not fit",
            lambda _: theory.convergence_rate([0.1, 0.2], [1, 2, 3], 9),
            V,
            "broadcast",
        ),
        (
            "only one of alpha and n_u",
            lambda _: theory.mse_reduction_bound(0.1, 0.2, 0.4, alpha=0.3),
            P,
            "together",
        ),
        ("a plan for half a row", lambda _: theory.plan(0.4, 0.5, 9), P, "'n_p' parameter of plan"),
        ("a range backwards", lambda _: theory.plan((0.4, 0.3), 9, 9), P, "low <= high"),
        (
            "a range of three",
            lambda _: theory.plan((0.1, 0.2, 0.3), 9, 9),
            P,
            r"range \(low, high\)",
        ),
        (
            "half-width 0",
            lambda _: theory.plan(0.4, 9, 9, half_width=0),
            P,
            "'half_width' parameter",
        ),
        (
            "half-width 1e-320",
            lambda _: theory.plan(0.4, 9, 9, half_width=1e-320),
            P,
            "'half_width'",
        ),
        (
            "prior error 2",
            lambda _: theory.guaranteed_half_width(0.4, 9, 9, prior_error=2),
            P,
            "'prior_error'",
        ),
        (
            "no loss",
            lambda _: theory.loss_constants("nix"),
            P,
            "'loss' parameter of loss_constants",
        ),
        (
            "scores in a row",
            lambda _: theory.rademacher_empirical([1, 2]),
            E,
            r"\(n_functions, n\)",
        ),
        ("NaN scores", lambda _: theory.rademacher_empirical([[NAN, 1]]), E, "NaN or infinite"),
        ("scores as text", lambda _: theory.rademacher_empirical("ab"), E, "must be numbers"),
        ("no n", lambda _: theory.rademacher_empirical(np.max), P, "'n' parameter"),
        (
            "one draw",
            lambda _: theory.rademacher_empirical([[1.0]], draws=1),
            P,
            "'draws' parameter",
        ),
        (
            "seed 'a'",
            lambda _: theory.rademacher_empirical([[1.0]], random_state="a"),
            P,
            "'random_state'",
        ),
    ),
]

Y = np.where(S == 1, 1, -1)
DATA_ROWS = [
    *rows(
        "data.load",
        ("a near name", lambda _: data.load("digit"), P, "Did you mean 'digits'"),
        ("nothing", lambda _: data.load(None), P, "'name' parameter of load"),
        ("no class", lambda _: data.load("digits", positive=[]), P, "some but not all of"),
        ("all classes", lambda _: data.load("digits", positive=range(10)), P, "some but not all"),
        ("a class that is none", lambda _: data.load("digits", positive=[12]), P, "'positive'"),
        ("a number", lambda _: data.load("digits", positive=3), P, "'positive' parameter of load"),
        ("a list of lists", lambda _: data.load("digits", positive=[[1]]), P, "'positive'"),
        ("a set of the paper", lambda _: data.load("mnist"), E, r"nnpu_paper\.load\('mnist'"),
    ),
    *[
        Row(f"data.{name}: {case}", lambda _, f=f, call=call: call(f), error, says)
        for name, f in {
            "sample_pu": data.sample_pu,
            "sample_censored": data.sample_censored,
        }.items()
        for case, call, error, says in (
            ("a number", lambda f: f(3, 5), P, f"'data' parameter of {name}"),
            ("three arrays", lambda f: f((X, Y, Y), 5), P, r"a pair \(x, y\)"),
            ("labels 0 and 1", lambda f: f((X, S), 5), E, r"one true class, \+1 or -1"),
            ("labels as text", lambda f: f((X, np.full(20, "a")), 5), E, "one true class"),
            ("NaN labels", lambda f: f((X, np.full(20, NAN)), 5), E, "one true class"),
            ("too few labels", lambda f: f((X, Y[:3]), 5), E, r"got y of shape \(3,\)"),
            ("no positive", lambda f: f((X, Y), 0), P, f"'n_p' parameter of {name}"),
            ("half a positive", lambda f: f((X, Y), 1.5), P, "'n_p' parameter"),
            ("too many positives", lambda f: f((X, Y), 99), E, "n_p is 99, but there are only"),
            ("seed -1", lambda f: f((X, Y), 5, random_state=-1), P, "'random_state' parameter"),
            ("no seed", lambda f: f((X, Y), 5, random_state=None), P, "'random_state' parameter"),
            ("sampling -1", lambda f: f((X, Y), 5, index=-1), P, "'index' parameter"),
            (
                "a generator's second sampling",
                lambda f: f((X, Y), 5, random_state=np.random.default_rng(0), index=1),
                P,
                "must be 0 where 'random_state' is a Generator",
            ),
        )
    ],
    *rows(
        "data",
        ("too many unlabelled", lambda _: data.sample_pu((X, Y), 5, 99), E, "n_u is 99"),
        ("no unlabelled", lambda _: data.sample_pu((X, Y), 5, 0), P, "'n_u' parameter"),
        ("too many negatives", lambda _: data.sample_pu((X, Y), 5, n_n=99), E, "n_n is 99"),
        ("prior 2", lambda _: data.sample_pu((X, Y), 5, prior=2), P, "'prior' parameter"),
        ("a prior out of reach", lambda _: data.sample_pu((X, Y), 5, 20, prior=0.9), E, "need 18"),
        ("a sample of too many", lambda _: data.sample_censored((X, Y), 5, 99), E, "n is 99"),
        ("negatives at prior 1", lambda _: data.negative_count(1, 5), P, "'prior' parameter"),
        (
            "negatives at prior 1e-300",
            lambda _: data.negative_count(1e-300, 5),
            P,
            "must be greater",
        ),
        ("one fold", lambda _: data.PUStratifiedKFold(1), P, "'n_splits' parameter"),
        ("too few rows", lambda _: data.PUStratifiedKFold(9).assign(S), E, "the rarest has 8"),
        ("no rows", lambda _: data.PUStratifiedKFold(2).assign([]), E, r"shape is \(0,\)"),
        ("two columns", lambda _: data.PUStratifiedKFold(2).assign(np.c_[S, S]), E, r"\(20, 2\)"),
        (
            "None among labels",
            lambda _: data.PUStratifiedKFold(2).assign([None, 1, 0]),
            E,
            "compared",
        ),
        (
            "groups of other length",
            lambda _: data.PUStratifiedKFold(2).assign(S, [1]),
            P,
            "'groups'",
        ),
        ("one group", lambda _: data.PUStratifiedKFold(2).assign(S, S * 0), E, "there are 1"),
        ("no file", lambda f: data.read_table(f.folder / "no.csv"), E, "does not exist"),
        ("a folder", lambda f: data.read_table(f.folder), E, "no file whose name ends in .parquet"),
        ("an empty file", lambda f: data.read_table(f.file), E, "is empty"),
        ("no path", lambda _: data.read_table(None), TypeError, "os.PathLike"),
    ),
]

TRAINING_ROWS = [
    *[
        Row(f"Training: {name}={value}", lambda _, o={name: value}: Training(**o), P, f"'{name}")
        for name, values in {
            "schedule": ("linear", None),
            "monitor": ("accuracy", 3),
            "averaging": (1.0, -0.1, NAN),
            "warm_up": (1.5, NAN, "a"),
            "validation_fraction": (1.0, -0.5),
            "least_per_batch": (0, 1.5),
            "on_epoch_end": (3, "print"),
            "checkpoint": (3, b"a"),
            "checkpoint_every": (0, 1.5, "a"),
        }.items()
        for value in values
    ],
    *rows(
        "Training",
        ("patience 0", lambda _: Training(patience=0, validation_fraction=0.2), P, "'patience'"),
        ("patience without validation", lambda _: Training(patience=3), P, "'validation_fraction"),
        ("every 0 seconds", lambda _: Training(checkpoint_every=timedelta(0)), FINITE, ""),
    ),
]


def command(*words: str) -> Callable[[SimpleNamespace], Any]:
    """Run the command line in a folder of its own; its message is the error."""

    def run(f: SimpleNamespace) -> Any:
        with pytest.raises(SystemExit) as ended:
            main([word.format(folder=f.folder, file=f.file) for word in words])
        message = f.capsys.readouterr().err
        assert ended.value.code == 2, message
        assert message.startswith("nnpu: ")
        assert message.count("\n") == 1
        raise InputError(message)

    return run


COMMAND_ROWS = rows(
    "nnpu",
    ("no such command", command("fitt"), E, "No such command 'fitt'"),
    ("fit nothing", command("fit"), E, "Missing argument 'DATA'"),
    ("fit without --label", command("fit", "{file}"), E, "Missing option '--label'"),
    ("fit no file", command("fit", "{folder}/no.csv", "--label", "s"), E, "does not exist"),
    ("fit an empty file", command("fit", "{file}", "--label", "s"), E, "is empty"),
    ("fit a prior of 2", command("fit", "{file}", "--label", "s", "--prior", "2"), E, "'--prior'"),
    (
        "predict without a model",
        command("predict", "{folder}/no", "{file}"),
        E,
        "not a model folder",
    ),
    (
        "predict to .txt",
        command("predict", "{folder}", "{file}", "--out", "p.txt"),
        E,
        "as .csv or",
    ),
    (
        "evaluate without a model",
        command("evaluate", "{folder}", "{file}", "--label", "s"),
        E,
        "model",
    ),
    ("prior of no file", command("prior", "{folder}/no.csv", "--label", "s"), E, "does not exist"),
    (
        "prior, three samples",
        command("prior", "{file}", "--label", "s", "--sampling", "three"),
        E,
        "three",
    ),
    ("plan at prior 1", command("plan", "--prior", "1", "--n-p", "9", "--n-u", "9"), E, "prior"),
    (
        "plan for no rows",
        command("plan", "--prior", "0.4", "--n-p", "0", "--n-u", "9"),
        E,
        "'n_p' parameter",
    ),
    ("demo into a file", command("demo", "--out", "{file}"), E, "is a file"),
)

TABLE = [
    *ESTIMATOR_ROWS,
    *TABLE_ROWS,
    *TENSOR_ROWS,
    *METRIC_ROWS,
    *CALIBRATION_ROWS,
    *PRIOR_ROWS,
    *THEORY_ROWS,
    *DATA_ROWS,
    *TRAINING_ROWS,
    *COMMAND_ROWS,
]


def is_finite(result: Any) -> bool:
    """Return whether no number anywhere in a result is NaN or infinite."""
    if isinstance(result, float | int):
        return math.isfinite(result)
    if isinstance(result, torch.Tensor):
        return bool(torch.isfinite(result).all())
    if isinstance(result, np.ndarray):
        return result.dtype.kind not in "fc" or bool(np.isfinite(result).all())
    if dataclasses.is_dataclass(result):
        return is_finite(vars(result))
    if isinstance(result, dict):
        return is_finite(list(result.values()))
    if isinstance(result, list | tuple):
        return all(map(is_finite, result))
    return result is None or isinstance(result, str | bool | np.bool_ | timedelta)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    folder = tmp_path_factory.mktemp("things")
    (folder / "empty").mkdir()
    (folder / "file.csv").write_bytes(b"")
    return SimpleNamespace(
        clf=PUClassifier(0.3, epochs=1, batch_size=20, random_state=0).fit(X, S),
        linear=LinearPU(0.3).fit(X, S),
        wrapper=PUWrapper(LogisticRegression(), 0.3).fit(X, S),
        folder=folder / "empty",
        file=folder / "file.csv",
    )


@pytest.fixture
def things(
    fitted: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> SimpleNamespace:
    """Fitted classifiers, an empty folder and an empty file; training and estimation fail."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("work was done before the input was checked")

    monkeypatch.chdir(fitted.folder)
    monkeypatch.setattr(network, "train", refuse)
    monkeypatch.setattr("nnpu.estimators.base.estimate_prior", refuse)
    fitted.capsys = capsys
    return fitted


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_clear_error_or_a_finite_result(row: Row, things: SimpleNamespace) -> None:
    if row.error is FINITE:
        assert is_finite(row.call(things))
        return
    with pytest.raises(row.error) as caught:
        row.call(things)
    assert re.search(row.says, str(caught.value), re.DOTALL), str(caught.value)
    assert os.listdir(things.folder) == [], "something was written"


def test_the_table_has_a_row_for_every_public_entry() -> None:
    names = " ".join(row.name for row in TABLE)
    entries = {"PUClassifier", "LinearPU", "PUWrapper", "PULoss", "estimate_prior", "load"}
    entries |= {"sensitivity", "Training", "losses", "models", "calibration", "nnpu"}
    entries |= {f"risk.{name}" for name in ("pn_risk", "upu_risk", "nnpu_risk")}
    entries |= {f"metrics.{name}" for name in metrics.METRICS}
    assert [entry for entry in entries if entry not in names] == []
    assert set(CONVEX_LOSSES) < set(losses.LOSSES)
    assert len({row.name for row in TABLE}) == len(TABLE) >= 120
