"""``nnpu fit``: a table in, a model folder out."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from nnpu.cli._paths import Command, Source
from nnpu.cli._shared import (
    config_option,
    dask_option,
    fit_options,
    job_options,
    json_option,
    printed_warnings,
    repeating,
    report_option,
    verbose_option,
    verbosity,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["fit"]


class _Fit(Command):
    """One table with a label column, or two tables without."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, then check that the tables are one or two."""
        rest = super().parse_args(ctx, args)
        given = ctx.params
        two = [given["positives"], given["unlabelled"]]
        if given["dask"] is not None:
            for name in ("positives", "unlabelled", "answers", "known", "epochs", "image_size"):
                if given[name]:
                    option = name.replace("_", "-")
                    raise click.UsageError(f"--{option} does not go with --dask.", ctx)
        if two == [None, None]:
            for name, shown in (("data", "argument 'DATA'"), ("label", "option '--label'")):
                if given[name] is None:
                    raise click.UsageError(f"Missing {shown}.", ctx)
            return rest
        if None in two:
            missing = "--positives" if two[0] is None else "--unlabelled"
            raise click.UsageError(f"Two tables take two options; {missing} is missing.", ctx)
        for name, shown in (("data", "DATA"), ("label", "--label"), ("images", "--images")):
            if given[name] is not None:
                raise click.UsageError(f"{shown} does not go with --positives.", ctx)
        for name in ("answers", "known"):
            if given[name]:
                raise click.UsageError(f"--{name} does not go with --positives.", ctx)
        typed = ctx.get_parameter_source("sampling") is ParameterSource.COMMANDLINE
        if typed and given["sampling"] != "two-sample":
            raise click.UsageError("Two tables are two samples: --sampling two-sample.", ctx)
        given["sampling"] = "two-sample"
        return rest


@click.command(cls=_Fit)
@click.argument("data", type=Source(), required=False)
@fit_options
@click.option(
    "--positives", type=Source(), metavar="FILE", help="Table of positives, instead of DATA."
)
@click.option(
    "--unlabelled",
    type=Source(),
    metavar="FILE",
    help="Table of unlabelled rows, with --positives.",
)
@dask_option
@config_option
@report_option("report.html in the model folder")
@verbose_option
@json_option
@click.pass_context
def fit(
    context: click.Context,
    /,
    data: Path | None,
    label: str | None,
    positives: Path | None,
    unlabelled: Path | None,
    out: Path,
    model: str | None,
    epochs: int | None,
    parallel: Literal["global", "local"],
    image_size: int | None,
    report: Path | None,
    answers: tuple[Path, ...],
    known: tuple[Path, ...],
    dask: str | None,
    verbose: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from DATA, a table with labelled positives and unlabelled rows.

    Or from two tables, --positives and --unlabelled, without a label column.
    DATA is CSV, Parquet (also a folder of files), Excel, JSON lines, Feather, NPZ or SVMlight; it
    is read into memory. Column types are inferred and reported. With --dask the workers of a
    cluster read it, and it may be larger than memory.
    To train in several processes: torchrun --nproc-per-node 2 -m nnpu fit ...
    """
    from nnpu.table import TablePU
    from nnpu.table._messages import next_step, say
    from nnpu.table.run import fit_to_folder, model_for
    from nnpu.terminal import is_first

    network: dict[str, Any] = {"epochs": epochs, "parallel": parallel, "image_size": image_size}
    talks = not as_json and is_first()
    with printed_warnings(), model_for(model, out, images=options["images"], **network) as chosen:
        job = TablePU(model=chosen, verbose=verbosity(talks, verbose), **job_options(options))
        sheets = {"answers": answers, "known": known}
        files: dict[str, Any] = {**sheets, "report": report, **repeating(context)}
        files["dask"] = dask
        result = fit_to_folder(job, data or (positives, unlabelled), label, out, **files)
    if as_json and is_first():
        click.echo(json.dumps(result, indent=2))
    if talks:
        page = f"Report: {result['report']} (opens in a browser)"
        again = f"Again: {shlex.join(['nnpu', 'fit', '--config', str(out / 'run.toml')])}"
        say(next_step(job), f"Model: {out}", page, again, timed=verbose)
