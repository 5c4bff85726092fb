"""What is printed fits, and is coloured only where that is wanted."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest

from nnpu.terminal import fitted, has_colours, in_notebook, is_live, say

LONG = "Sampling: one-sample. " + "word " * 60


def test_sentences_are_wrapped_and_no_word_is_lost(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = fitted(LONG).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split() == LONG.split()


def test_a_narrow_terminal_gets_narrow_lines(monkeypatch):
    monkeypatch.setenv("COLUMNS", "44")
    assert max(map(len, fitted(LONG).splitlines())) <= 44


def test_what_is_to_be_copied_stays_whole_and_a_long_line_of_a_table_goes_on():
    path = "a very/" + "long-folder/" * 10 + "report.html"
    assert fitted(f"Report: {path} (opens in a browser)").count("\n") == 0
    table = fitted("  column   " + "word " * 30)
    assert max(map(len, table.splitlines())) <= 80
    assert table.split() == ["column", *["word"] * 30]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),  # as no-color.org has it
    ],
)
def test_colours_are_for_terminals_that_want_them(monkeypatch, variables, expected):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert has_colours(Terminal()) is expected
    assert has_colours(io.StringIO()) is False


def test_a_real_terminal_gets_colours_and_a_pipe_does_not():
    code = "from nnpu.terminal import say; say('Report: page.html', 'NOT KNOWN AT ALL: 0 to 1')"
    command = [sys.executable, "-c", code]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    main, other = pty.openpty()
    subprocess.run(command, check=True, stdout=other, env=environment | {"TERM": "xterm"})
    os.close(other)
    shown = os.read(main, 10_000).decode()
    os.close(main)
    assert "\x1b[1mReport:\x1b[0m page.html" in shown
    assert "\x1b[1;33mNOT KNOWN AT ALL:\x1b[0m 0 to 1" in shown
    piped = subprocess.run(command, check=True, capture_output=True, env=environment)
    assert b"\x1b" not in piped.stdout


def test_a_reader_that_left_does_not_stop_the_work():
    code = (
        "import sys; from nnpu.terminal import say\n"
        "sys.stdin.readline()\n"
        "say('a' * 100_000); say('b'); sys.stderr.write('done')"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    run.stdout.close()
    run.stdin.write(b"go\n")
    run.stdin.close()
    said = run.stderr.read()
    run.stderr.close()
    assert (run.wait(), said) == (0, b"done")


def test_lines_go_where_they_are_sent(capsys):
    say("one", "two")
    say("three", err=True)
    assert capsys.readouterr() == ("one\ntwo\n", "three\n")


def test_a_status_line_is_replaced_and_taken_away_on_a_terminal_and_silent_in_a_pipe():
    code = (
        "from nnpu.terminal import say, status\n"
        "status('first of many'); status('second'); say('Done: all')"
    )
    command = [sys.executable, "-c", code]
    main, other = pty.openpty()
    run = subprocess.run(
        command, check=True, stdout=other, stderr=other, env=os.environ | {"TERM": "xterm"}
    )
    os.close(other)
    shown = os.read(main, 10_000).decode()
    os.close(main)
    screen = ""  # what a terminal makes of it
    for part in (
        shown.replace("\r\n", "\n").replace("\x1b[1m", "").replace("\x1b[0m", "").split("\r")
    ):
        screen = part + screen[len(part) :]
    assert screen.rstrip() == "Done: all"
    assert "first of many" in shown
    piped = subprocess.run(command, check=True, capture_output=True)
    assert (run.returncode, piped.stderr) == (0, b"")


def test_a_notebook_is_a_live_screen(monkeypatch):
    import types

    assert not in_notebook()
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert in_notebook()
    assert is_live(io.StringIO())
