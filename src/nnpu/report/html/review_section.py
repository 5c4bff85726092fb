"""The section of a report on what a person's answers say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.report.html.chart import charts
from nnpu.report.html.document import Section
from nnpu.report.html.markup import join, table, tag
from nnpu.report.panels import Curve, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nnpu.review import Audit

__all__ = ["review_section"]

_COLOURS = {"precision": "blue", "recall": "orange", "accuracy": "green"}
_FIGURES = ("prior", *_COLOURS)


def review_section(
    audit: Audit, curve: Sequence[Audit], believed: Mapping[str, float], lines: Sequence[str]
) -> Section:
    """Return the section: each figure from the answers beside what was believed, and curves.

    Parameters
    ----------
    audit : Audit
        At the model's threshold.
    curve : sequence of Audit
        At other thresholds.
    believed : mapping of str to float
        The PU estimates.
    lines : sequence of str
        What else there is to say, a sentence each.

    Examples
    --------
    >>> from nnpu.review import Audit, Estimate
    >>> found = Audit(*[Estimate(0.5, 0.4, 0.6, 100)] * 4, None, 0.5, 100, 0)
    >>> review_section(found, [found], {"prior": 0.7}, []).title
    'What a person said'
    """
    width = audit.expected(50)
    rows = [
        [
            name,
            _words(figure.value),
            f"{figure.low:.3f} to {figure.high:.3f}",
            f"{believed[name]:.3f}" if name in believed else "",
            f"± {width[name] / 2:.3f}",
        ]
        for name, figure in ((name, getattr(audit, name)) for name in _FIGURES)
    ]
    if audit.precision_unlabelled is not None:
        figure = audit.precision_unlabelled
        interval = f"{figure.low:.3f} to {figure.high:.3f}"
        rows.append(["precision, unlabelled rows", _words(figure.value), interval, "", ""])
    head = ["Figure", "From the answers", "90 % interval", "PU estimate", "After 50 more"]
    words = (
        f"{audit.answered:,} rows that were drawn by chance were answered. The intervals follow "
        "from the draw alone: they hold whatever the model is and however labels came about."
    )
    body = [tag("p", words), table("Figures from the answers", head, rows)]
    body += [tag("p", line) for line in lines]
    return Section("review", "What a person said", join([*body, charts([_panel(curve)], "review")]))


def _words(value: float) -> str:
    return "none flagged" if np.isnan(value) else f"{value:.3f}"


def _panel(curve: Sequence[Audit]) -> Panel:
    x = np.array([found.threshold for found in curve])
    lines = []
    for name, colour in _COLOURS.items():
        figures = [getattr(found, name) for found in curve]
        y = np.array([figure.value for figure in figures])
        ends = [
            [figure.value - figure.low for figure in figures],
            [figure.high - figure.value for figure in figures],
        ]
        there = ~np.isnan(y)  # no row is flagged beyond the highest probability
        lines.append(Curve(name, x[there], y[there], np.array(ends)[:, there], colour))
    title = "What each threshold does, from the answers, with 90 % intervals"
    return Panel(title, "threshold (probability)", "estimate", lines, y_range=(0.0, 1.02))
