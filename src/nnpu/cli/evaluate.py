"""``nnpu evaluate``: how good a model is on rows that it has not seen, without true labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nnpu.cli._shared import (
    check_readable,
    check_writable,
    given_options,
    json_option,
    label_option,
    positive_option,
    printed_warnings,
    reading_options,
    report_option,
)
from nnpu.terminal import say

__all__ = ["evaluate"]


@click.command()
@click.argument("model_dir", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@label_option
@positive_option
@reading_options
@report_option("none")
@json_option
def evaluate(
    model_dir: Path, data: Path, label: str, report: Path | None, as_json: bool, **options: Any
) -> None:
    """Judge the model in MODEL_DIR by the labelled and unlabelled rows of DATA."""
    check_readable(data, model_dir)
    from nnpu.report.verdict import verdict
    from nnpu.table import load_table
    from nnpu.table._messages import CAVEAT

    check_writable(report, "--report", source=data)
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
