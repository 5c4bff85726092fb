"""Output folders: what a command wrote is replaced, and nothing else is ever touched."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nnpu.parameters import InputError
from nnpu_paper import runs
from nnpu_paper.cli import cli, main
from nnpu_paper.experiments import DEMO, NNPU
from nnpu_paper.results import OutputFolder
from nnpu_paper.runs import ExperimentRun, run_all

NAMES = ["a.txt", "b.txt"]


def write(place, **contents):
    with OutputFolder(place, "demo", NAMES).writing() as new:
        for name, text in contents.items():
            (new / f"{name}.txt").write_text(text)


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_command_replaces_what_it_wrote(tmp_path):
    write(tmp_path / "out", a="1", b="2")
    write(tmp_path / "out", a="3")
    assert (tmp_path / "out/a.txt").read_text() == "3"
    assert (tmp_path / "out/b.txt").read_text() == "2"
    assert sorted(tree(tmp_path / "out")) == [".nnpu-paper-demo", "a.txt", "b.txt"]
    write(tmp_path / "out", b="4")


@pytest.mark.parametrize("kind", ["foreign", "changed", "folder", "link", "broken link"])
def test_what_is_not_ours_is_refused(tmp_path, kind):
    out = tmp_path / "out"
    if kind == "changed":
        write(out, a="1")
        (out / "a.txt").write_text("my notes")
    else:
        out.mkdir()
        if kind == "foreign":
            (out / "a.txt").write_text("mine")
        elif kind == "folder":
            (out / "a.txt").mkdir()
        else:
            (tmp_path / "mine.txt").write_text("mine")
            (out / "a.txt").symlink_to(tmp_path / ("mine.txt" if kind == "link" else "nothing"))
    before = tree(tmp_path)
    with pytest.raises(InputError, match=r"a\.txt is not a file that nnpu-paper demo wrote"):
        OutputFolder(out, "demo", NAMES)
    assert tree(tmp_path) == before


def test_other_files_of_the_folder_are_left_alone(tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    write(tmp_path, a="1")
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_a_file_that_appears_during_the_work_is_not_overwritten(tmp_path):
    folder = OutputFolder(tmp_path, "demo", NAMES)

    def work():
        with folder.writing() as new:
            (new / "b.txt").write_text("ours")
            (tmp_path / "b.txt").write_text("theirs")

    with pytest.raises(InputError, match=r"b\.txt is not a file"):
        work()
    assert tree(tmp_path) == {"b.txt": b"theirs"}


def test_an_error_leaves_the_old_files(tmp_path):
    write(tmp_path, a="1")
    before = tree(tmp_path)
    folder = OutputFolder(tmp_path, "demo", NAMES)
    with pytest.raises(ZeroDivisionError), folder.writing() as new:
        (new / "a.txt").write_text(str(1 / 0))
    assert tree(tmp_path) == before


KILLED = """
import os, sys
from pathlib import Path
from nnpu_paper import results
place, stop = Path(sys.argv[1]), int(sys.argv[2])
calls = 0
def counted(real):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == stop:
            os._exit(9)
        return real(*arguments, **options)
    return call
Path.replace = counted(Path.replace)
for text in ("old", "new"):
    with results.OutputFolder(place, "demo", ["a.txt", "b.txt"]).writing() as new:
        for name in ("a.txt", "b.txt"):
            (new / name).write_text(text + name)
"""


def test_a_kill_before_any_rename_leaves_files_that_the_next_call_knows(tmp_path):
    """Each of two calls renames four files: the record, two files, the record again."""
    for stop in range(1, 10):
        place = tmp_path / str(stop)
        command = [sys.executable, "-c", KILLED, str(place), str(stop)]
        done = subprocess.run(command, check=False, env=os.environ)
        assert done.returncode == (9 if stop < 9 else 0)
        write(place, a="again", b="again")
        assert {(place / name).read_text() for name in NAMES} == {"again"}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["demo"], "report.html"),
        (["demo"], "demo.csv"),
        (["figure1"], "figure1.png"),
        (["figure3", "--dataset", "mnist"], "figure3-claims.md"),
        (["table1"], "table1.csv"),
        (["table2"], "table2-report.html"),
        (["theory"], "theorem3_beta.csv"),
        (["theory"], "section2.svg"),
    ],
)
def test_a_command_refuses_a_users_file_before_any_work(
    arguments, name, tmp_path, capsys, monkeypatch
):
    for work in ("run_one", "run_all", "at_hand"):
        monkeypatch.setattr(runs, work, lambda *a, **k: pytest.fail("it worked first"))
    (tmp_path / name).write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert said.count("\n") == 1
    assert f"{tmp_path / name} is not a file that nnpu-paper {arguments[0]} wrote" in said
    assert tree(tmp_path) == {name: b"mine"}


def test_a_command_can_be_repeated_into_its_folder(tmp_path, capsys):
    for _ in range(2):
        main(["table1", "--out", str(tmp_path)])
    assert sorted(tree(tmp_path)) == [
        ".nnpu-paper-table1",
        "table1-claims.json",
        "table1-claims.md",
        "table1-report.html",
        "table1.csv",
    ]


@pytest.mark.parametrize("content", ["mine", "a,b\n1,2\n", "", "\0\xff", "setting,method\nx,y\n"])
def test_a_foreign_file_with_the_name_of_a_run_is_refused_before_any_work(
    content, tmp_path, monkeypatch
):
    monkeypatch.setattr(runs, "run_one", lambda *a, **k: pytest.fail("it worked first"))
    path = tmp_path / ExperimentRun(DEMO, NNPU, 0, 0).file_name
    path.write_text(content)
    with pytest.raises(InputError, match="is not the run that its name promises"):
        run_all([DEMO], tmp_path)
    assert path.read_text() == content


def test_a_run_that_was_cut_short_is_refused(tmp_path):
    setting = DEMO.shortened(epochs=2)
    run_all([setting], tmp_path)
    path = tmp_path / ExperimentRun(setting, NNPU, 0, 0).file_name
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="is not the run"):
        run_all([setting], tmp_path)


def test_every_folder_of_a_command_is_one_that_is_checked():
    """bench writes nothing, and reads the folder of the authors' code."""
    paths = {
        (name, option.name)
        for name, command in cli.commands.items()
        for option in command.params
        if "path" in type(option.type).__name__.lower()
    }
    checked = {(name, "out") for name in cli.commands if name != "bench"}
    assert paths == checked | {("bench", "authors")}
