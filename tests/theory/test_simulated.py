"""The simulated half-width: below the guarantee, and what a direct simulation of rows gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from nnpu.parameters import ParameterError
from nnpu.theory import guaranteed_half_width, plan, plan_tables, simulated_half_width


@pytest.mark.parametrize("setting", [(0.1, 20, 500), (0.5, 100, 10_000), (0.9, 1000, 100)])
def test_it_is_narrower_than_the_guarantee(setting):
    assert 0 < simulated_half_width(*setting) < guaranteed_half_width(*setting)


def test_it_is_the_quantile_of_rows_that_are_drawn_one_by_one():
    """Scores are N(±2, 2²) in 41 cells on [−4, 4]; the middle one, |t| < 0.1, counts half."""
    prior, n_p, n_u, draws = 0.4, 50, 200, 20_000
    rng = np.random.default_rng(1)
    middle = [np.diff(norm.cdf([-0.1, 0.1], mean, 2))[0] for mean in (2, -2)]
    above = [norm.sf(0.1, mean, 2) for mean in (2, -2)]
    rates = [up + half / 2 for up, half in zip(above, middle, strict=True)]
    risk = prior * (1 - rates[0]) + (1 - prior) * rates[1]

    def called(n, share):
        positive = rng.random((draws, n)) < share
        t = rng.normal(np.where(positive, 2, -2), 2)
        return np.where(np.abs(t) < 0.1, 0.5, t > 0).mean(axis=1)

    p_minus = called(n_p, 1.0)
    nnpu = prior * (1 - p_minus) + np.maximum(0, called(n_u, prior) - prior * p_minus)
    expected = np.quantile(np.abs(nnpu - risk), 0.95)
    found = simulated_half_width(prior, n_p, n_u, draws=20_000)
    assert found == pytest.approx(expected, rel=0.05)


def test_more_rows_make_it_narrower_as_the_square_root():
    few, many = simulated_half_width(0.5, 100, 1000), simulated_half_width(0.5, 10_000, 100_000)
    assert few / many == pytest.approx(10, rel=0.1)


def test_the_tables_go_around_the_plan():
    made = plan((0.3, 0.4), 100, 1000)
    tables = plan_tables(made, draws=10)
    for name, n in (("by_n_p", 100), ("by_n_u", 1000)):
        (now,) = [row for row in tables[name] if row["now"]]
        assert (now["n"], now["half_width"]) == (n, pytest.approx(made.half_width))
        sizes = [row["n"] for row in tables[name]]
        assert (sizes[0], sizes[-1]) == (n // 10, 100 * n)
        widths = [row["half_width"] for row in tables[name]]
        assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"prior": 1.0}, "prior"),
        ({"n_p": 0}, "n_p"),
        ({"loss": "sigmod"}, "Did you mean 'sigmoid'"),
        ({"delta": 1}, "delta"),
        ({"score_bound": 0}, "score_bound"),
        ({"draws": 0}, "draws"),
    ],
)
def test_a_wrong_parameter_is_named(change, word):
    setting = {"prior": 0.5, "n_p": 10, "n_u": 100} | change
    with pytest.raises(ParameterError, match=word):
        simulated_half_width(**setting)
