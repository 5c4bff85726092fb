"""``nnpu-paper``: the demo, the paper's figures, tables and theory, and our speed.

Only click is imported here; what a command needs is loaded when it is run.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli import run_command
from nnpu.parameters import InputError, check_choice
from nnpu_paper import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nnpu.report import Page, Panel
    from nnpu_paper.claims import Claim
    from nnpu_paper.experiments import Setting
    from nnpu_paper.figures import Figure
    from nnpu_paper.results import OutputFolder, Row

__all__ = ["cli", "main"]


class _Group(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nnpu-paper")
def cli() -> None:
    """Run the experiments of the nnPU paper, and say for each claim whether it held."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("nnpu-paper is not shared between processes: start it without torchrun.")


def main(args: list[str] | None = None) -> Any:
    """Run the command line ``nnpu-paper``.

    Parameters
    ----------
    args : list of str, optional
        The arguments; by default those of the process.
    """
    if args is None:  # the process is our own
        from nnpu_paper.memory import keep_freed_memory

        keep_freed_memory()
    return run_command(cli, "nnpu-paper", args)


def _out_option(default: str, what: str) -> Callable[[Any], Any]:
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("nnpu-paper") / default,
        show_default=True,
        help=f"Folder for {what}; files that are not ours are never overwritten.",
    )


_seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**31 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same result.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
_fast_option = click.option("--fast", is_flag=True, help="A minute-scale version.")
_ONLY = "Only this data set: mnist, epsilon, 20news or cifar10"


# The demo.

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


@cli.command()
@_out_option("demo", "the picture, the table and the report")
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the data.  [default: 100]")
@_seed_option
@_json_option
def demo(out: Path, epochs: int | None, seed: int, as_json: bool) -> None:
    """Train PN, uPU and nnPU on handwritten digits and compare them."""
    from nnpu.report import mean_and_spread, risk_panel, save_figure
    from nnpu_paper.experiments import DEMO
    from nnpu_paper.results import OutputFolder, write_results
    from nnpu_paper.runs import ExperimentRun, run_one

    files = ["demo.png", "demo.svg", "demo.csv", "report.html"]
    folder = OutputFolder(out, "demo", files)
    setting = DEMO.shortened(epochs=epochs)
    rows = []
    for method in setting.methods:
        if not as_json:
            click.echo(f"{method.name}:", err=True)
        rows += run_one(ExperimentRun(setting, method, 0, seed), verbose=int(not as_json))
    names = [method.name for method in setting.methods]
    panels = [
        risk_panel(rows, names, "Risk of the surrogate loss"),
        risk_panel(rows, names, "Risk of the zero-one loss (error)", loss="zero_one"),
    ]

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
    with folder.writing() as new:
        write_results(new / "demo.csv", rows)
        save_figure(panels, new / "demo")
        _demo_page(rows, panels, results, seen).save(new / "report.html")
    written = [str(out / name) for name in files]
    if as_json:
        click.echo(json.dumps({"methods": results, "files": written}))
        return
    click.echo(f"\n{'':6}{'training risk':>15}{'test risk':>12}{'test error':>12}")
    for name, result in results.items():
        click.echo(
            f"{name:6}{result['training_risk']:>15.3f}{result['test_risk']:>12.3f}"
            f"{result['test_error']:>12.1%}"
        )
    click.echo(f"\n{_WHAT_WAS_DONE}\n{seen}\n\nFiles: {', '.join(written)}")


def _demo_page(
    rows: Sequence[Row],
    panels: Sequence[Panel],
    results: Mapping[str, Mapping[str, float]],
    seen: str,
) -> Page:
    """The report: results, curves, and what nnPU did to its gradient."""
    from nnpu.report import Page, chart_section, curve_panel, table_section

    cells = [
        [
            name,
            f"{found['training_risk']:.3f}",
            f"{found['test_risk']:.3f}",
            f"{100 * found['test_error']:.1f} %",
        ]
        for name, found in results.items()
    ]
    names = list(results)
    inside = [
        curve_panel(rows, names[1:], "train_negative", "r on the training data", "r"),
        curve_panel(rows, names[1:], "corrected", "Steps with r below 0", "share of the steps"),
    ]
    return Page(
        "PN, uPU and nnPU on handwritten digits",
        "What nnpu-paper demo trained, and what it shows.",
        [
            table_section(
                "results",
                "The results",
                ["Method", "Training risk", "Test risk", "Test error"],
                cells,
                caption="At the end of the training",
                words=[_WHAT_WAS_DONE, seen],
            ),
            chart_section("curves", "The risks", panels, [_CURVES]),
            chart_section("inside", "What nnPU does", inside, [_INSIDE]),
        ],
        f"nnpu-paper {__version__}: nnpu-paper demo",
    )


