"""Blocks of consecutive rows of a matrix in memory, dense or in compressed rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BLOCK", "row_blocks"]

BLOCK = 2**22  # bytes of a block of features: near the size of a cache


def row_blocks(X: Any, width: int, dtype: type[Any] = np.float64) -> Iterator[tuple[slice, Any]]:
    """Yield slices of X whose features fill about one block; CSR slices share X's memory.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows.
    width : int
        Numbers of type `dtype` that are made of each row.
    dtype : type
        Their type.

    Examples
    --------
    >>> [rows for rows, _ in row_blocks(np.zeros((100, 3)), width=10_000)]
    [slice(0, 64, None), slice(64, 100, None)]
    """
    n = X.shape[0]
    per_row = X.nnz // max(n, 1) + 1 if sparse.issparse(X) else X.shape[1]
    step = max(BLOCK // (np.dtype(dtype).itemsize * max(width, per_row, 1)), 64)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows, _csr_rows(X, rows) if sparse.issparse(X) else X[rows]


def _csr_rows(X: Any, rows: slice) -> Any:
    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    parts = (
        X.data[first:last],
        X.indices[first:last],
        X.indptr[rows.start : rows.stop + 1] - first,
    )
    return sparse.csr_array(parts, shape=(rows.stop - rows.start, X.shape[1]))
