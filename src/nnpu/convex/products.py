"""Products of blocks of features, dense or sparse.

Dense ones are torch's, imported when there is one: two libraries with threads of their own get in
each other's way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["add_gram", "column_sums", "mirror", "product"]

_STRIP = 100  # columns that are worth a product of their own


def product(block: Any, other: Floats) -> Floats:
    """Return a block of features, or one turned over, times a vector or a matrix."""
    if sparse.issparse(block):
        return np.asarray(block @ other)
    import torch

    return torch.matmul(torch.from_numpy(block), torch.from_numpy(other)).numpy()


def column_sums(block: Any) -> Floats:
    """Return the sum of each column of a block of features."""
    if sparse.issparse(block):
        return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    import torch

    features = torch.from_numpy(block)
    sums = features.new_ones(1, len(features)) @ features
    return sums[0].double().numpy()


def add_gram(block: Any, matrix: Floats) -> None:
    """Add the upper triangle of blockᵀ block to that of a matrix, in place.

    A dense block is taken in up to four strips of columns, each of which meets only itself and
    those to its right. `mirror` makes the matrix whole when all blocks are in.

    >>> matrix = np.ones((2, 2))
    >>> add_gram(np.array([[1.0, 2.0]]), matrix)
    >>> mirror(matrix)
    >>> matrix
    array([[2., 3.],
           [3., 5.]])
    """
    if sparse.issparse(block):
        matrix += (block.T @ block).toarray()
        return
    import torch

    features, sums = torch.from_numpy(block), torch.from_numpy(matrix)
    size = features.shape[1]
    step = -(-size // min(max(size // _STRIP, 1), 4))
    for start in range(0, size, step):
        strip = features[:, start : start + step]
        sums[start : start + step, start:].add_(strip.T @ features[:, start:])


def mirror(matrix: Floats) -> None:
    """Put the upper triangle of a matrix in place of its lower one."""
    for row in range(1, len(matrix)):
        matrix[row, :row] = matrix[:row, row]
