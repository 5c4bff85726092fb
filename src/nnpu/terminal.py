"""What is printed for people: lines that fit, colours where the terminal has them.

Of several processes that share a training only the first prints and writes.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = [
    "fitted",
    "has_colours",
    "has_group",
    "how_many",
    "in_notebook",
    "is_first",
    "is_live",
    "of_torchrun",
    "say",
    "status",
    "visible",
]

WIDTH = 80  # columns of a line, or as many as the terminal has if it has fewer
_BOLD, _WARNING, _PLAIN = "\x1b[1m", "\x1b[1;33m", "\x1b[0m"
_HEAD = re.compile(r"^[A-Z][a-z]+(?: [a-z]+)?:(?= |$)")  # "Report: model/report.html"
_COPIED = re.compile(r"^(?:Model|Report|Picture|Again|Files): ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
_ALARM = re.compile(r"^(?:Note|[A-Z ]{12,}):")  # "THE SHARE OF POSITIVES IS NOT KNOWN: ..."


def how_many(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    >>> how_many(1, "cell"), how_many(1200, "row")
    ('1 cell', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(*lines: str, err: bool = False) -> None:
    """Print lines; if nobody reads them any more, stay silent from here on.

    Parameters
    ----------
    *lines : str
        What to print; each is wrapped by `fitted`.
    err : bool, default=False
        Whether on standard error.
    """
    status("")
    stream = sys.stderr if err else sys.stdout
    text = "\n".join(fitted(visible(line)) for line in lines)
    try:
        print(coloured(text) if has_colours(stream) else text, file=stream, flush=True)
    except BrokenPipeError:  # the work is not lost for that
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def visible(text: str) -> str:
    r"""Return text with control characters escaped: a column's name must not command a terminal.

    Examples
    --------
    >>> print(visible("age\x1b[31m"))
    age\x1b[31m
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def status(text: str) -> None:
    """Show what is being done on one line that the next one replaces; nothing in a pipe.

    Parameters
    ----------
    text : str
        What is being done; empty takes the line away.
    """
    global _shown
    if not (text or _shown) or not is_live(sys.stderr):
        return
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) - 1
    text = visible(text)
    line = text if len(text) <= width else text[: width - 3] + "..."
    print(f"\r{line:{len(_shown)}}\r{line}", end="", file=sys.stderr, flush=True)
    _shown = line


_shown = ""  # what `status` left on the screen


def is_live(stream: TextIO) -> bool:
    """Return whether a line can be replaced after it was printed: a terminal or a notebook."""
    try:
        return (stream.isatty() and os.environ.get("TERM") != "dumb") or in_notebook()
    except ValueError:  # closed
        return False


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this, without importing anything for it."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return hasattr(shell, "kernel")


def fitted(text: str, width: int | None = None) -> str:
    """Wrap sentences at 80 columns, or at fewer if the terminal has fewer.

    A line that starts with two spaces belongs to a table, and goes on further to the right. What
    is to be copied stays whole: a path, a command.

    Examples
    --------
    >>> print(fitted("One two three. Four five six.", width=16))
    One two three.
    Four five six.
    >>> print(fitted("  card  yes or no, twice", width=16))
      card  yes or
          no, twice
    """
    width = width or min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    lines: list[str] = []
    for line in text.splitlines():
        if _COPIED.match(line):
            lines.append(line)
            continue
        lines += textwrap.wrap(
            line,
            width,
            subsequent_indent="      " if line.startswith("  ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
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


def of_torchrun() -> bool:
    """Return whether torchrun started this process and others beside it."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def has_group() -> bool:
    """Return whether this process belongs to a process group of torch's."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return False
    return bool(torch.distributed.is_initialized())


def is_first() -> bool:
    """Return whether this process writes and prints: rank 0, or the only one.

    >>> is_first()
    True
    """
    torch = sys.modules.get("torch")  # without it there is no group
    if (
        torch is not None
        and torch.distributed.is_available()
        and torch.distributed.is_initialized()
    ):
        return bool(torch.distributed.get_rank() == 0)
    return not of_torchrun() or os.environ["RANK"] == "0"
