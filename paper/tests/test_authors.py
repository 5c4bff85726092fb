"""The comparison with the authors' code, on a stand-in that only says how long it took."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from nnpu.parameters import InputError
from nnpu_paper import speed as authors
from nnpu_paper.cli import cli
from nnpu_paper.experiments import DEMO

STAND_IN = """
import json, pathlib, sys
from sklearn.datasets import fetch_mldata

def main(arguments):
    given = dict(zip(arguments[::2], arguments[1::2]))
    digits = fetch_mldata("MNIST original", data_home=".")
    assert digits.data.shape[0] == len(digits.target) and digits.data.max() <= 255
    assert set(digits.target) == {0, 1} and given["--preset"] == "exp-mnist"
    out = pathlib.Path(given["--out"])
    out.mkdir()
    ends = [{"elapsed_time": 7 + 5 * epoch} for epoch in range(int(given["--epoch"]))]
    (out / "log").write_text(json.dumps(ends))
"""


@pytest.fixture
def digits_for_mnist(monkeypatch):
    load = authors.load
    monkeypatch.setattr(authors, "load", lambda name: load("digits"))
    monkeypatch.setattr(authors, "FIGURE_2", (replace(DEMO, epochs=1),))


def test_their_seconds_are_those_of_an_epoch_after_the_first(
    tmp_path, digits_for_mnist, monkeypatch
):
    """Epochs that end at 7, 12 and 17 s take 5 s each, two and a half times 2 s."""
    trained = []
    monkeypatch.setattr(authors, "run_one", lambda run: trained.append(run.setting.epochs))
    clock = iter([0, 1, 10, 15])  # 1 s for an epoch, 5 s for three
    monkeypatch.setattr(authors.time, "perf_counter", lambda: next(clock))
    (tmp_path / "train.py").write_text(STAND_IN)
    ours, theirs = authors.compare_with_authors(tmp_path, sys.executable, epochs=2)
    assert (ours["seconds"], theirs["seconds"], theirs["ratio"]) == (2, 5, 2.5)
    assert trained == [1, 1, 3, 3]  # nnPU and uPU


def test_code_that_fails_is_quoted(tmp_path, digits_for_mnist, monkeypatch):
    monkeypatch.setattr(authors, "run_one", lambda run: None)
    (tmp_path / "train.py").write_text("raise RuntimeError('no Chainer')")
    with pytest.raises(InputError, match="no Chainer"):
        authors.compare_with_authors(tmp_path, sys.executable, epochs=1)


def test_a_folder_without_their_code_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"train\.py"):
        authors.compare_with_authors(tmp_path, sys.executable)


def test_their_code_is_timed_with_mnist_only(tmp_path):
    outcome = CliRunner().invoke(cli, ["bench", "training", "--authors", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "nnpu-paper bench mnist" in outcome.output
