"""NaN and infinity, found block by block and named by row and column, before any training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from nnpu.data.rows import SparseBatch
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from nnpu.data.rows import Rows

__all__ = ["check_finite"]

_BLOCK = 1 << 24  # bytes looked at together


def check_finite(rows: Rows) -> None:
    """Raise `InputError` at the first value that is NaN, infinite or beyond float32.

    Parameters
    ----------
    rows : Rows
        They may be on disk: a block of them is read at a time.

    Examples
    --------
    >>> from nnpu.data.rows import as_rows
    >>> x = np.zeros((400_000, 2), dtype=np.float32)
    >>> x[399_999, 1] = np.nan
    >>> check_finite(as_rows(x))
    Traceback (most recent call last):
    nnpu.parameters.InputError: Input X contains NaN: row 399,999, column 1 (counted from 0).
    """
    per_block = max(1, _BLOCK * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), per_block):
        with np.errstate(over="ignore"):  # float64 on disk that float32 cannot hold
            batch = rows.block(start, min(start + per_block, len(rows)))
        values = batch.values if isinstance(batch, SparseBatch) else batch
        if not values.sum().isfinite() and not values.isfinite().all():  # the sum is quicker
            raise _fault(batch, start)


def _fault(batch: Tensor | SparseBatch, first: int) -> InputError:
    """Return the error that names the first bad value of a block."""
    if isinstance(batch, SparseBatch):
        place = int((~batch.values.isfinite()).nonzero()[0])
        row = int(torch.searchsorted(batch.offsets, place, right=True)) - 1
        value, rest = batch.values[place], [int(batch.indices[place])]
    else:
        row, *rest = (~batch.isfinite()).nonzero()[0].tolist()
        value = batch[(row, *rest)]
    what = "NaN" if value.isnan() else "infinity or a value too large for dtype('float32')"
    where = f"column {rest[0]:,}" if len(rest) == 1 else f"place {tuple(rest)}"
    return InputError(f"Input X contains {what}: row {first + row:,}, {where} (counted from 0).")
