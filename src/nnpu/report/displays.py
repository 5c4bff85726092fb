"""Panels drawn by matplotlib: as files, as figures, and as displays in scikit-learn's manner.

Matplotlib (extra ``plot``) is imported when something is drawn.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from nnpu.extras import need
from nnpu.files import atomic_path
from nnpu.metrics import reliability_table, score_table, threshold_grid, threshold_table
from nnpu.parameters import InputError, ParameterError, check_count
from nnpu.prior import estimate_prior
from nnpu.report.panels import (
    COLOURS,
    calibration_panel,
    prior_panel,
    score_panel,
    threshold_panel,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from nnpu.prior import PriorEstimate
    from nnpu.report.panels import Panel

__all__ = [
    "PUCalibrationDisplay",
    "PriorDisplay",
    "ScoreDisplay",
    "ThresholdDisplay",
    "draw_figure",
    "draw_panel",
    "save_figure",
]

_DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "points": "none", "band": "none"}
# No date in the file: the same table gives the same bytes.
_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def save_figure(
    panels: Sequence[Panel],
    path: str | os.PathLike[str],
    *,
    columns: int = 2,
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw the panels in a grid and write one file per format; return their paths.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw, row by row.
    path : path-like
        The file without its suffix: ``out/figure1`` gives ``out/figure1.png`` and ``.svg``.
    columns : int, default=2
        Panels in a row.
    formats : sequence of str
        Suffixes that matplotlib knows.

    Examples
    --------
    >>> import tempfile
    >>> from nnpu.report import Curve, Panel
    >>> panel = Panel("Risk", "epoch", "risk", [Curve("nnPU", [1, 2, 3], [0.5, 0.3, 0.2])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure([panel], f"{folder}/risk")]
    ['risk.png', 'risk.svg']
    """
    need("matplotlib", extra="plot", owner="save_figure")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = _grid(panels, columns, "save_figure")
    with rc_context({"svg.hashsalt": "nnpu", "font.size": 9}):  # a fixed salt: fixed names
        figure = Figure(figsize=(4.6 * size[1], 3.4 * size[0]), layout="constrained")
        FigureCanvasAgg(figure)
        _draw_panels(panels, figure, size)
        written = []
        for suffix in formats:
            target = Path(f"{os.fspath(path)}.{suffix}")
            with atomic_path(target) as temporary:
                figure.savefig(temporary, dpi=150, metadata=_UNDATED.get(suffix))
            written.append(target)
    return written


def draw_figure(panels: Sequence[Panel], *, columns: int = 2) -> Figure:
    """Draw the panels in a grid on a new figure of pyplot, which a notebook shows by itself.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw, row by row.
    columns : int, default=2
        Panels in a row.

    Examples
    --------
    >>> from nnpu.report import Curve, Panel
    >>> panel = Panel("Risk", "epoch", "risk", [Curve("nnPU", [1, 2, 3], [0.5, 0.3, 0.2])])
    >>> len(draw_figure([panel]).axes)
    1
    """
    need("matplotlib", extra="plot", owner="draw_figure")
    import matplotlib.pyplot as plt

    size = _grid(panels, columns, "draw_figure")
    figure = plt.figure(figsize=(4.6 * size[1], 3.4 * size[0]), layout="constrained")
    _draw_panels(panels, figure, size)
    return figure


