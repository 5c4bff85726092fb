"""Lines about a running job, on standard output."""

from __future__ import annotations

import os
import sys


def say(*lines: str) -> None:
    """Print lines; if nobody reads them any more, stay silent from here on."""
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:  # the work is not lost for that
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
