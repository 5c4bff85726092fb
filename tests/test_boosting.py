"""The objective under boosted trees: Algorithm 1's gradient, a curvature that bounds, descent."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nnpu import PULoss
from nnpu.boosting import BOOSTED_LOSSES, PUObjective, kl_round
from nnpu.losses import Loss, get_loss, logistic
from nnpu.objective import Objective
from nnpu.parameters import ParameterError
from nnpu.risk import (
    RISKS,
    ImbalancedRisk,
    NonNegativePNURisk,
    NonNegativeRisk,
    PNURisk,
    Risk,
    get_risk,
)


def draw(seed=0, n_p=15, n_u=40, n_n=0, scale=2.0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0, -1], [n_p, n_u, n_n])
    return rng.normal(0, scale, len(s)), s


def pu_loss_gradient(scores, s, **setting):
    g = torch.tensor(scores, requires_grad=True)
    PULoss(**setting)(g, torch.as_tensor(s)).backward()
    return g.grad.numpy()


@pytest.mark.parametrize("loss", BOOSTED_LOSSES)
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
@pytest.mark.parametrize("shift", [-6.0, 0.0, 6.0])  # −6: r < 0, the other branch
def test_the_gradient_is_that_of_pu_loss_in_both_branches(loss, sampling, shift):
    scores, s = draw()
    scores = scores + np.where(s == 1, -shift, shift)
    setting = {"prior": 0.6, "loss": loss, "sampling": sampling, "gamma": 0.3}
    start = PUObjective(**setting).round(scores, s)
    assert start.values["corrected"] == (shift < 0)
    expected = len(s) * pu_loss_gradient(scores, s, **setting)
    np.testing.assert_allclose(start.gradient, expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("risk", RISKS)
def test_the_gradient_is_that_of_pu_loss_for_every_risk(risk):
    scores, s = draw(n_n=10)
    s = np.where(s == -1, 0, s) if -1 not in RISKS[risk].reads else s
    start = PUObjective(0.4, risk=risk).round(scores, s)
    expected = len(s) * pu_loss_gradient(scores, s, prior=0.4, risk=risk, loss="logistic")
    np.testing.assert_allclose(start.gradient, expected, rtol=1e-10, atol=1e-15)


class OwnRisk(Risk):
    """Another's terms under a name of its own, which only torch can differentiate."""

    name = "own"
    reads = frozenset({1, 0, -1})

    def __init__(self, other):
        self.other = other

    def labels(self, s):
        return self.other.labels(s)

    def terms(self, partial, prior, beta=0.0):
        return self.other.terms(partial, prior, beta)


EVERY_RISK = [
    *RISKS.values(),
    ImbalancedRisk(0.2),
    PNURisk(-0.7),
    PNURisk(1.0),
    NonNegativePNURisk(0.3),
]


@pytest.mark.parametrize("risk", [risk for risk in EVERY_RISK if risk.name != "kl"], ids=repr)
@pytest.mark.parametrize("loss", BOOSTED_LOSSES)
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
@pytest.mark.parametrize("n_n", [0, 12])
@pytest.mark.parametrize("n_p", [0, 15])
def test_the_closed_form_is_the_derivative_by_torch(risk, loss, sampling, n_n, n_p):
    """Gradient, curvature and every value, in both branches, with and without a tolerance."""
    branches = set()
    for shift in (-6.0, -1.0, 0.0, 3.0):
        for beta in (0.0, 0.1, 2.0):
            scores, s = draw(n_p=n_p, n_n=n_n)
            scores = scores + np.where(s == 1, -shift, shift)
            setting = {"loss": loss, "sampling": sampling, "beta": beta, "gamma": 0.3}
            ours = PUObjective(0.6, risk=risk, **setting).round(scores, s)
            torchs = PUObjective(0.6, risk=OwnRisk(risk), **setting).round(scores, s)
            n = len(s)
            np.testing.assert_allclose(ours.gradient / n, torchs.gradient / n, rtol=0, atol=1e-12)
            np.testing.assert_allclose(ours.hessian / n, torchs.hessian / n, rtol=0, atol=1e-12)
            assert ours.values == pytest.approx(torchs.values, rel=0, abs=1e-12)
            branches.add(ours.values["corrected"])
    if n_p and isinstance(risk, NonNegativeRisk | ImbalancedRisk | NonNegativePNURisk):
        assert branches == {0.0, 1.0}


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_closed_form_of_the_kl_risk_is_the_derivative_by_torch(sampling):
    scores, s = draw()
    ours = PUObjective(0.4, risk="kl", sampling=sampling).round(scores, s)
    expected = pu_loss_gradient(scores, s, prior=0.4, risk="kl", sampling=sampling)
    np.testing.assert_allclose(ours.gradient / len(s), expected, rtol=0, atol=1e-12)


