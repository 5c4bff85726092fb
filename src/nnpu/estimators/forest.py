"""`Forest`: trees as plain arrays, which can be checked, stored and scored by themselves.

LightGBM's own reader trusts its text: an index that is out of range there is read outside of the
array. So model folders hold these arrays instead, no text of a stranger's ever reaches it, and a
stored model needs no LightGBM to score rows.

A few rows walk the arrays in NumPy. Many rows are looked up in tables, the same bits in less time:
a set of at most 31 leaves is a whole number; the value of a column decides all nodes that ask for
it and leaves a set of leaves of each tree in reach; a table holds these sets for each interval or
code of the column. Where the sets of all columns meet is the leaf in which the row ends. Larger
trees are left to LightGBM's predictor, if there is one: the text that it reads here was written
from arrays that `Forest` has checked, or made itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from nnpu.data.vectors import row_blocks
from nnpu.estimators.threads import count_jobs, in_threads
from nnpu.extras import find_lightgbm
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Predict = Callable[..., NDArray[np.float64]]

__all__ = [
    "Forest",
    "along_paths",
    "predictor",
    "stored_forest",
    "table_scorer",
]

_MANY = 1 << 19  # rows times trees from which more than a walk is worth its start
_TOGETHER = 1 << 13  # rows times trees that are walked at a time: near the size of a cache
_MAKING = threading.Lock()  # they are made once, not in each thread
TYPES = {
    "roots": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "nan_left": np.bool_,
    "value": np.float64,
}
CATEGORY_TYPES = {"category": np.int32, "goes_left": np.bool_}


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of all trees, one after the other; a child comes after its parent.

    A row goes left at an inner node if its feature is no greater than the threshold, and adds up
    the values of the leaves that it ends in. A node may ask for a category instead.

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
    category : ndarray of shape (n_nodes,) or (0,)
        For a node that asks for a category its row of `goes_left`, else −1; empty if none does.
    goes_left : ndarray of shape (n_tables, n_codes)
        Whether each code goes left; missing and unknown ones go right.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    nan_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    category: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    goes_left: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), np.bool_))
    # How many rows times trees were scored, and what was made to score more of them quickly: no
    # part of the value, and nothing that a pickle or another process could take.
    _made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**{name: state[name] for name in state if name[0] != "_"})  # type: ignore[misc]

    @classmethod
    def from_text(cls, text: str) -> Forest:
        """Read the text that LightGBM made of a model of ours; not for a stranger's text."""
        trees: list[dict[str, NDArray[Any]]] = []
        tables: list[NDArray[np.bool_]] = []
        first = 0
        for tree in _sections(text):
            trees.append(_nodes(tree, first, tables))
            first += len(trees[-1]["value"])
        forest = _joined(trees)
        if not tables:
            return forest
        goes_left = np.zeros((len(tables), max(map(len, tables))), dtype=np.bool_)
        for row, table in zip(goes_left, tables, strict=True):
            row[: len(table)] = table
        category = np.concatenate([tree["category"] for tree in trees]).astype(np.int32)
        return cls(**forest.arrays(), category=category, goes_left=goes_left)

    @classmethod
    def from_sklearn(cls, trees: Sequence[Any]) -> Forest:
        """Return the forest of scikit-learn's regression trees; its scores are their mean."""
        parts, first = [], 0
        for one in trees:
            tree = one.tree_
            n, leaf = tree.node_count, tree.children_left < 0
            node = first + np.arange(n)
            parts.append(
                {
                    "roots": np.array([first]),
                    "feature": np.where(leaf, 0, tree.feature),
                    # A split of gaps from all values has the threshold ∞, which no folder holds.
                    "threshold": np.where(leaf, 0.0, np.nan_to_num(tree.threshold)),
                    "left": np.where(leaf, node, first + tree.children_left),
                    "right": np.where(leaf, node, first + tree.children_right),
                    "nan_left": tree.missing_go_to_left,
                    "value": np.where(leaf, tree.value[:, 0, 0] / len(trees), 0.0),
                }
            )
            first += n
        return _joined(parts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `stored_forest` takes."""
        kept = [*TYPES, *(CATEGORY_TYPES if len(self.category) else ())]
        return {name: getattr(self, name) for name in kept}

    def scores(self, X: Any, n_threads: int = 0) -> NDArray[np.float64]:
        """Return the sum of the leaves' values for each row, in the order of the trees.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, n_features)
            The rows.
        n_threads : int
            Threads, where rows are many; 0 is one for each free processor.
        """
        if self._many(X):
            tables = None
            if isinstance(X, np.ndarray):
                tables = self._once("tables", lambda: table_scorer(self))
            if tables is not None:
                return np.concatenate(in_threads(tables, X, n_threads or None))
            if (predict := self._predictor_for(X)) is not None:
                return np.asarray(predict(X, count_jobs(n_threads)), dtype=np.float64)
        total: NDArray[np.float64] = self._walk(X, max(1, len(self.roots)), 1)[0]
        return total

    def _many(self, X: Any) -> bool:
        """Count rows times trees over all calls; say if a quicker way than the walk now pays.

        Tables and LightGBM's predictor take as long to make as some thousand rows to walk.
        """
        passed = self._made.get("passed", 0) + X.shape[0] * len(self.roots)
        self._made["passed"] = passed
        return bool(passed >= _MANY)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what was made on first use and is kept under a name, whichever thread comes."""
        with _MAKING:
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]

    def _predictor_for(self, X: Any) -> Predict | None:
        found: Predict | None = self._once("predictor", lambda: predictor(self, X.shape[1]))
        return found

    def first(self, n: int) -> Forest:
        """Return the forest of the first n trees."""
        if len(self.roots) <= n:
            return self
        end = int(self.roots[n])
        arrays = {
            name: array if name == "goes_left" else array[:end]
            for name, array in self.arrays().items()
        }
        return Forest(**(arrays | {"roots": self.roots[:n]}))

    def staged_scores(self, X: Any, step: int, stages: int) -> NDArray[np.float64]:
        """Return the sums over the first `step`, 2 `step`, … trees, shape (stages, n)."""
        predict = self._predictor_for(X) if self._many(X) else None
        if predict is None:
            return self._walk(X, step, stages)
        jobs = count_jobs(None)
        parts = [predict(X, jobs, stage * step, step) for stage in range(stages)]
        return np.cumsum(parts, axis=0)

    def _walk(self, X: Any, step: int, stages: int) -> NDArray[np.float64]:
        total = np.zeros((stages, X.shape[0]))
        depths = self.depths()
        for rows, block in row_blocks(X, X.shape[1]):
            dense = _dense(block)
            missing = bool(np.isnan(dense).any())
            so_far = np.zeros(len(dense))
            together = max(1, _TOGETHER // max(1, len(dense)))  # trees: a call costs its start
            for stage in range(stages):
                end = min((stage + 1) * step, len(depths))
                for first in range(stage * step, end, together):
                    trees = slice(first, min(first + together, end))
                    node = np.repeat(self.roots[trees, None], len(dense), axis=1)  # (trees, n)
                    for _ in range(max(depths[trees])):
                        node = self.step(dense, node, missing=missing)
                    for values in self.value.take(node):  # in the order of the trees
                        so_far += values
                total[stage, rows] = so_far
        return total

    def step(
        self, X: NDArray[np.float32], node: NDArray[np.int32], *, missing: bool = True
    ) -> NDArray[np.int32]:
        """Return where each row goes from its node; from a leaf it goes nowhere.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            Contiguous rows.
        node : ndarray of shape (n,) or (n_trees, n)
            Where they are, in one tree or in several.
        missing : bool
            Whether some value may be NaN.
        """
        start = np.arange(0, X.size, X.shape[1])
        value = X.reshape(-1).take(start + self.feature.take(node))  # quicker than brackets
        goes_left = value <= self.threshold.take(node)  # False for NaN
        if missing:
            goes_left |= np.isnan(value) & self.nan_left.take(node)
        if len(self.category):
            goes_left = self._by_category(node, value, goes_left)
        return np.where(goes_left, self.left.take(node), self.right.take(node))

    def _by_category(
        self, node: NDArray[np.int32], value: NDArray[np.float32], goes_left: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        table = self.category.take(node)
        asked = table >= 0
        known = asked & (value >= 0) & (value < self.goes_left.shape[1])  # False for NaN
        code = np.where(known, value, 0).astype(np.int64)
        place = np.where(known, table, 0).astype(np.int64) * self.goes_left.shape[1] + code
        found: NDArray[np.bool_] = np.where(
            asked, known & self.goes_left.reshape(-1).take(place), goes_left
        )
        return found

    def depths(self) -> list[int]:
        """Return how many comparisons the deepest leaf of each tree takes."""
        depths = np.zeros(len(self.roots), dtype=np.int64)
        node, tree = self.roots, np.arange(len(self.roots))
        while True:
            inner = self.left[node] != node  # leaves go no further
            node, tree = node[inner], tree[inner]
            if not node.size:
                return depths.tolist()
            depths[tree] += 1  # once for each tree that still has inner nodes
            node = np.concatenate([self.left[node], self.right[node]])
            tree = np.concatenate([tree, tree])


def _joined(trees: Sequence[Mapping[str, NDArray[Any]]]) -> Forest:
    return Forest(
        **{
            name: np.concatenate([np.empty(0), *(tree[name] for tree in trees)]).astype(kind)
            for name, kind in TYPES.items()
        }
    )


def _sections(text: str) -> Iterator[dict[str, str]]:
    """Yield the lines ``name=values`` of each tree."""
    body = text.partition("\nend of trees")[0]
    for section in body.split("\nTree=")[1:]:
        yield dict(line.split("=", 1) for line in section.splitlines() if "=" in line)


def _nodes(
    tree: dict[str, str], first: int, tables: list[NDArray[np.bool_]]
) -> dict[str, NDArray[Any]]:
    """Return the nodes of a tree: its inner nodes, then its leaves, numbered from `first`.

    What each node that asks for a category sends left is added to `tables`.
    """

    def read(name: str, kind: type) -> NDArray[Any]:
        return np.array(tree.get(name, "").split(), dtype=kind)

    n_inner = int(tree["num_leaves"]) - 1
    leaves = first + n_inner + np.arange(n_inner + 1)
    # LightGBM: bit 0 of a decision is "category", bit 1 "missing goes left"; bits 2 and 3 say what
    # counts as missing: 0 nothing (NaN is then 0.0), 1 zero, 2 NaN.
    decision = read("decision_type", np.int64)
    if n_inner and np.any((decision >> 2) & 3 == 1):
        raise InputError("Trees with zeros as missing values are not read.")
    threshold = np.nan_to_num(read("threshold", np.float64))  # ∞: gaps apart from all values
    nan_left = np.where((decision >> 2) & 3 == 2, (decision >> 1) & 1 == 1, threshold >= 0)
    pad = np.zeros(n_inner + 1)
    children = {
        side: np.where(child < 0, leaves[0] + ~child, first + child)
        for side in ("left", "right")
        for child in [read(f"{side}_child", np.int64)]
    }
    category = np.full(2 * n_inner + 1, -1)
    bounds, words = read("cat_boundaries", np.int64), read("cat_threshold", np.uint32)
    for node in np.flatnonzero(decision & 1):
        which = int(threshold[node])  # of the node's sets of categories: 32 codes a word
        bits = words[bounds[which] : bounds[which + 1]].astype("<u4").view(np.uint8)
        category[node] = len(tables)
        tables.append(np.unpackbits(bits, bitorder="little").astype(np.bool_))
        threshold[node], nan_left[node] = 0.0, False
    return {
        "roots": np.array([first]),
        "feature": np.concatenate([read("split_feature", np.int64), pad]),
        "threshold": np.concatenate([threshold, pad]),
        "left": np.concatenate([children["left"], leaves]),
        "right": np.concatenate([children["right"], leaves]),
        "nan_left": np.concatenate([nan_left, pad]),
        "value": np.concatenate([np.zeros(n_inner), read("leaf_value", np.float64)]),
        "category": category,
    }


def _dense(block: Any) -> NDArray[np.float32]:
    dense = block if isinstance(block, np.ndarray) else block.toarray()
    return np.ascontiguousarray(dense)


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

    def rows(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """Return which row of `sets` each row of X has."""
        value, last = X[:, self.column], len(self.sets) - 1
        if self.cuts is None:
            known = (value >= 0) & (value < last)  # False for NaN
            return np.where(known, value, last).astype(np.intp)
        return np.where(np.isnan(value), last, np.searchsorted(self.cuts, value))


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
    """Return the sum of the leaves' values for each row of a block.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    tables : list of _Table
        One for each column that the trees ask for.
    leaves : ndarray of shape (n_trees,)
        All leaves of each tree, as a set.
    values : ndarray of shape (n_trees, 31)
        The values of the leaves.
    """
    n_rows = len(X)
    X = X if n_rows > 1 else np.repeat(X, 2, axis=0)  # NumPy adds up one row in another order
    in_reach = np.tile(leaves, (len(X), 1))  # (n, n_trees)
    by_column = np.empty_like(in_reach)
    for table in tables:
        np.take(table.sets, table.rows(X), axis=0, out=by_column, mode="clip")
        in_reach &= by_column
    place = _exponent(in_reach)  # one leaf is left of each tree: the set 1 << place
    place += np.arange(0, values.size, _LEAVES, dtype=np.int32)  # where each tree begins
    terms = np.ascontiguousarray(values.ravel().take(place, mode="clip").T)
    total: NDArray[np.float64] = terms.sum(axis=0)[:n_rows]  # in the order of the trees
    return total


def _exponent(powers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return k for each 2ᵏ, 0 ≤ k < 31.

    A float32 holds a power of two exactly, with 127 + k in the eight bits above its 23 lowest.
    That is quicker than a logarithm, and never rounded.
    """
    return (powers.astype(np.float32).view(np.int32) >> 23) - 127


def predictor(forest: Forest, n_features: int) -> Predict | None:
    """Return LightGBM's sum of the forest's trees for rows; None without LightGBM."""
    lightgbm = find_lightgbm()
    if lightgbm is None:
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


_MOST_NODES = 1 << 24  # of a stored forest; a row passes fewer


def stored_forest(arrays: Mapping[str, NDArray[Any]], n_features: int) -> Forest:
    """Return the forest of stored arrays, or raise `InputError` if they are not one.

    Every node must be a root or the child of one node before it, so a row passes each
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


def along_paths(
    forest: Forest, rows: NDArray[np.float32], background: NDArray[np.float32]
) -> tuple[float, NDArray[np.float64]]:
    """Return the mean score of the background, and what each column adds to each row's score."""
    means = _node_means(forest, background)
    values = np.zeros(rows.shape)
    line = np.arange(len(rows))
    for root, depth in zip(forest.roots, forest.depths(), strict=True):
        node = np.full(len(rows), root, dtype=np.int32)
        for _ in range(depth):
            following = forest.step(rows, node)
            values[line, forest.feature[node]] += means[following] - means[node]
            node = following
    return float(means[forest.roots].sum()), values


def _node_means(forest: Forest, background: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean of the leaves that background rows reach through each node.

    Through a node that none of them reaches, both sides count the same.
    """
    n = len(forest.value)
    sums, counts = np.zeros(n), np.zeros(n)
    for root, depth in zip(forest.roots, forest.depths(), strict=True):
        node = np.full(len(background), root, dtype=np.int32)
        path = [node]
        for _ in range(depth):
            node = forest.step(background, node)
            path.append(node)
        reached = np.array(path)
        for level in range(len(reached)):
            new = reached[level] != reached[level - 1] if level else np.ones(len(background), bool)
            np.add.at(sums, reached[level][new], forest.value[node][new])
            np.add.at(counts, reached[level][new], 1)
    leaf = forest.left == np.arange(n)
    means = np.where(leaf, forest.value, sums / np.maximum(counts, 1))
    for one in np.flatnonzero(~leaf & (counts == 0))[::-1]:  # children come after their parent
        means[one] = (means[forest.left[one]] + means[forest.right[one]]) / 2
    return means
