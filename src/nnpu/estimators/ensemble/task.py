"""What a member of the ensemble is fitted to: rows, labels, the prior, and answers of a person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.member_scorers import View

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """What a member is fitted to.

    ``s`` is 1 in P and 0 elsewhere, ``categories`` are the columns of codes, ``prior`` is NaN as
    long as it is not known, ``size`` is the number of positives of all folds together: sizes of
    members go by it. ``answers`` is the weight of a row that a person called positive, minus the
    weight of one called negative, and 0 elsewhere; ``eta`` is what all answers together count.
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

    @property
    def n_p(self) -> int:
        """The number of positives."""
        return int(self.s.sum())

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
