"""``nnpu evaluate``: how good a model is on rows that it has not seen, without true labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Command
from nnpu.cli._shared import (
    data_argument,
    given_options,
    json_option,
    label_option,
    model_argument,
    positive_option,
    printed_warnings,
    reading_options,
    report_option,
)
from nnpu.terminal import say

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["evaluate"]


@click.command(cls=Command)
@model_argument
@data_argument
@label_option
@positive_option
@reading_options
@report_option("not written")
@json_option
def evaluate(
    model_dir: Path, data: Path, label: str, report: Path | None, as_json: bool, **options: Any
) -> None:
    """Evaluate the model in MODEL_DIR on the labelled and unlabelled rows of DATA.

    Use rows that the model was not fitted to; no true labels are needed.
    """
    from nnpu.report.verdict import verdict
    from nnpu.table import load_table
    from nnpu.table._messages import CAVEAT

    with printed_warnings():
        model = load_table(model_dir).set_params(**given_options(options))
        found = model.evaluate(data, label)
    if report is not None:
        model.report(found, title=f"Evaluation: {data.name}").save(report)
    if as_json:
        result = {**found.to_json(), "caveat": CAVEAT, "report": str(report) if report else None}
        click.echo(json.dumps(result, indent=2))
        return
    say(str(found), CAVEAT, f"Next: {verdict(found).advice}")
    if report is not None:
        say(f"Report: {report} (opens in a browser)")
