"""``nnpu review``: rows worth a person's look, and what the answers say."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli import _shared
from nnpu.cli._paths import Command, Result, ResultFolder, Source
from nnpu.cli._shared import show
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["review"]

_PURPOSE = "Purpose: estimate, finding, learning, or a mixture such as finding=0.3+estimate=0.7."
_ROWS = "Number of rows to draw.  [default: 100; 30 with --top]"
_TOP = "Review the first N rows of the list alone: what share of them is positive?"
_KNOWN = "Answered sheet of another review; its rows are not asked again; repeatable."
_ASKED = "Question to ask about each row on the page."
_FOLDER = "Work down the list: keep rounds and answers in this folder."
_NEXT = "With --folder: write the next N rows to --out."
_WAITING = "With --folder: write the unanswered rows again."
_UNTIL = (
    "With --next: stop once this share of the positives is found, such as recall=0.9; rows are "
    "chosen to get there soonest."
)
_PORT = "With --serve: the port of the page.  [default: a free one]"
_RANDOM = "With --folder: the share of rows drawn at random.  [default: 0.1]"
_SERVE = (
    "With --folder: answer in a page on this machine, which learns from each answer. Needs the "
    "extra serve."
)
_SHEET, _WRITTEN = Source(dir_okay=False), Result(dir_okay=False)
_KEPT = ResultFolder(files=("review.json", "review.safetensors", "looks.jsonl"))


@click.command(cls=Command)
@_shared.model_argument
@_shared.data_argument
@click.option("--rows", type=click.IntRange(min=1), help=_ROWS)
@click.option("--top", type=click.IntRange(min=2), metavar="N", help=_TOP)
@click.option("--out", type=_WRITTEN, metavar="FILE", help="CSV file for the rows to check.")
@click.option("--page", type=_WRITTEN, metavar="FILE", help="HTML page to answer in.")
@click.option("--answers", type=_SHEET, multiple=True, help="Answered sheet; repeatable.")
@click.option("--known", type=_SHEET, multiple=True, help=_KNOWN)
@click.option("--second", type=_SHEET, metavar="FILE", help="Sheet of a second reviewer.")
@click.option("--folder", type=_KEPT, metavar="R", help=_FOLDER)
@click.option("--next", "n", type=click.IntRange(min=1), metavar="N", help=_NEXT)
@click.option("--waiting", is_flag=True, help=_WAITING)
@click.option("--status", is_flag=True, help="With --folder: show what is found and what is left.")
@click.option("--serve", is_flag=True, help=_SERVE)
@click.option("--port", type=click.IntRange(1, 65535), help=_PORT)
@click.option("--random", type=click.FloatRange(0, 1), help=_RANDOM)
@click.option("--until", metavar="recall=R", help=_UNTIL)
@click.option("--by", default="", help="With --folder: your name, if several people answer.")
@click.option("--for", "purpose", default="estimate", show_default=True, help=_PURPOSE)
@click.option("--question", default="Is this row a positive?", show_default=True, help=_ASKED)
@click.option("--label", metavar="COLUMN", help="Label column.  [default: that of the fit]")
@click.option(
    "--cost-fp",
    type=float,
    help="Cost of a false alarm; with --cost-fn, gives the cheapest threshold.",
)
@click.option("--cost-fn", type=float, help="Cost of a missed positive.")
@_shared.reading_options
@_shared.report_option("not written")
@_shared.seed_option
@_shared.json_option
def review(model_dir: Path, data: Path, as_json: bool, **options: Any) -> None:
    """Choose rows of DATA for a person to check, and use the answers.

    With --out or --page, draw rows and write them; pass the sheets of earlier rounds as --answers.
    With --answers alone, estimate the share of positives, precision, recall and accuracy, with 90 %
    ranges. With --folder, work down the list: --next writes rows, --answers takes answers,
    --status says how many are left and whether you may stop, and --serve does it all in a page.
    """
    if options["folder"] is not None:
        _down_the_list(model_dir, data, as_json, **options)
        return
    alone = [
        f"--{name}"
        for name in ("waiting", "status", "serve", "port", "random", "until", "by")
        if options[name]
    ]
    if options["n"] or alone:
        raise InputError(f"{(['--next'] if options['n'] else alone)[0]} needs --folder.")
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
        raise InputError("--top takes neither --for nor --report: its rows are drawn at random.")
    if report and not answers:
        raise InputError("--report needs answers; pass them with --answers.")
    with _shared.printed_warnings():
        reading = {name: options[name] for name in ("sep", "decimal", "encoding", "sheet")}
        model = load_table(model_dir).set_params(**_shared.given_options(reading))
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
            job.review_page(model, result, found, title=f"Review: {data.name}", footer=footer).save(
                report
            )
        if not (out or page):
            show(result.to_json(), result.lines(), as_json=as_json)
            return
    names = ("rows", "out", "page", "purpose", "seed", "question")
    rows = {name: options[name] for name in names}
    written = job.write_rows(model, found, folder=data.parent, **rows)
    words = f"{written['rows']} rows to look at: {', '.join(written['files'])}"
    show(written, [*found.notes, words], as_json=as_json)


def _down_the_list(
    model_dir: Path,
    data: Path,
    as_json: bool,
    *,
    folder: Path,
    n: int | None,
    out: Path | None,
    answers: tuple[Path, ...],
    by: str,
    **options: Any,
) -> None:
    """Write rows, take answers, say where the review stands."""
    from nnpu.review.sheets import holds_answers, parse_recall
    from nnpu.review.worklist import is_kept
    from nnpu.table import load_table
    from nnpu.table import table_review as job

    unused = ("rows", "top", "page", "second", "cost_fp", "cost_fn", "report")
    for name in unused:
        if options[name]:
            raise InputError(f"--{name.replace('_', '-')} does not go with --folder.")
    if options["serve"] and (n or out or answers or options["waiting"] or options["status"]):
        raise InputError(
            "--serve takes no --next, --out, --answers, --waiting or --status: its page does all "
            "of that."
        )
    if options["port"] and not options["serve"]:
        raise InputError("--port needs --serve.")
    if bool(n or options["waiting"]) != (out is not None) or (n and options["waiting"]):
        raise InputError(
            "--next and --waiting write rows to a file: use one of them, with --out FILE."
        )
    if not (out or answers or options["status"] or options["serve"]):
        raise InputError("Nothing to do: use --next with --out, --answers, --status or --serve.")
    if out and holds_answers(out):
        raise InputError(f"{out} holds answers, which --out would overwrite; choose another file.")
    recall = parse_recall(options["until"])
    if not (n or options["serve"] or is_kept(folder)):
        raise InputError(f"{folder} holds no review yet: begin with --next and --out, or --serve.")
    if options["serve"]:
        importlib.import_module("nnpu.review.serve")  # is the extra there? before any work
    with _shared.printed_warnings():
        reading = {name: options[name] for name in ("sep", "decimal", "encoding", "sheet")}
        model = load_table(model_dir).set_params(**_shared.given_options(reading))
        batch = model._batch(data)
        name = job.list_name(model_dir, batch)
        start = {"label": options["label"], "known": options["known"]}
        review = job.kept_review(model, batch, folder, name=name, **start)
    read = job.take_sheets(review, answers, name, by)
    if options["serve"]:

        def announce(address: str) -> None:
            words = [f"Open {address}", f"Answers are kept in {folder}. Ctrl-C stops the page."]
            show({"address": address}, words, as_json=as_json)
            sys.stdout.flush()

        page = {"question": options["question"], "port": options["port"] or 0}
        how = {"random": options["random"], "until": recall, "by": by, "images": data.parent}
        job.serve_review(model, batch, review, **how, **page, announce=announce)
        return
    how = {"n": n, "random": options["random"], "until": recall, "by": by}
    result, lines = job.work_down(model, batch, review, out, **how)
    show(result, [*read, *lines], as_json=as_json)
