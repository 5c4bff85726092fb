"""`PriorEstimate`: the share, its interval, what was assumed, and how it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nnpu.parameters import Sampling, check_choice, check_number, check_sampling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nnpu.prior.curve import RatioCurve

__all__ = ["METHOD_NAMES", "PriorEstimate"]

#: The names of the methods.
METHOD_NAMES = ("auto", "bbe", "dedpul", "elkan_noto", "km", "pen_l1")

_STORED = ("value", "low", "high", "method", "identified", "message", "sampling", "upper_bound")


@dataclass(frozen=True)
class PriorEstimate:
    """An estimate of the class prior.

    Attributes
    ----------
    value : float
        The best estimate of π_p, ready for `prior=`: the share of positives in U (two-sample) or
        in P ∪ U (one-sample).
    low, high : float
        A 90 % interval. That of the method "auto" was made to hold on real tables whose classes
        overlap.
    method : str
        The method that made it.
    identified : bool
        Whether the interval can be trusted and says something. If not, the message says why.
    message : str
        In plain words: the estimate, what was assumed, and what would change the answer.
    sampling : str
        The sampling under which `value` is the prior.
    upper_bound : float
        The largest mixture proportion: the share if no negative looked like a positive. Whatever
        the negatives look like, the prior is not larger, up to chance.
    curve : RatioCurve
        q_p and q_u at every threshold, for a picture.
    """

    value: float
    low: float
    high: float
    method: str
    identified: bool
    message: str
    sampling: Sampling = "two-sample"
    upper_bound: float = 1.0
    curve: RatioCurve | None = field(default=None, repr=False, compare=False)

    def stored(self) -> dict[str, Any]:
        """Return what a model folder keeps of it: everything but the curve."""
        return {name: getattr(self, name) for name in _STORED}

    def within(self, low: float, high: float) -> PriorEstimate:
        """Return the estimate inside of hard limits that somebody knows.

        Examples
        --------
        >>> estimate = PriorEstimate(0.3, 0.1, 0.5, "auto", False, "About 30 %.")
        >>> found = estimate.within(0.32, 0.4)
        >>> found.value, found.low, found.high
        (0.32, 0.32, 0.4)
        """
        value, least, most = (
            min(max(each, low), high) for each in (self.value, self.low, self.high)
        )
        said = f"{self.message} Kept within {low:.3g} and {high:.3g}, as given."
        return replace(self, value=value, low=least, high=most, message=said)

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> PriorEstimate:
        """Return the estimate that was stored, or raise an error if it is not a valid one.

        Folders of version 0.1.0 have no `upper_bound`: its only default method estimated that
        bound.

        Examples
        --------
        >>> estimate = PriorEstimate(0.3, 0.25, 0.35, "bbe", True, "About 30 %.", upper_bound=0.3)
        >>> PriorEstimate.from_stored(estimate.stored()) == estimate
        True
        """
        bound = stored["value"] if stored["method"] == "bbe" else 1.0
        estimate = cls(**{name: stored[name] for name in _STORED[:-1]})
        owner = cls.__name__
        low, value, high, bound = (
            check_number(name, number, owner, low=0, high=1)
            for name, number in (
                ("low", estimate.low),
                ("value", estimate.value),
                ("high", estimate.high),
                ("upper_bound", stored.get("upper_bound", bound)),
            )
        )
        check_choice("method", estimate.method, owner, (*METHOD_NAMES, "review"))
        check_sampling(estimate.sampling, owner)
        words = isinstance(estimate.message, str) and isinstance(estimate.identified, bool)
        if not words or not low <= value <= high or value == 0:
            raise ValueError("the stored estimate of the prior is not valid")
        return cls(**{**estimate.stored(), "upper_bound": bound})
