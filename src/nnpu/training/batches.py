"""Line 3 of Algorithm 1: which rows make up which mini-batch, and how they are fetched.

The rows of a batch are a pure function of (seed, epoch, step), so a run can be resumed at any
step, or shared between processes, and still see the same batches. A thread takes the next batch
from the disk while the model computes; an epoch of a single batch holds the same rows every time
and is gathered once.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from nnpu.data.rows import SparseBatch, WrappedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from nnpu.data.rows import Rows

__all__ = [
    "BatchPlan",
    "SingleBatch",
    "automatic_blocks",
    "derive_seed",
    "prefetched",
]

_BLOCKS = 1_000  # a number that no sample has: the shuffle of the blocks
_WINDOW = 8  # blocks whose rows are mixed
_WHOLE = 1 << 30  # bytes: a table that takes no more is shuffled as a whole
_BLOCK = 1 << 24  # bytes of a block


def derive_seed(*keys: int) -> int:
    """Return a 63-bit seed that depends on all keys and in which no two runs of keys collide.

    Zeros at the end do not count.

    >>> derive_seed(0, 1) != derive_seed(1, 0)
    True
    """
    state = np.random.SeedSequence(keys).generate_state(1, np.uint64)
    return int(state[0]) >> 1


def automatic_blocks(rows: Rows) -> int | None:
    """Return the rows of a block for a table: None, no blocks, if it takes up to 1 GiB.

    Blocks take 16 MiB. Only the size of the table as float32 counts and not where it is kept, so
    that the same numbers in memory, in a memory map and in Parquet give the same batches.

    Examples
    --------
    >>> from nnpu.data.rows import as_rows
    >>> automatic_blocks(as_rows(torch.zeros(100, 10)))
    >>> automatic_blocks(as_rows(torch.zeros(1, 2_000).expand(400_000, -1)))
    2097
    """
    if rows.nbytes <= _WHOLE:
        return None
    return max(1, _BLOCK * len(rows) // rows.nbytes)


@dataclass(frozen=True)
class BatchPlan:
    """Shuffles P and U (and N) into mini-batches, each with its share of every sample.

    Every row is used in every epoch. Each sample is dealt out evenly, so the means over a
    batch estimate the means over the sample without bias. A sample smaller than the number of
    batches is reshuffled and dealt again until every batch holds `least` of its rows; each row is
    then used equally often. Where one batch holds all rows, it is the same tensor in every epoch.

    Parameters
    ----------
    groups : sequence of Tensor
        The row indices of each sample; empty ones are left out.
    batch_size : int
        Rows per batch, counting each row of the data once.
    seed : int
        Where the shuffles come from.
    least : int, default=1
        Rows of each sample that every batch holds at the least.
    block_rows : int or None, default=None
        None shuffles each sample as a whole. A number shuffles blocks of so many consecutive rows
        of the table, and then the rows within every 8 blocks that follow each other, so a
        stretch of batches reads only those blocks; the rows of a batch are in their order.
    rank, size : int, default=0, 1
        Which of how many processes this is; each gets every `size`-th row of every batch.

    Examples
    --------
    >>> plan = BatchPlan([torch.arange(4), torch.arange(4, 24)], batch_size=6, seed=0)
    >>> len(plan), [len(batch) for batch in plan.epoch(0)]
    (4, [6, 6, 6, 6])
    """

    groups: Sequence[Tensor]
    batch_size: int
    seed: int
    least: int = 1
    block_rows: int | None = None
    rank: int = 0
    size: int = 1

    def __len__(self) -> int:
        n_rows = sum(len(group) for group in self.groups)
        return max(1, -(-n_rows // self.batch_size))

    def epoch(self, epoch: int) -> list[Tensor]:
        """Return the row indices of every batch of an epoch, or this process's share, in order."""
        if len(self) == 1:
            return [self._all_rows]
        dealt = [
            self._deal(group, epoch, number)
            for number, group in enumerate(self.groups)
            if len(group)
        ]
        batches = [torch.cat(parts) for parts in zip(*dealt, strict=True)]
        if self.block_rows is not None:
            batches = [batch.sort().values for batch in batches]
        return [batch[self.rank :: self.size] for batch in batches]

    @cached_property
    def _all_rows(self) -> Tensor:
        return torch.cat(list(self.groups)).sort().values[self.rank :: self.size]

    def _deal(self, group: Tensor, epoch: int, number: int) -> Sequence[Tensor]:
        generator = np.random.default_rng([self.seed, epoch, number])
        times = max(1, -(-len(self) * min(self.least, len(group)) // len(group)))
        windows = None if self.block_rows is None else self._windows(group, epoch)
        order = np.concatenate(
            [
                generator.permutation(len(group))
                if windows is None
                else np.argsort(windows + generator.random(len(group)))
                for _ in range(times)
            ]
        )
        return group[torch.from_numpy(order)].tensor_split(len(self))

    def _windows(self, group: Tensor, epoch: int) -> NDArray[np.int64]:
        """When each row's block is read: the same order of blocks for all samples."""
        assert self.block_rows is not None
        block = group.numpy() // self.block_rows
        n_blocks = 1 + max(int(rows.max()) for rows in self.groups if len(rows)) // self.block_rows
        turn = np.random.default_rng([self.seed, epoch, _BLOCKS]).permutation(n_blocks)
        windows: NDArray[np.int64] = turn[block] // _WINDOW
        return windows


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
