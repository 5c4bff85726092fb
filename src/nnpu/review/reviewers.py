"""Two reviewers: how far they agree beyond chance, and the answers that both support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu.data.vectors import as_floats
from nnpu.parameters import InputError
from nnpu.review.audits import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from nnpu.review.draws import FloatArray

__all__ = ["Agreement", "agreement"]

_Z = 1.6448536269514722  # the 95 % point of the normal distribution


@dataclass(frozen=True, eq=False)
class Agreement:
    """How two reviewers agree.

    Attributes
    ----------
    kappa : Estimate
        Cohen's κ with a 90 % interval: 1 full agreement, 0 no more than chance. NaN if both gave
        one and the same answer to every row.
    agreed : int
        Rows to which both gave the same clear answer.
    rows : int
        Rows to which both gave a clear answer.
    merged : array
        The answers for an audit: don't know where the two differ, so that the interval covers
        both; a clear answer where only one of them knew.
    """

    kappa: Estimate
    agreed: int
    rows: int
    merged: FloatArray


def agreement(first: ArrayLike, second: ArrayLike) -> Agreement:
    """Compare the answers of two reviewers to the same rows.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        1 yes, 0 no, NaN don't know.

    Returns
    -------
    Agreement

    Notes
    -----
    The interval is the wider of two: the large-sample one of Fleiss, Cohen and Everitt (1969), and
    Wilson's for the share of equal answers, taken through κ = (share − e)/(1 − e). The second
    keeps a width where all answers agree.

    Examples
    --------
    >>> found = agreement([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0])
    >>> found.agreed, found.rows, round(found.kappa.value, 3)
    (5, 6, 0.667)
    >>> found.merged
    array([ 1.,  1.,  0.,  0., nan,  0.])
    """
    a, b = (as_floats(values, "answers", "agreement") for values in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(
            f"agreement: two lists of as many answers are needed: {a.shape}, {b.shape}."
        )
    for values in (a, b):
        if not np.isin(values[~np.isnan(values)], (0, 1)).all():
            raise InputError("agreement: answers must be 1 (yes), 0 (no) or NaN (don't know).")
    both = ~np.isnan(a) & ~np.isnan(b)
    merged = np.where(np.isnan(a), b, np.where(both & (a != b), np.nan, a))
    n, same = int(both.sum()), int((a[both] == b[both]).sum())
    if n == 0:
        return Agreement(Estimate(np.nan, -1.0, 1.0, 0, True), 0, 0, merged)
    return Agreement(_kappa(a[both], b[both], n), same, n, merged)


def _kappa(a: FloatArray, b: FloatArray, n: int) -> Estimate:
    table = np.bincount((2 * a + b).astype(int), minlength=4).reshape(2, 2) / n
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    share, chance = float(np.trace(table)), float(rows @ columns)
    if chance == 1:  # one answer only
        return Estimate(np.nan, -1.0, 1.0, n, n < 5)
    kappa = (share - chance) / (1 - chance)
    on = np.diag(table) * (1 - (rows + columns) * (1 - kappa)) ** 2
    across = (1 - kappa) ** 2 * (columns[:, None] + rows[None, :]) ** 2 * table
    off = across.sum() - np.trace(across)
    spread = on.sum() + off - (kappa - chance * (1 - kappa)) ** 2
    margin = _Z * float(np.sqrt(max(spread, 0.0) / n)) / (1 - chance)
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    wilson = [float((x - chance) / (1 - chance)) for x in (centre - half, centre + half)]
    low, high = min(kappa - margin, wilson[0]), max(kappa + margin, wilson[1])
    return Estimate(kappa, max(low, -1.0), min(high, 1.0), n, n < 5)
