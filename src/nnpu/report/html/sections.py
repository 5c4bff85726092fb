"""The parts of a report: result tables in, sentences, tables and charts out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from nnpu.report.html.chart import chart
from nnpu.report.html.document import Section
from nnpu.report.html.markup import Html, join, number, table, tag
from nnpu.report.panels import Panel, calibration_panel, sample_panel, score_panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nnpu.hidden import Estimate, Hidden

__all__ = [
    "ColumnFate",
    "calibration_section",
    "columns_section",
    "hidden_section",
    "labels_section",
    "metrics_section",
    "prior_section",
    "scores_section",
]

_MOST_COLUMNS = 200  # a table of thousands would be all that the page is


class ColumnFate(NamedTuple):
    """What became of a column: its treatment, and cells missing or unseen where counted."""

    name: str
    treatment: str
    missing: int | None = None
    unseen: int | None = None


def columns_section(columns: Sequence[ColumnFate], remarks: Sequence[str] = ()) -> Section:
    """Return what was done with each column.

    Parameters
    ----------
    columns : sequence of ColumnFate
        In the order of the table.
    remarks : sequence of str
        Sentences about them.
    """
    counted = {
        "Missing": [column.missing for column in columns],
        "New or rare values": [column.unseen for column in columns],
    }
    counted = {head: found for head, found in counted.items() if any(x is not None for x in found)}
    lines = [
        [
            column.name,
            column.treatment,
            *("–" if found[i] is None else f"{found[i]:,}" for found in counted.values()),
        ]
        for i, column in enumerate(columns[:_MOST_COLUMNS])
    ]
    left_out = len(columns) - _MOST_COLUMNS
    if left_out > 0:
        lines.append(["…", f"and {left_out:,} more", *("" for _ in counted)])
    head = ["Column", "Treatment", *counted]
    listed = table("What was done with each column", head, lines, class_="text")
    summary = tag("summary", f"All columns ({len(columns):,})")
    words = [tag("p", remark) for remark in remarks]
    folded = tag("details", summary, listed, open=len(columns) <= 12)
    return Section("columns", "The columns", join([*words, folded]))


def metrics_section(
    rows: Sequence[tuple[str, float, float, float, str]],
    remarks: Sequence[str] = (),
    *,
    known: bool = True,
) -> Section:
    """Return the metrics at the model's own threshold.

    Parameters
    ----------
    rows : sequence of (name, value, low, high, meaning)
        The estimates with their 90 % intervals, and what they are; a value of NaN means that no
        row is predicted positive.
    remarks : sequence of str
        Sentences below them.
    known : bool
        Whether the prior is known; if not, the range comes first.
    """
    cells = []
    for name, value, low, high, meaning in rows:
        first = join([name, tag("small", meaning)])
        words = [_figure(value), f"{_figure(low)} to {_figure(high)}"]
        if math.isnan(value):
            words = ["–", "no row is predicted positive"]
        cells.append([first, *(words if known else words[::-1])])
    head = ["Estimate", "90 % interval"] if known else ["Range", "At the best guess"]
    caption = "Estimates at the model's own threshold"
    figures = table(caption, ["Metric", *head], cells, class_="stacked")
    words_below = (tag("p", remark) for remark in remarks)
    summary = tag("summary", "Accuracy, precision, recall of labelled and unlabelled rows together")
    folded = tag("details", summary, figures, *words_below)
    return Section("metrics", "All rows, if labels were given at random", folded)


def hidden_section(hidden: Hidden, sizes: Sequence[int], *, audited: bool = False) -> Section:
    """Return how many unlabelled rows are positive, and how high they rank.

    Parameters
    ----------
    hidden : Hidden
        Of an `Evaluation`.
    sizes : sequence of int
        The lengths of the list to speak of.
    audited : bool
        Whether a review gave the figures.
    """
    beside = not (audited or hidden.contradicted or hidden.label_bias == 1)

    def count(share: Estimate, of: int) -> str:
        value, low, high = (f"{round(min(max(end, 0), 1) * of):,}" for end in share)
        return value if low == high else f"{value} ({low} to {high})"

    def percent(share: Estimate) -> str:
        return f"{100 * share.low:.0f} to {100 * share.high:.0f}\u00a0%"

    head = ["Unlabelled rows", "Positive", "Of all hidden positives"]
    lines = [[f"the first {n:,}", count(hidden.top(n), n), percent(hidden.found(n))] for n in sizes]
    lines.append([f"all {hidden.rows:,}", count(hidden.share, hidden.rows), "100\u00a0%"])
    if beside:
        head.append("Positive, if labels were given at random")
        random = hidden.at_random
        for line, n in zip(lines, [*sizes, hidden.rows], strict=True):
            share = random.share if n == hidden.rows else random.top(n)
            line.append(count(share, n))
    words = "The figures come from the answers of a review, with 90\u00a0% intervals."
    if not audited:
        words = (
            "Whoever gave the labels may have found the clearest cases first, so that the hidden "
            "positives stand out less than the labelled ones. The 90\u00a0% ranges allow for as "
            "much of that as was measured on genuine problems. A person's answers to thirty rows "
            "narrow them."
        )
        if hidden.label_bias == 1:
            words = "These figures hold if labels were given at random among the positives."
    found = table("Positives among the unlabelled rows", head, lines, class_="stacked")
    return Section("hidden", "The unlabelled rows", join([tag("p", words), found]))


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def scores_section(rows: Sequence[Mapping[str, float]]) -> Section:
    """Return the histograms of P and U, and U split into its two parts.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.score_table` returned.
    """
    words = (
        "The first chart compares the scores of labelled and unlabelled rows. The second splits "
        "the unlabelled rows: positives without a label should score like those with one, so the "
        "labelled rows, scaled to the share of positives, show where the hidden ones are, and what "
        "is left is negative. A bin where the rest falls below zero is chance; many such bins next "
        "to each other mean that the share is too large, or that the labelled rows are not a "
        "random part of the positives. The outermost bins also hold what lies beyond them. The "
        "dashed vertical line is the threshold that is set above."
    )
    pictures = tag(
        "div",
        chart(sample_panel(rows), "scores-1", marker=True),
        chart(score_panel(rows), "scores-2", marker=True),
        class_="charts",
    )
    return Section("scores", "The scores", join([pictures, tag("p", words)]))


def prior_section(
    message: str, panel: Panel | None = None, scenarios: Html | None = None
) -> Section:
    """Return what is known about the prior, and what hangs on it.

    Parameters
    ----------
    message : str
        The estimate in words, or that it was given.
    panel : Panel, optional
        What `nnpu.report.panels.prior_panel` made.
    scenarios : Html, optional
        What `scenarios_table` made.
    """
    parts = [tag("p", message)]
    if panel is not None:
        words = (
            "For every threshold the curve compares how many unlabelled and how many labelled rows "
            "lie above it; the highest thresholds are at the left end of the axis. If nearly all "
            "rows above them are positive, the curve is flat there, and its height is the share of "
            "positives among the unlabelled rows. Where it still falls, the true share may be "
            "lower."
        )
        picture = tag("div", chart(panel, "prior-1"), class_="charts")
        text = tag("div", tag("p", message), tag("p", words))
        parts = [tag("div", picture, text, class_="beside")]
    if scenarios is not None:
        parts += [tag("p", _HANGS), scenarios]
    return Section("prior", "The share of positives", join(parts))


_HANGS = (
    "All figures rest on this share, also called the prior, and labelled and unlabelled rows alone "
    "cannot prove it. Precision is proportional to it; recall does not depend on it. The table "
    "says what the same model is worth under another share; it follows the slider above."
)


def labels_section(message: str, suspects: Sequence[str] = ()) -> Section:
    """Return what is known of who was labelled.

    Parameters
    ----------
    message : str
        What the test of labels given at random says; may be empty.
    suspects : sequence of str
        Columns in which labelled rows differ most from the likeliest unlabelled ones.
    """
    parts = [tag("p", "In the rows that the model was fitted to: ", message)] if message else []
    if suspects:
        words = (
            "Labelled rows differ most from the unlabelled rows at the top of the list in: "
            f"{', '.join(suspects)}. If one of these columns decided who got a label, name it "
            "(--labelled-by)."
        )
        parts.append(tag("p", words))
    return Section("labels", "Who was labelled", join(parts))


def calibration_section(
    rows: Sequence[Mapping[str, float]], *, slope: float, intercept: float, remark: str = ""
) -> Section:
    """Return how far predicted probabilities are to be believed.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.reliability_table` returned.
    slope, intercept : float
        Of the calibration.
    remark : str
        Which rows these are.
    """
    sign = "−" if intercept < 0 else "+"
    words = (
        "Each point is a group of rows with similar predicted probability. If probabilities are "
        "right, the points lie on the dotted line, up to chance: among rows with a probability of "
        "0.7 about seven in ten are positive. The heights are estimates from labelled and "
        "unlabelled rows, drawn as far as they lie between 0 and 1."
    )
    formula = (
        f"probability = 1 / (1 + exp(−z)) with z = {number(slope)} · score {sign} "
        f"{number(abs(intercept))}."
    )
    text = [tag("p", words), tag("p", formula), tag("p", remark) if remark else Html()]
    picture = tag("div", chart(calibration_panel(rows), "calibration-1"), class_="charts")
    return Section(
        "calibration", "The probabilities", tag("div", picture, tag("div", *text), class_="beside")
    )
