"""The plan: solutions of the width's equation, and what it says at the edges."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnpu.theory import guaranteed_half_width, plan

PRIORS = st.floats(0.05, 0.95)
SIZES = st.integers(1, 50_000)


def test_half_width_by_hand():
    """δ = δ′ + (δ′/2)⁴ with δ′ = 0.2 is 0.2001; the width is √(ln 10/2)·√(4·¼/100 + 1/100)."""
    value = guaranteed_half_width(0.5, 100, 100, delta=0.2001)
    assert value == pytest.approx(math.sqrt(math.log(10) / 2 * 0.02), rel=1e-9)


@given(prior=PRIORS, n_p=SIZES, n_u=SIZES, share=st.floats(0.1, 0.95), cost=st.floats(0.1, 100))
def test_purchases_reach_the_wanted_width_and_one_less_does_not(prior, n_p, n_u, share, cost):
    now = guaranteed_half_width(prior, n_p, n_u)
    wanted = share * now
    bought = plan(prior, n_p, n_u, half_width=wanted, cost_ratio=cost).purchase
    reached = wanted * (1 + 1e-9)
    if bought.n_p_alone is not None:
        assert guaranteed_half_width(prior, bought.n_p_alone, n_u) <= reached
        assert guaranteed_half_width(prior, bought.n_p_alone - 1, n_u) > wanted * (1 - 1e-9)
    else:
        assert guaranteed_half_width(prior, math.inf, n_u) >= wanted
    if bought.n_u_alone is not None:
        assert guaranteed_half_width(prior, n_p, bought.n_u_alone) <= reached
    else:
        assert guaranteed_half_width(prior, n_p, math.inf) >= wanted
    assert bought.n_p >= n_p
    assert bought.n_u >= n_u
    assert guaranteed_half_width(prior, bought.n_p, bought.n_u) <= reached


@given(prior=PRIORS, share=st.floats(0.05, 0.5), cost=st.floats(0.1, 50), step=st.floats(0.5, 2))
def test_no_other_pair_is_cheaper(prior, share, cost, step):
    """Any other n_p, with the least n_u that goes with it, costs at least as much."""
    result = plan(prior, 2, 2, half_width=share, cost_ratio=cost).purchase
    other_p = max(2, math.ceil(step * result.n_p))
    alone = plan(prior, other_p, 2, half_width=share).purchase.n_u_alone
    if alone is not None:
        rounding = cost + 1
        assert cost * other_p + max(2, alone) >= cost * result.n_p + result.n_u - rounding


def test_spending_follows_the_larger_gain_per_cost():
    """π = ½, so 2π = 1: P and U weigh the same, and the smaller sample is the better buy."""
    assert plan(0.5, 100, 10_000).spend_on == "positives"
    assert plan(0.5, 10_000, 100).spend_on == "unlabelled"
    # A gain of 1/100² per positive at a price of 20,000 rows is less than 1/10,000² per row.
    assert plan(0.5, 100, 10_000, cost_ratio=20_000).spend_on == "unlabelled"


def test_an_uncertain_prior_widens_the_interval_by_half_its_range():
    certain, uncertain = plan(0.4, 100, 1000), plan((0.3, 0.5), 100, 1000, half_width=0.05)
    assert uncertain.half_width - certain.half_width == pytest.approx(0.1)
    assert uncertain.purchase.n_p is None


def test_comparison_with_pn_depends_on_the_prior():
    """n_p = 100, n_u → many: break-even (π_n/π)²·100 is about 544 at 0.3 and 100 at 0.5."""
    wide = plan((0.3, 0.5), 100, 10**9, n_n=300).comparison
    assert wide.pu_wins is None
    assert wide.break_even == pytest.approx((100, 544), rel=0.01)
    assert plan(0.3, 100, 10**9, n_n=300).comparison.pu_wins is True
    assert plan(0.5, 100, 10**9, n_n=300).comparison.pu_wins is False


def test_theory_imports_without_torch():
    code = "import sys, nnpu.theory; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
