"""How the training loop is run, beyond what Algorithm 1 names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from nnpu.parameters import check_choice, check_count, check_number

__all__ = ["EpochEnd", "Training"]

#: Called after every epoch with the row of history just made and the model as it is.
EpochEnd = Callable[[Mapping[str, float], nn.Module], Any]


@dataclass(frozen=True)
class Training:
    """Options of the training loop.

    Parameters
    ----------
    schedule : {"constant", "cosine"}, default="constant"
        Whether the step size stays, or falls to zero along a half cosine over all steps.
    averaging : float, default=0.0
        Decay of an exponential moving average of the weights, which then takes the place of the
        last weights; 0 for none. 0.99 averages over about a hundred steps.
    warm_up : float, default=0.0
        Share of all steps, the first ones, that minimise the logistic loss instead of the chosen
        one. A bounded loss is flat far from its best weights, and where positives are few, calling
        everything negative is a place it does not leave; the logistic loss is never flat there.
    validation_fraction : float, default=0.0
        Share of P and of U set aside to measure the PU risk on; it needs no negatives.
    patience : int or None, default=None
        Stop after so many epochs without a lower validation risk and go back to the best weights;
        None never stops early. It needs ``validation_fraction > 0``.
    monitor : {"risk", "zero_one"}, default="zero_one"
        The validation risk to go by: of the surrogate loss, or of the zero-one loss.
    least_per_batch : int, default=1
        Rows of each sample that every batch holds at the least; see `BatchPlan`.
    on_epoch_end : callable, optional
        Called with the newest row of the history and the model; return True to stop.

    Examples
    --------
    >>> Training(validation_fraction=0.2, patience=10).monitor
    'zero_one'
    """

    schedule: Literal["constant", "cosine"] = "constant"
    averaging: float = 0.0
    warm_up: float = 0.0
    validation_fraction: float = 0.0
    patience: int | None = None
    monitor: Literal["risk", "zero_one"] = "zero_one"
    least_per_batch: int = 1
    on_epoch_end: EpochEnd | None = None

    def __post_init__(self) -> None:
        owner = "Training"
        check_choice("schedule", self.schedule, owner, ["constant", "cosine"])
        check_choice("monitor", self.monitor, owner, ["risk", "zero_one"])
        check_number("warm_up", self.warm_up, owner, low=0, high=1)
        check_number("averaging", self.averaging, owner, low=0, high=1, include_high=False)
        check_number(
            "validation_fraction",
            self.validation_fraction,
            owner,
            low=0,
            high=1,
            include_high=False,
        )
        check_count("least_per_batch", self.least_per_batch, owner)
        if self.patience is not None:
            check_count("patience", self.patience, owner)
            check_number(
                "validation_fraction (with patience)",
                self.validation_fraction,
                owner,
                low=0,
                high=1,
                include_low=False,
                include_high=False,
            )
