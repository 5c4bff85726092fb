"""How the members of `sparse_members` find weights for sparse columns."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from nnpu.boosting import kl_round
from nnpu.calibration.soft_labels import positive_share, soft_labels
from nnpu.estimators.ensemble.sparse_neighbours import nearest, smoothed
from nnpu.estimators.ensemble.task import ridge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.task import Task

__all__ = ["at_scales", "for_lightgbm", "kl_ridge", "on_directions", "self_taught", "soft_ridge"]

Weights = tuple["NDArray[np.float64]", "NDArray[np.float64]"]  # of the columns, and the intercept

_COLUMNS = 10_000  # the fullest, of which directions are made
_SURE = 1e-4  # a smoothed label nearer to 0 or 1 counts as this
_STEPS = 25  # of a fit to soft labels, which change in the next round
_MOST_FILLED = 2000  # columns that trees look at: rare words cost time and split little


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let BLAS use one thread: in products as small as these more wait for each other."""
    with threadpool_limits(1, "blas"):
        yield


@_one_thread()
def at_scales(task: Task, grid: Sequence[tuple[str, float]]) -> list[Weights]:
    """Minimise the logistic loss with columns at one scale or at a scale each, and a strength."""
    x = task.view.sparse.astype(np.float64)
    square = np.asarray(x.multiply(x).mean(axis=0)).ravel()  # (n_features,)
    each = np.sqrt(np.where(square > 0, square, np.inf))
    one = np.full(len(square), np.sqrt(square.sum()) or np.inf)
    found = []
    for kind, strength in grid:
        scale = one if kind == "one" else each
        weights, intercept = ridge(x.multiply(1 / scale).tocsr(), task, strength)
        found.append((weights / scale, intercept))
    return found


@_one_thread()
def on_directions(task: Task, directions: int, strengths: tuple[float, ...]) -> list[Weights]:
    """Minimise the KL risk on the directions in which rows differ most, for each strength."""
    from sklearn.utils.extmath import randomized_svd

    x, scale = _unit_rows(task)
    kept = _fullest(x, _COLUMNS)
    x = x[:, kept]
    size = min(directions, *(side - 1 for side in x.shape))
    axes = randomized_svd(x, size, n_iter=2, random_state=task.seed)[2].T
    columns = np.asarray(x @ axes)
    found = []
    for strength in strengths:
        slopes, intercept = kl_ridge(columns, task, strength)
        weights = np.zeros(task.view.sparse.shape[1])
        weights[kept] = axes @ slopes / scale
        found.append((weights, intercept))
    return found


@_one_thread()
def self_taught(
    task: Task, scores: NDArray[np.float64], strengths: Sequence[float], rounds: int
) -> list[Weights]:
    """Label U by scores, fit to the labels, label it by the new scores, and so on.

    In every other round, the first among them, labels are mixed with those of similar rows. The
    mean of the labels is the share of positives in U; an answer is the label of its row.
    """
    x, scale = _unit_rows(task)
    share = positive_share(task.prior, task.s, task.sampling)
    known = task.s == 1
    known[task.answered()[0]] = True
    links = nearest(task.view.sparse)
    taught = []
    for strength in strengths:
        z, found = scores, np.zeros(x.shape[1] + 1)
        for number in range(rounds):
            y = _labels(z, task, share)
            if number % 2 == 0:
                mixed = np.clip(smoothed(y, known, links), _SURE, 1 - _SURE)
                y = _labels(logit(mixed), task, share)
            found = soft_ridge(x, y, np.abs(2 * y - 1), strength, found, most=_STEPS)
            z = x @ found[:-1] + found[-1]
        taught.append((found[:-1] / scale, found[-1:]))
    return taught


def _labels(scores: NDArray[np.float64], task: Task, share: float) -> NDArray[np.float64]:
    y = task.s.astype(np.float64)
    y[task.s == 0] = soft_labels(scores[task.s == 0], share)
    answered, classes, _ = task.answered()
    y[answered] = classes
    return y


def _unit_rows(task: Task) -> tuple[Any, float]:
    """Return the rows divided by one number, so that their mean square is 1; and the number."""
    x = task.view.sparse.astype(np.float64)
    scale = float(np.sqrt(x.multiply(x).sum() / x.shape[0])) or 1.0
    return (x / scale).tocsr(), scale


def kl_ridge(columns: NDArray[np.float64], task: Task, strength: float) -> Weights:
    """Minimise (1 − η) KL risk + η mean loss of the answers + strength/n_p · ‖w‖²/2."""
    rows, y, weight = task.answered()
    eta = task.eta if len(rows) else 0.0
    penalty = strength / task.n_p

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = columns @ w[:-1] + w[-1]
        start = kl_round(scores, task.s, prior=task.prior, sampling=task.sampling)
        slope = (1 - eta) / len(scores) * start.gradient
        slope[rows] += eta * weight * (expit(scores[rows]) - y)
        answered = weight @ (np.logaddexp(0, scores[rows]) - y * scores[rows])
        risk = (1 - eta) * start.values["train_risk"] + eta * answered
        gradient = np.append(columns.T @ slope + penalty * w[:-1], slope.sum())
        return float(risk + penalty / 2 * w[:-1] @ w[:-1]), gradient

    first = np.append(np.zeros(columns.shape[1]), logit(task.prior))
    found = minimize(value, first, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return found[:-1], found[-1:]


def soft_ridge(
    x: Any,
    y: NDArray[np.floating[Any]],
    weight: NDArray[np.floating[Any]],
    strength: float,
    start: NDArray[np.float64],
    most: int = 300,
) -> NDArray[np.float64]:
    """Minimise (Σ weight · (ln(1 + eᶻ) − y z) + strength · ‖w‖²/2) / Σ weight, z = x w + b.

    Parameters
    ----------
    x : sparse or dense matrix of shape (n, k)
    y : ndarray of shape (n,)
        Labels between 0 and 1.
    weight : ndarray of shape (n,)
    strength : float
    start : ndarray of shape (k + 1,)
        Where to begin; the last is b, as in what is returned.
    most : int
        Iterations of L-BFGS.

    Examples
    --------
    >>> one = np.ones((4, 1))
    >>> w, b = soft_ridge(one, np.array([0, 0, 0, 1.0]), np.ones(4), 1e-9, np.zeros(2))
    >>> round(float(expit(w + b)), 3)
    0.25
    """
    total = float(weight.sum())

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = x @ w[:-1] + w[-1]
        loss = weight @ (np.logaddexp(0, z) - y * z) + strength / 2 * w[:-1] @ w[:-1]
        slope = weight * (expit(z) - y)
        gradient = np.append(x.T @ slope + strength * w[:-1], slope.sum())
        return float(loss / total), gradient / total

    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": most}).x
    return np.asarray(found, dtype=np.float64)


def for_lightgbm(x: Any) -> Any:
    """Return a sparse matrix as LightGBM takes it, with the fullest columns alone."""
    rows = sp.csr_matrix(x, copy=True)
    kept = np.zeros(x.shape[1], dtype=bool)
    kept[_fullest(rows, _MOST_FILLED)] = True
    rows.data[~kept[rows.indices]] = 0  # a column of zeros is never split
    rows.eliminate_zeros()
    return rows


def _fullest(x: Any, most: int) -> NDArray[np.intp]:
    """Return the columns that hold most entries, in their order."""
    filled = np.bincount(x.indices, minlength=x.shape[1])
    chosen = np.argsort(-filled, kind="stable")[: min(most, np.count_nonzero(filled))]
    return np.sort(chosen)
