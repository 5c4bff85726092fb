"""Epochs of a single mini-batch: it holds the same rows every time, and is gathered once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.data.rows import SparseBatch, WrappedRows

if TYPE_CHECKING:
    from torch import Tensor

    from nnpu.data.rows import Rows

__all__ = ["SingleBatch"]


class SingleBatch(WrappedRows):
    """Rows of which the same ones are taken again and again.

    What was gathered is kept until others are taken, or until a model has written to it.

    Examples
    --------
    >>> import torch
    >>> from nnpu.data.rows import as_rows
    >>> rows, both = SingleBatch(as_rows(torch.zeros(2, 3))), torch.arange(2)
    >>> rows.take(both) is rows.take(both)
    True
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._kept: tuple[Tensor, Tensor | SparseBatch, int] | None = None

    def take(self, indices: Tensor) -> Tensor | SparseBatch:
        """Return the rows of these indices, gathered before if they are the same tensor."""
        if self._kept is not None:
            before, batch, version = self._kept
            if before is indices and _version(batch) == version:
                return batch
        batch = self.rows.take(indices)
        self._kept = indices, batch, _version(batch)
        return batch


def _version(batch: Tensor | SparseBatch) -> int:
    """Return how often a batch was written to."""
    return (batch.values if isinstance(batch, SparseBatch) else batch)._version
