"""Members for sparse rows, such as words: a weight for each column, or for directions of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from nnpu.boosting import kl_round
from nnpu.estimators.ensemble.member_scorers import Scorer, SparseScorer
from nnpu.estimators.ensemble.task import Member, ridge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.task import Task

__all__ = ["SparseLinear", "Topics", "fullest"]

_COLUMNS = 10_000  # the fullest, of which directions are made


class SparseLinear(Member):
    """Ridge logistic regression on sparse columns, at one scale for all or a scale for each.

    The weights of TF-IDF say which words matter, and one scale keeps them: rows have the mean
    square 1. Counts and indicators of very different sizes need a scale for each column.
    """

    name = "linear"
    needs_dense = False
    most_rows = 200_000
    grid = (("one", 1.0), ("one", 0.3), ("one", 0.1), ("each", 1.0))

    def settings(self, task: Task) -> int:
        """Return the number of scales with a strength."""
        return len(self.grid)

    def fit(self, task: Task) -> list[Scorer]:
        """Fit each scale with its strength."""
        task = task.at_most(self.most_rows)
        x = task.view.x.astype(np.float64)
        square = np.asarray(x.multiply(x).mean(axis=0)).ravel()  # (n_features,)
        each = np.sqrt(np.where(square > 0, square, np.inf))
        one = np.full(len(square), np.sqrt(square.sum()) or np.inf)
        fitted: list[Scorer] = []
        for kind, strength in self.grid:
            scale = one if kind == "one" else each
            weights, intercept = ridge(x.multiply(1 / scale).tocsr(), task, strength)
            fitted.append(SparseScorer(weights / scale, intercept))
        return fitted


class Topics(Member):
    """Ridge regression with the KL risk on the directions in which sparse rows differ most.

    Words that stand beside each other in U count together, whichever of them P has. Directions and
    slopes are a weight for each column again in the end.
    """

    name = "topics"
    needs_prior = True
    needs_dense = False
    most_rows = 20_000
    directions = 150
    strengths = (0.06, 0.02, 0.006)

    def settings(self, task: Task) -> int:
        """Return the number of strengths."""
        return len(self.strengths)

    def fit(self, task: Task) -> list[Scorer]:
        """Find the directions, then the slopes for each strength."""
        from sklearn.utils.extmath import randomized_svd

        task = task.at_most(self.most_rows, together=task.sampling == "one-sample")
        x = task.view.x.astype(np.float64)
        scale = float(np.sqrt(x.multiply(x).sum() / x.shape[0])) or 1.0  # rows of mean square 1
        kept = fullest(x, _COLUMNS)
        x = x[:, kept] / scale
        size = min(self.directions, *(side - 1 for side in x.shape))
        axes = randomized_svd(x, size, n_iter=2, random_state=task.seed)[2].T
        columns = np.asarray(x @ axes)
        fitted: list[Scorer] = []
        for strength in self.strengths:
            slopes, intercept = _kl_ridge(columns, task, strength)
            weights = np.zeros(task.view.x.shape[1])
            weights[kept] = axes @ slopes / scale
            fitted.append(SparseScorer(weights, intercept))
        return fitted

    def held_out_loss(
        self, scores: NDArray[np.float64], s: NDArray[np.int8], prior: float, sampling: str
    ) -> float:
        """Return the KL risk."""
        return kl_round(scores, s, prior=prior, sampling=sampling).values["train_risk"]


def _kl_ridge(
    columns: NDArray[np.float64], task: Task, strength: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise (1 − η) KL risk + η mean loss of the answers + strength/n_p · ‖w‖²/2."""
    from scipy.optimize import minimize

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


def fullest(x: Any, most: int) -> NDArray[np.intp]:
    """Return the columns that hold most entries, in their order."""
    filled = np.bincount(x.indices, minlength=x.shape[1])
    chosen = np.argsort(-filled, kind="stable")[: min(most, np.count_nonzero(filled))]
    return np.sort(chosen)
