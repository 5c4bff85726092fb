"""Eqs. (1), (2), (4) and (6) of the paper and their relatives, as functions of scores.

The first half of this module is the paper's: four estimators of the risk of a classifier, each a
pure, differentiable function of score tensors. The second half is what training needs: the
partial risks of a mixed mini-batch, and `Risk` objects that turn them into a value to report and
an objective to differentiate. The two differ on purpose: see Algorithm 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from nnpu.losses import Loss, get_loss
from nnpu.parameters import ParameterError, Sampling, check_choice, check_number, check_prior

__all__ = [
    "RISKS",
    "AbsoluteRisk",
    "ImbalancedRisk",
    "NonNegativePNURisk",
    "NonNegativeRisk",
    "PNURisk",
    "PartialRisks",
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

AnyLoss = str | Loss | Callable[[Tensor], Tensor]


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
    return prior * loss(scores_p).mean() + (1 - prior) * loss(-scores_n).mean()


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
    risk_p_plus, risk_p_minus = loss(scores_p).mean(), loss(-scores_p).mean()
    return prior * risk_p_plus - prior * risk_p_minus + loss(-scores_u).mean()


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
    return 2 * prior * loss(scores_p).mean() + loss(-scores_u).mean() - prior


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
    risk_p_plus, risk_p_minus = loss(scores_p).mean(), loss(-scores_p).mean()
    r = loss(-scores_u).mean() - prior * risk_p_minus
    return prior * risk_p_plus + r.clamp(min=0)


@dataclass(frozen=True)
class PartialRisks:
    """Mean losses of each sample, taken as positive (plus) or as negative (minus).

    The mean over an empty sample is 0, never NaN. In the one-sample setting ``risk_u_*`` are
    means over the whole population sample, P ∪ U ∪ N. Each field is a tensor of shape ().
    """

    risk_p_plus: Tensor
    risk_p_minus: Tensor
    risk_u_plus: Tensor
    risk_u_minus: Tensor
    risk_n_plus: Tensor
    risk_n_minus: Tensor
    n_p: Tensor
    n_u: Tensor
    n_n: Tensor


def partial_risks(
    scores: Tensor,
    s: Tensor,
    loss: Loss,
    *,
    sampling: Sampling = "two-sample",
    shares: tuple[float, float, float] | None = None,
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
    precise = torch.promote_types(scores.dtype, torch.float32)  # half types overflow when summed
    losses = torch.stack([loss(scores), loss(-scores)]).to(precise)  # (2, n): as P, as N
    masks = torch.stack([s == 1, s == 0, s == -1])  # (3, n)
    counts = masks.sum(dim=1).to(precise)  # (3,)
    sums = torch.where(masks[:, None], losses, 0).sum(dim=2)  # (3, 2); 0 · inf never arises
    means = sums / counts.clamp(min=1)[:, None]
    (p_plus, p_minus), (u_plus, u_minus), (n_plus, n_minus) = (row.unbind() for row in means)
    if sampling == "one-sample":
        weights = (
            counts / counts.sum().clamp(min=1)
            if shares is None
            else torch.as_tensor(shares, dtype=precise, device=scores.device)
        )
        u_plus, u_minus = (weights @ means).unbind()
    return PartialRisks(p_plus, p_minus, u_plus, u_minus, n_plus, n_minus, *counts.unbind())


class Terms(NamedTuple):
    """What a `Risk` makes of partial risks; every field is a tensor of shape ().

    ``positive`` and ``negative`` are the two parts of the risk (for nnPU: π R̂_p⁺ and r),
    ``risk`` is the value to report, ``objective`` is what is differentiated, and ``corrected``
    says whether Algorithm 1 took its other branch, r < −β.
    """

    positive: Tensor
    negative: Tensor
    risk: Tensor
    objective: Tensor
    corrected: Tensor


class Risk(ABC):
    """How the risk of a classifier is put together from partial risks.

    A subclass is final, holds the parameters that it alone needs, and says in ``reads`` which
    labels it makes use of: 1 labelled positive, 0 unlabelled, −1 known negative.
    """

    name: ClassVar[str]
    reads: ClassVar[frozenset[int]] = frozenset({1, 0})
    unlabelled_is_negative: ClassVar[bool] = False

    def labels(self, s: Tensor) -> Tensor:
        """Return the labels as this risk reads them."""
        return torch.where(s == 1, 1, -1) if self.unlabelled_is_negative else s

    @abstractmethod
    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """Return the parts, the reported value and the objective."""


def _descend(positive: Tensor, negative: Tensor) -> Terms:
    """Terms of a risk whose objective is its value: the sum of its parts."""
    total = positive + negative
    return Terms(positive, negative, total, total, torch.zeros_like(total, dtype=torch.bool))


def _correct(positive: Tensor, negative: Tensor, beta: float) -> Terms:
    """Algorithm 1: descend along the sum, or along −r where r < −β; report Eq. (6)."""
    corrected = negative < -beta  # Algorithm 1, line 5
    objective = torch.where(corrected, -negative, positive + negative)  # lines 6 and 9
    return Terms(positive, negative, positive + negative.clamp(min=0), objective, corrected)


def _r(partial: PartialRisks, prior: float) -> Tensor:
    """r = R̂_u⁻ − π R̂_p⁻, the estimate of π_n R_n⁻ without negatives."""
    return partial.risk_u_minus - prior * partial.risk_p_minus


@dataclass(frozen=True)
class NonNegativeRisk(Risk):
    """nnPU, Eq. (6) and Algorithm 1."""

    name: ClassVar[str] = "nnpu"

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """π R̂_p⁺ + max{0, r}; the gradient changes where r < −β."""
        return _correct(prior * partial.risk_p_plus, _r(partial, prior), beta)


@dataclass(frozen=True)
class UnbiasedRisk(Risk):
    """uPU, Eq. (2): nnPU with unlimited tolerance. `beta` is not used."""

    name: ClassVar[str] = "upu"

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """π R̂_p⁺ + r."""
        return _descend(prior * partial.risk_p_plus, _r(partial, prior))


@dataclass(frozen=True)
class SupervisedRisk(Risk):
    """PN, Eq. (1): true negatives in place of unlabelled data. `beta` is not used.

    Every row that is not positive counts as negative, whether its label is 0 or −1.
    """

    name: ClassVar[str] = "pn"
    reads: ClassVar[frozenset[int]] = frozenset({1, 0, -1})
    unlabelled_is_negative: ClassVar[bool] = True

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """π R̂_p⁺ + π_n R̂_n⁻."""
        return _descend(prior * partial.risk_p_plus, (1 - prior) * partial.risk_n_minus)


@dataclass(frozen=True)
class AbsoluteRisk(Risk):
    """abs-PU: π R̂_p⁺ + |r|, a correction that is differentiated as it stands."""

    name: ClassVar[str] = "abs"

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """π R̂_p⁺ + |r|; where r < 0 the gradient of |r| is that of −r."""
        positive, r = prior * partial.risk_p_plus, _r(partial, prior)
        total = positive + r.abs()
        return Terms(positive, r, total, total, r < 0)


@dataclass(frozen=True)
class ImbalancedRisk(Risk):
    """Imbalanced nnPU: the risk of a population in which positives have share `target_prior`.

    π′ R̂_p⁺ + (1 − π′)/(1 − π) · max{0, r}, corrected as in Algorithm 1 (Su, Chen and Xu, 2021).

    Parameters
    ----------
    target_prior : float, default=0.5
        π′; one half weighs both classes alike however rare the positives are.
    """

    target_prior: float = 0.5
    name: ClassVar[str] = "imbalanced"

    def __post_init__(self) -> None:
        check_prior(self.target_prior, "ImbalancedRisk", name="target_prior")

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """Both parts of Eq. (6), weighed for the target population."""
        weight = (1 - self.target_prior) / (1 - prior)
        positive = self.target_prior * partial.risk_p_plus
        return _correct(positive, weight * _r(partial, prior), weight * beta)


@dataclass(frozen=True)
class PNURisk(Risk):
    """PNU: a mixture of the PN risk with the PU or the NU risk (Sakai et al., 2017).

    Parameters
    ----------
    eta : float, default=0.5
        In [−1, 1]. η ≥ 0: (1 − η) R_pn + η R_pu; η < 0: (1 − |η|) R_pn + |η| R_nu.
    """

    eta: float = 0.5
    name: ClassVar[str] = "pnu"
    reads: ClassVar[frozenset[int]] = frozenset({1, 0, -1})

    def __post_init__(self) -> None:
        check_number("eta", self.eta, "PNURisk", low=-1, high=1)

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """The positive part is R_p⁺ or its NU estimate, the negative part R_n⁻ or r."""
        positive, negative = prior * partial.risk_p_plus, (1 - prior) * partial.risk_n_minus
        weight = abs(self.eta)
        if self.eta >= 0:
            negative = (1 - weight) * negative + weight * _r(partial, prior)
        else:
            estimate = partial.risk_u_plus - (1 - prior) * partial.risk_n_plus
            positive = (1 - weight) * positive + weight * estimate
        return _descend(positive, negative)


@dataclass(frozen=True)
class NonNegativePNURisk(Risk):
    """nnPNU: nnPU that also knows some negatives.

    With n = t π_n R̂_n⁻ + (1 − t) r the risk is π R̂_p⁺ + max{0, n}, corrected as in Algorithm 1.

    Parameters
    ----------
    negative_weight : float or "auto", default="auto"
        t in [0, 1]. "auto" weighs the two estimates of π_n R_n⁻ by the inverse of their variance
        bounds, π_n²/n_n for the negatives and π²/n_p + 1/n_u for r, from the counts at hand.
    """

    negative_weight: float | Literal["auto"] = "auto"
    name: ClassVar[str] = "nnpnu"
    reads: ClassVar[frozenset[int]] = frozenset({1, 0, -1})

    def __post_init__(self) -> None:
        if self.negative_weight != "auto":
            check_number(
                "negative_weight", self.negative_weight, "NonNegativePNURisk", low=0, high=1
            )

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """Eq. (6) with n in place of r."""
        t: Tensor | float
        if self.negative_weight == "auto":
            precision_n = partial.n_n / (1 - prior) ** 2
            precision_r = (
                partial.n_p * partial.n_u / (partial.n_p + prior**2 * partial.n_u).clamp(min=1)
            )
            t = precision_n / (precision_n + precision_r).clamp(min=1)
        else:
            t = self.negative_weight
        n = t * (1 - prior) * partial.risk_n_minus + (1 - t) * _r(partial, prior)
        return _correct(prior * partial.risk_p_plus, n, beta)


_ALL = (
    NonNegativeRisk(),
    UnbiasedRisk(),
    SupervisedRisk(),
    AbsoluteRisk(),
    ImbalancedRisk(),
    PNURisk(),
    NonNegativePNURisk(),
)

#: The risks by name, each with its default parameters.
RISKS: Mapping[str, Risk] = MappingProxyType({risk.name: risk for risk in _ALL})


def get_risk(risk: str | Risk, *, owner: str = "get_risk") -> Risk:
    """Return the `Risk` of that name, or the object itself.

    Examples
    --------
    >>> get_risk("imbalanced")
    ImbalancedRisk(target_prior=0.5)
    """
    if isinstance(risk, Risk):
        return risk
    return RISKS[check_choice("risk", risk, owner, RISKS, also="a Risk")]
