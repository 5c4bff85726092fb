"""Batch norm over rows that several processes share, equal to that of one process with all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SharedBatchNorm"]


class SharedBatchNorm(TorchFunctionMode):
    """While it is entered, every batch norm of this thread is one over all processes' rows.

    It stands in for the function that batch norm layers call, so that layers, whoever wrote the
    module, keep their names, their weights and their running statistics.

    Parameters
    ----------
    add : callable
        Adds up the tensors of all processes.

    Examples
    --------
    >>> layer = torch.nn.BatchNorm1d(2, affine=False)
    >>> others = iter([torch.tensor([4.0, 2.0, 1.0]), torch.tensor([4.0, 0.0])])
    >>> with SharedBatchNorm(lambda tensor: tensor + next(others)):
    ...     layer(torch.tensor([[0.0, 2.0]]))  # (4, 2) elsewhere: mean (2, 2), variance (4, 0)
    tensor([[-1.0000,  0.0000]])
    """

    def __init__(self, add: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.add = add

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Replace batch norm; let everything else through."""
        called = self.batch_norm if func is functional.batch_norm else func
        return called(*args, **(kwargs or {}))

    def batch_norm(
        self,
        x: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        """`torch.nn.functional.batch_norm`; in training with the statistics of all rows.

        The parameters are torch's; `x` are this process's rows, of which there may be none. The
        sums of values and of squared distances from the mean are exchanged, in float64.
        """
        if not training:
            return functional.batch_norm(
                x, running_mean, running_var, weight, bias, False, momentum, eps
            )
        values = x.to(torch.promote_types(x.dtype, torch.float32))
        axes = [axis for axis in range(x.ndim) if axis != 1]
        shape = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
        count = values.new_tensor([x.numel() // x.shape[1]]).double()
        sums = self._total(torch.cat([values.sum(axes, dtype=torch.float64), count]))
        n = sums[-1].detach()
        if n <= 1:
            raise ValueError(f"Batch norm needs more than one row to train on, not {int(n)}.")
        mean = (sums[:-1] / n).to(values.dtype)
        centred = values - mean.view(shape)
        squares = self._total(centred.square().sum(axes, dtype=torch.float64))
        variance = (squares / n).to(values.dtype)
        y = centred * (variance + eps).rsqrt().view(shape)
        if weight is not None and bias is not None:
            y = y * weight.view(shape) + bias.view(shape)
        if running_mean is not None and running_var is not None:
            unbiased = squares / (n - 1)  # what is kept, as in torch
            with torch.no_grad():
                running_mean.lerp_(mean.to(running_mean), momentum)
                running_var.lerp_(unbiased.to(running_var), momentum)
        return y.to(x.dtype)

    def _total(self, tensor: Tensor) -> Tensor:
        total: Tensor = _Total.apply(tensor, self.add)  # type: ignore[no-untyped-call]
        return total


class _Total(torch.autograd.Function):
    """The sum over all processes; its gradient is the sum of those that all of them have of it."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, add: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.add = add
        return add(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.add(gradient), None
