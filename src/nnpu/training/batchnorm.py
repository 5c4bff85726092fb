"""Batch norm over rows that several processes share, equal to that of one process with all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SharedBatchNorm", "shared_batch_norm"]


class SharedBatchNorm(TorchFunctionMode):
    """While it is entered, every batch norm of this thread is one over all processes' rows.

    It stands in for the function that batch norm layers call, so that layers, whoever wrote the
    module, keep their names, their weights and their running statistics.

    Parameters
    ----------
    gather : callable
        Stacks the tensors of all processes, shape (size, …), and can be differentiated.

    Examples
    --------
    >>> layer = torch.nn.BatchNorm1d(2)
    >>> mine, others = torch.tensor([[0.0, 2.0]]), torch.tensor([4.0, 2.0, 0.0, 0.0, 1.0])
    >>> with SharedBatchNorm(lambda tensor: torch.stack([tensor, others])):
    ...     layer(mine)  # with a row (4, 2) elsewhere: mean (2, 2), variance (4, 0)
    tensor([[-1.0000,  0.0000]], grad_fn=<AddcmulBackward0>)
    """

    def __init__(self, gather: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.gather = gather

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace batch norm in training; let everything else through."""
        if func is functional.batch_norm:
            return shared_batch_norm(self.gather, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def shared_batch_norm(
    gather: Callable[[Tensor], Tensor],
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`torch.nn.functional.batch_norm` with the mean and variance of all processes' rows.

    Each process contributes the mean and the sum of squares about it, which are put together
    without loss of digits; a process may have no rows. One exchange forwards, one backwards.

    Parameters
    ----------
    gather : callable
        As in `SharedBatchNorm`.
    x : Tensor of shape (n, channels, …)
        This process's rows.
    running_mean, running_var, weight, bias, training, momentum, eps
        As in torch.
    """
    if not training:
        return functional.batch_norm(
            x, running_mean, running_var, weight, bias, False, momentum, eps
        )
    values = x.to(torch.promote_types(x.dtype, torch.float32))
    axes = [axis for axis in range(x.ndim) if axis != 1]
    shape = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
    n = x.numel() // max(x.shape[1], 1)
    mean = values.sum(axes) / max(n, 1)
    squares = (values - mean.view(shape)).square().sum(axes)
    parts = gather(torch.cat([mean, squares, mean.new_tensor([n])]))  # (size, 2 channels + 1)
    means, squares, counts = parts.split([len(mean), len(mean), 1], dim=1)
    total = counts.sum()
    if n <= 1 and total <= 1:
        raise ValueError(f"Batch norm needs more than one row to train on, not {int(total)}.")
    mean = (counts * means).sum(0) / total
    variance = (squares + counts * (means - mean).square()).sum(0) / total
    if running_mean is not None and running_var is not None:
        with torch.no_grad():
            running_mean.lerp_(mean.to(running_mean), momentum)
            # What is kept is the unbiased estimate, as in torch.
            running_var.lerp_((variance * total / (total - 1)).to(running_var), momentum)
    scale = (variance + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return torch.addcmul(shift.view(shape), values, scale.view(shape)).to(x.dtype)
