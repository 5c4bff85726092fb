"""Pipes, locales, odd names, two runs at once: nothing is lost and nothing is overwritten."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import nnpu
from nnpu import BoostedPU, EnsemblePU, LinearPU, PUClassifier, TablePU
from nnpu.cli import main
from nnpu.estimators import features
from nnpu.estimators.ensemble.trials import make_folds
from nnpu.files import partial_folder
from nnpu.parameters import InputError
from nnpu.table.columns.column import Dropped
from nnpu.table.columns.column_plan import ColumnPlan
from nnpu.table.columns.numbers import Number
from nnpu.training.checkpoint import FolderLock

QUICK = ["--model", "linear", "--prior", "0.5"]


def run(arguments, **options):
    command = [sys.executable, "-m", "nnpu", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, **options)


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_the_report_may_not_replace_the_table(tmp_path, people, model, capsys, command):
    data = people(tmp_path / "people.csv")
    before = data.read_bytes()
    place = [] if command == "fit" else [str(model)]
    with pytest.raises(SystemExit):
        main([command, *place, str(data), "--label", "label", "--report", str(data)])
    assert "would be overwritten; choose another --report" in capsys.readouterr().err
    assert data.read_bytes() == before


def test_a_locale_without_umlauts_does_not_cost_the_model(tmp_path, people):
    data = people(tmp_path / "müller.csv")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = run(["fit", data, "--label", "label", "--out", tmp_path / "m", *QUICK], env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m" / "report.html").exists()


def test_a_line_break_in_a_name_injects_nothing_into_the_configuration(tmp_path, people, capsys):
    data = people(tmp_path / "a\nseed = 7\n#.csv")
    main(["fit", str(data), "--label", "label", "--out", str(tmp_path / "m"), *QUICK])
    options = tomllib.loads((tmp_path / "m" / "run.toml").read_text())
    assert options["data"] == str(data)
    assert options["seed"] == 0


def test_a_reader_that_goes_away_does_not_cost_the_model(tmp_path, people):
    data = people(tmp_path / "people.csv")
    read, write = os.pipe()
    os.close(read)
    command = ["fit", str(data), "--label", "label", "--out", str(tmp_path / "m"), *QUICK]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "nnpu", *command],
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m" / "model.safetensors").exists()


def test_predictions_go_through_standard_input_and_output(tmp_path, people, model):
    data = people(tmp_path / "people.csv")
    main(["predict", str(model), str(data), "--out", str(tmp_path / "p.csv")])
    done = run(["predict", model, "-", "--out", "-"], input=data.read_bytes())
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "p.csv").read_bytes()
    assert b"120 rows" in done.stderr


def test_a_pipe_is_written_to_and_not_replaced(tmp_path, people, model):
    data, pipe = people(tmp_path / "people.csv"), tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    main(["predict", str(model), str(data), "--out", str(pipe)])
    reader.join(timeout=60)
    assert pipe.is_fifo()
    assert read[0].startswith(b"id,score")


def test_a_link_to_nothing_is_refused(tmp_path, people, model, capsys):
    data, link = people(tmp_path / "people.csv"), tmp_path / "link.csv"
    link.symlink_to(tmp_path / "nowhere" / "p.csv")
    with pytest.raises(SystemExit):
        main(["predict", str(model), str(data), "--out", str(link)])
    assert "is a broken link" in capsys.readouterr().err
    assert link.is_symlink()


def test_ids_that_a_spreadsheet_would_run_are_escaped_if_asked(tmp_path, people, model):
    text = people(tmp_path / "people.csv").read_text().replace("p000", "=1+1")
    (tmp_path / "t.csv").write_text(text)
    out = tmp_path / "p.csv"
    arguments = ["predict", str(model), str(tmp_path / "t.csv"), "--out", str(out)]
    for options, first in (([], "=1+1"), (["--escape-formulas"], "'=1+1")):
        main([*arguments, *options])
        with out.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [row["id"] for row in rows[:2]] == [first, "p001"]


def test_an_interrupted_run_does_not_take_anothers_checkpoint_for_its_own(
    tmp_path, people, capsys, monkeypatch
):
    """Of two fits to one folder the first has the checkpoint; the second is told to stop."""
    data, out = people(tmp_path / "people.csv"), tmp_path / "m"
    fit = ["fit", str(data), "--label", "label", "--prior", "0.5", "--out", str(out)]
    live = FolderLock(partial_folder(out))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    try:
        with pytest.raises(SystemExit) as stopped:
            main([*fit, "--epochs", "1"])
        assert stopped.value.code == 2
        assert "is in use: another run writes to it" in capsys.readouterr().err
        monkeypatch.setattr(TablePU, "fit", interrupt)
        for options in (["--epochs", "1"], ["--model", "linear"]):
            with pytest.raises(SystemExit) as stopped:
                main([*fit, *options])
            assert stopped.value.code == 130
            assert "No model was written" in capsys.readouterr().err
    finally:
        live.release()


def test_two_writers_of_one_folder_leave_a_whole_model(tmp_path):
    clf = LinearPU(0.4).fit(np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2)

    def save_often():
        for _ in range(10):
            clf.save(tmp_path / "model")

    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(save_often) for _ in range(4)]:
            one.result(timeout=120)
    assert nnpu.load(tmp_path / "model").n_features_in_ == 2
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


X = np.random.default_rng(0).normal(size=(60, 2))
S = np.arange(60) % 3 == 0
DAYS = pd.date_range("2024-01-01", periods=60)
RAW = {
    "a meta tensor": (torch.empty(60, 2, device="meta"), "meta device"),
    "a lazy frame": (pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).lazy(), r"pass X.collect\(\)"),
    "a structured array": (
        np.array(list(map(tuple, X)), dtype=[("a", "f8"), ("b", "f8")]),
        "structured_to_unstructured",
    ),
    "an array of dates": (DAYS.to_numpy()[:, None], "holds dates or times"),
    "a frame with a date": (pd.DataFrame({"a": X[:, 0], "when": DAYS}), "'when' holds dates"),
}


@pytest.mark.parametrize("kind", RAW)
@pytest.mark.parametrize("classifier", [PUClassifier, LinearPU, BoostedPU, EnsemblePU])
def test_rows_of_a_wrong_kind_are_one_line_that_says_what_to_do(classifier, kind):
    rows, message = RAW[kind]
    if classifier is EnsemblePU and kind == "a frame with a date":
        pytest.skip("it takes frames with dates")
    with pytest.raises(InputError, match=message) as refused:
        classifier(0.4).fit(rows, S)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["a meta tensor", "a structured array"])
def test_a_table_of_a_wrong_kind_is_one_line_too(kind):
    with pytest.raises(InputError) as refused:
        TablePU(0.4, model="linear").fit(RAW[kind][0], S)
    assert "\n" not in str(refused.value)


def test_a_fit_may_stand_under_no_grad():
    with torch.no_grad():
        clf = PUClassifier(0.4, epochs=1, random_state=0).fit(X, S)
    assert np.isfinite(clf.decision_function(X)).all()


def test_the_sample_for_the_prior_keeps_all_labelled_rows(monkeypatch):
    """Ten labelled rows in 100,000, of a table that is too large to be looked at whole."""
    monkeypatch.setattr(features, "_ENOUGH", 1 << 16)
    codes = np.zeros(100_000, dtype=np.int8)
    codes[::10_000] = 1
    p, u = features.prior_rows(np.zeros((100_000, 1), dtype=np.float32), codes, 0)
    assert p.tolist() == np.flatnonzero(codes).tolist()
    assert len(u) == 1 << 14


def test_the_ensemble_keeps_labelled_rows_in_what_it_holds_out():
    s = np.zeros(400_000, dtype=np.int8)
    s[:: 400_000 // 40] = 1
    folds = make_folds(np.arange(400_000.0)[:, None], s, 0)
    assert s[folds.held_out].sum() == 40


def test_twenty_thousand_columns_are_not_twenty_thousand_lines():
    columns = [Number(f"c{j}", 0.0, 0.0, 1.0, False) for j in range(20_000)]
    lines = ColumnPlan((*columns, Dropped("note", "no cell has a value"))).lines()
    assert len(lines) < 60
    assert lines[-1] == "... and 19,996 more: 19,995 number, 1 dropped"
