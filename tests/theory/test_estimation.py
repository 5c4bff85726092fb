"""Lemma 5, Theorem 4, complexities, constants of the losses, PU against PN."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nnpu import theory
from nnpu.losses import LOSSES
from nnpu.parameters import InputError, ParameterError


def test_lemma_5_and_theorem_4_by_hand():
    """L = ½, π = ½, ℜ_p = 0.1, ℜ_u = 0.02, δ = e^−2 so that C′_δ = 1; χ = 0.3 and Δ = e^−4.

    Lemma 5: 8·½·½·0.1 + 4·½·0.02 + 0.3 + ½ e^−4 = 0.54 + e^−4/2; Theorem 4 is twice that.
    """
    setting = (0.1, 0.02, math.exp(-2), 0.5, 25, 100)
    lemma = theory.uniform_deviation_bound(*setting, lipschitz=0.5, alpha=0.4)
    assert lemma == pytest.approx(0.54 + math.exp(-4) / 2, rel=1e-12)
    theorem = theory.estimation_error_bound(*setting, lipschitz=0.5, alpha=0.4)
    assert theorem == pytest.approx(1.08 + math.exp(-4), rel=1e-12)
    printed = theory.estimation_error_bound(*setting, lipschitz=0.5, alpha=0.4, form="printed")
    assert printed == pytest.approx(1.08 + math.exp(-16), rel=1e-12)


def test_bounds_without_alpha_by_hand():
    """δ = 2/e², C_δ = 1: 4·½·½·0.1 + 2·½·0.02 + 0.3 = 0.42, and Eq. (14) is twice that."""
    setting = (0.1, 0.02, 2 / math.e**2, 0.5, 25, 100)
    assert theory.uniform_deviation_bound(*setting, lipschitz=0.5) == pytest.approx(0.42)
    assert theory.estimation_error_bound(*setting, lipschitz=0.5) == pytest.approx(0.84)
    assert theory.upu_estimation_error_bound(*setting, lipschitz=0.5) == pytest.approx(0.84)


@given(
    delta=st.floats(0.001, 0.5),
    prior=st.floats(0.05, 0.95),
    n_p=st.integers(1, 10_000),
    n_u=st.integers(1, 10_000),
    factor=st.floats(1.01, 10),
)
def test_estimation_error_bounds_move_in_the_right_direction(delta, prior, n_p, n_u, factor):
    def at(c_p=0.1, c_u=0.1, d=delta, pi=prior, p=n_p, u=n_u, lip=0.5, **options):
        return theory.estimation_error_bound(c_p, c_u, d, pi, p, u, lipschitz=lip, **options)

    for options in ({}, {"alpha": 0.3}):
        here = at(**options)
        assert at(c_p=0.1 * factor, **options) > here
        assert at(c_u=0.1 * factor, **options) > here
        assert at(lip=0.5 * factor, **options) > here
        assert at(d=delta / factor, **options) > here
        assert at(p=n_p * factor, **options) < here
        assert at(u=n_u * factor, **options) < here
        assert at(pi=prior + (1 - prior) / 2, **options) > here


def test_a_loss_that_is_not_lipschitz_breaks_theorem_4():
    with pytest.raises(ParameterError, match=r"'lipschitz'.*Theorem 4 assumes.*Lipschitz"):
        theory.estimation_error_bound(0.1, 0.1, 0.05, 0.5, 10, 10, lipschitz=math.inf)
    with pytest.raises(ParameterError, match=r"'delta'.*Lemma 5"):
        theory.uniform_deviation_bound(0.1, 0.1, 1.0, 0.5, 10, 10, lipschitz=0.5)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("score_bound", [0.3, 1.0, 2.5])
def test_constants_are_those_of_the_loss_on_a_fine_grid(name, score_bound):
    """The extremes of the values and of difference quotients over margins in [−C_g, C_g]."""
    margin = torch.linspace(-score_bound, score_bound, 20_001, dtype=torch.float64)
    values = LOSSES[name](margin)
    constants = theory.loss_constants(name, score_bound)
    assert constants.bound == pytest.approx(values.max().item(), rel=1e-9)
    assert constants.infimum == pytest.approx(values.min().item(), abs=1e-9)
    if name == "zero_one":
        assert constants.lipschitz == math.inf
    else:
        slopes = values.diff() / margin.diff()
        assert constants.lipschitz == pytest.approx(slopes.abs().max().item(), rel=1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_constants_without_a_score_bound_are_table_1s(name):
    loss = LOSSES[name]
    if loss.bounded:
        constants = theory.loss_constants(name)
        assert (constants.bound, constants.lipschitz) == (loss.supremum, loss.lipschitz)
    else:
        with pytest.raises(ParameterError, match=r"no upper bound: Section 4 assumes C_g"):
            theory.loss_constants(name)


def test_linear_complexity_is_attained_by_one_row():
    """n = 1: the supremum is B‖x‖ for either sign, the bound exactly."""
    x = np.array([[3.0, 4.0]])
    estimate = theory.rademacher_empirical(lambda s: 2 * np.linalg.norm(s @ x), 1, random_state=0)
    assert estimate.value == pytest.approx(theory.rademacher_linear(2.0, 5.0, 1), rel=1e-12)
    assert estimate.standard_error == pytest.approx(0, abs=1e-12)


def test_empirical_complexity_agrees_with_the_enumeration_of_all_signs():
    """A class of five functions on six rows: 2⁶ sign vectors give the mean exactly."""
    values = np.random.default_rng(1).normal(size=(5, 6))
    signs = np.array(list(itertools.product([-1, 1], repeat=6)))
    exact = (signs @ values.T).max(axis=1).mean() / 6
    estimate = theory.rademacher_empirical(values, draws=20_000, random_state=0)
    assert abs(estimate.value - exact) < 4 * estimate.standard_error
    bound = theory.rademacher_finite(5, np.linalg.norm(values, axis=1).max() / math.sqrt(6), 6)
    assert exact <= bound  # Massart's lemma with the root mean square in place of C_g


def test_upper_bound_of_the_complexity_covers_it():
    """The class {+1, −1}·C on n rows: sup is C|Σσ|/n, whose mean is about C √(2/(πn))."""
    n, covered = 50, 0
    exact = np.abs(np.random.default_rng(0).choice([-1, 1], (200_000, n)).sum(axis=1)).mean() / n
    for seed in range(50):
        estimate = theory.rademacher_empirical(
            np.stack([np.ones(n), -np.ones(n)]), draws=5, random_state=seed
        )
        covered += estimate.upper(1.0, 0.1) >= exact
    assert covered >= 45


def test_wrong_inputs_of_the_empirical_complexity():
    with pytest.raises(InputError, match=r"shape \(n_functions, n\)"):
        theory.rademacher_empirical(np.zeros(3))
    with pytest.raises(ParameterError, match=r"'n' parameter"):
        theory.rademacher_empirical(lambda s: 0.0)


def test_pu_beats_pn_by_hand():
    """π = ½, n_p = 100, n_u = 10⁴: ½/10 + 1/100 = 0.06 < ½/√n_n exactly below (½/0.06)² = 69.4."""
    assert theory.pu_beats_pn(0.5, 100, 10_000, 69)
    assert not theory.pu_beats_pn(0.5, 100, 10_000, 70)
    assert theory.break_even_n_n(0.5, 100, 10_000) == pytest.approx((0.5 / 0.06) ** 2)


def test_section_5_gives_pn_fewer_negatives_than_break_even_only_if_u_is_large():
    """n_n = (π_n/2π)² n_p: PU wins where n_u > n_p/π² = 4000, and n_u ≥ n_p is not enough."""
    n_n = theory.section_5_n_n(0.5, 1000)
    assert n_n == 250
    assert theory.pu_beats_pn(0.5, 1000, 4001, n_n)
    assert not theory.pu_beats_pn(0.5, 1000, 3999, n_n)


def test_infinite_unlabelled_data_leave_the_ratio_of_priors():
    """n_u → ∞: break-even at (π_n/π)² n_p."""
    assert theory.break_even_n_n(0.4, 100, math.inf) == pytest.approx(225)


@given(
    prior=st.floats(0.05, 0.95),
    n_p=st.integers(1, 10_000),
    n_u=st.integers(1, 10_000),
    factor=st.floats(1.01, 10),
)
def test_break_even_moves_in_the_right_direction(prior, n_p, n_u, factor):
    here = theory.break_even_n_n(prior, n_p, n_u)
    assert theory.break_even_n_n(prior, factor * n_p, n_u) > here
    assert theory.break_even_n_n(prior, n_p, factor * n_u) > here
    assert theory.break_even_n_n(prior + (1 - prior) / 2, n_p, n_u) < here
