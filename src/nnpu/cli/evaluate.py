"""``nnpu evaluate``: how good a model is on rows that it has not seen, without true labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Command, Source
from nnpu.cli._shared import (
    given_options,
    json_option,
    label_option,
    positive_option,
    printed_warnings,
    prior_option,
    reading_options,
    report_option,
)
from nnpu.terminal import say

if TYPE_CHECKING:
    from pathlib import Path

    from nnpu.table import TablePU

__all__ = ["evaluate"]


class _Evaluate(Command):
    """With --scores a single path is the table: there is no model folder."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, then put a single path in its place."""
        rest = super().parse_args(ctx, args)
        given = ctx.params
        if given["scores"] is not None and given["data"] is None:
            given["data"], given["model_dir"] = given["model_dir"], None
        if given["data"] is None:
            missing = "DATA" if given["model_dir"] or given["scores"] else "MODEL_DIR"
            raise click.UsageError(f"Missing argument '{missing}'.", ctx)
        if given["scores"] is not None and given["model_dir"] is not None:
            raise click.UsageError("--scores takes the place of MODEL_DIR; give DATA alone.", ctx)
        for name in _FOR_SCORES:
            if given["scores"] is None and given[name] is not None:
                raise click.UsageError(f"--{name} is for --scores: a model has its own.", ctx)
        return rest


_FOR_SCORES = ("sampling", "id")


@click.command(cls=_Evaluate)
@click.argument("model_dir", type=Source(model=True), required=False)
@click.argument("data", type=Source(), required=False)
@click.option("--scores", metavar="COLUMN", help="Evaluate this column of DATA, without a model.")
@label_option
@prior_option(None, "that of the fit, unless these rows contradict it; auto with --scores")
@click.option(
    "--sampling",
    type=click.Choice(["one-sample", "two-sample"]),
    help="How the rows came about, with --scores.  [default: one-sample]",
)
@click.option("--id", metavar="COLUMN", help="Column of row ids, with --scores.")
@positive_option
@reading_options
@report_option("not written")
@json_option
def evaluate(
    model_dir: Path | None,
    data: Path,
    scores: str | None,
    label: str,
    prior: Any,
    report: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Evaluate the model in MODEL_DIR on the labelled and unlabelled rows of DATA.

    With --scores COLUMN there is no MODEL_DIR: that column of DATA holds scores of another model.
    Use rows that the model was not fitted to; no true labels are needed.
    """
    from nnpu.report.verdict import verdict
    from nnpu.table import ScorePU, load_table, scores_in_table
    from nnpu.table._messages import CAVEAT, SAMPLING_LINES

    given = given_options(options)
    model: TablePU | ScorePU
    with printed_warnings():
        if scores is None:
            fitted = load_table(str(model_dir)).set_params(**given)
            model, found = fitted, fitted.evaluate(data, label, prior=prior)
        else:
            if not as_json:
                say(SAMPLING_LINES[given.get("sampling", "one-sample")])
            share = "auto" if prior is None else prior
            model = scores_in_table(data, scores, label, prior=share, **given)
            found = model.holdout_
    if report is not None:
        model.report(found, title=f"Evaluation: {data.name}").save(report)
    advice = verdict(found).advice
    result = {**found.to_json(), "caveat": CAVEAT, "report": str(report) if report else None}
    if isinstance(model, ScorePU):
        advice = f"Look at the unlabelled rows from the highest {scores} down."
        result["cut"] = model.unlabelled_cut_
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    if isinstance(model, ScorePU):
        flagged, rows = f"{found.hidden.flagged:,}", f"{found.hidden.rows:,}"
        cut = f"{scores} > {model.unlabelled_cut_:.4g}"
        say(f"Predicted positive: {flagged} of {rows} unlabelled rows ({cut}).")
    say(str(found), *found.plain_lines(), CAVEAT, f"Next: {advice}")
    if report is not None:
        say(f"Report: {report} (opens in a browser)")
