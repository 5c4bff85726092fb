"""Metrics under known chances of a label: each labelled row stands for 1 / e positives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.data.vectors import as_vector
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PropensityMetrics", "propensity_metrics", "propensity_weights"]


class PropensityMetrics(NamedTuple):
    """Estimates by inverse propensities.

    Attributes
    ----------
    prior : float
        The share of positives.
    accuracy, precision, recall : float
        Of the predictions. NaN where nothing was predicted positive, or nothing is labelled. They
        can leave [0, 1], by chance or because the propensities are wrong.
    """

    prior: float
    accuracy: float
    precision: float
    recall: float


def propensity_weights(s: Any, chance: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of each row as a positive and as a negative.

    A labelled row counts s / e as a positive and 1 − 1 / e as a negative, an unlabelled one 1 as a
    negative. Sums over them are, on the mean, those over the true classes.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 if labelled, else 0.
    chance : array-like of shape (n,)
        e, the chance of a label if the row is positive, in (0, 1].

    Examples
    --------
    >>> positive, negative = propensity_weights([1, 0], [0.25, 0.5])
    >>> positive.tolist(), negative.tolist()
    ([4.0, 0.0], [-3.0, 1.0])
    """
    owner = "propensity_weights"
    labelled, e = as_vector(s, "s", owner), as_vector(chance, "chance", owner)
    if labelled.shape != e.shape:
        raise InputError(
            f"s and chance must have one value per row. Got {labelled.size} and {e.size} instead."
        )
    if not np.all((labelled == 0) | (labelled == 1)):
        raise InputError("s must be 1 (labelled) or 0 for each row.")
    if not np.all((e > 0) & (e <= 1)):
        raise InputError(
            "The propensities in chance must be in the range (0, 1]: a positive without a chance "
            "of a label is not represented by any other."
        )
    positive = labelled / e
    return positive, 1 - positive


def propensity_metrics(s: Any, predictions: Any, *, chance: Any) -> PropensityMetrics:
    """Return prior, accuracy, precision and recall under known propensities.

    All rows are one sample (``sampling="one-sample"``), and no prior is needed.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 if labelled, else 0.
    predictions : array-like of shape (n,)
        1 or 0.
    chance : array-like of shape (n,)
        e, the chance of a label if the row is positive.

    Examples
    --------
    >>> found = propensity_metrics([1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 0, 0], chance=[0.5] * 6)
    >>> [round(value, 3) for value in found]
    [0.667, 0.5, 0.667, 0.5]
    """
    positive, negative = propensity_weights(s, chance)
    called = as_vector(predictions, "predictions", "propensity_metrics")
    if called.shape != positive.shape or not np.all((called == 0) | (called == 1)):
        raise InputError("predictions must be 1 or 0 for each row of s.")
    found, flagged, total = float(positive @ called), float(called.sum()), float(positive.sum())
    return PropensityMetrics(
        prior=total / len(positive),
        accuracy=float(found + negative @ (1 - called)) / len(positive),
        precision=found / flagged if flagged else float("nan"),
        recall=found / total if total else float("nan"),
    )
