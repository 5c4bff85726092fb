"""The command line's frame: order of the help, exit statuses, errors of one line."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

import nnpu
from nnpu import cli
from nnpu.parameters import InputError, ParameterError

CONTRACT = ["demo", "fit", "predict", "evaluate", "prior", "review", "columns", "export", "plan"]


def status_of(arguments):
    """Return the exit status of a call of `main`, which returns nothing on success."""
    try:
        result = cli.main(arguments)
    except SystemExit as stop:
        return stop.code
    return 0 if result is None else result


def test_the_help_lists_the_commands_in_the_order_of_the_contract(capsys):
    assert status_of(["--help"]) == 0
    listed = [
        line.split()[0]
        for line in capsys.readouterr().out.partition("Commands:")[2].splitlines()
        if line.startswith("  ") and not line.startswith("   ")
    ]
    assert listed == [name for name in CONTRACT if name in listed]
    assert "demo" in listed


@pytest.mark.parametrize("name", cli._COMMANDS)
def test_every_listed_command_can_be_loaded_and_has_help(name, capsys):
    assert status_of([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: nnpu {name}")
    assert "Options:" in out


def test_the_version_is_the_packages(capsys):
    assert status_of(["--version"]) == 0
    assert capsys.readouterr().out.split() == ["nnpu,", "version", nnpu.__version__]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmeo"], "No such command 'dmeo'"),
        (["fit", "t.csv", "--label", "s", "--epochs", "0"], "'--epochs'"),
        (["fit", "t.csv", "--label", "s", "--epochs", "many"], "'--epochs'"),
        (["fit", "t.csv", "--label", "s", "--seed", "-1"], "'--seed'"),
        (["demo", "--nonsense"], "--nonsense"),
        (["demo", "extra"], "extra"),
    ],
)
def test_a_usage_error_is_one_line_on_standard_error_and_status_2(arguments, message, capsys):
    assert status_of(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("nnpu: ")
    assert message in err
    assert "--help" in err


@pytest.mark.parametrize(("load", "policy"), [(999.0, "passive"), (0.0, None)])
def test_threads_do_not_spin_on_a_busy_machine(load, policy, monkeypatch, capsys):
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.delenv("OMP_WAIT_POLICY")  # restored after the test
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    cli.main(["--help"])
    assert os.environ.get("OMP_WAIT_POLICY") == policy
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")  # a user's own setting stays
    cli.main(["--help"])
    assert os.environ["OMP_WAIT_POLICY"] == "active"


def test_without_a_command_the_help_is_shown(capsys):
    assert status_of([]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("Usage: nnpu")
    assert "\n  demo" in out  # as a list, not as one line


@pytest.fixture
def failing(monkeypatch):
    """Let a command raise what it is given."""

    def make(error):
        @click.command()
        def demo():
            raise error

        monkeypatch.setattr("nnpu.cli.demo.demo", demo)

    return make


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("first\n  second"), 2, "nnpu: first second\n"),
        (ParameterError("The 'x' parameter"), 2, "nnpu: The 'x' parameter\n"),
        (
            FileNotFoundError(2, "No such file", "a.csv"),
            2,
            "nnpu: a.csv: No such file.\n",
        ),
        (KeyboardInterrupt(), 130, "nnpu: Interrupted.\n"),
        (click.Abort(), 130, "nnpu: Interrupted.\n"),
    ],
)
def test_expected_errors_are_one_line_with_their_status(failing, capsys, error, status, line):
    failing(error)
    assert status_of(["demo"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.removeprefix("\n") == line


def test_a_bug_is_not_hidden(failing):
    failing(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo"])


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "nnpu", "dmeo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("nnpu: No such command 'dmeo'")
