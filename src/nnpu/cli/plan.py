"""``nnpu plan``: how precise a PU risk estimate will be, and what data to collect."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nnpu.cli._paths import Command, Result
from nnpu.cli._shared import as_share, draw
from nnpu.parameters import check_number
from nnpu.terminal import how_many, say

if TYPE_CHECKING:
    from pathlib import Path

    from nnpu.report import Panel
    from nnpu.theory import Plan

__all__ = ["plan"]


@click.command(cls=Command)
@click.option(
    "--prior",
    required=True,
    metavar="P|LOW-HIGH",
    help="Share of positives among the unlabelled rows: 0.3, 30%, or a range such as 30%-40%.",
)
@click.option("--n-p", "n_p", type=int, required=True, help="Labelled positives.")
@click.option("--n-u", "n_u", type=int, required=True, help="Unlabelled rows.")
@click.option("--n-n", "n_n", type=int, help="Negatives you could label instead.")
@click.option("--half-width", type=float, help="Precision you want, such as 0.05.")
@click.option("--estimate", type=float, help="An estimated risk, to print its range.")
@click.option("--delta", type=float, default=0.05, show_default=True, help="1 - confidence.")
@click.option(
    "--loss",
    default="zero_one",
    show_default=True,
    help="Loss whose risk is estimated; zero_one is the error rate.",
)
@click.option("--score-bound", type=float, help="Greatest |score|; needed for unbounded losses.")
@click.option(
    "--cost-ratio",
    type=float,
    default=1.0,
    show_default=True,
    help="What one labelled positive costs, in unlabelled rows.",
)
@click.option("--out", type=Result(pictures=True), help="Write a picture, OUT.png and .svg.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    prior: str,
    n_p: int,
    n_u: int,
    n_n: int | None,
    half_width: float | None,
    estimate: float | None,
    delta: float,
    loss: str,
    score_bound: float | None,
    cost_ratio: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Show how precise a PU risk estimate will be, and what data to collect.

    For the error rate of a classifier that was not trained on these rows, with positives and
    unlabelled rows drawn separately.
    """
    from nnpu.theory import loss_constants, plan_tables, simulated_half_width
    from nnpu.theory import plan as make_plan

    constants = loss_constants(loss, score_bound)
    result = make_plan(
        _prior(prior),
        n_p,
        n_u,
        n_n=n_n,
        loss_bound=constants.bound,
        delta=delta,
        half_width=half_width,
        cost_ratio=cost_ratio,
    )
    clip = 4.0 if score_bound is None else min(4.0, score_bound)
    simulated = simulated_half_width(
        result.assumed_prior, n_p, n_u, loss=loss, score_bound=clip, delta=delta
    )
    if out is not None:
        _draw(plan_tables(result, loss=loss, score_bound=clip), out)
    if as_json:
        more = {"simulated_half_width": simulated, "interval": _interval(result, estimate)}
        click.echo(json.dumps(asdict(result) | more, indent=2))
    else:
        say(*_lines(result, loss, simulated, estimate))
        if out is not None:
            say("", f"Picture: {_stem(out)}.png")


def _prior(text: str) -> float | tuple[float, float]:
    found: float | tuple[float, float] = as_share(text.replace(":", "-"), "--prior", "nnpu plan")
    return found


def _interval(result: Plan, estimate: float | None) -> tuple[float, float] | None:
    """The estimate with its guarantee, cut off where a risk cannot be."""
    if estimate is None:
        return None
    estimate = check_number("estimate", estimate, "nnpu plan", low=0)
    low, high = estimate - result.half_width, estimate + result.half_width
    return max(0.0, low), min(result.loss_bound, high)


def _stem(out: Path) -> Path:
    """The path without a picture's suffix, which `save_figure` adds."""
    return out.with_suffix("") if out.suffix in (".png", ".svg") else out


def _draw(tables: dict[str, list[dict[str, Any]]], out: Path) -> None:
    from nnpu.report import save_figure

    draw(save_figure, _panels(tables), _stem(out), columns=3)