def test_no_slope_counts_where_the_absolute_risk_is_zero():
    """One row of P and one of U with the same score, π = 1/2: r = h(g) − h(g)/2 > 0; none of U: 0.

    Without rows of U and with π R̂_p⁻ = 0 in float64 r is exactly 0, and |r| has no slope there.
    """
    ours = PUObjective(0.5, risk="abs").round([-800.0], [1])
    torchs = PUObjective(0.5, risk=OwnRisk(get_risk("abs"))).round([-800.0], [1])
    assert ours.values["train_negative"] == 0
    np.testing.assert_array_equal(ours.gradient, torchs.gradient)


def test_a_loss_object_of_ones_own_is_differentiated_by_torch():
    scores, s = draw()
    doubled = Loss("logistic", lambda z: 2 * logistic(z))
    once, twice = (PUObjective(0.4, loss=loss).round(scores, s) for loss in ("logistic", doubled))
    np.testing.assert_allclose(twice.gradient, 2 * once.gradient, rtol=1e-12)


@pytest.mark.parametrize("loss", BOOSTED_LOSSES)
@pytest.mark.parametrize("branch", ["descent", "correction"])
def test_the_gradient_agrees_with_finite_differences_of_the_formula(loss, branch):
    """Eq. (2) and −r, written out in NumPy, by central differences."""
    scores, s = draw()
    scores += np.where(s == 1, 6.0, -6.0) if branch == "correction" else 0.0
    prior, step = 0.6, 1e-5
    value = {
        "logistic": lambda z: np.logaddexp(0, -z),
        "sigmoid": lambda z: 1 / (1 + np.exp(z)),
    }[loss]

    def objective(g):
        p, u = g[s == 1], g[s == 0]
        r = value(-u).mean() - prior * value(-p).mean()
        return -r if branch == "correction" else prior * value(p).mean() + r

    start = PUObjective(prior, loss=loss).round(scores, s)
    assert start.values["corrected"] == (branch == "correction")
    for i in range(len(scores)):
        there = np.zeros(len(scores))
        there[i] = step
        slope = (objective(scores + there) - objective(scores - there)) / (2 * step)
        assert start.gradient[i] / len(s) == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_the_branch_turns_where_r_falls_below_minus_beta():
    """Two rows, zero scores but for P's: r = σ(g_u) − π σ(g_p), here 0.5 − 0.9 · σ(g_p)."""
    edge = 0.9 * torch.sigmoid(torch.tensor(2.0)).item() - 0.5  # −r at g_p = 2
    for beta, corrected in ((edge - 1e-6, 1.0), (edge + 1e-6, 0.0)):
        start = PUObjective(0.9, loss="sigmoid", beta=beta).round([2.0, 0.0], [1, 0])
        assert start.values["train_negative"] == pytest.approx(-edge)
        assert start.values["corrected"] == corrected


def test_gamma_discounts_the_step_and_not_the_curvature():
    scores, s = draw()
    scores += np.where(s == 1, 6.0, -6.0)
    whole, half = (PUObjective(0.6, gamma=gamma).round(scores, s) for gamma in (1.0, 0.5))
    assert whole.values["corrected"] == 1
    np.testing.assert_allclose(half.gradient, whole.gradient / 2)
    np.testing.assert_array_equal(half.hessian, whole.hessian)


@pytest.mark.parametrize("loss", BOOSTED_LOSSES)
def test_the_losses_have_a_second_derivative_below_the_first(loss):
    z = torch.linspace(-30, 30, 2001, dtype=torch.float64, requires_grad=True)
    [first] = torch.autograd.grad(get_loss(loss)(z).sum(), z, create_graph=True)
    [second] = torch.autograd.grad(first.sum(), z)
    assert torch.all(second.abs() <= first.abs() + 1e-15)
    assert torch.all(first < 0)


@pytest.mark.parametrize("loss", BOOSTED_LOSSES)
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_curvature_bounds_the_second_derivative_and_the_step(loss, sampling):
    for shift in (-4.0, 0.0, 4.0):
        scores, s = draw(seed=3)
        scores += np.where(s == 1, shift, -shift)
        objective = PUObjective(0.6, loss=loss, sampling=sampling)
        start = objective.round(scores, s)
        g = torch.tensor(scores, requires_grad=True)
        terms = Objective(0.6, loss=loss, sampling=sampling).terms(g, torch.as_tensor(s))
        [slope] = torch.autograd.grad(terms.objective, g, create_graph=True)
        [second] = torch.autograd.grad(slope.sum(), g)  # diagonal: rows do not mix in a branch
        assert np.all(start.hessian >= len(s) * np.abs(second.numpy()) * (1 - 1e-9))
        assert np.all(start.hessian > 0)
        assert np.all(np.abs(start.gradient) <= start.hessian * (1 + 1e-9))


