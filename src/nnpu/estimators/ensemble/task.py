"""What a member of the ensemble is, and what it is fitted to: rows, labels, prior, answers."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from nnpu.boosting import kl_round
from nnpu.extras import find_lightgbm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.member_scorers import Scorer, View
    from nnpu.estimators.forest import Forest

__all__ = ["MANY_COLUMNS", "LargerTable", "Member", "Task", "ridge"]

#: Dense columns beyond which squares, hinges and kernels are not worth their time; sparse ones
#: beyond which words that stand beside each other count together.
MANY_COLUMNS = 500


@dataclass(frozen=True, eq=False)
class LargerTable:
    """A table of which the rows of a fit are a sample, drawn at random; others hold the rest.

    Parameters
    ----------
    held_out : ndarray of bool, shape (n,)
        The rows of the sample by whose scores the members are weighed. `grow` leaves them out.
    n_p, n : int
        How many rows `grow` learns from, labelled ones and altogether.
    grow : callable
        Takes the prior, the columns as `EnsemblePU` makes them small, LightGBM's options and the
        score before the first tree; returns boosted trees under the KL risk of these rows.
    """

    held_out: NDArray[np.bool_]
    n_p: int
    n: int
    grow: Callable[..., Forest]


@dataclass(frozen=True)
class Task:
    """What a member is fitted to.

    ``s`` is 1 in P and 0 elsewhere, ``categories`` are the columns of codes, ``prior`` is NaN as
    long as it is not known, ``size`` is the number of positives of all folds together: sizes of
    members go by it. ``answers`` is the weight of a row that a person called positive, minus the
    weight of one called negative, and 0 elsewhere; ``eta`` is what all answers together count.
    If the rows are a sample of a larger table, ``table_rows`` is how many that has, and ``grown``
    are the boosted trees that were fitted to it.
    """

    view: View
    s: NDArray[np.int8]
    categories: tuple[int, ...]
    sampling: str
    seed: int
    n_jobs: int
    size: int
    prior: float = np.nan
    answers: NDArray[np.float64] | None = None
    eta: float = 0.0
    table_rows: int = 0
    grown: Forest | None = None

    @property
    def n_p(self) -> int:
        """The number of positives."""
        return int(self.s.sum())

    @property
    def rows(self) -> int:
        """The number of rows, of the larger table if there is one."""
        return max(len(self.s), self.table_rows)

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse, without numbers beside them."""
        return bool(sp.issparse(self.view.x))

    @property
    def n_words(self) -> int | None:
        """The number of sparse columns, beside numbers or alone; None if there are none."""
        words = self.view.x if self.sparse else self.view.words
        return None if words is None else int(words.shape[1])

    def take(self, index: NDArray[np.intp], seed: int) -> Task:
        """Return the task for some of the rows."""
        answers = None if self.answers is None else self.answers[index]
        return replace(
            self, view=self.view.take(index), s=self.s[index], seed=seed, answers=answers
        )

    def balanced(self) -> NDArray[np.float64]:
        """Return weights: 1 in P, and as much in U altogether."""
        n_p = self.n_p
        return np.where(self.s == 1, 1.0, n_p / (len(self.s) - n_p))

    def answered(self) -> tuple[NDArray[np.intp], NDArray[np.int8], NDArray[np.float64]]:
        """Return answered rows, their classes, and weights that sum to 1."""
        answers = np.zeros(0) if self.answers is None or self.eta == 0 else self.answers
        rows = np.flatnonzero(answers)
        weight = np.abs(answers[rows])
        return rows, (answers[rows] > 0).astype(np.int8), weight / max(weight.sum(), 1e-300)

    def weighted(self) -> tuple[Any, NDArray[np.int8], NDArray[np.float64]]:
        """Return rows, labels and weights for telling P from U, (1 − η) R_PU + η R_PN.

        An answered row stays in U and comes a second time with its class. The classes of the
        answers weigh the same, as P and U do.
        """
        rows, y, weight = self.answered()
        if len(np.unique(y)) < 2:
            return slice(None), self.s, self.balanced()
        share = np.where(y == 1, weight[y == 1].sum(), weight[y == 0].sum())
        beside = self.n_p * self.eta * weight / share
        return (
            np.concatenate([np.arange(len(self.s)), rows]),
            np.concatenate([self.s, y]),
            np.concatenate([(1 - self.eta) * self.balanced(), beside]),
        )

    def at_most(self, rows: int, *, together: bool = False) -> Task:
        """Return the task with no more rows than that.

        P and U are drawn together, or separately with at least half of the rows from U. Answered
        rows are kept: there are few of them.
        """
        if len(self.s) <= rows:
            return self
        rng = np.random.default_rng(self.seed)
        kept = self.answered()[0]
        if together:
            chosen = rng.permutation(len(self.s))[:rows]
        else:
            p, u = np.flatnonzero(self.s == 1), np.flatnonzero(self.s == 0)
            p = rng.permutation(p)[: max(rows // 2, rows - len(u))]
            chosen = np.concatenate([p, rng.permutation(u)[: rows - len(p)]])
        return self.take(np.union1d(chosen, kept).astype(np.intp), self.seed)


class Member(ABC):
    """A way to fit scores. ``settings`` are tried on held-out rows; the best is kept."""

    name: str
    needs_prior = False  # it descends the KL risk
    needs_dense = True
    needs_lightgbm = False
    takes_numbers = True  # where there are numbers beside words; else it takes the words
    most_rows = 1 << 60
    share = 1.0  # of the mean, where positives are too few to weigh members by

    def impossible(self, task: Task) -> str:
        """Say why the member cannot be fitted to such data; empty if it can."""
        if self.needs_lightgbm and find_lightgbm() is None:
            return "LightGBM cannot be loaded here"
        if task.sparse and self.needs_dense:
            return "the data are sparse"
        return ""

    def too_costly(self, task: Task) -> str:
        """Say why it would not earn its cost there, if nobody asked for it; empty if it would."""
        return ""

    @abstractmethod
    def fit(self, task: Task) -> list[Scorer]:
        """Return a fitted scorer for each setting."""

    def settings(self, task: Task) -> int:
        """Return how many settings there are."""
        return 1

    def fit_one(self, task: Task, setting: int) -> Scorer:
        """Return the scorer of one setting."""
        return self.fit(task)[setting]

    def scores(self, fitted: list[Scorer], view: View) -> NDArray[np.float64]:
        """Return the scores of rows under each setting, shape (n_settings, n)."""
        return np.array([scorer.scores(view) for scorer in fitted])

    def held_out_loss(
        self, scores: NDArray[np.float64], s: NDArray[np.int8], prior: float, sampling: str
    ) -> float:
        """Return the KL risk, or the balanced logistic loss of telling P from U."""
        if self.needs_prior:
            return kl_round(scores, s, prior=prior, sampling=sampling).values["train_risk"]
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
