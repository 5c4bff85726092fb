"""Folds that keep the share of labelled rows, and rows that belong together, together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nnpu.parameters import InputError, ParameterError, check_count

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PUStratifiedKFold"]

Indices = NDArray[np.intp]


class PUStratifiedKFold:
    """Cross-validation folds with the same share of labelled rows in each.

    A fold without positives, or without unlabelled rows, can be neither fitted to nor judged, so
    that stratification matters more than it does with true labels. With groups, all rows of a
    group fall into one fold (patients with several visits; a positive that is also a row of U),
    and the shares are kept as nearly equal as the groups allow.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2.
    shuffle : bool, default=True
        Whether rows are dealt to the folds in random order; otherwise in order of appearance.
    random_state : int, RandomState or None, default=None
        The seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> s = np.array([1, 1, 0, 0, 0, 0])
    >>> folds = PUStratifiedKFold(2, random_state=0)
    >>> [int(s[test].sum()) for _, test in folds.split(s[:, None], s)]
    [1, 1]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None
    ) -> None:
        self.n_splits = check_count("n_splits", n_splits, "PUStratifiedKFold", low=2)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the row numbers of the training part and of the held-out part of each fold.

        Parameters
        ----------
        X : array-like with n rows
            Only there for scikit-learn's interface; it is not read.
        y : array-like of shape (n,)
            The PU label s of each row.
        groups : array-like of shape (n,), optional
            Rows with equal values stay together.
        """
        fold = self.assign(y, groups)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def assign(self, s: ArrayLike, groups: ArrayLike | None = None) -> Indices:
        """Return the number of the fold of each row.

        Examples
        --------
        >>> PUStratifiedKFold(2, shuffle=False).assign([1, 0, 1, 0], groups=["a", "a", "b", "b"])
        array([0, 0, 1, 1])
        """
        labels, counts = _places(s, "labels")
        if groups is not None:
            return self._deal_groups(labels, counts, np.asarray(groups))
        if counts.min(initial=self.n_splits) < self.n_splits:
            raise InputError(
                f"PUStratifiedKFold needs at least n_splits={self.n_splits} rows of each PU "
                f"label; the rarest has {counts.min()}. Use fewer folds or label more rows."
            )
        order = self._order(labels.size)
        order = order[np.argsort(labels[order], kind="stable")]  # one label after another
        fold = np.empty(labels.size, dtype=np.intp)
        fold[order] = np.arange(labels.size) % self.n_splits
        return fold

    def _order(self, n: int) -> Indices:
        if not self.shuffle:
            return np.arange(n)
        from sklearn.utils import check_random_state

        order: Indices = check_random_state(self.random_state).permutation(n)
        return order

    def _deal_groups(self, labels: Indices, counts: Indices, groups: NDArray[Any]) -> Indices:
        """Deal groups out, large ones first, each to the fold that lacks its labels most."""
        if groups.shape != labels.shape:
            raise ParameterError(
                "The 'groups' parameter of PUStratifiedKFold must be an array of shape "
                f"{labels.shape}. Got shape {groups.shape} instead."
            )
        members, _ = _places(groups, "groups")
        sizes = np.zeros((members.max() + 1, counts.size))
        np.add.at(sizes, (members, labels), 1)
        if sizes.shape[0] < self.n_splits:
            raise InputError(
                f"PUStratifiedKFold needs at least n_splits={self.n_splits} groups; there are "
                f"{sizes.shape[0]}. Use fewer folds."
            )
        order = self._order(sizes.shape[0])
        order = order[np.argsort(-sizes[order].sum(axis=1), kind="stable")]
        filled = np.zeros((self.n_splits, counts.size))  # the share of each label dealt so far
        fold_of_group = np.empty(sizes.shape[0], dtype=np.intp)
        for group in order:
            share = sizes[group] / counts
            lightest = np.lexsort((filled.sum(axis=1), filled @ share))[0]
            fold_of_group[group] = lightest
            filled[lightest] += share
        return fold_of_group[members]


def _places(values: ArrayLike, name: str) -> tuple[Indices, Indices]:
    """Return each row's place among the distinct values, and how often each occurs."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"PUStratifiedKFold: the {name} must be one value per row; their shape is "
            f"{array.shape}."
        )
    try:
        _, places, counts = np.unique(array, return_inverse=True, return_counts=True)
    except TypeError as error:  # a None among numbers
        raise InputError(
            f"PUStratifiedKFold: the {name} cannot be compared with each other ({error})."
        ) from error
    return places, counts
