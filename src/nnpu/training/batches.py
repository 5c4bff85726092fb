"""Line 3 of Algorithm 1: which rows make up which mini-batch.

The rows of a batch are a pure function of (seed, epoch, step), so that a run can be resumed at any
step, or shared between processes, and still see the same batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BatchPlan", "derive_seed"]


def derive_seed(*keys: int) -> int:
    """Return a 63-bit seed that depends on all keys and in which no two runs of keys collide.

    Zeros at the end do not count.

    >>> derive_seed(0, 1) != derive_seed(1, 0)
    True
    """
    state = np.random.SeedSequence(keys).generate_state(1, np.uint64)
    return int(state[0]) >> 1


@dataclass(frozen=True)
class BatchPlan:
    """Shuffles P and U (and N) into mini-batches, each with its share of every sample.

    Every row is used in every epoch. Each sample is dealt out evenly, so that the means over a
    batch estimate the means over the sample without bias. A sample smaller than the number of
    batches is reshuffled and dealt again until every batch holds `least` of its rows; each row is
    then used equally often.

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
    rank: int = 0
    size: int = 1

    def __len__(self) -> int:
        n_rows = sum(len(group) for group in self.groups)
        return max(1, -(-n_rows // self.batch_size))

    def epoch(self, epoch: int) -> list[Tensor]:
        """Return the row indices of every batch of an epoch, or this process's share, in order."""
        dealt = [
            self._deal(group, np.random.default_rng([self.seed, epoch, number]))
            for number, group in enumerate(self.groups)
            if len(group)
        ]
        batches = (torch.cat(parts) for parts in zip(*dealt, strict=True))
        return [batch[self.rank :: self.size] for batch in batches]

    def _deal(self, group: Tensor, generator: np.random.Generator) -> Sequence[Tensor]:
        times = max(1, -(-len(self) * min(self.least, len(group)) // len(group)))
        order = np.concatenate([generator.permutation(len(group)) for _ in range(times)])
        return group[torch.from_numpy(order)].tensor_split(len(self))
