"""``nnpu reproduce``: the paper's figures, tables and statements, and whether each claim holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nnpu.parameters import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nnpu.experiments.claims import Claim

__all__ = ["reproduce"]


@dataclass(frozen=True)
class Options:
    """What every target is told.

    Parameters
    ----------
    fast : bool
        A smaller run, in seconds.
    seed : int
        Seed of everything random.
    progress : callable
        Prints a line about what comes next.
    """

    fast: bool
    seed: int
    progress: Callable[[str], None]


def run_theory(out: Path, options: Options) -> list[Claim]:
    """Simulate Section 4: tables, pictures and a page of claims in `out`."""
    from nnpu.experiments.tables import write_table
    from nnpu.experiments.theory import full_size, run, small_size
    from nnpu.report import save_figure
    from nnpu.report.theory import theory_panels

    size = small_size() if options.fast else full_size()
    result = run(size, seed=options.seed, progress=options.progress)
    for name, rows in result.tables.items():
        write_table(out / f"{name}.csv", rows)
    options.progress("pictures")
    for name, panels in theory_panels(result.tables).items():
        save_figure(panels, out / name, columns=3 if len(panels) == 3 else 2)
    return result.claims


_TARGETS: Mapping[str, Callable[[Path, Options], list[Claim]]] = {"theory": run_theory}


@click.command()
@click.argument("target", metavar="|".join(_TARGETS))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for tables, pictures and claims.  [default: nnpu-reproduce/TARGET]",
)
@click.option("--fast", is_flag=True, help="A smaller run, in seconds.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the simulation.")
@click.option("--json", "as_json", is_flag=True, help="Print the claims as JSON.")
def reproduce(target: str, out: Path | None, fast: bool, seed: int, as_json: bool) -> None:
    """Reproduce TARGET of the paper and say for each claim whether it held.

    theory: every statement of Section 4 against a simulation in which all risks are known.
    """
    from nnpu.experiments.claims import as_dicts, as_lines, as_markdown
    from nnpu.files import write_text

    target = check_choice("TARGET", target, "nnpu reproduce", _TARGETS)
    folder = out or Path("nnpu-reproduce") / target
    options = Options(fast, seed, lambda message: click.echo(f"... {message}", err=True))
    claims = _TARGETS[target](folder, options)
    write_text(folder / "claims.md", as_markdown(f"Claims: {target}", claims))
    write_text(folder / "claims.json", json.dumps(as_dicts(claims), indent=2) + "\n")
    if as_json:
        result = {"target": target, "out": str(folder), "claims": as_dicts(claims)}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo("\n".join(as_lines(claims)))
    held = sum(claim.held for claim in claims)
    click.echo(f"\n{held} of {len(claims)} claims held. Tables and pictures: {folder}")
