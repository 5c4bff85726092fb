"""The objective J(w, b) = −π mean_P g + mean_U h(g) + α/2 ‖w‖², g = w·φ(x) + b, by blocks of rows.

The linear-odd losses of Table 1 enter as functions of a score: h(g) = ℓ(−g), h′ and h″. The double
hinge has kinks at g = ±1; its smooth relative replaces them by parabolas of half-width `width`,
lies above it by at most width / 8, and becomes it as the width goes to 0. Parameters θ = (w, b) are
one vector; without an intercept it is w alone. Sums run in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from nnpu.data.vectors import row_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nnpu.convex.basis import Features


__all__ = [
    "CONVEX_LOSSES",
    "ConvexLoss",
    "Pass",
    "Problem",
    "column_sums",
    "gram",
    "smooth_double_hinge",
]

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


def column_sums(block: Any) -> NDArray[np.float64]:
    """Return the sum of each column of a block of features.

    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    if sparse.issparse(block):
        return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    ones = np.ones(len(block), block.dtype)
    return np.asarray(ones @ block, np.float64)  # quicker than .sum()


def gram(block: Any) -> Floats:
    """Return blockᵀ block, of which NumPy computes one triangle.

    >>> gram(np.array([[1.0, 2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    product = block.T @ block
    return np.asarray(product.toarray() if sparse.issparse(product) else product)


CACHE = 2**26  # numbers: features of up to half a gigabyte are kept from pass to pass


class Pass(NamedTuple):
    """What one pass over the rows gives: J and its gradient at θ, and the scores g (without b)."""

    objective: float
    gradient: Floats
    scores: Floats


class Problem:
    """A PU sample, features and a prior: what has to be minimised.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        All rows.
    labelled, population : ndarray of bool of shape (n,)
        The rows of P, and those that the unlabelled term stands for: U in the two-sample setting,
        P ∪ U in the one-sample setting.
    features : Features
        φ.
    prior : float
        π.
    intercept : bool
        Whether there is a b, which is not regularised.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.convex import CONVEX_LOSSES, Features
    >>> X, s = np.array([[2.0], [2.0], [-2.0]]), np.array([1, 0, 0])
    >>> problem = Problem(X, s == 1, s == 0, Features(None, np.ones(1)), 0.5, intercept=False)
    >>> problem.evaluate(np.array([1.0]), CONVEX_LOSSES["squared"], 0.0).objective
    0.25
    """

    def __init__(
        self,
        X: Any,
        labelled: NDArray[np.bool_],
        population: NDArray[np.bool_],
        features: Features,
        prior: float,
        *,
        intercept: bool = True,
    ) -> None:
        self.X, self.features, self.prior, self.intercept = X, features, prior, intercept
        self.labelled, self.population = labelled, population
        self.weights = population / population.sum()  # of a row in mean_U
        self.size = features.size
        self._kept: list[tuple[slice, Any]] | None = None
        self._linear: Floats | None = None

    @property
    def linear(self) -> Floats:
        """π mean_P (φ, 1): the gradient of the linear term, with the sign turned."""
        if self._linear is None:
            self._linear = self.linear_term(np.float64)
        return self._linear

    def linear_term(self, dtype: type[np.floating[Any]]) -> Floats:
        """Return `linear` from features of that type; the sums over blocks are float64."""
        x_p = self.X[self.labelled]
        total = np.zeros(self.size)
        for _, block in row_blocks(x_p, self.size, dtype):
            total += column_sums(self.features.transform(block, dtype))
        return self.prior * self._join(total / x_p.shape[0], 1.0)

    def penalty(self, alpha: float) -> Floats:
        """α for every weight, 0 for b."""
        return self._join(np.full(self.size, alpha), 0.0)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield rows and their features; kept from pass to pass unless they are too many."""
        if self._kept is not None:
            yield from self._kept
            return
        sparse_features = sparse.issparse(self.X) and self.features.basis is None
        numbers = self.X.nnz if sparse_features else self.X.shape[0] * self.size
        kept: list[tuple[slice, Any]] = []
        for rows, block in row_blocks(self.X, 1 if sparse_features else self.size):
            phi = self.features.transform(block)
            if numbers <= CACHE:
                kept.append((rows, phi))
            yield rows, phi
        if kept:
            self._kept = kept

    def evaluate(self, theta: Floats, loss: ConvexLoss, alpha: float) -> Pass:
        """Return J(θ), its gradient and the scores, in one pass."""
        w, b = self.split(theta)
        value, pulled, total = 0.0, np.zeros(self.size), 0.0
        scores = np.empty(self.X.shape[0])
        for rows, block in self.blocks():
            weights = self.weights[rows]
            scores[rows] = block @ w
            g = scores[rows] + b
            value += float(weights @ loss.value(g))
            slope = weights * loss.slope(g)
            pulled += block.T @ slope
            total += float(slope.sum())
        penalty = self.penalty(alpha)
        objective = value - float(self.linear @ theta) + float(penalty @ theta**2) / 2
        gradient = self._join(pulled, total) - self.linear + penalty * theta
        return Pass(objective, gradient, scores)

    def hessian(self, curvature: Floats, alpha: float) -> Floats:
        """Return Σ_i curvature_i (φ_i, 1)(φ_i, 1)ᵀ + α: rows without curvature are skipped."""
        matrix = np.diag(self.penalty(alpha))
        for rows, block in self.blocks():
            active = np.flatnonzero(curvature[rows])
            if not len(active):
                continue
            root = np.sqrt(curvature[rows][active])
            part = _times(_take(block, active), root)
            matrix[: self.size, : self.size] += gram(part)
            if self.intercept:
                matrix[: self.size, -1] += part.T @ root
                matrix[-1, -1] += root @ root
        if self.intercept:
            matrix[-1, : self.size] = matrix[: self.size, -1]
        return matrix

    def hessian_times(self, curvature: Floats, vector: Floats, alpha: float) -> Floats:
        """Return the product of the Hessian and a vector without the Hessian."""
        w, b = self.split(vector)
        pulled, total = np.zeros(self.size), 0.0
        for rows, block in self.blocks():
            if not curvature[rows].any():
                continue
            bent = curvature[rows] * (block @ w + b)
            pulled += block.T @ bent
            total += float(bent.sum())
        return self._join(pulled, total) + self.penalty(alpha) * vector

    def split(self, theta: Floats) -> tuple[Floats, float]:
        """Return w and b; b is 0 where there is none."""
        return (theta[:-1], float(theta[-1])) if self.intercept else (theta, 0.0)

    def _join(self, w: Floats, b: float) -> Floats:
        return np.append(w, b) if self.intercept else w


def _take(block: Any, rows: NDArray[np.intp]) -> Any:
    return block if len(rows) == block.shape[0] else block[rows]


def _times(block: Any, factors: Floats) -> Any:
    """The rows of a block times one number each, in float64."""
    if sparse.issparse(block):
        return sparse.csr_array(block.multiply(factors[:, None]))
    return block * factors[:, None]
