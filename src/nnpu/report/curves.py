"""Risk curves: the tidy table of an experiment to the panels of its figure."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.report.panels import Curve, Panel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["curve_panel", "mean_and_spread", "risk_panel"]

_COLOURS = ("blue", "red", "green", "purple", "orange", "sky", "black")
_METHOD_COLOURS = {"PN": "blue", "uPU": "orange", "nnPU": "green"}


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
    for method, fallback in zip(methods, itertools.cycle(_COLOURS), strict=False):
        epochs, means, spreads = mean_and_spread(rows, method, curve)
        band = spreads if np.any(spreads > 0) else None
        yield Curve(method, epochs, means, band, _METHOD_COLOURS.get(method, fallback))
