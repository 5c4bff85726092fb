"""Lemma 1, Theorems 2 and 3: values derived by hand, limits, and directions."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from nnpu import theory
from nnpu.parameters import ParameterError

PRIORS = st.floats(0.02, 0.98)
SIZES = st.integers(1, 100_000)
ALPHAS = st.floats(0.01, 1.0)


def exact_zero_one(prior, rate_p, rate_n, n_p, n_u, *, beta=0.0):
    """Enumerate every outcome of (X_p, X_u) for the zero-one loss: two binomial counts matter.

    `rate_p` and `rate_n` are R_p⁻ and R_n⁻, the shares of each class that g calls positive.
    """
    k_p, k_u = np.arange(n_p + 1), np.arange(n_u + 1)
    rate_u = prior * rate_p + (1 - prior) * rate_n
    weight = binom.pmf(k_p, n_p, rate_p)[:, None] * binom.pmf(k_u, n_u, rate_u)
    p_minus = (k_p / n_p)[:, None]
    r = k_u / n_u - prior * p_minus
    r[np.abs(r) < 1e-12] = 0.0
    risk = prior * (1 - rate_p) + (1 - prior) * rate_n
    upu = prior * (1 - p_minus) + r
    nnpu = upu - np.minimum(r, 0)
    return SimpleNamespace(
        probability=weight[r < 0].sum(),
        bias=(weight * np.maximum(0, -r)).sum(),
        mse_upu=(weight * (upu - risk) ** 2).sum(),
        mse_nnpu=(weight * (nnpu - risk) ** 2).sum(),
        exceedance=weight[-r > beta].sum(),
    )


def test_lemma_1_by_hand():
    """π = ½, n_p = 25, n_u = 100, α = 0.4: π²/n_p + 1/n_u = 0.02, (π_n α)² = 0.04, so e^−4."""
    value = theory.negative_part_probability_bound(0.4, 0.5, 25, 100)
    assert value == pytest.approx(math.exp(-4), rel=1e-12)
    assert isinstance(value, float)


def test_printed_lemma_1_by_hand():
    """As above with α² = 0.16 in place of (π_n α)²: e^−16."""
    value = theory.negative_part_probability_bound(0.4, 0.5, 25, 100, form="printed")
    assert value == pytest.approx(math.exp(-16), rel=1e-12)


def test_loss_bound_scales_alpha_in_lemma_1():
    """Only α/C_ℓ matters: losses in other units give the same probability."""
    one = theory.negative_part_probability_bound(0.4, 0.3, 20, 200)
    ten = theory.negative_part_probability_bound(4.0, 0.3, 20, 200, loss_bound=10.0)
    assert one == pytest.approx(ten, rel=1e-12)


def test_bias_bound_by_hand():
    """C_ℓ π Δ with C_ℓ = 2, π = ½ and α = 0.8: the Δ of the first test, so e^−4 · 1."""
    assert theory.bias_bound(0.8, 0.5, 25, 100, 2.0) == pytest.approx(math.exp(-4), rel=1e-12)


def test_moment_bound_of_the_bias_by_hand():
    """α = 0, π²/n_p + 1/n_u = 0.02: σ = √0.02/2 and the bound is σ/2 = √0.02/4."""
    value = theory.bias_bound(0.0, 0.5, 25, 100, form="moment")
    assert value == pytest.approx(math.sqrt(0.02) / 4, rel=1e-12)


def test_deviation_bounds_by_hand():
    """δ = 2/e² makes C_δ = √(ln(e²)/2) = 1, so C_δ χ = χ = 2·½/5 + 1/10 = 0.3.

    Sharp: √(4·¼/25 + 1/100) = √0.05. Eq. (9) adds π e^−4 for α = 0.4.
    """
    delta = 2 / math.e**2
    setting = (0.5, 25, 100)
    assert theory.deviation_bound(delta, *setting) == pytest.approx(0.3, rel=1e-12)
    sharp = theory.deviation_bound(delta, *setting, sharp=True)
    assert sharp == pytest.approx(math.sqrt(0.05), rel=1e-12)
    wide = theory.deviation_bound(delta, *setting, alpha=0.4)
    assert wide == pytest.approx(0.3 + math.exp(-4) / 2, rel=1e-12)
    printed = theory.deviation_bound(delta, *setting, alpha=0.4, form="printed")
    assert printed == pytest.approx(0.3 + math.exp(-16) / 2, rel=1e-12)


def test_deviation_confidence_by_hand():
    """δ = 0.2: 1 − 0.2 − 0.1⁴ = 0.7999; with Δ = 0.1, 1 − 0.2 − 0.1 = 0.7."""
    assert theory.deviation_confidence(0.2) == pytest.approx(0.7999, rel=1e-12)
    assert theory.deviation_confidence(0.2, 0.1) == pytest.approx(0.7, rel=1e-12)


def test_mse_reduction_bound_by_hand():
    """3 · 0.1² · 0.5 = 0.015."""
    assert theory.mse_reduction_bound(0.1, 0.5, 0.5) == pytest.approx(0.015, rel=1e-12)


def test_mse_remainder_is_the_integral_of_hoeffdings_tail():
    """2 π C ∫ exp(−2 n t²/C²) dt from 2 π_n α on, summed on a fine grid instead of by erfc."""
    alpha, prior, n_u, bound = 0.1, 0.7, 20, 1.5
    t = np.linspace(2 * (1 - prior) * alpha, 6.0, 400_001)
    tail = np.trapezoid(np.exp(-2 * n_u * t**2 / bound**2), t)
    value = theory.mse_remainder(alpha, prior, n_u, bound)
    assert value == pytest.approx(2 * prior * bound * tail, rel=1e-8)


def test_mse_reduction_bound_subtracts_the_remainder():
    full = theory.mse_reduction_bound(0.1, 0.5, 0.5)
    less = theory.mse_reduction_bound(0.1, 0.5, 0.5, alpha=0.2, n_u=100)
    assert full - less == pytest.approx(theory.mse_remainder(0.2, 0.5, 100), rel=1e-9)


def test_mse_integrand_averages_to_the_difference_of_mean_squared_errors():
    rng = np.random.default_rng(0)
    positive, r = rng.uniform(0, 1, 500), rng.normal(0, 1, 500)
    upu, nnpu, risk = positive + r, positive + np.maximum(r, 0), 0.3
    reduction = ((upu - risk) ** 2).mean() - ((nnpu - risk) ** 2).mean()
    integrand = theory.mse_reduction_integrand(upu, r, risk)
    assert np.mean(integrand) == pytest.approx(reduction, rel=1e-9)


def test_exact_reduction_of_symmetric_losses_has_the_closed_form():
    """E[(3r² + 2|r|(2π_n R_n⁻ − D))·1{r<0}], D = R_u⁻ − R̂_u⁻, on one row each of P and U.

    π = 0.8, R_p⁻ = 0.5, R_n⁻ = 0.25: R_u⁻ = 0.45, and r < 0 only if the positive is called
    positive and the unlabelled row is not: probability 0.5·0.55, r = −0.8, D = 0.45. So
    0.275·(3·0.64 + 1.6·(0.1 − 0.45)) = 0.374.
    """
    exact = exact_zero_one(0.8, 0.5, 0.25, 1, 1)
    assert exact.probability == pytest.approx(0.275, rel=1e-12)
    assert exact.mse_upu - exact.mse_nnpu == pytest.approx(0.374, rel=1e-12)


def test_printed_lemma_1_fails_where_the_corrected_one_holds():
    exact = exact_zero_one(0.9, 0.5, 0.5, 10, 100)
    setting = (0.5, 0.9, 10, 100)
    assert exact.probability > theory.negative_part_probability_bound(*setting, form="printed")
    assert exact.probability <= theory.negative_part_probability_bound(*setting)
    assert exact.bias > theory.bias_bound(*setting, form="printed")
    assert exact.bias <= theory.bias_bound(*setting, form="moment") <= theory.bias_bound(*setting)


def test_printed_condition_of_theorem_3_is_met_where_the_reduction_fails():
    exact = exact_zero_one(0.95, 0.3, 0.2, 100, 5, beta=0.253)
    bound = theory.mse_reduction_bound(0.253, exact.exceedance, 0.95)
    assert theory.mse_condition(0.3, 0.2, 0.95, form="printed")
    assert bound > exact.mse_upu - exact.mse_nnpu
    assert not theory.mse_condition(0.3, 0.2, 0.95)


@given(
    prior=PRIORS,
    rate_p=st.just(0.0) | st.floats(1e-300, 1),  # older SciPy's binomial law warns below
    rate_n=st.floats(0.01, 1),
    n_p=st.integers(1, 30),
    n_u=st.integers(1, 30),
    beta=st.floats(0.01, 0.99),
)
def test_no_exact_case_contradicts_the_corrected_statements(prior, rate_p, rate_n, n_p, n_u, beta):
    beta *= prior
    exact = exact_zero_one(prior, rate_p, rate_n, n_p, n_u, beta=beta)
    setting = (rate_n, prior, n_p, n_u)
    slack = 1e-12
    assert exact.probability <= theory.negative_part_probability_bound(*setting) + slack
    assert exact.bias <= theory.bias_bound(*setting) + slack
    assert exact.bias <= theory.bias_bound(*setting, form="moment") + slack
    reduction = exact.mse_upu - exact.mse_nnpu
    bound = theory.mse_reduction_bound(beta, exact.exceedance, prior)
    assert reduction >= bound - theory.mse_remainder(rate_n, prior, n_u) - slack
    if theory.mse_condition(rate_p, rate_n, prior):
        assert reduction >= bound - slack


@given(alpha=ALPHAS, prior=PRIORS, n_p=SIZES, n_u=SIZES, factor=st.floats(1.01, 10))
def test_lemma_1_and_the_bias_bounds_move_in_the_right_direction(alpha, prior, n_p, n_u, factor):
    def at(form, a=alpha, pi=prior, p=n_p, u=n_u, c=1.0):
        if form == "probability":
            return theory.negative_part_probability_bound(a, pi, p, u, c)
        return theory.bias_bound(a, pi, p, u, c, form=form)

    for form in ("probability", "corrected", "moment"):
        here = at(form)
        assert at(form, a=alpha / factor) >= here
        assert at(form, p=factor * n_p) <= here
        assert at(form, u=factor * n_u) <= here
        assert at(form, c=factor) >= here
        assert at(form, pi=prior + (1 - prior) / (2 * factor)) >= here


@given(delta=st.floats(0.001, 0.5), prior=PRIORS, n_p=SIZES, n_u=SIZES, factor=st.floats(1.01, 10))
def test_deviation_bounds_move_in_the_right_direction(delta, prior, n_p, n_u, factor):
    for options in ({}, {"alpha": 0.3}, {"sharp": True}):
        here = theory.deviation_bound(delta, prior, n_p, n_u, **options)
        assert theory.deviation_bound(delta / factor, prior, n_p, n_u, **options) > here
        assert theory.deviation_bound(delta, prior, factor * n_p, n_u, **options) < here
        assert theory.deviation_bound(delta, prior, n_p, factor * n_u, **options) < here
        larger = prior + (1 - prior) / (2 * factor)
        assert theory.deviation_bound(delta, larger, n_p, n_u, **options) > here
    sharp = theory.deviation_bound(delta, prior, n_p, n_u, sharp=True)
    assert sharp <= theory.deviation_bound(delta, prior, n_p, n_u) <= math.sqrt(2) * sharp * 1.0001


def test_limits_in_the_sample_sizes():
    inf = math.inf
    assert theory.negative_part_probability_bound(0.1, 0.5, inf, inf) == 0
    assert theory.bias_bound(0.1, 0.5, inf, inf) == 0
    assert theory.deviation_bound(0.05, 0.5, inf, inf, alpha=0.1) == 0
    # One sample alone is not enough: with n_p → ∞ the unlabelled data still err.
    only_u = theory.deviation_bound(0.05, 0.5, inf, 100)
    assert only_u == pytest.approx(math.sqrt(math.log(40) / 2) / 10, rel=1e-12)


def test_limits_in_the_prior():
    """π → 0: P does not matter. π → 1: π_n α → 0, Lemma 1 says nothing, the bias bound is C_ℓ."""
    tiny, near_one = 1e-12, 1 - 1e-12
    alone = math.exp(-2 * 0.3**2 * 50)
    assert theory.negative_part_probability_bound(0.3, tiny, 1, 50) == pytest.approx(alone)
    assert theory.bias_bound(0.3, tiny, 1, 50) == pytest.approx(0, abs=1e-11)
    assert theory.negative_part_probability_bound(0.3, near_one, 10, 50) == pytest.approx(1)
    assert theory.bias_bound(0.3, near_one, 10, 50, 2.0) == pytest.approx(2)


def test_arguments_broadcast():
    value = theory.negative_part_probability_bound(
        0.3, np.array([[0.1], [0.5], [0.9]]), np.array([10, 100]), 1000
    )
    assert value.shape == (3, 2)
    assert value[2, 1] == theory.negative_part_probability_bound(0.3, 0.9, 100, 1000)
    assert theory.mse_condition([0.1, 0.9], 0.3, 0.5).tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.deviation_bound(1.0, 0.5, 10, 10), ["delta", "Theorem 2", "1 - delta"]),
        (lambda: theory.deviation_confidence(0.0), ["delta", "Theorem 2"]),
        (lambda: theory.bias_bound(0.0, 0.5, 10, 10), ["alpha", "Theorem 2", "R_n^-(g) >= alpha"]),
        (lambda: theory.bias_bound([0.1, -1], 0.5, 10, 10), ["alpha", "Got -1.0"]),
        (lambda: theory.negative_part_probability_bound(0.0, 0.5, 10, 10), ["Lemma 1"]),
        (lambda: theory.negative_part_probability_bound(2.0, 0.5, 10, 10), ["loss_bound"]),
        (lambda: theory.negative_part_probability_bound(0.1, 0.5, 0, 10), ["n_p", "Section 4"]),
        (lambda: theory.negative_part_probability_bound(0.1, 0.5, 10, 0), ["n_u", "Section 4"]),
        (lambda: theory.negative_part_probability_bound(0.1, 1.0, 10, 10), ["prior", "classes"]),
        (lambda: theory.negative_part_probability_bound(0.1, 0.5, 9, 9, math.inf), ["C_l"]),
        (lambda: theory.negative_part_probability_bound("a", 0.5, 10, 10), ["alpha", "'a'"]),
        (lambda: theory.negative_part_probability_bound(0.1, math.nan, 10, 10), ["prior"]),
        (lambda: theory.mse_reduction_bound(0.6, 0.1, 0.5), ["beta", "Theorem 3"]),
        (lambda: theory.mse_reduction_bound(0.1, 0.1, 0.5, alpha=0.1), ["condition (d)"]),
        (lambda: theory.bias_bound(0.1, 0.5, 10, 10, form="print"), ["form", "printed"]),
    ],
)
def test_errors_name_the_broken_assumption(call, words):
    with pytest.raises(ParameterError) as error:
        call()
    for word in words:
        assert word in str(error.value)
