"""``nnpu predict``: a model folder and a table in, a score for every row out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nnpu.cli._paths import Command, Result
from nnpu.cli._shared import (
    dask_option,
    data_argument,
    given_options,
    json_option,
    model_argument,
    printed_warnings,
    reading_options,
)
from nnpu.parameters import InputError
from nnpu.terminal import how_many, say

__all__ = ["predict"]


@click.command(cls=Command)
@model_argument
@data_argument
@click.option(
    "--out",
    type=Result(),
    default=Path("predictions.csv"),
    show_default=True,
    help="Output file, .csv or .parquet; - for standard output. With --dask a new folder.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write the N likeliest positives among the unlabelled rows instead, with their cells.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="P",
    help="Predict positive above this probability.",
)
@click.option(
    "--at",
    metavar="CUT",
    help="Where to cut: prior, accuracy, precision=0.5, recall=0.8, or cost=5 (a missed positive "
    "costs as much as 5 false alarms).",
)
@click.option(
    "--keep", multiple=True, metavar="COLUMN", help="Column of DATA to write; repeatable."
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
@dask_option
@reading_options
@json_option
def predict(
    model_dir: Path,
    data: Path,
    out: Path,
    top: int | None,
    threshold: float | None,
    at: str | None,
    keep: tuple[str, ...],
    escape_formulas: bool,
    explain: bool,
    dask: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Score every row of DATA with the model in MODEL_DIR.

    Writes one row per row of DATA, in the same order: its id (or its number), score, probability,
    prediction (1 or 0) and rank (1 is the likeliest positive among the unlabelled rows). With
    --top, writes the first rows of that list with their own cells: the rows to check next. CSV and
    Parquet, a file or a folder of files, are streamed, so DATA may be larger than memory. Use - to
    read CSV from standard input. With --dask the workers of a cluster write a folder of Parquet
    files, without a rank.
    """
    from nnpu.table import load_table, write_predictions
    from nnpu.table.predictions import check_out, cut_at, cut_at_probability, write_top

    if dask is None:
        check_out(out, data)
    elif top is not None:
        raise InputError("--top does not go with --dask: sort the folder that it writes by score.")
    has_cut = threshold is not None or at is not None
    two_cuts = threshold is not None and at is not None
    if two_cuts or (top is not None and (has_cut or keep or explain)):
        raise InputError(
            "Pass only one of --top, --threshold and --at. --top writes all cells and takes "
            "neither --keep nor --explain."
        )
    with printed_warnings():
        model = load_table(model_dir).set_params(**given_options(options))
        if top is not None:
            written = write_top(model, data, out, top, escape_formulas=escape_formulas)
        else:
            cut = None
            if threshold is not None:
                cut = cut_at_probability(model, threshold)
            elif at is not None:
                cut = cut_at(model, at)
            how: dict[str, Any] = {"escape_formulas": escape_formulas, "explain": explain}
            how |= {"keep": keep, "cut": cut}
            if dask is None:
                written = write_predictions(model, data, out, **how)
            else:
                from nnpu.table.partitions import cluster, partitions_of_files, write_to_folder

                with cluster(dask):
                    table = partitions_of_files(data, **model._how())
                    written = write_to_folder(model, table, out, verbose=not as_json, **how)
    to_stdout = str(out) in ("-", "/dev/stdout")
    if as_json:
        click.echo(json.dumps({"out": str(out), **written._asdict()}), err=to_stdout)
    elif top is not None:
        known = how_many(written.known, "labelled row")
        rest = f" ({known} of the fit left out)" if written.known else ""
        say(f"The first {how_many(written.rows, 'row')} of the list{rest}: {out}", err=to_stdout)
    else:
        say(f"{written}: {out}", err=to_stdout)
