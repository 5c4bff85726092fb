"""Numbers as people pass them, as checked arrays; rows of a matrix in blocks.

NaN and infinity are found block by block and named by row and column, before any training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.data.rows import Rows, SparseBatch
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "BLOCK",
    "as_array",
    "as_floats",
    "as_vector",
    "check_finite",
    "mean_and_scale",
    "row_blocks",
]

BLOCK = 2**22  # bytes of a block of features: near the size of a cache
_LARGEST = 1e100  # squares of larger numbers overflow


def as_array(x: Any) -> Any:
    """Return a torch tensor as a NumPy array, without importing torch; anything else as it is.

    NumPy has no bfloat16, so half types become float32.
    """
    if not hasattr(x, "detach"):
        return x
    if getattr(x, "is_meta", False):
        raise InputError("A tensor on the meta device holds no numbers; put it on another device.")
    tensor = x.detach().cpu()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()
    return tensor.numpy()


def as_floats(values: Any, name: str, owner: str) -> NDArray[np.float64]:
    """Return numbers in an array of any shape as float64; `InputError` for anything else.

    >>> as_floats([["a"]], "scores", "pu_roc_auc")
    Traceback (most recent call last):
    nnpu.parameters.InputError: pu_roc_auc: scores must be a list of numbers (values of type <U1).
    """
    try:
        array = np.asarray(as_array(values))
        if array.dtype.kind not in "biufO":
            raise TypeError(f"values of type {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{owner}: {name} must be a list of numbers ({error}).") from error


def as_vector(values: Any, name: str, owner: str) -> NDArray[np.float64]:
    """Return one finite number per row, or say what is wrong with them.

    Parameters
    ----------
    values : array-like or tensor of shape (n,) or (n, 1)
        Numbers or truth values.
    name, owner : str
        What they are and who asks, for messages.

    Raises
    ------
    InputError
        If there are none, or they are not numbers, not finite, or beyond ±1e100.

    Examples
    --------
    >>> as_vector([True, 2], "scores", "pu_roc_auc")
    array([1., 2.])
    >>> as_vector([1.0, None], "scores", "pu_roc_auc")
    Traceback (most recent call last):
    nnpu.parameters.InputError: pu_roc_auc: scores holds NaN or infinite values; remove those rows.
    """
    vector = as_floats(values, name, owner)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.size == 0:
        raise InputError(f"{owner}: {name} has 0 rows.")
    if vector.ndim != 1:
        raise InputError(f"{owner}: {name} must be a list of numbers; its shape is {vector.shape}.")
    if not np.isfinite(vector).all():
        raise InputError(f"{owner}: {name} holds NaN or infinite values; remove those rows.")
    if np.abs(vector).max() > _LARGEST:
        raise InputError(f"{owner}: {name} holds values beyond 1e100; scale them down.")
    return vector


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


def mean_and_scale(
    x: NDArray[np.float64], least: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column of a matrix in memory, without its gaps.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        With NaN for gaps; a column of gaps has the mean 0.
    least : float
        A column whose deviation is no greater is taken for constant and has the scale 1.

    Examples
    --------
    >>> mean_and_scale(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]]))
    (array([2., 5.]), array([1., 1.]))
    """
    known = ~np.isnan(x)
    if known.all():
        mean, deviation = x.mean(axis=0), x.std(axis=0)
    else:
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, x, 0).sum(axis=0) / count
        deviation = np.sqrt((np.where(known, x - mean, 0) ** 2).sum(axis=0) / count)
    return mean, np.where(deviation > least, deviation, 1.0)


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
