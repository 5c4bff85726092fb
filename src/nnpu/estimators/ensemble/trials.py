"""Out-of-fold scores of the members: the same folds for all, equal rows in the same fold."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.folds import PUStratifiedKFold, equal_rows
from nnpu.estimators.ensemble.weights import p_against_u
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.member_scorers import Scorer
    from nnpu.estimators.ensemble.members import Member
    from nnpu.estimators.ensemble.task import Task

__all__ = ["Folds", "MemberTrial", "make_folds", "one_hold_out", "refit", "try_member"]

_FEW = 30_000  # rows up to which there are five folds
_HELD_OUT = 50_000  # rows of a single hold-out, at most
_LABELLED = 1_000  # of them that are labelled, at least
_ENOUGH = 5_000  # labelled rows from which a hold-out weighs members as well as folds


@dataclass(frozen=True)
class Folds:
    """Parts of the rows, and for each the rows that a member is fitted to.

    ``held_out`` are all rows that some part holds: every row, or those of a single hold-out.
    """

    parts: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    held_out: NDArray[np.intp]

    @property
    def part_of_held_out(self) -> NDArray[np.intp]:
        """The number of the part that each held-out row is in."""
        part = np.full(int(self.held_out.max()) + 1, -1)
        for number, (_, rest) in enumerate(self.parts):
            part[rest] = number
        return part[self.held_out]


@dataclass
class MemberTrial:
    """How a member did out of fold.

    ``scores`` are those of the held-out rows under the best setting, ``auc`` theirs of P against U;
    ``reason`` says why a member is left out, and is empty for one that is not. ``every`` and
    ``losses`` are the scores under each setting, and their loss in each fold; ``first`` are the
    scorers of the first fold, which were not fitted to it.
    """

    member: Member
    scores: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    every: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    losses: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    first: list[Scorer] = field(default_factory=list)
    setting: int = 0
    seconds: float = 0.0
    auc: float | None = None
    reason: str = ""

    def setting_without(self, fold: int) -> int:
        """Return the setting that the other folds would choose."""
        return int(np.argmin(np.delete(self.losses, fold, axis=1).sum(axis=1)))


def make_folds(
    x: Any,
    s: NDArray[np.int8],
    seed: int,
    n_folds: int | None = None,
    groups: NDArray[np.intp] | None = None,
) -> Folds:
    """Deal the rows: five folds up to 30,000 rows, then one hold-out of a third.

    The hold-out has at most 50,000 rows, or as many as it takes for 1,000 labelled ones. With fewer
    than 5,000 labelled rows there are three folds however many rows there are.

    There are no more folds than rows of P or of U, and at least two. Rows of a group are in one
    fold; without groups, equal rows are.

    Examples
    --------
    >>> s = np.repeat([1, 0], [3, 50]).astype(np.int8)
    >>> len(make_folds(np.arange(53.0)[:, None], s, 0).parts)
    3
    """
    n, n_p = len(s), int(s.sum())
    if min(n_p, n - n_p) < 2:
        raise InputError(
            f"EnsemblePU needs at least 2 labelled and 2 unlabelled rows. Got {n_p} labelled and "
            f"{n - n_p} unlabelled."
        )
    groups = equal_rows(x) if groups is None else groups
    n_groups = n if groups is None else np.unique(groups).size
    single = n_folds is None and n > _FEW and n_p >= _ENOUGH
    wanted = n_folds or (5 if n <= _FEW else 3)
    wanted = min(wanted, n_p, n - n_p, n_groups)
    parts: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
    if wanted >= 2:
        dealt = PUStratifiedKFold(wanted, random_state=seed).split(x, s, groups)
        parts = [(a, b) for a, b in dealt if 0 < s[a].sum() < len(a)]
    if single and parts:
        fitted, rest = parts[0]
        size = max(_HELD_OUT, -(-_LABELLED * n // n_p))
        rest = np.sort(np.random.default_rng(seed).permutation(rest)[:size])
        parts = [(fitted, rest)]
    held_out = np.sort(np.concatenate([np.zeros(0, np.intp), *(b for _, b in parts)]))
    if not 0 < s[held_out].sum() < len(held_out):
        raise InputError(
            "EnsemblePU needs labelled and unlabelled rows that differ: too many are equal."
        )
    return Folds(parts, held_out)


def one_hold_out(held_out: NDArray[np.bool_]) -> Folds:
    """Return the folds of which the only one holds these rows.

    Examples
    --------
    >>> one_hold_out(np.array([True, False, True])).parts
    [(array([1]), array([0, 2]))]
    """
    rows = np.flatnonzero(held_out)
    return Folds([(np.flatnonzero(~held_out), rows)], rows)


def try_member(member: Member, task: Task, folds: Folds) -> MemberTrial:
    """Score the held-out rows by the member; a failure is tried again with another seed."""
    start = time.perf_counter()
    trial = MemberTrial(member)
    for attempt in range(2):
        trial.reason = ""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trial.every, trial.losses, trial.first = _out_of_fold(
                    member, task, folds, task.seed + 7919 * attempt
                )
                trial.setting = int(np.argmin(trial.losses.sum(axis=1)))
                trial.scores = trial.every[trial.setting]
        except (ValueError, np.linalg.LinAlgError, ArithmeticError, RuntimeError) as error:
            trial.reason = f"failed: {str(error).splitlines()[0][:200]}"
            continue
        if not np.all(np.isfinite(trial.scores)):
            trial.reason = "collapsed: its scores are not finite"
        elif np.ptp(trial.scores) == 0:
            trial.reason = "collapsed: all rows have the same score"
        else:
            trial.auc = p_against_u(trial.scores, task.s[folds.held_out])
            break
    trial.seconds = time.perf_counter() - start
    return trial


def _out_of_fold(
    member: Member, task: Task, folds: Folds, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Scorer]]:
    n_settings = member.settings(task)
    scores = np.zeros((n_settings, len(task.s)))
    losses = np.zeros((n_settings, len(folds.parts)))
    first: list[Scorer] = []
    for number, (fitted, rest) in enumerate(folds.parts):
        scorers = member.fit(task.take(fitted, seed + number))
        first = first or scorers
        scores[:, rest] = member.scores(scorers, task.view.take(rest))
        s = task.s[rest]
        if 0 < s.sum() < len(s):
            losses[:, number] = [
                len(rest) * member.held_out_loss(one, s, task.prior, task.sampling)
                for one in scores[:, rest]
            ]
    return scores[:, folds.held_out], losses, first


def refit(trial: MemberTrial, task: Task) -> Scorer:
    """Fit a member to all rows, with the setting that was best out of fold."""
    start = time.perf_counter()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = trial.member.fit_one(task, trial.setting)
    trial.seconds += time.perf_counter() - start
    return scorer
