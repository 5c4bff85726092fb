"""``nnpu demo``: what the printed commands do, in one go, and an answer that is true."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import nnpu
from nnpu import cli
from nnpu.data import example_table
from nnpu.storage import CONFIG, FILES, LOG, REPORT, SUMS

NAMES = ["demo.csv", "model", "predictions.csv", "report.html"]


def demo(folder, *arguments):
    return cli.main(["demo", "--out", str(folder), *arguments])


def tree(folder):
    """Return every file below a folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A demo in a process of its own: its folder, whose name has a space, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "a folder"
    code = (
        "import sys; from nnpu.cli import main; main(['demo', '--out', sys.argv[1]])\n"
        "print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    out, _, torch_was_loaded = done.stdout.strip().rpartition("\n")
    return SimpleNamespace(folder=folder, out=out, err=done.stderr, torch=torch_was_loaded)


@pytest.fixture
def earlier(shown, tmp_path):
    """A copy of an earlier demo."""
    return shutil.copytree(shown.folder, tmp_path / "earlier")


@pytest.fixture
def never(monkeypatch):
    def fit(*_, **__):
        raise AssertionError("the fit was begun")

    monkeypatch.setattr(nnpu.TablePU, "fit", fit)


def commands(shown):
    return [line.strip() for line in shown.out.splitlines() if line.startswith("  nnpu ")]


def test_it_writes_the_table_the_model_the_predictions_and_the_report(shown):
    assert sorted(path.name for path in shown.folder.iterdir()) == NAMES
    written = {path.name for path in (shown.folder / "model").iterdir()}
    assert written == set(FILES) - {REPORT}
    assert f"Report: {shown.folder / 'report.html'} " in shown.out
    assert shown.err == ""


def test_the_table_is_the_bundled_one(shown):
    text = (shown.folder / "demo.csv").read_text()
    rows = [line.split(",") for line in text.splitlines()]
    table = example_table()
    assert rows[0] == table.column_names
    for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=True):
        if name == "id":
            assert list(cells) == table["id"].to_pylist()
        else:
            assert [float(cell) if cell else None for cell in cells] == table[name].to_pylist()


def test_the_printed_commands_do_the_same_to_the_byte(shown, capsys):
    """As copied from the screen; the log holds times, and the fit alone talks while it works."""
    before = tree(shown.folder)
    copied = [shlex.split(command) for command in commands(shown)]
    assert [command[:2] for command in copied] == [
        ["nnpu", "fit"],
        ["nnpu", "predict"],
        ["nnpu", "evaluate"],
    ]
    shutil.rmtree(shown.folder / "model")
    (shown.folder / "report.html").unlink()
    (shown.folder / "predictions.csv").unlink()
    for command in copied:
        capsys.readouterr()
        cli.main(command[1:])
    assert "Unlabelled rows: 473. Positive among them: about " in capsys.readouterr().out
    after = tree(shown.folder)
    assert after.keys() == before.keys()
    config, sums, log = (f"model/{name}" for name in (CONFIG, SUMS, LOG))
    assert {name for name in before if before[name] != after[name]} <= {config, sums, log}
    settings, demos = json.loads(after[config]), json.loads(before[config])
    assert (settings["parameters"].pop("verbose"), demos["parameters"].pop("verbose")) == (1, 0)
    assert settings == demos


def test_an_earlier_demo_is_replaced_and_its_figures_are_those_of_the_fit(shown, earlier, capsys):
    """The truth is counted here from scikit-learn's classes and the bundled table."""
    (earlier / "notes.md").write_text("mine")
    before = tree(earlier)
    demo(earlier, "--json")
    result, after = json.loads(capsys.readouterr().out), tree(earlier)
    assert after.keys() == before.keys()
    for name in ("notes.md", "demo.csv", "predictions.csv", "model/model.safetensors"):
        assert after[name] == before[name]
    assert sorted(result["files"]) == [str(earlier / name) for name in NAMES]
    assert (
        result["commands"][2] == f"nnpu evaluate {earlier}/model {earlier}/demo.csv --label known"
    )

    data = shown.folder / "demo.csv"
    model = nnpu.TablePU(label_bias=1).fit(data, "known")
    found = model.holdout_
    assert result["held_out"] == json.loads(json.dumps(found.to_json()))
    malignant = load_breast_cancer().target == 0
    known = np.array(example_table()["known"].to_pylist()) == 1
    hidden = malignant & ~known
    flagged = model.predict(data) == 1
    ranked = np.flatnonzero(~known)[np.argsort(-model.decision_function(data)[~known])]
    assert (result["rows"], result["labelled"], result["unlabelled"]) == (569, 96, 473)
    assert result["flagged"] == (flagged & ~known).sum()
    assert result["truth"] == {
        "hidden": 212 - 96,
        "flagged": (flagged & hidden).sum(),
        "top": {"20": hidden[ranked[:20]].sum(), "50": hidden[ranked[:50]].sum()},
        "recall": pytest.approx(flagged[hidden].mean()),
    }
    for name in ("value", "low", "high"):
        assert result["hidden"][name] == round(473 * getattr(found.hidden.share, name))
        assert result["recall"][name] == getattr(found.hidden.recall, name)
        for n in (20, 50):
            assert result["top"][str(n)][name] == round(n * getattr(found.top(n), name))


