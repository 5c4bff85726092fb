"""Sums over the rows of a block of features, dense or sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

__all__ = ["column_sums", "gram"]


def column_sums(block: Any) -> NDArray[np.float64]:
    """Return the sum of each column of a block of features.

    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    if sparse.issparse(block):
        return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    ones = np.ones(len(block), block.dtype)
    return np.asarray(ones @ block, np.float64)  # quicker than .sum()


def gram(block: Any) -> Floats:
    """Return blockᵀ block, of which NumPy computes one triangle.

    >>> gram(np.array([[1.0, 2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    product = block.T @ block
    return np.asarray(product.toarray() if sparse.issparse(product) else product)
