"""Progress: silent, plain lines in a pipe, a bar on a terminal; on standard error only."""

from __future__ import annotations

import io
import sys

import pytest

from nnpu.training.options import progress_bar


def rows(epochs):
    return [{"epoch": e, "train_risk": 0.25, "corrected": 0.5} for e in range(epochs)]


def show(epochs, *, shown, held_out=False):
    with progress_bar(epochs, shown=shown) as bar:
        for row in rows(epochs):
            bar.update(row | ({"valid_risk": 0.125} if held_out else {}))


def test_nothing_is_written_unless_it_is_asked_for(capsys):
    show(3, shown=False)
    assert capsys.readouterr() == ("", "")


def test_in_a_pipe_each_of_a_few_epochs_gets_a_line(capsys):
    show(3, shown=True, held_out=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"epoch {e}/3: risk 0.2500, held out 0.1250, 50 % of steps corrected" for e in (1, 2, 3)
    ]


@pytest.mark.parametrize("epochs", [100, 107, 1000])
def test_a_long_run_stays_readable_and_shows_its_end(capsys, epochs):
    show(epochs, shown=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) <= 22
    assert lines[-1].startswith(f"epoch {epochs}/{epochs}:")


def test_on_a_terminal_there_is_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    show(2, shown=True)
    assert "2/2" in terminal.getvalue()
    assert "risk 0.2500" in terminal.getvalue()