# Figures, tables, theory: each gives an outcome, and all are written and printed alike.


@dataclass(frozen=True)
class Outcome:
    """What came out of a part of the paper.

    Parameters
    ----------
    claims : list of Claim
        The verdicts.
    tables : mapping of str to rows
        By their file names.
    pictures : mapping of str to panels
        By their file names.
    titles : mapping of str to str
        The pictures' titles on the page.
    """

    claims: list[Claim]
    tables: Mapping[str, Sequence[Row]]
    pictures: Mapping[str, Sequence[Panel]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)


def _folder(
    out: Path, target: str, tables: Sequence[str], pictures: Sequence[str] = ()
) -> OutputFolder:
    """Return the folder of a target, or refuse it, before any work."""
    from nnpu_paper.results import OutputFolder

    names = [f"{name}.csv" for name in tables]
    names += [f"{name}.{suffix}" for name in pictures for suffix in ("png", "svg")]
    names += [f"{target}-{rest}" for rest in ("claims.md", "claims.json", "report.html")]
    return OutputFolder(out, target, names)


def _deliver(folder: OutputFolder, outcome: Outcome, *, as_json: bool) -> None:
    """Write tables, pictures, claims and the page; say for each claim whether it held."""
    from nnpu.files import write_text
    from nnpu.report import Page, chart_section, save_figure
    from nnpu_paper.claims import as_dicts, as_lines, as_markdown, as_section
    from nnpu_paper.results import write_results

    target, claims = folder.command, outcome.claims
    charts = [
        chart_section(f"picture-{number}", outcome.titles[name], panels)
        for number, (name, panels) in enumerate(outcome.pictures.items(), start=1)
    ]
    page = Page(
        f"Reproduction: {target}",
        "What the paper claims, and whether our run confirms it.",
        [as_section(claims), *charts],
        f"nnpu-paper {__version__}: nnpu-paper {target}",
    )
    with folder.writing() as new:
        for name, rows in outcome.tables.items():
            write_results(new / f"{name}.csv", rows)
        for name, panels in outcome.pictures.items():
            in_one_row = target == "theory" and len(panels) == 3
            save_figure(panels, new / name, columns=3 if in_one_row else 2)
        write_text(new / f"{target}-claims.md", as_markdown(f"Claims: {target}", claims))
        text = json.dumps(as_dicts(claims), indent=2)
        write_text(new / f"{target}-claims.json", f"{text}\n")
        page.save(new / f"{target}-report.html")
    if as_json:
        result = {"target": target, "out": str(folder.path), "claims": as_dicts(claims)}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo("\n".join(as_lines(claims)))
    judged = [claim for claim in claims if claim.held is not None]
    held = sum(claim.held is True for claim in judged)
    click.echo(f"\n{held} of {len(judged)} claims held. Tables and pictures: {folder.path}")
    click.echo(f"Report: {folder.path / f'{target}-report.html'} (opens in a browser)")


_FIGURES = {
    "figure1": "PN, uPU and nnPU on MNIST: a linear model and a perceptron.",
    "figure2": "PN, uPU and nnPU on the four data sets.",
    "figure3": "nnPU with a wrong prior.",
    "figure4": "Figure 1 with the zero-one loss added.",
}
#: A figure that shows runs of another one shares its folder.
_SHARED = {"figure3": "figure2", "figure4": "figure1"}


