"""Scores of many rows by the trees of a `Forest`: the same bits, in less time.

Small trees are looked up in tables. A set of at most 31 leaves is a whole number. The value of a
column decides all nodes that ask for it, and leaves a set of leaves of each tree in reach; a table
holds these sets for each interval or code of the column. Where the sets of all columns meet is the
leaf in which the row ends.

Other trees are left to LightGBM's predictor. It reads text, and trusts it. What it reads here was
written from arrays that `Forest` has checked, or made itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.estimators.forest import Forest

    Predict = Callable[..., NDArray[np.float64]]

__all__ = ["predictor", "table_scorer"]

_LEAVES = 31  # of a tree: the bits of a number that is not negative
_MOST_COLUMNS = 64  # that trees ask for; beyond, LightGBM is as quick
_MOST_CELLS = 1 << 23  # of all tables: 32 MiB
_BLOCK = 1 << 10  # rows at a time: what is in reach of them stays in the cache
_NUMBER, _NUMBER_NAN_LEFT, _CATEGORY = 8, 10, 1  # LightGBM's decision types, NaN being missing


class _Table(NamedTuple):
    """What each value of a column leaves in reach; the last row is for gaps and unknown codes."""

    column: int
    cuts: NDArray[np.float64] | None  # None: the values are codes
    sets: NDArray[np.int32]  # (n_values + 1, n_trees)


def table_scorer(forest: Forest) -> Callable[[Any], NDArray[np.float64]] | None:
    """Return the sum of the forest's trees for rows; None if tables do not pay."""
    node = np.arange(len(forest.value))
    leaf = forest.left == node
    tree = np.searchsorted(forest.roots, node, "right") - 1
    before = np.cumsum(leaf) - leaf
    place = before - before[forest.roots][tree]  # of a leaf among those of its tree
    asked = np.unique(forest.feature[~leaf])
    codes = np.unique(forest.feature[forest.category >= 0] if len(forest.category) else [])
    n_sets = len(node) + 2 * len(asked) + len(codes) * forest.goes_left.shape[1]
    fits = len(asked) <= _MOST_COLUMNS and n_sets * len(forest.roots) <= _MOST_CELLS
    if not fits or place[leaf].max(initial=0) >= _LEAVES:
        return None
    below = np.where(leaf, 1 << place, 0).astype(np.int32)  # the leaves below each node
    for i in node[~leaf][::-1].tolist():
        below[i] = below[forest.left[i]] | below[forest.right[i]]
    tables = [_table(forest, int(column), tree, below) for column in asked]
    values = np.zeros((len(forest.roots), _LEAVES))
    values[tree[leaf], place[leaf]] = forest.value[leaf]

    def scores(X: Any) -> NDArray[np.float64]:
        blocks = np.array_split(X, -(-len(X) // _BLOCK))
        return np.concatenate([_sums(x, tables, below[forest.roots], values) for x in blocks])

    return scores


def _table(forest: Forest, column: int, tree: NDArray[np.intp], below: NDArray[np.int32]) -> _Table:
    nodes = np.flatnonzero((forest.feature == column) & (forest.left != np.arange(len(tree))))
    category = forest.category[nodes] if len(forest.category) else np.full(len(nodes), -1)
    threshold, cuts = forest.threshold[nodes], None
    if category[0] >= 0:
        unknown = np.zeros((len(nodes), 1), np.bool_)
        goes_left = np.hstack([forest.goes_left[category], unknown])
    else:
        cuts = np.unique(threshold)
        left = np.append(cuts, np.inf) <= threshold[:, None]  # of values up to each cut
        goes_left = np.hstack([left, forest.nan_left[nodes, None]])
    sets = np.tile(below[forest.roots], (goes_left.shape[1], 1))
    for i, left in zip(nodes.tolist(), goes_left, strict=True):
        sets[:, tree[i]] &= ~np.where(left, below[forest.right[i]], below[forest.left[i]])
    return _Table(column, cuts, sets)


def _sums(
    X: NDArray[Any],
    tables: list[_Table],
    leaves: NDArray[np.int32],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    n_rows = len(X)
    X = X if n_rows > 1 else np.repeat(X, 2, axis=0)  # NumPy adds up one row in another order
    reached = np.tile(leaves, (len(X), 1))
    found = np.empty_like(reached)
    for column, cuts, sets in tables:
        value, last = X[:, column], len(sets) - 1
        if cuts is None:
            known = (value >= 0) & (value < last)  # False for NaN
            row = np.where(known, value, last).astype(np.intp)
        else:
            row = np.where(np.isnan(value), last, np.searchsorted(cuts, value))
        np.take(sets, row, axis=0, out=found, mode="clip")
        reached &= found
    # One leaf is left of each tree; the exponent of a power of two is its place.
    place = (reached.astype(np.float32).view(np.int32) >> 23) - 127
    place += np.arange(0, values.size, _LEAVES, dtype=np.int32)
    terms = np.ascontiguousarray(values.ravel().take(place, mode="clip").T)
    total: NDArray[np.float64] = terms.sum(axis=0)[:n_rows]  # in the order of the trees
    return total


def predictor(forest: Forest, n_features: int) -> Predict | None:
    """Return LightGBM's sum of the forest's trees for rows; None without LightGBM."""
    try:
        lightgbm = importlib.import_module("lightgbm")
    except (ImportError, OSError):  # not installed, or without the OpenMP library
        return None
    booster = lightgbm.Booster(model_str=_text(forest, n_features))

    def predict(
        X: Any, n_threads: int = 0, first: int = 0, n_trees: int = -1
    ) -> NDArray[np.float64]:
        sums = booster.predict(
            sparse.csr_matrix(X) if sparse.issparse(X) else X,  # it knows no sparse arrays
            start_iteration=first,
            num_iteration=n_trees,
            raw_score=True,
            num_threads=n_threads,
        )
        return np.asarray(sums, dtype=np.float64)

    return predict


def _text(forest: Forest, n_features: int) -> str:
    names = " ".join(f"c{j}" for j in range(n_features))
    head = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={n_features - 1}",
        f"feature_names={names}",
        f"feature_infos={' '.join(['none'] * n_features)}",
        "",
    ]
    ends = [*forest.roots[1:].tolist(), len(forest.value)]
    trees = [
        f"Tree={number}\n{_tree(forest, int(root), int(end))}"
        for number, (root, end) in enumerate(zip(forest.roots, ends, strict=True))
    ]
    return "\n".join([*head, "\n\n".join(trees), "\n\nend of trees\n"])


def _tree(forest: Forest, root: int, end: int) -> str:
    node = np.arange(root, end)
    leaf = forest.left[root:end] == node
    # LightGBM numbers inner nodes and leaves apart; a leaf as a child is ~number.
    number = np.where(leaf, ~(np.cumsum(leaf) - 1), np.cumsum(~leaf) - 1)
    inner = node[~leaf]
    threshold = [repr(value) for value in forest.threshold[inner].tolist()]
    decision = np.where(forest.nan_left[inner], _NUMBER_NAN_LEFT, _NUMBER)
    bounds, words = [0], list[int]()
    if len(forest.category):
        for place in np.flatnonzero(forest.category[inner] >= 0):
            bits = np.packbits(forest.goes_left[forest.category[inner[place]]], bitorder="little")
            padded = np.pad(bits, (0, -len(bits) % 4)).view("<u4").tolist()
            threshold[place], decision[place] = str(len(bounds) - 1), _CATEGORY
            words += padded
            bounds.append(len(words))
    lines = {
        "num_leaves": [int(leaf.sum())],
        "num_cat": [len(bounds) - 1],
        "split_feature": forest.feature[inner].tolist(),
        "threshold": threshold,
        "decision_type": decision.tolist(),
        "left_child": number[forest.left[inner] - root].tolist(),
        "right_child": number[forest.right[inner] - root].tolist(),
        "leaf_value": [repr(value) for value in forest.value[node[leaf]].tolist()],
    }
    if words:
        lines |= {"cat_boundaries": bounds, "cat_threshold": words}
    lines |= {"is_linear": [0], "shrinkage": [1]}
    return "\n".join(f"{name}={' '.join(map(str, values))}" for name, values in lines.items())
