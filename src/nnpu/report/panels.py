"""Result tables as panels, for the report and for displays: drawn the same way in both."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.report.figure import Curve, Panel
from nnpu.report.prior_picture import ratio_panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from nnpu.prior import PriorEstimate

    Rows = Sequence[Mapping[str, float]]

__all__ = [
    "METRIC_NAMES",
    "calibration_panel",
    "metric_curves",
    "no_row_flagged",
    "prior_panel",
    "sample_panel",
    "score_panel",
    "threshold_panel",
]

METRIC_NAMES = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
_LOOKS: Mapping[str, tuple[str, Any]] = {
    "precision": ("blue", "solid"),
    "recall": ("green", "dotted"),
    "f1": ("purple", "dashed"),
}


def metric_curves(rows: Rows, x: ArrayLike) -> list[Curve]:
    """Return precision, recall and F1 of a threshold table against `x`, with their intervals.

    A share is drawn as far as it lies in [0, 1], and a precision of 0 / 0 not at all.
    """
    curves = []
    for name, (colour, style) in _LOOKS.items():
        values, low, high = (
            np.array([_share(row, f"{name}{end}") for row in rows]) for end in ("", "_low", "_high")
        )
        spread = [values - low, high - values]
        curves.append(Curve(METRIC_NAMES[name], x, values, spread, colour, style))
    return curves


def no_row_flagged(row: Mapping[str, float]) -> bool:
    """Return whether a threshold flags nothing, so that there is no precision."""
    return row["flagged"] == 0 and row["recall"] == 0


def _share(row: Mapping[str, float], name: str) -> float:
    value = row[name]
    if not math.isfinite(value) or (name.startswith("precision") and no_row_flagged(row)):
        return math.nan
    return min(max(value, 0.0), 1.0)


def threshold_panel(rows: Rows, threshold: float | None = None) -> Panel:
    """Draw a threshold table against the scores.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.threshold_table` returned.
    threshold : float, optional
        A threshold to mark.
    """
    return Panel(
        "What each threshold does",
        "threshold (score)",
        "estimate, with its 90 % interval",
        [*metric_curves(rows, [row["threshold"] for row in rows]), *_marked(threshold, 1.0)],
        y_range=(0.0, 1.02),
    )


def sample_panel(rows: Rows) -> Panel:
    """Draw how the scores of labelled and unlabelled rows are spread, by a score table."""
    return Panel(
        "Labelled and unlabelled rows",
        "score",
        "share of the rows",
        [
            _steps(rows, "labelled", "labelled", "blue", fill=True, relative=True),
            _steps(rows, "unlabelled", "unlabelled", "black", relative=True),
        ],
    )


def score_panel(rows: Rows, threshold: float | None = None) -> Panel:
    """Draw the unlabelled rows, split into estimated positives and negatives.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.score_table` returned.
    threshold : float, optional
        A threshold to mark.
    """
    most = max(row["unlabelled"] for row in rows)
    return Panel(
        "The unlabelled rows, split",
        "score",
        "rows",
        [
            _steps(rows, "positives", "estimated positives", "blue", fill=True),
            _steps(rows, "negatives", "the rest: negatives", "red", style="dashed"),
            _steps(rows, "unlabelled", "all unlabelled", "black"),
            *_marked(threshold, most),
        ],
    )


def _marked(threshold: float | None, height: float) -> list[Curve]:
    if threshold is None:
        return []
    return [Curve("threshold", [threshold, threshold], [0, height], None, "grey", "dashed")]


def _steps(
    rows: Rows, column: str, label: str, colour: str, *, relative: bool = False, **how: Any
) -> Curve:
    edges = np.array([row["low"] for row in rows] + [rows[-1]["high"]])
    heights: NDArray[np.float64] = np.array([row[column] for row in rows], dtype=float)
    if relative:
        heights = heights / heights.sum()
    x, y = np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return Curve(label, x, y, None, colour, **how)


def calibration_panel(rows: Rows) -> Panel:
    """Draw predicted probabilities against the share of positives.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.reliability_table` returned.
    """
    seen = [row for row in rows if np.isfinite(row["share"])]
    share, low, high = (
        np.clip([row[name] for row in seen], 0, 1) for name in ("share", "share_low", "share_high")
    )
    points = Curve(
        "a tenth of the rows, with its 90 % interval",
        [row["probability"] for row in seen],
        share,
        [share - low, high - share],
        "blue",
        "points",
    )
    return Panel(
        "Predicted and estimated",
        "mean predicted probability",
        "estimated share of positives",
        [Curve("perfect", [0, 1], [0, 1], None, "grey", "dotted"), points],
        y_range=(0.0, 1.02),
    )


def prior_panel(estimate: PriorEstimate, n_p: int, n_u: int) -> Panel:
    """Draw q_u / q_p, which tends to the share of positives among the unlabelled rows.

    Parameters
    ----------
    estimate : PriorEstimate
        With its curve.
    n_p, n_u : int
        The numbers of rows that it was made from, or of rows in the same proportion.
    """
    assert estimate.curve is not None
    labelled = n_p / (n_p + n_u)

    def of_unlabelled(share: float) -> float:
        if estimate.sampling == "two-sample":
            return share
        return max((share - labelled) / (1 - labelled), 0.0)

    return ratio_panel(
        estimate.curve.q_p,
        estimate.curve.ratio,
        value=of_unlabelled(estimate.value),
        low=of_unlabelled(estimate.low),
        high=of_unlabelled(estimate.high),
    )