def _figure_command(name: str) -> click.Command:
    """Return the command of one of Figures 1 to 4; finished runs in its folder are kept."""

    @click.command(
        name,
        help=f"{_FIGURES[name]}\n\nThe same command resumes an interrupted run; finished parts "
        "are kept.",
        short_help=_FIGURES[name],
    )
    @_out_option(_SHARED.get(name, name), "runs, tables, pictures and claims")
    @click.option(
        "--dataset", "datasets", multiple=True, help=f"{_ONLY}. It can be given several times."
    )
    @click.option(
        "--samplings", type=click.IntRange(min=1), help="Random samplings.  [default: 10]"
    )
    @click.option(
        "--epochs", type=click.IntRange(min=1), help="Epochs of each run.  [default: 100]"
    )
    @click.option(
        "--glove",
        type=click.Choice(["300", "200", "100", "50"]),
        help="Length of the word vectors for 20 Newsgroups.  [default: 300]",
    )
    @click.option(
        "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs at once."
    )
    @click.option(
        "--reduced",
        is_flag=True,
        help="Figures 2 and 3, CIFAR-10: fewer P, U and test images and a greater step, for a CPU.",
    )
    @_fast_option
    @_seed_option
    @_json_option
    def command(out: Path, seed: int, jobs: int, as_json: bool, **choice: Any) -> None:
        from nnpu.report import risk_panel
        from nnpu_paper.claims import Claim
        from nnpu_paper.figures import FIGURES
        from nnpu_paper.runs import at_hand, run_all

        figure = FIGURES[name]
        chosen = _chosen(name, figure, **choice)
        folder = _folder(out, name, [name], [name])
        settings, missing = at_hand(chosen)
        rows = run_all(settings, out / "runs", seed=seed, jobs=jobs, verbose=1)
        panels = [
            risk_panel(
                [row for row in rows if row["setting"] == setting.name],
                [method.name for method in setting.methods],
                setting.title,
                loss=loss,
                training=figure.training,
                mark_best=figure.mark_best,
            )
            for setting in settings
            for loss in figure.losses
        ]
        claims = figure.judge(rows, settings) + [
            Claim(f"All claims about {panel}.", name.replace("figure", "Figure "), None, why)
            for panel, why in missing.items()
        ]
        outcome = Outcome(claims, {name: rows}, {name: panels}, {name: "The curves"})
        _deliver(folder, outcome, as_json=as_json)

    return command


def _chosen(
    name: str,
    figure: Figure,
    *,
    datasets: Sequence[str],
    samplings: int | None,
    epochs: int | None,
    glove: str | None,
    reduced: bool,
    fast: bool,
) -> list[Setting]:
    """The settings of a figure, shortened or narrowed as the options say."""
    from nnpu_paper.experiments import FAST, REDUCED

    if reduced and fast:
        raise click.UsageError("Choose one of --reduced and --fast.")
    names = sorted({setting.dataset for setting in figure.settings})
    for dataset in datasets:
        check_choice("--dataset", dataset, f"nnpu-paper {name}", names)
    settings = [each for each in figure.settings if each.dataset in (datasets or names)]
    if reduced:
        settings = [
            replace(each, **REDUCED[each.name]) for each in settings if each.name in REDUCED
        ]
        if not settings:
            raise click.UsageError(
                "--reduced belongs to figure2 and figure3 with --dataset cifar10; the others run "
                "in full."
            )
    chosen = []
    for setting in settings:
        if glove and setting.dataset == "20news":
            setting = replace(setting, model=f"word-average-{glove}")
        if fast:
            setting = setting.shortened(**FAST[setting.name])
        chosen.append(setting.shortened(samplings=samplings, epochs=epochs))
    return chosen


for _name in _FIGURES:
    cli.add_command(_figure_command(_name))


@cli.command()
@_out_option("table1", "the table and the claims")
@_json_option
def table1(out: Path, as_json: bool) -> None:
    """Measure every entry of Table 1: the losses and their properties."""
    from nnpu_paper.tables import table_1

    folder = _folder(out, "table1", ["table1"])
    rows, claims = table_1()
    _deliver(folder, Outcome(claims, {"table1": rows}), as_json=as_json)


@cli.command()
@_out_option("table2", "the table and the claims")
@click.option("--dataset", help=f"{_ONLY}.")
@_json_option
def table2(out: Path, dataset: str | None, as_json: bool) -> None:
    """Count what Table 2 lists: the data sets."""
    from nnpu_paper.tables import PRINTED_2, table_2

    if dataset is not None:
        check_choice("--dataset", dataset, "nnpu-paper table2", PRINTED_2)
    folder = _folder(out, "table2", ["table2"])
    rows, claims = table_2((dataset,) if dataset else tuple(PRINTED_2))
    _deliver(folder, Outcome(claims, {"table2": rows} if rows else {}), as_json=as_json)


