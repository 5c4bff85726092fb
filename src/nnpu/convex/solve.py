"""Solvers: normal equations for the squared loss, Newton's method for the others, and the proof.

The Fenchel dual of J is, for u in the domain of h* with Σ_i c_i u_i = π (c_i the weights of mean_U;
the equation is only there with an intercept),

    D(u) = −Σ c_i h*(u_i) − ‖π mean_P φ − Σ c_i u_i φ_i‖² / 2α ≤ min J.

At u_i = h′(g_i), and b such that the equation holds,

    J − D = ‖∇_w J‖² / 2α + Σ c_i [h(g_i) + h*(u_i) − u_i g_i].

The sum is 0 for a smooth h. The double hinge takes u, and the gradient, from its smooth relative,
and has h*(u) = −min{u, 1 − u}. So one number bounds the distance to the least value from above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from nnpu.convex.problem import CONVEX_LOSSES, column_sums, gram, smooth_double_hinge
from nnpu.data.vectors import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nnpu.convex.problem import ConvexLoss, Pass, Problem

    Floats = NDArray[np.float64]

__all__ = ["Certificate", "Solution", "solve_path"]

DIRECT = 1_000  # up to so many features the Hessian is a matrix; beyond, only its products are
DIRECT_SQUARED = 5_000  # it is computed once for the squared loss
SHRINK = 0.2  # of the parabolas of the double hinge, from stage to stage
FLOAT32_ALPHA = 1e-4  # α, as a share of the mean curvature, from which float32 will do


@dataclass(frozen=True)
class Certificate:
    """What shows that the optimum was reached.

    Parameters
    ----------
    gap : float
        The duality gap: the objective is at most so much above the least value.
    gradient_norm : float
        ‖∇J‖ (of the smooth relative for the double hinge).
    iterations : int
        Newton steps; 1 for the normal equations.
    reached : bool
        Whether the gap is within the tolerance.
    """

    gap: float
    gradient_norm: float
    iterations: int
    reached: bool


@dataclass(frozen=True)
class Solution:
    """θ = (w, b), J(θ) and the certificate."""

    theta: Floats
    objective: float
    certificate: Certificate


def solve_path(
    problem: Problem, loss: str, alphas: Iterable[float], *, tol: float = 1e-6, max_iter: int = 200
) -> list[Solution]:
    """Minimise J for each α, from one to the next: what can be shared is computed once.

    Parameters
    ----------
    problem : Problem
        The sample and its features.
    loss : {"squared", "logistic", "double_hinge"}
        ℓ.
    alphas : iterable of float
        Positive: without regularisation the unbiased risk need not have a minimum.
    tol : float
        The duality gap to reach.
    max_iter : int
        The most Newton steps for one α.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.convex import Features, Problem
    >>> X, s = np.array([[2.0], [2.0], [-2.0]]), np.array([1, 0, 0])
    >>> problem = Problem(X, s == 1, s == 0, Features(None, np.ones(1)), 0.5, intercept=False)
    >>> [solution] = solve_path(problem, "squared", [1.0])  # J = −w + (w² + 1/4) + w²/2
    >>> float(solution.theta[0]), float(solution.objective)
    (0.333..., 0.0833...)
    """
    if loss == "squared" and problem.size <= DIRECT_SQUARED:
        return _normal_equations(problem, list(alphas), tol)
    solutions: list[Solution] = []
    for alpha in alphas:
        start = solutions[-1].theta if solutions else np.zeros(problem.size + problem.intercept)
        if loss == "double_hinge":
            solutions.append(_double_hinge(problem, alpha, start, tol, max_iter))
        else:
            solutions.append(_smooth(problem, CONVEX_LOSSES[loss], alpha, start, tol, max_iter))
    return solutions


def _smooth(
    problem: Problem, loss: ConvexLoss, alpha: float, theta: Floats, tol: float, max_iter: int
) -> Solution:
    """Minimise J for a smooth h; the exact intercept may open the gap, which more steps close."""
    steps = 0
    for aim in (tol / 2, tol / 20, tol / 200):
        theta, more = newton(problem, loss, alpha, theta, aim, max_iter - steps)
        steps += more
        solution = _certify(problem, loss, alpha, theta, steps, tol)
        if solution.certificate.reached or steps >= max_iter:
            break
        theta = solution.theta
    return solution


def newton(
    problem: Problem, loss: ConvexLoss, alpha: float, theta: Floats, tol: float, max_iter: int
) -> tuple[Floats, int]:
    """Minimise J for a smooth h: Newton's method with backtracking.

    Returns θ and the number of steps. It stops where ‖∇J‖² / 2α ≤ `tol`, after `max_iter` steps,
    or where float64 sees no further descent.
    """
    now = problem.evaluate(theta, loss, alpha)
    for step in range(max_iter):
        if _is_near(now.gradient, problem, alpha, tol):
            return theta, step
        direction = -_newton_direction(problem, loss, alpha, theta, now)
        found = _backtrack(problem, loss, alpha, theta, now, direction)
        if found is None:
            return theta, step
        theta, now = found
    return theta, max_iter


def _is_near(gradient: Floats, problem: Problem, alpha: float, tol: float) -> bool:
    # The intercept's equation is solved exactly afterwards; here it must only be nearly so.
    w_part, b_part = problem.split(gradient)
    w_gap = float(w_part @ w_part) / (2 * alpha)
    return w_gap <= tol and abs(b_part) <= min(tol**0.5, 1e-4)


def _newton_direction(
    problem: Problem, loss: ConvexLoss, alpha: float, theta: Floats, now: Pass
) -> Floats:
    curvature = problem.weights * loss.curvature(now.scores + problem.split(theta)[1])
    if problem.intercept and not curvature.any():
        curvature = problem.weights * 1e-3  # all rows on straight pieces: any damping will do
    if problem.size > DIRECT:
        return _conjugate_gradients(problem, curvature, alpha, now.gradient)
    matrix = problem.hessian(curvature, alpha)
    if problem.intercept:
        matrix[-1, -1] += 1e-12
    return np.asarray(cho_solve(cho_factor(matrix, overwrite_a=True), now.gradient))


def _conjugate_gradients(
    problem: Problem, curvature: Floats, alpha: float, gradient: Floats
) -> Floats:
    """Solve Hessian · x = gradient, more exactly the smaller the gradient is."""
    norm = float(np.linalg.norm(gradient))
    limit = min(0.1, np.sqrt(norm)) * norm
    x, residual = np.zeros_like(gradient), gradient.copy()
    direction, square = residual.copy(), float(residual @ residual)
    for _ in range(min(500, 2 * len(gradient))):
        product = problem.hessian_times(curvature, direction, alpha)
        step = square / float(direction @ product)
        x += step * direction
        residual -= step * product
        before, square = square, float(residual @ residual)
        if square <= limit**2:
            break
        direction = residual + square / before * direction
    return x


def _backtrack(
    problem: Problem,
    loss: ConvexLoss,
    alpha: float,
    theta: Floats,
    now: Pass,
    direction: Floats,
) -> tuple[Floats, Pass] | None:
    """Halve the step until J falls enough (Armijo's rule); None if rounding hides any fall."""
    descent = float(now.gradient @ direction)
    rounding = 1e-15 * (1 + abs(now.objective))
    step = 1.0
    while step * -descent > rounding / 10:
        moved = theta + step * direction
        there = problem.evaluate(moved, loss, alpha)
        if there.objective <= now.objective + 1e-4 * step * descent + rounding:
            return moved, there
        step /= 2
    return None


def _double_hinge(
    problem: Problem, alpha: float, theta: Floats, tol: float, max_iter: int
) -> Solution:
    """Minimise the smooth relative with ever narrower parabolas, until the true gap is small."""
    width, steps = 0.5, 0
    while True:
        smooth = smooth_double_hinge(width)
        theta, more = newton(problem, smooth, alpha, theta, tol / 4, max_iter - steps)
        steps += more
        solution = _certify(problem, smooth, alpha, theta, steps, tol)
        theta = solution.theta
        if solution.certificate.reached or steps >= max_iter or width < tol * 1e-3:
            return solution
        width *= SHRINK


def _certify(
    problem: Problem, smooth: ConvexLoss, alpha: float, theta: Floats, steps: int, tol: float
) -> Solution:
    """Solve for b exactly, which makes u feasible, and compute J and its gap."""
    if problem.intercept:
        scores = problem.evaluate(theta, smooth, alpha).scores
        theta = np.append(theta[:-1], _best_intercept(problem, smooth, scores, theta[-1]))
    at = problem.evaluate(theta, smooth, alpha)
    w_gradient, _ = problem.split(at.gradient)
    gap, objective = float(w_gradient @ w_gradient) / (2 * alpha), at.objective
    if smooth.width:
        g = at.scores + problem.split(theta)[1]
        u, exact = smooth.slope(g), CONVEX_LOSSES["double_hinge"].value(g)
        gap += float(problem.weights @ (exact - np.minimum(u, 1 - u) - u * g))
        objective += float(problem.weights @ (exact - smooth.value(g)))
    certificate = Certificate(gap, float(np.linalg.norm(at.gradient)), steps, gap <= tol)
    return Solution(theta, objective, certificate)


def _best_intercept(problem: Problem, loss: ConvexLoss, scores: Floats, start: float) -> float:
    """Return b with Σ c_i h′(g_i + b) = π; h′ grows from 0 or less to 1 or more."""
    used = problem.population
    scores, weight = scores[used], 1 / int(used.sum())

    def excess(b: float) -> float:
        return float(loss.slope(scores + b).sum() * weight - problem.prior)

    reach = 1e-3
    while excess(start - reach) > 0 or excess(start + reach) < 0:
        reach *= 4
    found: float = brentq(excess, start - reach, start + reach, xtol=1e-15, rtol=1e-15)
    return found


def _normal_equations(problem: Problem, alphas: list[float], tol: float) -> list[Solution]:
    """Minimise J for the squared loss: it is quadratic.

    J = −π m_p·θ + (θᵀMθ + 2 m_u·θ + 1)/4 + α/2 ‖w‖², hence (M/2 + α) θ = π m_p − m_u/2, with
    M = mean_U (φ, 1)(φ, 1)ᵀ, m_u = mean_U (φ, 1), m_p = mean_P (φ, 1).
    """
    dtype = _precision(problem, min(alphas))
    matrix, mean = _second_moments(problem, dtype)
    right = problem.linear_term(dtype) - mean / 2
    solutions = []
    for alpha in alphas:
        system = matrix / 2 + np.diag(problem.penalty(alpha))
        factor = cho_factor(system)
        theta = cho_solve(factor, right)
        theta += cho_solve(factor, right - system @ theta)  # one refinement
        gradient = system @ theta - right
        objective = float(theta @ (system @ theta) / 2 - right @ theta) + 0.25
        gap = float(gradient @ gradient) / (2 * alpha)
        certificate = Certificate(gap, float(np.linalg.norm(gradient)), 1, gap <= tol)
        solutions.append(Solution(theta, objective, certificate))
    return solutions


def _precision(problem: Problem, alpha: float) -> type[np.floating[Any]]:
    """Float32 if α covers its rounding, by a look at some rows of a basis; else float64."""
    if problem.features.basis is None:
        return np.float64
    some = problem.features.transform(problem.X[:1_000])
    return np.float32 if alpha >= FLOAT32_ALPHA * np.mean(some**2) else np.float64


def _second_moments(problem: Problem, dtype: type[np.floating[Any]]) -> tuple[Floats, Floats]:
    """Return M and m_u from features and products of that type; sums over blocks are float64."""
    size = problem.size + problem.intercept
    matrix, total = np.zeros((size, size)), np.zeros(size)
    for rows, block in row_blocks(problem.X, problem.size, dtype):
        used = problem.population[rows]
        x_u = block if used.all() else block[used]
        phi = problem.features.transform(x_u, dtype)
        matrix[: problem.size, : problem.size] += gram(phi)
        total[: problem.size] += column_sums(phi)
    n = problem.population.sum()
    if problem.intercept:
        total[-1] = n
        matrix[-1], matrix[:, -1] = total, total
    return matrix / n, total / n
