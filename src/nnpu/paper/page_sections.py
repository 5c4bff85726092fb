"""The parts of a report on the paper: claims, curves, tables of results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nnpu.report.html.chart import charts
from nnpu.report.html.document import Section
from nnpu.report.html.markup import join, table, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nnpu.report.panels import Panel

__all__ = ["claims_section", "panels_section", "plain_math", "results_section"]


def claims_section(claims: Sequence[Mapping[str, Any]]) -> Section:
    """Return the verdicts on what was claimed.

    Parameters
    ----------
    claims : sequence of mappings
        With ``statement``, ``source``, ``held`` (None: not run) and ``figures``.
    """
    verdicts = {
        True: tag("span", "held", class_="held"),
        False: tag("span", "not held", class_="not-held"),
        None: "not run",
    }
    judged = [claim["held"] for claim in claims if claim["held"] is not None]
    rows = [
        [
            claim["statement"],
            verdicts[claim["held"]],
            claim["figures"],
            claim["source"],
        ]
        for claim in claims
    ]
    found = table("Claims and verdicts", ["Claim", "Verdict", "Figures", "Source"], rows)
    words = f"{sum(judged)} of {len(judged)} claims held."
    return Section("claims", "What was claimed, and what came out", join([tag("p", words), found]))


def panels_section(
    name: str, title: str, panels: Sequence[Panel], words: Sequence[str] = ()
) -> Section:
    """Return charts with sentences above them.

    Parameters
    ----------
    name, title : str
        Of the section.
    panels : sequence of Panel
        The charts.
    words : sequence of str
        The sentences.
    """
    text = [tag("p", sentence) for sentence in words]
    return Section(
        name, title, join([*text, charts([_without_marks(panel) for panel in panels], name)])
    )


def results_section(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str] = ()
) -> Section:
    """Return a table of results with sentences above it.

    Parameters
    ----------
    caption : str
        Of the table.
    head : sequence of str
        Names of its columns.
    rows : sequence of sequences of str
        Its cells.
    words : sequence of str
        The sentences.
    """
    text = [tag("p", sentence) for sentence in words]
    return Section("results", "The results", join([*text, table(caption, head, rows)]))


def _without_marks(panel: Panel) -> Panel:
    return replace(
        panel,
        title=plain_math(panel.title),
        x_label=plain_math(panel.x_label),
        y_label=plain_math(panel.y_label),
        curves=[replace(curve, label=plain_math(curve.label)) for curve in panel.curves],
    )


# What the panels of this package use of matplotlib's mathematical text.
_SYMBOLS = {
    r"\widetilde{R}": "R̃",
    r"\widehat{R}": "R̂",
    r"\widetilde{g}": "g̃",
    r"\alpha": "\u03b1",
    r"\beta": "β",
    r"\pi": "π",
    r"\propto": "∝",
    r"\sqrt": "√",
    r"\,": " ",
    r"\{": "(",
    r"\}": ")",
    "^2": "²",
    "^*": "*",
}


def plain_math(text: str) -> str:
    r"""Write the mathematical text of a picture without marks, for a page that has no such thing.

    >>> plain_math(r"at $|\widetilde{R}_{pu} - R|$ and $\propto 2\pi/\sqrt{n_p}$")
    'at |R̃_pu - R| and ∝ 2π/√n_p'
    """
    parts = text.split("$")
    for odd in range(1, len(parts), 2):
        for mark, symbol in _SYMBOLS.items():
            parts[odd] = parts[odd].replace(mark, symbol)
        parts[odd] = parts[odd].translate({ord("{"): None, ord("}"): None})
    return "".join(parts)