@cli.command()
@_out_option("theory", "tables, pictures and claims")
@_fast_option
@_seed_option
@_json_option
def theory(out: Path, fast: bool, seed: int, as_json: bool) -> None:
    """Simulate every statement of Section 4."""
    from nnpu_paper import simulations
    from nnpu_paper.theory_pictures import PICTURES, theory_panels

    folder = _folder(out, "theory", simulations.TABLES, list(PICTURES))
    size = simulations.small_size() if fast else simulations.full_size()
    result = simulations.run(
        size, seed=seed, progress=lambda message: click.echo(f"... {message}", err=True)
    )
    pictures = theory_panels(result.tables)
    _deliver(folder, Outcome(result.claims, result.tables, pictures, PICTURES), as_json=as_json)


# Speed.

_CONTESTS = ("training", "mnist", "outofcore", "sparse", "processes", "epsilon")
_COLUMNS = {
    "ratio": ("ratio", 8, ".2f"),
    "processor_ratio": ("CPU", 8, ".2f"),
    "seconds": ("seconds", 10, ".2f"),
    "cpu_seconds": ("CPU s", 10, ".2f"),
    "rows_per_second": ("rows/s", 12, ","),
    "peak_mb": ("peak MB", 9, ","),
    "resident_mb": ("RSS MB", 9, ","),
}


@cli.command()
@click.argument("name", default="training", metavar=f"[{'|'.join(_CONTESTS)}]")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often each is measured.",
)
@click.option("--rows", type=click.IntRange(min=100), help="Fewer or more rows than by default.")
@click.option(
    "--authors",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="With mnist: a checkout of the authors' code, to be timed too (needs the data set).",
)
@click.option(
    "--authors-python",
    default="python",
    metavar="FILE",
    show_default=True,
    help="The interpreter for it, which has Chainer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the ratios as JSON.")
def bench(
    name: str,
    repeats: int,
    rows: int | None,
    authors: Path | None,
    authors_python: str,
    as_json: bool,
) -> None:
    """Compare our speed with the hardware's limit and with other ways.

    \b
    training   6-layer perceptron, 60,000 rows of 784 features, batches of 1,000
    mnist      the same in the batches of the paper's experiment, 30,000
    outofcore  400,000 rows of 2,000 features, disk and memory (6.4 GB of disk)
    sparse     1,000,000 rows of 100,000 features, 50 not zero (0.4 GB of disk)
    processes  two processes of one thread against one of two threads
    epsilon    generated text of epsilon's shape, from the file to the first epoch (20 GB of disk)
    """  # noqa: D301 (click reads the backspace)
    check_choice("NAME", name, "nnpu-paper bench", _CONTESTS)
    if authors is not None and name != "mnist":
        raise click.UsageError("--authors belongs to nnpu-paper bench mnist.")
    from nnpu_paper import speed

    if name == "outofcore":
        table = speed.measure_disk(rows or 400_000, repeats=repeats)
    elif name == "sparse":
        table = speed.measure_sparse(rows or 1_000_000, repeats=repeats)
    elif name == "epsilon":
        from nnpu_paper.generated import measure_epsilon

        table = measure_epsilon(rows or 400_000)
    elif name == "processes":
        table = speed.measure_processes(speed.Shape(n_rows=rows or 60_000), repeats=repeats)
    else:
        batch_size = 30_000 if name == "mnist" else 1_000
        shape = speed.Shape(n_rows=rows or 60_000, batch_size=batch_size)
        table = speed.measure_speed(shape, repeats=repeats)
    if authors is not None:
        table += speed.compare_with_authors(authors, authors_python, epochs=repeats)
    if as_json:
        click.echo(json.dumps(table))
        return
    columns = [(key, *column) for key, column in _COLUMNS.items() if key in table[0]]
    click.echo(" " * 42 + "".join(f"{head:>{width}}" for _, head, width, _ in columns))
    for row in table:
        cells = (
            f"{row[key]:>{width}{form}}" if key in row else " " * width
            for key, _, width, form in columns
        )
        click.echo(f"{row['what']:42}" + "".join(cells))
    if name == "epsilon":
        click.echo(
            "\nThe data are generated. The peak is anonymous memory in that phase: mapped files\n"
            "do not count. RSS is the highest resident size so far, with pages of mapped files."
        )
        return
    click.echo(
        "\nThe ratio is the time as a multiple of that of the line it belongs to (1.00); CPU is\n"
        "the same by the processor's clock. The peak is anonymous memory of the process: mapped\n"
        "files do not count."
    )
