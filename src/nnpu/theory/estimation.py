"""Lemma 5 and Theorem 4: how far the classifier that minimises R̃_pu is from the best one.

Both are about a class of functions 𝒢 with |g| ≤ C_g, through its Rademacher complexities for
samples of size n_p from p(x | y = +1) and of size n_u from p(x); see `nnpu.theory.rademacher`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.theory._checks import Floats, check_array, check_delta, plain
from nnpu.theory.bounds import Form, bias_bound, check_loss_bound, convergence_rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["estimation_error_bound", "uniform_deviation_bound", "upu_estimation_error_bound"]


def uniform_deviation_bound(
    rademacher_p: ArrayLike,
    rademacher_u: ArrayLike,
    delta: ArrayLike,
    prior: ArrayLike,
    n_p: ArrayLike,
    n_u: ArrayLike,
    *,
    lipschitz: ArrayLike,
    loss_bound: ArrayLike = 1.0,
    alpha: ArrayLike | None = None,
    form: Form = "corrected",
) -> Floats:
    """Lemma 5: an upper bound of sup over 𝒢 of |R̃_pu(g) − R(g)|.

    - with `alpha`, the paper's: 8 L π ℜ_p + 4 L ℜ_u + C′_δ χ + C_ℓ π Δ with probability at least
      1 − δ, where C′_δ = C_ℓ √(ln(1/δ)/2), if inf over 𝒢 of R_n⁻(g) ≥ α > 0 and 𝒢 is closed
      under negation;
    - without: 4 L π ℜ_p + 2 L ℜ_u + C_δ χ with probability at least 1 − δ − (δ/2)⁴, where
      C_δ = C_ℓ √(ln(2/δ)/2). It needs neither assumption (not in the paper).

    Parameters
    ----------
    rademacher_p, rademacher_u : array-like
        Rademacher complexities of 𝒢 at n_p positives and n_u unlabelled rows: given, from
        `rademacher_linear`, or from `rademacher_empirical`.
    delta : array-like
        δ in (0, 1).
    prior, n_p, n_u, loss_bound, form
        As in `negative_part_probability_bound`.
    lipschitz : array-like
        L_ℓ, the Lipschitz constant of ℓ on |t| ≤ C_g; see `loss_constants`.
    alpha : array-like, optional
        α > 0 with R_n⁻(g) ≥ α for every g in 𝒢.

    Notes
    -----
    The second statement. R̃_pu = max{π R̂_p⁺, R̂_pu} and R ≥ π R_p⁺ give, for every g,
    R̂_pu − R ≤ R̃_pu − R ≤ max{R̂_pu − R, π (R̂_p⁺ − R_p⁺)}. The supremum of |R̂_pu − R| exceeds the
    bound with probability at most δ, that of π (R̂_p⁺ − R_p⁺) with probability at most (δ/2)⁴.

    References
    ----------
    Lemma 5, Eq. (15); docs/departures.md for the statement without α.

    Examples
    --------
    >>> round(uniform_deviation_bound(0.1, 0.01, 0.05, 0.5, 100, 10_000, lipschitz=0.25), 4)
    0.2044
    """
    owner = "uniform_deviation_bound"
    delta = check_delta(delta, owner, "Lemma 5")
    loss_bound = check_loss_bound(loss_bound, owner)
    rate = np.asarray(convergence_rate(prior, n_p, n_u))
    complexity = _complexity(rademacher_p, rademacher_u, prior, lipschitz, owner)
    if alpha is None:
        return plain(complexity + loss_bound * np.sqrt(np.log(2 / delta) / 2) * rate)
    bias = np.asarray(bias_bound(alpha, prior, n_p, n_u, loss_bound, form=form))
    concentration = loss_bound * np.sqrt(np.log(1 / delta) / 2) * rate
    return plain(2 * complexity + concentration + bias)  # Eq. (15)


def estimation_error_bound(
    rademacher_p: ArrayLike,
    rademacher_u: ArrayLike,
    delta: ArrayLike,
    prior: ArrayLike,
    n_p: ArrayLike,
    n_u: ArrayLike,
    *,
    lipschitz: ArrayLike,
    loss_bound: ArrayLike = 1.0,
    alpha: ArrayLike | None = None,
    form: Form = "corrected",
) -> Floats:
    """Theorem 4: an upper bound of R(g̃_pu) − R(g*), the price of learning from a sample.

    Twice `uniform_deviation_bound`, under the same assumptions and with the same probability:
    16 L π ℜ_p + 8 L ℜ_u + 2 C′_δ χ + 2 C_ℓ π Δ with `alpha`, and without it
    8 L π ℜ_p + 4 L ℜ_u + 2 C_δ χ, the same as the bound for uPU.

    Parameters
    ----------
    rademacher_p, rademacher_u, delta, prior, n_p, n_u, lipschitz, loss_bound, alpha, form
        As in `uniform_deviation_bound`.

    References
    ----------
    Theorem 4, Eq. (13).

    Examples
    --------
    >>> from nnpu.theory import rademacher_linear
    >>> r_p, r_u = rademacher_linear(1.0, 1.0, 1000), rademacher_linear(1.0, 1.0, 60_000)
    >>> round(estimation_error_bound(r_p, r_u, 0.05, 0.49, 1000, 60_000, lipschitz=0.25), 4)
    0.1303
    """
    return 2 * uniform_deviation_bound(
        rademacher_p,
        rademacher_u,
        delta,
        prior,
        n_p,
        n_u,
        lipschitz=lipschitz,
        loss_bound=loss_bound,
        alpha=alpha,
        form=form,
    )


def upu_estimation_error_bound(
    rademacher_p: ArrayLike,
    rademacher_u: ArrayLike,
    delta: ArrayLike,
    prior: ArrayLike,
    n_p: ArrayLike,
    n_u: ArrayLike,
    *,
    lipschitz: ArrayLike,
    loss_bound: ArrayLike = 1.0,
) -> Floats:
    """Eq. (14): an upper bound of R(ĝ_pu) − R(g*) for the minimiser of the unbiased risk.

    8 L π ℜ_p + 4 L ℜ_u + 2 C_δ χ with probability at least 1 − δ, C_δ = C_ℓ √(ln(2/δ)/2).

    Parameters
    ----------
    rademacher_p, rademacher_u, delta, prior, n_p, n_u, lipschitz, loss_bound
        As in `uniform_deviation_bound`.

    References
    ----------
    Eq. (14), after Niu et al. (2016), "Theoretical comparisons of positive-unlabeled learning
    against positive-negative learning".

    Examples
    --------
    >>> round(upu_estimation_error_bound(0.1, 0.01, 0.05, 0.5, 100, 10_000, lipschitz=0.25), 4)
    0.4088
    """
    owner = "upu_estimation_error_bound"
    delta = check_delta(delta, owner, "Eq. (14)")
    loss_bound = check_loss_bound(loss_bound, owner)
    rate = np.asarray(convergence_rate(prior, n_p, n_u))
    complexity = _complexity(rademacher_p, rademacher_u, prior, lipschitz, owner)
    return plain(2 * (complexity + loss_bound * np.sqrt(np.log(2 / delta) / 2) * rate))


def _complexity(
    rademacher_p: ArrayLike,
    rademacher_u: ArrayLike,
    prior: ArrayLike,
    lipschitz: ArrayLike,
    owner: str,
) -> NDArray[np.float64]:
    """4 L π ℜ_p + 2 L ℜ_u."""
    because = "Theorem 4 takes Rademacher complexities, which are finite and not negative"
    of_p = check_array("rademacher_p", rademacher_p, owner, because, low=0, include_high=False)
    of_u = check_array("rademacher_u", rademacher_u, owner, because, low=0, include_high=False)
    constant = check_array(
        "lipschitz",
        lipschitz,
        owner,
        "Theorem 4 assumes a loss that is Lipschitz continuous for |t| <= C_g, which the zero-one "
        "loss is not",
        low=0,
        include_low=False,
        include_high=False,
    )
    total: NDArray[np.float64] = constant * (4 * np.asarray(prior, float) * of_p + 2 * of_u)
    return total
