"""Every wrong file and option: status 2, one helpful line, no traceback, nothing half-written."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nnpu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def lines(head: str, *rows: str, n: int = 40) -> bytes:
    """A header, wrong rows, and enough right ones to be a table."""
    right = [f"{number}.5,{number % 7},{number % 2}" for number in range(n)]
    return "\n".join([head, *right[:3], *rows, *right[3:]]).encode() + b"\n"


def parquet(**columns: Any) -> bytes:
    """A Parquet file as bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


HEAD = "a,b,s"
GOOD = lines(HEAD)

# (name of the file, its bytes, what is said): nnpu fit FILE --label s
FIT_FILES = [
    ("t.csv", b"", "t.csv is empty"),
    ("t.csv", b"\n \n", "t.csv is empty"),
    ("t.csv", b"\xef\xbb\xbf", "t.csv is empty"),
    ("t.csv", b"a,b,s\n", "t.csv has no rows"),
    ("t.csv", b"1,2,0\n3,4,1\n", "add a header line of names"),
    ("t.csv", lines("a,b,S"), "has no column 's'. Did you mean 'S'?"),
    ("t.csv", lines("a,b,other"), "has no column 's'. It has: a, b, other."),
    ("t.csv", lines("a,a,s"), "two columns are named 'a'"),
    ("t.csv", lines(HEAD, "1,2"), "line 5: 2 cells instead of 3"),
    ("t.csv", lines(HEAD, "1,2,0,9"), "line 5: 4 cells instead of 3"),
    ("t.csv", lines(HEAD, ""), "line 5 is blank; remove it"),
    ("t.csv", lines(HEAD, '1,"2,0'), "line 5: a quote"),
    ("t.csv", lines(HEAD, '1,"2,0', '1,"x",0'), "line 5: a quote"),
    ("t.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00", "is a binary file"),
    ("t.csv", lines(HEAD, n=30_000) + b"1,\x00,0\n", "is a binary file"),
    ("t.csv.gz", gzip.compress(GOOD)[:-9], "damaged or incomplete"),
    ("t.csv", lines(HEAD, "1e39,2,0"), "Column 'a', row 4: a number is too large"),
    ("t.csv", lines(HEAD, "1e999,2,0"), "Column 'a', row 4: a number is too large"),
    ("t.csv", lines(HEAD, "1,2,2"), r"holds '2' \(row 4\); a label is 1/true/yes"),
    ("t.csv", lines(HEAD, "1,2,maybe"), r"holds 'maybe' \(row 4\)"),
    ("t.csv", lines(HEAD).replace(b",1\n", b",\n"), "no row is labelled in column 's'"),
    ("t.csv", lines(HEAD).replace(b",0\n", b",1\n"), "no row is unlabelled in column 's'"),
    ("t.csv", lines(HEAD).replace(b",0\n", b",-1\n"), "-1 means known to be negative"),
    ("t.csv", lines(HEAD, n=2), "at least two of each are needed"),
    ("t.csv", b"s\n" + b"1\n0\n" * 20, "has no column to learn from"),
    ("t.csv", b"a,s\n" + b"7,1\n7,0\n" * 20, "every row has the same value"),
    ("t.parquet", b"PAR1 but not really", "not a Parquet file"),
    ("t.parquet", parquet(s=[1, 0] * 20, d=[[1], [2]] * 20), "holds list<"),
    ("t.parquet", parquet(s=[0.5, 0] * 20, d=[1, 2] * 20), "holds '0.5'"),
    ("t.npz", b"not a zip", "is not an NPZ file"),
    ("t.npy", pickle.dumps([1, 2]), "not a file of plain NumPy arrays"),
    ("t.svm", b"1 a:b\n", "not SVMlight text"),
    ("t.svm", b"1 1:2\n0 1:3\n", "has no column 's'"),
    ("t.xls", b"anything", "must end in one of .csv"),
]
ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"x": np.ones((40, 2))}, "has no column 's'"),
    ({"s": np.tile([1, 0], 20)}, "no column to learn from"),
    ({"x": np.ones((40, 2)), "s": np.ones(3)}, "one row per example"),
    ({"x": np.ones((40, 2)), "s": np.ones((40, 2))}, "'s' is a matrix"),
    ({"x": np.full((40, 2), np.inf), "s": np.tile([1, 0], 20)}, "missing, infinite or too large"),
]


