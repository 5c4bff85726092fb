from __future__ import annotations

import json
from functools import partial

import pytest
from click.testing import CliRunner

import nnpu.experiments.theory as experiment
from nnpu import report
from nnpu.cli import cli, main


@pytest.fixture
def tiny(monkeypatch):
    """The same run on a grid that takes a second, drawn in one format."""
    size = experiment.Size((0.1, 0.5, 0.9), (10, 100), (1000,), 300, 50)
    monkeypatch.setattr(experiment, "small_size", lambda: size)
    monkeypatch.setattr(report, "save_figure", partial(report.save_figure, formats=("svg",)))


def test_theory_writes_tables_pictures_and_claims(tiny, tmp_path):
    arguments = ["reproduce", "theory", "--fast", "--out", str(tmp_path), "--json"]
    outcome = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert outcome.exit_code == 0
    claims = json.loads(outcome.stdout)["claims"]
    assert {"statement", "source", "held", "figures"} == set(claims[0])
    assert json.loads((tmp_path / "claims.json").read_text()) == claims
    assert (tmp_path / "claims.md").read_text().count("\n|") == len(claims) + 2
    names = {path.stem for path in tmp_path.glob("*.svg")}
    assert names == {
        "lemma1",
        "theorem2_bias",
        "theorem2_deviation",
        "theorem2_rate",
        "theorem3",
        "theorem4",
        "section2",
    }
    assert (tmp_path / "lemma1.csv").read_text().startswith("population,loss,prior,n_p,n_u")


def test_an_unknown_target_is_an_input_error(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "theroy"])
    assert stop.value.code == 2
    assert "Did you mean 'theory'?" in capsys.readouterr().err
