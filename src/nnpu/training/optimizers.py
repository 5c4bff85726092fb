"""𝒜, the external optimiser of Algorithm 1: by name, by class, or ready made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from nnpu.parameters import ParameterError, check_choice, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import Tensor, nn
    from torch.optim import Optimizer

__all__ = ["OPTIMIZERS", "check_optimizer", "discounted_step", "make_optimizer", "set_schedule"]

_RISE = 0.2  # share of the steps of a one-cycle schedule in which the step size grows

#: Optimisers by name. Weight decay is added to the gradient, as in the authors' code, except for
#: "adamw", which decays the weights themselves.
OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


def check_optimizer(optimizer: Any, owner: str) -> Callable[..., Optimizer]:
    """Return what makes the optimiser: a name's class, or the class or callable itself."""
    if isinstance(optimizer, str):
        return OPTIMIZERS[
            check_choice("optimizer", optimizer, owner, OPTIMIZERS, also="a torch optimiser class")
        ]
    if callable(optimizer):
        return optimizer  # type: ignore[no-any-return]
    raise ParameterError(
        f"The 'optimizer' parameter of {owner} must be a str among {sorted(OPTIMIZERS)} or a torch "
        f"optimiser class. Got {shown(optimizer)} instead."
    )


def make_optimizer(
    optimizer: Any, parameters: Iterable[nn.Parameter], *, lr: float, weight_decay: float
) -> Optimizer:
    """Build the optimiser for some parameters."""
    make = check_optimizer(optimizer, "make_optimizer")
    # One fused kernel per step instead of one per tensor and operation.
    fused = {"fused": True} if make in (torch.optim.Adam, torch.optim.AdamW) else {}
    return make(parameters, lr=lr, weight_decay=weight_decay, **fused)


def discounted_step(optimizer: Optimizer, factor: Tensor) -> None:
    """Let the optimiser take a step with its step size times `factor`, a tensor of shape ().

    What the optimiser changes is proportional to the step size, so that a part of the step is the
    step with a part of the size; and nobody has to wait for the factor to leave its device.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    before = [weight.detach().clone() for weight in weights]
    optimizer.step()
    with torch.no_grad():
        for weight, old in zip(weights, before, strict=True):
            weight.copy_(old.lerp(weight, factor.to(weight)))  # exactly the step where it is 1


def set_schedule(optimizer: Optimizer, lr: float, schedule: str, progress: float) -> None:
    """Set the step size for a share of all steps done, `progress` in [0, 1)."""
    for group in optimizer.param_groups:
        group["lr"] = lr * _factor(schedule, progress)


def _factor(schedule: str, progress: float) -> float:
    """The step size at a share of all steps, as a share of the greatest.

    >>> [round(_factor("one-cycle", share), 3) for share in (0.0, 0.1, 0.2, 0.6, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if schedule == "constant":
        return 1.0
    if schedule == "one-cycle":
        if progress < _RISE:
            return progress / _RISE
        progress = (progress - _RISE) / (1 - _RISE)
    return (1 + math.cos(math.pi * progress)) / 2
