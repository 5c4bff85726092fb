"""``nnpu fit``: a table in, a model folder out."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Literal

import click

from nnpu.cli._paths import Command
from nnpu.cli._runs import config_option, repeating
from nnpu.cli._shared import (
    data_argument,
    fit_options,
    job_options,
    json_option,
    printed_warnings,
    report_option,
    verbose_option,
    verbosity,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["fit"]


@click.command(cls=Command)
@data_argument
@fit_options
@config_option
@report_option("report.html in the model folder")
@verbose_option
@json_option
@click.pass_context
def fit(
    context: click.Context,
    /,
    data: Path,
    label: str,
    out: Path,
    model: str | None,
    epochs: int | None,
    parallel: Literal["global", "local"],
    image_size: int | None,
    report: Path | None,
    answers: tuple[Path, ...],
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from DATA, a table with labelled positives and unlabelled rows.

    DATA is CSV, Parquet (also a folder of files), Excel, JSON lines, Feather, NPZ or SVMlight; it
    is read into memory. Column types are inferred and reported.
    To train in several processes: torchrun --nproc-per-node 2 -m nnpu fit ...
    """
    from nnpu.launch import is_first
    from nnpu.table import TablePU
    from nnpu.table._messages import next_step, say
    from nnpu.table.run import fit_to_folder, model_for

    network: dict[str, Any] = {"epochs": epochs, "parallel": parallel, "image_size": image_size}
    talks = not as_json and is_first()
    with printed_warnings(), model_for(model, out, images=options["images"], **network) as chosen:
        job = TablePU(model=chosen, verbose=verbosity(talks, verbose), **job_options(options))
        files: dict[str, Any] = {"answers": answers, "report": report, **repeating(context)}
        result = fit_to_folder(job, data, label, out, **files)
    if as_json and is_first():
        click.echo(json.dumps(result, indent=2))
    if talks:
        page = f"Report: {result['report']} (opens in a browser)"
        again = f"Again: {shlex.join(['nnpu', 'fit', '--config', str(out / 'run.toml')])}"
        say(next_step(job), f"Model: {out}", page, again, timed=verbose)
