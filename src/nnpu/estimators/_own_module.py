"""The network before its training: how a user's own is made and probed, what may be trained."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from nnpu.parameters import InputError
from nnpu.training.loop import forward

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from nnpu.data.rows import Rows
    from nnpu.models import TabularNet

__all__ = ["keep_linear", "needs_argument", "probe"]


def needs_argument(make: Callable[..., Any]) -> bool:
    """Return whether a callable has an argument without a default: the number of features."""
    return any(
        parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        for parameter in inspect.signature(make).parameters.values()
    )


def probe(module: nn.Module, rows: Rows, owner: str) -> None:
    """Pass two rows through the module, so that a wrong shape shows before the training."""
    batch = rows.take(torch.arange(min(2, len(rows))))
    was_training = module.training
    try:
        with torch.no_grad():  # not inference mode: lazy modules make their weights here
            forward(module.eval(), batch)
    except InputError as error:
        raise InputError(f"The 'module' parameter of {owner}: {error}") from error
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        shape = tuple(batch.shape) if isinstance(batch, torch.Tensor) else "sparse"
        raise InputError(
            f"The 'module' parameter of {owner} must take a batch of shape {shape}. "
            f"It failed instead: {error}"
        ) from error
    module.train(was_training)


def keep_linear(network: TabularNet) -> None:
    """Let the training move the linear path alone; the rest stays at zero."""
    if network.skip is None:
        return
    for weight in network.rest[-1].parameters():
        torch.nn.init.zeros_(weight)
    for part in (network.first, network.rest):
        part.requires_grad_(requires_grad=False)
