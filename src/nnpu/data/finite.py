"""NaN and infinity, found block by block and named by row and column, before any training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.data.rows import Rows, SparseBatch
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["check_finite"]

_BLOCK = 1 << 24  # bytes looked at together


def check_finite(x: Any) -> None:
    """Raise `InputError` at the first value that is NaN, infinite or beyond float32.

    Parameters
    ----------
    x : ndarray, CSR matrix or Rows
        They may be on disk: a block of them is read at a time.

    Examples
    --------
    >>> x = np.zeros((400_000, 2), dtype=np.float32)
    >>> x[399_999, 1] = np.nan
    >>> check_finite(x)
    Traceback (most recent call last):
    nnpu.parameters.InputError: Input X contains NaN: row 399,999, column 1 (counted from 0).
    """
    # float64 that float32 cannot hold is an error and no warning
    with np.errstate(over="ignore", invalid="ignore"):
        for start, block in _blocks(x):
            values = np.asarray(block.data if sparse.issparse(block) else block)
            # the sum is quicker
            if not np.isfinite(values.sum()) and not np.isfinite(values).all():
                raise _fault(block, start)


def _blocks(x: Any) -> Iterator[tuple[int, Any]]:
    """Yield the first row and the float32 numbers of each block: an array or a CSR matrix."""
    if sparse.issparse(x):
        yield 0, x  # in memory as it is
        return
    n = len(x)
    size = x.nbytes if isinstance(x, Rows) else 4 * x.size
    step = max(1, _BLOCK * n // max(1, size))
    for start in range(0, n, step):
        stop = min(start + step, n)
        block = x.block(start, stop) if isinstance(x, Rows) else x[start:stop]
        if isinstance(block, SparseBatch):
            ends = np.append(block.offsets.numpy(), len(block.indices))
            parts = block.values.numpy(), block.indices.numpy(), ends
            yield start, sparse.csr_array(parts, shape=(stop - start, block.n_features))
        else:
            yield start, np.asarray(block).astype(np.float32, copy=False)


def _fault(block: Any, first: int) -> InputError:
    """Return the error that names the first bad value of a block."""
    rest: tuple[int, ...]
    if sparse.issparse(block):
        place = int(np.flatnonzero(~np.isfinite(block.data))[0])
        row = int(np.searchsorted(block.indptr, place, side="right")) - 1
        value, rest = block.data[place], (int(block.indices[place]),)
    else:
        at: NDArray[np.intp] = np.argwhere(~np.isfinite(block))[0]
        row, *others = at.tolist()
        value, rest = block[tuple(at)], tuple(others)
    what = "NaN" if np.isnan(value) else "infinity or a value too large for dtype('float32')"
    where = f"column {rest[0]:,}" if len(rest) == 1 else f"place {rest}"
    return InputError(f"Input X contains {what}: row {first + row:,}, {where} (counted from 0).")
