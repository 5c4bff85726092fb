"""Lemma 1 and Theorem 2: how often R̃_pu(g) differs from R̂_pu(g), and how far it is from R(g).

The classifier g is fixed, P and U are independent samples, and 0 ≤ ℓ ≤ C_ℓ. Where the paper
prints R_n⁻ for the mean of r = R̂_u⁻ − π R̂_p⁻, the mean is π_n R_n⁻; ``form="printed"`` gives what
the paper prints, which can be too small. See docs/departures.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from nnpu.parameters import check_choice
from nnpu.theory._checks import (
    Floats,
    check_array,
    check_counts,
    check_delta,
    check_priors,
    plain,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Form",
    "bias_bound",
    "convergence_rate",
    "deviation_bound",
    "deviation_confidence",
    "negative_part_probability_bound",
]

Form = Literal["corrected", "printed"]
_FORMS = ("corrected", "printed")


def check_loss_bound(value: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return C_ℓ, positive and finite."""
    because = (
        "Section 4 assumes a finite C_l with 0 <= l(t, y) <= C_l; for a loss without an upper "
        "bound, nnpu.theory.loss_constants gives it from a bound on the scores"
    )
    return check_array(
        "loss_bound",
        value,
        owner,
        because,
        low=0,
        high=np.inf,
        include_low=False,
        include_high=False,
    )


def mean_of_r(
    alpha: ArrayLike,
    prior: NDArray[np.float64],
    loss_bound: NDArray[np.float64],
    owner: str,
    form: str,
    *,
    theorem: str = "Lemma 1",
    include_zero: bool = False,
) -> NDArray[np.float64]:
    """Return the lower bound of E[r] = π_n R_n⁻(g) that α stands for; printed: α itself."""
    check_choice("form", form, owner, _FORMS)
    lower = check_array(
        "alpha",
        alpha,
        owner,
        f"{theorem} assumes alpha > 0 with R_n^-(g) >= alpha, and R_n^-(g) <= loss_bound",
        low=0,
        high=loss_bound,
        include_low=include_zero,
    )
    # Departs from the paper: E[r] is π_n R_n⁻(g), not R_n⁻(g).
    return lower if form == "printed" else (1 - prior) * lower


def sum_of_squares(
    prior: NDArray[np.float64], n_p: NDArray[np.float64], n_u: NDArray[np.float64]
) -> NDArray[np.float64]:
    """π²/n_p + 1/n_u: the bounded differences of r, squared and added, over C_ℓ²."""
    total: NDArray[np.float64] = prior**2 / n_p + 1 / n_u
    return total


def negative_part_probability_bound(
    alpha: ArrayLike,
    prior: ArrayLike,
    n_p: ArrayLike,
    n_u: ArrayLike,
    loss_bound: ArrayLike = 1.0,
    *,
    form: Form = "corrected",
) -> Floats:
    """Δ_g of Lemma 1: an upper bound of the probability that R̃_pu(g) differs from R̂_pu(g).

    Pr{r < 0} ≤ exp(−2 (π_n α / C_ℓ)² / (π²/n_p + 1/n_u)), r = R̂_u⁻(g) − π R̂_p⁻(g).

    Parameters
    ----------
    alpha : array-like
        α > 0 with R_n⁻(g) ≥ α: at least this loss on the negatives. The function multiplies it
        by 1 − prior.
    prior : array-like
        π, the share of positives among the unlabelled data.
    n_p, n_u : array-like
        Sizes of the samples, at least 1; infinity gives the limit.
    loss_bound : array-like, default=1.0
        C_ℓ with 0 ≤ ℓ ≤ C_ℓ; see `loss_constants`.
    form : {"corrected", "printed"}, default="corrected"
        "printed" is Eq. (7) as it stands, without the factor π_n; it does not hold in general.

    Returns
    -------
    float or array
        In the shape to which the arguments broadcast.

    Notes
    -----
    Assumptions: g is fixed, P and U are independent, 0 ≤ ℓ ≤ C_ℓ on the range of g.

    References
    ----------
    Lemma 1, Eq. (7).

    Examples
    --------
    >>> round(negative_part_probability_bound(0.5, prior=0.9, n_p=10, n_u=100), 3)
    0.947
    >>> round(negative_part_probability_bound(0.5, 0.9, 10, 100, form="printed"), 4)
    0.0041
    >>> negative_part_probability_bound(0.5, 0.5, [10, 100], 1000).round(4)
    array([0.0082, 0.    ])
    """
    owner = "negative_part_probability_bound"
    prior, n_p, n_u, loss_bound = _setting(prior, n_p, n_u, loss_bound, owner)
    mean = mean_of_r(alpha, prior, loss_bound, owner, form)
    return plain(_negative_part(mean, prior, n_p, n_u, loss_bound))


