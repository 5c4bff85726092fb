from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from nnpu.cli import cli, main
from nnpu.theory import guaranteed_half_width

BASE = ["plan", "--prior", "0.5", "--n-p", "100", "--n-u", "10000"]


def run(*arguments: str) -> str:
    outcome = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert outcome.exit_code == 0
    return " ".join(outcome.output.split())


def test_plan_prints_the_interval_what_to_buy_and_the_rival():
    text = run(*BASE, "--half-width", "0.1", "--n-n", "50")
    assert "±0.1365" in text
    assert "188 in total" in text
    assert "no number is enough; the positives limit it" in text
    assert "With 50 negatives: PU is expected to be better." in text


def test_json_holds_the_same_numbers():
    result = json.loads(run(*BASE, "--half-width", "0.1", "--json"))
    assert result["half_width"] == pytest.approx(guaranteed_half_width(0.5, 100, 10_000))
    assert result["purchase"]["n_p_alone"] == 188
    assert 0 < result["simulated_half_width"] < result["half_width"]


def test_an_estimate_gets_its_interval_cut_off_at_zero():
    """0.05 − 0.1365 is below 0, which no risk is; 0.05 + 0.1365 = 0.1865."""
    assert "An estimate of 0.05 means a true value of 0.0000 to 0.1865." in run(
        *BASE, "--estimate", "0.05"
    )
    low, high = json.loads(run(*BASE, "--estimate", "0.5", "--json"))["interval"]
    assert (low, high) == pytest.approx((0.3635, 0.6365), abs=1e-4)


def test_a_prior_may_be_a_percentage_and_a_range_has_the_form_of_the_other_commands(capsys):
    rest = ["--n-p", "100", "--n-u", "1000", "--json"]
    said = []
    for prior in ("0.3", "30%", "0.3:0.4", "0.3-0.4", "30%-40%"):
        main(["plan", "--prior", prior, *rest])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[2] == said[3] == said[4] != said[0]


def test_a_range_of_priors_says_what_it_costs():
    text = run(
        "plan", "--prior", "0.3:0.4", "--n-p", "100", "--n-u", "1000", "--half-width", "0.04"
    )
    assert "0.0500 is due to not knowing the share of positives" in text
    assert "not possible: the share of positives is not known well enough." in text


def test_out_writes_a_picture(tmp_path):
    run(*BASE, "--out", str(tmp_path / "plan.png"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.png", "plan.svg"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--prior", "half", "--n-p", "1", "--n-u", "1"], "--prior"),
        (["--prior", "0.5", "--n-p", "0", "--n-u", "1"], "n_p"),
        (["--prior", "0.5", "--n-p", "9", "--n-u", "9", "--loss", "hinge"], "score_bound"),
        (["--prior", "0.5", "--n-p", "9", "--n-u", "9", "--delta", "1"], "delta"),
    ],
)
def test_a_wrong_option_is_one_line_and_status_2(arguments, word, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["plan", *arguments])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert word in message
    assert message.count("\n") == 1
