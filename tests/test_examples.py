"""The examples run from a shell, and write the pictures that they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


NEED_FILES = {"plot_03_text", "plot_04_images"}  # of the paper's data sets


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            path,
            marks=pytest.mark.reproduction if path.stem in NEED_FILES else pytest.mark.slow,
        )
        for path in EXAMPLES
    ],
    ids=lambda path: path.stem,
)
def test_an_example_runs_without_a_warning_and_writes_a_picture(script, tmp_path):
    command = [sys.executable, "-W", "error", str(script), str(tmp_path)]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=280)
    [picture] = tmp_path.glob("*.png")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_examples_are_numbered_without_a_gap():
    numbers = [int(path.stem.split("_")[1]) for path in EXAMPLES]
    assert len(numbers) >= 3
    assert numbers == list(range(len(numbers)))
