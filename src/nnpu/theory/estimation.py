"""Lemma 5 and Theorem 4: how far the classifier that minimises R̃_pu is from the best one.

Both are about a class of functions 𝒢 with |g| ≤ C_g, through its Rademacher complexities
ℜ_n(𝒢) = E sup over 𝒢 of (1/n) Σ σ_i g(x_i), σ_i = ±1 at random, for samples of size n_p from
p(x | y = +1) and of size n_u from p(x), and through constants of the loss: C_ℓ, L_ℓ and its least
value where |g| ≤ C_g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_number,
    shown,
)
from nnpu.theory.bounds import (
    Floats,
    Form,
    bias_bound,
    check_array,
    check_counts,
    check_delta,
    check_loss_bound,
    convergence_rate,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LossConstants",
    "RademacherEstimate",
    "estimation_error_bound",
    "loss_constants",
    "rademacher_empirical",
    "rademacher_finite",
    "rademacher_linear",
    "uniform_deviation_bound",
    "upu_estimation_error_bound",
]


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


def rademacher_linear(norm_bound: ArrayLike, feature_bound: ArrayLike, n: ArrayLike) -> Floats:
    """The complexity of {x ↦ ⟨w, φ(x)⟩ : ‖w‖ ≤ B}, at most B √(E‖φ(x)‖²) / √n.

    Parameters
    ----------
    norm_bound : array-like
        B > 0, the bound of the Euclidean norm of the parameters.
    feature_bound : array-like
        A bound of ‖φ(x)‖, or the root mean square of it, which is enough.
    n : array-like
        Size of the sample.

    Notes
    -----
    By Cauchy and Schwarz the supremum is B ‖Σ σ_i φ(x_i)‖ / n; by Jensen its mean is at most
    B √(Σ E‖φ(x_i)‖²) / n, since the signs are independent.

    References
    ----------
    Mohri, Rostamizadeh and Talwalkar (2012), "Foundations of Machine Learning", Section 4.3.

    Examples
    --------
    >>> rademacher_linear(2.0, 3.0, 100)
    0.6
    """
    owner = "rademacher_linear"
    because = "the class is one of linear models of bounded norm on bounded features"
    norm = check_array("norm_bound", norm_bound, owner, because, low=0, include_high=False)
    feature = check_array("feature_bound", feature_bound, owner, because, low=0, include_high=False)
    return plain(norm * feature / np.sqrt(check_counts("n", n, owner)))


def rademacher_finite(n_functions: ArrayLike, score_bound: ArrayLike, n: ArrayLike) -> Floats:
    """The complexity of a finite class, at most C_g √(2 ln m / n) for m functions |g| ≤ C_g.

    Parameters
    ----------
    n_functions : array-like
        m, how many functions the class has.
    score_bound : array-like
        C_g.
    n : array-like
        Size of the sample.

    References
    ----------
    Massart's lemma; Mohri, Rostamizadeh and Talwalkar (2012), Theorem 3.3.

    Examples
    --------
    >>> round(rademacher_finite(64, 1.0, 100), 4)
    0.2884
    """
    owner = "rademacher_finite"
    because = "a finite class has at least one function"
    m = check_array("n_functions", n_functions, owner, because, low=1, include_high=False)
    because = "Massart's lemma takes functions with |g| <= score_bound"
    bound = check_array("score_bound", score_bound, owner, because, low=0, include_high=False)
    return plain(bound * np.sqrt(2 * np.log(m) / check_counts("n", n, owner)))


@dataclass(frozen=True)
class RademacherEstimate:
    """An empirical Rademacher complexity.

    Parameters
    ----------
    value : float
        The mean of the supremum over the draws of signs, on the sample at hand.
    standard_error : float
        Of that mean, over the draws of signs.
    n, draws : int
        Rows of the sample, draws of signs.
    """

    value: float
    standard_error: float
    n: int
    draws: int

    def upper(self, score_bound: float, delta: float) -> float:
        """A number that ℜ_n(𝒢) exceeds with probability at most δ, if |g| ≤ `score_bound`.

        McDiarmid's inequality over the n rows and the n·draws signs: another row changes the
        value by at most 2 C_g/n, another sign by at most 2 C_g/(n·draws).

        >>> round(RademacherEstimate(0.1, 0.01, n=400, draws=100).upper(1.0, 0.05), 4)
        0.223
        """
        owner = "RademacherEstimate.upper"
        c = check_number("score_bound", score_bound, owner, low=0)
        d = check_number("delta", delta, owner, low=0, high=1, include_low=False)
        return self.value + c * math.sqrt(2 * math.log(1 / d) * (1 + 1 / self.draws) / self.n)


def rademacher_empirical(
    supremum: Callable[[NDArray[np.float64]], float] | ArrayLike,
    n: int | None = None,
    *,
    draws: int = 200,
    random_state: int | None = None,
) -> RademacherEstimate:
    """Estimate the Rademacher complexity of your own class of functions on a sample.

    Parameters
    ----------
    supremum : callable or array-like of shape (n_functions, n)
        A function of the signs σ, shape (n,), that returns sup over 𝒢 of (1/n) Σ σ_i g(x_i):
        a closed form, or the result of fitting the model to the signs. Or, for a finite class,
        the matrix of scores g_j(x_i).
    n : int, optional
        Rows of the sample; not needed with a matrix.
    draws : int, default=200
        How many sign vectors to average over.
    random_state : int, optional
        Seed of the signs.

    Returns
    -------
    RademacherEstimate
        `RademacherEstimate.upper` turns it into a bound that holds with a stated probability. A
        maximiser that stops early makes the estimate too small.

    Examples
    --------
    Linear models with ‖w‖ ≤ 1: the supremum is the norm of the mean of σ_i x_i.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> estimate = rademacher_empirical(lambda s: np.linalg.norm(s @ x) / 100, 100, random_state=0)
    >>> bool(0.1 < estimate.value < np.sqrt(3) / 10)
    True
    """
    owner = "rademacher_empirical"
    draws = check_count("draws", draws, owner, low=2)
    if random_state is not None:
        random_state = check_count("random_state", random_state, owner, low=0)
    rng = np.random.default_rng(random_state)
    if callable(supremum):
        if n is None:
            raise ParameterError(
                f"The 'n' parameter of {owner} must be an int in the range [1, inf) when "
                "'supremum' is a function. Got None instead."
            )
        n = check_count("n", n, owner)
        signs = rng.choice([-1.0, 1.0], size=(draws, n))
        suprema = np.array([float(supremum(row)) for row in signs])
    else:
        values = _scores(supremum)
        if values.ndim != 2 or values.size == 0:
            raise InputError(
                f"The scores of a finite class must have shape (n_functions, n). Got "
                f"{values.shape} instead; stack one row of scores per function."
            )
        n = values.shape[1]
        signs = rng.choice([-1.0, 1.0], size=(draws, n))
        suprema = (signs @ values.T).max(axis=1) / n
    if not np.isfinite(suprema).all():
        raise InputError(f"{owner}: a supremum is NaN or infinite; so are scores of the class.")
    error = float(suprema.std(ddof=1)) / math.sqrt(draws)
    return RademacherEstimate(float(suprema.mean()), error, n, draws)


def _scores(scores: ArrayLike) -> NDArray[np.float64]:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"The scores of a finite class must be numbers ({error}).") from error
    if not np.isfinite(values).all():
        raise InputError("The scores of a finite class hold NaN or infinite values.")
    return values


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
