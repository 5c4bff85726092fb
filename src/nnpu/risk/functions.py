"""Eqs. (1), (2), (4) and (6): four estimators of a risk, as functions of score tensors.

A sample without rows counts as zero, as in `partial_risks`: the mean of nothing would be NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from torch import Tensor

from nnpu.losses import Loss, get_loss
from nnpu.parameters import ParameterError, check_prior, shown

__all__ = ["AnyLoss", "nnpu_risk", "pn_risk", "upu_risk", "upu_risk_symmetric"]

if TYPE_CHECKING:
    from collections.abc import Callable

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

    Any other named loss is refused; of a callable of one's own the condition is not checked.

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
