"""Rows of features as the training loop wants them: mini-batches of float32, taken by index.

The whole table is never copied or made dense: `Rows.take` touches the rows it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

__all__ = ["ChosenRows", "DenseRows", "Rows", "SparseBatch", "SparseRows", "as_rows"]


class SparseBatch(NamedTuple):
    """A mini-batch in compressed rows, the form that an embedding bag takes.

    ``values[offsets[i]:offsets[i + 1]]`` are the non-zeros of row i, in the columns ``indices``.
    """

    indices: Tensor  # (nnz,) int64
    offsets: Tensor  # (n,) int64
    values: Tensor  # (nnz,) float32
    n_features: int

    def to(self, device: torch.device) -> SparseBatch:
        """Return the batch on another device."""
        return SparseBatch(
            self.indices.to(device),
            self.offsets.to(device),
            self.values.to(device),
            self.n_features,
        )

    def to_dense(self) -> Tensor:
        """Return the batch as an ordinary matrix of shape (n, n_features)."""
        n = len(self.offsets)
        ends = torch.cat([self.offsets[1:], self.offsets.new_tensor([len(self.indices)])])
        row = torch.repeat_interleave(torch.arange(n, device=ends.device), ends - self.offsets)
        dense = self.values.new_zeros(n, self.n_features)
        return dense.index_put((row, self.indices), self.values, accumulate=True)


class Rows(ABC):
    """A table of which any rows can be had as a mini-batch."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def take(self, indices: Tensor) -> Tensor | SparseBatch:
        """Return the rows of these indices, a tensor of shape (n,), as a float32 mini-batch."""


class DenseRows(Rows):
    """Rows of an array of shape (n, …): a tensor, or an array that may live on disk."""

    def __init__(self, x: Tensor | np.ndarray[Any, Any]) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def take(self, indices: Tensor) -> Tensor:
        """Gather the rows; an array on disk is read only there."""
        if isinstance(self.x, Tensor):
            return self.x.index_select(0, indices.to(self.x.device)).to(torch.float32)
        return torch.from_numpy(np.asarray(self.x[indices.numpy()], dtype=np.float32))


class SparseRows(Rows):
    """Rows of a SciPy matrix in CSR form."""

    def __init__(self, x: sparse.csr_array[Any]) -> None:
        self.x = x

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def take(self, indices: Tensor) -> SparseBatch:
        """Gather the rows, still compressed."""
        rows = self.x[indices.numpy()]
        return SparseBatch(
            torch.from_numpy(rows.indices.astype(np.int64)),
            torch.from_numpy(rows.indptr[:-1].astype(np.int64)),
            torch.from_numpy(rows.data.astype(np.float32)),
            int(rows.shape[1]),
        )


class ChosenRows(Rows):
    """Some rows of a table, in a given order and perhaps more than once, without a copy.

    Parameters
    ----------
    rows : Rows
        The table.
    index : Tensor of shape (n,)
        The row of the table behind each of the n rows.
    """

    def __init__(self, rows: Rows, index: Tensor) -> None:
        self.rows, self.index = rows, index

    def __len__(self) -> int:
        return len(self.index)

    def take(self, indices: Tensor) -> Tensor | SparseBatch:
        """Gather from the table behind."""
        return self.rows.take(self.index[indices])


def as_rows(x: Any) -> Rows:
    """Wrap an array, a tensor or a SciPy sparse matrix.

    A NumPy array in memory becomes a tensor that shares it where it can (float32, writeable,
    contiguous); a read-only or memory-mapped one stays an array, read when rows are taken.

    Examples
    --------
    >>> import numpy as np, torch
    >>> as_rows(np.eye(3, dtype=np.float32)).take(torch.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if isinstance(x, Rows):
        return x
    if sparse.issparse(x):
        return SparseRows(sparse.csr_array(x))
    if isinstance(x, Tensor):
        return DenseRows(x.detach())
    array = np.asarray(x) if not isinstance(x, np.ndarray) else x
    if isinstance(array, np.memmap) or not array.flags.writeable:
        return DenseRows(array)
    return DenseRows(torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)))
