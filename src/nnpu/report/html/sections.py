"""The parts of a report: result tables in, sentences, tables and charts out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nnpu.report.html.chart import chart
from nnpu.report.html.document import Section
from nnpu.report.html.markup import Html, join, number, table, tag
from nnpu.report.panels import Curve, Panel, calibration_panel, sample_panel, score_panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ColumnFate",
    "calibration_section",
    "columns_section",
    "labels_section",
    "metrics_section",
    "prior_section",
    "scores_section",
    "training_section",
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
    return Section("metrics", "How good the model is", join([figures, *words_below]))


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def training_section(history: Sequence[Mapping[str, float]], *, beta: float = 0.0) -> Section:
    """Return the risk of each epoch, folded: few readers need it.

    Parameters
    ----------
    history : sequence of mappings
        A row per epoch: ``train_risk``, ``corrected``, and ``valid_risk`` if rows were held out.
    beta : float
        β, for the words.
    """
    epochs = np.arange(1, len(history) + 1)
    risks = [row["train_risk"] for row in history]
    curves = [Curve("training", epochs, risks)]
    if "valid_risk" in history[0]:
        held_out = [row["valid_risk"] for row in history]
        curves.append(Curve("held out", epochs, held_out, style="dashed"))
    limit = "0" if beta == 0 else f"−{number(beta)}"
    shares = [row["corrected"] for row in history if "corrected" in row]
    corrected = (
        f"In {100 * np.mean(shares):.0f} % of all steps the estimated cost of false alarms fell "
        f"below {limit}, a sign that the network was learning the batch by heart; nnPU then takes "
        "a step back instead of a step forward."
        if shares
        else ""
    )
    gap = (
        "Where the training risk keeps falling and the held-out risk rises, the network overfits; "
        "fewer epochs are better then."
    )
    panel = Panel("The risk that is minimised", "epoch", "PU risk", curves)
    inside = tag(
        "div",
        tag("div", chart(panel, "training-1"), class_="charts"),
        tag("div", tag("p", gap), tag("p", corrected) if corrected else ""),
        class_="beside",
    )
    summary = tag("summary", f"Training curve ({len(history):,} epochs)")
    return Section("training", "The training", tag("details", summary, inside))


def scores_section(rows: Sequence[Mapping[str, float]], *, marker: bool = True) -> Section:
    """Return the histograms of P and U, and U split into its two parts.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.score_table` returned.
    marker : bool
        Whether the threshold of the explorer is shown in the charts.
    """
    words = (
        "The first chart compares the scores of labelled and unlabelled rows. The second splits "
        "the unlabelled rows: positives without a label should score like those with one, so the "
        "labelled rows, scaled to the share of positives, show where the hidden ones are, and what "
        "is left is negative. A bin where the rest falls below zero is chance; many such bins next "
        "to each other mean that the share is too large, or that the labelled rows are not a "
        "random part of the positives. The outermost bins also hold what lies beyond them."
    )
    pictures = tag(
        "div",
        chart(sample_panel(rows), "scores-1", marker=marker),
        chart(score_panel(rows), "scores-2", marker=marker),
        class_="charts",
    )
    if marker:
        words += " The dashed vertical line is the threshold that is set above."
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
        What `nnpu.report.panels.ratio_panel` made.
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


def labels_section(message: str) -> Section:
    """Return what the test of labels given at random says."""
    return Section("labels", "Who was labelled", tag("p", message))


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
