"""ONNX graphs: run by a program of their own, they give what the classifier gives."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from nnpu import BoostedPU, LinearPU, PUClassifier, PUWrapper
from nnpu.export import to_onnx
from nnpu.parameters import InputError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
reference = pytest.importorskip("onnx.reference")


PLAN = [{"kind": "number", "name": "age"}]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.4, 1, -1)
    x = (100 + 50 * rng.normal(y[:, None], 1.0, (400, 4))).astype(np.float32)  # far from scaled
    return x, ((y == 1) & (rng.random(400) < 0.5)).astype(int)


@pytest.fixture(scope="module")
def exported(fitted, sample, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    return to_onnx(fitted, sample[0][:5], path, columns=PLAN)


@pytest.fixture(scope="module")
def fitted(sample):
    clf = PUClassifier(0.4, epochs=2, random_state=0).fit(*sample).calibrate(*sample)
    clf.choose_threshold(*sample, at="prior")
    return clf


def run(path, rows):
    session = reference.ReferenceEvaluator(onnx.load(path))
    with np.errstate(over="ignore", invalid="ignore"):
        return session.run(["score", "probability", "prediction"], {"features": rows})


def test_the_graph_scores_rows_that_it_was_not_checked_on(fitted, exported, sample):
    x, _ = sample
    for n in (1, 7, 400):  # the number of rows is free
        score, probability, prediction = run(exported, x[:n])
        np.testing.assert_allclose(score, fitted.decision_function(x[:n]), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(probability, fitted.predict_proba(x[:n])[:, 1], atol=1e-5)
        far = np.abs(score - fitted.threshold_) > 1e-3
        assert prediction[far].tolist() == fitted.predict(x[:n])[far].tolist()
        assert prediction.dtype == np.int64


def test_the_metadata_say_what_the_numbers_mean(fitted, exported):
    told = {entry.key: entry.value for entry in onnx.load(exported).metadata_props}
    assert float(told["nnpu.prior"]) == 0.4
    assert float(told["nnpu.threshold"]) == fitted.threshold_
    assert told["nnpu.sampling"] == "two-sample"
    assert json.loads(told["nnpu.classes"]) == [0, 1]
    assert json.loads(told["nnpu.columns"]) == PLAN


def test_a_linear_classifier_is_its_formula_and_keeps_the_names(sample, tmp_path):
    x, s = sample
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    clf = LinearPU(0.4).fit(frame, s)
    path = to_onnx(clf, frame, tmp_path / "model.onnx")
    score, _, _ = run(path, x)
    np.testing.assert_allclose(score, x @ clf.coef_[0] + clf.intercept_, rtol=1e-4, atol=1e-3)
    told = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert json.loads(told["nnpu.feature_names"]) == ["a", "b", "c", "d"]


@pytest.mark.slow
def test_sparse_rows_are_exported_as_dense_ones(sample, tmp_path):
    x, s = sample
    x = np.where(x < 100, 0, x)
    clf = PUClassifier(0.4, epochs=1, random_state=0).fit(sp.csr_array(x), s)
    score, _, _ = run(to_onnx(clf, sp.csr_array(x), tmp_path / "model.onnx"), x)
    np.testing.assert_allclose(score, clf.decision_function(x), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_images_and_batch_norm_are_exported(tmp_path):
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(40, 1, 8, 8)).astype(np.float32), np.arange(40) % 2
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 1)
    )
    clf = PUClassifier(0.4, module=net, epochs=1, random_state=0).fit(x, s)
    score, _, _ = run(to_onnx(clf, x, tmp_path / "model.onnx"), x)
    np.testing.assert_allclose(score, clf.decision_function(x), rtol=1e-3, atol=1e-4)


class Drawing(nn.Module):
    """Draws when it scores: no two passes are alike."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x) + torch.rand(len(x), 1)


def test_a_graph_with_other_scores_is_not_written(sample, tmp_path):
    clf = PUClassifier(0.4, module=Drawing(), epochs=1).fit(*sample)
    with pytest.raises(InputError, match="other scores"):
        to_onnx(clf, sample[0], tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("basis", ["gaussian", "rff"])
def test_a_basis_is_exported(basis, sample, tmp_path):
    x, s = sample
    clf = LinearPU(0.4, loss="logistic", basis=basis, n_components=30, random_state=0).fit(x, s)
    path = to_onnx(clf, x[:5], tmp_path / "model.onnx")
    np.testing.assert_allclose(run(path, x)[0], clf.decision_function(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_boosted_trees_are_exported_with_their_way_for_missing_values(missing, sample, tmp_path):
    pytest.importorskip("lightgbm")
    x, s = sample
    if missing:
        x = np.where(np.random.default_rng(1).random(x.shape) < 0.2, np.nan, x)
    clf = BoostedPU(0.4, random_state=0).fit(x, s).calibrate(x, s)
    path = to_onnx(clf, x[:5], tmp_path / "model.onnx")
    x = np.where(np.arange(4) == np.arange(400)[:, None] % 4, np.nan, x)  # also where none was seen
    score, probability, _ = run(path, x.astype(np.float32))
    np.testing.assert_array_equal(score, clf.decision_function(x))
    np.testing.assert_allclose(probability, clf.predict_proba(x)[:, 1], atol=1e-5)


def test_trees_that_never_split_are_exported(tmp_path):
    pytest.importorskip("lightgbm")
    x = np.zeros((40, 2), dtype=np.float32)
    clf = BoostedPU(0.4).fit(x, np.arange(40) % 4 == 0)
    assert run(to_onnx(clf, x, tmp_path / "model.onnx"), x)[0].tolist() == [0.0] * 40


def test_classifiers_without_a_graph_are_refused(sample, tmp_path):
    from sklearn.linear_model import LogisticRegression

    x, s = sample
    with pytest.raises(InputError, match="cannot be written as ONNX"):
        to_onnx(PUWrapper(LogisticRegression(), 0.4).fit(x, s), x, tmp_path / "model.onnx")


def test_without_onnx_the_error_names_the_extra(fitted, sample, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'nnpu\[onnx\]'"):
        to_onnx(fitted, sample[0], tmp_path / "model.onnx")


def test_another_runtime_gives_the_same_scores(fitted, exported, sample):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    [score] = session.run(["score"], {"features": sample[0]})
    np.testing.assert_allclose(score, fitted.decision_function(sample[0]), rtol=1e-4, atol=1e-4)


def test_a_float32_threshold_cuts_float32_scores_as_the_float64_one_does():
    from nnpu.export import _float32_below

    for threshold in (0.1, -0.1, 1e-9, 0.0, np.pi):
        below = _float32_below(threshold)
        near = np.float32(threshold) + np.spacing(np.float32(threshold)) * np.arange(-3, 4)
        scores = near.astype(np.float32)
        assert ((scores > np.float32(below)) == (scores.astype(np.float64) > threshold)).all()
