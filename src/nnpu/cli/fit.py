"""``nnpu fit``: a table in, a model folder out."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Literal

import click

from nnpu.cli._arguments import as_prior, check_readable, check_writable, printed_warnings
from nnpu.cli._runs import as_command, as_toml, config_option
from nnpu.cli._shared_options import (
    fit_options,
    job_options,
    json_option,
    report_option,
    verbose_option,
)

__all__ = ["fit"]


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@fit_options
@config_option
@report_option("report.html in the model folder")
@verbose_option
@json_option
def fit(
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
    In several processes: torchrun --nproc-per-node 2 -m nnpu fit ...
    """
    check_readable(data)
    from nnpu.estimators.storage import check_target
    from nnpu.launch import is_first
    from nnpu.table import TablePU
    from nnpu.table._messages import next_step, say
    from nnpu.table.run import fit_to_folder, model_for

    options["prior"] = as_prior(options["prior"], "nnpu fit")
    check_writable(check_target(out))
    check_writable(report, "--report", source=data)
    given = {
        "label": label,
        "out": str(out),
        "model": model,
        "epochs": epochs,
        "report": str(report) if report else None,
        "parallel": None if parallel == "global" else parallel,
        "image-size": image_size,
        "answers": [str(path) for path in answers],
        **options,
    }
    command = as_command("fit", str(data), given)
    talks = not as_json and is_first()
    repeat = {"command": command, "config": as_toml(command, {"data": str(data), **given})}
    images = {"images": options["images"], "image_size": image_size}
    model_of = model_for(model, out, epochs=epochs, parallel=parallel, **images)
    with printed_warnings(), model_of as chosen:
        job = TablePU(model=chosen, verbose=talks * (1 + verbose), **job_options(options))
        result = fit_to_folder(job, data, label, out, answers=answers, report=report, **repeat)
    if as_json and is_first():
        click.echo(json.dumps(result, indent=2))
    if talks:
        say(
            next_step(job),
            f"Model: {out}",
            f"Report: {result['report']} (opens in a browser)",
            f"Again: {shlex.join(['nnpu', 'fit', '--config', str(out / 'run.toml')])}",
            timed=verbose,
        )