def test_the_truth_is_inside_the_intervals_it_prints(shown):
    number = r" +([0-9.]+)"
    figures = re.findall(rf"^  .*?{number}{number} to{number}{number}$", shown.out, re.MULTILINE)
    assert len(figures) == 4
    for value, low, high, truth in np.array(figures, dtype=float):
        assert low <= value <= high
        assert low <= truth <= high


def test_what_it_says_to_look_at_is_in_the_report(shown):
    text = (shown.folder / "report.html").read_text()
    listed = shown.out.partition("Look at these parts of it:\n")[2].partition("\nThe same")[0]
    headings = [line.strip().split("  ")[0] for line in listed.splitlines()]
    assert len(headings) == 4
    for heading in headings:
        assert f">{heading}</h2>" in text


@pytest.mark.parametrize("page", ["docs/start.md"])
def test_the_docs_show_what_it_prints(page, shown):
    """But for the figures, which may differ on another machine."""
    text = (Path(__file__).parents[2] / page).read_text("utf-8")
    promised = re.search(r"^(?:\$ nnpu demo\n)?(Table: .*?)^```$", text, re.MULTILINE | re.DOTALL)[
        1
    ]
    printed = shown.out.replace(str(shown.folder), "nnpu-demo").replace("'", "")
    assert re.sub(r"[\d.]+", "#", promised).split() == re.sub(r"[\d.]+", "#", printed).split()


def test_it_needs_no_torch(shown):
    assert shown.torch == "False"


# What stands in the folder.


@pytest.mark.parametrize("there", ["all", "all of 0.2.0", "table", "nothing"])
def test_an_earlier_demo_complete_or_killed_is_begun_again(there, earlier, never):
    """The table is written first; a killed demo may leave a temporary file too."""
    (earlier / ".nnpu-tmp-0123.csv").write_text("half")
    if there == "all of 0.2.0":  # its predictions had no rank
        rows = (earlier / "predictions.csv").read_text().splitlines()
        older = [row.rpartition(",")[0] for row in rows]
        (earlier / "predictions.csv").write_text("\n".join(older))
    elif there != "all":
        shutil.rmtree(earlier / "model")
        (earlier / "report.html").unlink()
        (earlier / "predictions.csv").unlink()
    if there == "nothing":
        (earlier / "demo.csv").unlink()
    with pytest.raises(AssertionError, match="the fit was begun"):
        demo(earlier)


def own_table(folder):
    (folder / "demo.csv").write_text("a,known\n1,1\n")
    return "demo.csv"


def edited_table(folder):
    with (folder / "demo.csv").open("a") as stream:
        stream.write("T569" + "," * 31 + "\n")
    return "demo.csv"


def own_predictions(folder):
    (folder / "predictions.csv").write_text("id,score,probability,prediction\nmine,1,1,1\n")
    return "predictions.csv"


def own_report(folder):
    (folder / "report.html").write_text("<title>Report: customers.csv</title>")
    return "report.html"


def linked_report(folder):
    (folder / "report.html").rename(folder / "kept.html")
    (folder / "report.html").symlink_to("kept.html")
    return "report.html"


def link_to_nothing(folder):
    (folder / "predictions.csv").unlink()
    (folder / "predictions.csv").symlink_to("nowhere")
    return "predictions.csv"


def folder_of_that_name(folder):
    (folder / "report.html").unlink()
    (folder / "report.html").mkdir()
    return "report.html"


def note_in_the_model(folder):
    (folder / "model" / "notes.md").write_text("what we found")
    return "model cannot be replaced by a model: it holds notes.md"


def linked_model(folder):
    (folder / "model").rename(folder / "kept")
    (folder / "model").symlink_to("kept")
    return "model"


def only_a_model(folder):
    """A folder of the user's with a model of theirs."""
    for name in ("demo.csv", "predictions.csv", "report.html"):
        (folder / name).unlink()
    return "model"


def only_a_report(folder):
    shutil.rmtree(folder / "model")
    for name in ("demo.csv", "predictions.csv"):
        (folder / name).unlink()
    return "report.html"


@pytest.mark.parametrize(
    "change",
    [
        own_table,
        edited_table,
        own_predictions,
        own_report,
        linked_report,
        link_to_nothing,
        folder_of_that_name,
        note_in_the_model,
        linked_model,
        only_a_model,
        only_a_report,
    ],
    ids=lambda change: change.__name__,
)
def test_what_is_not_from_an_earlier_demo_is_refused_before_any_work(
    change, earlier, capsys, never
):
    named = change(earlier)
    before = tree(earlier)
    with pytest.raises(SystemExit) as stop:
        demo(earlier)
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert err.count("\n") == 1
    assert err.startswith(f"nnpu: {earlier / named}")
    assert "hoose another" in err
    assert tree(earlier) == before


def test_a_folder_that_cannot_be_made_is_one_line_before_any_work(tmp_path, capsys, never):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SystemExit) as stop:
            demo(folder)
        err = capsys.readouterr().err
        assert stop.value.code == 2
        assert err.count("\n") == 1
        assert err.startswith("nnpu: ")
        assert str(tmp_path / "file") in err
