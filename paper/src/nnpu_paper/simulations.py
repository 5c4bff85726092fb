"""Section 4 by simulation: every statement against draws from populations with known risks.

R_n⁻(g) itself serves as α, the greatest there is; ``bound`` is C_ℓ on the population's scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu import theory
from nnpu.losses import LOSSES
from nnpu_paper.function_class import class_row, comparison_row, default_class
from nnpu_paper.populations import (
    DiscretePopulation,
    GaussianPopulation,
    discretised_gaussian,
    exact_zero_one,
    simulate,
)
from nnpu_paper.statements import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nnpu_paper.claims import Claim
    from nnpu_paper.populations import Draws, Population
    from nnpu_paper.results import Row

__all__ = ["TABLES", "Size", "TheoryResult", "full_size", "run", "run_grid", "small_size"]

#: The tables that `run` makes.
TABLES = (
    "lemma1",
    "lemma1_curve",
    "theorem2_bias",
    "theorem2_curve",
    "theorem2_decay",
    "theorem2_deviation",
    "theorem2_rate",
    "theorem3",
    "theorem3_beta",
    "theorem3_non_symmetric",
    "theorem4",
    "section2",
)


@dataclass(frozen=True)
class Size:
    """How much to simulate.

    Parameters
    ----------
    priors, n_ps, n_us : tuple
        The grid.
    draws : int
        Samples per point of the grid.
    gaussian_draws : int
        The same for the Gaussian population, which is drawn row by row.
    """

    priors: tuple[float, ...]
    n_ps: tuple[int, ...]
    n_us: tuple[int, ...]
    draws: int
    gaussian_draws: int


def full_size() -> Size:
    """Return the grid of the claims: 27 points, 10,000 draws at each."""
    return Size((0.1, 0.5, 0.9), (10, 100, 1000), (100, 1000, 10_000), 10_000, 10_000)


def small_size() -> Size:
    """Return the same grid with fewer draws: a few seconds."""
    return Size((0.1, 0.5, 0.9), (10, 100, 1000), (100, 1000, 10_000), 2000, 200)


@dataclass(frozen=True)
class TheoryResult:
    """Tidy tables by name, and the claims they decide."""

    tables: dict[str, list[Row]]
    claims: list[Claim]


def run(
    size: Size, *, seed: int = 0, progress: Callable[[str], None] = lambda message: None
) -> TheoryResult:
    """Simulate every statement and judge it.

    Parameters
    ----------
    size : Size
        How much.
    seed : int, default=0
        Same seed, same tables.
    progress : callable, optional
        Called with a line about each part before it starts.
    """
    rng = np.random.default_rng(seed)
    tables = run_grid(size, rng, progress)
    progress("decay, rate and single cases")
    tables["theorem2_decay"] = decay_rows((10, 20, 40, 80, 160))
    tables["theorem2_rate"] = rate_rows(
        (30, 100, 300, 1000, 3000, 10_000, 30_000), size.priors, draws=size.draws, rng=rng
    )
    tables["theorem3_beta"] = beta_rows()
    tables["theorem3_non_symmetric"] = non_symmetric_rows(size.draws, rng)
    tables |= _curves(size, rng)
    progress("a class of 72 functions")
    functions = default_class()
    tables["theorem4"] = [
        class_row(functions, prior, n_p, 10 * n_p, draws=size.draws, delta=0.05, rng=rng)
        for prior in size.priors
        for n_p in (10, 30, 100, 300, 1000)
    ]
    tables["section2"] = [
        comparison_row(functions, prior, 100, 5000, n_n, draws=size.draws, rng=rng)
        for prior in (0.1, 0.3, 0.5)
        for n_n in _around(float(theory.break_even_n_n(prior, 100, 5000)))
    ]
    return TheoryResult(tables, judge(tables))


def run_grid(
    size: Size, rng: np.random.Generator, progress: Callable[[str], None] = lambda message: None
) -> dict[str, list[Row]]:
    """Simulate the grid of priors and sample sizes: Lemma 1, Theorems 2 and 3."""
    tables: dict[str, list[Row]] = {
        name: [] for name in ("lemma1", "theorem2_bias", "theorem2_deviation", "theorem3")
    }
    for population, losses, score_bound, draws in _populations(size):
        progress(f"{population.name} population, {draws} draws at each point")
        points = simulate(
            population, losses, size.priors, size.n_ps, size.n_us, draws=draws, rng=rng
        )
        for point in points:
            constants = theory.loss_constants(point.loss, score_bound)
            tables["lemma1"].append(lemma_1_row(point, constants.bound))
            tables["theorem2_bias"].append(bias_row(point, constants.bound))
            tables["theorem2_deviation"] += deviation_rows(point, constants.bound)
            tables["theorem3"].append(mse_row(point, constants.bound, constants.infimum))
    return tables


def _curves(size: Size, rng: np.random.Generator) -> dict[str, list[Row]]:
    """Along n_p at n_u = 1000, for pictures: Lemma 1 and the deviations of Theorem 2."""
    population = _rounded()
    points = list(
        simulate(population, ["zero_one"], size.priors, LADDER, [1000], draws=size.draws, rng=rng)
    )
    return {
        "lemma1_curve": [lemma_1_row(point, 1.0) for point in points],
        "theorem2_curve": [row for point in points for row in deviation_rows(point, 1.0)],
    }


def _rounded() -> DiscretePopulation:
    return discretised_gaussian("rounded", 2.0, -2.0, 2.0, clip=4.0)


def _populations(
    size: Size,
) -> Iterator[tuple[Population, tuple[str, ...], float | None, int]]:
    """Yield each population with its losses, the bound of its scores, and how often to draw."""
    bounded = tuple(name for name, loss in LOSSES.items() if loss.bounded)
    coin = DiscretePopulation("coin", (-1.0, 1.0), (0.5, 0.5), (0.5, 0.5))
    yield coin, bounded, 1.0, size.draws
    # So bad a classifier meets condition (d) of Theorem 3 while r < 0 still occurs.
    backwards = DiscretePopulation("backwards", (-1.0, 1.0), (0.9, 0.1), (0.05, 0.95))
    yield backwards, bounded, 1.0, size.draws
    # Discrete, with bounded scores: there all seven losses are bounded.
    yield _rounded(), tuple(LOSSES), 4.0, size.draws
    yield GaussianPopulation("gaussian", 2.0, -2.0, 2.0), bounded, None, size.gaussian_draws


def _around(value: float) -> list[int]:
    return [max(1, round(value * factor)) for factor in (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)]


#: The levels at which deviations are counted.
DELTAS = (0.05, 0.5)


def lemma_1_row(draws: Draws, bound: float) -> Row:
    """Count r < 0 and put Lemma 1 beside it."""
    setting = (draws.risks.n_minus, draws.prior, draws.n_p, draws.n_u, bound)
    count = int((draws.r < 0).sum())
    return _key(draws) | {
        "count": count,
        "frequency": count / len(draws.r),
        "bound": float(theory.negative_part_probability_bound(*setting)),
        "printed": float(theory.negative_part_probability_bound(*setting, form="printed")),
    }


def bias_row(draws: Draws, bound: float) -> Row:
    """Average max{0, −r}, the bias without the noise of R̂_pu, beside Theorem 2."""
    setting = (draws.risks.n_minus, draws.prior, draws.n_p, draws.n_u, bound)
    error = draws.upu - draws.risk
    return _key(draws) | {
        "count": int((draws.r < 0).sum()),
        "bias": float(draws.gap.mean()),
        "bias_error": _standard_error(draws.gap),
        "bound": float(theory.bias_bound(*setting)),
        "moment": float(theory.bias_bound(*setting, form="moment")),
        "printed": float(theory.bias_bound(*setting, form="printed")),
        "upu_error": float(error.mean()),
        "upu_error_error": _standard_error(error),
        "rmse": float(np.sqrt(((draws.nnpu - draws.risk) ** 2).mean())),
    }


def deviation_rows(draws: Draws, bound: float) -> list[Row]:
    """Count |R̃_pu − R| beyond each width of Theorem 2, and bound each count's probability."""
    prior, n_p, n_u, alpha = draws.prior, draws.n_p, draws.n_u, draws.risks.n_minus
    setting = (prior, n_p, n_u, bound)
    error = np.abs(draws.nnpu - draws.risk)
    differs = theory.negative_part_probability_bound(alpha, *setting)
    rows = []
    for delta in DELTAS:
        narrow = float(theory.deviation_bound(delta, *setting))
        wide = float(theory.deviation_bound(delta, *setting, alpha=alpha))
        sharp = float(theory.deviation_bound(delta, *setting, sharp=True))
        row: Row = {
            "delta": delta,
            "quantile": float(np.quantile(error, 1 - delta)),
            "width_9": wide,
            "width_10": narrow,
            "width_sharp": sharp,
            "count_9": int((error > wide).sum()),
            "count_10": int((error > narrow).sum()),
            "count_sharp": int((error > sharp).sum()),
            "level_10": 1 - float(theory.deviation_confidence(delta, differs)),
            "level_free": 1 - float(theory.deviation_confidence(delta)),
        }
        rows.append(_key(draws) | row)
    return rows


