"""The examples run from a shell, and as a notebook, and draw a picture."""

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
def test_an_example_runs_without_a_warning_and_draws_a_picture(script, tmp_path):
    """As a notebook would: no arguments, a folder of its own, pictures left open by pyplot."""
    code = (
        "import runpy, matplotlib.pyplot as plt; plt.show = lambda: None; "
        f"runpy.run_path({str(script)!r}); assert plt.get_fignums(), 'no picture'"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    run = subprocess.run(
        command, check=True, cwd=tmp_path, env=environment, timeout=280, capture_output=True
    )
    assert str(tmp_path) not in run.stdout.decode()
    assert not list(tmp_path.iterdir())


def test_examples_are_numbered_without_a_gap():
    numbers = [int(path.stem.split("_")[1]) for path in EXAMPLES]
    assert len(numbers) >= 3
    assert numbers == list(range(len(numbers)))
