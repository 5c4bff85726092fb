"""What a member is, and the ridge regression that several of them share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.member_scorers import Scorer, View
    from nnpu.estimators.ensemble.task import Task

__all__ = ["Member", "ridge"]


class Member(ABC):
    """A way to fit scores. ``settings`` are tried on held-out rows; the best is kept."""

    name: str
    needs_prior = False
    needs_dense = True
    most_rows = 1 << 60

    @abstractmethod
    def fit(self, task: Task) -> list[Scorer]:
        """Return a fitted scorer for each setting."""

    def settings(self, task: Task) -> int:
        """Return how many settings there are."""
        return 1

    def scores(self, fitted: list[Scorer], view: View) -> NDArray[np.float64]:
        """Return the scores of rows under each setting, shape (n_settings, n)."""
        return np.array([scorer.scores(view) for scorer in fitted])

    def held_out_loss(
        self, scores: NDArray[np.float64], s: NDArray[np.int8], prior: float, sampling: str
    ) -> float:
        """Return the balanced logistic loss of telling P from U."""
        of_p = s == 1
        return float(np.logaddexp(0, -scores[of_p]).mean() + np.logaddexp(0, scores[~of_p]).mean())


def ridge(columns: Any, task: Task, strength: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Minimise the mean balanced logistic loss + strength/n_p · ‖w‖²/2."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    rows, s, weights = task.weighted()
    small = isinstance(columns, np.ndarray) and columns.shape[1] <= 400
    model = LogisticRegression(
        C=task.n_p / strength,
        solver="newton-cholesky" if small else "lbfgs",
        max_iter=50 if small else 200,
        tol=1e-4,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(columns[rows], s, sample_weight=weights / weights.sum())
    return model.coef_[0].astype(np.float64), model.intercept_.astype(np.float64)