def bias_bound(
    alpha: ArrayLike,
    prior: ArrayLike,
    n_p: ArrayLike,
    n_u: ArrayLike,
    loss_bound: ArrayLike = 1.0,
    *,
    form: Literal["corrected", "printed", "moment"] = "corrected",
) -> Floats:
    """Theorem 2: an upper bound of the bias E[R̃_pu(g)] − R(g), which is never negative.

    C_ℓ π Δ_g, with Δ_g from Lemma 1.

    Parameters
    ----------
    alpha, prior, n_p, n_u, loss_bound
        As in `negative_part_probability_bound`.
    form : {"corrected", "printed", "moment"}, default="corrected"
        "printed" is Eq. (8) with Lemma 1 as it stands. "moment" is a bound that needs no α > 0
        (0 is allowed) and decays like 1/√n: (√(σ² + m²) − m)/2 with m = π_n α and
        σ = (C_ℓ/2) √(π²/n_p + 1/n_u), by Scarf's inequality for E[max(0, −r)]. It is the smaller
        one for small samples.

    References
    ----------
    Theorem 2, Eq. (8). "moment": H. Scarf (1958), "A min-max solution of an inventory problem".

    Examples
    --------
    >>> round(bias_bound(0.5, prior=0.9, n_p=10, n_u=100), 3)
    0.852
    >>> round(bias_bound(0.5, 0.9, 10, 100, form="moment"), 4)
    0.0545
    """
    owner = "bias_bound"
    check_choice("form", form, owner, (*_FORMS, "moment"))
    prior, n_p, n_u, loss_bound = _setting(prior, n_p, n_u, loss_bound, owner)
    moment = form == "moment"
    mean = mean_of_r(
        alpha,
        prior,
        loss_bound,
        owner,
        "corrected" if moment else form,
        theorem="Theorem 2",
        include_zero=moment,
    )
    if moment:
        # A variable in [0, C] has variance at most C²/4, and Var r is the sum of both parts'.
        variance = loss_bound**2 / 4 * sum_of_squares(prior, n_p, n_u)
        return plain(variance / (np.sqrt(variance + mean**2) + mean) / 2)
    return plain(loss_bound * prior * _negative_part(mean, prior, n_p, n_u, loss_bound))  # Eq. (8)


def convergence_rate(
    prior: ArrayLike, n_p: ArrayLike, n_u: ArrayLike, *, sharp: bool = False
) -> Floats:
    """χ = 2π/√n_p + 1/√n_u, the rate at which R̃_pu(g) approaches R(g).

    Parameters
    ----------
    prior, n_p, n_u : array-like
        As in `negative_part_probability_bound`.
    sharp : bool, default=False
        √(4π²/n_p + 1/n_u) instead: what the proof of Theorem 2 has before it relaxes the root of
        a sum to a sum of roots. Every statement holds with it as well, and it is up to √2 smaller.

    References
    ----------
    Section 4.1, before Theorem 2.

    Examples
    --------
    >>> convergence_rate(0.5, n_p=100, n_u=10_000)
    0.11
    >>> round(convergence_rate(0.5, 100, 10_000, sharp=True), 4)
    0.1005
    """
    owner = "convergence_rate"
    prior = check_priors(prior, owner)
    n_p, n_u = check_counts("n_p", n_p, owner), check_counts("n_u", n_u, owner)
    if sharp:
        return plain(np.sqrt(4 * prior**2 / n_p + 1 / n_u))
    return plain(2 * prior / np.sqrt(n_p) + 1 / np.sqrt(n_u))


