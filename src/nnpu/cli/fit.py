"""``nnpu fit``: a table in, a model folder out."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from nnpu.cli.options import drop_option, id_option, label_option, sampling_option, seed_option
from nnpu.cli.reporting import report_option
from nnpu.cli.runs import read_config

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["fit"]

_FOLDS = 5  # one of them is held out


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@label_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("nnpu-model"),
    show_default=True,
    help="Model folder; one that is there is replaced.",
)
@click.option("--prior", default="auto", show_default=True, help="Share of positives, or auto.")
@sampling_option
@id_option
@drop_option
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the data.")
@seed_option
@click.option(
    "--parallel",
    type=click.Choice(["global", "local"]),
    default="global",
    show_default=True,
    help="What the processes of a torchrun minimise together.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="TOML file with any of these options.",
)
@report_option("report.html in the model folder")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def fit(
    data: Path,
    label: str,
    out: Path,
    prior: str,
    sampling: str,
    id_name: str | None,
    drop: tuple[str, ...],
    epochs: int | None,
    seed: int,
    report: Path | None,
    parallel: Literal["global", "local"],
    as_json: bool,
) -> None:
    """Learn from DATA, a table with labelled positives and unlabelled rows.

    DATA is CSV (also .gz), Parquet (also a folder of files), NPZ or SVMlight; it is read into
    memory. What each column is, is found out and told.
    In several processes: torchrun --nproc-per-node 2 -m nnpu fit ...
    """
    from nnpu.cli.labelled import (
        as_prior,
        check_labels,
        check_writable,
        for_json,
        read_labelled,
        sampling_line,
    )
    from nnpu.cli.reporting import fit_page
    from nnpu.cli.runs import as_command, as_log, as_toml
    from nnpu.cli.training import train_and_measure
    from nnpu.estimators.storage import check_target, save
    from nnpu.files import write_text
    from nnpu.report.html import render
    from nnpu.table.columns import fit_columns
    from nnpu.training import DEFAULT_TRAINING, checkpoints_beside
    from nnpu.training.distributed import is_first, launcher

    def tell(*lines: str) -> None:
        if is_first() and not as_json:
            click.echo("\n".join(lines))

    given = as_prior(prior, "nnpu fit")
    check_writable(check_target(out))
    if report is not None:
        check_writable(report, "--report")
    tell(sampling_line(sampling))
    batch, s = read_labelled(data, label)
    check_labels(s, label, batch.source)
    held_out = _held_out(s, seed)
    plan = fit_columns(batch, (~held_out).nonzero()[0], label=label, id_name=id_name, drop=drop)
    tell(
        f"Rows: {len(s):,}, of which {int((s == 1).sum()):,} are labelled"
        + (f" and {int((s == -1).sum()):,} known to be negative" if (s == -1).any() else "")
        + f"; {int(held_out.sum()):,} are held out to judge the model.",
        f"Columns ({plan.width:,} features):",
        *(f"  {line}" for line in plan.told()),
    )
    x = plan.transform(batch)
    loop = replace(DEFAULT_TRAINING, parallel=parallel)
    with _saying_how_to_go_on(out), checkpoints_beside(out, loop) as training:
        fitted = train_and_measure(
            x,
            s,
            held_out,
            prior=given,
            sampling=sampling,
            epochs=epochs,
            seed=seed,
            training=training,
            tell=tell,
        )
        options = {
            "label": label,
            "out": str(out),
            "prior": given,
            "sampling": sampling,
            "id": id_name,
            "drop": list(drop) or None,
            "epochs": fitted.epochs,
            "seed": seed,
            "report": str(report) if report else None,
            "parallel": None if parallel == "global" else parallel,
        }
        command = launcher() + as_command("fit", str(data), options)
        notes = {
            "run.toml": as_toml(command, {"data": str(data), **options}),
            "log.jsonl": as_log(fitted.events(plan.to_json())),
        }
        page = render(fit_page(fitted, plan, s, held_out, data=data, command=command))
        if report is None:
            notes["report.html"] = page
        save(fitted.classifier, out, columns=plan.to_json(), notes=notes)
    if report is not None and is_first():
        write_text(report, page)
    if as_json and is_first():
        result = {
            "model": str(out),
            "sampling": sampling,
            "columns": plan.to_json(),
            "prior": fitted.prior,
            "held_out": {"rows": int(held_out.sum()), "metrics": for_json(fitted.metrics)},
            "report": str(report or out / "report.html"),
            "command": command,
        }
        click.echo(json.dumps(result, indent=2))
    tell(
        f"Model: {out} (weights, columns, run.toml, log.jsonl)",
        f"Report: {report or out / 'report.html'} (opens in a browser)",
        f"Again: {command}",
    )


@contextmanager
def _saying_how_to_go_on(out: Path) -> Iterator[None]:
    """Put into Ctrl-C what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        partial = out.with_name(f"{out.name}.partial")
        kept = (
            f"The training so far is in {partial}; the same command goes on from there."
            if partial.is_dir()
            else "Nothing was written; the same command starts again."
        )
        raise KeyboardInterrupt(f"Interrupted. {kept}") from error


def _held_out(s: NDArray[np.int8], seed: int) -> NDArray[np.bool_]:
    """Choose a fifth of the labelled rows and a fifth of the others."""
    from nnpu.data.folds import PUStratifiedKFold

    held_out: NDArray[np.bool_] = PUStratifiedKFold(_FOLDS, random_state=seed).assign(s == 1) == 0
    return held_out
