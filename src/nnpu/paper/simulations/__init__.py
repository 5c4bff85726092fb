"""Section 4 by simulation: every statement against draws from populations with known risks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nnpu.losses import LOSSES
from nnpu.paper.montecarlo import simulate
from nnpu.paper.populations import (
    DiscretePopulation,
    GaussianPopulation,
    discretised_gaussian,
)
from nnpu.paper.simulations.cases import (
    LADDER,
    beta_rows,
    decay_rows,
    non_symmetric_rows,
    rate_rows,
)
from nnpu.paper.simulations.function_class import class_row, comparison_row, default_class
from nnpu.paper.simulations.grid import bias_row, deviation_rows, lemma_1_row, mse_row
from nnpu.paper.simulations.judge import judge
from nnpu.theory import break_even_n_n, loss_constants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nnpu.paper.claims import Claim
    from nnpu.paper.populations import Population
    from nnpu.paper.results import Row

__all__ = ["Size", "TheoryResult", "full_size", "run", "run_grid", "small_size"]


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
        for n_n in _around(float(break_even_n_n(prior, 100, 5000)))
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
            constants = loss_constants(point.loss, score_bound)
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
