"""How loose a guaranteed half-width is: the same precision in a simulated population."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu.paper.montecarlo import simulate
from nnpu.paper.populations import discretised_gaussian
from nnpu.theory import break_even_n_n, guaranteed_half_width

if TYPE_CHECKING:
    from nnpu.paper.results import Row
    from nnpu.theory import Plan

__all__ = ["plan_tables", "simulated_half_width"]


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
    population = discretised_gaussian("rounded", 2.0, -2.0, 2.0, clip=score_bound)
    rng = np.random.default_rng(seed)
    (point,) = simulate(population, [loss], [prior], [n_p], [n_u], draws=draws, rng=rng)
    return float(np.quantile(np.abs(point.nnpu - point.risk), 1 - delta))


def plan_tables(
    plan: Plan, *, loss: str = "zero_one", score_bound: float = 4.0, draws: int = 1000
) -> dict[str, list[Row]]:
    """Half-widths along n_p and along n_u, guaranteed and simulated, and PN's break-even line."""
    half_range = (plan.prior[1] - plan.prior[0]) / 2

    def row(n: int, n_p: int, n_u: int) -> Row:
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
            {
                "n_u": n,
                "break_even": float(break_even_n_n(plan.assumed_prior, plan.n_p, n)),
            }
            for n in _ladder(plan.n_u)
        ],
    }


def _ladder(n: int) -> list[int]:
    """Sizes from a tenth to a hundred times n, n among them."""
    return sorted({max(1, round(n * 10 ** (step / 3))) for step in range(-3, 7)})
