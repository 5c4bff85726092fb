"""Exact risks against independent integrals, draws against exact distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from nnpu.losses import LOSSES
from nnpu_paper.populations import (
    DiscretePopulation,
    GaussianPopulation,
    discretised_gaussian,
    exact_zero_one,
    loss_values,
    simulate,
)

GAUSSIAN = GaussianPopulation("gaussian", 1.0, -0.5, 1.5)
COIN = DiscretePopulation("coin", (-1.0, 1.0), (0.5, 0.5), (0.5, 0.5))


def test_zero_one_risks_of_gaussians_are_normal_probabilities():
    risks = GAUSSIAN.risks("zero_one")
    assert risks.p_plus == pytest.approx(norm.cdf(0, 1.0, 1.5), rel=1e-10)
    assert risks.p_minus == pytest.approx(norm.sf(0, 1.0, 1.5), rel=1e-10)
    assert risks.n_minus == pytest.approx(norm.sf(0, -0.5, 1.5), rel=1e-10)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "zero_one"])
def test_risks_of_gaussians_agree_with_adaptive_quadrature(name):
    def integrand(t: float) -> float:
        return float(loss_values(name, np.array([-t]))[0]) * norm.pdf(t, -0.5, 1.5)

    value, _ = quad(integrand, -20, 20, points=[-1, 0, 1], epsabs=1e-11, limit=200)
    assert GAUSSIAN.risks(name).n_minus == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(
    "population",
    [GAUSSIAN, discretised_gaussian("rounded", 2.0, -2.0, 2.0, clip=4.0)],
    ids=lambda population: population.name,
)
@pytest.mark.parametrize("name", ["zero_one", "sigmoid", "hinge"])
def test_sample_means_have_the_exact_mean(population, name):
    """π R_p⁻ + π_n R_n⁻ = R_u⁻ within four standard errors."""
    risks = population.risks(name)
    means = population.sample([name], 0.3, 50, 4000, np.random.default_rng(0))[name]
    exact = 0.3 * risks.p_minus + 0.7 * risks.n_minus
    assert abs(means.minus.mean() - exact) < 4 * means.minus.std() / np.sqrt(4000)


def test_simulation_agrees_with_enumeration():
    exact = exact_zero_one(0.9, 0.5, 0.5, 10, 100)
    rng = np.random.default_rng(0)
    (point,) = simulate(COIN, ["zero_one"], [0.9], [10], [100], draws=40_000, rng=rng)
    count = (point.r < 0).mean()
    assert abs(count - exact.probability) < 4 * np.sqrt(exact.probability / 40_000)
    assert point.gap.mean() == pytest.approx(exact.bias, rel=0.05)
    assert ((point.upu - point.risk) ** 2).mean() == pytest.approx(exact.mse_upu, rel=0.05)
    assert ((point.nnpu - point.risk) ** 2).mean() == pytest.approx(exact.mse_nnpu, rel=0.05)


def test_enumeration_of_one_row_each_by_hand():
    """n_p = n_u = 1, π = ½, rates ½: the four outcomes have probability ¼.

    r = k_u − ½ k_p is negative only for k_p = 1, k_u = 0, where it is −½: Pr ¼, bias ⅛.
    """
    exact = exact_zero_one(0.5, 0.5, 0.5, 1, 1, beta=0.4)
    values = (exact.probability, exact.bias, exact.exceedance)
    assert values == pytest.approx((0.25, 0.125, 0.25), rel=1e-12)


def test_uneven_mini_batches_can_average_below_the_full_maximum():
    """U losses ½ everywhere, P losses {1} and {0, 0, 0} in two batches, π = 0.9.

    Full: max{0, ½ − 0.9/4} = 0.275. Batches: max{0, ½ − 0.9} = 0 and ½, mean 0.25.
    """
    batches = [np.array([1.0]), np.zeros(3)]
    full = max(0.0, 0.5 - 0.9 * np.concatenate(batches).mean())
    average = np.mean([max(0.0, 0.5 - 0.9 * batch.mean()) for batch in batches])
    assert full == pytest.approx(0.275)
    assert average == pytest.approx(0.25)
