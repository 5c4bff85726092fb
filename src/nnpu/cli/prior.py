"""``nnpu prior``: the share of positives, estimated, and how far to trust it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Command, Result
from nnpu.cli._shared import (
    data_argument,
    draw,
    drop_option,
    id_option,
    job_options,
    json_option,
    keep_option,
    label_option,
    positive_option,
    printed_warnings,
    reading_options,
    sampling_option,
    seed_option,
    verbose_option,
    verbosity,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["prior"]


@click.command(cls=Command)
@data_argument
@label_option
@sampling_option
@positive_option
@id_option
@drop_option
@keep_option
@reading_options
@click.option("--out", type=Result(pictures=True), help="Save the plot as OUT.png and OUT.svg.")
@seed_option
@verbose_option
@json_option
def prior(
    data: Path, label: str, out: Path | None, verbose: bool, as_json: bool, **options: Any
) -> None:
    """Estimate the share of positives in DATA from its labelled and unlabelled rows."""
    from nnpu.table import TablePU
    from nnpu.table._messages import say
    from nnpu.table.table_prior import draw_prior, in_rows, in_the_world

    job = TablePU(verbose=verbosity(not as_json, verbose), **job_options(options))
    with printed_warnings():
        found = job.estimate_prior(data, label)
    pictures = [] if out is None else draw(draw_prior, found, out)
    if as_json:
        result = {**found.estimate.stored(), "value": found.value, "pictures": pictures}
        click.echo(json.dumps(result, indent=2))
        return
    say(found.estimate.message, in_rows(found), in_the_world(found), timed=verbose)
    for picture in pictures:
        click.echo(f"Picture: {picture}")
