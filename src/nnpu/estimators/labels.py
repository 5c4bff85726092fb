"""From the labels a user has to PU labels: 1 labelled positive, 0 unlabelled, −1 known negative."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from nnpu.parameters import InputError, ParameterError

__all__ = ["encode", "fit_groups", "fit_labels", "prior_too_small"]

Labels = NDArray[np.int8]

#: Words that say by themselves which is the labelled one, and the order agrees.
_PLAIN = (("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("negative", "positive"))


def fit_labels(s: Any) -> tuple[NDArray[Any], Labels]:
    """Return the two classes and the PU labels of some training labels.

    Two values, whatever they are: the greater is labelled positive, the other unlabelled; of words
    other than yes and no a warning says which. Exactly {−1, 0, 1}: known negatives too. Anything
    else is an error.

    Examples
    --------
    >>> fit_labels(["no", "yes", "no"])
    (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0], dtype=int8))
    >>> fit_labels([1, 0, -1])[0]
    array([-1,  1])
    """
    s = column_or_1d(s)
    if s.dtype.kind not in "biu":  # whole numbers are classes, however many
        check_classification_targets(s)
    values = _distinct(s)
    if len(values) == 3 and _is_known_negatives(values):
        return values[[0, 2]], s.astype(np.int8)
    if len(values) != 2:
        raise InputError(_not_two(values))
    _warn_of_words(values)
    return values, (s == values[1]).astype(np.int8)


def _warn_of_words(classes: NDArray[Any]) -> None:
    """Warn which of two words is taken as labelled: few expect the last in the alphabet."""
    if not all(isinstance(value, str) for value in classes.tolist()):
        return
    unlabelled, labelled = classes.tolist()
    if (unlabelled.lower(), labelled.lower()) not in _PLAIN:
        warnings.warn(
            f"The labels are words: {labelled!r} is taken as labelled positive and {unlabelled!r} "
            "as unlabelled, because the greater of two labels is the positive. If that is wrong, "
            f"use s == {unlabelled!r} as labels.",
            UserWarning,
            stacklevel=5,
        )


def encode(s: Any, classes: NDArray[Any], *, known_negatives: bool = False) -> Labels:
    """Return the PU labels of further labels, for classes that `fit_labels` found.

    With `known_negatives` the labels of fit were −1, 0 and 1, and so are these.
    """
    s = column_or_1d(s)
    allowed = np.array([-1, 0, 1]) if known_negatives else classes
    unknown = np.setdiff1d(_distinct(s), allowed)
    if len(unknown):
        raise InputError(
            f"The labels s must be among {allowed.tolist()}, as in fit. Got {unknown[:5].tolist()} "
            "as well; for true labels use sklearn.metrics.accuracy_score on predict(X)."
        )
    return np.asarray(s if known_negatives else s == classes[1], dtype=np.int8)


def _distinct(s: NDArray[Any]) -> NDArray[Any]:
    """Return the values that occur, in order; two whole numbers are found without a table."""
    if s.dtype.kind in "biu" and len(s):
        low, high = s.min(), s.max()
        if np.all((s == low) | (s == high)):
            return np.unique(np.array([low, high]))
    return np.unique(s)


def _is_known_negatives(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "if" and set(values.tolist()) == {-1, 0, 1}


def _not_two(values: NDArray[Any]) -> str:
    shown = ", ".join(repr(value) for value in values[:5].tolist())
    shown += ", ..." if len(values) > 5 else ""
    start = (
        "Only one class"
        if len(values) == 1
        # the second is scikit-learn's sentence
        else ("Only binary classification is supported. The type of the target is multiclass")
    )
    return (
        f"{start}: the labels s must have two values, labelled and unlabelled, or be exactly "
        "-1 (known negative), 0 (unlabelled) and 1 (labelled positive). "
        f"Got {len(values)} instead: {shown}."
    )


def prior_too_small(prior: Any, share: float, owner: str) -> ParameterError:
    """Return the error for a prior that is no greater than the share of labelled rows."""
    return ParameterError(
        f"The 'prior' parameter of {owner} must be greater than the share of labelled rows, "
        f"{share:.4g}, when sampling='one-sample': the labelled rows are part of the positives. "
        f"Got {prior!r} instead; if the positives were collected separately from the unlabelled "
        "rows, use sampling='two-sample' (--sampling two-sample)."
    )


def fit_groups(groups: Any, n: int, owner: str) -> NDArray[np.intp] | None:
    """Return a number for each row, equal where the groups are; None without groups.

    Examples
    --------
    >>> fit_groups(["b", "a", "b"], 3, "PUClassifier")
    array([1, 0, 1])
    """
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.shape != (n,):
        raise ParameterError(
            f"The 'groups' parameter of {owner}.fit must have one value per row, {n} in all. Got "
            f"an array of shape {values.shape} instead."
        )
    found: NDArray[np.intp] = np.unique(values, return_inverse=True)[1]
    return found