def refused(
    arguments: list[str],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run the command; it must end as every wrong input does, and leave `folder` as it was."""
    before = contents(folder)
    with pytest.raises(SystemExit) as status:
        main(arguments)
    error = capsys.readouterr().err
    assert status.value.code == 2, error
    assert error.startswith("nnpu: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error

    assert re.search(message, error), error
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    } | {str(path): b"" for path in folder.rglob("*") if path.is_dir()}


@pytest.mark.parametrize(("name", "content", "message"), FIT_FILES)
def test_fit_refuses_a_wrong_file(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_bytes(content)
    arguments = ["fit", str(tmp_path / name), "--label", "s", "--out", str(tmp_path / "model")]
    refused([*arguments, "--epochs", "1"], message, tmp_path, capsys)


@pytest.mark.parametrize(("named", "message"), ARRAYS)
def test_fit_refuses_npz_files_without_the_arrays_it_needs(tmp_path, capsys, named, message):
    np.savez(tmp_path / "t.npz", **named)
    arguments = ["fit", str(tmp_path / "t.npz"), "--label", "s", "--out", str(tmp_path / "model")]
    refused(arguments, message, tmp_path, capsys)


# Options after: nnpu fit people.csv --label label --out model
FIT_OPTIONS = [
    (["--prior", "12"], r"'--prior' .* a share such as 0.3 or 30%.* Got '12' "),
    (["--prior", "half"], "must be auto, a share such as 0.3 or 30%, or a range such as 8%-12%"),
    (["--prior", "30%-20%"], r"'--prior' .* must have its lower limit first. Got \(0.3, 0.2\)"),
    (["--labelled", "auto"], "'--labelled' .* must be a share such as 0.3 or 30%, or a range"),
    (["--labelled", "0.5", "--prior", "0.4"], "must not both be given"),
    (["--labelled-by", "agee"], "'labelled_by' parameter .* must name columns that are features"),
    (["--label-bias", "0.5"], "'--label-bias' parameter of nnpu fit .* at least 1.*Got 0.5"),
    (["--prior", "0.1"], "must be greater than the share of labelled rows, 0.1667"),
    (["--epochs", "0"], "Invalid value for '--epochs'"),
    (["--sampling", "three-sample"], "Invalid value for '--sampling'"),
    (["--id", "town"], "'town' cannot be the id: its values are missing or repeat"),
    (["--id", "ids"], "has no column 'ids'. Did you mean 'id'"),
    (["--drop", "twon"], "has no column 'twon'. Did you mean 'town'"),
    (["--drop", "age", "--drop", "town", "--drop", "member"], "has no column to learn from"),
    (["--label", "lable"], "has no column 'lable'. Did you mean 'label'"),
    (["--config", "wrong.toml"], "wrong.toml: there is no option 'epoch'. Did you mean 'epochs'"),
    (["--config", "broken.toml"], "broken.toml is not TOML"),
    (["--config", "nothing.toml"], "nothing.toml' does not exist"),
    (["--out", "taken"], r"it holds diary\.txt, which nnpu did not"),
    (["--out", "people.csv/model"], "people.csv is not a folder"),
    (["--colour"], "No such option"),
]


@pytest.mark.parametrize(("options", "message"), FIT_OPTIONS)
def test_fit_refuses_a_wrong_option(tmp_path, capsys, monkeypatch, options, message, people):
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "people.csv")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "diary.txt").write_text("mine")
    (tmp_path / "wrong.toml").write_text("epoch = 3\n")
    (tmp_path / "broken.toml").write_text("epochs = \n")
    base = ["fit", "people.csv", "--label", "label", "--out", "model"]
    refused([*base, *options], message, tmp_path, capsys)


def change_config(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change config.json as somebody with another version would, checksum included."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    kept = [line for line in sums if not line.endswith("config.json")]
    (folder / "SHA256SUMS").write_text("\n".join([f"{digest}  config.json", *kept]) + "\n")


MODELS: list[tuple[Callable[[Path], Any], str]] = [
    (shutil.rmtree, "model is not a model folder"),
    (lambda folder: (folder / "SHA256SUMS").unlink(), "has no file SHA256SUMS"),
    (lambda folder: (folder / "config.json").write_text("{}"), "config.json is damaged"),
    (
        lambda folder: change_config(folder, lambda config: config.update(schema=2)),
        "model format 2; .* Upgrade nnpu",
    ),
    (
        lambda folder: change_config(folder, lambda config: config.pop("columns")),
        "was not written by nnpu fit",
    ),
    (
        lambda folder: change_config(folder, lambda config: config["columns"].pop()),
        "the columns make . features and the model takes",
    ),
    (
        lambda folder: change_config(
            folder, lambda config: config["columns"].append({"kind": "os.system", "name": "a"})
        ),
        "stored columns cannot be understood",
    ),
    (
        lambda folder: change_config(folder, lambda config: config.update(columns=7)),
        "stored columns cannot be understood",
    ),
]


@pytest.mark.parametrize(("damage", "message"), MODELS)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_wrong_model_folder_is_refused(tmp_path, capsys, model, command, damage, message, people):
    shutil.copytree(model, tmp_path / "model")
    damage(tmp_path / "model")
    data = people(tmp_path / "new.csv", seed=1)
    options = {"predict": ["--out", str(tmp_path / "p.csv")], "evaluate": ["--label", "label"]}
    arguments = [command, str(tmp_path / "model"), str(data), *options[command]]
    refused(arguments, message, tmp_path, capsys)


PREDICT_FILES = [
    (b"id,age,town\np1,3,Ulm\n", "has no column 'member'. It has: id, age, town"),
    (b"id,Age,town,member\np1,3,Ulm,yes\n", "has no column 'age'. Did you mean 'Age'"),
    (b"age,town,member\n30,Ulm,yes\nold,Bonn,no\n", "'age', row 2: 'old' is not a number"),
    (
        b"age,town,member\n" + b"30,Ulm,yes\n" * 60_000 + b"old,Bonn,no\n" * 9_000,
        "row 60001: 'old'",
    ),
    (b"age,town,member\n30,Ulm,yes\n40,Bonn,perhaps\n", "'member', row 2: 'perhaps' is neither"),
    (b"age,town,member\n" + b"30,Ulm,yes\n" * 60_000 + b"30,Bonn\n", "line 60002: 2 cells"),
    (b"age,town,member\n" + b"30,Ulm,yes\n" * 60_000 + b'30,"Bonn,no\n' * 3, "line 60002: a quote"),
    (b"age,town,member\n", "has no rows"),
]


@pytest.mark.parametrize("row", [5, 39, 42])
def test_one_bad_cell_is_missing_in_whichever_batch_it_stands(
    tmp_path, capsys, model, monkeypatch, row
):
    """It was fatal in the last batch, which had three rows."""
    monkeypatch.setattr("nnpu.data.text_files._BLOCK", 220)  # bytes: twenty rows
    lines = ["30,Ulm,yes"] * 43
    lines[row] = "xx,Ulm,yes"
    (tmp_path / "new.csv").write_text("\n".join(["age,town,member", *lines]) + "\n")
    main(["predict", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "p.csv")])
    assert f"row {row + 1} is 'xx'" in " ".join(capsys.readouterr().err.split())
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 44


@pytest.mark.parametrize(("content", "message"), PREDICT_FILES)
def test_predict_refuses_a_wrong_file_and_writes_nothing(tmp_path, capsys, model, content, message):
    (tmp_path / "new.csv").write_bytes(content)
    arguments = ["predict", str(model), str(tmp_path / "new.csv")]
    refused([*arguments, "--out", str(tmp_path / "p.csv")], message, tmp_path, capsys)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("p.xlsx", "written as .csv or .parquet"),
        ("new.csv", "is an input of this command"),
        ("new.csv/p.csv", "is not a folder"),
    ],
)
def test_predict_refuses_a_wrong_place_to_write(tmp_path, capsys, model, out, message, people):
    data = people(tmp_path / "new.csv", seed=1)
    arguments = ["predict", str(model), str(data), "--out", str(tmp_path / out)]
    refused(arguments, message, tmp_path, capsys)


def test_predict_names_a_missing_file(tmp_path, capsys, model):
    arguments = ["predict", str(model), str(tmp_path / "no.csv"), "--out", str(tmp_path / "p.csv")]
    refused(arguments, "no.csv does not exist", tmp_path, capsys)


@pytest.mark.parametrize("command", ["evaluate", "prior"])
def test_the_label_column_is_asked_for_and_its_near_name_suggested(
    tmp_path, capsys, model, command, people
):
    data = str(people(tmp_path / "new.csv", seed=1))
    base = [command, str(model), data] if command == "evaluate" else [command, data]
    refused(base, "Missing option '--label'", tmp_path, capsys)
    refused([*base, "--label", "labels"], "Did you mean 'label'", tmp_path, capsys)


def fail_with(number: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, "the system's words", "the file")

    return fail


@pytest.mark.parametrize(  # no permission, disk full, read-only
    ("command", "number"),
    [("fit", 13), ("fit", 28), ("predict", 28), ("predict", 30), ("prior", 28)],
)
def test_a_failed_write_leaves_nothing_behind(
    tmp_path, capsys, monkeypatch, model, command, number, people
):
    data = str(people(tmp_path / "new.csv", seed=1))
    arguments = {
        "fit": ["fit", data, "--label", "label", "--epochs", "1", "--prior", "0.5"],
        "predict": ["predict", str(model), data],
        "prior": ["prior", data, "--label", "label"],
    }[command]
    out = tmp_path / {"fit": "model", "predict": "p.csv", "prior": "picture"}[command]
    # The last thing done before a file or folder gets its name: everything is written by then.
    monkeypatch.setattr("nnpu.estimators.loading.sync", fail_with(number))
    monkeypatch.setattr("nnpu.files.sync", fail_with(number))
    before = contents(tmp_path)
    with pytest.raises(SystemExit) as status:
        main([*arguments, "--out", str(out)])
    assert status.value.code == 2
    assert "the file: the system's words; make room" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_a_folder_without_permission_is_refused_before_work(tmp_path, capsys, monkeypatch, people):
    data = str(people(tmp_path / "people.csv"))
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)
    arguments = ["fit", data, "--label", "label", "--out", str(tmp_path / "model")]
    refused(arguments, "no permission for", tmp_path, capsys)
