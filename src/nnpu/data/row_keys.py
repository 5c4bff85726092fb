"""A number for each row of a matrix, equal for equal rows."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["equal_rows", "row_keys"]


def row_keys(x: Any) -> NDArray[np.uint64]:
    """Return 64 bits for each row: the same in every process, different for different rows.

    Parameters
    ----------
    x : ndarray or sparse matrix of shape (n, d)
        Numbers, taken as float32; all NaN are equal.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if sp.issparse(x):
        x = sp.csr_array(x, dtype=np.float32, copy=True)
        x.sum_duplicates()
        x.eliminate_zeros()
        indices, data = x.indices.astype(np.int64), np.where(np.isnan(x.data), np.nan, x.data)
        spans = zip(x.indptr[:-1], x.indptr[1:], strict=True)
        rows = (indices[i:j].tobytes() + data[i:j].tobytes() for i, j in spans)
        # Not Python's hash(), which differs from one process to the next.
        digests = b"".join(blake2b(row, digest_size=8).digest() for row in rows)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    # Sums of the columns' bits times odd numbers, modulo 2^64.
    odd = np.random.default_rng(0).integers(1, 1 << 63, x.shape[1], dtype=np.uint64) | 1
    keys = np.zeros(len(x), dtype=np.uint64)
    for j, number in enumerate(odd):
        column = np.asarray(x[:, j], np.float32) + np.float32(0)  # −0 becomes 0
        bits = np.where(np.isnan(column), np.float32(np.nan), column).view(np.uint32)
        keys += bits * number
    return keys


def equal_rows(x: Any) -> NDArray[np.intp] | None:
    """Return a number for each row, equal for equal rows; None if all rows differ."""
    values, groups = np.unique(row_keys(x), return_inverse=True)
    return None if len(values) == len(groups) else groups
