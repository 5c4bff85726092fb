"""Rows of features as the training loop wants them: mini-batches of float32, taken by index.

The whole table is never copied or made dense: `Rows.take` touches the rows it is asked for, so
the table may be larger than memory. Torch is imported when rows are taken.
"""

from __future__ import annotations

import math
import mmap
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from nnpu.extras import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from torch import Tensor

__all__ = [
    "ChosenRows",
    "DenseRows",
    "Rows",
    "SparseBatch",
    "SparseRows",
    "WrappedRows",
    "as_rows",
    "is_mapped",
]


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
        import torch

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

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The number of rows, then the shape of one: for a table the number of features."""

    @property
    @abstractmethod
    def on_disk(self) -> bool:
        """Whether rows are read from a file when they are taken."""

    @property
    def nbytes(self) -> int:
        """What all rows take as mini-batches, wherever they are kept."""
        return 4 * math.prod(self.shape)

    @abstractmethod
    def take(self, indices: Tensor) -> Tensor | SparseBatch:
        """Return the rows of these indices, a tensor of shape (n,), as a float32 mini-batch."""

    def block(self, start: int, stop: int) -> Tensor | SparseBatch:
        """Return the rows from `start` to `stop`, to be read only: they may be the table's own."""
        need("torch", extra="torch", owner=type(self).__name__)
        import torch

        return self.take(torch.arange(start, stop))

    def expect(self, batches: Sequence[Tensor]) -> Sequence[Tensor]:
        """Note which rows are taken next, to prefetch them, and return these."""
        return batches


class DenseRows(Rows):
    """Rows of an array of shape (n, …): a tensor, or an array that may live on disk."""

    def __init__(self, x: Tensor | np.ndarray[Any, Any]) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's."""
        return tuple(self.x.shape)

    @property
    def on_disk(self) -> bool:
        """Whether the array is a map of a file."""
        return is_mapped(self.x)

    def take(self, indices: Tensor) -> Tensor:
        """Gather the rows; an array on disk is read only there."""
        import torch

        if not isinstance(self.x, np.ndarray):
            return self.x.index_select(0, indices.to(self.x.device)).to(torch.float32)
        # `take` lets other threads compute meanwhile; indexing by brackets does not.
        rows = self.x.take(indices.numpy(), axis=0)
        return torch.from_numpy(rows.astype(np.float32, copy=False))

    def block(self, start: int, stop: int) -> Tensor | SparseBatch:
        """A slice of a tensor; a copy of an array."""
        import torch

        if not isinstance(self.x, np.ndarray):
            return self.x[start:stop].to(torch.float32)
        return super().block(start, stop)


class SparseRows(Rows):
    """Rows of a SciPy matrix in CSR form."""

    def __init__(self, x: sparse.csr_array[Any]) -> None:
        self.x = x

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The matrix's."""
        return tuple(self.x.shape)

    @property
    def on_disk(self) -> bool:
        """Whether the non-zeros are in a map of a file."""
        return is_mapped(self.x.data)

    @property
    def nbytes(self) -> int:
        """A value and a column for each non-zero, and where each row begins."""
        return 12 * int(self.x.nnz) + 8 * len(self)

    def take(self, indices: Tensor) -> SparseBatch:
        """Gather the rows, still compressed."""
        import torch

        rows = self.x[indices.numpy()]
        return SparseBatch(
            torch.from_numpy(rows.indices.astype(np.int64)),
            torch.from_numpy(rows.indptr[:-1].astype(np.int64)),
            torch.from_numpy(rows.data.astype(np.float32)),
            int(rows.shape[1]),
        )


class WrappedRows(Rows):
    """The rows of another table, which a subclass takes in a way of its own.

    Parameters
    ----------
    rows : Rows
        The table.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's."""
        return self.rows.shape

    @property
    def on_disk(self) -> bool:
        """Whether the table is."""
        return self.rows.on_disk

    @property
    def nbytes(self) -> int:
        """The table's."""
        return self.rows.nbytes


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

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of chosen rows, and the table's shape of one."""
        return (len(self.index), *self.rows.shape[1:])

    @property
    def on_disk(self) -> bool:
        """Whether the table is."""
        return self.rows.on_disk

    @property
    def nbytes(self) -> int:
        """As much of the table's as was chosen of its rows."""
        return self.rows.nbytes * len(self) // max(1, len(self.rows))

    def take(self, indices: Tensor) -> Tensor | SparseBatch:
        """Gather from the table behind."""
        return self.rows.take(self.index[indices])


def is_mapped(array: Any) -> bool:
    """Return whether an array, or what it is a view of, is a map of a file.

    Examples
    --------
    >>> import numpy as np
    >>> is_mapped(np.zeros(3))
    False
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return isinstance(array, mmap.mmap)


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
    need("torch", extra="torch", owner="as_rows")
    import torch

    if sparse.issparse(x):
        return SparseRows(sparse.csr_array(x))
    if isinstance(x, torch.Tensor):
        return DenseRows(x.detach())
    array = np.asarray(x) if not isinstance(x, np.ndarray) else x
    if is_mapped(array) or not array.flags.writeable:
        return DenseRows(array)
    return DenseRows(torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)))
