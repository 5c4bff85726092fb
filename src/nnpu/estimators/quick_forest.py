"""Scores of many rows by LightGBM's own predictor: the same bits as `Forest`, in less time.

The predictor reads text, and trusts it. What it reads here was written from arrays that `Forest`
has checked, or made itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.forest import Forest

    Predict = Callable[..., NDArray[np.float64]]

__all__ = ["predictor"]

_NUMBER, _NUMBER_NAN_LEFT, _CATEGORY = 8, 10, 1  # LightGBM's decision types, NaN being missing


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
    return "\n".join(f"{name}={_joined(values)}" for name, values in lines.items())


def _joined(values: Sequence[Any]) -> str:
    return " ".join(map(str, values))
