"""The convex cases: derivatives, conjugates, normal equations, Newton's method, the duality gap."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import optimize, sparse

from nnpu.convex import CONVEX_LOSSES, Features, Problem, fit_features, solve_path
from nnpu.convex import problem as problem_module
from nnpu.convex import solve as solve_module
from nnpu.convex.problem import smooth_double_hinge
from nnpu.data import vectors as blocks
from nnpu.losses import LOSSES
from nnpu.risk import upu_risk

NAMES = sorted(CONVEX_LOSSES)
PRIOR = 0.4


def draw(n_p=40, n_u=160, d=3, seed=0):
    """Correlated features of different sizes; P around +1, U mixed."""
    rng = np.random.default_rng(seed)
    positive = np.r_[np.ones(n_p, bool), rng.random(n_u) < PRIOR]
    x = rng.normal(np.where(positive, 1, -1)[:, None], 1.5, (n_p + n_u, d))
    x = x @ rng.normal(size=(d, d)) * np.geomspace(0.1, 30, d) + 5
    return x.astype(np.float32), np.r_[np.ones(n_p, int), np.zeros(n_u, int)]


def make(x, s, *, intercept=True, sampling="two-sample", **basis):
    phi = fit_features(x, centre=intercept, rng=np.random.default_rng(0), **basis)
    population = s == 0 if sampling == "two-sample" else s >= 0
    return Problem(x, s == 1, population, phi, PRIOR, intercept=intercept)


def objective(problem, theta, loss, alpha):
    """J from nnpu.risk in float64: shares nothing with the solver but φ."""
    phi = problem.features.transform(problem.X)
    phi = phi.toarray() if sparse.issparse(phi) else phi
    w, b = (theta[:-1], theta[-1]) if problem.intercept else (theta, 0.0)
    g = torch.from_numpy(phi @ w + b)
    risk = upu_risk(g[problem.labelled], g[problem.population], PRIOR, loss)
    return float(risk) + alpha / 2 * float(w @ w)


def generic_minimum(problem, loss, alpha):
    """BFGS on J, then a root of its gradient; gradients by torch through nnpu.risk."""
    phi = torch.from_numpy(problem.features.transform(problem.X))
    phi = torch.cat([phi, torch.ones(len(phi), 1)], dim=1) if problem.intercept else phi
    free = torch.ones(phi.shape[1], dtype=torch.float64)
    free[-1] = 0.0 if problem.intercept else 1.0

    def value(theta):
        theta = torch.tensor(theta, requires_grad=True)
        g = phi @ theta
        risk = upu_risk(g[problem.labelled], g[problem.population], PRIOR, loss)
        total = risk + alpha / 2 * (free * theta**2).sum()
        total.backward()
        return total.item(), theta.grad.numpy()

    start = np.zeros(phi.shape[1])
    near = optimize.minimize(value, start, jac=True, method="BFGS").x
    return optimize.root(lambda theta: value(theta)[1], near, tol=1e-14).x


# The losses.


@pytest.mark.parametrize("name", NAMES)
def test_h_is_the_loss_of_table_1_at_the_negative_score(name):
    g = np.linspace(-4, 4, 101)
    np.testing.assert_allclose(
        CONVEX_LOSSES[name].value(g), LOSSES[name](torch.from_numpy(-g)).numpy(), atol=1e-15
    )


def test_the_convex_losses_are_those_that_table_1_calls_linear_odd():
    assert set(CONVEX_LOSSES) == {name for name, loss in LOSSES.items() if loss.linear_odd}


@pytest.mark.parametrize(
    "loss",
    [CONVEX_LOSSES["squared"], CONVEX_LOSSES["logistic"], smooth_double_hinge(0.3)],
    ids=lambda loss: loss.name,
)
def test_slope_and_curvature_are_the_derivatives(loss):
    g = np.linspace(-3, 3, 97) + 1e-3  # off the ends of the parabolas
    h = 1e-6
    np.testing.assert_allclose(
        loss.slope(g), (loss.value(g + h) - loss.value(g - h)) / (2 * h), atol=1e-8
    )
    np.testing.assert_allclose(
        loss.curvature(g), (loss.slope(g + h) - loss.slope(g - h)) / (2 * h), atol=1e-8
    )


def test_the_logistic_curvature_keeps_its_digits_far_out():
    """σ(g)(1 − σ(g)) → exp(−|g|)."""
    curvature = CONVEX_LOSSES["logistic"].curvature(np.array([-40.0, 40.0]))
    np.testing.assert_allclose(curvature, np.exp(-40.0), rtol=1e-12)


@pytest.mark.parametrize("width", [0.5, 0.1, 1e-6])
def test_the_smooth_double_hinge_is_above_by_at_most_an_eighth_of_its_width(width):
    g = np.r_[np.linspace(-3, 3, 1001), -1, 1]
    excess = smooth_double_hinge(width).value(g) - CONVEX_LOSSES["double_hinge"].value(g)
    assert excess.min() >= -1e-15
    assert excess.max() == pytest.approx(width / 8, rel=1e-6)


# The objective.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_objective_is_eq_2_plus_the_penalty(name, intercept, sampling):
    problem = make(*draw(), intercept=intercept, sampling=sampling)
    theta = np.random.default_rng(1).normal(size=3 + intercept)
    assert problem.evaluate(theta, CONVEX_LOSSES[name], 0.3).objective == pytest.approx(
        objective(problem, theta, name, 0.3), abs=1e-12
    )


@pytest.mark.parametrize("basis", [None, "gaussian", "rff"])
def test_gradient_and_hessian_agree_with_finite_differences(basis):
    problem = make(*draw(), basis=basis, n_components=4)
    loss = CONVEX_LOSSES["logistic"]
    theta = np.random.default_rng(1).normal(size=problem.size + 1)
    at = problem.evaluate(theta, loss, 0.3)
    eye, h = np.eye(len(theta)), 1e-5
    values = [[problem.evaluate(theta + sign * h * e, loss, 0.3) for sign in (1, -1)] for e in eye]
    slopes = [(up.objective - down.objective) / (2 * h) for up, down in values]
    np.testing.assert_allclose(at.gradient, slopes, atol=1e-8)
    rows = [(up.gradient - down.gradient) / (2 * h) for up, down in values]
    curvature = problem.weights * loss.curvature(at.scores + theta[-1])
    hessian = problem.hessian(curvature, 0.3)
    np.testing.assert_allclose(hessian, rows, atol=1e-8)
    products = [problem.hessian_times(curvature, e, 0.3) for e in eye]
    np.testing.assert_allclose(products, hessian, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_is_convex_along_lines(name):
    problem = make(*draw())
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = rng.normal(size=(2, 4)) * 3
        share = rng.random()
        values = [
            problem.evaluate(theta, CONVEX_LOSSES[name], 0.01).objective
            for theta in (share * a + (1 - share) * b, a, b)
        ]
        assert values[0] <= share * values[1] + (1 - share) * values[2] + 1e-12


# The minimum.


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_a_generic_optimiser_of_eq_2_finds_the_same_parameters(name, sampling, intercept, alpha):
    problem = make(*draw(), intercept=intercept, sampling=sampling)
    [solution] = solve_path(problem, name, [alpha], tol=1e-18)
    generic = generic_minimum(problem, name, alpha)
    np.testing.assert_allclose(solution.theta, generic, rtol=1e-8, atol=1e-8)
    assert solution.objective == pytest.approx(
        objective(problem, solution.theta, name, alpha), abs=1e-12
    )


def test_the_squared_loss_on_three_points_by_hand():
    """P = {2}, U = {2, −2}, π = 1/2, g = wx: J = −w + w² + 1/4 + αw²/2.

    For α = 1, J′ = −1 + 3w: w = 1/3, J = 1/12.
    """
    x, s = np.array([[2.0], [2.0], [-2.0]]), np.array([1, 0, 0])
    problem = Problem(x, s == 1, s == 0, Features(None, np.ones(1)), 0.5, intercept=False)
    [solution] = solve_path(problem, "squared", [1.0])
    assert solution.theta == pytest.approx([1 / 3])
    assert solution.objective == pytest.approx(1 / 12)


def test_the_double_hinge_on_three_points_by_hand():
    """P = {2}, U = {2, −2}, π = 1/2, g = wx: J = −w + [h(2w) + h(−2w)]/2 + αw²/2.

    For 0 ≤ w ≤ 1/2 both scores lie in [−1, 1] and the mean of h is 1/2: J′ = −1 + αw < 0. Above,
    h(2w) = 2w and h(−2w) = 0: J = αw²/2, J′ = αw > 0. So w = 1/2 at the kink, J = α/8 for α < 2.
    """
    x, s = np.array([[2.0], [2.0], [-2.0]]), np.array([1, 0, 0])
    problem = Problem(x, s == 1, s == 0, Features(None, np.ones(1)), 0.5, intercept=False)
    [solution] = solve_path(problem, "double_hinge", [0.8], tol=1e-9)
    assert solution.theta == pytest.approx([0.5], abs=1e-4)
    assert solution.objective == pytest.approx(0.1, abs=1e-9)


def dual_by_quadratic_programme(problem, alpha):
    """Maximise the dual of the double hinge with SLSQP: a lower bound on every objective."""
    phi = problem.features.transform(problem.X)
    c, phi_u = problem.weights[problem.population], phi[problem.population]
    target = PRIOR * phi[problem.labelled].mean(axis=0)
    n = len(c)

    # u = v₁ + v₂ with v in [0, 1/2], v₁ the part that gains: −h*(u) = min{u, 1 − u} = v₁ − v₂.
    def negative_dual(v):
        u = v[:n] + v[n:]
        rest = target - phi_u.T @ (c * u)
        slope = -np.r_[c, -c] - np.tile(c * (phi_u @ rest), 2) / alpha
        return -(c @ (v[:n] - v[n:])) + rest @ rest / (2 * alpha), slope

    total = {
        "type": "eq",
        "fun": lambda v: np.tile(c, 2) @ v - PRIOR,
        "jac": lambda v: np.tile(c, 2),
    }
    found = optimize.minimize(
        negative_dual,
        np.full(2 * n, PRIOR / 2),
        jac=True,
        bounds=[(0, 0.5)] * (2 * n),
        constraints=[total] if problem.intercept else [],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("alpha", [0.03, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_double_hinge_meets_its_dual_solved_as_a_quadratic_programme(intercept, alpha):
    problem = make(*draw(n_p=10, n_u=30), intercept=intercept)
    [solution] = solve_path(problem, "double_hinge", [alpha], tol=1e-9)
    primal = objective(problem, solution.theta, "double_hinge", alpha)
    assert solution.objective == pytest.approx(primal, abs=1e-12)
    dual = dual_by_quadratic_programme(problem, alpha)
    assert dual <= primal + 1e-9
    assert primal - dual == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_the_gap_bounds_the_distance_to_the_least_value(name, monkeypatch):
    """Stopped early, the gap is an honest upper bound; at the end it is below the tolerance."""
    monkeypatch.setattr(solve_module, "DIRECT_SQUARED", 0)
    problem = make(*draw())
    [best] = solve_path(problem, name, [0.01], tol=1e-10)
    assert best.certificate.reached
    assert 0 <= best.certificate.gap <= 1e-10
    for tol, steps in ((1e-1, 100), (1e-3, 100), (1e-12, 1), (1e-12, 2)):
        [early] = solve_path(problem, name, [0.01], tol=tol, max_iter=steps)
        distance = early.objective - best.objective
        assert -1e-10 <= distance <= early.certificate.gap + 1e-10
        assert early.certificate.reached == (early.certificate.gap <= tol)


def test_one_step_is_not_called_the_optimum():
    [solution] = solve_path(make(*draw()), "logistic", [1e-4], tol=1e-12, max_iter=1)
    assert not solution.certificate.reached
    assert solution.certificate.gap > 1e-12
    assert solution.certificate.iterations == 1


@pytest.mark.parametrize("name", NAMES)
def test_products_instead_of_matrices_give_the_same_minimum(name, monkeypatch):
    problem = make(*draw())
    [direct] = solve_path(problem, name, [0.05], tol=1e-10)
    monkeypatch.setattr(solve_module, "DIRECT", 0)
    monkeypatch.setattr(solve_module, "DIRECT_SQUARED", 0)
    [products] = solve_path(problem, name, [0.05], tol=1e-10)
    assert products.certificate.reached
    assert products.objective == pytest.approx(direct.objective, abs=2e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_path_gives_what_single_solutions_give(name):
    problem = make(*draw())
    alphas = [1.0, 0.1, 0.01]
    for alpha, solution in zip(alphas, solve_path(problem, name, alphas, tol=1e-9), strict=True):
        [single] = solve_path(problem, name, [alpha], tol=1e-9)
        assert solution.objective == pytest.approx(single.objective, abs=2e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cache", [0, 2**26])
def test_small_blocks_and_no_cache_change_nothing(name, cache, monkeypatch):
    x, s = draw()
    [whole] = solve_path(make(x, s), name, [0.1], tol=1e-9)
    monkeypatch.setattr(blocks, "BLOCK", 1)  # blocks of 64 rows
    monkeypatch.setattr(problem_module, "CACHE", cache)
    [parts] = solve_path(make(x, s), name, [0.1], tol=1e-9)
    assert parts.objective == pytest.approx(whole.objective, abs=2e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows_have_the_minimum_of_dense_rows(name, intercept):
    x, s = draw(d=6)
    x[np.random.default_rng(3).random(x.shape) < 0.6] = 0
    [dense] = solve_path(make(x, s, intercept=intercept), name, [0.1], tol=1e-10)
    rows = sparse.csr_array(x)
    [thin] = solve_path(make(rows, s, intercept=intercept), name, [0.1], tol=1e-10)
    assert thin.objective == pytest.approx(dense.objective, abs=2e-10)


def test_float32_moments_are_used_only_where_alpha_covers_their_rounding(monkeypatch):
    x, s = draw(n_p=200, n_u=2000)
    seen = []
    moments = solve_module._second_moments
    monkeypatch.setattr(
        solve_module,
        "_second_moments",
        lambda p, dtype: seen.append(dtype) or moments(p, dtype),
    )
    problem = make(x, s, basis="gaussian", n_components=20)
    [rough] = solve_path(problem, "squared", [0.05])
    assert seen == [np.float32]
    value = objective(problem, rough.theta, "squared", 0.05)
    generic = generic_minimum(problem, "squared", 0.05)
    assert value == pytest.approx(objective(problem, generic, "squared", 0.05), abs=1e-9)
    solve_path(problem, "squared", [1e-9])
    assert seen == [np.float32, np.float64]


# Features.


def test_features_are_brought_to_mean_0_and_variance_1():
    x, _ = draw()
    phi = fit_features(x, rng=np.random.default_rng(0)).transform(x)
    np.testing.assert_allclose(phi.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(phi.std(axis=0), 1, rtol=1e-12)


def test_a_large_offset_does_not_eat_the_variance():
    x = np.float32(1e5) + np.arange(8, dtype=np.float32)[:, None] / 8
    scale = fit_features(x, rng=np.random.default_rng(0)).scale
    assert scale == pytest.approx(np.std(np.arange(8) / 8), rel=1e-12)


def test_constant_features_are_left_alone():
    x = np.c_[np.full(9, 3.3), np.zeros(9), np.arange(9)].astype(np.float32)
    for rows in (x, sparse.csr_array(x)):
        assert fit_features(rows, rng=np.random.default_rng(0)).scale[:2].tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_gaussian_features_are_the_kernel_around_the_centres(kind, dtype):
    from sklearn.metrics.pairwise import rbf_kernel

    x, _ = draw()
    phi = fit_features(
        kind(x), basis="gaussian", n_components=7, gamma=0.2, rng=np.random.default_rng(0)
    )
    z = x / phi.scale - (0 if phi.mean is None else phi.mean / phi.scale)
    expected = rbf_kernel(z, phi.points, gamma=0.2)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(phi.transform(kind(x), dtype), expected, atol=tolerance)
    assert expected.max(axis=0) == pytest.approx(1, abs=1e-4)  # each centre is a row


def test_random_fourier_features_approximate_the_kernel():
    from sklearn.metrics.pairwise import rbf_kernel

    x, _ = draw()
    phi = fit_features(x, basis="rff", n_components=20_000, gamma=0.1, rng=np.random.default_rng(0))
    z = (x - phi.mean) / phi.scale
    rows = phi.transform(x)
    assert np.abs(rows @ rows.T - rbf_kernel(z, gamma=0.1)).max() < 0.05