def _grid(panels: Sequence[Panel], columns: int, owner: str) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    columns = min(check_count("columns", columns, owner), len(panels))
    if not panels:
        raise ParameterError(
            f"The 'panels' parameter of {owner} must hold at least one Panel. Got none instead."
        )
    return -(-len(panels) // columns), columns


def _draw_panels(panels: Sequence[Panel], figure: Figure, size: tuple[int, int]) -> None:
    axes = np.atleast_1d(np.asarray(figure.subplots(*size))).ravel()
    for panel, ax in zip(panels, axes, strict=False):
        draw_panel(panel, ax)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()


def draw_panel(panel: Panel, ax: Axes) -> None:
    """Draw a panel on axes of matplotlib."""
    for curve in panel.curves:
        x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        colour = COLOURS[curve.colour]
        marker = "o" if curve.style == "points" or len(x) == 1 else ""
        ax.plot(
            x,
            y,
            label=curve.label or None,
            color=colour,
            linestyle=_DASHES[curve.style],
            marker=marker,
            markersize=3,
            linewidth=1.5,
        )
        if curve.fill:
            ax.fill_between(x, 0, y, color=colour, alpha=0.15, linewidth=0)
        if curve.spread is not None:
            low, high = curve.limits()
            if curve.style == "points":
                ax.errorbar(x, y, (y - low, high - y), fmt="none", ecolor=colour, elinewidth=1)
            else:
                ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    for x_mark, y_mark in panel.marks:
        ax.axvline(x_mark, color=COLOURS["grey"], linewidth=0.6, linestyle=":")
        ax.axhline(y_mark, color=COLOURS["grey"], linewidth=0.6, linestyle=":")
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    if panel.x_ticks:
        ax.set_xticks(*zip(*panel.x_ticks, strict=True))
    if panel.y_range is not None:
        ax.set_ylim(*panel.y_range)
    ax.set_title(panel.title, fontsize=10)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    ax.grid(alpha=0.25, linewidth=0.5)
    ax.spines[["top", "right"]].set_visible(False)
    if any(curve.label for curve in panel.curves):
        ax.legend(fontsize=8, frameon=False)


class _Scored(NamedTuple):
    """Rows as an estimator sees them."""

    classifier: Any
    s: NDArray[np.int8]
    scores: NDArray[np.float32]


class _Display(ABC):
    """What all displays share: they draw a panel.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes, Figure
        After `plot`.
    """

    ax_: Any
    figure_: Any

    @abstractmethod
    def _panel(self) -> Panel: ...

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; by default on new axes.

        Returns
        -------
        self
        """
        need("matplotlib", extra="plot", owner=type(self).__name__)
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        draw_panel(self._panel(), ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class _ScoreTableDisplay(_Display):
    """A display of a table of scores, with a threshold to mark."""

    def __init__(self, rows: Sequence[dict[str, float]], *, threshold: float | None = None) -> None:
        self.rows = rows
        self.threshold = threshold

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, s: Any = None, *, ax: Any = None, plot: bool = True
    ) -> Self:
        """Show a fitted classifier; see `from_predictions`.

        Parameters
        ----------
        estimator : classifier or TablePU
            Fitted; its prior, sampling and threshold are used.
        X, s
            Rows that it was not fitted to, and their PU labels. A `TablePU` has kept rows aside:
            they are the default.
        ax, plot
            As in `from_predictions`.
        """
        found = _scored(estimator, X, s)
        classifier = found.classifier
        show: Any = cls.from_predictions  # type: ignore[attr-defined]
        return show(  # type: ignore[no-any-return]
            found.s,
            found.scores,
            prior=classifier.prior_,
            sampling=classifier.sampling,
            threshold=classifier.threshold_,
            ax=ax,
            plot=plot,
        )


class ThresholdDisplay(_ScoreTableDisplay):
    """Precision, recall and F1 against the threshold, with 90 % ranges.

    Parameters
    ----------
    rows : list of dict
        What `nnpu.metrics.threshold_table` returned.
    threshold : float, optional
        A threshold to mark.

    Examples
    --------
    >>> from nnpu.report import ThresholdDisplay
    >>> s, scores = [1, 1, 0, 0, 0, 0], [3.0, 1.0, 2.0, 0.0, -1.0, -2.0]
    >>> display = ThresholdDisplay.from_predictions(s, scores, prior=0.25, plot=False)
    >>> float(display.rows[0]["recall"])
    1.0
    """

    @classmethod
    def from_predictions(
        cls,
        s: Any,
        scores: Any,
        *,
        prior: float,
        sampling: str = "two-sample",
        threshold: float | None = None,
        ax: Any = None,
        plot: bool = True,
    ) -> Self:
        """Show scores.

        Parameters
        ----------
        s, scores : array-like of shape (n,)
            PU labels and scores of rows that the model was not fitted to.
        prior, sampling
            As in `nnpu.metrics`.
        threshold : float, optional
            A threshold to mark.
        ax : matplotlib Axes, optional
            Where to draw.
        plot : bool, default=True
            Whether to draw now.
        """
        also = float(np.median(scores)) if threshold is None else threshold
        cuts = threshold_grid(s, scores, also=also)
        rows = threshold_table(s, scores, cuts, prior=prior, sampling=sampling)
        display = cls(rows, threshold=threshold)
        return display.plot(ax) if plot else display

    def _panel(self) -> Panel:
        return threshold_panel(self.rows, self.threshold)


class ScoreDisplay(_ScoreTableDisplay):
    """Histogram of the unlabelled rows' scores, split into estimated positives and negatives.

    Parameters
    ----------
    rows : list of dict
        What `nnpu.metrics.score_table` returned.
    threshold : float, optional
        A threshold to mark.

    Examples
    --------
    >>> from nnpu.report import ScoreDisplay
    >>> s, scores = [1, 1, 0, 0, 0, 0], [3.0, 1.5, 3.0, 1.5, 1.5, 0.0]
    >>> display = ScoreDisplay.from_predictions(s, scores, prior=0.5, bins=3, plot=False)
    >>> [row["positives"] for row in display.rows]
    [0.0, 1.0, 1.0]
    """

    @classmethod
    def from_predictions(
        cls,
        s: Any,
        scores: Any,
        *,
        prior: float,
        sampling: str = "two-sample",
        threshold: float | None = None,
        bins: int | None = None,
        ax: Any = None,
        plot: bool = True,
    ) -> Self:
        """Show scores; parameters as in `ThresholdDisplay.from_predictions`.

        Parameters
        ----------
        s, scores, prior, sampling, threshold, ax, plot
            As there.
        bins : int, optional
            As in `nnpu.metrics.score_table`.
        """
        rows = score_table(s, scores, prior=prior, sampling=sampling, bins=bins)
        display = cls(rows, threshold=threshold)
        return display.plot(ax) if plot else display

    def _panel(self) -> Panel:
        return score_panel(self.rows, self.threshold)


class PUCalibrationDisplay(_Display):
    """Predicted probabilities against the share of positives that P and U show.

    Parameters
    ----------
    rows : list of dict
        What `nnpu.metrics.reliability_table` returned.

    Examples
    --------
    >>> from nnpu.report import PUCalibrationDisplay
    >>> s = [1, 1, 1, 1] + [0] * 8
    >>> probabilities = [0.1, 0.9, 0.9, 0.9] + [0.1] * 5 + [0.9] * 3
    >>> display = PUCalibrationDisplay.from_predictions(
    ...     s, probabilities, prior=0.5, bins=2, plot=False
    ... )
    >>> [round(row["share"], 2) for row in display.rows]
    [0.2, 1.0]
    """

    def __init__(self, rows: Sequence[dict[str, float]]) -> None:
        self.rows = rows

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, s: Any = None, *, ax: Any = None, plot: bool = True
    ) -> Self:
        """Show a fitted classifier; parameters as in `ThresholdDisplay.from_estimator`."""
        found = _scored(estimator, X, s)
        classifier = found.classifier
        return cls.from_predictions(
            found.s,
            classifier.calibration_(found.scores),
            prior=classifier.prior_,
            sampling=classifier.sampling,
            ax=ax,
            plot=plot,
        )

    @classmethod
    def from_predictions(
        cls,
        s: Any,
        probabilities: Any,
        *,
        prior: float,
        sampling: str = "two-sample",
        bins: int = 10,
        ax: Any = None,
        plot: bool = True,
    ) -> Self:
        """Show probabilities.

        Parameters
        ----------
        s, probabilities : array-like of shape (n,)
            PU labels and P(y = +1 | x) of rows that the model was not fitted to.
        prior, sampling, bins
            As in `nnpu.metrics.reliability_table`.
        ax, plot
            As in `ThresholdDisplay.from_predictions`.
        """
        rows = reliability_table(s, probabilities, prior=prior, sampling=sampling, bins=bins)
        display = cls(rows)
        return display.plot(ax) if plot else display

    def _panel(self) -> Panel:
        return calibration_panel(self.rows)


class PriorDisplay(_Display):
    """The curve behind an estimate of the prior, with its value and its range.

    Parameters
    ----------
    estimate : PriorEstimate
        With its curve.
    n_p, n_u : int
        The numbers of labelled and unlabelled rows that it was made from.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.report import PriorDisplay
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [300, 1000])
    >>> scores = np.r_[rng.normal(3, 1, 300), rng.normal(3, 1, 300), rng.normal(-3, 1, 700)]
    >>> display = PriorDisplay.from_predictions(s, scores, random_state=0, plot=False)
    >>> bool(abs(display.estimate.value - 0.3) < 0.1)
    True
    """

    def __init__(self, estimate: PriorEstimate, n_p: int, n_u: int) -> None:
        self.estimate = estimate
        self.n_p = n_p
        self.n_u = n_u

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, s: Any = None, *, ax: Any = None, plot: bool = True
    ) -> Self:
        """Show the estimate of a classifier that was fitted with ``prior="auto"``.

        Parameters
        ----------
        estimator : classifier or TablePU
            Fitted.
        X, s
            Rows and PU labels in the proportion of those of `fit`; a `TablePU` needs none.
        ax, plot
            As in `ThresholdDisplay.from_predictions`.
        """
        estimate = estimator.prior_estimate_
        if estimate is None or estimate.curve is None:
            raise InputError(
                "PriorDisplay.from_estimator needs a classifier that estimated its prior "
                "(prior='auto'); for one with a given prior use from_predictions."
            )
        if s is None and hasattr(estimator, "n_labelled_"):
            n_p, n_u = estimator.n_labelled_, estimator.n_unlabelled_
        else:
            codes = _scored(estimator, X, s).s
            n_p, n_u = int(np.sum(codes == 1)), int(np.sum(codes == 0))
        display = cls(estimate, n_p, n_u)
        return display.plot(ax) if plot else display

    @classmethod
    def from_predictions(
        cls,
        s: Any,
        scores: Any,
        *,
        sampling: str = "two-sample",
        random_state: Any = None,
        ax: Any = None,
        plot: bool = True,
    ) -> Self:
        """Estimate the prior from scores and show it.

        Parameters
        ----------
        s, scores : array-like of shape (n,)
            PU labels and scores of rows that the model was not fitted to.
        sampling : {"two-sample", "one-sample"}
            How the data came about.
        random_state
            As in `nnpu.estimate_prior`.
        ax, plot
            As in `ThresholdDisplay.from_predictions`.
        """
        codes, values = np.asarray(s), np.asarray(scores, dtype=np.float64)
        x_p, x_u = values[codes == 1], values[codes == 0]
        estimate = estimate_prior(x_p, x_u, sampling=sampling, random_state=random_state)
        display = cls(estimate, len(x_p), len(x_u))
        return display.plot(ax) if plot else display

    def _panel(self) -> Panel:
        return prior_panel(self.estimate, self.n_p, self.n_u)


def _scored(estimator: Any, X: Any, s: Any) -> _Scored:
    """Score rows, or take those that a table's model has set aside."""
    holdout = getattr(estimator, "holdout_", None)
    classifier = getattr(estimator, "classifier_", estimator)
    if X is None and holdout is not None:
        return _Scored(classifier, holdout.s, holdout.scores)
    if X is None or s is None:
        raise InputError(
            "This display needs rows and PU labels, X and s: the estimator has not kept any."
        )
    if hasattr(estimator, "classifier_"):
        found = estimator.evaluate(X, s)
        return _Scored(classifier, found.s, found.scores)
    scores, codes = estimator._scored(X, s)
    return _Scored(estimator, codes, scores)
