"""`PULoss`: Algorithm 1's gradient as a torch loss, for your own training loop."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

from nnpu.extras import needing

with needing("torch", extra="torch", owner="PULoss"):
    import torch
    from torch import Tensor, nn

from nnpu.losses import get_loss
from nnpu.parameters import InputError, check_number, check_prior, check_sampling
from nnpu.risk import Terms, get_risk, partial_risks

if TYPE_CHECKING:
    from nnpu.losses import Loss
    from nnpu.parameters import Sampling
    from nnpu.risk import AnyLoss, Pool, Risk

__all__ = ["Objective", "PULoss", "flat_scores"]


def flat_scores(scores: Tensor) -> Tensor:
    """Return scores of shape (n,) or (n, 1) as (n,); any other shape is an error.

    >>> import torch
    >>> flat_scores(torch.zeros(3, 1)).shape
    torch.Size([3])
    """
    if scores.ndim == 1:
        return scores
    if scores.ndim == 2 and scores.shape[1] == 1:
        return scores[:, 0]
    raise InputError(
        f"The module's output must have shape (n,) or (n, 1), one score per row. Got "
        f"{tuple(scores.shape)} instead; end the module with a layer of one output."
    )


class Objective:
    """The parameters of Algorithm 1 that decide what a mini-batch is worth, checked once.

    `PULoss` and the training loop both compute through it; `nnpu.training.train` takes one.

    Parameters
    ----------
    prior : float
        π_p, the share of positives.
    risk, loss, beta, gamma, sampling
        As in `PULoss`.
    shares : tuple of float, optional
        Of P, U and N in all rows, for mini-batches that are drawn from them.
    owner : str
        Who is named in errors.
    """

    def __init__(
        self,
        prior: float,
        *,
        risk: str | Risk = "nnpu",
        loss: AnyLoss = "sigmoid",
        beta: float = 0.0,
        gamma: float = 1.0,
        sampling: str = "two-sample",
        shares: tuple[float, float, float] | None = None,
        owner: str = "Objective",
    ) -> None:
        self.prior = check_prior(prior, owner)
        self.risk: Risk = get_risk(risk, owner=owner)
        self.loss: Loss = get_loss(loss, owner=owner)
        self.beta = check_number("beta", beta, owner, low=0)
        self.gamma = check_number("gamma", gamma, owner, low=0, high=1)
        self.sampling: Sampling = check_sampling(sampling, owner)
        self.shares = shares
        self.pool: Pool | None = None

    def with_loss(self, loss: AnyLoss) -> Objective:
        """Return the same objective with another loss."""
        other = copy.copy(self)
        other.loss = get_loss(loss)
        return other

    def with_shares(self, shares: tuple[float, float, float]) -> Objective:
        """Return the same objective for batches drawn from samples of these shares."""
        other = copy.copy(self)
        other.shares = shares
        return other

    def with_pool(self, pool: Pool) -> Objective:
        """Return the same objective for batches that several processes share."""
        other = copy.copy(self)
        other.pool = pool
        return other

    @property
    def tolerance(self) -> float:
        """β, or infinity from prior · sup ℓ on, where nnPU is uPU (rounding cannot undo it)."""
        return math.inf if self.beta >= self.prior * self.loss.supremum else self.beta

    def terms(self, scores: Tensor, s: Tensor, *, loss: Loss | None = None) -> Terms:
        """Evaluate a mini-batch, with another loss (the zero-one loss, say) if one is given.

        A risk with a loss of its own has no value under another; nnPU's is given for it.
        """
        risk = self.risk
        if risk.own_loss is not None:
            risk = risk if loss is None else get_risk("nnpu")
            loss = loss or risk.own_loss
        s = risk.labels(s)
        partial = partial_risks(
            scores,
            s,
            loss or self.loss,
            sampling=self.sampling,
            shares=self.shares,
            pool=self.pool,
        )
        return risk.terms(partial, self.prior, self.tolerance)

    def discounted(self, terms: Terms) -> Tensor:
        """Return what is differentiated, times γ where it is the correction."""
        return torch.where(terms.corrected, self.gamma * terms.objective, terms.objective)


class PULoss(nn.Module):
    """The risk of a mini-batch, with the gradient of Algorithm 1.

    The **value** is the risk to report: R̃_pu of Eq. (6) for ``risk="nnpu"``, R̂_pu of Eq. (2) for
    ``risk="upu"``. The **gradient** is Algorithm 1's: that of R̂_pu where r ≥ −β, and γ times that
    of −r where r < −β. Between −β and 0 the two differ on purpose.

    Parameters
    ----------
    prior : float
        π_p in (0, 1): the share of positives in the unlabelled data (two-sample), or in all the
        data (one-sample).
    risk : str or Risk, default="nnpu"
        ``"nnpu"``, ``"upu"``, ``"pn"``, ``"abs"``, ``"imbalanced"``, ``"pnu"``, ``"nnpnu"``,
        ``"kl"``, or an object of `nnpu.risk` with parameters of its own.
    loss : str, Loss or callable, default="sigmoid"
        A name of Table 1 or any element-wise function of the margin.
    beta : float, default=0.0
        β ≥ 0: how far below 0 the estimate r of π_n R_n⁻ may fall before it is corrected. From
        ``prior`` times the supremum of the loss on, nnPU is uPU.
    gamma : float, default=1.0
        γ in [0, 1]: factor of the gradient of the correction.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        How the data came about: positives drawn separately from the unlabelled data, or one
        sample some of whose positives got a label.

    Notes
    -----
    Scale the loss as usual for mixed precision or gradient accumulation; do not add the losses of
    parts of a batch, since the risk is not a mean over rows. A batch without positives or without
    unlabelled rows is not an error: the missing partial risk counts as zero.

    Examples
    --------
    >>> import torch
    >>> from nnpu import PULoss
    >>> scores = torch.tensor([1.5, -0.5, 0.2, -2.0], requires_grad=True)
    >>> s = torch.tensor([1, 0, 0, 0])  # 1 labelled positive, 0 unlabelled
    >>> value = PULoss(prior=0.4)(scores, s)
    >>> value.backward()
    >>> round(value.item(), 4), scores.grad.shape
    (0.0948, torch.Size([4]))
    """

    def __init__(
        self,
        prior: float,
        *,
        risk: str | Risk = "nnpu",
        loss: AnyLoss = "sigmoid",
        beta: float = 0.0,
        gamma: float = 1.0,
        sampling: str = "two-sample",
    ) -> None:
        super().__init__()
        self.objective = Objective(
            prior, risk=risk, loss=loss, beta=beta, gamma=gamma, sampling=sampling, owner="PULoss"
        )

    def forward(self, scores: Tensor, s: Tensor) -> Tensor:
        """Return the risk of the batch as a scalar tensor.

        Parameters
        ----------
        scores : Tensor of shape (n,) or (n, 1)
            g(x), the output of the model for the whole batch in one forward pass.
        s : Tensor of shape (n,)
            PU labels: 1 labelled positive, 0 unlabelled, −1 known negative.
        """
        for name, tensor in (("scores", scores), ("labels s", s)):
            if not isinstance(tensor, Tensor) or tensor.is_complex():
                raise InputError(
                    f"The {name} must be a torch.Tensor of real numbers. Got "
                    f"{type(tensor).__name__} instead; torch.as_tensor converts an array."
                )
        scores = flat_scores(scores)
        self._check_labels(scores, s)
        terms = self.objective.terms(scores, s)
        objective = self.objective.discounted(terms)
        # The value of the risk, exactly, with the gradient of the objective:
        return terms.risk.detach() + (objective - objective.detach())

    def _check_labels(self, scores: Tensor, s: Tensor) -> None:
        if s.shape != scores.shape:
            raise InputError(
                f"The PU labels s must have shape {tuple(scores.shape)}, one per score. "
                f"Got {tuple(s.shape)} instead."
            )
        risk = self.objective.risk
        known = torch.stack([s == label for label in risk.reads]).any(dim=0)
        if not known.all():
            came = sorted(set(s.tolist()) - risk.reads)
            raise InputError(
                f"The PU labels s must be among {sorted(risk.reads)} for risk={risk.name!r} "
                "(1 labelled positive, 0 unlabelled, -1 known negative). "
                f"Got {came} as well; recode unlabelled rows to 0, or choose risk='nnpnu' "
                "for known negatives."
            )

    def extra_repr(self) -> str:
        """Name the parameters."""
        o = self.objective
        return (
            f"prior={o.prior}, risk={o.risk.name!r}, loss={o.loss.name!r}, beta={o.beta}, "
            f"gamma={o.gamma}, sampling={o.sampling!r}"
        )
