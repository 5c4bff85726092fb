"""Single cases: the decay of the bias, the rate, and where a printed statement fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nnpu import theory
from nnpu.losses import LOSSES
from nnpu.paper.montecarlo import exact_zero_one, simulate
from nnpu.paper.populations import DiscretePopulation, discretised_gaussian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nnpu.paper.results import Row

__all__ = [
    "LADDER",
    "beta_rows",
    "decay_rows",
    "fitted_slope",
    "non_symmetric_rows",
    "rate_rows",
]

#: Numbers of positives along which curves are drawn.
LADDER = (10, 20, 50, 100, 200, 500, 1000)


def fitted_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the least-squares line through the points.

    >>> round(fitted_slope([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]), 6)
    2.0
    """
    return float(np.polyfit(np.asarray(x), np.asarray(y), 1)[0])


def decay_rows(sizes: Sequence[int]) -> list[Row]:
    """The bias for the zero-one loss by enumeration, with n_u = 10 n_p and two priors.

    ``size`` is 1/(π²/n_p + 1/n_u), in which Theorem 2's exponent is linear.
    """
    rows: list[Row] = []
    for prior, rate_p, rate_n in ((0.5, 0.7, 0.2), (0.3, 0.8, 0.1)):
        for n_p in sizes:
            n_u = 10 * n_p
            exact = exact_zero_one(prior, rate_p, rate_n, n_p, n_u)
            setting = (rate_n, prior, n_p, n_u)
            rows.append(
                {
                    "prior": prior,
                    "risk_p_minus": rate_p,
                    "risk_n_minus": rate_n,
                    "n_p": n_p,
                    "n_u": n_u,
                    "size": 1 / (prior**2 / n_p + 1 / n_u),
                    "probability": exact.probability,
                    "bias": exact.bias,
                    "bound": float(theory.bias_bound(*setting)),
                    "printed": float(theory.bias_bound(*setting, form="printed")),
                    "moment": float(theory.bias_bound(*setting, form="moment")),
                }
            )
    return rows


def rate_rows(
    n_ps: Sequence[int], priors: Sequence[float], *, draws: int, rng: np.random.Generator
) -> list[Row]:
    """Root mean squared errors of R̃_pu with the sigmoid loss, at n_u = 10 n_p."""
    population = discretised_gaussian("rounded", 2.0, -2.0, 2.0, clip=4.0)
    rows: list[Row] = []
    for n_p in n_ps:
        points = simulate(population, ["sigmoid"], priors, [n_p], [10 * n_p], draws=draws, rng=rng)
        for point in points:
            rows.append(
                {
                    "prior": point.prior,
                    "n_p": n_p,
                    "n_u": 10 * n_p,
                    "draws": draws,
                    "rmse": float(np.sqrt(((point.nnpu - point.risk) ** 2).mean())),
                    "rate": float(theory.convergence_rate(point.prior, n_p, 10 * n_p)),
                }
            )
    return rows


def beta_rows(steps: int = 60) -> list[Row]:
    """MSE reduction and 3β² Pr{R̃_pu − R̂_pu > β} by enumeration, in two settings.

    In "printed (d) alone", R_u⁻ ≤ 2 R_n⁻ but R_u⁻ > 2 π_n R_n⁻: the printed condition is met and
    the corrected one is not. In "corrected (d)" both are.
    """
    settings = {
        "printed (d) alone": (0.95, 0.3, 0.2, 100, 5),
        "corrected (d)": (0.5, 0.2, 0.3, 5, 100),
    }
    rows: list[Row] = []
    for name, (prior, rate_p, rate_n, n_p, n_u) in settings.items():
        for beta in np.linspace(0, prior, steps + 1)[1:]:
            exact = exact_zero_one(prior, rate_p, rate_n, n_p, n_u, beta=float(beta))
            bound = theory.mse_reduction_bound(float(beta), exact.exceedance, prior)
            rows.append(
                {
                    "setting": name,
                    "prior": prior,
                    "risk_p_minus": rate_p,
                    "risk_n_minus": rate_n,
                    "n_p": n_p,
                    "n_u": n_u,
                    "condition": bool(theory.mse_condition(rate_p, rate_n, prior)),
                    "condition_printed": bool(
                        theory.mse_condition(rate_p, rate_n, prior, form="printed")
                    ),
                    "beta": float(beta),
                    "reduction": exact.mse_upu - exact.mse_nnpu,
                    "bound": float(bound),
                    "remainder": float(theory.mse_remainder(rate_n, prior, n_u)),
                }
            )
    return rows


def non_symmetric_rows(draws: int, rng: np.random.Generator) -> list[Row]:
    """Scores of P 0 or 10, so that with the squared loss both of its risks are large at once.

    There r < 0 comes with a positive part that is too large already, and R̂_pu was nearer to R.
    """
    population = DiscretePopulation(
        "wide", scores=(-0.5, 0.0, 10.0), p=(0.0, 0.5, 0.5), q=(1.0, 0.0, 0.0)
    )
    points = simulate(
        population,
        ["squared", "hinge", "sigmoid", "zero_one"],
        [0.5],
        LADDER,
        [1000],
        draws=draws,
        rng=rng,
    )
    return [
        {
            "loss": point.loss,
            "symmetric": LOSSES[point.loss].symmetric,
            "prior": point.prior,
            "n_p": point.n_p,
            "n_u": point.n_u,
            "draws": draws,
            "mse_upu": float(((point.upu - point.risk) ** 2).mean()),
            "mse_nnpu": float(((point.nnpu - point.risk) ** 2).mean()),
        }
        for point in points
    ]
