"""What data to collect: how precise a PU risk estimate will be, and what a better one costs.

`pu_beats_pn` is the criterion of Section 2: when positives and unlabelled data are expected to do
better than positives and negatives. `plan` inverts the bounds, and `simulated_half_width` says how
loose they are in a simulated population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nnpu.parameters import (
    ParameterError,
    check_choice,
    check_count,
    check_number,
    check_prior,
    shown,
)
from nnpu.theory.bounds import Floats, check_counts, check_priors, convergence_rate, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Comparison",
    "Plan",
    "Purchase",
    "break_even_n_n",
    "guaranteed_half_width",
    "plan",
    "plan_tables",
    "pu_beats_pn",
    "section_5_n_n",
    "simulated_half_width",
]


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


_OWNER = "plan"
_LEAST, _MOST = 1e-9, 1e9  # beyond these a plan is useless, and squares may overflow


@dataclass(frozen=True)
class Purchase:
    """Sample sizes that reach the wanted half-width; ``None`` where no number does.

    Parameters
    ----------
    half_width : float
        What is wanted.
    n_p_alone : int or None
        Positives needed if the unlabelled data stay as they are.
    n_u_alone : int or None
        Unlabelled rows needed if the positives stay as they are.
    n_p, n_u : int or None
        The cheapest pair that keeps what there is.
    """

    half_width: float
    n_p_alone: int | None
    n_u_alone: int | None
    n_p: int | None
    n_u: int | None


@dataclass(frozen=True)
class Comparison:
    """PU against PN by the criterion of Section 2.

    Parameters
    ----------
    break_even : tuple of float
        The number of negatives below which PU is expected to win, at the least and at the
        greatest prior of the range, in increasing order.
    section_5 : float
        The negatives that the paper gives to PN for these positives.
    n_n : int or None
        The negatives one could afford.
    pu_wins : bool or None
        Whether PU is expected to win against them; ``None`` if not asked, or if the answer
        differs within the range of priors.
    """

    break_even: tuple[float, float]
    section_5: float
    n_n: int | None
    pu_wins: bool | None


@dataclass(frozen=True)
class Plan:
    """What the theory says of a planned data set; see `plan`.

    Parameters
    ----------
    prior : tuple of float
        The range in which the prior lies.
    assumed_prior : float
        The one to use: its middle.
    n_p, n_u : int
        The samples.
    delta, loss_bound, cost_ratio : float
        As given.
    half_width : float
        |R̃_pu(g) − R(g)| is at most this with probability 1 − δ.
    part_p, part_u : float
        Shares of the sampling variance bound due to P and to U; they sum to 1.
    part_prior : float
        How much of `half_width` comes from not knowing the prior.
    spend_on : {"positives", "unlabelled"}
        Where the next unit of cost narrows the range more.
    purchase : Purchase or None
        If a half-width was asked for.
    comparison : Comparison
        PU against PN.
    """

    prior: tuple[float, float]
    assumed_prior: float
    n_p: int
    n_u: int
    delta: float
    loss_bound: float
    cost_ratio: float
    half_width: float
    part_p: float
    part_u: float
    part_prior: float
    spend_on: Literal["positives", "unlabelled"]
    purchase: Purchase | None
    comparison: Comparison


def plan(
    prior: float | tuple[float, float],
    n_p: int,
    n_u: int,
    *,
    n_n: int | None = None,
    loss_bound: float = 1.0,
    delta: float = 0.05,
    half_width: float | None = None,
    cost_ratio: float = 1.0,
) -> Plan:
    """Say how precise a risk estimate from these samples is, and what to collect next.

    For a fixed classifier and independent P and U. Nothing is assumed of the data beyond
    0 ≤ ℓ ≤ C_ℓ: the statement of Theorem 2 that needs no α is used, with δ split so that the
    total is exactly δ, and with √(4π²/n_p + 1/n_u) in place of χ.

    Parameters
    ----------
    prior : float or (low, high)
        π, or a range for it. The estimator then uses the middle π′ of the range, which costs at
        most C_ℓ |π′ − π| more.
    n_p, n_u : int
        Sample sizes.
    n_n : int, optional
        Negatives that one could label instead of using unlabelled data.
    loss_bound : float, default=1.0
        C_ℓ: 1 for the zero-one loss, hence for an error rate.
    delta : float, default=0.05
        1 − δ is the confidence.
    half_width : float, optional
        The wanted precision.
    cost_ratio : float, default=1.0
        What a labelled positive costs, in unlabelled rows.

    Examples
    --------
    >>> result = plan(0.5, n_p=100, n_u=10_000, half_width=0.1)
    >>> round(result.half_width, 4), result.spend_on
    (0.1365, 'positives')
    >>> result.purchase.n_p_alone, result.purchase.n_u_alone
    (188, None)
    """
    low, high = _prior_range(prior)
    n_p, n_u = check_count("n_p", n_p, _OWNER), check_count("n_u", n_u, _OWNER)
    cost = check_number("cost_ratio", cost_ratio, _OWNER, low=_LEAST, high=_MOST)
    middle = (low + high) / 2
    width = guaranteed_half_width(
        middle, n_p, n_u, delta=delta, loss_bound=loss_bound, prior_error=(high - low) / 2
    )
    of_p, of_u = 4 * middle**2 / n_p, 1 / n_u
    # Per unit of cost the variance bound falls by 4π²/(n_p² c) or by 1/n_u².
    on_positives = of_p / (n_p * cost) >= of_u / n_u
    purchase = None
    if half_width is not None:
        wanted = check_number("half_width", half_width, _OWNER, low=_LEAST, high=_MOST)
        sampling = wanted - loss_bound * (high - low) / 2
        purchase = _purchase(wanted, sampling, middle, n_p, n_u, delta, loss_bound, cost)
    return Plan(
        prior=(low, high),
        assumed_prior=middle,
        n_p=n_p,
        n_u=n_u,
        delta=float(delta),
        loss_bound=float(loss_bound),
        cost_ratio=cost,
        half_width=width,
        part_p=of_p / (of_p + of_u),
        part_u=of_u / (of_p + of_u),
        part_prior=loss_bound * (high - low) / 2,
        spend_on="positives" if on_positives else "unlabelled",
        purchase=purchase,
        comparison=_compare(low, high, n_p, n_u, n_n),
    )


def guaranteed_half_width(
    prior: float,
    n_p: float,
    n_u: float,
    *,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    prior_error: float = 0.0,
) -> float:
    """A half-width that |R̃_pu(g) − R(g)| exceeds with probability at most δ, for any data.

    Parameters
    ----------
    prior : float
        The prior that the estimator uses.
    n_p, n_u, delta, loss_bound
        As in `plan`.
    prior_error : float, default=0.0
        How far the true prior may be from it.

    Notes
    -----
    With π′ in place of π the mean of R̂_pu moves by (π′ − π)(R_p⁺ − R_p⁻), and R̃_pu stays within
    the same distance: at most C_ℓ |π′ − π|.

    Examples
    --------
    >>> round(guaranteed_half_width(0.5, 100, 10_000), 4)
    0.1365
    """
    owner = "guaranteed_half_width"
    check_prior(prior, owner)
    n_p, n_u = (check_number(name, n, owner, low=1) for name, n in (("n_p", n_p), ("n_u", n_u)))
    check_number("prior_error", prior_error, owner, low=0, high=1)
    scale = _scale(delta, loss_bound, owner)
    return scale * float(convergence_rate(prior, n_p, n_u, sharp=True)) + loss_bound * prior_error


def _scale(delta: float, loss_bound: float, owner: str) -> float:
    """C_ℓ √(ln(2/δ′)/2) with δ′ + (δ′/2)⁴ = δ, so the statement without α has level δ."""
    total = check_number(
        "delta", delta, owner, low=0, high=1, include_low=False, include_high=False
    )
    bound = check_number("loss_bound", loss_bound, owner, low=0, include_low=False)
    if math.isinf(bound):
        raise ParameterError(
            f"The 'loss_bound' parameter of {owner} must be finite: Theorem 2 assumes C_l with "
            "0 <= l(t, y) <= C_l. Got inf instead."
        )
    check_number("loss_bound", bound, owner, low=_LEAST, high=_MOST)
    part = total
    for _ in range(50):  # a contraction: its slope is below 1/4
        part = total - (part / 2) ** 4
    return bound * math.sqrt(math.log(2 / part) / 2)


def _prior_range(prior: float | tuple[float, float]) -> tuple[float, float]:
    if isinstance(prior, tuple) and len(prior) != 2:
        raise ParameterError(
            f"The 'prior' parameter of {_OWNER} must be a float or a range (low, high). "
            f"Got {shown(prior)} instead."
        )
    low, high = prior if isinstance(prior, tuple) else (prior, prior)
    low, high = check_prior(low, _OWNER), check_prior(high, _OWNER)
    if low > high:
        raise ParameterError(
            f"The 'prior' parameter of {_OWNER} must be a float or a range (low, high) with "
            f"low <= high. Got {prior!r} instead."
        )
    return low, high


def _purchase(
    wanted: float,
    sampling: float,
    prior: float,
    n_p: int,
    n_u: int,
    delta: float,
    loss_bound: float,
    cost: float,
) -> Purchase:
    """Solve a²/n_p + b²/n_u ≤ t² with a = 2πK and b = K, K the scale and t what sampling gets."""
    if sampling <= 0:  # the uncertainty of the prior alone is wider than what is wanted
        return Purchase(wanted, None, None, None, None)
    a = 2 * prior * _scale(delta, loss_bound, _OWNER)
    b = _scale(delta, loss_bound, _OWNER)
    n_p_alone = _other(a, b / math.sqrt(n_u), sampling)
    n_u_alone = _other(b, a / math.sqrt(n_p), sampling)
    # The cheapest pair: minimise c·n_p + n_u on the curve (Lagrange).
    common = (a * math.sqrt(cost) + b) / sampling**2
    best_p, best_u = math.ceil(a * common / math.sqrt(cost)), math.ceil(b * common)
    if best_p <= n_p:  # what is there stays; then the other alone can do it
        best_p, best_u = n_p, max(n_u, n_u_alone or 0)
    elif best_u <= n_u:
        best_p, best_u = max(n_p, n_p_alone or 0), n_u
    return Purchase(wanted, n_p_alone, n_u_alone, best_p, best_u)


def _other(factor: float, fixed: float, wanted: float) -> int | None:
    """The least n with factor²/n + fixed² ≤ wanted², if there is one."""
    room = wanted**2 - fixed**2
    return math.ceil(factor**2 / room) if room > 0 else None


def _compare(low: float, high: float, n_p: int, n_u: int, n_n: int | None) -> Comparison:
    even = sorted(float(break_even_n_n(prior, n_p, n_u)) for prior in (low, high))
    wins = None
    if n_n is not None:
        n_n = check_count("n_n", n_n, _OWNER)
        at_ends = {bool(pu_beats_pn(prior, n_p, n_u, n_n)) for prior in (low, high)}
        wins = at_ends.pop() if len(at_ends) == 1 else None
    rule = float(section_5_n_n((low + high) / 2, n_p))
    return Comparison((even[0], even[1]), rule, n_n, wins)


_MEAN, _SCALE, _ATOMS = 2.0, 2.0, 41  # of the scores: normal, with means ±2
# Table 1 in NumPy: a plan needs no torch.
_LOSSES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "zero_one": lambda z: (1 - np.sign(z)) / 2,
    "ramp": lambda z: np.clip((1 - z) / 2, 0, 1),
    "squared": lambda z: (z - 1) ** 2 / 4,
    "logistic": lambda z: np.logaddexp(0, -z),
    "hinge": lambda z: np.maximum(0, 1 - z),
    "double_hinge": lambda z: np.maximum(-z, np.maximum(0, (1 - z) / 2)),
    "sigmoid": lambda z: 1 / (1 + np.exp(z)),
}


def simulated_half_width(
    prior: float,
    n_p: int,
    n_u: int,
    *,
    loss: str = "zero_one",
    score_bound: float = 4.0,
    delta: float = 0.05,
    draws: int = 2000,
    seed: int = 0,
) -> float:
    """The 1 − δ quantile of |R̃_pu − R| in a population with normal scores.

    Scores are normal with means ±2 and standard deviation 2, rounded to 41 values on
    [−score_bound, score_bound]; thresholded at 0 they err on about one row in six.

    Parameters
    ----------
    prior, n_p, n_u : float, int, int
        The setting.
    loss : str, default="zero_one"
        A name of Table 1.
    score_bound : float, default=4.0
        Where scores are clipped.
    delta : float, default=0.05
        1 − δ is the share of draws within the half-width.
    draws, seed : int
        How many samples, and the seed.

    Examples
    --------
    >>> 0.02 < simulated_half_width(0.5, 100, 10_000) < 0.1
    True
    """
    from scipy.special import ndtr

    owner = "simulated_half_width"
    prior = check_prior(prior, owner)
    n_p, n_u = check_count("n_p", n_p, owner), check_count("n_u", n_u, owner)
    draws = check_count("draws", draws, owner)
    score_bound = check_number("score_bound", score_bound, owner, low=0, include_low=False)
    delta = check_number(
        "delta", delta, owner, low=0, high=1, include_low=False, include_high=False
    )
    scores = np.linspace(-score_bound, score_bound, _ATOMS)
    cuts = np.concatenate([[-np.inf], (scores[:-1] + scores[1:]) / 2, [np.inf]])
    p, q = (np.diff(ndtr((cuts - mean) / _SCALE)) for mean in (_MEAN, -_MEAN))
    values = _LOSSES[check_choice("loss", loss, owner, _LOSSES)]
    losses = np.stack([values(scores), values(-scores)])  # (2, 41)
    rng = np.random.default_rng(seed)

    def mean_losses(share: float, n: int) -> NDArray[np.float64]:
        """Draw samples as counts of the scores; return their mean losses, shape (2, draws)."""
        mixture = share * p + (1 - share) * q
        counts = rng.multinomial(n, mixture / mixture.sum(), size=draws)  # (draws, 41)
        means: NDArray[np.float64] = (counts @ losses.T / n).T
        return means

    plus, minus = mean_losses(1.0, n_p)
    _, minus_u = mean_losses(prior, n_u)
    r = minus_u - prior * minus
    r[np.abs(r) < 1e-12] = 0.0  # rounding must not turn r = 0 into r < 0
    nnpu = prior * plus + np.maximum(r, 0)  # Eq. (6)
    risk = prior * p @ losses[0] + (1 - prior) * q @ losses[1]
    return float(np.quantile(np.abs(nnpu - risk), 1 - delta))


def plan_tables(
    plan: Plan, *, loss: str = "zero_one", score_bound: float = 4.0, draws: int = 1000
) -> dict[str, list[dict[str, Any]]]:
    """Half-widths along n_p and along n_u, guaranteed and simulated, and PN's break-even line.

    Parameters
    ----------
    plan : Plan
        The sizes to go around: from a tenth of each to a hundred times as much.
    loss, score_bound, draws
        As in `simulated_half_width`.

    Returns
    -------
    dict of str to list of dict
        ``by_n_p`` and ``by_n_u`` with ``n``, ``half_width``, ``simulated`` and ``now`` (whether
        these are the plan's own sizes); ``pn`` with ``n_u`` and ``break_even``.

    Examples
    --------
    >>> from nnpu.theory import plan
    >>> tables = plan_tables(plan(0.5, 100, 1000), draws=10)
    >>> [row["n"] for row in tables["by_n_p"] if row["now"]]
    [100]
    """
    half_range = (plan.prior[1] - plan.prior[0]) / 2

    def row(n: int, n_p: int, n_u: int) -> dict[str, Any]:
        return {
            "n": n,
            "half_width": guaranteed_half_width(
                plan.assumed_prior,
                n_p,
                n_u,
                delta=plan.delta,
                loss_bound=plan.loss_bound,
                prior_error=half_range,
            ),
            "simulated": simulated_half_width(
                plan.assumed_prior,
                n_p,
                n_u,
                loss=loss,
                score_bound=score_bound,
                delta=plan.delta,
                draws=draws,
            ),
            "now": n_p == plan.n_p and n_u == plan.n_u,
        }

    return {
        "by_n_p": [row(n, n, plan.n_u) for n in _ladder(plan.n_p)],
        "by_n_u": [row(n, plan.n_p, n) for n in _ladder(plan.n_u)],
        "pn": [
            {"n_u": n, "break_even": float(break_even_n_n(plan.assumed_prior, plan.n_p, n))}
            for n in _ladder(plan.n_u)
        ],
    }


def _ladder(n: int) -> list[int]:
    """Sizes from a tenth to a hundred times n, n among them."""
    return sorted({max(1, round(n * 10 ** (step / 3))) for step in range(-3, 7)})
