"""Theorem 3: by how much the mean squared error of R̃_pu(g) is below that of R̂_pu(g)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.parameters import ParameterError, check_choice
from nnpu.theory._checks import Floats, check_array, check_counts, check_priors, plain
from nnpu.theory.bounds import Form, check_loss_bound, mean_of_r

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["mse_condition", "mse_reduction_bound", "mse_reduction_integrand", "mse_remainder"]

_LARGEST = 1e100  # squares of larger numbers overflow


def mse_reduction_integrand(upu_risk: ArrayLike, r: ArrayLike, risk: ArrayLike) -> Floats:
    """The integrand of Eq. (11): its mean over samples is MSE(R̂_pu) − MSE(R̃_pu).

    (R̂_pu + R̃_pu − 2R)·r where r < 0, and 0 elsewhere; the mean is positive if and only if
    max{0, ·} lowers the mean squared error.

    Parameters
    ----------
    upu_risk : array-like
        R̂_pu(g), one per sample.
    r : array-like
        R̂_u⁻(g) − π R̂_p⁻(g) of the same samples.
    risk : array-like
        R(g), which only a simulation knows.

    References
    ----------
    Theorem 3, Eq. (11).

    Examples
    --------
    One sample in which R̂_pu = −0.1 and r = −0.2, hence R̃_pu = 0.1, where R = 0.1: the squared
    error falls from 0.04 to 0.

    >>> round(mse_reduction_integrand(-0.1, -0.2, 0.1), 12)
    0.04
    """
    owner, because = "mse_reduction_integrand", "a risk of a sample is a number"
    named = (("upu_risk", upu_risk), ("r", r), ("risk", risk))
    upu, r, risk = (
        check_array(name, value, owner, because, low=-_LARGEST, high=_LARGEST)
        for name, value in named
    )
    nnpu = upu - np.minimum(r, 0)
    return plain((upu + nnpu - 2 * risk) * np.minimum(r, 0))  # Eq. (11)


def mse_condition(
    risk_p_minus: ArrayLike,
    risk_n_minus: ArrayLike,
    prior: ArrayLike,
    *,
    alpha: ArrayLike | None = None,
    infimum: ArrayLike = 0.0,
    form: Form = "corrected",
) -> bool | NDArray[np.bool_]:
    """Whether condition (d) of Theorem 3 is sure to hold: R_u⁻ − R̂_u⁻ ≤ 2 π_n α almost surely.

    R̂_u⁻ can be as small as the least loss, with positive probability for any n_u, so that
    "almost surely" comes to R_u⁻(g) − inf ℓ ≤ 2 π_n α. No n_u makes the condition true: where it
    fails, `mse_remainder` says how little is lost for a large n_u.

    Parameters
    ----------
    risk_p_minus, risk_n_minus : array-like
        R_p⁻(g) and R_n⁻(g).
    prior : array-like
        π.
    alpha : array-like, optional
        α with R_n⁻(g) ≥ α > 0; default: R_n⁻(g) itself, the greatest there is.
    infimum : array-like, default=0.0
        The least value that ℓ(g(x), −1) takes.
    form : {"corrected", "printed"}, default="corrected"
        "printed" compares with 2α as the paper does, which is not sufficient.

    References
    ----------
    Theorem 3 (d).

    Examples
    --------
    >>> mse_condition(0.7, 0.2, prior=0.95), mse_condition(0.1, 0.4, prior=0.3)
    (False, True)
    """
    owner = "mse_condition"
    check_choice("form", form, owner, ("corrected", "printed"))
    prior = check_priors(prior, owner)
    because = "Section 4 assumes losses that are not negative"
    p_minus = check_array("risk_p_minus", risk_p_minus, owner, because, low=0)
    n_minus = check_array("risk_n_minus", risk_n_minus, owner, because, low=0)
    least = check_array("infimum", infimum, owner, because, low=0)
    lower = mean_of_r(
        risk_n_minus if alpha is None else alpha, prior, n_minus, owner, form, theorem="Theorem 3"
    )
    met = prior * p_minus + (1 - prior) * n_minus - least <= 2 * lower
    return bool(met) if met.ndim == 0 else met


def mse_remainder(
    alpha: ArrayLike, prior: ArrayLike, n_u: ArrayLike, loss_bound: ArrayLike = 1.0
) -> Floats:
    """What the reduction of Theorem 3 can lose, at most, where its condition (d) is not met.

    2 π C_ℓ ∫ exp(−2 n_u t²/C_ℓ²) dt over t ≥ 2 π_n α: exponentially small in n_u.

    Parameters
    ----------
    alpha, prior, loss_bound
        As in `negative_part_probability_bound`.
    n_u : array-like
        Size of the unlabelled sample.

    Notes
    -----
    For symmetric losses the reduction is exactly E[(3r² + 2|r|(2π_n R_n⁻ − D))·1{r < 0}] with
    D = R_u⁻ − R̂_u⁻. Since |r| ≤ π C_ℓ where r < 0, the part with D > 2π_n α costs no more than
    2π C_ℓ E[max{0, D − 2π_n α}], and Hoeffding's inequality bounds the tail of D.

    References
    ----------
    docs/departures.md; not in the paper.

    Examples
    --------
    >>> round(mse_remainder(0.2, prior=0.5, n_u=100), 8)
    3.97e-06
    """
    from scipy.special import erfc

    owner = "mse_remainder"
    prior = check_priors(prior, owner)
    n_u = check_counts("n_u", n_u, owner)
    loss_bound = check_loss_bound(loss_bound, owner)
    mean = mean_of_r(alpha, prior, loss_bound, owner, "corrected", theorem="Theorem 3")
    scale = np.sqrt(2 * n_u) / loss_bound
    tail = np.sqrt(np.pi) / (2 * scale) * erfc(2 * mean * scale)
    return plain(2 * prior * loss_bound * tail)


def mse_reduction_bound(
    beta: ArrayLike,
    probability: ArrayLike,
    prior: ArrayLike,
    loss_bound: ArrayLike = 1.0,
    *,
    alpha: ArrayLike | None = None,
    n_u: ArrayLike | None = None,
) -> Floats:
    """Theorem 3: a lower bound of MSE(R̂_pu(g)) − MSE(R̃_pu(g)) for symmetric losses.

    3 β² Pr{R̃_pu − R̂_pu > β} under conditions (a)-(d), with (d) read as in `mse_condition`; with
    `alpha` and `n_u`, less `mse_remainder`, and then (d) is not needed.

    Parameters
    ----------
    beta : array-like
        0 ≤ β ≤ C_ℓ π.
    probability : array-like
        Pr{R̃_pu(g) − R̂_pu(g) > β}, the same as Pr{r < −β}: from a simulation or a bootstrap.
        Lemma 1 bounds it from above, so that it cannot serve here.
    prior, loss_bound
        As in `negative_part_probability_bound`. ℓ must satisfy Eq. (3).
    alpha, n_u : array-like, optional
        Both or neither; see `mse_remainder`.

    References
    ----------
    Theorem 3, Eq. (12).

    Examples
    --------
    >>> round(mse_reduction_bound(0.2, probability=0.1, prior=0.5), 6)
    0.012
    """
    owner = "mse_reduction_bound"
    prior, loss_bound = check_priors(prior, owner), check_loss_bound(loss_bound, owner)
    beta = check_array(
        "beta",
        beta,
        owner,
        "Theorem 3 takes 0 <= beta <= loss_bound * prior, beyond which no difference is possible",
        low=0,
        high=loss_bound * prior,
    )
    probability = check_array(
        "probability", probability, owner, "Theorem 3 multiplies by a probability", low=0, high=1
    )
    bound = 3 * beta**2 * probability  # Eq. (12)
    if alpha is None and n_u is None:
        return plain(bound)
    if alpha is None or n_u is None:
        raise ParameterError(
            f"The 'alpha' and 'n_u' parameters of {owner} must be given together: without "
            "condition (d) of Theorem 3 the remainder needs both. Got one of them instead."
        )
    return plain(bound - np.asarray(mse_remainder(alpha, prior, n_u, loss_bound)))