def deviation_bound(
    delta: ArrayLike,
    prior: ArrayLike,
    n_p: ArrayLike,
    n_u: ArrayLike,
    loss_bound: ArrayLike = 1.0,
    *,
    alpha: ArrayLike | None = None,
    form: Form = "corrected",
    sharp: bool = False,
) -> Floats:
    """Theorem 2: an upper bound of |R̃_pu(g) − R(g)| that holds with a stated probability.

    Three statements, with C_δ = C_ℓ √(ln(2/δ)/2) and χ from `convergence_rate`:

    - with `alpha`: C_δ χ + C_ℓ π Δ_g, with probability at least 1 − δ, Eq. (9);
    - without: C_δ χ, with probability at least 1 − δ − Δ_g, Eq. (10), and also
    - with probability at least 1 − δ − (δ/2)⁴, which needs no α (not in the paper).

    `deviation_confidence` gives the probability of the last two.

    Parameters
    ----------
    delta : array-like
        δ in (0, 1).
    prior, n_p, n_u, loss_bound
        As in `negative_part_probability_bound`.
    alpha : array-like, optional
        α > 0 with R_n⁻(g) ≥ α.
    form : {"corrected", "printed"}, default="corrected"
        Which Δ_g goes into Eq. (9).
    sharp : bool, default=False
        As in `convergence_rate`.

    Notes
    -----
    P and U must be independent. If they are not (P inside U, as in Section 5), each sample alone
    still concentrates and a union bound gives the same widths with δ/2 in place of δ.

    References
    ----------
    Theorem 2, Eqs. (9) and (10); docs/departures.md for the statement without α.

    Examples
    --------
    >>> round(deviation_bound(0.05, prior=0.5, n_p=100, n_u=10_000), 4)
    0.1494
    >>> round(deviation_confidence(0.05), 7)
    0.9499996
    """
    owner = "deviation_bound"
    check_choice("form", form, owner, _FORMS)
    delta = check_delta(delta, owner, "Theorem 2")
    prior, n_p, n_u, loss_bound = _setting(prior, n_p, n_u, loss_bound, owner)
    rate = np.asarray(convergence_rate(prior, n_p, n_u, sharp=sharp))
    width = loss_bound * np.sqrt(np.log(2 / delta) / 2) * rate
    if alpha is None:
        return plain(width)
    mean = mean_of_r(alpha, prior, loss_bound, owner, form, theorem="Theorem 2")
    return plain(width + loss_bound * prior * _negative_part(mean, prior, n_p, n_u, loss_bound))


def deviation_confidence(
    delta: ArrayLike, negative_part_probability: ArrayLike | None = None
) -> Floats:
    """The probability with which |R̃_pu(g) − R(g)| ≤ C_δ χ, at least.

    1 − δ − (δ/2)⁴, which needs no α; or 1 − δ − Δ_g of Eq. (10) if Δ_g is given.

    Parameters
    ----------
    delta : array-like
        δ in (0, 1).
    negative_part_probability : array-like, optional
        Δ_g, from `negative_part_probability_bound`.

    Notes
    -----
    Why no α is needed. R̃_pu = max{π R̂_p⁺, R̂_pu}, so it fails only where R̂_pu does (probability
    at most δ) or where π R̂_p⁺ > R + C_δ χ. Since R ≥ π R_p⁺ and χ ≥ 2π/√n_p, the latter means
    R̂_p⁺ − R_p⁺ > 2 C_δ/√n_p, which by Hoeffding's inequality has probability at most (δ/2)⁴.

    References
    ----------
    Theorem 2, Eq. (10); docs/departures.md for the statement without α.

    Examples
    --------
    >>> round(deviation_confidence(0.05), 7)
    0.9499996
    >>> round(deviation_confidence(0.05, negative_part_probability_bound(0.2, 0.5, 100, 1000)), 4)
    0.9467
    """
    owner = "deviation_confidence"
    delta = check_delta(delta, owner, "Theorem 2")
    if negative_part_probability is None:
        return plain(1 - delta - (delta / 2) ** 4)
    probability = check_array(
        "negative_part_probability",
        negative_part_probability,
        owner,
        "Lemma 1 bounds a probability",
        low=0,
        high=1,
    )
    return plain(1 - delta - probability)  # Eq. (10)


def _setting(
    prior: ArrayLike, n_p: ArrayLike, n_u: ArrayLike, loss_bound: ArrayLike, owner: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    return (
        check_priors(prior, owner),
        check_counts("n_p", n_p, owner),
        check_counts("n_u", n_u, owner),
        check_loss_bound(loss_bound, owner),
    )


def _negative_part(
    mean: NDArray[np.float64],
    prior: NDArray[np.float64],
    n_p: NDArray[np.float64],
    n_u: NDArray[np.float64],
    loss_bound: NDArray[np.float64],
) -> NDArray[np.float64]:
    """McDiarmid's inequality for Pr{r − E[r] ≤ −mean}, Eq. (7)."""
    with np.errstate(divide="ignore"):  # both samples infinite: the limit is 0
        exponent = 2 * (mean / loss_bound) ** 2 / sum_of_squares(prior, n_p, n_u)
    probability: NDArray[np.float64] = np.exp(-exponent)
    return probability