def _panels(tables: dict[str, list[dict[str, Any]]]) -> list[Panel]:
    """Return three panels: precision by each sample size, and PN's break-even line."""
    from nnpu.report import Curve, Panel

    def curve(rows: list[dict[str, Any]], x: str, y: str, label: str, *look: Any) -> Curve:
        return Curve(label, [row[x] for row in rows], [row[y] for row in rows], None, *look)

    precision = [
        Panel(
            f"Precision against {label.split(',')[0]}",
            label,
            "half-width of the range",
            [
                curve(tables[name], "n", "half_width", "guaranteed", "blue"),
                curve(tables[name], "n", "simulated", "typical (simulated)", "orange", "dashed"),
            ],
            log_x=True,
            log_y=True,
            marks=[(row["n"], row["half_width"]) for row in tables[name] if row["now"]],
        )
        for name, label in (
            ("by_n_p", "labelled positives, $n_p$"),
            ("by_n_u", "unlabelled rows, $n_u$"),
        )
    ]
    against_pn = Panel(
        "PU is expected to beat PN below the line",
        "unlabelled rows, $n_u$",
        "negatives for PN, $n_n$",
        [curve(tables["pn"], "n_u", "break_even", "break-even", "black")],
        log_x=True,
        log_y=True,
    )
    return [*precision, against_pn]


def _lines(result: Plan, loss: str, simulated: float, estimate: float | None) -> list[str]:
    interval = _interval(result, estimate)
    known = f"  An estimate of {estimate:g} means a true value of " if interval else ""
    return [
        *_precision(result, loss, simulated),
        *([f"{known}{interval[0]:.4f} to {interval[1]:.4f}."] if interval else []),
        "",
        *_spending(result),
        "",
        *_against_pn(result),
    ]


def _precision(result: Plan, loss: str, simulated: float) -> list[str]:
    low, high = result.prior
    prior = f"{low:g}" if low == high else f"{low:g} to {high:g} (use {result.assumed_prior:g})"
    what = "error rate" if loss == "zero_one" else f"risk ({loss} loss)"
    lines = [
        f"Data: {how_many(result.n_p, 'labelled positive')}, "
        f"{how_many(result.n_u, 'unlabelled row')}, "
        f"share of positives {prior}.",
        "Assumed: the classifier was not trained on these rows, and the positives were drawn "
        "separately from the unlabelled rows.",
        "",
        "Precision",
        f"  The estimated {what} is within ±{result.half_width:.4f} of the true one with "
        f"probability {1 - result.delta:g}, whatever the data look like.",
    ]
    sampling = result.half_width - result.part_prior
    if result.part_prior:
        lines.append(
            f"  Of that, {result.part_prior:.4f} is due to not knowing the share of positives, "
            f"which no amount of data removes, and {sampling:.4f} to sampling."
        )
    lines.append(
        f"  In a simulated population with normal scores, sampling moved it by ±{simulated:.4f}: "
        f"the guarantee is {sampling / simulated:.1f} times as wide."
    )
    if result.half_width >= result.loss_bound:
        lines.append("  So wide a guarantee says nothing: collect more data first.")
    return lines


def _spending(result: Plan) -> list[str]:
    cost = "" if result.cost_ratio == 1 else f" (a positive costs {result.cost_ratio:g} rows)"
    lines = [
        "What to collect",
        f"  {100 * result.part_p:.0f} % of the sampling uncertainty comes from the positives, "
        f"{100 * result.part_u:.0f} % from the unlabelled rows.",
        f"  Spend next on: {result.spend_on}{cost}.",
    ]
    if result.purchase is None:
        return lines
    wanted = result.purchase
    lines.append(f"  For ±{wanted.half_width:g}:")
    if result.half_width <= wanted.half_width:
        return [*lines, "    nothing more: you have it already."]
    if wanted.n_p is None:
        return [*lines, "    not possible: the share of positives is not known well enough."]
    return [
        *lines,
        f"    positives alone:    {_count(wanted.n_p_alone, 'unlabelled rows')}",
        f"    unlabelled alone:   {_count(wanted.n_u_alone, 'positives')}",
        f"    cheapest{cost}: {wanted.n_p:,} positives and {wanted.n_u:,} unlabelled rows",
    ]


def _count(n: int | None, other: str) -> str:
    return f"{n:,} in total" if n is not None else f"no number is enough; the {other} limit it"


def _against_pn(result: Plan) -> list[str]:
    comparison = result.comparison
    low, high = comparison.break_even
    even = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    lines = [
        "Or label negatives instead?",
        f"  PU learning is expected to beat learning from positives and negatives as long as there "
        f"are fewer than about {even} negatives.",
    ]
    if comparison.n_n is not None:
        verdict = {
            True: "PU is expected to be better.",
            False: "labelling them is expected to be better.",
            None: "it depends on the share of positives.",
        }[comparison.pu_wins]
        lines.append(f"  With {comparison.n_n:,} negatives: {verdict}")
    return [
        *lines,
        "  This compares upper bounds of the error; in simulations it named the winner if there "
        "were four times more or four times fewer negatives than that, and was less reliable in "
        "between.",
    ]
