"""``nnpu prior``: the share of positives, estimated, and what may be believed of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nnpu.cli.options import drop_option, id_option, label_option, sampling_option, seed_option

if TYPE_CHECKING:
    from nnpu.report import Panel

__all__ = ["prior"]


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@label_option
@sampling_option
@id_option
@drop_option
@click.option("--out", type=click.Path(path_type=Path), help="Write a picture, OUT.png and .svg.")
@seed_option
@click.option("--json", "as_json", is_flag=True, help="Print the estimate as JSON.")
def prior(
    data: Path,
    label: str,
    sampling: str,
    id_name: str | None,
    drop: tuple[str, ...],
    out: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Estimate the share of positives in DATA from its labelled and unlabelled rows."""
    import numpy as np

    from nnpu.cli.labelled import (
        check_labels,
        check_writable,
        find_prior,
        read_labelled,
        sampling_line,
        telling_warnings,
    )
    from nnpu.cli.reporting import prior_panel
    from nnpu.table.columns import fit_columns

    if out is not None:
        check_writable(out)
    if not as_json:
        click.echo(sampling_line(sampling))
    batch, s = read_labelled(data, label)
    check_labels(s, label, batch.source)
    plan = fit_columns(batch, np.arange(len(s)), label=label, id_name=id_name, drop=drop)
    with telling_warnings():
        value, estimate = find_prior(plan.transform(batch), s, sampling, seed)
    pictures = [] if out is None else _draw(prior_panel(estimate, s), out)
    if as_json:
        result = {
            "value": value,
            "low": estimate.low,
            "high": estimate.high,
            "identified": estimate.identified,
            "sampling": sampling,
            "message": estimate.message,
            "pictures": pictures,
        }
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(estimate.message)
    click.echo(_meaning(value, len(s), sampling, s))
    for picture in pictures:
        click.echo(f"Picture: {picture}")


def _meaning(value: float, n: int, sampling: str, s: object) -> str:
    """Say it in rows."""
    import numpy as np

    labelled = int(np.sum(np.asarray(s) == 1))
    if sampling == "one-sample":
        hidden = max(round(value * n) - labelled, 0)
        return (
            f"In rows: of {n:,}, about {round(value * n):,} would be positive: the {labelled:,} "
            f"labelled ones and about {hidden:,} among the others."
        )
    unlabelled = int(np.sum(np.asarray(s) == 0))
    return (
        f"In rows: of {unlabelled:,} unlabelled ones, about {round(value * unlabelled):,} would be "
        "positive."
    )


def _draw(panel: Panel, out: Path) -> list[str]:
    from nnpu.report import save_figure

    stem = out.with_suffix("") if out.suffix in (".png", ".svg") else out
    return [str(path) for path in save_figure([panel], stem, columns=1)]
