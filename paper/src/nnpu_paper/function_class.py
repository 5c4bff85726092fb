"""Lemma 5 and Theorem 4 on a class that is small enough to minimise by enumeration.

x takes twelve values in the unit disc, 𝒢 holds the linear functions x ↦ ⟨w, x⟩ for directions all
round and three lengths of w. The class is closed under negation, |g| ≤ 2, the loss is the sigmoid
loss, and every risk is a sum over the twelve values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu import theory
from nnpu_paper.populations import loss_values

if TYPE_CHECKING:
    from nnpu_paper.populations import Array
    from nnpu_paper.results import Row

__all__ = ["FunctionClass", "class_row", "comparison_row", "default_class"]

_NORM = 2.0


@dataclass(frozen=True)
class FunctionClass:
    """Values of x with their probabilities in each class, and every function's losses on them.

    Parameters
    ----------
    x : array of shape (values, 2)
        The support.
    p, q : array of shape (values,)
        Probabilities given y = +1 and y = −1.
    plus, minus : array of shape (values, functions)
        ℓ(g(x), +1) and ℓ(g(x), −1).
    """

    x: Array
    p: Array
    q: Array
    plus: Array
    minus: Array

    def risks(self, prior: float) -> Array:
        """R(g) of every function."""
        return np.asarray(prior * self.p @ self.plus + (1 - prior) * self.q @ self.minus)

    def alpha(self) -> float:
        """The least R_n⁻(g) in the class."""
        return float((self.q @ self.minus).min())

    def complexity(self, share: float, n: int) -> float:
        """Rademacher complexity at n draws from a mixture with that share of positives."""
        mixture = share * self.p + (1 - share) * self.q
        root_mean_square = float(np.sqrt(mixture @ (self.x**2).sum(axis=1)))
        return float(theory.rademacher_linear(_NORM, root_mean_square, n))


def default_class() -> FunctionClass:
    """Twelve points, two overlapping classes, 24 directions times 3 lengths.

    >>> default_class().plus.shape
    (12, 72)
    """
    angles = np.arange(12) * np.pi / 6
    x = np.where(np.arange(12) % 2, 1.0, 0.6)[:, None] * np.stack(
        [np.cos(angles), np.sin(angles)], axis=1
    )
    p = np.exp(1.5 * x[:, 0])
    q = np.exp(-1.5 * x[:, 0] + 0.8 * x[:, 1])
    directions = np.arange(24) * np.pi / 12
    w = np.stack([np.cos(directions), np.sin(directions)])  # (2, 24)
    weights = np.concatenate([length * w for length in (0.5, 1.0, _NORM)], axis=1)
    scores = x @ weights
    return FunctionClass(
        x,
        p / p.sum(),
        q / q.sum(),
        loss_values("sigmoid", scores),
        loss_values("sigmoid", -scores),
    )


def class_row(
    functions: FunctionClass,
    prior: float,
    n_p: int,
    n_u: int,
    *,
    draws: int,
    delta: float,
    rng: np.random.Generator,
) -> Row:
    """Minimise R̃_pu on many samples; put uniform deviation and estimation error beside bounds."""
    risks = functions.risks(prior)
    upu, nnpu = _estimates(functions, prior, n_p, n_u, draws, rng)
    deviation = np.abs(nnpu - risks).max(axis=1)
    error = risks[nnpu.argmin(axis=1)] - risks.min()
    error_upu = risks[upu.argmin(axis=1)] - risks.min()
    constants = theory.loss_constants("sigmoid", _NORM)
    setting = (
        functions.complexity(1.0, n_p),
        functions.complexity(prior, n_u),
        delta,
        prior,
        n_p,
        n_u,
    )
    free = float(
        theory.uniform_deviation_bound(
            *setting, lipschitz=constants.lipschitz, loss_bound=constants.bound
        )
    )
    paper = float(
        theory.uniform_deviation_bound(
            *setting,
            lipschitz=constants.lipschitz,
            loss_bound=constants.bound,
            alpha=functions.alpha(),
        )
    )
    return {
        "prior": prior,
        "n_p": n_p,
        "n_u": n_u,
        "draws": draws,
        "delta": delta,
        "alpha": functions.alpha(),
        "deviation_quantile": float(np.quantile(deviation, 1 - delta)),
        "deviation_bound": paper,
        "deviation_free": free,
        "deviation_count": int((deviation > paper).sum()),
        "deviation_free_count": int((deviation > free).sum()),
        "error_mean": float(error.mean()),
        "error_quantile": float(np.quantile(error, 1 - delta)),
        "error_bound": 2 * paper,
        "error_free": 2 * free,
        "error_count": int((error > 2 * paper).sum()),
        "error_free_count": int((error > 2 * free).sum()),
        "error_upu_quantile": float(np.quantile(error_upu, 1 - delta)),
        "error_upu_count": int((error_upu > 2 * free).sum()),
    }


def comparison_row(
    functions: FunctionClass,
    prior: float,
    n_p: int,
    n_u: int,
    n_n: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Row:
    """Mean estimation error of nnPU and of PN with n_n negatives, beside Section 2's criterion."""
    risks = functions.risks(prior)
    _, nnpu = _estimates(functions, prior, n_p, n_u, draws, rng)
    of_p = rng.multinomial(n_p, functions.p, size=draws) / n_p
    of_n = rng.multinomial(n_n, functions.q, size=draws) / n_n
    pn = prior * of_p @ functions.plus + (1 - prior) * of_n @ functions.minus  # Eq. (1)
    return {
        "prior": prior,
        "n_p": n_p,
        "n_u": n_u,
        "n_n": n_n,
        "draws": draws,
        "break_even": float(theory.break_even_n_n(prior, n_p, n_u)),
        "pu_beats_pn": bool(theory.pu_beats_pn(prior, n_p, n_u, n_n)),
        "error_pu": float((risks[nnpu.argmin(axis=1)] - risks.min()).mean()),
        "error_pn": float((risks[pn.argmin(axis=1)] - risks.min()).mean()),
    }


def _estimates(
    functions: FunctionClass,
    prior: float,
    n_p: int,
    n_u: int,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """R̂_pu and R̃_pu of every function on every sample, each of shape (draws, functions)."""
    mixture = prior * functions.p + (1 - prior) * functions.q
    of_p = rng.multinomial(n_p, functions.p, size=draws) / n_p
    of_u = rng.multinomial(n_u, mixture, size=draws) / n_u
    positive = prior * of_p @ functions.plus
    r = of_u @ functions.minus - prior * of_p @ functions.minus
    return positive + r, positive + np.maximum(0, r)  # Eqs. (2) and (6)
