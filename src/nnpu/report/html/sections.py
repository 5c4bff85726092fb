"""The parts of a report: result tables in, sentences, tables and charts out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.report.figure import Curve, Panel
from nnpu.report.html.chart import chart, charts
from nnpu.report.html.document import Section
from nnpu.report.html.markup import Html, join, table, tag
from nnpu.report.html.words import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "calibration_section",
    "data_section",
    "metrics_section",
    "prior_section",
    "scores_section",
    "training_section",
]

_MOST_COLUMNS = 200  # a table of thousands would be all that the page is


def data_section(
    facts: Mapping[str, str], remarks: Sequence[str], columns: Sequence[tuple[str, str]] = ()
) -> Section:
    """Return the data at a glance.

    Parameters
    ----------
    facts : mapping of str to str
        The figures to see first, by what they count.
    remarks : sequence of str
        Sentences about them: the sampling, the prior.
    columns : sequence of (name, what was done) pairs
        Of the table.
    """
    tiles = (
        tag("div", tag("dt", name), tag("dd", value), class_="tile")
        for name, value in facts.items()
    )
    parts = [tag("dl", *tiles, class_="tiles"), *(tag("p", remark) for remark in remarks)]
    if columns:
        left_out = len(columns) - _MOST_COLUMNS
        rest = [("…", f"and {left_out:,} more")] if left_out > 0 else []
        listed = table(
            "What was done with each column",
            ["Column", "Treatment"],
            [*columns[:_MOST_COLUMNS], *rest],
            class_="text",
        )
        summary = tag("summary", f"Columns ({len(columns):,})")
        parts.append(tag("details", summary, listed, open=len(columns) <= 12))
    return Section("data", "The data at a glance", join(parts))


def metrics_section(
    rows: Sequence[tuple[str, float, float, float, str]], remarks: Sequence[str] = ()
) -> Section:
    """Return the metrics at the model's own threshold.

    Parameters
    ----------
    rows : sequence of (name, value, low, high, meaning)
        The estimates with their 90 % intervals, and what they are.
    remarks : sequence of str
        Sentences below them.
    """
    cells = [
        [join([name, tag("small", meaning)]), f"{value:.3f}", f"{low:.3f} to {high:.3f}"]
        for name, value, low, high, meaning in rows
    ]
    caption = "Estimates at the model's own threshold"
    figures = table(caption, ["Metric", "Estimate", "90 % interval"], cells, class_="stacked")
    words = (tag("p", remark) for remark in remarks)
    return Section("metrics", "How good the model is", join([figures, *words]))


def training_section(history: Sequence[Mapping[str, float]], *, beta: float = 0.0) -> Section:
    """Return the risk curves, so that one sees what nnPU does.

    Parameters
    ----------
    history : sequence of mappings
        A row per epoch: ``train_risk``, ``train_zero_one``, ``train_positive`` (π R̂_p⁺),
        ``train_negative`` (r), ``corrected``, and the same as ``valid_…`` if rows were held out.
    beta : float
        β, for the words.
    """
    epochs = np.arange(1, len(history) + 1)

    def curve(column: str, label: str, colour: str, style: Any = "solid") -> list[Curve]:
        if column not in history[0]:
            return []
        return [Curve(label, epochs, [row[column] for row in history], None, colour, style)]

    def both(column: str, label: str, colour: str) -> list[Curve]:
        of = f"{label}, " if label else ""
        return [
            *curve(f"train_{column}", f"{of}training", colour),
            *curve(f"valid_{column}", f"{of}held out", colour, "dashed"),
        ]

    limit = "0" if beta == 0 else f"−{number(beta)}"
    panels = [
        Panel("The risk that is minimised", "epoch", "PU risk", both("risk", "", "blue")),
        Panel(
            "The risk of a wrong answer", "epoch", "zero-one PU risk", both("zero_one", "", "blue")
        ),
        Panel(
            "Its two parts",
            "epoch",
            "part of the risk",
            [*both("positive", "π R⁺", "green"), *both("negative", "r", "red")],
        ),
        Panel(
            f"Steps with r below {limit}",
            "epoch",
            "share of the epoch's steps",
            curve("corrected", "corrected steps", "purple"),
            y_range=(0.0, 1.0),
        ),
    ]
    shares = [row["corrected"] for row in history if "corrected" in row]
    corrected = (
        f" Here that was so in {100 * np.mean(shares):.0f} % of all steps." if shares else ""
    )
    words = (
        "The risk has two parts: π R⁺, the cost of missing positives, and r, the estimated cost of "
        "false alarms. The true cost of false alarms cannot be negative; when its estimate r falls "
        f"below {limit} on a batch, the network has begun to learn that batch by heart, and nnPU "
        f"takes a step back along r instead of a step forward.{corrected}"
    )
    gap = (
        "Where the training risk keeps falling and the held-out risk rises, the network overfits; "
        "fewer epochs are better then."
    )
    return Section(
        "training",
        "The training",
        join([tag("p", words), charts(panels, "training"), tag("p", gap)]),
    )


def scores_section(rows: Sequence[Mapping[str, float]], *, marker: bool = True) -> Section:
    """Return the histograms of P and U, and U split into its two parts.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.score_table` returned.
    marker : bool
        Whether the threshold of the explorer is shown in the charts.
    """
    edges = np.array([row["low"] for row in rows] + [rows[-1]["high"]])

    def steps(column: str, label: str, colour: str, **how: Any) -> Curve:
        heights = np.array([row[column] for row in rows], dtype=float)
        if how.pop("relative", False):
            heights = heights / heights.sum()
        x, y = np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
        return Curve(label, x, y, None, colour, **how)

    samples = Panel(
        "Labelled and unlabelled rows",
        "score",
        "share of the rows",
        [
            steps("labelled", "labelled", "blue", fill=True, relative=True),
            steps("unlabelled", "unlabelled", "black", relative=True),
        ],
    )
    parts = Panel(
        "The unlabelled rows, split",
        "score",
        "rows",
        [
            steps("positives", "estimated positives", "blue", fill=True),
            steps("negatives", "the rest: negatives", "red", style="dashed"),
            steps("unlabelled", "all unlabelled", "black"),
        ],
    )
    words = (
        "Left: how the scores of labelled and of unlabelled rows are spread. Right: positives "
        "without a label should score as those with one, so that the labelled rows, scaled to the "
        "prior, show where the hidden positives are; what is left are negatives. Where the rest "
        "falls below zero in a bin, that is chance; where it does so in many bins beside each "
        "other, the prior is too large or the labelled rows are no random part of the positives. "
        "The outermost bins also hold what lies beyond them."
    )
    pictures = tag(
        "div",
        chart(samples, "scores-1", marker=marker),
        chart(parts, "scores-2", marker=marker),
        class_="charts",
    )
    dashed = "The dashed vertical line is the threshold that is set above." if marker else ""
    return Section("scores", "The scores", join([pictures, tag("p", words), tag("p", dashed)]))


def prior_section(message: str, panel: Panel | None = None) -> Section:
    """Return what is known about the prior.

    Parameters
    ----------
    message : str
        The estimate in words, or that it was given.
    panel : Panel, optional
        What `nnpu.report.prior.ratio_panel` made.
    """
    if panel is None:
        return Section("prior", "The prior", tag("p", message))
    words = (
        "For every threshold the curve compares how many unlabelled and how many labelled rows lie "
        "above it. Far to the left only the highest scores are left. If nearly all of those are "
        "positive, the curve is flat there, and its height is the share of positives among the "
        "unlabelled rows: the estimate. Where it still falls, the true share may be lower."
    )
    picture = tag("div", chart(panel, "prior-1"), class_="charts")
    return Section(
        "prior",
        "The prior",
        tag("div", picture, tag("div", tag("p", message), tag("p", words)), class_="beside"),
    )


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
    seen = [row for row in rows if np.isfinite(row["share"])]
    panel = Panel(
        "Predicted and estimated",
        "mean predicted probability",
        "estimated share of positives",
        [
            Curve("perfect", [0, 1], [0, 1], None, "grey", "dotted"),
            Curve(
                "a tenth of the rows, with its 90 % interval",
                [row["probability"] for row in seen],
                [row["share"] for row in seen],
                [(row["share_high"] - row["share_low"]) / 2 for row in seen],
                "blue",
                "points",
            ),
        ],
    )
    sign = "−" if intercept < 0 else "+"
    words = (
        "Each point is a group of rows with similar predicted probability. If probabilities are "
        "right, the points lie on the dotted line, but for chance: among rows with a probability "
        "of 0.7 about seven in ten are positive. The heights are estimates from labelled and "
        "unlabelled rows under the prior, and can leave the range from 0 to 1."
    )
    formula = (
        f"probability = 1 / (1 + exp(−z)) with z = {number(slope)} · score {sign} "
        f"{number(abs(intercept))}."
    )
    text = [tag("p", words), tag("p", formula), tag("p", remark) if remark else Html()]
    picture = tag("div", chart(panel, "calibration-1"), class_="charts")
    return Section(
        "calibration", "The probabilities", tag("div", picture, tag("div", *text), class_="beside")
    )
