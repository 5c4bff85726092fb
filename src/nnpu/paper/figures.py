"""Figures 1 to 4: which settings each shows, and what is claimed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nnpu.paper.presets import FIGURE_1, FIGURE_2, FIGURE_3
from nnpu.paper.verdicts import (
    Curves,
    judge_figure_1,
    judge_figure_2,
    judge_figure_3,
    judge_figure_4,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nnpu.paper.claims import Claim
    from nnpu.paper.settings import Setting

    Rows = Sequence[Mapping[str, Any]]

__all__ = ["FIGURES", "Figure"]


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Parameters
    ----------
    settings : tuple of Setting
        One per panel, or per pair of panels.
    judge : callable
        From the table's rows and the settings that were run to the claims.
    losses : tuple of str
        The curves to draw: of the surrogate loss ("risk"), of the zero-one loss ("zero_one").
    training : bool
        Whether training risks are drawn.
    mark_best : bool
        Whether the best mean test risks are marked.
    """

    settings: tuple[Setting, ...]
    judge: Callable[[Rows, Sequence[Setting]], list[Claim]]
    losses: tuple[str, ...] = ("risk",)
    training: bool = True
    mark_best: bool = False


def _illustration(judge: Callable[[Curves, Curves], list[Claim]]) -> Any:
    def judge_rows(rows: Rows, settings: Sequence[Setting]) -> list[Claim]:
        return judge(*(Curves(rows, setting.name) for setting in settings))

    return judge_rows


def _figure_2(rows: Rows, settings: Sequence[Setting]) -> list[Claim]:
    claims = []
    for setting in settings:
        curves, better = Curves(rows, setting.name), setting.name != "20news"
        claims += judge_figure_2(curves, setting.title, better_than_pn=better)
    return claims


def _figure_3(rows: Rows, settings: Sequence[Setting]) -> list[Claim]:
    claims = []
    for setting in settings:
        names = {method.prior_factor: method.name for method in setting.methods}
        claims += judge_figure_3(Curves(rows, setting.name), names, setting.name, setting.title)
    return claims


FIGURES: Mapping[str, Figure] = {
    "figure1": Figure(FIGURE_1, _illustration(judge_figure_1)),
    "figure2": Figure(FIGURE_2, _figure_2, ("zero_one",)),
    "figure3": Figure(FIGURE_3, _figure_3, ("zero_one",), training=False, mark_best=True),
    "figure4": Figure(FIGURE_1, _illustration(judge_figure_4), ("risk", "zero_one")),
}
