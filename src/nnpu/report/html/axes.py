"""Where a number stands on an axis, and which numbers are marked along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Axis"]


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers on a stretch of the picture.

    Parameters
    ----------
    low, high : float
        The numbers at its ends; both positive if it is logarithmic.
    start, end : float
        Their places.
    log : bool
        Whether equal ratios, not equal differences, are equally far apart.

    Examples
    --------
    >>> Axis(0.0, 1.0, 100.0, 300.0).place([0.0, 0.5]).tolist()
    [100.0, 200.0]
    >>> Axis(1.0, 100.0, 0.0, 10.0, log=True).place([10.0]).tolist()
    [5.0]
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def around(
        cls, values: ArrayLike, start: float, end: float, *, log: bool = False, margin: float = 0.0
    ) -> Axis:
        """Return an axis that holds all values that can stand on it, with a margin."""
        found = np.asarray(values, dtype=float)
        found = found[np.isfinite(found) & ((found > 0) if log else True)]
        if found.size == 0:
            found = np.array([1.0])
        low, high = float(found.min()), float(found.max())
        if log:
            low, high = (low / 2, high * 2) if low == high else (low, high)
            spare = (high / low) ** margin
            return cls(low / spare, high * spare, start, end, log)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        spare = margin * (high - low)
        return cls(low - spare, high + spare, start, end)

    def place(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return where the values stand; NaN for those that cannot."""
        x = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.where(x > 0, np.log10(x), np.nan)
            low, high = math.log10(low), math.log10(high)
        places: NDArray[np.float64] = self.start + (x - low) / (high - low) * (
            self.end - self.start
        )
        return places

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers on the axis.

        >>> Axis(0.03, 0.97, 0, 1).ticks()
        [0.2, 0.4, 0.6, 0.8]
        >>> Axis(5, 2000, 0, 1, log=True).ticks()
        [10.0, 100.0, 1000.0]
        """
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            if last > first:
                every = max(1, round((last - first) / about))
                return [10.0**power for power in range(first, last + 1, every)]
        raw = (self.high - self.low) / about
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * 0.8)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(n * step, 12) + 0.0 for n in range(first, last + 1)]
