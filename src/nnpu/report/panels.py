"""What a picture shows: panels of curves, and those that result tables make.

A page draws them as SVG (`nnpu.report.charts`), matplotlib on its axes (`nnpu.report.displays`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nnpu.parameters import InputError, check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from nnpu.prior import PriorEstimate

    Rows = Sequence[Mapping[str, float]]

__all__ = [
    "COLOURS",
    "METRIC_NAMES",
    "Curve",
    "Panel",
    "calibration_panel",
    "curve_panel",
    "mean_and_spread",
    "metric_curves",
    "no_row_flagged",
    "prior_panel",
    "risk_panel",
    "sample_panel",
    "score_panel",
    "sensitivity_panels",
    "threshold_panel",
]

#: Okabe and Ito's palette: told apart by colour-blind readers and in print.
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "grey": "#777777",
    "black": "#000000",
}
STYLES = ("solid", "dashed", "dotted", "points", "band")
METRIC_NAMES = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
_LOOKS: Mapping[str, tuple[str, Any]] = {
    "precision": ("blue", "solid"),
    "recall": ("green", "dotted"),
    "f1": ("purple", "dashed"),
}


@dataclass(frozen=True)
class Curve:
    """One line of a panel.

    Parameters
    ----------
    label : str
        Name in the legend; empty for none.
    x, y : array-like
        The points.
    spread : array-like, optional
        Half the width of a band around `y`, such as a standard deviation; or two rows, how far
        the band reaches below and above `y`.
    colour : str
        One of blue, orange, green, red, purple, sky, grey, black.
    style : {"solid", "dashed", "dotted", "points", "band"}
        How it is drawn; the spread of points is an error bar, and a band is nothing but spread.
    fill : bool
        Whether the area between the line and zero is filled.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    spread: ArrayLike | None = None
    colour: str = "blue"
    style: Literal["solid", "dashed", "dotted", "points", "band"] = "solid"
    fill: bool = False

    def __post_init__(self) -> None:
        check_choice("colour", self.colour, "Curve", COLOURS)
        check_choice("style", self.style, "Curve", STYLES)

    def limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper end of the band; both are `y` if there is none."""
        y = np.asarray(self.y, dtype=float)
        spread = np.asarray(0.0 if self.spread is None else self.spread, dtype=float)
        below, above = spread if spread.ndim == 2 else (spread, spread)
        return y - below, y + above


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title, x_label, y_label : str
        What it shows.
    curves : sequence of Curve
        The lines.
    log_x, log_y : bool
        Logarithmic axes.
    y_range : tuple of float, optional
        Limits of the vertical axis.
    marks : sequence of (x, y) pairs
        Points to single out: a thin cross-hair through each.
    x_ticks : sequence of (x, text) pairs
        In place of numbers along the horizontal axis.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None
    marks: Sequence[tuple[float, float]] = ()
    x_ticks: Sequence[tuple[float, str]] = ()


def metric_curves(rows: Rows, x: ArrayLike) -> list[Curve]:
    """Return precision, recall and F1 of a threshold table against `x`, with their ranges.

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
    """Return whether a threshold flags nothing, which leaves precision undefined."""
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
        "estimate, with its 90 % range",
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
        "a tenth of the rows, with its 90 % range",
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


_POINTS = 500  # a curve of every score would make a picture of megabytes


def prior_panel(estimate: PriorEstimate, n_p: int, n_u: int) -> Panel:
    """Draw q_u / q_p against q_p, the share of positives above a threshold.

    The ratio is at least the share of positives among the unlabelled rows, up to chance, and
    equals it where no negative scores as high: on a plateau at the left.

    Parameters
    ----------
    estimate : PriorEstimate
        With its curve.
    n_p, n_u : int
        The numbers of rows that it was made from, or of rows in the same proportion.
    """
    assert estimate.curve is not None
    labelled = n_p / (n_p + n_u) if estimate.sampling == "one-sample" else 0.0
    value, low, high = (
        max((share - labelled) / (1 - labelled), 0.0)  # from P ∪ U to U
        for share in (estimate.value, estimate.low, estimate.high)
    )
    x, y = np.asarray(estimate.curve.q_p), np.asarray(estimate.curve.ratio)
    shown = np.unique(np.linspace(0, len(x) - 1, min(_POINTS, len(x))).round().astype(int))
    middle, half = (low + high) / 2, (high - low) / 2
    return Panel(
        "Unlabelled rows above a threshold, relative to labelled",
        "share of labelled rows above the threshold, q_p",
        "q_u / q_p",
        [
            Curve("q_u / q_p", x[shown], y[shown]),
            Curve("estimate, with its 90 % range", [0, 1], [value, value], colour="green"),
            Curve("", [0, 1], [middle, middle], [half, half], colour="green", style="band"),
        ],
        y_range=(0.0, 1.05),
    )


_ESTIMATES = {"accuracy": "blue", "precision": "orange", "recall": "green"}


