"""The model as the steps call it: compiled, or in another precision, with weights of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from nnpu.parameters import ParameterError

if TYPE_CHECKING:
    from nnpu.data.rows import SparseBatch

__all__ = ["accelerated"]


def accelerated(model: nn.Module, *, precision: str, compiled: bool) -> nn.Module:
    """Return what a training step calls in place of the model.

    Parameters
    ----------
    model : torch.nn.Module
        g(x; θ), whose parameters stay float32 and are trained.
    precision : {"float32", "bfloat16"}
        Of the matrix products (autocast); the risk is computed in float32 in any case.
    compiled : bool
        Whether `torch.compile` makes kernels for the model.

    Raises
    ------
    ParameterError
        If the model is to be compiled and nothing here can.

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> accelerated(model, precision="float32", compiled=False) is model
    True
    >>> accelerated(model, precision="bfloat16", compiled=False)(torch.zeros(3, 2)).dtype
    torch.float32
    """
    called = _compile(model) if compiled else model
    return _Mixed(called, model) if precision == "bfloat16" else called


class _Mixed(nn.Module):
    """A model whose products are computed in bfloat16 and whose scores are float32."""

    def __init__(self, called: Any, model: nn.Module) -> None:
        super().__init__()
        self.called = called
        self.accepts_sparse = getattr(model, "accepts_sparse", False)

    def forward(self, batch: Tensor | SparseBatch) -> Tensor:
        device = next(self.parameters()).device.type
        with torch.autocast(device, torch.bfloat16):
            scores: Tensor = self.called(batch)
        return scores.float()


def _compile(model: nn.Module) -> Any:
    """Compile the model, after a trial: torch itself would fail in the middle of the first step."""
    device = next(model.parameters()).device
    try:
        torch.compile(torch.neg)(torch.zeros(2, device=device))
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise ParameterError(
            "The 'compile' parameter of Training must be False where torch.compile does not work: "
            f"it needs a compiler (on the CPU a C++ one, such as g++). Got True instead ({reason})."
        ) from error
    return torch.compile(model)
