"""Lines about a running job, on standard output."""

from __future__ import annotations

import os
import sys

SAMPLING_LINES = {
    "one-sample": (
        "Sampling: one-sample. All rows are one sample in which some positives are labelled; if "
        "the labelled rows were collected separately, use --sampling two-sample."
    ),
    "two-sample": (
        "Sampling: two-sample. The labelled rows were collected separately from the unlabelled "
        "ones; if all rows are one sample with some positives labelled, use --sampling one-sample."
    ),
}


def say(*lines: str) -> None:
    """Print lines; if nobody reads them any more, stay silent from here on."""
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:  # the work is not lost for that
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
