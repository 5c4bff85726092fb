"""Rademacher complexities: ℜ_n(𝒢) = E sup over 𝒢 of (1/n) Σ σ_i g(x_i), σ_i = ±1 at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu.parameters import InputError, ParameterError, check_count, check_number
from nnpu.theory._checks import Floats, check_array, check_counts, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "RademacherEstimate",
    "rademacher_empirical",
    "rademacher_finite",
    "rademacher_linear",
]


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
    """Estimate the Rademacher complexity of one's own class of functions on a sample.

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
