"""Dask: two worker processes fit what one process does, one of them may die, nothing hangs."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from nnpu import BoostedPU, TablePU, load
from nnpu.boosting import kl_round
from nnpu.estimators import on_dask as _dask_training
from nnpu.estimators.on_dask import LostWorkerError, evaluate_on_dask, fit_on_dask, predict_on_dask
from nnpu.parameters import InputError, ParameterError

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # dask's own are not ours

N = 4000


def draw(seed=0):
    """A sample with gaps and large numbers; the first quarter of its rows has no label."""
    rng = np.random.default_rng(seed)
    y = (rng.random(N) < 0.3).astype(int)
    X = pd.DataFrame(rng.normal(1.5 * y[:, None], 1, (N, 3)), columns=["a", "b", "c"])
    X.loc[::7, "b"] = np.nan
    X["c"] += 1e8
    s = pd.Series(y * (rng.random(N) < 0.4), name="s")
    s[: N // 4] = 0
    return X, s, y


def trees(prior=0.3, **options):
    options = {"n_estimators": 30, "random_state": 0} | options
    return BoostedPU(prior, risk="kl", sampling="one-sample", **options)


@pytest.fixture(scope="module")
def parts(client, tmp_path_factory):
    """The sample as a folder of four Parquet files, read by Dask."""
    X, s, _ = draw()
    folder = tmp_path_factory.mktemp("table")
    frame = X.assign(s=s)
    for number in range(4):
        rows = slice(number * N // 4, (number + 1) * N // 4)
        frame.iloc[rows].to_parquet(folder / f"part-{number}.parquet")
    table = dd.read_parquet(folder)
    return table[["a", "b", "c"]], table["s"]


def test_two_workers_fit_what_one_process_does(parts, tmp_path):
    X, s, y = draw()
    one, two = trees().fit(X, s), trees().fit(*parts)
    scores = predict_on_dask(two, parts[0]).compute()
    assert np.array_equal(scores["score"], two.decision_function(X))
    assert np.array_equal(scores["prediction"], two.predict(X))
    assert roc_auc_score(y, scores["score"]) == pytest.approx(
        roc_auc_score(y, one.decision_function(X)), abs=0.01
    )
    assert scores["score"].mean() == pytest.approx(one.decision_function(X).mean(), abs=0.05)
    again = load(two.save(tmp_path / "model"))
    assert np.array_equal(again.decision_function(X), scores["score"])
    found = evaluate_on_dask(two, *parts)
    assert found["pu_accuracy"] == pytest.approx(two.score(X, s))
    assert found["pu_roc_auc"] == pytest.approx(1, abs=0.05)


def odd_parts(change=lambda rows: rows):
    """Rows and labels of one frame: the sample, an index that repeats, the second part changed."""
    X, s, _ = draw()
    whole = X.assign(s=s)
    cut = [whole[i * N // 4 : (i + 1) * N // 4].reset_index(drop=True) for i in range(4)]
    cut[1] = change(cut[1])
    cut.insert(2, whole[:0])
    delayed = [dask.delayed(one) for one in cut]
    table = dd.from_delayed(delayed, meta=whole[:0], verify_meta=False)
    how = {"meta": X[:0], "enforce_metadata": False}
    return table.map_partitions(lambda part: part.drop(columns="s"), **how), table["s"]


@pytest.mark.parametrize("order", [["a", "b", "c", "s"], ["c", "s", "b", "a"]])
def test_odd_partitions_change_nothing(client, parts, order):
    found = trees().fit(*odd_parts(lambda rows: rows[order]))
    scores = [model.decision_function(draw()[0]) for model in (trees().fit(*parts), found)]
    assert np.corrcoef(*scores)[0, 1] > 0.99


def test_rows_of_two_frames_are_matched_by_a_unique_index_only(client):
    X, s, _ = draw()
    shuffled = s.sample(frac=1, random_state=0)
    expected = trees().fit(dd.from_pandas(X, npartitions=4), dd.from_pandas(s, npartitions=4))
    cut = [dask.delayed(shuffled[i * N // 4 : (i + 1) * N // 4]) for i in range(4)]
    found = trees().fit(dd.from_pandas(X, npartitions=4), dd.from_delayed(cut, meta=s[:0]))
    scores = [model.decision_function(X) for model in (expected, found)]
    assert np.corrcoef(*scores)[0, 1] > 0.99
    labels = dask.array.from_array(s.to_numpy(), chunks=N // 4)
    places = trees().fit(dd.from_pandas(X, npartitions=4), labels).decision_function(X)
    assert np.corrcoef(scores[0], places)[0, 1] > 0.99
    frames = [dd.from_pandas(one.set_axis(np.arange(N) // 2), npartitions=4) for one in (X, s)]
    with pytest.raises(InputError, match="their index repeats"):
        trees().fit(*frames)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop(columns="c"), r"must have the columns .*Got one with \['a', 'b'\]"),
        (lambda rows: rows.rename(columns={"c": "d"}), r"Got one with \['a', 'b', 'd'\]"),
        (lambda rows: rows.assign(s=rows["s"].astype(str)), "of one type in all partitions"),
        (lambda rows: rows.assign(s=np.nan), "contains NaN"),
    ],
)
def test_a_partition_unlike_the_others_is_one_line(client, change, message):
    with pytest.raises(ValueError, match=message):
        trees().fit(*odd_parts(change))


def test_the_prior_is_estimated_from_rows_of_all_partitions(parts):
    found = trees("auto", n_estimators=2).fit(*parts)
    assert found.prior_estimate_.low < 0.28 < found.prior_estimate_.high


def test_a_model_of_a_table_scores_partitions_too(parts):
    X, s, _ = draw()
    model = TablePU(0.3, model="linear").fit(X.assign(s=s), "s")
    scores = predict_on_dask(model, parts[0]).compute()
    assert np.array_equal(scores["score"], model.decision_function(X))


def test_the_gradient_of_a_part_is_that_of_all_rows():
    X, s, _ = draw()
    scores, s = X["a"].to_numpy(), s.to_numpy()
    for sampling in ("one-sample", "two-sample"):
        whole = kl_round(scores, s, prior=0.3, sampling=sampling)
        totals = (int(s.sum()), N)
        halves = [
            kl_round(scores[half], s[half], prior=0.3, sampling=sampling, totals=totals)
            for half in (slice(0, 1000), slice(1000, N))
        ]
        assert np.allclose(whole.gradient, np.concatenate([half.gradient for half in halves]))
        assert np.allclose(whole.hessian, np.concatenate([half.hessian for half in halves]))
        risks = [half.values["train_risk"] for half in halves]
        assert sum(risks) == pytest.approx(whole.values["train_risk"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, s: (trees().set_params(risk="nnpu"), X, s), "'risk' .* must be 'kl'"),
        (lambda X, s: (trees(), X.assign(a=X["a"].astype(str)), s), "Column 'a' holds"),
        (lambda X, s: (trees(0.05), X, s), "greater than the share of labelled rows"),
        (lambda X, s: (trees(), X, s * 0), "Only one class"),
    ],
)
def test_what_dask_cannot_do_is_one_line(parts, change, message):
    model, X, s = change(*parts)
    with pytest.raises((InputError, ParameterError), match=message):
        model.fit(X, s)


def kill_during_training(client, times=1):
    """Kill a worker, by a signal that it cannot handle, as soon as it trains; then another."""

    def run():
        for _ in range(times):
            while not (running := running_parts(client)):
                time.sleep(0.05)
            time.sleep(0.3)
            address = next(iter(running))
            os.kill(
                pids[address] if address in pids else client.run(os.getpid)[address], signal.SIGKILL
            )
            while address in client.nthreads():
                time.sleep(0.05)

    def running_parts(client):
        tasks = client.processing()
        return [one for one, keys in tasks.items() if any("_train_part" in str(k) for k in keys)]

    pids = client.run(os.getpid)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_a_killed_worker_costs_one_repetition(client, parts, monkeypatch):
    calls = []
    watched = _dask_training._watched
    monkeypatch.setattr(
        _dask_training, "_watched", lambda *given: calls.append(1) or watched(*given)
    )
    killer = kill_during_training(client)
    model = trees(n_estimators=2000).fit(*parts)  # seconds: the kill comes in their midst
    killer.join(timeout=30)
    assert len(calls) in (2, 3, 4)  # more if what was left of the first disturbed the second
    X, _, y = draw()
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    client.wait_for_workers(2, timeout=60)


def test_without_a_client_a_fit_says_so(monkeypatch):
    def none():
        raise ValueError

    monkeypatch.setattr(distributed, "default_client", none)
    X, s, _ = draw()
    with pytest.raises(InputError, match="make one first"):
        trees().fit(dd.from_pandas(X, npartitions=2), dd.from_pandas(s, npartitions=2))


def test_without_workers_a_fit_ends_in_one_line(client, parts):
    client.cluster.scale(0)
    while client.nthreads():
        time.sleep(0.05)
    with pytest.raises(LostWorkerError, match="No worker is left"):
        fit_on_dask(trees(), *parts, patience=1)
