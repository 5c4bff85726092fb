"""The committed runs: each has the name that its setting gives it today, so that none is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nnpu_paper.experiments import FIGURE_1, FIGURE_2, FIGURE_3, REDUCED
from nnpu_paper.results import OutputFolder
from nnpu_paper.runs import ExperimentRun, _finished_rows

RESULTS = Path(__file__).parents[1] / "results"
RUNS = sorted(RESULTS.glob("*/runs/*.csv"))


def settings():
    """The settings of the figures as they were run: docs/reproduction.md says how."""
    for setting in (*FIGURE_1, *FIGURE_2, *FIGURE_3):
        if setting.dataset == "20news":
            yield replace(setting, model="word-average-100")  # --glove 100
        elif setting.dataset == "cifar10":
            yield setting.shortened(epochs=2)  # --epochs 2
            yield replace(setting, **REDUCED[setting.name])  # --reduced
        else:
            yield setting


def runs_by_name():
    return {
        run.file_name: run
        for setting in settings()
        for method in setting.methods
        for run in (ExperimentRun(setting, method, sampling, 0) for sampling in range(10))
    }


def test_every_committed_run_has_the_name_of_a_setting():
    assert len(RUNS) >= 152
    assert {path.name for path in RUNS} - set(runs_by_name()) == set()


@pytest.mark.parametrize("figure", sorted(path.name for path in RESULTS.iterdir()))
def test_every_committed_run_is_what_its_name_promises(figure):
    runs = runs_by_name()
    for path in (RESULTS / figure / "runs").glob("*.csv"):
        _finished_rows(runs[path.name], path.parent)


def test_the_committed_claims_are_known_to_the_commands_that_wrote_them():
    """Else the next run would refuse to replace them."""
    claims = sorted(RESULTS.glob("*/*-claims.md"))
    assert len(claims) >= 2
    for path in claims:
        OutputFolder(path.parent, path.name.removesuffix("-claims.md"), [path.name])


def test_figures_1_and_2_are_complete():
    names = {path.name for path in RUNS}
    wanted = {
        name
        for name, run in runs_by_name().items()
        if run.method.prior_factor == 1 and run.setting.dataset in ("mnist", "20news")
    }
    assert wanted <= names
