"""``nnpu review``: rows worth a person's look, and what the answers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nnpu.cli import _shared
from nnpu.cli._output import show
from nnpu.cli._paths import Command, Result, Source
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["review"]

_PURPOSE = "Purpose: estimate, finding, learning, or a mixture such as finding=0.3+estimate=0.7."
_ROWS = "Number of rows to draw.  [default: 100; 30 with --top]"
_TOP = "Review the first N rows of the list alone: what share of them is positive?"
_ASKED = "Question that the page asks about each row."
_SHEET, _WRITTEN = Source(dir_okay=False), Result(dir_okay=False)


@click.command(cls=Command)
@_shared.model_argument
@_shared.data_argument
@click.option("--rows", type=click.IntRange(min=1), help=_ROWS)
@click.option("--top", type=click.IntRange(min=2), metavar="N", help=_TOP)
@click.option("--out", type=_WRITTEN, metavar="FILE", help="CSV file for the rows to check.")
@click.option("--page", type=_WRITTEN, metavar="FILE", help="HTML page to answer in.")
@click.option("--answers", type=_SHEET, multiple=True, help="Answered sheet; repeatable.")
@click.option("--known", type=_SHEET, multiple=True, help="Answered sheet of an earlier model.")
@click.option("--second", type=_SHEET, metavar="FILE", help="Sheet of a second reviewer.")
@click.option("--for", "purpose", default="estimate", show_default=True, help=_PURPOSE)
@click.option("--question", default="Is this row a positive?", show_default=True, help=_ASKED)
@click.option("--label", metavar="COLUMN", help="Label column.  [default: that of the fit]")
@click.option(
    "--cost-fp",
    type=float,
    help="Cost of a false alarm; with --cost-fn, gives the cheapest threshold.",
)
@click.option("--cost-fn", type=float, help="Cost of a missed positive.")
@_shared.report_option("not written")
@_shared.seed_option
@_shared.json_option
def review(model_dir: Path, data: Path, as_json: bool, **options: Any) -> None:
    """Choose rows of DATA for a person to check, and use the answers.

    With --out or --page, draw rows and write them; pass the sheets of earlier rounds as --answers.
    With --answers alone, estimate prior, precision, recall and accuracy, with 90 % intervals.
    """
    from nnpu.review.sheets import holds_answers
    from nnpu.table import load_table
    from nnpu.table import table_review as job

    out, page, answers, report = (options[name] for name in ("out", "page", "answers", "report"))
    if not (out or page or answers):
        raise InputError(
            "Nothing to do: use --out or --page to draw rows, --answers to read answers."
        )
    if out and holds_answers(out):
        raise InputError(f"{out} holds answers, which --out would overwrite; choose another file.")
    if options["top"] is not None and (options["purpose"] != "estimate" or report):
        raise InputError("--top draws at random and has no --report; leave --for and --report out.")
    if report and not answers:
        raise InputError("--report needs answers; pass them with --answers.")
    with _shared.printed_warnings():
        model = load_table(model_dir)
        how = {name: options[name] for name in ("label", "known", "top")}
        found = job.table_review(model, data, name=job.model_name(model_dir), **how)
    if answers:
        found.review.read(*answers, second=options["second"])
    if options["top"] is not None and answers and not (out or page):
        listed = job.list_findings(model, found)
        show(listed.to_json(), listed.lines(), as_json=as_json)
        return
    if report or not (out or page):
        costs = {name: options[name] for name in ("cost_fp", "cost_fn")}
        result = job.review_findings(model, found, **costs)
        if report:
            footer = f"nnpu review {model_dir} {data}"
            job.review_page(model, result, title=f"Review: {data.name}", footer=footer).save(report)
        if not (out or page):
            show(result.to_json(), result.lines(), as_json=as_json)
            return
    names = ("rows", "out", "page", "purpose", "seed", "question")
    rows = {name: options[name] for name in names}
    written = job.write_rows(model, found, folder=data.parent, **rows)
    words = f"{written['rows']} rows to look at: {', '.join(written['files'])}"
    show(written, [*found.notes, words], as_json=as_json)
