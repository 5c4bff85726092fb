"""The constants that Section 4 asks of a loss: C_ℓ, L_ℓ, and the least loss, where |g| ≤ C_g."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from nnpu.parameters import ParameterError, check_choice, check_number, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["LossConstants", "loss_constants"]


@dataclass(frozen=True)
class LossConstants:
    """What the theorems need to know of a loss on scores |t| ≤ C_g.

    Parameters
    ----------
    bound : float
        C_ℓ, the supremum of ℓ(t, y).
    lipschitz : float
        L_ℓ, the Lipschitz constant in t; ``math.inf`` for the zero-one loss.
    infimum : float
        The least value of ℓ(t, y). Where it is positive it is an α for every g with |g| ≤ C_g,
        since then R_n⁻(g) ≥ α whatever the data.
    """

    bound: float
    lipschitz: float
    infimum: float


def _zero_one(c: float) -> LossConstants:
    return LossConstants(bound=1.0, lipschitz=math.inf, infimum=0.0)


def _ramp(c: float) -> LossConstants:
    return LossConstants(bound=min(1.0, (1 + c) / 2), lipschitz=0.5, infimum=max(0.0, (1 - c) / 2))


def _squared(c: float) -> LossConstants:
    infimum = ((1 - c) / 2) ** 2 if c < 1 else 0.0
    return LossConstants(bound=((1 + c) / 2) ** 2, lipschitz=(1 + c) / 2, infimum=infimum)


def _logistic(c: float) -> LossConstants:
    small = math.log1p(math.exp(-c))
    return LossConstants(bound=c + small, lipschitz=1 / (1 + math.exp(-c)), infimum=small)


def _hinge(c: float) -> LossConstants:
    return LossConstants(bound=1 + c, lipschitz=1.0, infimum=max(0.0, 1 - c))


def _double_hinge(c: float) -> LossConstants:
    # The slope is -1/2 between the kinks at -1 and 1, and -1 below -1.
    return LossConstants(
        bound=max((1 + c) / 2, c),
        lipschitz=0.5 if c <= 1 else 1.0,
        infimum=max(0.0, (1 - c) / 2),
    )


def _sigmoid(c: float) -> LossConstants:
    small = math.exp(-c) / (1 + math.exp(-c))
    return LossConstants(bound=1 - small, lipschitz=0.25, infimum=small)


_ON_SCORES: Mapping[str, Callable[[float], LossConstants]] = MappingProxyType(
    {
        "zero_one": _zero_one,
        "ramp": _ramp,
        "squared": _squared,
        "logistic": _logistic,
        "hinge": _hinge,
        "double_hinge": _double_hinge,
        "sigmoid": _sigmoid,
    }
)


def loss_constants(loss: str, score_bound: float | None = None) -> LossConstants:
    """Return C_ℓ, L_ℓ and the least value of a loss of Table 1 on scores |t| ≤ C_g.

    With z = t·y in [−C, C], C = C_g:

    ============  ======================  =================  ====================
    loss          C_ℓ                     L_ℓ                least value
    ============  ======================  =================  ====================
    zero_one      1                       none               0
    ramp          min{1, (1 + C)/2}       1/2                max{0, (1 − C)/2}
    squared       (1 + C)²/4              (1 + C)/2          (1 − C)²/4 if C < 1
    logistic      ln(1 + exp C)           1/(1 + exp(−C))    ln(1 + exp(−C))
    hinge         1 + C                   1                  max{0, 1 − C}
    double_hinge  max{(1 + C)/2, C}       1/2 if C ≤ 1, 1    max{0, (1 − C)/2}
    sigmoid       1/(1 + exp(−C))         1/4                1/(1 + exp C)
    ============  ======================  =================  ====================

    Parameters
    ----------
    loss : str
        A name of Table 1.
    score_bound : float, optional
        C_g > 0 with |g(x)| ≤ C_g. Without it the loss itself must be bounded.

    References
    ----------
    The assumption at the head of Section 4.1, and that of Section 4.3 on the Lipschitz constant.

    Examples
    --------
    >>> loss_constants("sigmoid")
    LossConstants(bound=1.0, lipschitz=0.25, infimum=0.0)
    >>> loss_constants("squared", score_bound=3.0).bound
    4.0
    >>> loss_constants("logistic")
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'score_bound' parameter of loss_constants must be given for
    the logistic loss, which has no upper bound: Section 4 assumes C_g with |g| <= C_g and C_l with
    l(t, y) <= C_l for |t| <= C_g. Got None instead.
    """
    owner = "loss_constants"
    name = check_choice("loss", loss, owner, _ON_SCORES)
    if score_bound is not None:
        c = check_number("score_bound", score_bound, owner, low=0, include_low=False)
        if math.isfinite(c):
            return _ON_SCORES[name](c)
    if name not in ("zero_one", "ramp", "sigmoid"):
        raise ParameterError(
            f"The 'score_bound' parameter of {owner} must be given for the {name} loss, which has "
            "no upper bound: Section 4 assumes C_g with |g| <= C_g and C_l with l(t, y) <= C_l for "
            f"|t| <= C_g. Got {shown(score_bound)} instead."
        )
    return _ON_SCORES[name](math.inf)
