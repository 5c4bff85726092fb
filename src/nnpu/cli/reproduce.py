"""``nnpu reproduce``: the paper's figures, tables and statements, and whether each claim holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nnpu import __version__
from nnpu.cli._output import draw
from nnpu.cli._paths import Command
from nnpu.cli._shared import report_option, seed_option
from nnpu.parameters import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nnpu.paper.claims import Claim
    from nnpu.paper.figures import Figure
    from nnpu.paper.settings import Setting
    from nnpu.report import Panel
    from nnpu.report.html import Page

__all__ = ["reproduce"]


@dataclass(frozen=True)
class Options:
    """What every target is told.

    Parameters
    ----------
    fast : bool
        A smaller run.
    seed : int
        Seed of everything random.
    progress : callable
        Prints a line about what comes next.
    dataset : str or None
        Of the panels of a figure, only those of this data set.
    samplings, epochs : int or None
        In place of the setting's own.
    glove : int or None
        Length of the word vectors for 20 Newsgroups in place of 300.
    jobs : int
        Runs under way at once.
    """

    fast: bool
    seed: int
    progress: Callable[[str], None]
    dataset: str | None = None
    samplings: int | None = None
    epochs: int | None = None
    glove: int | None = None
    jobs: int = 1


@dataclass(frozen=True)
class Outcome:
    """What came out of a target.

    Parameters
    ----------
    claims : list of Claim
        The verdicts.
    panels : mapping of str to panels
        The pictures by their titles.
    """

    claims: list[Claim]
    panels: Mapping[str, Sequence[Panel]] = field(default_factory=dict)


def run_theory(out: Path, options: Options) -> Outcome:
    """Simulate Section 4: tables, pictures and a page of claims in `out`."""
    from nnpu.paper.results import write_results
    from nnpu.paper.simulations import full_size, run, small_size
    from nnpu.paper.theory_pictures import theory_panels
    from nnpu.report import save_figure

    size = small_size() if options.fast else full_size()
    result = run(size, seed=options.seed, progress=options.progress)
    for name, rows in result.tables.items():
        write_results(out / f"{name}.csv", rows)
    options.progress("pictures")
    pictures = theory_panels(result.tables)
    for name, panels in pictures.items():
        draw(save_figure, panels, out / name, columns=3 if len(panels) == 3 else 2)
    return Outcome(result.claims, {_PICTURES[name]: panels for name, panels in pictures.items()})


_PICTURES = {
    "lemma1": "Lemma 1: how often r is negative",
    "theorem2_bias": "Theorem 2: the bias",
    "theorem2_deviation": "Theorem 2: the deviation",
    "theorem2_rate": "Theorem 2: the rate",
    "theorem3": "Theorem 3: the mean squared error",
    "theorem4": "Theorem 4: the estimation error",
    "section2": "Section 2: when PU beats PN",
}


def run_figure(name: str) -> Callable[[Path, Options], Outcome]:
    """Return what runs one of Figures 1 to 4; finished runs in `out` are not run again."""

    def run(out: Path, options: Options) -> Outcome:
        from nnpu.paper.claims import Claim
        from nnpu.paper.figures import FIGURES
        from nnpu.paper.results import write_results
        from nnpu.paper.runner import at_hand, run_all
        from nnpu.report import risk_panel, save_figure

        figure = FIGURES[name]
        settings, missing = at_hand(_chosen(figure, options))
        rows = run_all(settings, out / "runs", seed=options.seed, jobs=options.jobs, verbose=1)
        write_results(out / f"{name}.csv", rows)
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
        draw(save_figure, panels, out / name)
        claims = figure.judge(rows, settings) + [
            Claim(f"All claims about {panel}.", name.replace("figure", "Figure "), None, why)
            for panel, why in missing.items()
        ]
        return Outcome(claims, {"The curves": panels})

    return run


def _chosen(figure: Figure, options: Options) -> list[Setting]:
    """The settings of a figure, shortened or narrowed as the options say."""
    from nnpu.paper.presets import FAST

    names = sorted({setting.dataset for setting in figure.settings})
    if options.dataset is not None:
        check_choice("--dataset", options.dataset, "nnpu reproduce", names)
    chosen = []
    for setting in figure.settings:
        if options.dataset in (None, setting.dataset):
            if options.glove and setting.dataset == "20news":
                setting = replace(setting, model=f"word-average-{options.glove}")
            if options.fast:
                setting = setting.shortened(**FAST[setting.name])
            chosen.append(setting.shortened(samplings=options.samplings, epochs=options.epochs))
    return chosen


def run_table_1(out: Path, options: Options) -> Outcome:
    """Check every entry of Table 1."""
    from nnpu.paper.printed_tables import table_1
    from nnpu.paper.results import write_results

    rows, claims = table_1()
    write_results(out / "table1.csv", rows)
    return Outcome(claims)


def run_table_2(out: Path, options: Options) -> Outcome:
    """Count what Table 2 lists."""
    from nnpu.paper.printed_tables import table_2
    from nnpu.paper.results import write_results

    rows, claims = table_2(*(((options.dataset,),) if options.dataset else ()))
    if rows:
        write_results(out / "table2.csv", rows)
    return Outcome(claims)


_TARGETS: Mapping[str, Callable[[Path, Options], Outcome]] = {
    "figure1": run_figure("figure1"),
    "figure2": run_figure("figure2"),
    "figure3": run_figure("figure3"),
    "figure4": run_figure("figure4"),
    "table1": run_table_1,
    "table2": run_table_2,
    "theory": run_theory,
}


#: A figure that shows runs of another one shares its folder.
_SHARED = {"figure3": "figure2", "figure4": "figure1"}


@click.command(cls=Command)
@click.argument("target", metavar="|".join(_TARGETS))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for tables, pictures and claims.  [default: nnpu-reproduce/TARGET]",
)
@click.option("--dataset", help="Only the panel of this data set: mnist, epsilon, 20news, cifar10.")
@click.option("--samplings", type=click.IntRange(min=1), help="Random samplings.  [default: 10]")
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs of each run.  [default: 100]")
@click.option(
    "--glove",
    type=click.Choice(["300", "200", "100", "50"]),
    help="Length of the word vectors for 20 Newsgroups.  [default: 300]",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs at once."
)
@click.option("--fast", is_flag=True, help="A minute-scale version.")
@seed_option
@report_option("TARGET-report.html in that folder")
@click.option("--json", "as_json", is_flag=True, help="Print the claims as JSON.")
def reproduce(
    target: str,
    out: Path | None,
    dataset: str | None,
    samplings: int | None,
    epochs: int | None,
    glove: str | None,
    jobs: int,
    fast: bool,
    seed: int,
    report: Path | None,
    as_json: bool,
) -> None:
    """Reproduce TARGET of the paper and say for each claim whether it held.

    A run that was interrupted goes on with the same command: what is finished stays.
    """
    from nnpu.files import write_text
    from nnpu.paper.claims import as_dicts, as_lines, as_markdown

    target = check_choice("TARGET", target, "nnpu reproduce", _TARGETS)
    folder = out or Path("nnpu-reproduce") / _SHARED.get(target, target)
    options = Options(
        fast,
        seed,
        lambda message: click.echo(f"... {message}", err=True),
        dataset,
        samplings,
        epochs,
        int(glove) if glove else None,
        jobs,
    )
    outcome = _TARGETS[target](folder, options)
    claims = outcome.claims
    write_text(folder / f"{target}-claims.md", as_markdown(f"Claims: {target}", claims))
    write_text(folder / f"{target}-claims.json", json.dumps(as_dicts(claims), indent=2) + "\n")
    page = _page(target, outcome).save(report or folder / f"{target}-report.html")
    if as_json:
        result = {"target": target, "out": str(folder), "claims": as_dicts(claims)}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo("\n".join(as_lines(claims)))
    judged = [claim for claim in claims if claim.held is not None]
    held = sum(claim.held is True for claim in judged)
    click.echo(f"\n{held} of {len(judged)} claims held. Tables and pictures: {folder}")
    click.echo(f"Report: {page} (opens in a browser)")


def _page(target: str, outcome: Outcome) -> Page:
    from nnpu.paper.claims import as_dicts
    from nnpu.paper.page_sections import claims_section, panels_section
    from nnpu.report.html import Page

    pictures = [
        panels_section(f"picture-{number}", title, panels)
        for number, (title, panels) in enumerate(outcome.panels.items(), start=1)
    ]
    return Page(
        f"Reproduction: {target}",
        "What the paper claims, and whether a run of it bore it out.",
        [claims_section(as_dicts(outcome.claims)), *pictures],
        f"nnpu {__version__}: nnpu reproduce {target}",
    )
