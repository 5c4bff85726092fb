"""What is trained on: rows, their PU labels, and which rows belong to which sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from nnpu.training.batches import derive_seed

if TYPE_CHECKING:
    from nnpu.data.rows import Rows

__all__ = ["TrainingSample"]


class TrainingSample:
    """Rows of features with PU labels.

    Parameters
    ----------
    rows : Rows
        The features.
    s : Tensor of shape (n,)
        1 labelled positive, 0 unlabelled, −1 known negative.
    index : Tensor, optional
        The rows to use; default all.
    """

    def __init__(self, rows: Rows, s: Tensor, index: Tensor | None = None) -> None:
        self.rows = rows
        self.s = s
        self.index = torch.arange(len(s)) if index is None else index

    def __len__(self) -> int:
        return len(self.index)

    @property
    def groups(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row indices of P, U and N."""
        labels = self.s[self.index]
        p, u, n = (self.index[labels == value] for value in (1, 0, -1))
        return p, u, n

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of P, U and N in the sample."""
        p, u, n = (len(group) / len(self) for group in self.groups)
        return p, u, n

    def split(self, fraction: float, seed: int) -> tuple[TrainingSample, TrainingSample]:
        """Set a fraction of P, of U and of N aside; return what is left and what was set aside.

        A sample of two rows or more keeps at least one on either side.
        """
        kept, held = [], []
        for number, group in enumerate(self.groups):
            generator = np.random.default_rng(derive_seed(seed, number))
            order = group[torch.from_numpy(generator.permutation(len(group)))]
            n_held = min(max(round(fraction * len(group)), 1), max(len(group) - 1, 0))
            held.append(order[:n_held])
            kept.append(order[n_held:])
        return (
            TrainingSample(self.rows, self.s, torch.cat(kept).sort().values),
            TrainingSample(self.rows, self.s, torch.cat(held).sort().values),
        )
