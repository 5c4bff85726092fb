"""Many at once: threads that predict, and searches that fit in threads or in processes."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import nnpu
from nnpu import BoostedPU, EnsemblePU, LinearPU, PUClassifier, PUWrapper
from nnpu.data import PUStratifiedKFold
from nnpu.estimators import threads


@pytest.fixture
def fitted(sample, quick, tmp_path):
    network = PUClassifier(0.4, epochs=1, random_state=0).fit(sample.x, sample.s)  # has dropout
    linear = LinearPU(0.4, basis="gaussian", n_components=20, random_state=0)
    linear.fit(sample.x, sample.s)
    return {
        "network": network,
        "linear": linear,
        "wrapper": PUWrapper(LogisticRegression(), 0.4).fit(sample.x, sample.s),
        "loaded network": nnpu.load(network.save(tmp_path / "network")),
        "loaded linear": nnpu.load(linear.save(tmp_path / "linear")),
    }


@pytest.mark.parametrize(
    "name", ["network", "linear", "wrapper", "loaded network", "loaded linear"]
)
def test_eight_threads_predict_what_one_does(name, fitted, sample):
    clf = fitted[name]
    parts = [sample.x[start : start + 50] for start in range(0, 200, 25)]
    alone = [(clf.predict_proba(part), clf.predict(part)) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            together = pool.map(lambda part: (clf.predict_proba(part), clf.predict(part)), parts)
            for expected, found in zip(alone, together, strict=True):
                assert np.array_equal(expected[0], found[0])
                assert np.array_equal(expected[1], found[1])


def test_threads_that_fit_and_threads_that_predict_do_not_disturb_each_other(sample, quick):
    clf = PUClassifier(0.4, epochs=1, random_state=0).fit(sample.x, sample.s)
    scores = clf.decision_function(sample.x)
    weights = quick().fit(sample.x, sample.s).decision_function(sample.x)
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(quick().fit, sample.x, sample.s) for _ in range(4)]
        predictions = [pool.submit(clf.decision_function, sample.x) for _ in range(20)]
        assert all(np.array_equal(part.result(), scores) for part in predictions)
        for fit in fits:
            assert np.array_equal(fit.result().decision_function(sample.x), weights)


def search(sample, quick, n_jobs):
    grid = {"lr": [1e-3, 0.03], "beta": [0.0, 0.1]}
    folds = PUStratifiedKFold(2, random_state=0)
    found = GridSearchCV(quick(), grid, cv=folds, n_jobs=n_jobs).fit(sample.x, sample.s)
    return found.cv_results_["mean_test_score"].tolist(), found.decision_function(sample.x).tolist()


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_parallel_search_finds_what_a_sequential_one_does(backend, sample, quick):
    expected = search(sample, quick, None)
    with joblib.parallel_config(backend=backend):
        assert search(sample, quick, 2) == expected


@pytest.mark.parametrize(
    ("allowed", "total", "busy", "expected"),
    [
        (2, 2, 0, 2),
        (2, 2, 1, 1),
        (2, 2, 3, 1),  # two threads took six times as long as one
        (2, 64, 30, 2),  # a container with a quota, on a large machine
        (8, 8, 3, 5),
    ],
)
def test_threads_are_as_many_as_processors_are_free(allowed, total, busy, expected, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: allowed)
    monkeypatch.setattr("os.cpu_count", lambda: total)
    monkeypatch.setattr(threads, "_busy_elsewhere", lambda: busy)
    assert threads.count_jobs(None) == threads.count_jobs(-1) == expected
    assert threads.count_jobs(3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads.count_jobs(None) == 1


def test_a_thread_that_works_elsewhere_is_seen():
    """While another process computes, at least one processor is busy beside this thread."""
    work = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(work) as other:
        try:
            looks = []
            for _ in range(100):
                time.sleep(0.02)
                looks.append(threads._busy_elsewhere())
        finally:
            other.kill()
    assert np.median(looks) >= 1


@pytest.mark.parametrize("classifier", [BoostedPU, EnsemblePU])
def test_trees_ask_how_many_processors_are_free(classifier, monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "_busy_elsewhere", lambda: asked.append(1) or 0)
    x = np.random.default_rng(0).normal(size=(600, 3)) + np.arange(600)[:, None] % 2
    members = {"members": ["small-trees"]} if classifier is EnsemblePU else {"n_estimators": 2}
    classifier(0.5, random_state=0, **members).fit(x, np.arange(600) % 2)
    assert asked
