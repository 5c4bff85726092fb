"""What `TablePU` says while it works, on standard output, and what predictions are called."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nnpu import terminal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nnpu.table.columns import ColumnPlan
    from nnpu.table.table_pu import TablePU

OUR_COLUMNS = ("score", "probability", "prediction")  # of a file of predictions
SAMPLING_LINES = {  # a line of 80 columns each: it is the one thing that only the user knows
    "one-sample": "Sampling: one-sample. If positives came from elsewhere: --sampling two-sample.",
    "two-sample": "Sampling: two-sample. If all rows are one table: --sampling one-sample.",
}
UNTESTED = (
    "Labels: assumed to be given at random among the positives. The estimated prior relies on "
    "that; only with a known prior (--prior) can these rows test it."
)
CAVEAT = (
    "These figures hold for rows that the model was not fitted to; for rows of the training table "
    "they are too good. No true label was used: the figures rely on the share of positives, and on "
    "labels that were given at random among the positives."
)


_START = time.perf_counter()


def say(*lines: str, timed: bool = False) -> None:
    """Print lines; if nobody reads them any more, stay silent from here on.

    With `timed` the first one begins with the seconds since this module was loaded.
    """
    if timed and lines:
        lines = (f"[{time.perf_counter() - _START:.1f} s] {lines[0]}", *lines[1:])
    terminal.say(*lines)


def table_lines(
    s: NDArray[np.int8],
    aside: NDArray[np.bool_],
    plan: ColumnPlan,
    *,
    positive: str | None = None,
    why_none: str = "",
    read_as: str = "",
) -> list[str]:
    """Say how many rows there are, how many are set aside, and what each column is.

    Parameters
    ----------
    s, aside : ndarray
        The PU labels, and which rows are set aside.
    plan : ColumnPlan
        The columns.
    positive : str, optional
        The label of the positives, if it is a word.
    why_none : str
        Why no row is set aside, if none is.
    read_as : str
        What is unusual about the way in which the file is written.
    """
    negatives = int((s == -1).sum())
    known = f" and {negatives:,} known to be negative" if negatives else ""
    judge = (
        f"{int(aside.sum()):,} are set aside to judge the model."
        if aside.any()
        else f"none is set aside: {why_none}."
    )
    lines = [f"Read as: {read_as}."] if read_as else []
    word = "" if positive is None else f" {positive!r}"
    labelled = f"{int((s == 1).sum()):,} are labelled{word}{known}"
    lines.append(f"Rows: {len(s):,}, of which {labelled}; {judge}")
    return [
        *lines,
        f"Columns ({plan.width:,} feature{'' if plan.width == 1 else 's'}):",
        *(f"  {line}" for line in plan.told()),
    ]


def next_step(model: TablePU) -> str:
    """Say in a sentence or two what to do after a fit."""
    from nnpu.report.verdict import verdict

    return f"Next: {verdict(model.holdout_, leaks=model.leaks_).advice}"
