"""Batch norm over rows that several processes share, equal to that of one process with all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

__all__ = ["SharedBatchNorm"]

#: An exchange with the other processes.
Exchange = Callable[[Tensor], Tensor]


class SharedBatchNorm(TorchFunctionMode):
    """While it is entered, every batch norm of this thread is one over all processes' rows.

    It stands in for the function that batch norm layers call, so that layers, whoever wrote the
    module, keep their names, their weights and their running statistics.

    Parameters
    ----------
    gather : callable
        Stacks the tensors of all processes, shape (size, …).
    add : callable
        Adds them up.

    Examples
    --------
    >>> layer = torch.nn.BatchNorm1d(2, affine=False)
    >>> mine, others = torch.tensor([[0.0, 2.0]]), torch.tensor([4.0, 2.0, 0.0, 0.0, 1.0])
    >>> with SharedBatchNorm(lambda tensor: torch.stack([tensor, others]), lambda tensor: tensor):
    ...     layer(mine)  # with a row (4, 2) elsewhere: mean (2, 2), variance (4, 0)
    tensor([[-1.0000,  0.0000]])
    """

    def __init__(self, gather: Exchange, add: Exchange) -> None:
        super().__init__()
        self.gather, self.add = gather, add

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace batch norm; let everything else through."""
        if func is functional.batch_norm:
            return self.batch_norm(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

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

        The parameters are torch's; `x` are this process's rows, of which there may be none. One
        exchange forwards, one backwards.
        """
        if not training:
            return functional.batch_norm(
                x, running_mean, running_var, weight, bias, False, momentum, eps
            )
        values = x.to(torch.promote_types(x.dtype, torch.float32))
        channels = x.shape[1]
        y, mean, variance, n = _Normalise.apply(  # type: ignore[no-untyped-call]
            values,
            values.new_ones(channels) if weight is None else weight,
            values.new_zeros(channels) if bias is None else bias,
            eps,
            self.gather,
            self.add,
        )
        if running_mean is not None and running_var is not None:
            with torch.no_grad():
                running_mean.lerp_(mean.to(running_mean), momentum)
                unbiased = variance * (n / (n - 1))  # what is kept, as in torch
                running_var.lerp_(unbiased.to(running_var), momentum)
        normalised: Tensor = y.to(x.dtype)
        return normalised


class _Normalise(torch.autograd.Function):
    """y = w (x − mean) / √(variance + ε) + b, per channel, with statistics of all processes.

    Each process contributes its mean and its sum of squares about that mean, which are put
    together without loss of digits.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, gather: Exchange, add: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        axes, shape = _layout(x)
        own = x.numel() // x.shape[1]
        own_mean = x.sum(axes) / max(own, 1)
        centred = x - own_mean.view(shape)
        own_squares = centred.square().sum(axes)
        parts = gather(torch.cat([own_mean, own_squares, x.new_tensor([own])]))
        means, squares, counts = parts.split([x.shape[1], x.shape[1], 1], dim=1)
        n = counts.sum()
        if own <= 1 and n <= 1:
            raise ValueError(f"Batch norm needs more than one row to train on, not {int(n)}.")
        mean = (counts * means).sum(0) / n
        variance = (squares + counts * (means - mean).square()).sum(0) / n
        slope = (variance + eps).rsqrt()
        offset, scale = own_mean - mean, slope * weight  # x − mean = centred + offset
        y = torch.addcmul((bias + offset * scale).view(shape), centred, scale.view(shape))
        ctx.save_for_backward(centred, offset, slope, scale, n)
        ctx.add = add
        ctx.mark_non_differentiable(mean, variance, n)
        ctx.set_materialize_grads(False)  # no zeros for the three
        return y, mean, variance, n

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
        centred, offset, slope, scale, n = ctx.saved_tensors
        axes, shape = _layout(centred)
        own_sum = gradient.sum(axes)
        own_product = (gradient * centred).sum(axes) + offset * own_sum  # with x − mean
        total, product = ctx.add(torch.stack([own_sum, own_product])) / n
        # ∂x = scale (∂y − mean of ∂y − (x − mean) slope² · mean of ∂y (x − mean))
        factor = -scale * slope.square() * product
        constant = factor * offset - scale * total
        back = torch.addcmul(constant.view(shape), centred, factor.view(shape))
        back.addcmul_(gradient, scale.view(shape))
        return back, own_product * slope, own_sum, None, None, None


def _layout(x: Tensor) -> tuple[list[int], list[int]]:
    """The axes to sum over, and the shape in which a value per channel meets x."""
    axes = [axis for axis in range(x.ndim) if axis != 1]
    return axes, [-1 if axis == 1 else 1 for axis in range(x.ndim)]
