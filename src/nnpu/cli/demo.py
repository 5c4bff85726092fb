"""``nnpu demo``: PN, uPU and nnPU on handwritten digits."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["demo"]

_WHAT_WAS_DONE = """\
Even digits are the positives. PN learned from 100 positives and 50 negatives; uPU and nnPU from
the same 100 positives and 1,247 digits without a label."""
_OVERFITTED = """\
uPU drove its training risk below zero, which no true risk can be: it overfits. nnPU does not let
it."""
_NOT_YET = """\
uPU's training risk has not gone below zero in so few epochs; the default of 100 shows it."""


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, writable=True),
    default=Path("nnpu-demo"),
    show_default=True,
    help="Folder for the picture and the table.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the data.  [default: 100]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def demo(out: Path, epochs: int | None, seed: int, as_json: bool) -> None:
    """Train PN, uPU and nnPU on handwritten digits and show what happens."""
    import json

    from nnpu.experiments.paper import DEMO
    from nnpu.experiments.runner import Run, run_one
    from nnpu.experiments.tables import write_table
    from nnpu.report import mean_and_spread, risk_panel, save_figure

    out.mkdir(parents=True, exist_ok=True)  # fails now rather than after the training
    setting = DEMO.shortened(epochs=epochs)
    rows = []
    for method in setting.methods:
        if not as_json:
            click.echo(f"{method.name}:", err=True)
        rows += run_one(Run(setting, method, 0, seed), verbose=int(not as_json))
    names = [method.name for method in setting.methods]
    table = write_table(out / "demo.csv", rows)
    panels = [
        risk_panel(rows, names, "Risk of the surrogate loss"),
        risk_panel(rows, names, "Risk of the zero-one loss (error)", loss="zero_one"),
    ]
    pictures = save_figure(panels, out / "demo")

    def last(name: str, curve: str) -> float:
        return float(mean_and_spread(rows, name, curve)[1][-1])

    results = {
        name: {
            "training_risk": last(name, "train_risk"),
            "test_risk": last(name, "test_risk"),
            "test_error": last(name, "test_zero_one"),
        }
        for name in names
    }
    files = [str(path) for path in (*pictures, table)]
    if as_json:
        click.echo(json.dumps({"methods": results, "files": files}))
        return
    click.echo(f"\n{'':6}{'training risk':>15}{'test risk':>12}{'test error':>12}")
    for name, result in results.items():
        click.echo(
            f"{name:6}{result['training_risk']:>15.3f}{result['test_risk']:>12.3f}"
            f"{result['test_error']:>12.1%}"
        )
    seen = _OVERFITTED if results["uPU"]["training_risk"] < 0 else _NOT_YET
    click.echo(f"\n{_WHAT_WAS_DONE}\n{seen}\n\nFiles: {', '.join(files)}")
