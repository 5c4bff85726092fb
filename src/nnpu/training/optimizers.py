"""𝒜, the external optimiser of Algorithm 1: by name, by class, or ready made."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from nnpu.parameters import ParameterError, check_choice, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import nn
    from torch.optim import Optimizer

__all__ = ["OPTIMIZERS", "check_optimizer", "discounted", "make_optimizer", "set_schedule"]

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


@contextmanager
def discounted(optimizer: Optimizer, factor: float) -> Iterator[None]:
    """Let the optimiser take a step with its step size times `factor`."""
    sizes = [group["lr"] for group in optimizer.param_groups]
    for group, size in zip(optimizer.param_groups, sizes, strict=True):
        group["lr"] = size * factor
    try:
        yield
    finally:
        for group, size in zip(optimizer.param_groups, sizes, strict=True):
            group["lr"] = size


def set_schedule(optimizer: Optimizer, lr: float, schedule: str, progress: float) -> None:
    """Set the step size for a share of all steps done, `progress` in [0, 1)."""
    factor = (1 + math.cos(math.pi * progress)) / 2 if schedule == "cosine" else 1.0
    for group in optimizer.param_groups:
        group["lr"] = lr * factor
