"""Which rows are set aside (at random, by groups, or the latest), and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.calibration import ScoreCalibration
from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators.evaluation import evaluate
from nnpu.parameters import InputError, ParameterError
from nnpu.table.columns import find_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation

__all__ = [
    "LEAST_LABELLED",
    "group_numbers",
    "judge",
    "judge_scores",
    "rows_to_judge",
    "set_aside",
]

#: With fewer labelled, or unlabelled, rows than this, none is set aside: they would judge nothing.
LEAST_LABELLED = 10
_SIZES = 3  # lengths of the list that a fit speaks of: all that it says is a screen


def group_numbers(batch: Batch, name: str | None) -> NDArray[np.intp] | None:
    """Return a number for each row, equal in a group; empty cells are one group."""
    if name is None:
        return None
    cells = batch.columns[find_column(name, batch.columns, batch.source)]
    numbers: NDArray[np.intp] = cells.dictionary_encode().indices.fill_null(-1).to_numpy()
    return numbers


def rows_to_judge(
    batch: Batch,
    s: NDArray[np.int8],
    share: float,
    seed: int,
    *,
    groups: NDArray[np.intp] | None = None,
    time: str | None = None,
) -> NDArray[np.bool_]:
    """Return which rows of a table are set aside.

    Parameters
    ----------
    batch : Batch
        The rows.
    s, share, seed
        As in `set_aside`.
    groups : ndarray of int, optional
        What `group_numbers` returned.
    time : str, optional
        The column that orders the rows.
    """
    order = None
    if time is not None:
        from nnpu.table.columns.dates import row_times

        cells = batch.columns[find_column(time, batch.columns, batch.source)]
        order = row_times(cells, time)
    return set_aside(s, share, seed, groups=groups, time=order)


def set_aside(
    s: NDArray[np.int8],
    share: float,
    seed: int,
    *,
    groups: Any = None,
    time: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Return which rows are set aside.

    Parameters
    ----------
    s : ndarray of shape (n,)
        PU labels.
    share : float
        The share of the rows; 0 sets none aside.
    seed : int
        Decides which, unless `time` does.
    groups : array-like of shape (n,), optional
        Rows of one group stay together.
    time : ndarray of shape (n,), optional
        The latest rows are set aside; rows of one time stay together, so that their share is the
        nearest one that whole times give.

    Examples
    --------
    >>> set_aside(np.array([1, 0] * 20), 0.2, 0).sum()
    np.int64(8)
    >>> set_aside(np.array([1, 0] * 20), 0.2, 0, time=np.arange(40.0)).nonzero()[0]
    array([32, 33, 34, 35, 36, 37, 38, 39])
    """
    nothing = np.zeros(len(s), dtype=bool)
    if share == 0 or min((s == 1).sum(), (s == 0).sum()) < LEAST_LABELLED:
        return nothing
    if time is not None:
        chosen = _latest(time, share)
    else:
        n_folds = max(2, round(1 / share))
        if groups is not None:
            n_folds = min(n_folds, np.unique(groups).size)
        folds = PUStratifiedKFold(n_folds, random_state=seed)
        chosen = folds.assign(s == 1, groups) == 0
    for kept in (s[chosen], s[~chosen]):
        if not (kept == 1).any() or not (kept == 0).any():
            how = "time" if time is not None else "groups"
            raise InputError(
                f"The rows cannot be split by '{how}': one part has no labelled or no unlabelled "
                "row. Split by another column, or at random."
            )
    return chosen


def _latest(time: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return the latest rows, whole times only, in number as near to the share as that allows."""
    times, rows = np.unique(time, return_counts=True)
    if len(times) == 1:
        raise InputError(
            "The rows cannot be split by 'time': all of them have the same time. Split by another "
            "column, or at random."
        )
    later = np.cumsum(rows[::-1])[::-1][1:] / len(time)  # at each time but the first, or after it
    found: NDArray[np.bool_] = time >= times[1:][np.abs(later - share).argmin()]
    return found


def judge(
    classifier: BasePUClassifier,
    features: Any,
    s: NDArray[np.int8],
    names: Any,
    images: Any = None,
    **how: Any,
) -> tuple[Evaluation | None, list[str]]:
    """Measure, then calibrate what did not calibrate itself; if one fails, the other stays.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted to other rows.
    features, s, names, images
        The rows that were set aside: features, PU labels, what people call them, their images.
    **how
        As in `nnpu.estimators.evaluation.evaluate`.

    Returns
    -------
    found : Evaluation or None
        None if the rows cannot judge the model.
    lines : list of str
        What to say.
    """
    if (compare := getattr(classifier, "_compare", None)) is not None:
        compare(features, s)
    return judge_scores(classifier, s, classifier.decision_function(features), names, images, **how)


def judge_scores(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    names: Any,
    images: Any = None,
    **how: Any,
) -> tuple[Evaluation | None, list[str]]:
    """Judge a classifier by the scores of rows that the model behind them was not fitted to.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    s, scores, names, images
        PU labels, scores, what people call the rows, their images.
    **how
        As in `nnpu.estimators.evaluation.evaluate`.
    """
    found, lines = None, []
    try:
        if classifier.calibration_ == ScoreCalibration(1.0, 0.0):
            from nnpu.estimators.threshold_choice import calibration

            classifier.calibration_ = calibration(classifier, scores, s)
    except (ParameterError, InputError) as error:
        lines.append(f"The probabilities cannot be calibrated: {error}")
    try:
        found = evaluate(classifier, s, scores, names, images, **how)
    except (ParameterError, InputError) as error:
        lines.append(f"The model cannot be judged: {error}")
    if found is not None:
        lines += [_judged_by(found), *found.lines(_SIZES)]
    return found, lines


def _judged_by(found: Evaluation) -> str:
    if found.fold is None:
        return f"Judged by {found.rows:,} rows that were set aside."
    return (
        f"Judged by all {found.rows:,} rows, each by a model that had not seen it "
        f"({int(found.fold.max()) + 1} folds)."
    )