def mse_row(draws: Draws, bound: float, infimum: float) -> Row:
    """Compare the mean squared errors of R̂_pu and R̃_pu with each other and with Theorem 3."""
    prior, risks = draws.prior, draws.risks
    # A threshold at which many gaps lie: about the standard deviation of r.
    beta = bound * min(prior, math.sqrt(prior**2 / draws.n_p + 1 / draws.n_u) / 4)
    integrand = np.asarray(theory.mse_reduction_integrand(draws.upu, draws.r, draws.risk))
    above = draws.gap > beta
    surplus = integrand - 3 * beta**2 * above  # its mean is not negative if Theorem 3 holds
    condition = (risks.p_minus, risks.n_minus, prior)
    return _key(draws) | {
        "symmetric": LOSSES[draws.loss].symmetric,
        "mse_upu": float(((draws.upu - draws.risk) ** 2).mean()),
        "mse_nnpu": float(((draws.nnpu - draws.risk) ** 2).mean()),
        "reduction": float(integrand.mean()),
        "reduction_error": _standard_error(integrand),
        "beta": beta,
        "bound": float(theory.mse_reduction_bound(beta, float(above.mean()), prior, bound)),
        "remainder": float(theory.mse_remainder(risks.n_minus, prior, draws.n_u, bound)),
        "surplus": float(surplus.mean()),
        "surplus_error": _standard_error(surplus),
        "condition": bool(theory.mse_condition(*condition, infimum=infimum)),
        "condition_printed": bool(
            theory.mse_condition(*condition, infimum=infimum, form="printed")
        ),
    }


def _key(draws: Draws) -> Row:
    return {
        "population": draws.population,
        "loss": draws.loss,
        "prior": draws.prior,
        "n_p": draws.n_p,
        "n_u": draws.n_u,
        "draws": len(draws.r),
        "risk_n_minus": draws.risks.n_minus,
    }


def _standard_error(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


#: Numbers of positives along which curves are drawn.
LADDER = (10, 20, 50, 100, 200, 500, 1000)


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
    """Scores of P 0 or 10, so with the squared loss both of its risks are large at once.

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
