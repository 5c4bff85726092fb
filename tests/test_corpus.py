"""What fuzzing once found: every kept input is answered with numbers, or an error of ours.

The files below tests/corpus are named after what is wrong with them, in a folder for each target of
benchmarks/fuzz.py, which starts its search from them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORPUS = sorted((ROOT / "tests" / "corpus").glob("*/*"))


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "benchmarks" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_once_is_answered(fuzz, path, tmp_path):
    fuzz.check(path.parent.name, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("target", ["csv", "svmlight", "npz", "parquet", "config", "model"])
def test_every_target_reads_what_it_starts_from_and_parts_of_it(fuzz, target, tmp_path):
    for number, seed in enumerate(fuzz.seeds(target)):
        for part in (seed, seed[: len(seed) // 2], seed[:-1], b""):
            (tmp_path / f"{number}-{len(part)}").mkdir(exist_ok=True)
            fuzz.check(target, part, tmp_path / f"{number}-{len(part)}")


def test_a_finding_is_an_error_that_is_none_of_ours(fuzz, tmp_path, monkeypatch):
    """The search can fail: a reader that raises a KeyError is noticed."""

    def broken(data, folder):
        raise KeyError("x")

    monkeypatch.setitem(fuzz.TARGETS, "csv", broken)
    with pytest.raises(KeyError):
        fuzz.check("csv", b"a,s\n1,0\n", tmp_path)