def sensitivity_panels(rows: Sequence[Mapping[str, float]]) -> list[Panel]:
    """Draw the estimates with their 90 % ranges, and the predictions, against assumed priors.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.estimators.sensitivity` returned.

    Returns
    -------
    list of Panel
        For `save_figure`.

    Examples
    --------
    >>> metrics = ("accuracy", "precision", "recall")
    >>> row = {name + end: 0.9 for name in metrics for end in ("", "_low", "_high")}
    >>> rows = [row | {"assumed_prior": p, "share_flagged": p, "agreement": 1} for p in (0.2, 0.3)]
    >>> [panel.title for panel in sensitivity_panels(rows)]
    ['Estimates as if the prior were right', 'Predictions']
    """
    if not rows:
        raise InputError("sensitivity_panels needs the rows of a table; there are none.")
    column = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    prior = column["assumed_prior"]
    estimates = [
        Curve(
            name,
            prior,
            column[name],
            (column[f"{name}_high"] - column[f"{name}_low"]) / 2,
            colour,
        )
        for name, colour in _ESTIMATES.items()
    ]
    predictions = [
        Curve("share predicted positive", prior, column["share_flagged"], None, "purple"),
        Curve("the assumed prior", prior, prior, None, "grey", "dashed"),
        Curve("agreement with the base prior", prior, column["agreement"], None, "black"),
    ]
    return [
        Panel(
            "Estimates as if the prior were right", "assumed prior", "PU estimate (90 %)", estimates
        ),
        Panel("Predictions", "assumed prior", "share of the population", predictions),
    ]


# Experiments: tidy tables with the columns method, curve, epoch, sampling, value.

_CYCLE = ("blue", "red", "green", "purple", "orange", "sky", "black")
_METHOD_CYCLE = {"PN": "blue", "uPU": "orange", "nnPU": "green"}


def mean_and_spread(
    rows: Iterable[Mapping[str, Any]], method: str, curve: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return epochs, means and standard deviations over the samplings of one curve.

    >>> rows = [dict(method="nnPU", curve="test_risk", epoch=1, value=v) for v in (0.1, 0.3)]
    >>> [values.round(2).tolist() for values in mean_and_spread(rows, "nnPU", "test_risk")]
    [[1.0], [0.2], [0.1]]
    """
    values: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row["method"] == method and row["curve"] == curve:
            values[int(row["epoch"])].append(float(row["value"]))
    epochs = sorted(values)
    means = np.array([np.mean(values[epoch]) for epoch in epochs])
    spreads = np.array([np.std(values[epoch]) for epoch in epochs])
    return np.array(epochs, dtype=float), means, spreads


def risk_panel(
    rows: Sequence[Mapping[str, Any]],
    methods: Sequence[str],
    title: str,
    *,
    loss: str = "risk",
    training: bool = True,
    mark_best: bool = False,
) -> Panel:
    """Draw the test risk of each method, and its training risk dashed, against the epoch.

    Parameters
    ----------
    rows : sequence of mappings
        Columns method, curve, epoch, sampling, value.
    methods : sequence of str
        Which to draw.
    title : str
        Above the panel.
    loss : {"risk", "zero_one"}
        The surrogate loss or the zero-one loss.
    training : bool
        Whether training risks are drawn too.
    mark_best : bool
        Whether the lowest mean test risk of each method is marked, as in Figure 3.

    Examples
    --------
    >>> rows = [
    ...     dict(method="nnPU", curve="test_risk", epoch=e, sampling=0, value=v)
    ...     for e, v in enumerate([0.5, 0.2, 0.3], start=1)]
    >>> panel = risk_panel(rows, ["nnPU"], "MNIST", training=False, mark_best=True)
    >>> [curve.label for curve in panel.curves], panel.marks
    (['nnPU'], [(2.0, 0.2)])
    """
    curves, marks = [], []
    for test in _of_methods(rows, methods, f"test_{loss}"):
        curves.append(test)
        if mark_best:
            x, y = np.asarray(test.x), np.asarray(test.y)
            best = int(np.argmin(y))
            marks.append((float(x[best]), float(y[best])))
        if training:
            epochs, means, _ = mean_and_spread(rows, test.label, f"train_{loss}")
            label = f"{test.label}, training"
            curves.append(Curve(label, epochs, means, None, test.colour, "dashed"))
    name = "zero-one loss" if loss == "zero_one" else "sigmoid loss"
    return Panel(title, "epoch", f"risk ({name})", curves, marks=marks)


def curve_panel(
    rows: Sequence[Mapping[str, Any]],
    methods: Sequence[str],
    curve: str,
    title: str,
    y_label: str,
) -> Panel:
    """Draw one curve of each method against the epoch.

    Parameters
    ----------
    rows : sequence of mappings
        Columns method, curve, epoch, sampling, value.
    methods : sequence of str
        Which to draw.
    curve : str
        Which curve: ``"train_negative"`` is r, ``"corrected"`` the share of corrected steps.
    title, y_label : str
        Above the panel, and along its vertical axis.

    Examples
    --------
    >>> rows = [dict(method="nnPU", curve="corrected", epoch=e, value=0.1 * e) for e in (1, 2)]
    >>> panel = curve_panel(rows, ["nnPU"], "corrected", "Corrected steps", "share")
    >>> panel.curves[0].label, panel.curves[0].y.tolist()
    ('nnPU', [0.1, 0.2])
    """
    return Panel(title, "epoch", y_label, list(_of_methods(rows, methods, curve)))


def _of_methods(
    rows: Sequence[Mapping[str, Any]], methods: Sequence[str], curve: str
) -> Iterator[Curve]:
    """Yield the mean curve of each method, with a band if the samplings differ."""
    for method, fallback in zip(methods, itertools.cycle(_CYCLE), strict=False):
        epochs, means, spreads = mean_and_spread(rows, method, curve)
        band = spreads if np.any(spreads > 0) else None
        yield Curve(method, epochs, means, band, _METHOD_CYCLE.get(method, fallback))
