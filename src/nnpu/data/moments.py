"""The mean and the spread of every feature, by one pass over rows wherever they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nnpu.data.rows import SparseBatch

if TYPE_CHECKING:
    from nnpu.data.rows import Rows

__all__ = ["feature_scale"]


def feature_scale(rows: Rows) -> tuple[Tensor, Tensor]:
    """Return the mean and the standard deviation of every feature; a constant one has scale 1.

    Sparse rows are not centred: their mean is given as 0 and their scale is the root mean square.

    Examples
    --------
    >>> from nnpu.data.rows import as_rows
    >>> import numpy as np
    >>> feature_scale(as_rows(np.array([[1.0, 5.0], [3.0, 5.0]])))
    (tensor([2., 5.]), tensor([1., 1.]))
    """
    total: Tensor | None = None
    fit = (1 << 24) * len(rows) // max(1, rows.nbytes)  # into 16 MiB, of which float64 makes more
    step = min(8_192, max(1, fit))
    for start in range(0, len(rows), step):
        batch = rows.block(start, min(start + step, len(rows)))
        sums = _moments(batch)
        total = sums if total is None else total + sums
        centred = isinstance(batch, Tensor)
    assert total is not None
    mean, square = total / len(rows)
    if not centred:
        mean = torch.zeros_like(mean)
    variance = (square - mean**2).clamp(min=0)
    # Less than the rounding error of the two moments is no variance at all.
    scale = torch.where(variance > 1e-12 * square, variance.sqrt(), 1.0)
    return mean.float(), scale.float()


def _moments(batch: Tensor | SparseBatch) -> Tensor:
    """Sums and sums of squares per feature in float64, shape (2, n_features)."""
    if isinstance(batch, SparseBatch):
        values = batch.values.double()
        sums = torch.zeros(2, batch.n_features, dtype=torch.float64)
        return sums.index_add(1, batch.indices, torch.stack([values, values**2]))
    x = batch.double()
    return torch.stack([x.sum(dim=0), (x**2).sum(dim=0)])
