"""A table on Dask: two worker processes fit and score what one process does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_auc_score

from nnpu import EnsemblePU, TablePU, load
from nnpu.cli import cli
from nnpu.estimators import on_dask as training
from nnpu.estimators.ensemble.members import BOOSTED
from nnpu.parameters import InputError, ParameterError
from nnpu.table.partitions import fit_to_partitions, partitions_of_files

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # dask's own are not ours

N = 8000


def draw(n=N, seed=0):
    """Numbers, words, dates and gaps; the first quarter of the rows has no label."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    table = pd.DataFrame(
        {
            "row_id": np.arange(n),
            "size": rng.normal(2.0 * y, 1),
            "length": rng.normal(1.5 * y, 1),
            "town": np.where(rng.random(n) < 0.2 + 0.4 * y, "Ulm", "Bonn"),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("m8[D]"),
            "note": np.where(rng.random(n) < 0.5, "yes", None),
            "known": (y & (rng.random(n) < 0.5)).astype(int),
        }
    )
    table.loc[::9, "size"] = np.nan
    table.loc[: n // 4, "known"] = 0
    return table, y


def job(**options):
    model = EnsemblePU(members=["products", "boosted-kl"], n_jobs=1)
    return TablePU(model=model, **options)


@pytest.fixture(scope="module")
def fitted(client):
    """The job on five partitions, of which one is empty."""
    table, _ = draw()
    cut = [table[i * N // 4 : (i + 1) * N // 4] for i in range(4)]
    cut.insert(2, table[:0])
    return job().fit(dd.from_delayed([dask.delayed(one) for one in cut], meta=table[:0]), "known")


def test_two_workers_fit_what_one_process_does(fitted, tmp_path):
    here = job().fit(draw()[0], "known")
    other, y = draw(4000, seed=1)
    rows = other.drop(columns="known")
    scores = [model.decision_function(rows) for model in (fitted, here)]
    assert roc_auc_score(y, scores[0]) == pytest.approx(roc_auc_score(y, scores[1]), abs=0.01)
    assert fitted.prior_ == pytest.approx(here.prior_, abs=0.02)
    kinds = [[(c.name, c.kind) for c in model.columns_.columns] for model in (fitted, here)]
    assert kinds[0] == kinds[1]
    assert fitted.n_labelled_ + fitted.n_unlabelled_ + fitted.holdout_.rows == N
    assert fitted.holdout_.rows == pytest.approx(0.2 * N, rel=0.1)
    hidden = fitted.holdout_.hidden.share
    assert hidden.low < y[other["known"] == 0].mean() < hidden.high
    again = load(fitted.save(tmp_path / "model"))
    assert np.array_equal(again.decision_function(rows), scores[0])


def test_the_folder_loads_where_there_is_no_dask(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    draw(50)[0].to_csv(tmp_path / "table.csv", index=False)
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None; import nnpu;"
        f"print(len(nnpu.load({str(tmp_path / 'model')!r})"
        f".predict({str(tmp_path / 'table.csv')!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["50"]


def looked(table, **options):
    """What the first two walks find out."""
    return fit_to_partitions(job(**options), table, "known")


def test_plan_and_sample_do_not_depend_on_the_partitions(client):
    table, _ = draw()
    whole = looked(dd.from_pandas(table, npartitions=1))
    mixed = table.sample(frac=1, random_state=0)[[*table.columns[::-1]]]
    parts = looked(dd.from_pandas(mixed, npartitions=7, sort=False)[[*table.columns]])
    assert parts.plan.to_json() == whole.plan.to_json()
    ids = [
        [
            np.sort(one.rows.batch.columns["row_id"].to_numpy()[rows])
            for rows in (one.rows.aside, one.walk.weigh)
        ]
        for one in (whole, parts)
    ]
    for one, other in zip(*ids, strict=True):
        assert np.array_equal(one, other)
    assert whole.counts == parts.counts == (int(table["known"].sum()), N - table["known"].sum(), 0)


def test_files_of_a_pattern_are_partitions(client, tmp_path):
    table, _ = draw()
    table[:0].to_csv(tmp_path / "0.csv", index=False)  # a header and no row
    for number in (1, 2):
        table[number - 1 :: 2].to_csv(tmp_path / f"{number}.csv", index=False)
    found = looked(partitions_of_files(tmp_path / "*.csv"))
    whole = looked(dd.from_pandas(table, npartitions=1))
    assert found.counts == whole.counts
    kinds = [[(c.name, c.kind) for c in one.plan.columns] for one in (found, whole)]
    assert kinds[0] == kinds[1]
    with pytest.raises(InputError, match="has no files to read"):
        partitions_of_files(tmp_path / "*.parquet")


def test_rows_of_one_id_or_group_stay_together(client):
    table, _ = draw()
    table["customer_id"] = np.arange(N) // 4
    for options in ({}, {"groups": "customer_id"}):
        found = looked(dd.from_pandas(table, npartitions=3), **options)
        assert found.rows.grouped_by == "customer_id"
        assert "customer_id" in found.rows.unused
        ids = found.rows.batch.columns["customer_id"].to_numpy()
        aside = found.rows.aside
        assert not set(ids[aside]) & set(ids[~aside])


def test_a_column_that_is_filled_for_one_side_only_is_left_out(client):
    table, _ = draw()
    table["seen"] = np.where((table["known"] == 1) & (np.arange(N) % 2 == 0), "a", None)
    found = looked(dd.from_pandas(table, npartitions=3))
    assert "in no unlabelled one" in found.rows.unused["seen"]
    assert [c.kind for c in found.plan.columns if c.name == "seen"] == ["dropped"]


def of_parts(change):
    """Three partitions, the second changed."""
    table, _ = draw()
    cut = [table[:3000], change(table[3000:5000].copy()), table[5000:]]
    parts = [dask.delayed(one) for one in cut]
    return dd.from_delayed(parts, meta=table[:0], verify_meta=False)


@pytest.mark.parametrize(
    ("table", "s", "options", "message"),
    [
        (lambda: of_parts(lambda t: t.drop(columns="size")), "known", {}, r"partition 2: .*'size'"),
        (lambda: of_parts(lambda t: t.assign(known="soon")), "known", {}, "'soon' .row 3001"),
        (lambda: of_parts(lambda t: t.assign(size="a b")), "known", {}, "'size' is of two types"),
        (
            lambda: of_parts(lambda t: t)[["size", "known"]].assign(known=0),
            "known",
            {},
            "no row is labelled",
        ),
        (lambda: of_parts(lambda t: t), "label", {}, "no column 'label'"),
        (lambda: of_parts(lambda t: t), [1, 0], {}, "labels are a column"),
        (lambda: of_parts(lambda t: t), "known", {"time": "day"}, "not for a table on Dask"),
        (lambda: of_parts(lambda t: t).to_dask_array(), "known", {}, "a Dask DataFrame"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(client, table, s, options, message):
    with pytest.raises((InputError, ParameterError), match=message):
        job(**options).fit(table(), s)


def test_other_models_are_refused(client):
    table = of_parts(lambda t: t)
    with pytest.raises(ParameterError, match="must be 'ensemble' for a table on Dask"):
        TablePU(model="linear").fit(table, "known")
    with pytest.raises(InputError, match="answers of a review go by row numbers"):
        job().fit(table, "known", answers="answers.csv")


def test_copies_are_said(client):
    table, _ = draw()
    twice = pd.concat([table, table.assign(row_id=table["row_id"] + N)])
    with pytest.warns(UserWarning, match=r"About 50% of the rows repeat another row\. On Dask"):
        looked(dd.from_pandas(twice, npartitions=3, sort=False))


def test_the_commands_take_a_folder(client, tmp_path):
    table, _ = draw()
    (tmp_path / "parts").mkdir()
    for number in range(3):
        rows = table[number::3]
        rows.to_parquet(tmp_path / "parts" / f"{number}.parquet", row_group_size=1000, index=False)
    address = ("--dask", client.scheduler.address)
    model, parts = str(tmp_path / "model"), str(tmp_path / "parts")
    runner = CliRunner()
    fit = ["fit", parts, "--label", "known", "--out", model, "--prior", "0.3", "--json", *address]
    done = runner.invoke(cli, fit, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["prior"] == {"value": 0.3}
    assert (tmp_path / "model" / "report.html").exists()
    out = tmp_path / "scores"
    predict = ["predict", model, f"{parts}/*.parquet", "--out", str(out), *address]
    done = runner.invoke(cli, predict, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert f"{N:,} rows" in done.stdout
    found = pd.read_parquet(out)
    one = str(tmp_path / "scores.parquet")
    runner.invoke(cli, ["predict", model, parts, "--out", one], catch_exceptions=False)
    assert found.equals(pd.read_parquet(one).drop(columns="rank"))
    done = runner.invoke(cli, predict)
    assert "--out is a new or empty folder" in str(done.exception)


def test_a_killed_worker_costs_one_repetition(client, monkeypatch):
    monkeypatch.setattr(type(BOOSTED), "_rounds", lambda member, task: 2000)  # seconds
    calls, watched = [], training._watched
    monkeypatch.setattr(training, "_watched", lambda *given: calls.append(1) or watched(*given))
    pids = client.run(os.getpid)

    def kill():
        while not (running := [a for a, keys in client.processing().items() if trains(keys)]):
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(pids[running[0]], signal.SIGKILL)

    def trains(keys):
        return any("_train_part" in str(key) for key in keys)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    table, _ = draw()
    model = job(prior=0.3).fit(dd.from_pandas(table, npartitions=4), "known")
    killer.join(timeout=30)
    assert len(calls) in (2, 3, 4)
    other, y = draw(4000, seed=1)
    assert roc_auc_score(y, model.decision_function(other.drop(columns="known"))) > 0.9
