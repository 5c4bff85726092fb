"""A number for each row of a matrix, equal for equal rows."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["equal_rows", "row_keys"]

_INTEGERS = 2.0**24  # float32 holds all integers up to here


def row_keys(x: Any) -> NDArray[np.uint64]:
    """Return 64 bits for each row: the same in every process, different for different rows.

    Parameters
    ----------
    x : ndarray or sparse matrix of shape (n, d)
        Numbers, taken as float32 up to 2^24 and as float64 beyond, where float32 does not even hold
        integers. All NaN are equal.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if sp.issparse(x):
        x = sp.csr_array(x, dtype=np.float64, copy=True)
        x.sum_duplicates()
        x.eliminate_zeros()
        indices, data = x.indices.astype(np.int64), _single(x.data)
        spans = zip(x.indptr[:-1], x.indptr[1:], strict=True)
        rows = (indices[i:j].tobytes() + data[i:j].tobytes() for i, j in spans)
        # Not Python's hash(), which differs from one process to the next.
        digests = b"".join(blake2b(row, digest_size=8).digest() for row in rows)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    # Sums of numbers that depend on all bits of a cell, one law for each column, modulo 2^64.
    odd = np.random.default_rng(0).integers(1, 1 << 63, (x.shape[1], 2), dtype=np.uint64) | 1
    keys = np.zeros(len(x), dtype=np.uint64)
    for j, (first, second) in enumerate(odd):
        bits = _single(np.asarray(x[:, j], np.float64)).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * first
        keys += (bits ^ (bits >> np.uint64(29))) * second
    return keys


def _single(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers as float32 holds them if they are small enough; −0 is 0, all NaN are equal."""
    with np.errstate(over="ignore"):
        single = column.astype(np.float32).astype(np.float64) + 0.0
    values: NDArray[np.float64] = np.where(np.abs(column) > _INTEGERS, column, single)
    values[np.isnan(values)] = np.nan
    return values


def equal_rows(x: Any) -> NDArray[np.intp] | None:
    """Return a number for each row, equal for equal rows; None if all rows differ."""
    values, groups = np.unique(row_keys(x), return_inverse=True)
    return None if len(values) == len(groups) else groups
