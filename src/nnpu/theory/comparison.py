"""When positives and unlabelled data are expected to do better than positives and negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.theory._checks import Floats, check_counts, check_priors, plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["break_even_n_n", "pu_beats_pn", "section_5_n_n"]


def pu_beats_pn(
    prior: ArrayLike, n_p: ArrayLike, n_u: ArrayLike, n_n: ArrayLike
) -> bool | NDArray[np.bool_]:
    """Whether PU's estimation error bound is below PN's: π/√n_p + 1/√n_u < π_n/√n_n.

    Parameters
    ----------
    prior : array-like
        π.
    n_p, n_u : array-like
        Positives (in both) and unlabelled rows; infinity gives the limit.
    n_n : array-like
        The negatives that PN would have.

    Notes
    -----
    It compares upper bounds, for symmetric Lipschitz losses and a class whose Rademacher
    complexity is C/√n with the same C for p(x), p(x | +1) and p(x | −1); of "decays in O(1/√n)"
    alone it does not follow.

    References
    ----------
    Section 2, "Justification", after Niu et al. (2016).

    Examples
    --------
    The setting of Figure 1, and the same with ten times the negatives:

    >>> pu_beats_pn(0.5, n_p=100, n_u=59_900, n_n=50), pu_beats_pn(0.5, 100, 59_900, 500)
    (True, False)
    """
    owner = "pu_beats_pn"
    prior, n_p, n_u = _sizes(prior, n_p, n_u, owner)
    n_n = check_counts("n_n", n_n, owner)
    better = prior / np.sqrt(n_p) + 1 / np.sqrt(n_u) < (1 - prior) / np.sqrt(n_n)  # Section 2
    return bool(better) if better.ndim == 0 else better


def break_even_n_n(prior: ArrayLike, n_p: ArrayLike, n_u: ArrayLike) -> Floats:
    """The number of negatives below which PU is expected to beat PN.

    (π_n / (π/√n_p + 1/√n_u))²: the n_n at which the two sides of `pu_beats_pn` are equal.

    Examples
    --------
    >>> round(break_even_n_n(0.5, n_p=100, n_u=59_900), 1)
    85.5
    """
    prior, n_p, n_u = _sizes(prior, n_p, n_u, "break_even_n_n")
    with np.errstate(divide="ignore"):  # both samples infinite: no number of negatives suffices
        return plain(((1 - prior) / (prior / np.sqrt(n_p) + 1 / np.sqrt(n_u))) ** 2)


def section_5_n_n(prior: ArrayLike, n_p: ArrayLike) -> Floats:
    """The negatives that the paper's experiments give to PN: (π_n / 2π)² n_p, not rounded.

    With them `pu_beats_pn` comes to n_u > n_p/π².

    References
    ----------
    Section 5, (A).

    Examples
    --------
    >>> section_5_n_n(0.5, 1000), round(section_5_n_n(0.4, 1000), 1)
    (250.0, 562.5)
    """
    owner = "section_5_n_n"
    prior = check_priors(prior, owner)
    return plain(((1 - prior) / (2 * prior)) ** 2 * check_counts("n_p", n_p, owner))


def _sizes(
    prior: ArrayLike, n_p: ArrayLike, n_u: ArrayLike, owner: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    return (
        check_priors(prior, owner),
        check_counts("n_p", n_p, owner),
        check_counts("n_u", n_u, owner),
    )
