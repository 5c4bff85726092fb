from __future__ import annotations

import json

import pytest

import nnpu.paper.simulations as experiment
from nnpu import report
from nnpu.cli import main


@pytest.fixture
def drawn(monkeypatch):
    """The same run on a grid that takes a second; of its pictures only the quickest is drawn."""
    size = experiment.Size((0.1, 0.5, 0.9), (10, 100), (1000,), 300, 50)
    monkeypatch.setattr(experiment, "small_size", lambda: size)
    panels_of = {}

    def save_figure(panels, path, **options):
        panels_of[path.name] = panels
        return real(panels, path, **options) if path.name == "theorem2_rate" else []

    real = report.save_figure
    monkeypatch.setattr(report, "save_figure", save_figure)
    return panels_of


def test_theory_writes_tables_pictures_and_claims(drawn, tmp_path, capsys):
    main(["reproduce", "theory", "--fast", "--out", str(tmp_path), "--json"])
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert {"statement", "source", "held", "figures"} == set(claims[0])
    assert json.loads((tmp_path / "theory-claims.json").read_text()) == claims
    assert (tmp_path / "theory-claims.md").read_text().count("\n|") == len(claims) + 2
    assert (tmp_path / "lemma1.csv").read_text().startswith("population,loss,prior,n_p,n_u")
    assert (tmp_path / "theorem2_rate.png").stat().st_size > 1000
    assert set(drawn) == {
        "lemma1",
        "theorem2_bias",
        "theorem2_deviation",
        "theorem2_rate",
        "theorem3",
        "theorem4",
        "section2",
    }
    for panels in drawn.values():
        for panel in panels:
            assert len(panel.curves) >= 2  # a bound and a simulation on the same axes


def test_an_unknown_target_is_an_input_error(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "theroy"])
    assert stop.value.code == 2
    assert "Did you mean 'theory'?" in capsys.readouterr().err
