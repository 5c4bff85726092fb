"""Lemma 1, Theorems 2 and 3: how often and how far R̃_pu(g) differs from R̂_pu(g) and from R(g).

The classifier g is fixed, P and U are independent samples, and 0 ≤ ℓ ≤ C_ℓ. Where the paper
prints R_n⁻ for the mean of r = R̂_u⁻ − π R̂_p⁻, the mean is π_n R_n⁻; ``form="printed"`` gives what
the paper prints, which can be too small. See docs/departures.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nnpu.parameters import ParameterError, check_choice, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Floats",
    "Form",
    "bias_bound",
    "check_array",
    "check_counts",
    "check_delta",
    "check_priors",
    "convergence_rate",
    "deviation_bound",
    "deviation_confidence",
    "mse_condition",
    "mse_reduction_bound",
    "mse_reduction_integrand",
    "mse_remainder",
    "negative_part_probability_bound",
    "plain",
]

Floats = float | np.ndarray[Any, np.dtype[np.float64]]


def check_array(
    name: str,
    value: ArrayLike,
    owner: str,
    because: str,
    *,
    low: float = -math.inf,
    high: float | NDArray[np.float64] = math.inf,
    include_low: bool = True,
    include_high: bool = True,
) -> NDArray[np.float64]:
    """Return `value` as an array of floats in the interval, else name the broken assumption.

    >>> check_array("alpha", 0.0, "bias_bound", "Theorem 2 assumes alpha > 0", low=0,
    ...             include_low=False)
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'alpha' parameter of bias_bound must be a float in the
    range (0, inf]: Theorem 2 assumes alpha > 0. Got 0.0 instead.
    """
    try:
        raw = np.asarray(value)
    except ValueError:  # rows of different length
        raw = np.array(None)
    if raw.dtype.kind in "iuf":
        array = raw.astype(np.float64)
        above = array >= low if include_low else array > low
        below = array <= high if include_high else array < high
        wrong = ~(above & below)  # True for NaN
        if not wrong.any():
            return array
        came: object = np.broadcast_to(array, wrong.shape)[wrong].flat[0].item()
    else:
        came = value
    interval = (
        f"{'[' if include_low else '('}{low:g}, {np.max(high):g}{']' if include_high else ')'}"
    )
    raise ParameterError(
        f"The {name!r} parameter of {owner} must be a float in the range {interval}: {because}. "
        f"Got {shown(came)} instead."
    )


def check_priors(value: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return class priors strictly between 0 and 1."""
    because = "every statement of Section 4 assumes that both classes occur"
    return check_array(
        "prior", value, owner, because, low=0, high=1, include_low=False, include_high=False
    )


def check_counts(name: str, value: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return sample sizes of at least 1; infinity stands for the limit."""
    because = "every statement of Section 4 assumes at least one draw in each sample"
    return check_array(name, value, owner, because, low=1)


def check_delta(value: ArrayLike, owner: str, theorem: str) -> NDArray[np.float64]:
    """Return values of δ strictly between 0 and 1."""
    because = f"{theorem} holds with probability 1 - delta, which says nothing outside it"
    return check_array(
        "delta", value, owner, because, low=0, high=1, include_low=False, include_high=False
    )


def plain(array: NDArray[np.float64]) -> Floats:
    """Return a float for a 0-d array: plain numbers in, a plain number out.

    >>> plain(np.asarray(0.5))
    0.5
    """
    return float(array) if np.ndim(array) == 0 else array


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

    R̂_u⁻ can be as small as the least loss, with positive probability for any n_u, so
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
        Lemma 1 bounds it from above, so it cannot serve here.
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
