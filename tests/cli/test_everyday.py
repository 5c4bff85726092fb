"""Pipes, locales, odd names: no model is lost to them and no file is overwritten by accident."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import threading
import tomllib

import pytest

from nnpu.cli import main

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
    assert "is the file to read; choose another --report" in capsys.readouterr().err
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
    assert "is a link to nothing" in capsys.readouterr().err
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["score", "probability", "prediction"])
def test_an_id_named_like_a_prediction_is_refused_and_never_dropped(tmp_path, people, capsys, name):
    text = people(tmp_path / "people.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("id,", f"{name},", 1))
    command = ["fit", str(tmp_path / "t.csv"), "--label", "label", "--id", name]
    main([*command, "--out", str(tmp_path / "m"), *QUICK])
    with pytest.raises(SystemExit):
        main(
            [
                "predict",
                str(tmp_path / "m"),
                str(tmp_path / "t.csv"),
                "--out",
                str(tmp_path / "p.csv"),
            ]
        )
    assert f"The id column is called {name!r}" in capsys.readouterr().err


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
