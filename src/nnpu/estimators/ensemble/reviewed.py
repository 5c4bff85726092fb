"""What the answers of a review do to an ensemble: weights, the prior, the final correction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nnpu.calibration import ScoreCalibration
from nnpu.estimators.ensemble.trials import try_member
from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.task import Task
    from nnpu.estimators.ensemble.trials import Folds, Trial
    from nnpu.estimators.labels import Labels
    from nnpu.review import KnownRows

__all__ = ["ETAS", "answer_loss", "audited_prior", "best_share", "corrected", "signed_weights"]

#: What the answers may count in the risk of a member, of 1; the best is chosen out of fold.
ETAS = (0.0, 0.2, 0.5)


def signed_weights(answers: KnownRows, codes: Labels) -> NDArray[np.float64]:
    """Return the weight of each row answered yes, minus that of each answered no, else 0.

    Examples
    --------
    >>> from nnpu.review import KnownRows
    >>> known = KnownRows(np.array([2, 0]), np.array([1.0, 0.0]), np.array([1.5, 0.5]))
    >>> signed_weights(known, np.zeros(4, dtype=np.int8))
    array([-0.5,  0. ,  1.5,  0. ])
    """
    n = len(codes)
    rows, y, weight = (np.asarray(part) for part in answers[:3])
    fits = rows.ndim == 1 and rows.shape == y.shape == weight.shape and rows.dtype.kind in "iu"
    if not fits or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise InputError(
            f"EnsemblePU: answers must be KnownRows with row numbers in the range [0, {n}), as "
            "nnpu.review.known_rows returns them; in two samples add the place of U in X."
        )
    if not np.isin(y, (0, 1)).all() or not np.all(weight > 0):
        raise InputError("EnsemblePU: answers must be 1 or 0, and their weights above 0.")
    if np.any(codes[rows[y == 0]] == 1):
        raise InputError(
            "EnsemblePU: a row that was answered no is labelled positive. Do the answers belong to "
            "these rows? In two samples add the place of U in X to their row numbers."
        )
    signed = np.zeros(n)
    signed[rows] = np.where(y == 1, weight, -weight)
    return signed


def audited_prior(answers: KnownRows, codes: Labels, sampling: str) -> PriorEstimate:
    """Return the prior that the answers gave, as an estimate with its interval."""
    found = answers.prior
    assert found is not None
    share = float(np.mean(codes == 1)) if sampling == "one-sample" else 0.0
    low, high = max(found.low, share), max(found.high, share + 1e-6)
    value = found.value if found.value > share else (share + high) / 2
    return PriorEstimate(
        value=min(max(value, 1e-6), 1 - 1e-6),
        low=min(low, value),
        high=max(high, value),
        method="review",
        identified=True,
        message=(
            f"About {value:.1%} of the rows are positive, 90 % interval {low:.1%} to {high:.1%}: "
            "from the answers of a review, whatever the model or the labels are."
        ),
        sampling="one-sample" if sampling == "one-sample" else "two-sample",
    )


def best_share(
    task: Task,
    folds: Folds,
    used: list[Trial],
    combine: Callable[[list[Trial], NDArray[np.int8]], NDArray[np.float64]],
    say: Callable[[str], None],
) -> tuple[Task, list[Trial]]:
    """Choose out of fold how much the answers count in the risk of every member.

    Parameters
    ----------
    task, folds, used
        The rows, their folds, and the members' scores without the answers.
    combine : callable
        Returns the log-odds of the held-out rows by members and PU labels.
    say : callable
        Takes a line of progress.
    """
    assert task.answers is not None
    s, answers = task.s[folds.held_out], task.answers[folds.held_out]
    best, losses = (task, used), []
    for eta in ETAS:
        asked = replace(task, eta=eta)
        tried = used if eta == 0 else [try_member(t.member, asked, folds) for t in used]
        tried = [trial for trial in tried if not trial.reason]
        if not tried:
            continue
        losses.append(answer_loss(combine(tried, s), answers))
        if losses[-1] == min(losses):
            best = asked, tried
        say(f"answers with η = {eta:g}: log-loss {losses[-1]:.4f} out of fold")
    return best


def answer_loss(log_odds: NDArray[np.float64], answers: NDArray[np.float64]) -> float:
    """Return the weighted mean log-loss of the answers, after shift and slope fit them."""
    from nnpu.review.learning import moved

    rows = np.flatnonzero(answers)
    if not rows.size:
        return 0.0
    y, weight = (answers[rows] > 0).astype(np.float64), np.abs(answers[rows])
    found = moved(log_odds[rows], y, weight)
    z = found.shift + found.slope * log_odds[rows]
    return float(weight @ np.logaddexp(0, np.where(y == 1, -z, z)) / weight.sum())


def corrected(
    calibration: ScoreCalibration, log_odds: NDArray[np.float64], answers: NDArray[np.float64]
) -> tuple[ScoreCalibration, float]:
    """Return the calibration moved to fit the answers, and the cut at one half."""
    from nnpu.review.learning import moved

    rows = np.flatnonzero(answers)
    slope, intercept = calibration.slope, calibration.intercept
    if rows.size:
        z = slope * log_odds[rows] + intercept
        found = moved(z, (answers[rows] > 0).astype(np.float64), np.abs(answers[rows]))
        slope, intercept = found.slope * slope, found.shift + found.slope * intercept
    return ScoreCalibration(slope, intercept), -intercept / slope
