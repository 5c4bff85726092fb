"""The score of a row, divided among the comparisons on its way through boosted trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.forest import Forest

__all__ = ["along_paths"]


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
