"""`Forest`: boosted trees as plain arrays, which can be checked, stored and scored by themselves.

LightGBM's own reader trusts its text: an index that is out of range there is read outside of the
array. So model folders hold these arrays instead, no text of a stranger's ever reaches it, and a
stored model needs no LightGBM to score rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.blocks import row_blocks
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["Forest"]

_MOST_NODES = 1 << 24  # of a stored forest; a row passes fewer
_TYPES = {
    "roots": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "nan_left": np.bool_,
    "value": np.float64,
}


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of all trees, one after the other; a child comes after its parent.

    A row goes left at an inner node if its feature is no greater than the threshold, and adds up
    the values of the leaves that it ends in.

    Parameters
    ----------
    roots : ndarray of shape (n_trees,)
        The first node of each tree.
    feature, threshold : ndarray of shape (n_nodes,)
        What is compared at an inner node.
    left, right : ndarray of shape (n_nodes,)
        Where a row goes next; a leaf is its own child.
    nan_left : ndarray of shape (n_nodes,)
        Whether a missing value goes left.
    value : ndarray of shape (n_nodes,)
        The value of a leaf.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    nan_left: NDArray[np.bool_]
    value: NDArray[np.float64]

    @classmethod
    def from_text(cls, text: str) -> Forest:
        """Read the text that LightGBM made of a model of ours; not for a stranger's text."""
        parts: dict[str, list[Any]] = {name: [] for name in _TYPES}
        first = 0
        for tree in _sections(text):
            nodes = _nodes(tree, first)
            parts["roots"].append([first])
            for name, array in nodes.items():
                parts[name].append(array)
            first += len(nodes["value"])
        return cls(
            **{
                name: np.concatenate([np.empty(0), *arrays]).astype(_TYPES[name])
                for name, arrays in parts.items()
            }
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_features: int) -> Forest:
        """Return the forest of stored arrays, or raise `InputError` if they are none.

        Every node must be a root or the child of one node before it, so that a row passes each
        tree in finitely many steps and reads nothing outside of the arrays.
        """
        if arrays.keys() != _TYPES.keys():
            raise InputError(f"The arrays of a forest are {', '.join(_TYPES)}.")
        n = len(arrays["value"])
        if n > _MOST_NODES:
            raise InputError(f"The forest has {n:,} nodes; at most {_MOST_NODES:,} are read.")
        for name, kind in _TYPES.items():
            array = arrays[name]
            if array.ndim != 1 or array.dtype != kind or (name != "roots" and len(array) != n):
                raise InputError(f"The array {name!r} of the forest has a wrong shape or type.")
        forest = cls(**arrays)
        forest._check(n_features)
        return forest

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the leaves' values for each row, in the order of the trees.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            Rows of a sparse matrix are made dense a block at a time.
        """
        total = np.zeros(X.shape[0])
        depths = self.depths()
        for rows, block in row_blocks(X, X.shape[1]):
            dense = np.ascontiguousarray(block if isinstance(block, np.ndarray) else _dense(block))
            missing = bool(np.isnan(dense).any())
            for root, depth in zip(self.roots, depths, strict=True):
                total[rows] += self.value[self._leaves(dense, root, depth, missing)]
        return total

    def _leaves(
        self, X: NDArray[np.float32], root: int, depth: int, missing: bool
    ) -> NDArray[np.int32]:
        """Return the leaf of one tree in which each row ends."""
        cells, start = X.reshape(-1), np.arange(len(X)) * X.shape[1]
        node = np.full(len(X), root, dtype=np.int32)
        for _ in range(depth):  # `take` is quicker than brackets
            value = cells.take(start + self.feature.take(node))
            goes_left = value <= self.threshold.take(node)  # False for NaN
            if missing:
                goes_left |= np.isnan(value) & self.nan_left.take(node)
            node = np.where(goes_left, self.left.take(node), self.right.take(node))
        return node

    def depths(self) -> list[int]:
        """Return how many comparisons the deepest leaf of each tree takes."""
        depths = []
        for root in self.roots:
            depth, level = 0, np.array([root])
            while True:
                level = level[self.left[level] != level]  # leaves go no further
                if not level.size:
                    break
                depth += 1
                level = np.concatenate([self.left[level], self.right[level]])
            depths.append(depth)
        return depths

    def _check(self, n_features: int) -> None:
        n = len(self.value)
        node = np.arange(n)
        leaf = self.left == node
        inner = ~leaf
        children = np.concatenate([self.left[inner], self.right[inner]])
        indices = np.concatenate([self.roots, children])
        fits = (
            np.array_equal(self.right == node, leaf)
            and np.all((indices >= 0) & (indices < n))
            and np.all(self.left[inner] > node[inner])
            and np.all(self.right[inner] > node[inner])
            and np.array_equal(np.bincount(indices, minlength=n), np.ones(n))
            and np.all((self.feature >= 0) & (self.feature < n_features))
        )
        if not fits:
            raise InputError("The nodes of the forest do not form trees over the features.")


def _sections(text: str) -> Iterator[dict[str, str]]:
    """Yield the lines ``name=values`` of each tree."""
    body = text.partition("\nend of trees")[0]
    for section in body.split("\nTree=")[1:]:
        yield dict(line.split("=", 1) for line in section.splitlines() if "=" in line)


def _nodes(tree: dict[str, str], first: int) -> dict[str, NDArray[Any]]:
    """Return the nodes of a tree: its inner nodes, then its leaves, numbered from `first`."""

    def read(name: str, kind: type) -> NDArray[Any]:
        return np.array(tree.get(name, "").split(), dtype=kind)

    n_inner = int(tree["num_leaves"]) - 1
    leaves = first + n_inner + np.arange(n_inner + 1)
    # LightGBM: bit 0 of a decision is "category", bit 1 "missing goes left"; bits 2 and 3 say what
    # counts as missing: 0 nothing (NaN is then 0.0), 1 zero, 2 NaN.
    decision = read("decision_type", np.int64)
    if n_inner and (np.any(decision & 1) or np.any((decision >> 2) & 3 == 1)):
        raise InputError("Trees with categories, or with zeros as missing values, are not read.")
    threshold = read("threshold", np.float64)
    nan_left = np.where((decision >> 2) & 3 == 2, (decision >> 1) & 1 == 1, threshold >= 0)
    pad = np.zeros(n_inner + 1)
    children = {
        side: np.where(child < 0, leaves[0] + ~child, first + child)
        for side in ("left", "right")
        for child in [read(f"{side}_child", np.int64)]
    }
    return {
        "feature": np.concatenate([read("split_feature", np.int64), pad]),
        "threshold": np.concatenate([threshold, pad]),
        "left": np.concatenate([children["left"], leaves]),
        "right": np.concatenate([children["right"], leaves]),
        "nan_left": np.concatenate([nan_left, pad]),
        "value": np.concatenate([np.zeros(n_inner), read("leaf_value", np.float64)]),
    }


def _dense(block: Any) -> NDArray[np.float32]:
    dense: NDArray[np.float32] = block.toarray()
    return dense
