"""Prefetching: while the model computes, a thread takes the next mini-batch from the disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nnpu.data.rows import WrappedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from torch import Tensor

    from nnpu.data.rows import Rows, SparseBatch

__all__ = ["prefetched"]


@contextmanager
def prefetched(rows: Rows) -> Iterator[Rows]:
    """Yield rows that are read in the background, if they are on disk; the others as they are.

    What is expected (`Rows.expect`) is taken one mini-batch ahead. The order of the batches and
    their bits are those of `rows`.

    Parameters
    ----------
    rows : Rows
        The table.

    Examples
    --------
    >>> import torch
    >>> from nnpu.data.rows import as_rows
    >>> table = as_rows(torch.zeros(3, 2))
    >>> with prefetched(table) as rows:
    ...     rows is table
    True
    """
    if not rows.on_disk:
        yield rows
        return
    with ThreadPoolExecutor(1, "nnpu-prefetch") as pool:
        ahead = _PrefetchedRows(rows, pool)
        try:
            yield ahead
        finally:
            ahead.expect([])


class _PrefetchedRows(WrappedRows):
    """Rows with one mini-batch under way."""

    def __init__(self, rows: Rows, pool: ThreadPoolExecutor) -> None:
        super().__init__(rows)
        self._pool = pool
        self._coming: Iterator[Tensor] = iter(())
        self._next: tuple[Tensor, Future[Tensor | SparseBatch]] | None = None

    def expect(self, batches: Sequence[Tensor]) -> Sequence[Tensor]:
        """Begin to take the first batch; forget what was expected before."""
        if self._next is not None:
            self._next[1].cancel()
        self._coming = iter(batches)
        self._begin()
        return batches

    def take(self, indices: Tensor) -> Tensor | SparseBatch:
        """Return the batch under way if it is this one, and begin the one after it."""
        if self._next is None or self._next[0] is not indices:
            return self.rows.take(indices)
        batch = self._next[1].result()
        self._begin()
        return batch

    def _begin(self) -> None:
        indices = next(self._coming, None)
        self._next = (
            None if indices is None else (indices, self._pool.submit(self.rows.take, indices))
        )
