"""Members for sparse rows, such as words: a weight for each column, or for directions of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.estimators.ensemble.member_scorers import Scorer, SparseScorer
from nnpu.estimators.ensemble.task import Member

if TYPE_CHECKING:
    from nnpu.estimators.ensemble.task import Task

__all__ = ["SparseLinear", "Taught", "Topics"]


class SparseLinear(Member):
    """Ridge logistic regression on sparse columns, at one scale for all or a scale for each.

    The weights of TF-IDF say which words matter, and one scale keeps them: rows have the mean
    square 1. Counts and indicators of very different sizes need a scale for each column.
    """

    name = "linear"
    needs_dense = False
    takes_numbers = False
    most_rows = 200_000
    grid = (("one", 1.0), ("one", 0.3), ("one", 0.1), ("each", 1.0))

    def settings(self, task: Task) -> int:
        """Return the number of scales with a strength."""
        return len(self.grid)

    def fit(self, task: Task) -> list[Scorer]:
        """Fit each scale with its strength."""
        from nnpu.estimators.ensemble.sparse_fits import at_scales

        found = at_scales(task.at_most(self.most_rows), self.grid)
        return [SparseScorer(*weights) for weights in found]


class Topics(Member):
    """Ridge regression with the KL risk on the directions in which sparse rows differ most.

    Words that stand beside each other in U count together, whichever of them P has. Directions and
    slopes are a weight for each column again in the end.
    """

    name = "topics"
    needs_prior = True
    needs_dense = False
    takes_numbers = False
    most_rows = 20_000
    directions = 150
    strengths: tuple[float, ...] = (0.06, 0.02, 0.006)

    def settings(self, task: Task) -> int:
        """Return the number of strengths."""
        return len(self.strengths)

    def fit(self, task: Task) -> list[Scorer]:
        """Find the directions, then the slopes for each strength."""
        from nnpu.estimators.ensemble.sparse_fits import on_directions

        task = task.at_most(self.most_rows, together=task.sampling == "one-sample")
        found = on_directions(task, self.directions, self.strengths)
        return [SparseScorer(*weights) for weights in found]


class Taught(Topics):
    """Ridge logistic regression on all sparse columns, from soft labels of U.

    The first labels are those of `Topics`, the next ones its own, both mixed with the labels of
    rows that share rare words. Their mean is the share of positives, and each counts |2y − 1|: the
    surest rows decide. A word that P lacks gets its weight from rows of U with words that P has.
    """

    name = "taught"
    strengths = (0.02,)  # of `Topics`
    rounds = 4
    ridges = (0.1, 0.03)  # for a sum of losses of rows of mean square 1

    def settings(self, task: Task) -> int:
        """Return the number of ridges."""
        return len(self.ridges)

    def fit(self, task: Task) -> list[Scorer]:
        """Label U and fit to the labels, a few times, with each ridge."""
        from nnpu.estimators.ensemble.sparse_fits import self_taught

        task = task.at_most(self.most_rows, together=task.sampling == "one-sample")
        first = super().fit(task)[0].scores(task.view)
        return [SparseScorer(*one) for one in self_taught(task, first, self.ridges, self.rounds)]
