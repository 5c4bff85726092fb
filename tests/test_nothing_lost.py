"""Nothing of the user's is lost: folders, inputs and links are left as they were, or refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import click
import numpy as np
import pytest
from scipy import sparse

import nnpu
from nnpu import ImagePU, LinearPU, PUClassifier
from nnpu.cli import _COMMANDS, cli, main
from nnpu.cli._paths import Command, Result, Source
from nnpu.data import write_csr
from nnpu.files import atomic_path, write_text
from nnpu.parameters import InputError
from nnpu.storage import FILES
from nnpu.training import Training, checkpoints_beside

FIXTURES = Path(__file__).parent / "fixtures"
NUMBERS = FIXTURES / "tables" / "numbers.csv"
QUICK = ["--label", "known", "--model", "linear", "--prior", "0.4"]


def tree(folder):
    """Return every file below a folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(capsys, arguments, message):
    """Run a command that must end with status 2 and this message."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert message in said
    assert len(said.splitlines()) == 1


@pytest.fixture
def never(monkeypatch):
    """Make a fit fail the test: what is refused is refused before any work."""

    def fit(*_, **__):
        raise AssertionError("the fit was begun")

    monkeypatch.setattr(nnpu.TablePU, "fit", fit)


@pytest.fixture
def table(tmp_path):
    return Path(shutil.copy(NUMBERS, tmp_path / "t.csv"))


@pytest.fixture
def model(tmp_path):
    """A model folder as ``nnpu fit`` leaves it."""
    folder = Path(shutil.copytree(FIXTURES / "0.2.0" / "linear", tmp_path / "model"))
    for name in ("report.html", "run.toml", "log.jsonl"):
        (folder / name).write_text("")
    return folder


# Folders that are not a model's.


def downloads(folder):
    """A folder with checksums of its own, as they come with data."""
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis" / "ch1.tex").write_text("x")
    shutil.copy(NUMBERS, folder / "customers.csv")
    (folder / "SHA256SUMS").write_text("0" * 64 + "  customers.csv\n")


def checksums_alone(folder):
    folder.mkdir()
    (folder / "SHA256SUMS").write_text("0" * 64 + "  elsewhere.iso\n")


def another_model(folder):
    """Weights and configuration under the names that we have too, but not ours."""
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["Bert"]}')
    (folder / "model.safetensors").write_bytes(b"weights")


def linked_weights(folder):
    shutil.copytree(FIXTURES / "0.2.0" / "linear", folder)
    (folder / "report.html").symlink_to("config.json")


def folder_of_our_name(folder):
    shutil.copytree(FIXTURES / "0.2.0" / "linear", folder)
    (folder / "log.jsonl").mkdir()


def with_notes(folder):
    shutil.copytree(FIXTURES / "0.2.0" / "linear", folder)
    (folder / "notes.md").write_text("what we found")


def with_a_table(folder):
    shutil.copytree(FIXTURES / "0.2.0" / "linear", folder)
    shutil.copy(NUMBERS, folder / "t.csv")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (downloads, "it holds customers.csv and thesis, which nnpu did not write"),
        (checksums_alone, "it holds SHA256SUMS, but not the config.json of an nnpu model"),
        (
            another_model,
            "it holds config.json and model.safetensors, but not the",
        ),
        (linked_weights, "it holds report.html, which nnpu did not write"),
        (folder_of_our_name, "it holds log.jsonl, which nnpu did not write"),
        (with_notes, "it holds notes.md, which nnpu did not write"),
        (with_a_table, "it holds t.csv, which nnpu did not write"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_folder_with_anything_else_is_refused_before_any_work(
    make, named, table, tmp_path, capsys, never
):
    out = tmp_path / "dl"
    make(out)
    before = tree(tmp_path)
    refused(capsys, ["fit", table, *QUICK, "--out", out], named)
    with pytest.raises(InputError, match="Choose another folder"):
        nnpu.load(FIXTURES / "0.1.0" / "linear").save(out)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("make", [downloads, with_a_table], ids=["downloads", "a model's"])
def test_the_table_to_learn_from_is_not_deleted_with_its_folder(make, tmp_path, capsys, never):
    make(tmp_path / "dl")
    data = next((tmp_path / "dl").glob("*.csv"))
    before = tree(tmp_path)
    refused(capsys, ["fit", data, *QUICK, "--out", tmp_path / "dl"], "choose another --out")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("model_name", ["network", "images"])
def test_a_folder_for_checkpoints_with_anything_else_is_refused_before_any_work(
    model_name, table, tmp_path, capsys, never
):
    partial = tmp_path / "m.partial"
    partial.mkdir()
    (partial / "thesis.tex").write_text("x")
    before = tree(tmp_path)
    options = ["--images", "a"] if model_name == "images" else ["--model", "network"]
    command = ["fit", table, "--label", "known", "--out", tmp_path / "m", *options]
    refused(capsys, command, "holds other files than checkpoints (thesis.tex)")
    with (
        pytest.raises(InputError, match=r"thesis\.tex"),
        checkpoints_beside(tmp_path / "m"),
    ):
        pass
    assert tree(tmp_path) == before


def test_images_remove_no_folder_of_the_users(tmp_path):
    rng = np.random.default_rng(0)
    images, s = rng.integers(0, 255, (80, 8, 8), dtype=np.uint8), np.arange(80) % 2
    for place in ("thesis", "first/chapter"):  # "first" is the name of a network's folder
        (tmp_path / "mine" / place).mkdir(parents=True)
        (tmp_path / "mine" / place / "ch1.tex").write_text("x")
        before = tree(tmp_path)
        with pytest.raises(InputError, match=r"holds other files than checkpoints"):
            ImagePU(0.5, epochs=1, checkpoint=tmp_path / "mine").fit(images, s)
        assert tree(tmp_path) == before
        shutil.rmtree(tmp_path / "mine")
    ImagePU(0.5, epochs=1, checkpoint=tmp_path / "own").fit(images, s)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_not_taken_for_a_file_of_the_users(tmp_path):
    """``poetry.lock`` stands beside a folder of checkpoints called ``poetry``."""
    (tmp_path / "poetry.lock").write_text("precious")
    rng = np.random.default_rng(0)
    training = Training(checkpoint=tmp_path / "poetry")
    PUClassifier(0.4, epochs=1, training=training).fit(rng.normal(size=(40, 2)), np.arange(40) % 2)
    assert tree(tmp_path) == {"poetry.lock": b"precious"}


def test_a_sparse_table_replaces_no_arrays_of_the_users(tmp_path):
    np.save(tmp_path / "data.npy", np.arange(3))
    before = tree(tmp_path)
    with pytest.raises(InputError, match=r"holds data\.npy and is not a table of write_csr"):
        write_csr(tmp_path, sparse.eye_array(3, format="csr"))
    assert tree(tmp_path) == before


def test_a_sparse_table_that_cannot_be_replaced_stays(tmp_path):
    folder = write_csr(tmp_path / "table", sparse.eye_array(3, format="csr"))
    before = tree(folder)
    blocks = [sparse.eye_array(3, format="csr"), sparse.eye_array(4, format="csr")]
    with pytest.raises(InputError, match="A block has 4 columns"):
        write_csr(folder, blocks)
    assert tree(folder) == before
    write_csr(folder, sparse.eye_array(4, format="csr"))
    assert nnpu.data.read_csr(folder).shape == (4, 4)


@pytest.mark.parametrize("there", [None, "empty", "model"])
def test_an_absent_an_empty_and_a_model_folder_are_written(there, table, model, tmp_path, capsys):
    out = model if there == "model" else tmp_path / "m"
    if there == "empty":
        out.mkdir()
    main(["fit", str(table), *QUICK, "--out", str(out)])
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    assert [path.name for path in tmp_path.glob(".*")] == []
    assert nnpu.load(out).classifier_.n_features_in_ == 4


def test_the_folder_one_is_in_is_not_replaced(table, model, capsys, monkeypatch, never):
    monkeypatch.chdir(model)
    before = tree(model)
    refused(capsys, ["fit", table, *QUICK, "--out", "."], "is the folder you are in")
    assert tree(model) == before


def test_what_is_put_into_the_folder_at_the_last_moment_is_kept(tmp_path, monkeypatch):
    """After the last look, before the swap: it moves aside with the old model, and stays there."""
    clf = nnpu.load(FIXTURES / "0.1.0" / "linear")
    target = clf.save(tmp_path / "model")
    whole = Path.rename

    def rename(self, other):
        if self == target:
            (target / "late.md").write_text("x")
        return whole(self, other)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.warns(UserWarning, match=r"model held late\.md when it was replaced"):
        clf.save(target)
    monkeypatch.undo()
    assert sorted(path.name for path in target.iterdir()) == sorted(FILES[:3])
    assert (tmp_path / ".nnpu-tmp-old-model" / "late.md").read_text() == "x"
    with pytest.raises(InputError, match=r"old-model cannot be replaced .* holds late\.md"):
        clf.save(target)
    assert (tmp_path / ".nnpu-tmp-old-model" / "late.md").read_text() == "x"


@pytest.mark.parametrize("name", ["config.json", "../diary.md", "notes.md"])
def test_a_note_goes_nowhere_but_where_notes_go(name, table, model, tmp_path):
    before = tree(tmp_path)
    with pytest.raises(nnpu.parameters.ParameterError, match="The 'notes' parameter of save"):
        nnpu.load(model).save(model, notes={name: "x"})
    assert tree(tmp_path) == before


# Outputs that are inputs.


@pytest.fixture
def files(table, model, tmp_path):
    """Inputs of every kind, by the names that the cases below use."""
    sheet = tmp_path / "ask.csv"
    main(["review", str(model), str(table), "--rows", "5", "--out", str(sheet), "--label", "known"])
    config = tmp_path / "c.toml"
    config.write_text('data = "t.csv"\nlabel = "known"\nmodel = "linear"\n')
    parts = tmp_path / "parts"
    parts.mkdir()
    shutil.copy(table, parts / "one.csv")
    (tmp_path / "soft.csv").symlink_to(table)
    os.link(table, tmp_path / "hard.csv")
    return tmp_path


CLASHES = {
    "review: report on its answers": "review model t.csv --answers ask.csv --report ask.csv",
    "review: page on its answers": "review model t.csv --answers ask.csv --page ask.csv",
    "review: page on what is known": "review model t.csv --known ask.csv --page ask.csv",
    "review: out on a second sheet": (
        "review model t.csv --answers ask.csv --second ask.csv --out ask.csv"
    ),
    "review: page on the table": "review model t.csv --page t.csv",
    "review: report on the model": (
        "review model t.csv --answers ask.csv --report model/config.json"
    ),
    "fit: report on its answers": "fit t.csv --label known --answers ask.csv --report ask.csv",
    "fit: report on its configuration": "fit --config c.toml --report c.toml",
    "fit: report on the table": "fit t.csv --label known --report t.csv",
    "fit: report on a link to the table": "fit t.csv --label known --report soft.csv",
    "fit: report on the table by a link": "fit soft.csv --label known --report t.csv",
    "fit: report on a hard link": "fit t.csv --label known --report hard.csv",
    "fit: model on its own log": "fit model/log.jsonl --label known --out model",
    "fit: model on its answers": "fit t.csv --label known --answers model/log.jsonl --out model",
    "fit: report on the model": "fit t.csv --label known --out m --report m",
    "fit: report in the model": "fit t.csv --label known --out m --report m/config.json",
    "predict: out on the table": "predict model t.csv --out t.csv",
    "predict: out on a link": "predict model t.csv --out soft.csv",
    "predict: out on a file of the folder": "predict model parts --out parts/one.csv",
    "predict: out in the folder": "predict model parts --out parts/two.csv",
    "evaluate: report on the table": "evaluate model t.csv --label known --report hard.csv",
    "evaluate: report on the model": (
        "evaluate model t.csv --label known --report model/model.safetensors"
    ),
    "prior: picture on the table": "prior p.png --label known --out p",
}


@pytest.mark.parametrize("case", CLASHES)
def test_no_output_may_be_an_input(case, files, capsys, monkeypatch, never):
    monkeypatch.chdir(files)
    (files / "p.png").write_text("a,known\n1,1\n")
    before = tree(files)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(CLASHES[case].split())
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert "choose" in said
    assert len(said.splitlines()) == 1
    assert tree(files) == before


def test_a_fit_can_be_repeated_by_the_configuration_it_left(table, tmp_path, capsys):
    out = tmp_path / "m"
    main(["fit", str(table), *QUICK, "--out", str(out)])
    before = (out / "model.safetensors").read_bytes()
    config = (out / "run.toml").read_bytes()
    main(["fit", "--config", str(out / "run.toml")])
    assert (out / "model.safetensors").read_bytes() == before
    assert (out / "run.toml").read_bytes() == config


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_path_of_a_command_says_whether_it_is_read_or_written(name):
    """A new option cannot be forgotten: a plain click.Path is not checked."""
    command = cli.get_command(None, name)
    paths = [each for each in command.params if isinstance(each.type, click.Path)]
    plain = {each.name for each in paths if not isinstance(each.type, Source | Result)}
    assert not plain
    assert isinstance(command, Command) or len(plain) == len(paths)


# Links.


def test_a_model_is_written_through_a_link(table, model, tmp_path, capsys):
    link = tmp_path / "link"
    link.symlink_to("model")
    for prior in ("0.3", "0.5"):
        command = ["fit", str(table), *QUICK[:4], "--prior", prior, "--out", str(link)]
        main(command)
        assert link.is_symlink()
        assert nnpu.load(model).prior_ == nnpu.load(link).prior_ == float(prior)
    assert not list(tmp_path.glob(".*"))
    link.unlink()
    refused(capsys, ["predict", link, table, "--out", tmp_path / "p.csv"], "no such folder")


def test_a_link_to_nothing_becomes_a_link_to_the_model(tmp_path):
    (tmp_path / "link").symlink_to("later")
    nnpu.load(FIXTURES / "0.1.0" / "linear").save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later" / "SHA256SUMS").is_file()


def test_a_file_is_written_through_a_link(tmp_path):
    real, link = tmp_path / "folder" / "real.txt", tmp_path / "link.txt"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    with pytest.raises(ZeroDivisionError), atomic_path(link) as temporary:
        temporary.write_text(f"half {1 / 0}")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert tree(tmp_path) == {"folder/real.txt": b"new", "link.txt": b"new"}


# Kills.


def test_a_model_that_was_set_aside_is_used_with_a_word(table, model, tmp_path, capsys):
    """As after a kill between the two renames; or after somebody removed the folder since."""
    model.rename(tmp_path / ".nnpu-tmp-old-model")
    with pytest.warns(UserWarning, match="its replacement was interrupted"):
        nnpu.load(model)
    main(["predict", str(model), str(table), "--out", str(tmp_path / "p.csv")])
    assert "its replacement was interrupted" in capsys.readouterr().err
    main(["fit", str(table), *QUICK, "--out", str(model)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nnpu.load(model)
    assert not list(tmp_path.glob(".*"))


KILLED = """
import os, random, signal, sys, time, warnings
import nnpu
name, *folders = sys.argv[1:]
models = [nnpu.load(folder) for folder in folders]
priors = [model.prior_ for model in models]
warnings.simplefilter("ignore")
models[0].save(name)
random.seed(0)
seen, aside, kills = set(), 0, 0
while kills < 60 or (len(seen) < 2 and kills < 1000):  # a busy machine gives a child little time
    kills += 1
    child = os.fork()
    while child == 0:
        for model in models:
            model.save(name)
    time.sleep(random.uniform(0.005, 0.04) * (1 + kills // 60))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    aside += not os.path.exists(name)
    seen.add(priors.index(nnpu.load(name).prior_))
models[0].save(name)  # what the dead left is no hindrance
assert nnpu.load(name).prior_ == priors[0]
print(sorted(seen))
"""


@pytest.mark.parametrize("through", ["folder", "link"])
def test_a_process_killed_while_it_replaces_a_model_leaves_one_whole_model(through, tmp_path):
    """60 SIGKILLs at random moments of endless replacing; each time the name loads, old or new."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(60, 2)), np.arange(60) % 2
    for prior in (0.3, 0.6):
        LinearPU(prior).fit(X, s).save(tmp_path / f"of-{prior}")
    target = tmp_path / "place" / "model"
    (tmp_path / "link").symlink_to(target)
    name = tmp_path / "link" if through == "link" else target
    command = [sys.executable, "-c", KILLED, name, *sorted(tmp_path.glob("of-*"))]
    alone = os.environ | {"OMP_NUM_THREADS": "1"}  # threads do not survive a fork
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=alone)
    assert done.stdout == "[0, 1]\n"
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["model"]
