"""What is printed for people: lines that fit, and colours where the terminal has them."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["fitted", "has_colours", "say"]

WIDTH = 80
_BOLD, _WARNING, _PLAIN = "\x1b[1m", "\x1b[1;33m", "\x1b[0m"
_HEAD = re.compile(r"^[A-Z][a-z]+(?: [a-z]+)?:(?= |$)")  # "Report: model/report.html"
_ALARM = re.compile(r"^(?:Note|[A-Z ]{12,}):")  # "THE SHARE OF POSITIVES IS NOT KNOWN: ..."


def say(*lines: str, err: bool = False) -> None:
    """Print lines; if nobody reads them any more, stay silent from here on.

    Parameters
    ----------
    *lines : str
        What to print; each is wrapped by `fitted`.
    err : bool, default=False
        Whether on standard error.
    """
    stream = sys.stderr if err else sys.stdout
    text = "\n".join(fitted(line) for line in lines)
    try:
        print(coloured(text) if has_colours(stream) else text, file=stream, flush=True)
    except BrokenPipeError:  # the work is not lost for that
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fitted(text: str, width: int | None = None) -> str:
    """Wrap sentences at 80 columns, or at fewer if the terminal has fewer.

    A line that starts with two spaces belongs to a table, and is cut instead; a path or another
    long word stays whole, so that it can be copied.

    Examples
    --------
    >>> print(fitted("One two three. Four five six.", width=16))
    One two three.
    Four five six.
    >>> print(fitted("  a column of a table", width=16))
      a column of...
    """
    width = width or min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        if line.startswith("  "):
            lines.append(line if len(line) <= width else line[: width - 3].rstrip() + "...")
        else:
            lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [
                ""
            ]
    return "\n".join(lines)


def coloured(text: str) -> str:
    """Mark what each line is about, and what must not be overlooked."""
    return "\n".join(
        _ALARM.sub(rf"{_WARNING}\g<0>{_PLAIN}", line)
        if _ALARM.match(line)
        else _HEAD.sub(rf"{_BOLD}\g<0>{_PLAIN}", line)
        for line in text.splitlines()
    )


def has_colours(stream: TextIO) -> bool:
    """Return whether to print colours: a terminal that has them, and no ``NO_COLOR``."""
    try:
        terminal = stream.isatty()
    except ValueError:  # closed
        return False
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
