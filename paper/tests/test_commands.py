"""``nnpu-paper``: what its commands write, print and refuse."""

from __future__ import annotations

import json

import pytest

from nnpu import report
from nnpu.parameters import InputError
from nnpu_paper import runs
from nnpu_paper import simulations as experiment
from nnpu_paper.cli import cli, main
from nnpu_paper.theory_pictures import PICTURES, theory_panels


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
    main(["theory", "--fast", "--out", str(tmp_path), "--json"])
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


def test_table_1_reports_its_claims(tmp_path, capsys):
    main(["table1", "--out", str(tmp_path)])
    page = tmp_path / "table1-report.html"
    assert f"Report: {page}" in capsys.readouterr().out
    claims = json.loads((tmp_path / "table1-claims.json").read_text())
    assert page.read_text().count("<td>held</td>") == sum(claim["held"] for claim in claims) == 7


def test_the_help_lists_the_commands_in_order(capsys):
    main(["--help"])
    lines = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    figures = [f"figure{number}" for number in range(1, 5)]
    order = ["demo", *figures, "table1", "table2", "theory", "bench"]
    assert [line.split()[0] for line in lines] == order


@pytest.mark.parametrize("name", cli.commands)
def test_every_option_says_what_it_does(name):
    options = [each for each in cli.commands[name].params if each.param_type_name == "option"]
    assert [option.opts[-1] for option in options if not option.help] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["theroy"], "No such command 'theroy'"),
        (["figure2", "--dataset", "minst"], "Did you mean 'mnist'?"),
        (["figure1", "--dataset", "cifar10"], "'--dataset' parameter of nnpu-paper figure1"),
        (["table2", "--dataset", "digits"], "'--dataset' parameter of nnpu-paper table2"),
        (["bench", "speed"], "'NAME' parameter of nnpu-paper bench"),
        (["figure2", "--dataset", "mnist"], "cannot be used"),
        (["figure2", "--reduced"], "cifar10 cannot be used"),
        (["figure2", "--reduced", "--dataset", "mnist"], "--dataset cifar10"),
        (["figure1", "--reduced"], "--reduced belongs to figure2 and figure3"),
        (["figure2", "--reduced", "--fast"], "one of --reduced and --fast"),
    ],
)
def test_a_wrong_word_is_one_line_and_status_2(arguments, words, capsys, tmp_path, monkeypatch):
    def absent(name):
        raise InputError(f"{name} cannot be used")

    monkeypatch.setattr(runs, "_loaded", {})
    monkeypatch.setattr(runs, "load", absent)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert words in said
    assert said.startswith("nnpu-paper: ")
    assert said.count("\n") == 1


def test_a_figure_takes_several_data_sets_and_no_others(tmp_path, monkeypatch):
    asked = []

    def at_hand(settings):
        asked.extend(setting.name for setting in settings)
        raise InputError("enough")

    monkeypatch.setattr(runs, "at_hand", at_hand)
    options = ["--dataset", "20news", "--dataset", "mnist", "--out", str(tmp_path)]
    with pytest.raises(SystemExit):
        main(["figure3", *options])
    assert asked == ["mnist", "20news"]
    asked.clear()
    with pytest.raises(SystemExit):
        main(["figure2", "--reduced", "--out", str(tmp_path)])
    assert asked == ["cifar10-reduced"]


def test_it_is_not_shared_between_processes(capsys, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    with pytest.raises(SystemExit):
        main(["table1"])
    assert "start it without torchrun" in capsys.readouterr().err


def test_the_pictures_and_tables_that_theory_may_write_are_known_beforehand(drawn, tmp_path):
    result = experiment.run(experiment.small_size(), seed=0)
    assert set(result.tables) == set(experiment.TABLES)
    assert list(theory_panels(result.tables)) == list(PICTURES)