@pytest.mark.parametrize("loss", BOOSTED_LOSSES)
@pytest.mark.parametrize("rate", [0.1, 0.85])
def test_moving_every_leaf_by_its_value_lowers_the_objective(loss, rate):
    """The bound of the docstring, −η G²/H (1 − η e^η/2), on leaves drawn at random."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        scores, s = draw(seed, scale=3.0)
        objective = PUObjective(0.5, loss=loss)
        start = objective.round(scores, s)
        leaf = rng.integers(0, 5, len(s))
        total, curvature = (
            np.bincount(leaf, values, 5) for values in (start.gradient, start.hessian)
        )
        assert np.all(np.abs(total) <= curvature)
        moved = scores - rate * (total / curvature)[leaf]

        def value(g, corrected=start.values["corrected"], s=s, objective=objective):
            terms = Objective(0.5, loss=loss).terms(torch.as_tensor(g), torch.as_tensor(s))
            return float(-terms.negative if corrected else terms.positive + terms.negative)

        promised = rate * (total**2 / curvature).sum() / len(s) * (1 - rate * math.exp(rate) / 2)
        assert promised >= 0
        assert value(moved) <= value(scores) - promised + 1e-12


def test_far_scores_give_finite_numbers():
    start = PUObjective(0.5, loss="sigmoid").round([1e4, -1e4, 1e4, -1e4], [1, 1, 0, 0])
    assert np.all(np.isfinite(start.gradient))
    assert np.all(start.hessian > 0)


@pytest.mark.parametrize("loss", ["zero_one", "squared", "hinge", lambda z: z])
def test_a_loss_without_the_bound_is_refused(loss):
    with pytest.raises(ParameterError, match="'loss' parameter of PUObjective"):
        PUObjective(0.5, loss=loss)


def test_lightgbm_takes_the_objective_and_the_metric():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2000) < 0.3, 1, -1)
    x, s = rng.normal(y[:, None], 1.0, (2000, 3)), ((y == 1) & (rng.random(2000) < 0.3)) * 1
    objective = PUObjective(0.3, sampling="one-sample")
    train, valid = lightgbm.Dataset(x[:1500], s[:1500]), lightgbm.Dataset(x[1500:], s[1500:])
    log = {}
    booster = lightgbm.train(
        {"objective": objective, "verbosity": -1, "num_threads": 1},
        train,
        30,
        valid_sets=[valid],
        feval=objective.metric,
        callbacks=[lightgbm.record_evaluation(log)],
    )
    risks = log["valid_0"]["nnpu"]
    assert risks[-1] < risks[0]
    assert objective.metric(booster.predict(x[1500:]), valid)[1] == pytest.approx(risks[-1])
    assert np.mean((booster.predict(x[1500:]) > 0) == (y[1500:] == 1)) > 0.9


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
@pytest.mark.parametrize("shift", [-6.0, 0.0, 6.0])
def test_the_closed_form_of_kl_is_the_gradient_of_pu_loss(sampling, shift):
    scores, s = draw(seed=1)
    scores = scores + np.where(s == 1, -shift, shift)
    setting = {"prior": 0.6, "risk": "kl", "sampling": sampling}
    start = kl_round(scores, s, prior=0.6, sampling=sampling)
    expected = len(s) * pu_loss_gradient(scores, s, **setting)
    np.testing.assert_allclose(start.gradient, expected, rtol=1e-9, atol=1e-14)
    value = PULoss(**setting)(torch.tensor(scores), torch.as_tensor(s)).item()
    assert start.values["train_risk"] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_curvature_of_kl_bounds_the_second_derivative(sampling):
    """Per row h = (π [P]/n_p + [X]/n) φ(1 − φ), and φ(1 − φ)|1 − 2φ| ≤ φ(1 − φ)."""
    scores, s = draw(seed=2, scale=3.0)
    g = torch.tensor(scores, requires_grad=True)
    value = PULoss(0.3, risk="kl", sampling=sampling)(g, torch.as_tensor(s))
    [slope] = torch.autograd.grad(value, g, create_graph=True)
    [second] = torch.autograd.grad(slope.sum(), g)
    start = kl_round(scores, s, prior=0.3, sampling=sampling)
    assert np.all(start.hessian >= len(s) * second.numpy() * (1 - 1e-9))
    assert np.all(start.hessian > 0)


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_population_minimiser_of_the_kl_risk_is_the_posterior(sampling):
    """Four cells, P(y = 1 | cell) known; a leaf per cell, boosted to the minimum of the risk.

    In two samples P is drawn from p(x | y = 1) and U from p; in one sample a share of the
    positives gets a label, and rows without are U. The minimiser is the posterior in both.
    """
    rng = np.random.default_rng(0)
    posterior, n = np.array([0.05, 0.3, 0.6, 0.9]), 400_000
    cell = rng.integers(0, 4, n)
    y = rng.random(n) < posterior[cell]
    if sampling == "one-sample":
        s = (y & (rng.random(n) < 0.4)) * 1
    else:
        other = rng.integers(0, 4, n)
        other = other[rng.random(n) < posterior[other]]
        cell, s = np.r_[other, cell], np.repeat([1, 0], [len(other), n])
    value = np.zeros(4)
    for _ in range(400):
        start = kl_round(value[cell], s, prior=posterior.mean(), sampling=sampling)
        total, curvature = (np.bincount(cell, part, 4) for part in (start.gradient, start.hessian))
        value -= 0.5 * total / curvature
    np.testing.assert_allclose(1 / (1 + np.exp(-value)), posterior, atol=0.01)
