"""``nnpu-paper demo``: files, table, JSON, and what it says about them."""

from __future__ import annotations

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from nnpu_paper import cli
from nnpu_paper import runs as runner


def demo(folder, *arguments):
    return cli.main(["demo", "--out", str(folder), *arguments])


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One short demo: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        demo(folder, "--epochs", "2")
    return folder, SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue())


def test_it_writes_a_picture_in_two_formats_and_the_table(shown):
    folder, outcome = shown
    names = ["demo.csv", "demo.png", "demo.svg", "report.html"]
    assert sorted(path.name for path in folder.glob("[!.]*")) == names
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "demo.svg").read_text()
    for name in names:
        assert str(folder / name) in outcome.stdout


def last(folder, method, curve):
    with (folder / "demo.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if (r["method"], r["curve"]) == (method, curve)]
    assert [row["epoch"] for row in rows] == ["1", "2"]
    return float(rows[-1]["value"])


def test_the_printed_table_is_the_last_epoch_of_the_written_one(shown):
    folder, outcome = shown
    lines = {line.split()[0]: line.split() for line in outcome.stdout.splitlines() if line.strip()}
    for method in ("PN", "uPU", "nnPU"):
        training, test, error = (
            last(folder, method, curve) for curve in ("train_risk", "test_risk", "test_zero_one")
        )
        assert lines[method][1:4] == [f"{training:.3f}", f"{test:.3f}", f"{error:.1%}"]


def test_the_report_shows_the_same_figures_and_what_nnpu_did(shown):
    folder, _ = shown
    text = (folder / "report.html").read_text()
    for method in ("PN", "uPU", "nnPU"):
        assert f"<td>{last(folder, method, 'test_risk'):.3f}</td>" in text
    assert "Steps with r below 0" in text
    assert "not gone below zero" in text


def test_progress_goes_to_standard_error(shown):
    _, outcome = shown
    assert "epoch 2/2" in outcome.stderr
    assert "epoch" not in outcome.stdout.partition("Even digits")[0]


def test_it_does_not_claim_what_did_not_happen(shown):
    """After two epochs uPU's risk is still above zero, and the text says so."""
    folder, outcome = shown
    assert last(folder, "uPU", "train_risk") > 0
    text = " ".join(outcome.stdout.split())
    assert "it overfits" not in text
    assert "not gone below zero" in text


def test_json_is_all_that_is_printed_and_holds_the_same_numbers(shown, tmp_path, capsys):
    folder, _ = shown
    demo(tmp_path, "--epochs", "2", "--json")
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == ""
    assert set(result["methods"]) == {"PN", "uPU", "nnPU"}
    for method, values in result["methods"].items():
        assert values == {
            "training_risk": last(folder, method, "train_risk"),
            "test_risk": last(folder, method, "test_risk"),
            "test_error": last(folder, method, "test_zero_one"),
        }
    assert len(result["files"]) == 4


def test_a_folder_that_cannot_be_made_is_one_line_before_any_training(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(runner, "run_one", lambda *a, **k: pytest.fail("it trained first"))
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SystemExit) as stop:
            demo(folder)
        err = capsys.readouterr().err
        assert stop.value.code == 2
        assert err.count("\n") == 1
        assert err.startswith("nnpu-paper: ")
        assert str(tmp_path / "file") in err


def test_the_whole_demo_shows_what_it_says(tmp_path, capsys):
    demo(tmp_path)
    assert "uPU drove its training risk below zero" in capsys.readouterr().out
    last_rows = [
        line.split(",")
        for line in (tmp_path / "demo.csv").read_text().splitlines()
        if ",100," in line
    ]
    at_the_end = {(row[1], row[5]): float(row[6]) for row in last_rows}
    assert at_the_end["uPU", "train_risk"] < 0 <= at_the_end["nnPU", "train_risk"]
    assert at_the_end["nnPU", "test_risk"] < at_the_end["uPU", "test_risk"]
