"""``nnpu demo``: PN, uPU and nnPU on handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nnpu import __version__
from nnpu.cli._output import draw
from nnpu.cli._paths import Command
from nnpu.cli._shared import report_option, seed_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nnpu.paper.results import Row
    from nnpu.report import Panel
    from nnpu.report.html import Page

__all__ = ["demo"]

_WHAT_WAS_DONE = """\
Even digits are the positives. PN learned from 100 positives and 50 negatives; uPU and nnPU from
the same 100 positives and 1,247 digits without a label."""
_OVERFITTED = """\
uPU drove its training risk below zero, which no true risk can be: it overfits. nnPU does not let
it."""
_NOT_YET = """\
uPU's training risk has not gone below zero in so few epochs; the default of 100 shows it."""
_CURVES = """\
Solid: the risk on test data, with their true labels. Dashed: the risk on the training data, as each
method estimates it."""
_INSIDE = """\
r is the estimated cost of false alarms. Its true value cannot be negative. Where r falls below zero
on a batch, uPU goes on; nnPU takes a step back along r, and stays close to zero."""


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False, writable=True),
    default=Path("nnpu-demo"),
    show_default=True,
    help="Folder for the picture, the table and the report.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the data.  [default: 100]")
@seed_option
@report_option("report.html in that folder")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def demo(out: Path, epochs: int | None, seed: int, report: Path | None, as_json: bool) -> None:
    """Train PN, uPU and nnPU on handwritten digits and show what happens."""
    import json

    from nnpu.paper.presets import DEMO
    from nnpu.paper.results import write_results
    from nnpu.paper.runner import ExperimentRun, run_one
    from nnpu.report import mean_and_spread, risk_panel, save_figure

    out.mkdir(parents=True, exist_ok=True)  # fails now rather than after the training
    setting = DEMO.shortened(epochs=epochs)
    rows = []
    for method in setting.methods:
        if not as_json:
            click.echo(f"{method.name}:", err=True)
        rows += run_one(ExperimentRun(setting, method, 0, seed), verbose=int(not as_json))
    names = [method.name for method in setting.methods]
    table = write_results(out / "demo.csv", rows)
    panels = [
        risk_panel(rows, names, "Risk of the surrogate loss"),
        risk_panel(rows, names, "Risk of the zero-one loss (error)", loss="zero_one"),
    ]
    pictures = draw(save_figure, panels, out / "demo")

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
    seen = _OVERFITTED if results["uPU"]["training_risk"] < 0 else _NOT_YET
    page = _page(rows, panels, results, seen).save(report or out / "report.html")
    files = [str(path) for path in (*pictures, table, page)]
    if as_json:
        click.echo(json.dumps({"methods": results, "files": files}))
        return
    click.echo(f"\n{'':6}{'training risk':>15}{'test risk':>12}{'test error':>12}")
    for name, result in results.items():
        click.echo(
            f"{name:6}{result['training_risk']:>15.3f}{result['test_risk']:>12.3f}"
            f"{result['test_error']:>12.1%}"
        )
    click.echo(f"\n{_WHAT_WAS_DONE}\n{seen}\n\nFiles: {', '.join(files)}")


def _page(
    rows: Sequence[Row],
    panels: Sequence[Panel],
    results: Mapping[str, Mapping[str, float]],
    seen: str,
) -> Page:
    """The report: results, curves, and what nnPU did to its gradient."""
    from nnpu.paper.page_sections import panels_section, results_section
    from nnpu.report import curve_panel
    from nnpu.report.html import Page

    cells = [
        [
            name,
            f"{found['training_risk']:.3f}",
            f"{found['test_risk']:.3f}",
            f"{100 * found['test_error']:.1f} %",
        ]
        for name, found in results.items()
    ]
    head = ["Method", "Training risk", "Test risk", "Test error"]
    names = list(results)
    inside = [
        curve_panel(rows, names[1:], "train_negative", "r on the training data", "r"),
        curve_panel(rows, names[1:], "corrected", "Steps with r below 0", "share of the steps"),
    ]
    return Page(
        "PN, uPU and nnPU on handwritten digits",
        "What nnpu demo trained, and what it shows.",
        [
            results_section("At the end of the training", head, cells, [_WHAT_WAS_DONE, seen]),
            panels_section("curves", "The risks", panels, [_CURVES]),
            panels_section("inside", "What nnPU does", inside, [_INSIDE]),
        ],
        f"nnpu {__version__}: nnpu demo",
    )
