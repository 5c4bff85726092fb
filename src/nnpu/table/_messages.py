"""What `TablePU` says while it works, on standard output, and what predictions are called."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nnpu import terminal
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from nnpu.table.columns import ColumnPlan
    from nnpu.table.table_pu import TablePU

OUR_COLUMNS = ("score", "probability", "prediction", "rank")  # of a file of predictions
SAMPLING_LINES = {  # a line of 80 columns each: it is the one thing that only the user knows
    "one-sample": "Sampling: one-sample. If positives came from elsewhere: --sampling two-sample.",
    "two-sample": "Sampling: two-sample. If all rows are one table: --sampling one-sample.",
}
TWO_TABLES = "Sampling: two-sample, from two tables."
UNTESTED = "Labels: to test whether they are random, give the share of positives (--prior)."
CAVEAT = (
    "No true label was used. Ranges come from rows that the model was not fitted to; figures for "
    "all rows, which hold if labels were given at random, are in the report and in --json."
)


_START = time.perf_counter()


def start_clock() -> None:
    """Count the seconds of `say` from here on."""
    global _START
    _START = time.perf_counter()


def say(*lines: str, timed: bool = False) -> None:
    """Print lines; if nobody reads them any more, stay silent from here on.

    With `timed` the first one begins with the seconds since `start_clock`.
    """
    if timed and lines:
        lines = (f"[{time.perf_counter() - _START:.1f} s] {lines[0]}", *lines[1:])
    terminal.say(*lines)


def table_lines(
    counts: tuple[int, int, int],
    aside: int,
    plan: ColumnPlan,
    *,
    in_folds: bool = False,
    positive: str | None = None,
    why_none: str = "",
    read_as: str = "",
    all_columns: bool = False,
) -> list[str]:
    """Say how many rows there are, how many are set aside, and what each column is.

    Parameters
    ----------
    counts : int, int, int
        How many rows are labelled, unlabelled, and known to be negative.
    aside : int
        How many are set aside.
    plan : ColumnPlan
        The columns.
    in_folds : bool
        Whether the model is judged by all rows, in folds.
    positive : str, optional
        The label of the positives, if it is a word.
    why_none : str
        Why no row is set aside, if none is.
    read_as : str
        What is unusual about the way in which the file is written.
    all_columns : bool
        Whether each column gets a line, however many there are.
    """
    labelled, _, negatives = counts
    known = f" and {negatives:,} known to be negative" if negatives else ""
    judge = f"none is set aside: {why_none}."
    if in_folds:
        judge = ""
    elif aside:
        judge = f"{aside:,} are set aside to judge the model."
    lines = [f"Read as: {read_as}."] if read_as else []
    word = "" if positive is None else f" {positive!r}"
    said = f"Rows: {sum(counts):,}, of which {labelled:,} are labelled{word}{known}"
    lines.append(f"{said}{f'; {judge}' if judge else '.'}")
    return [*lines, *column_lines(plan, all_columns=all_columns)]


def column_lines(plan: ColumnPlan, *, all_columns: bool = False) -> list[str]:
    """Say what is done with each column, a line each; of many columns with the first ones.

    Parameters
    ----------
    plan : ColumnPlan
        The columns.
    all_columns : bool
        Whether each column gets a line, however many there are.
    """
    lines = plan.lines(None) if all_columns else plan.lines()
    return [f"Columns ({how_many(plan.width, 'feature')}):", *(f"  {line}" for line in lines)]


def next_step(model: TablePU) -> str:
    """Say in a sentence or two what to do after a fit."""
    from nnpu.report.verdict import verdict

    return f"Next: {verdict(model.holdout_, leaks=model.leaks_).advice}"
