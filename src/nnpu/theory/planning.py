"""What to collect: the guaranteed precision of a PU risk estimate, and what a better one costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from nnpu.parameters import ParameterError, check_count, check_number, check_prior, shown
from nnpu.theory.bounds import convergence_rate
from nnpu.theory.comparison import break_even_n_n, pu_beats_pn, section_5_n_n

__all__ = ["Comparison", "Plan", "Purchase", "guaranteed_half_width", "plan"]

_OWNER = "plan"
_LEAST, _MOST = 1e-9, 1e9  # beyond these a plan is no plan, and squares may overflow


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
        Where the next unit of cost narrows the interval more.
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
    """C_ℓ √(ln(2/δ′)/2) with δ′ + (δ′/2)⁴ = δ, so that the statement without α has level δ."""
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
