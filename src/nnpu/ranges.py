"""A number with its 90 % range, and how such a range is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ENDS", "Z90", "Estimate", "weighted_share"]

#: The quantiles at the ends of a 90 % range.
ENDS = (0.05, 0.95)

#: The 95 % quantile of the normal law: value ± Z90 · error is a 90 % range.
Z90 = 1.6448536269514722


class Estimate(NamedTuple):
    """A number with its 90 % range.

    Attributes
    ----------
    value : float
        The estimate; NaN for what has none, such as a precision where no row is flagged.
    low, high : float
        The ends of the range.

    Examples
    --------
    >>> share = Estimate(0.5, 0.25, 0.75)
    >>> share.width, share[1:]
    (0.5, (0.25, 0.75))
    >>> print(share)
    0.500 [0.250, 0.750]
    """

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """High minus low."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def weighted_share(y: NDArray[np.float64], weight: NDArray[np.float64]) -> Estimate:
    """Return a weighted share with Clopper and Pearson's interval for the effective size.

    Parameters
    ----------
    y : ndarray of shape (n,)
        1 or 0.
    weight : ndarray of shape (n,)
        What each counts; n equal weights are worth n answers, others (Σw)² / Σw².

    Examples
    --------
    >>> import numpy as np
    >>> print(weighted_share(np.array([1.0, 1, 1, 0]), np.ones(4)))  # 3 of 4
    0.750 [0.249, 0.987]
    """
    from scipy.stats import beta

    value = min(float(weight @ y / weight.sum()), 1.0)
    n = float(weight.sum() ** 2 / (weight @ weight))
    k = value * n
    low = float(beta.ppf(ENDS[0], k, n - k + 1)) if k > 0 else 0.0
    high = float(beta.ppf(ENDS[1], k + 1, n - k)) if k < n else 1.0
    return Estimate(value, low, high)
