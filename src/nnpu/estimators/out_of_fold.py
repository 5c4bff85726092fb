"""Scores of the rows of a fit, each by a model that was not fitted to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from nnpu.data.folds import PUStratifiedKFold, equal_rows
from nnpu.estimators.features import rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.labels import Labels

__all__ = ["MOST_ROWS", "OutOfFold", "align", "out_of_fold"]

#: A larger table is judged by rows that are set aside: there are enough of them.
MOST_ROWS = 30_000
_FOLDS = 5  # as many fits as it takes to judge one: a fifth of the rows each


class OutOfFold(NamedTuple):
    """Scores that can be compared across folds.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        On the scale of the final model; NaN for a row that no fold held out.
    fold : ndarray of shape (n,)
        The fold that held the row out; −1 for none.
    first : classifier
        The model that was not fitted to fold 0.
    """

    scores: NDArray[np.float64]
    fold: NDArray[np.intp]
    first: BasePUClassifier


def align(
    scores: NDArray[np.float64],
    fold: NDArray[np.intp],
    s: NDArray[np.int8],
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return scores whose ranks were compared within folds, on one scale for all.

    The models of two folds may differ in scale, so their scores must not be mixed as they
    are. Each score gets the place that it has among the unlabelled rows of its fold, and the value
    at that place of `scale`.

    Parameters
    ----------
    scores, fold, s : ndarray of shape (n,)
        Scores by the model of the fold, the folds, PU labels.
    scale : ndarray of shape (m,)
        Scores of unlabelled rows on the scale to be used.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 3.0, 100.0, 200.0, 300.0])
    >>> fold, s = np.array([0, 0, 0, 1, 1, 1]), np.int8([0, 0, 1, 0, 0, 1])
    >>> align(scores, fold, s, scores[:2]).tolist()
    [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    """
    scale = np.sort(scale)
    places = (np.arange(len(scale)) + 0.5) / len(scale)
    found = np.empty(len(scores))
    for number in np.unique(fold):
        rows = np.flatnonzero(fold == number)
        u = np.sort(scores[rows][s[rows] == 0])
        u = u if u.size else np.sort(scores[s == 0])  # a group of labelled rows alone
        own = np.interp((np.arange(len(u)) + 0.5) / len(u), places, scale)
        x, y = _distinct(u, own)
        values = np.interp(scores[rows], x, y)
        # Above all of U, and below, a score keeps its distance in units of U's spread.
        ratio = (scale.std() or 1.0) / (u.std() or 1.0)
        values += ratio * np.maximum(scores[rows] - x[-1], 0)
        values += ratio * np.minimum(scores[rows] - x[0], 0)
        found[rows] = values
    return found


def _distinct(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct values of sorted x with the mean of y at each."""
    values, index = np.unique(x, return_inverse=True)
    return values, np.bincount(index, y) / np.bincount(index)


def out_of_fold(
    classifier: BasePUClassifier,
    features: Any,
    codes: Labels,
    groups: NDArray[np.intp] | None = None,
    *,
    seed: int = 0,
    n_folds: int = _FOLDS,
) -> OutOfFold:
    """Score the rows of a fit by models that were not fitted to them.

    The ensemble has such scores from its own fit; any other classifier is fitted again to each
    part of the rows, under the prior that it found. Rows of a group are in one fold; without
    groups, equal rows are.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted to all rows.
    features, codes, groups
        The rows of the fit: features, PU labels 1, 0, −1, and groups that stay together; by
        default equal rows do.
    seed, n_folds : int
        What decides the folds, and how many there are at most.
    """
    if classifier.out_of_fold_ is not None:
        return classifier.out_of_fold_
    together = equal_rows(features) if groups is None else groups
    n_folds = min(n_folds, int((codes == 1).sum()), int((codes == 0).sum()))
    if together is not None:
        n_folds = min(n_folds, np.unique(together).size)
    fold = np.full(len(codes), -1, dtype=np.intp)
    scores, parts = np.full(len(codes), np.nan), []
    if n_folds > 1:
        fold = PUStratifiedKFold(n_folds, random_state=seed).assign(codes == 1, together)
    for number in range(n_folds if n_folds > 1 else 0):
        fitted, rest = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if not (codes[fitted] == 1).any() or not (codes[fitted] == 0).any():
            fold[rest] = -1  # large groups: no model can be fitted without them
            continue
        part = _without(classifier, codes[fitted])
        part.fit(rows_of(features, fitted), codes[fitted])
        scores[rest] = part.decision_function(rows_of(features, rest))
        parts.append(part)
    inside = np.flatnonzero(fold >= 0)
    if inside.size:
        s = codes[inside]
        fold[inside] = np.unique(fold[inside], return_inverse=True)[1]
        scores[inside] = align(scores[inside], fold[inside], s, scores[inside][s == 0])
    return OutOfFold(scores, fold, parts[0] if parts else classifier)


def _without(classifier: BasePUClassifier, codes: Labels) -> BasePUClassifier:
    """Return a classifier for some of the rows, under the prior that was found for all."""
    prior = classifier.prior_
    if classifier.sampling == "one-sample":  # the labelled share of a part may be a little larger
        prior = max(prior, min(float(np.mean(codes == 1)) + 1e-6, 1 - 1e-9))
    part: BasePUClassifier = clone(classifier)
    return part._adapt(prior=prior, verbose=0)
