"""The linear-odd losses of Table 1 as functions of a score: h(g) = ℓ(−g), h′ and h″.

The double hinge has kinks at g = ±1. Its smooth relative replaces them by parabolas of half-width
`width`, lies above it by at most width / 8, and becomes it as the width goes to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CONVEX_LOSSES", "ConvexLoss", "smooth_double_hinge"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConvexLoss:
    """h(g) = ℓ(−g): what an unlabelled row with score g costs.

    Parameters
    ----------
    name : str
        The name in Table 1.
    value, slope, curvature : callable
        h, h′ and h″, element-wise. The slope lies in [0, 1] for the losses with Lipschitz
        constant 1.
    width : float
        Half the width of the parabolas that stand for kinks; 0 if the loss has none.

    Examples
    --------
    >>> import numpy as np
    >>> CONVEX_LOSSES["squared"].value(np.array([-1.0, 0.0, 1.0]))
    array([0.  , 0.25, 1.  ])
    """

    name: str
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]
    width: float = 0.0


def smooth_double_hinge(width: float) -> ConvexLoss:
    """Return the double hinge with parabolas of half-width `width` < 1 in place of its kinks.

    h(g) = max{0, (1 + g)/2, g} = k(g + 1) + k(g − 1) with k(z) = max{0, z}/2, and k is replaced by
    (z + width)² / (8 width) for |z| ≤ width.

    Examples
    --------
    >>> import numpy as np
    >>> float(smooth_double_hinge(0.08).value(np.array([1.0]))[0])  # 1 + width / 8
    1.01
    """

    def kink(z: Floats) -> Floats:
        inside = np.clip(z + width, 0, 2 * width)
        return np.asarray(inside**2 / (8 * width) + np.maximum(z - width, 0) / 2)

    def bend(z: Floats) -> Floats:
        return np.asarray(np.clip((z + width) / (4 * width), 0, 0.5))

    return ConvexLoss(
        "double_hinge",
        lambda g: kink(g + 1) + kink(g - 1),
        lambda g: bend(g + 1) + bend(g - 1),
        lambda g: (np.abs(np.abs(g) - 1) < width) / (4 * width),
        width,
    )


def _double_hinge(g: Floats) -> Floats:
    return np.maximum(np.maximum((1 + g) / 2, 0), g)


def _logistic_curvature(g: Floats) -> Floats:
    half = expit(-np.abs(g))  # 1 − expit loses its digits where expit is near 1
    return np.asarray(half * (1 - half))


#: The losses that satisfy Eq. (5), by the names of Table 1.
CONVEX_LOSSES: Mapping[str, ConvexLoss] = MappingProxyType(
    {
        "squared": ConvexLoss(
            "squared",
            lambda g: ((1 + g) / 2) ** 2,
            lambda g: (1 + g) / 2,
            lambda g: np.full_like(g, 0.5),
        ),
        "logistic": ConvexLoss(
            "logistic", lambda g: np.logaddexp(0, g), expit, _logistic_curvature
        ),
        "double_hinge": ConvexLoss(
            "double_hinge",
            _double_hinge,
            lambda g: (np.sign(g + 1) + np.sign(g - 1) + 2) / 4,  # at a kink: the middle
            np.zeros_like,
        ),
    }
)
