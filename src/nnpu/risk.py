"""The risk of a classifier as a function of its scores: the paper's equations and relatives.

`pn_risk`, `upu_risk`, `upu_risk_symmetric` and `nnpu_risk` are Eqs. (1), (2), (4) and (6): pure,
differentiable functions of score tensors. `partial_risks` is what training needs: the partial risks
of a mini-batch in which the samples are mixed, which a `Risk` object turns into a value to report
and an objective to differentiate (`nnpu.risk_kinds`). A sample without rows counts as zero: the
mean of nothing would be NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from nnpu.extras import needing

with needing("torch", extra="torch", owner="nnpu.risk"):
    import torch
    from torch import Tensor

from nnpu.losses import Loss, get_loss
from nnpu.parameters import InputError, ParameterError, check_prior, shown
from nnpu.risk_kinds import (
    RISKS,
    AbsoluteRisk,
    ImbalancedRisk,
    KLRisk,
    NonNegativePNURisk,
    NonNegativeRisk,
    PartialRisks,
    PNURisk,
    Risk,
    SupervisedRisk,
    Terms,
    UnbiasedRisk,
    get_risk,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nnpu.parameters import Sampling

__all__ = [
    "RISKS",
    "AbsoluteRisk",
    "AnyLoss",
    "ImbalancedRisk",
    "KLRisk",
    "NonNegativePNURisk",
    "NonNegativeRisk",
    "PNURisk",
    "PartialRisks",
    "Pool",
    "Risk",
    "SupervisedRisk",
    "Terms",
    "UnbiasedRisk",
    "get_risk",
    "nnpu_risk",
    "partial_risks",
    "pn_risk",
    "upu_risk",
    "upu_risk_symmetric",
]

AnyLoss: TypeAlias = "str | Loss | Callable[[Tensor], Tensor]"


def pn_risk(scores_p: Tensor, scores_n: Tensor, prior: float, loss: AnyLoss = "sigmoid") -> Tensor:
    """R̂_pn, Eq. (1): the risk from positives and negatives.

    Parameters
    ----------
    scores_p, scores_n : Tensor of shape (n_p,), (n_n,)
        g(x) on the positive and on the negative sample.
    prior : float
        π_p, the share of positives in the population.
    loss : str, Loss or callable, default="sigmoid"
        ℓ as a function of the margin.

    Returns
    -------
    Tensor of shape ()

    Examples
    --------
    >>> import torch
    >>> pn_risk(torch.tensor([1.0, -1.0]), torch.tensor([-1.0]), 0.5, "zero_one")
    tensor(0.2500)
    """
    loss, prior = get_loss(loss, owner="pn_risk"), check_prior(prior, "pn_risk")
    scores_p, scores_n = _scores(scores_p, "p", "pn_risk"), _scores(scores_n, "n", "pn_risk")
    return prior * _mean(loss(scores_p)) + (1 - prior) * _mean(loss(-scores_n))


def upu_risk(scores_p: Tensor, scores_u: Tensor, prior: float, loss: AnyLoss = "sigmoid") -> Tensor:
    """R̂_pu, Eq. (2): the unbiased risk from positives and unlabelled data. It can be negative.

    Parameters
    ----------
    scores_p, scores_u : Tensor of shape (n_p,), (n_u,)
        g(x) on the positive and on the unlabelled sample.
    prior, loss
        As in `pn_risk`.

    Examples
    --------
    >>> import torch
    >>> upu_risk(torch.tensor([3.0]), torch.tensor([-3.0]), 0.5, "zero_one")
    tensor(-0.5000)
    """
    loss, prior = get_loss(loss, owner="upu_risk"), check_prior(prior, "upu_risk")
    scores_p, scores_u = _scores(scores_p, "p", "upu_risk"), _scores(scores_u, "u", "upu_risk")
    risk_p_plus, risk_p_minus = _mean(loss(scores_p)), _mean(loss(-scores_p))
    return prior * risk_p_plus - prior * risk_p_minus + _mean(loss(-scores_u))


def upu_risk_symmetric(
    scores_p: Tensor, scores_u: Tensor, prior: float, loss: AnyLoss = "sigmoid"
) -> Tensor:
    """R̂_pu in the form of Eq. (4), which equals Eq. (2) for losses that satisfy Eq. (3).

    Any other named loss is refused; for a callable the condition is not checked.

    Examples
    --------
    >>> import torch
    >>> p, u = torch.tensor([0.5, 2.0]), torch.tensor([-1.0, 0.3, 0.2])
    >>> torch.isclose(upu_risk_symmetric(p, u, 0.4), upu_risk(p, u, 0.4))
    tensor(True)
    """
    known = isinstance(loss, str | Loss)
    loss, prior = (
        get_loss(loss, owner="upu_risk_symmetric"),
        check_prior(prior, "upu_risk_symmetric"),
    )
    if known and not loss.symmetric:
        raise ParameterError(
            "The 'loss' parameter of upu_risk_symmetric must satisfy Eq. (3), "
            f"l(t, +1) + l(t, -1) = 1. Got {loss.name!r} instead; use upu_risk for it."
        )
    scores_p = _scores(scores_p, "p", "upu_risk_symmetric")
    scores_u = _scores(scores_u, "u", "upu_risk_symmetric")
    return prior * _mean(2 * loss(scores_p) - 1) + _mean(loss(-scores_u))  # −π inside: 0 if no P


def nnpu_risk(
    scores_p: Tensor, scores_u: Tensor, prior: float, loss: AnyLoss = "sigmoid"
) -> Tensor:
    """R̃_pu, Eq. (6): the non-negative risk from positives and unlabelled data.

    It is what nnPU learning reports. To train, differentiate `nnpu.PULoss` instead: Algorithm 1
    does not descend along the gradient of this function where the maximum is taken at 0.

    Examples
    --------
    >>> import torch
    >>> nnpu_risk(torch.tensor([3.0]), torch.tensor([-3.0]), 0.5, "zero_one")
    tensor(0.)
    """
    loss, prior = get_loss(loss, owner="nnpu_risk"), check_prior(prior, "nnpu_risk")
    scores_p, scores_u = _scores(scores_p, "p", "nnpu_risk"), _scores(scores_u, "u", "nnpu_risk")
    risk_p_plus, risk_p_minus = _mean(loss(scores_p)), _mean(loss(-scores_p))
    r = _mean(loss(-scores_u)) - prior * risk_p_minus
    return prior * risk_p_plus + r.clamp(min=0)


def _scores(scores: Tensor, sample: str, owner: str) -> Tensor:
    """Return scores as floats."""
    if not isinstance(scores, Tensor) or scores.is_complex():
        raise ParameterError(
            f"The 'scores_{sample}' parameter of {owner} must be a torch.Tensor of real numbers. "
            f"Got {shown(scores)} instead."
        )
    return scores if scores.is_floating_point() else scores.float()


def _mean(values: Tensor) -> Tensor:
    return values.mean() if values.numel() else values.sum()


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
