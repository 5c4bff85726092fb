"""ONNX graphs of the ensemble: two runtimes of other people give what the classifier gives."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from nnpu import BoostedPU, EnsemblePU, LinearPU
from nnpu.estimators.forest import Forest
from nnpu.export import _Graph, _trees, to_onnx
from nnpu.parameters import InputError

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
pytest.importorskip("lightgbm")

RUNTIMES = ["reference", "onnxruntime"]
N_TOWNS = 90  # more than the 64 that fit into the bits of a threshold


@pytest.fixture(params=RUNTIMES)
def run(request):
    """Return a function that runs a graph, by one of two runtimes."""

    def by_reference(model, rows):
        with np.errstate(over="ignore", invalid="ignore"):
            return reference.ReferenceEvaluator(model).run(None, {"features": rows})

    def by_onnxruntime(model, rows):
        runtime = pytest.importorskip("onnxruntime")
        how = {"providers": ["CPUExecutionProvider"]}
        session = runtime.InferenceSession(model.SerializeToString(), **how)
        return session.run(None, {"features": rows})

    return by_reference if request.param == "reference" else by_onnxruntime


@pytest.fixture(scope="module")
def sample():
    """Numbers near zero, stamps that float32 cannot hold, codes, gaps; rows to fit and others."""
    rng = np.random.default_rng(0)
    y = rng.random(900) < 0.4
    town = rng.integers(0, N_TOWNS, 900)
    x = np.column_stack(
        [
            rng.normal(y, 1),
            1.7e9 + 10 * rng.normal(2 * y, 1),
            town,
            rng.integers(0, 3, 900),
            rng.exponential(1 + y),
        ]
    )
    x[:, 2] = np.where(y & (rng.random(900) < 0.7), x[:, 2] // 2, x[:, 2])
    x[rng.random(x.shape) < 0.1] = np.nan
    s = (y & (rng.random(900) < 0.5)).astype(int)
    return x[:600], s[:600], x[600:]


def fit(sample, *members):
    chosen = list(members) or "auto"
    x, s, _ = sample
    clf = EnsemblePU(0.4, categories=[2, 3], members=chosen, n_folds=2, random_state=0)
    return clf.fit(x, s)


@pytest.fixture(scope="module")
def fitted(sample):
    return fit(sample)


def odd(rows):
    """Return other rows, and among them such that no fit has seen."""
    rows = rows.copy()
    rows[0], rows[1] = np.nan, [1e300, -1e300, 0, 0, -5]
    rows[2:5, 2] = [N_TOWNS, 5000, 0]  # two unknown codes
    return rows


def test_all_members_together_agree_also_on_gaps_and_unknown_codes(fitted, sample, tmp_path, run):
    assert {"products", "splines", "kernel", "forest", "boosted-kl"} <= {
        row["name"] for row in fitted.members_ if row["weight"]
    }
    graph = onnx.load(to_onnx(fitted, None, tmp_path / "m.onnx"))
    rows = odd(sample[2])
    score, probability, prediction = run(graph, rows)
    np.testing.assert_allclose(score, fitted.decision_function(rows), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(probability, fitted.predict_proba(rows)[:, 1], atol=1e-6)
    assert prediction.tolist() == (fitted.predict(rows) == fitted.classes_[1]).tolist()
    assert run(graph, rows[:1])[0] == pytest.approx(score[:1], rel=1e-6)


@pytest.mark.parametrize(
    "member", ["products", "splines", "kernel", "forest", "extra-trees", "small-trees"]
)
def test_each_member_agrees_alone(member, sample, tmp_path, run):
    clf = fit(sample, member)
    graph = onnx.load(to_onnx(clf, sample[0], tmp_path / "m.onnx"))
    rows = odd(sample[2])
    np.testing.assert_allclose(run(graph, rows)[0], clf.decision_function(rows), rtol=1e-5)


def test_trees_are_the_classifiers_to_the_bit(sample, tmp_path, run):
    x, s, other = sample
    x, other = (np.delete(rows, 1, axis=1).astype(np.float32) for rows in (x, other))
    clf = BoostedPU(0.4, random_state=0).fit(x, s)
    graph = onnx.load(to_onnx(clf, None, tmp_path / "m.onnx"))
    np.testing.assert_array_equal(run(graph, other)[0], clf.decision_function(other))


def test_a_forest_goes_the_ways_that_are_drawn_by_hand(run):
    """Three trees, with features x (a number) and c (a code).

    The first asks x <= 0.1, gaps to the left: 1 on the left, and on the right c in {0, 3} gives 2,
    else 4. The second never splits: 10. The third asks c in {1}: 100, else x <= 7, gaps to the
    right: 200 and 400.
    """
    forest = Forest(
        roots=np.int32([0, 5, 6]),
        feature=np.int32([0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]),
        threshold=np.array([0.1, 0, 0, 0, 0, 0, 0, 0, 7.0, 0, 0]),
        left=np.int32([1, 1, 3, 3, 4, 5, 7, 7, 9, 9, 10]),
        right=np.int32([2, 1, 4, 3, 4, 5, 8, 7, 10, 9, 10]),
        nan_left=np.array([True] + [False] * 10),
        value=np.array([0, 1, 0, 2, 4, 10, 0, 100, 0, 200, 400.0]),
        category=np.int32([-1, -1, 0, -1, -1, -1, 1, -1, -1, -1, -1]),
        goes_left=np.array([[True, False, False, True], [False, True, False, False]]),
    )
    nan, below = np.nan, np.float64(np.float32(0.1))  # float32(0.1) is more than 0.1
    rows = np.array(
        [[0.1, 1], [below, 0], [below, 1], [5, 3], [7, 2], [8, 2], [nan, nan], [nan, 1], [5, 9]]
    )
    wanted = [1 + 100, 2 + 200, 4 + 100, 2 + 200, 4 + 200, 4 + 400, 1 + 400, 1 + 100, 4 + 200]
    np.testing.assert_array_equal(forest.scores(rows), np.array(wanted) + 10.0)
    graph = _Graph(onnx)
    graph.cast(_trees(graph, "features", forest, [1], 2), np.float32, output="score")
    graph.node("Identity", "score", output="probability")
    graph.cast("score", np.int64, output="prediction")
    found = run(graph.model(2, np.float64), rows)[0]
    assert found.tolist() == [10.0 + value for value in wanted]


def test_runtimes_that_are_wrong_about_sets_refuse_graphs_with_trees(sample, tmp_path):
    """onnxruntime before 1.24 reads no IR version above 11."""
    x, s, _ = sample
    dense = np.nan_to_num(x).astype(np.float32)[:, :1]
    made = [BoostedPU(0.4), LinearPU(0.4), EnsemblePU(0.4, members=["forest"], n_folds=2)]
    versions = [
        onnx.load(to_onnx(clf.fit(dense, s), dense, tmp_path / "m.onnx")).ir_version for clf in made
    ]
    assert versions == [12, 9, 12]


def test_the_levels_of_words_are_in_the_metadata(sample, tmp_path):
    x, s, _ = sample
    frame = pd.DataFrame({"size": x[:, 0], "kind": np.array(["b", "a"])[np.arange(len(x)) % 2]})
    clf = EnsemblePU(0.4, members=["forest"], n_folds=2).fit(frame, s)
    graph = onnx.load(to_onnx(clf, frame, tmp_path / "m.onnx"))
    told = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(told["nnpu.categories"]) == [1]
    assert json.loads(told["nnpu.levels"]) == {"1": ["a", "b"]}
    assert json.loads(told["nnpu.feature_names"]) == ["size", "kind"]


def test_sparse_rows_and_members_without_a_graph_are_refused(fitted, sample, tmp_path):
    _, s, _ = sample
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.3 + 0.3 * s[:, None], (600, 30)).astype(float))
    clf = EnsemblePU(0.4, members=["linear"], n_folds=2).fit(X, s)
    with pytest.raises(InputError, match="it was fitted to sparse rows or words"):
        to_onnx(clf, X, tmp_path / "m.onnx")

    class Unknown:
        """A member of a kind that has no graph."""

    scorers = fitted.scorers_
    try:
        fitted.scorers_ = [Unknown(), *scorers[1:]]
        with pytest.raises(InputError, match="cannot hold its member 'products'"):
            to_onnx(fitted, None, tmp_path / "m.onnx")
    finally:
        fitted.scorers_ = scorers
    assert list(tmp_path.iterdir()) == []


def test_a_graph_that_is_off_is_not_written(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("nnpu.export.SURE", 0.2)  # probabilities above 0.8 are cut off then
    with pytest.raises(InputError, match="other scores"):
        to_onnx(fitted, None, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
