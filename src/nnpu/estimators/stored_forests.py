"""Forests from the arrays of a model folder: what is read is checked first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.estimators.forest import CATEGORY_TYPES, TYPES, Forest
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["stored_forest"]

_MOST_NODES = 1 << 24  # of a stored forest; a row passes fewer


def stored_forest(arrays: Mapping[str, NDArray[Any]], n_features: int) -> Forest:
    """Return the forest of stored arrays, or raise `InputError` if they are none.

    Every node must be a root or the child of one node before it, so that a row passes each
    tree in finitely many steps and reads nothing outside of the arrays.
    """
    types = TYPES | (CATEGORY_TYPES if "category" in arrays else {})
    if arrays.keys() != types.keys():
        raise InputError(f"The arrays of a forest are {', '.join(TYPES)}.")
    n = len(arrays["value"])
    if n > _MOST_NODES:
        raise InputError(f"The forest has {n:,} nodes; at most {_MOST_NODES:,} are read.")
    for name, kind in types.items():
        array, n_axes = arrays[name], 2 if name == "goes_left" else 1
        length_fits = name in ("roots", "goes_left") or len(array) == n
        if array.ndim != n_axes or array.dtype != kind or not length_fits:
            raise InputError(f"The array {name!r} of the forest has a wrong shape or type.")
    forest = Forest(**arrays)
    _check(forest, n_features)
    return forest


def _check(forest: Forest, n_features: int) -> None:
    n = len(forest.value)
    node = np.arange(n)
    leaf = forest.left == node
    inner = ~leaf
    children = np.concatenate([forest.left[inner], forest.right[inner]])
    indices = np.concatenate([forest.roots, children])
    fits = (
        np.array_equal(forest.right == node, leaf)
        and np.all((indices >= 0) & (indices < n))
        and np.all(forest.left[inner] > node[inner])
        and np.all(forest.right[inner] > node[inner])
        and np.array_equal(np.bincount(indices, minlength=n), np.ones(n))
        and np.all((forest.feature >= 0) & (forest.feature < n_features))
        and np.all((forest.category >= -1) & (forest.category < len(forest.goes_left)))
        and (len(forest.category) == 0 or forest.goes_left.shape[1] > 0)
        and _trees_are_apart(forest, inner)
    )
    if not fits:
        raise InputError("The nodes of the forest do not form trees over the features.")


def _trees_are_apart(forest: Forest, inner: NDArray[np.bool_]) -> bool:
    """Whether the trees stand one after the other, and ask a column for codes or for numbers."""
    tree = np.searchsorted(forest.roots, np.arange(len(inner)), "right")
    within = all(
        np.array_equal(tree[child[inner]], tree[inner]) for child in (forest.left, forest.right)
    )
    codes = forest.category >= 0 if len(forest.category) else np.zeros(len(inner), np.bool_)
    both = np.intersect1d(forest.feature[inner & codes], forest.feature[inner & ~codes])
    return bool(np.all(np.diff(forest.roots) > 0)) and within and both.size == 0
