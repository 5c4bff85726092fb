"""Table 1: loss functions for PU learning, as pure functions of the margin z = t·y.

A loss is called with a tensor of margins and returns a tensor of the same shape and dtype; the
caller reduces. What Table 1 says of each loss is in the attributes of its `Loss` object.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from nnpu.extras import needing
from nnpu.parameters import ParameterError, check_choice, shown

with needing("torch", extra="torch", owner="nnpu.losses"):
    from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

__all__ = [
    "LOSSES",
    "Loss",
    "double_hinge",
    "get_loss",
    "hinge",
    "logistic",
    "ramp",
    "sigmoid",
    "squared",
    "zero_one",
]


def zero_one(margin: Tensor) -> Tensor:
    """Zero-one loss (1 − sign z) / 2: one half at z = 0, and no gradient anywhere.

    >>> import torch
    >>> zero_one(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([1.0000, 0.5000, 0.0000])
    """
    return (1 - margin.sign()) / 2


def ramp(margin: Tensor) -> Tensor:
    """Ramp loss max{0, min{1, (1 − z) / 2}}, scaled to be symmetric.

    >>> import torch
    >>> ramp(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([1.0000, 0.5000, 0.2500])
    """
    return ((1 - margin) / 2).clamp(0, 1)


def squared(margin: Tensor) -> Tensor:
    """Squared loss (z − 1)² / 4, scaled to be linear-odd.

    >>> import torch
    >>> squared(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([2.2500, 0.2500, 0.0625])
    """
    return ((margin - 1) / 2).square()  # halved first: no overflow before the value itself does


def logistic(margin: Tensor) -> Tensor:
    """Logistic loss ln(1 + exp(−z)), without overflow.

    >>> import torch
    >>> logistic(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([2.1269, 0.6931, 0.4741])
    """
    return -functional.logsigmoid(margin)


def hinge(margin: Tensor) -> Tensor:
    """Hinge loss max{0, 1 − z}: neither symmetric nor linear-odd.

    >>> import torch
    >>> hinge(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([3.0000, 1.0000, 0.5000])
    """
    return (1 - margin).clamp(min=0)


def double_hinge(margin: Tensor) -> Tensor:
    """Double hinge loss max{0, (1 − z) / 2, −z}: the linear-odd relative of the hinge.

    >>> import torch
    >>> double_hinge(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([2.0000, 0.5000, 0.2500])
    """
    return ((1 - margin) / 2).clamp(min=0).maximum(-margin)


def sigmoid(margin: Tensor) -> Tensor:
    """Sigmoid loss 1 / (1 + exp z), the paper's choice: its gradient is nowhere zero.

    >>> import torch
    >>> sigmoid(torch.tensor([-2.0, 0.0, 0.5]))
    tensor([0.8808, 0.5000, 0.3775])
    """
    return (-margin).sigmoid()


@dataclass(frozen=True)
class Loss:
    """A loss function of the margin and what Table 1 says of it.

    Parameters
    ----------
    name : str
        The name under which it is found in `LOSSES`.
    function : callable
        Element-wise: a tensor of margins to a tensor of losses.
    symmetric : bool
        ℓ(t, +1) + ℓ(t, −1) = 1, Eq. (3).
    linear_odd : bool
        ℓ(t, +1) − ℓ(t, −1) = −t, Eq. (5).
    supremum : float
        The least upper bound of the values; ``math.inf`` if there is none.
    lipschitz : float
        The Lipschitz constant; ``math.inf`` if there is none.
    slope_support : tuple of float
        The closed interval on which the table says ℓ′(z) ≠ 0.
    formula : str
        The definition as the table prints it.

    Examples
    --------
    >>> import torch
    >>> from nnpu.losses import LOSSES
    >>> LOSSES["sigmoid"](torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.7311, 0.5000, 0.2689])
    >>> LOSSES["sigmoid"].symmetric, LOSSES["logistic"].linear_odd, LOSSES["ramp"].lipschitz
    (True, True, 0.5)
    """

    name: str
    function: Callable[[Tensor], Tensor]
    symmetric: bool = False
    linear_odd: bool = False
    supremum: float = math.inf
    lipschitz: float = math.inf
    slope_support: tuple[float, float] = (-math.inf, math.inf)
    formula: str = ""

    def __call__(self, margin: Tensor) -> Tensor:
        """Return the loss of each margin: same shape, same dtype."""
        return self.function(margin)

    @property
    def bounded(self) -> bool:
        """Whether the loss has an upper bound."""
        return math.isfinite(self.supremum)


_TABLE_1 = (
    Loss(
        "zero_one",
        zero_one,
        symmetric=True,
        supremum=1.0,
        slope_support=(0.0, 0.0),
        formula="(1 - sign(z)) / 2",
    ),
    Loss(
        "ramp",
        ramp,
        symmetric=True,
        supremum=1.0,
        lipschitz=0.5,
        slope_support=(-1.0, 1.0),
        formula="max{0, min{1, (1 - z) / 2}}",
    ),
    Loss("squared", squared, linear_odd=True, formula="(z - 1)^2 / 4"),
    Loss("logistic", logistic, linear_odd=True, lipschitz=1.0, formula="ln(1 + exp(-z))"),
    Loss(
        "hinge",
        hinge,
        lipschitz=1.0,
        slope_support=(-math.inf, 1.0),
        formula="max{0, 1 - z}",
    ),
    Loss(
        "double_hinge",
        double_hinge,
        linear_odd=True,
        lipschitz=1.0,
        slope_support=(-math.inf, 1.0),
        formula="max{0, (1 - z) / 2, -z}",
    ),
    Loss(
        "sigmoid",
        sigmoid,
        symmetric=True,
        supremum=1.0,
        lipschitz=0.25,
        formula="1 / (1 + exp(z))",
    ),
)

#: The seven losses of Table 1 by name.
LOSSES: Mapping[str, Loss] = MappingProxyType({loss.name: loss for loss in _TABLE_1})


def get_loss(loss: str | Loss | Callable[[Tensor], Tensor], *, owner: str = "get_loss") -> Loss:
    """Return the `Loss` of that name, or wrap a callable of the margin.

    Nothing is assumed of a callable: it counts as neither symmetric nor linear-odd nor bounded.
    Pass a `Loss` to say more of it.

    Parameters
    ----------
    loss : str, Loss or callable
        A name in `LOSSES`, a `Loss`, or an element-wise function of a tensor of margins.
    owner : str
        Who asks, for the error message.

    Examples
    --------
    >>> get_loss("ramp").supremum
    1.0
    >>> get_loss(lambda z: (1 - z).clamp(min=0) ** 2).supremum
    inf
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return LOSSES[check_choice("loss", loss, owner, LOSSES, also="a callable of the margin")]
    if callable(loss):
        return Loss(getattr(loss, "__name__", type(loss).__name__), loss)
    raise ParameterError(
        f"The 'loss' parameter of {owner} must be a name of Table 1, a Loss or a callable of the "
        f"margin. Got {shown(loss)} instead."
    )
