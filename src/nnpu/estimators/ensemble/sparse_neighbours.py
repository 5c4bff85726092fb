"""Rows of U that share rare words: what one is, the other likely is too."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["nearest", "smoothed"]

_NEIGHBOURS = 10
_PRODUCTS = 2e7  # that the cosines may take: about a second
_BLOCK = 1000  # rows whose cosines with others are in memory


def nearest(x: Any, k: int = _NEIGHBOURS, products: float = _PRODUCTS) -> sp.csr_array:
    """Return for each row the rows with the greatest cosines, k at most, weighted by its square.

    The cosines are those of the rarest columns, as many as the products allow: on text they are
    better than those of all columns. The weights of a row sum to 1, or to 0 if it has no neighbour.

    Parameters
    ----------
    x : sparse matrix of shape (n, d)
    k : int
    products : float
        A column with m entries takes m² of them.

    Returns
    -------
    sparse array of shape (n, n)

    Examples
    --------
    >>> x = sp.csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 2, 0], [0, 0, 3]]))
    >>> nearest(x).toarray().round(2)
    array([[0. , 1. , 0. , 0. ],
           [0.5, 0. , 0.5, 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    from sklearn.preprocessing import normalize

    n = x.shape[0]
    unit = sp.csr_array(normalize(x)).astype(np.float32)
    entries = np.bincount(unit.indices, minlength=unit.shape[1]).astype(np.float64)
    order = np.argsort(entries, kind="stable")
    rare = np.sort(order[np.cumsum(entries[order] ** 2) <= products])
    unit = unit[:, rare[entries[rare] > 1]]
    turned = unit.T.tocsr()
    found, lengths = [], []
    for start in range(0, n, _BLOCK):
        part = unit[start : start + _BLOCK] @ turned
        row = start + np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        part.data[part.indices == row] = 0  # a row is not its own neighbour
        for i, j in pairwise(part.indptr):
            top = i + np.argpartition(part.data[i:j], -k)[-k:] if j - i > k else np.arange(i, j)
            found.append((part.indices[top], part.data[top]))
            lengths.append(len(top))
    columns, cosines = (np.concatenate(one) for one in zip(*found, strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    links = sp.csr_array((np.maximum(cosines, 0).astype(np.float64) ** 2, columns, ends), (n, n))
    links.eliminate_zeros()
    total = links.sum(axis=1)
    links.data /= np.repeat(total, np.diff(links.indptr))
    return links


def smoothed(
    labels: NDArray[np.float64],
    known: NDArray[np.bool_],
    links: sp.csr_array,
    share: float = 0.7,
    steps: int = 5,
) -> NDArray[np.float64]:
    """Mix labels with those of the neighbours, a few times; known rows keep theirs.

    Examples
    --------
    >>> links = nearest(sp.csr_array(np.array([[1.0, 0], [1.0, 0], [0, 1.0]])))
    >>> smoothed(np.array([1, 0.5, 0.5]), np.array([True, False, False]), links)
    array([1.  , 0.85, 0.5 ])
    """
    free = share * (links.sum(axis=1) > 0) * ~known
    mixed = labels
    for _ in range(steps):
        mixed = (1 - free) * labels + free * (links @ mixed)
    return mixed
