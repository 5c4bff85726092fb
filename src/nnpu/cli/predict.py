"""``nnpu predict``: a model folder and a table in, a score for every row out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nnpu.cli._paths import Command, Result
from nnpu.cli._shared import (
    data_argument,
    given_options,
    json_option,
    model_argument,
    printed_warnings,
    reading_options,
)
from nnpu.terminal import say

__all__ = ["predict"]


@click.command(cls=Command)
@model_argument
@data_argument
@click.option(
    "--out",
    type=Result(),
    default=Path("predictions.csv"),
    show_default=True,
    help="Output file, .csv or .parquet; - for standard output.",
)
@click.option(
    "--escape-formulas",
    is_flag=True,
    help="Add an apostrophe before ids that a spreadsheet would run as formulas.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Add each column's contribution to the score, as why_NAME. Much slower.",
)
@reading_options
@json_option
def predict(
    model_dir: Path,
    data: Path,
    out: Path,
    escape_formulas: bool,
    explain: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score every row of DATA with the model in MODEL_DIR.

    Writes one row per row of DATA, in the same order: the id column if there is one, then score,
    probability and prediction (1 or 0). CSV and Parquet, a file or a folder of files, are
    streamed: memory does not grow with the data. Use - to read CSV from standard input.
    """
    from nnpu.table import load_table, write_predictions
    from nnpu.table.predictions import check_out

    check_out(out, data)
    with printed_warnings():
        model = load_table(model_dir).set_params(**given_options(options))
        written = write_predictions(
            model, data, out, escape_formulas=escape_formulas, explain=explain
        )
    to_stdout = str(out) in ("-", "/dev/stdout")
    if as_json:
        click.echo(json.dumps({"out": str(out), **written._asdict()}), err=to_stdout)
    else:
        say(f"{written}: {out}", err=to_stdout)
