"""``nnpu evaluate``: how good a model is on rows that it has not seen, without true labels."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nnpu.cli._arguments import check_writable
from nnpu.cli._shared_options import json_option, label_option, report_option

__all__ = ["evaluate"]


@click.command()
@click.argument("model_dir", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@label_option
@report_option("none")
@json_option
def evaluate(model_dir: Path, data: Path, label: str, report: Path | None, as_json: bool) -> None:
    """Judge the model in MODEL_DIR by the labelled and unlabelled rows of DATA."""
    from nnpu.table import load_table
    from nnpu.table.pages import CAVEAT

    check_writable(report, "--report", source=data)
    model = load_table(model_dir)
    found = model.evaluate(data, label)
    if report is not None:
        model.report(found, title=f"Evaluation: {data.name}").save(report)
    if as_json:
        result = {**found.to_json(), "caveat": CAVEAT, "report": str(report) if report else None}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"{found}\n{CAVEAT}")
    if report is not None:
        click.echo(f"Report: {report} (opens in a browser)")
