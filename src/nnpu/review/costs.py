"""The cut of least expected cost, where a false alarm and a miss cost differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu.parameters import check_number
from nnpu.review.audits import Estimate
from nnpu.review.draws import FloatArray, as_probability
from nnpu.review.learning import recalibrate
from nnpu.review.totals import Answered, collect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from nnpu.review.draws import Draw

__all__ = ["Cut", "least_cost"]

_GRID = 200  # thresholds that are compared


@dataclass(frozen=True)
class Cut:
    """A threshold, and what it costs.

    Attributes
    ----------
    threshold : float
        Flag rows whose probability is greater.
    low, high : float
        Thresholds that the answers cannot tell from it (90 %): between them, no cut is clearly
        cheaper or dearer. Equal to `threshold` without answers.
    cost : Estimate
        The expected cost per row, with its interval; without answers the value only, right if
        the probabilities are.
    flagged : float
        The share of rows that are flagged.
    """

    threshold: float
    low: float
    high: float
    cost: Estimate
    flagged: float


def least_cost(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw] | None = None,
    answers: ArrayLike | Sequence[ArrayLike] | None = None,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    known: ArrayLike | None = None,
) -> Cut:
    """Return the threshold of least expected cost.

    With probabilities alone it is cost_fp/(cost_fp + cost_fn). With answers, the probabilities
    are first moved to fit them (`recalibrate`), and the cost of the cut comes from the draw.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`; without draws the probabilities are taken as they are.
    cost_fp, cost_fn : float
        What a flagged negative and a missed positive cost.

    Returns
    -------
    Cut

    Examples
    --------
    >>> import numpy as np
    >>> cut = least_cost(np.linspace(0, 1, 101), cost_fp=1, cost_fn=4)
    >>> cut.threshold
    0.2
    """
    fp = check_number("cost_fp", cost_fp, "least_cost", low=0, include_low=False)
    fn = check_number("cost_fn", cost_fn, "least_cost", low=0, include_low=False)
    p = as_probability(probability, "least_cost")
    wanted = fp / (fp + fn)
    if draws is None or answers is None:
        flagged = p > wanted
        value = float(np.where(flagged, fp * (1 - p), fn * p).mean())
        return Cut(wanted, wanted, wanted, Estimate(value, value, value), float(flagged.mean()))
    answered = collect(p, draws, answers, known, "least_cost")
    threshold = recalibrate(p, draws, answers, known=known).threshold(wanted)
    grid = np.unique(np.append(np.quantile(p, np.linspace(0, 1, _GRID)), threshold))
    same = [bool(_no_dearer(answered, cut, threshold, fp, fn)) for cut in grid]
    here = int(np.searchsorted(grid, threshold))
    low = here - next((i for i, s in enumerate(same[here::-1]) if not s), here + 1) + 1
    high = here + next((i for i, s in enumerate(same[here:]) if not s), len(same) - here) - 1
    return Cut(
        threshold,
        float(grid[low]),
        float(grid[high]),
        _cost(answered, threshold, fp, fn),
        float((p > threshold).mean()),
    )


def _coefficients(
    p: FloatArray, threshold: float, fp: float, fn: float
) -> tuple[FloatArray, float]:
    """Return a and c such that the mean cost is c + Σ a·y."""
    flagged = p > threshold
    return np.where(flagged, -fp, fn) / p.size, fp * float(flagged.mean())


def _cost(answered: Answered, threshold: float, fp: float, fn: float) -> Estimate:
    p = answered.probability
    flagged = p > threshold
    a, constant = _coefficients(p, threshold, fp, fn)
    total, low, high = (answered.total(a, flagged, fill) for fill in ((None, None), (1, 0), (0, 1)))
    values = [max(constant + t.value, 0.0) for t in (total, low, high)]
    lowest = min(values[0] - total.margin, values[1] - low.margin)
    highest = max(values[0] + total.margin, values[2] + high.margin)
    return Estimate(values[0], max(lowest, 0.0), highest, int(answered.drawn.size))


def _no_dearer(answered: Answered, cut: float, than: float, fp: float, fn: float) -> bool:
    """Return whether the draw does not show that `cut` costs more than the threshold `than`."""
    p = answered.probability
    one, constant = _coefficients(p, cut, fp, fn)
    two, other = _coefficients(p, than, fp, fn)
    between = (p > cut) != (p > than)
    if not between.any():
        return True
    total = answered.total(one - two, between)
    return constant - other + total.value <= total.margin
