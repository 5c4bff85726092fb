"""`Risk` objects: what is made of partial risks to report, and what to differentiate.

The two differ on purpose: see Algorithm 1. Names and parameters of risks are needed without torch,
so that it is imported only where a risk is evaluated; `nnpu.risk` is the public door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from nnpu.parameters import check_choice, check_number, check_prior

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from nnpu.losses import Loss

__all__ = [
    "RISKS",
    "AbsoluteRisk",
    "ImbalancedRisk",
    "KLRisk",
    "NonNegativePNURisk",
    "NonNegativeRisk",
    "PNURisk",
    "PartialRisks",
    "Risk",
    "SupervisedRisk",
    "Terms",
    "UnbiasedRisk",
    "get_risk",
]


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
    labels it makes use of: 1 labelled positive, 0 unlabelled, −1 known negative. A risk with
    an ``own_loss`` is made of that one, whatever loss is asked for.
    """

    name: ClassVar[str]
    reads: ClassVar[frozenset[int]] = frozenset({1, 0})
    unlabelled_is_negative: ClassVar[bool] = False

    @property
    def own_loss(self) -> Loss | None:
        """The loss that this risk is made of; None: the one that is asked for."""
        return None

    def labels(self, s: Tensor) -> Tensor:
        """Return the labels as this risk reads them."""
        import torch

        return torch.where(s == 1, 1, -1) if self.unlabelled_is_negative else s

    @abstractmethod
    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """Return the parts, the reported value and the objective."""


def _descend(positive: Tensor, negative: Tensor) -> Terms:
    """Terms of a risk whose objective is its value: the sum of its parts."""
    total = positive + negative
    never = total.new_zeros(()).bool()
    return Terms(positive, negative, total, total, never)


def _correct(positive: Tensor, negative: Tensor, beta: float) -> Terms:
    """Algorithm 1: descend along the sum, or along −r where r < −β; report Eq. (6)."""
    corrected = negative < -beta  # Algorithm 1, line 5
    objective = (-negative).where(corrected, positive + negative)  # lines 6 and 9
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
    """abs-PU: π R̂_p⁺ + |r|, differentiated as it stands. `beta` is not used."""

    name: ClassVar[str] = "abs"

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """π R̂_p⁺ + |r|; where r < 0 the gradient of |r| is that of −r."""
        return _descend(prior * partial.risk_p_plus, _r(partial, prior).abs())


@dataclass(frozen=True)
class ImbalancedRisk(Risk):
    """Imbalanced nnPU: the risk of a population in which positives have share `target_prior`.

    π′ R̂_p⁺ + (1 − π′)/(1 − π) · max{0, r}, corrected as in Algorithm 1 (Su, Chen and Xu, 2021).

    Parameters
    ----------
    target_prior : float, default=0.5
        π′; one half weighs both classes alike however rare the positives are.

    Examples
    --------
    >>> from nnpu import PULoss
    >>> from nnpu.risk import ImbalancedRisk
    >>> PULoss(prior=0.03, risk=ImbalancedRisk(target_prior=0.3)).objective.risk
    ImbalancedRisk(target_prior=0.3)
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

    Examples
    --------
    >>> import torch
    >>> from nnpu import PULoss
    >>> from nnpu.risk import PNURisk
    >>> scores, s = torch.tensor([1.0, -1.0, 0.0]), torch.tensor([1, -1, 0])
    >>> supervised = PULoss(prior=0.5, risk="pn")(scores[:2], s[:2])
    >>> bool(PULoss(prior=0.5, risk=PNURisk(eta=0))(scores, s) == supervised)
    True
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

    Examples
    --------
    >>> import torch
    >>> from nnpu import PULoss
    >>> from nnpu.risk import NonNegativePNURisk
    >>> scores, s = torch.tensor([1.0, -1.0, 0.0]), torch.tensor([1, -1, 0])
    >>> nnpu = PULoss(prior=0.5)(scores[[0, 2]], s[[0, 2]])
    >>> bool(PULoss(prior=0.5, risk=NonNegativePNURisk(negative_weight=0))(scores, s) == nnpu)
    True
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


def _kl_loss(margin: Tensor) -> Tensor:
    """−log σ(g) for a row as positive, σ(g) for a row as unlabelled; margins (g, −g), (2, n)."""
    import torch

    from nnpu.losses import logistic, sigmoid

    return torch.stack([logistic(margin[0]), sigmoid(margin[1])])


@dataclass(frozen=True)
class KLRisk(Risk):
    """π mean_P[−log σ(g)] + mean_X σ(g), X being the population sample. `beta` is not used.

    With densities p_P of the positives and p of the population, the risk of φ = σ(g) is
    ∫ −π p_P log φ + p φ. At every x its derivative by φ, p − π p_P / φ, vanishes where
    φ = π p_P / p, the posterior; and up to a constant the risk is the generalised Kullback-Leibler
    divergence from π p_P to φ p. Both parts are non-negative, so there is nothing to clamp.
    Yet φ = 1 on the rows of P and 0 on those of U has the risk 0: a flexible model memorises, and
    must be stopped by the risk of held-out rows. Calibrate its scores, or choose the cut by such
    rows: alone it tends to cut too low.

    It has its own loss, and `loss` is not used. A training's zero-one risk is nnPU's.

    Examples
    --------
    >>> import torch
    >>> from nnpu import PULoss
    >>> PULoss(prior=0.5, risk="kl")(torch.zeros(2), torch.tensor([1, 0]))  # 0.5 ln 2 + 0.5
    tensor(0.8466)
    """

    name: ClassVar[str] = "kl"

    @property
    def own_loss(self) -> Loss:
        """Its two halves, as `_kl_loss` has them."""
        from nnpu.losses import Loss

        return Loss("kl", _kl_loss)

    def terms(self, partial: PartialRisks, prior: float, beta: float = 0.0) -> Terms:
        """π R̂_p⁺ + R̂_u⁻, under the two halves of its loss."""
        return _descend(prior * partial.risk_p_plus, partial.risk_u_minus)


_ALL = (
    NonNegativeRisk(),
    UnbiasedRisk(),
    SupervisedRisk(),
    AbsoluteRisk(),
    ImbalancedRisk(),
    PNURisk(),
    NonNegativePNURisk(),
    KLRisk(),
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
