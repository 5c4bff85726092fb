"""The partial risks of a mini-batch in which the samples are mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from nnpu.parameters import InputError
from nnpu.risk_kinds import PartialRisks

if TYPE_CHECKING:
    from collections.abc import Callable

    from nnpu.losses import Loss
    from nnpu.parameters import Sampling

__all__ = ["Pool", "partial_risks"]

#: From the sums of losses, (3, 2), and counts of rows, (3,), of one process to those of all.
Pool: TypeAlias = "Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]"


def partial_risks(
    scores: Tensor,
    s: Tensor,
    loss: Loss,
    *,
    sampling: Sampling = "two-sample",
    shares: tuple[float, float, float] | None = None,
    pool: Pool | None = None,
) -> PartialRisks:
    """Compute the partial risks of a mini-batch in which the samples are mixed.

    Nothing here waits for the device: samples are told apart by masks, not by indexing.

    Parameters
    ----------
    scores : Tensor of shape (n,)
        g(x) for each row.
    s : Tensor of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled, −1 known negative.
    loss : Loss
        ℓ as a function of the margin.
    sampling : {"two-sample", "one-sample"}
        Whether the unlabelled rows alone stand for the population, or all rows together.
    shares : tuple of float, optional
        The shares of P, U and N in the one sample. Default: those of this batch, which is right
        for batches drawn at random; a stratified batch needs the shares of the whole data set.
    pool : callable, optional
        Puts the sums of losses, shape (3, 2), and the counts of rows, shape (3,), of all processes
        that share the batch together; the means are taken of what it returns.

    Examples
    --------
    >>> import torch
    >>> from nnpu.losses import get_loss
    >>> scores, s = torch.tensor([2.0, -1.0, 1.0]), torch.tensor([1, 0, 0])
    >>> partial_risks(scores, s, get_loss("zero_one")).risk_u_minus
    tensor(0.5000)
    >>> partial_risks(scores, s, get_loss("zero_one"), sampling="one-sample").risk_u_minus
    tensor(0.6667)
    """
    # Half types overflow when summed, and round the sigmoid loss to 1, with slope 0, from −9 on.
    precise = torch.promote_types(scores.dtype, torch.float32)
    scores = scores.to(precise)
    losses = _losses(loss, torch.stack([scores, -scores]))  # (2, n): as P, as N
    masks = torch.stack([s == 1, s == 0, s == -1])  # (3, n)
    counts = masks.sum(dim=1).to(precise)  # (3,)
    sums = torch.where(masks[:, None], losses, 0).sum(dim=2)  # (3, 2); 0 · inf never arises
    if pool is not None:
        sums, counts = pool(sums, counts)
    means = sums / counts.clamp(min=1)[:, None]
    p_plus, p_minus, u_plus, u_minus, n_plus, n_minus = means.view(6).unbind()
    if sampling == "one-sample":
        weights = (
            counts / counts.sum().clamp(min=1)
            if shares is None
            else torch.as_tensor(shares, dtype=precise, device=scores.device)
        )
        # Not a matrix product: autocast would round it to half precision.
        u_plus, u_minus = (weights[:, None] * means).sum(dim=0).unbind()
    return PartialRisks(p_plus, p_minus, u_plus, u_minus, n_plus, n_minus, *counts.unbind())


def _losses(loss: Loss, margin: Tensor) -> Tensor:
    values = loss(margin)
    if not isinstance(values, Tensor) or values.shape != margin.shape:
        came = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise InputError(
            f"The loss {loss.name!r} must return one value per margin, a tensor of shape "
            f"{tuple(margin.shape)}. Got {came} instead; leave the mean to the risk."
        )
    return values
