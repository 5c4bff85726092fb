"""Batch norm over rows that several processes share, equal to that of one process with all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

__all__ = ["SharedBatchNorm"]

#: From the tensor of one process to what all of them have.
Together = Callable[[Tensor], Tensor]


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

    def __init__(self, gather: Together, add: Together) -> None:
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

    Each process contributes its mean and its variance about that mean, which are put together
    without loss of digits. All passes over x are torch's own: those of batch norm with given
    statistics, forwards and backwards, and one more for what the statistics have of x.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, gather: Together, add: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        channels = x.shape[1]
        own = x.numel() // channels
        moments = (
            torch.batch_norm_update_stats(x, None, None, 0.0) if own else x.new_zeros(2, channels)
        )
        parts = gather(torch.cat([*moments, x.new_full((1,), own)]))
        means, variances, counts = parts.split([channels, channels, 1], dim=1)
        n = counts.sum()
        if own <= 1 and n <= 1:
            raise ValueError(f"Batch norm needs more than one row to train on, not {int(n)}.")
        shares = counts / n
        mean = (shares * means).sum(0)
        away = means - mean
        variance = (shares * torch.addcmul(variances, away, away)).sum(0)
        y = torch.batch_norm(x, weight, bias, mean, variance, False, 0.0, eps, False)
        ctx.save_for_backward(x, weight, mean, variance, n)
        ctx.eps, ctx.add = eps, add
        ctx.mark_non_differentiable(mean, variance, n)
        ctx.set_materialize_grads(False)  # no zeros for the three
        return y, mean, variance, n

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, variance, n = ctx.saved_tensors
        # With z = (x − mean) slope: w slope ∂y, and this process's sums of z ∂y and of ∂y.
        back, product, total = torch.ops.aten.native_batch_norm_backward(
            gradient, x, weight, mean, variance, None, None, False, ctx.eps, [True, True, True]
        )
        mean_product, mean_total = ctx.add(torch.stack([product, total])) / n
        # ∂x = w slope (∂y − mean of ∂y − z · mean of z ∂y)
        slope = (variance + ctx.eps).rsqrt()
        scale = weight * slope
        factor = scale * slope * mean_product
        constant = torch.addcmul(scale * mean_total, factor, mean, value=-1)
        shape = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
        back.addcmul_(x, factor.view(shape), value=-1).sub_(constant.view(shape))
        return back, product, total, None, None, None
