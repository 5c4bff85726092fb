"""``nnpu review``: rows worth a person's look, and what the answers say."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import click

from nnpu.cli._arguments import check_readable, check_writable, printed_warnings
from nnpu.cli._shared_options import json_option, report_option, seed_option
from nnpu.parameters import InputError
from nnpu.terminal import say

__all__ = ["review"]

_PURPOSE = "estimate, finding, learning, or a mixture such as finding=0.3+estimate=0.7."
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("model_dir", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--rows", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--out", type=_FILE, metavar="FILE", help="Write the rows to look at, as CSV.")
@click.option("--page", type=_FILE, metavar="FILE", help="Write a page to answer in, as HTML.")
@click.option("--answers", type=_FILE, multiple=True, help="Answered sheets; repeatable.")
@click.option("--known", type=_FILE, multiple=True, help="Answered sheets of an earlier model.")
@click.option("--second", type=_FILE, metavar="FILE", help="The sheet of a second reviewer.")
@click.option("--for", "purpose", default="estimate", show_default=True, help=_PURPOSE)
@click.option("--question", default="Is this row a positive?", show_default=True)
@click.option("--label", metavar="COLUMN", help="PU labels.  [default: the column of the fit]")
@click.option("--cost-fp", type=float, help="Cost of a false alarm: gives the cheapest cut.")
@click.option("--cost-fn", type=float, help="Cost of a missed positive.")
@report_option("none")
@seed_option
@json_option
def review(model_dir: Path, data: Path, **options: Any) -> None:
    """Choose rows of DATA for a person to look at, and learn from the answers.

    With --out or --page: draw rows and write them; the sheets of earlier rounds go into --answers.
    With --answers alone: prior, precision, recall and accuracy, with 90 % intervals.
    """
    from nnpu.review.sheets import holds_answers, parse_purpose
    from nnpu.table import load_table
    from nnpu.table.table_review import review_findings, review_page, table_review

    out, page, answers = options["out"], options["page"], options["answers"]
    report = options["report"]
    if not (out or page or answers):
        raise InputError("Nothing to do: use --out or --page to draw rows, --answers to read them.")
    check_writable(out, source=data)
    check_writable(page, "--page", source=data)
    check_writable(report, "--report", source=data)
    if out and holds_answers(out):
        raise InputError(f"{out} holds answers, which --out would overwrite: write another file.")
    if report and not answers:
        raise InputError("--report shows what answers say: give them with --answers.")
    check_readable(data, model_dir)
    with printed_warnings():
        model = load_table(model_dir)
        name = hashlib.sha256((model_dir / "SHA256SUMS").read_bytes()).hexdigest()[:12]
        found = table_review(model, data, label=options["label"], known=options["known"], name=name)
    if answers:
        found.review.read(*answers, second=options["second"])
    if report or not (out or page):
        costs = {name: options[name] for name in ("cost_fp", "cost_fn")}
        result = review_findings(model, found, **costs)
        if report:
            footer = f"nnpu review {model_dir} {data}"
            review_page(model, result, title=f"Review: {data.name}", footer=footer).save(report)
        if not (out or page):
            if options["as_json"]:
                click.echo(json.dumps(result.to_json(), indent=2))
            else:
                say(*result.lines())
            return
    purpose = parse_purpose(options["purpose"])
    drawn = found.review.draw(options["rows"], purpose=purpose, random_state=options["seed"])
    shown: dict[str, Any] = {"table": found.columns, "reasons": found.reasons(model)}
    if out:
        found.review.write(out, **shown)
    if page:
        asked = options["question"]
        found.review.write_page(page, question=asked, folder=data.parent, **shown)
    files = [str(path) for path in (out, page) if path]
    if options["as_json"]:
        click.echo(json.dumps({"rows": len(drawn), "files": files}))
    else:
        say(*found.notes, f"{len(drawn)} rows to look at: {', '.join(files)}")
