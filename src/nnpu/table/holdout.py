"""Which rows are set aside (at random, by groups, or the latest), and what they say.

The list of the model is set beside that of a plain classifier of the same columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.calibration import ScoreCalibration
from nnpu.data.folds import PUStratifiedKFold, equal_rows
from nnpu.estimators.evaluation import evaluate
from nnpu.estimators.plain import compare_lists, plain_scores
from nnpu.estimators.threshold_choice import calibration
from nnpu.parameters import InputError, ParameterError
from nnpu.table.columns import find_column
from nnpu.table.columns.dates import row_times
from nnpu.table.table_explain import columns_that_differ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.estimators.plain import PlainList
    from nnpu.table.table_pu import TablePU

__all__ = [
    "LEAST_LABELLED",
    "against_plain",
    "against_plain_in_folds",
    "group_numbers",
    "judge",
    "judge_scores",
    "rows_to_judge",
    "set_aside",
]

_FOLDS = 5
_MOST_COLUMNS = 300  # dense ones beyond which the plain classifier would take as long as the fit
_MOST_ROWS = 50_000  # that it is fitted to, of a table that has rows set aside


def against_plain(
    model: TablePU,
    features: Any,
    codes: NDArray[np.int8],
    fold: NDArray[np.intp],
    rows: NDArray[np.intp],
    scores: NDArray[np.floating[Any]],
    *,
    fitted_to: str,
) -> PlainList | None:
    """Compare a model's list with that of a plain classifier; None if that is not worth its time.

    Parameters
    ----------
    model : TablePU
        Fitted.
    features, codes, fold
        Of all rows: as the classifier takes them, PU labels, and the fold that holds a row out, or
        −1 for none.
    rows, scores
        The rows that judge the model, and its scores of them.
    fitted_to : str
        What to say that the plain classifier was fitted to.
    """
    wide = not sparse.issparse(features) and features.ndim == 2
    if model.columns_.has_images or (wide and features.shape[1] > _MOST_COLUMNS):
        return None
    others = np.setdiff1d(np.arange(len(codes)), rows)
    if len(others) > _MOST_ROWS:  # all labelled ones, and some of the others
        p, u = others[codes[others] == 1], others[codes[others] != 1]
        few = np.random.default_rng(model.random_state)
        p = few.permutation(p)[: _MOST_ROWS // 2]
        kept = np.sort(np.concatenate([rows, p, few.permutation(u)[: _MOST_ROWS - len(p)]]))
        rows = np.searchsorted(kept, rows)
        features, codes, fold = features[kept], codes[kept], fold[kept]
    matrix = model.columns_.as_one_matrix(features)[0]
    found, flagged = plain_scores(matrix, codes, fold, seed=model.random_state)

    def kinds(some: NDArray[np.intp], others: NDArray[np.intp]) -> tuple[str, ...]:
        return columns_that_differ(model, features, rows[some], rows[others])

    return compare_lists(scores, found[rows], flagged[rows], codes[rows], kinds, fitted_to)


def against_plain_in_folds(
    model: TablePU, parts: Sequence[Any], codes: NDArray[np.int8], scores: NDArray[np.floating[Any]]
) -> PlainList | None:
    """Compare a model's list of new rows with that of a plain classifier, fitted to them in folds.

    Parameters
    ----------
    model : TablePU
        Fitted to other rows.
    parts : sequence of array or CSR matrix
        The rows, as the classifier takes them.
    codes, scores
        Their PU labels, and the model's scores.
    """
    if min((codes == 1).sum(), (codes == 0).sum()) < LEAST_LABELLED or model.columns_.has_images:
        return None
    features = sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    together = equal_rows(features)
    n_folds = _FOLDS if together is None else min(_FOLDS, np.unique(together).size)
    if n_folds < 2:
        return None
    fold = PUStratifiedKFold(n_folds, random_state=model.random_state).assign(codes == 1, together)
    how = "fitted to these rows, in folds"
    everything = np.arange(len(codes))
    return against_plain(model, features, codes, fold, everything, scores, fitted_to=how)


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
        The latest rows are set aside; rows of one time stay together, so their share is the
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
