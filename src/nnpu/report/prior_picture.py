"""The picture behind an estimate of the prior: q_u / q_p and its plateau."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.report.figure import Curve, Panel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["ratio_panel"]

_POINTS = 500  # a curve of every score would make a picture of megabytes


def ratio_panel(
    q_p: ArrayLike, ratio: ArrayLike, *, value: float, low: float, high: float
) -> Panel:
    """Draw q_u / q_p against q_p, the share of positives above the threshold.

    The ratio is at least the share of positives among the unlabelled rows, up to chance, and
    equals it where no negative scores as high: on a plateau at the left.

    Parameters
    ----------
    q_p, ratio : array-like of shape (m,)
        The curve.
    value, low, high : float
        The estimated share of positives among the unlabelled rows, and its interval.

    Examples
    --------
    >>> panel = ratio_panel([1.0, 0.5], [1.0, 0.3], value=0.3, low=0.25, high=0.35)
    >>> [curve.label for curve in panel.curves]
    ['q_u / q_p', 'estimate, with its 90 % interval', '']
    """
    x, y = np.asarray(q_p, dtype=float), np.asarray(ratio, dtype=float)
    shown = np.unique(np.linspace(0, len(x) - 1, min(_POINTS, len(x))).round().astype(int))
    middle, half = (low + high) / 2, (high - low) / 2
    return Panel(
        "Unlabelled rows above a threshold, relative to labelled",
        "share of labelled rows above the threshold, q_p",
        "q_u / q_p",
        [
            Curve("q_u / q_p", x[shown], y[shown]),
            Curve("estimate, with its 90 % interval", [0, 1], [value, value], colour="green"),
            Curve("", [0, 1], [middle, middle], [half, half], colour="green", style="band"),
        ],
        y_range=(0.0, 1.05),
    )
