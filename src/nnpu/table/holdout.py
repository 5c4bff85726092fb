"""How a table's model is judged: by rows it was not fitted to, and beside a plain classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.calibration import ScoreCalibration
from nnpu.data.folds import PUStratifiedKFold, equal_rows
from nnpu.estimators.evaluation import evaluate, unlabelled_cut
from nnpu.estimators.out_of_fold import OutOfFold, out_of_fold
from nnpu.estimators.plain import compare_lists, plain_scores
from nnpu.estimators.threshold_choice import calibration
from nnpu.hidden import AuditedHidden
from nnpu.parameters import InputError, ParameterError
from nnpu.table.fit_rows import LEAST_LABELLED
from nnpu.table.table_answers import audited_by
from nnpu.table.table_explain import columns_that_differ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.estimators.plain import PlainList
    from nnpu.table.fit_rows import FitRows
    from nnpu.table.table_pu import TablePU

__all__ = [
    "against_plain",
    "against_plain_in_folds",
    "judge_scores",
    "judged_again",
    "unseen_scores",
]

_FOLDS = 5
_MOST_COLUMNS = 300  # dense ones beyond which the plain classifier would take as long as the fit
_MOST_ROWS = 50_000  # that it is fitted to, of a table that has rows set aside
_SIZES = 3  # lengths of the list that a fit speaks of: all that it says is a screen


def unseen_scores(
    classifier: BasePUClassifier, features: Any, rows: FitRows, *, seed: int
) -> OutOfFold:
    """Score the rows that judge a classifier by models that were not fitted to them.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    features : array, CSR matrix or array of files
        Of all rows.
    rows : FitRows
        All rows: in folds each has a score, else those that were set aside do, as one fold.
    seed : int
        Decides the folds.
    """
    if rows.in_folds:
        return out_of_fold(classifier, features, rows.codes, rows.groups, seed=seed)
    scores = np.full(len(rows.codes), np.nan)
    scores[rows.aside] = classifier.decision_function(features[rows.aside])
    return OutOfFold(scores, np.where(rows.aside, 0, -1).astype(np.intp), classifier)


def judge_scores(
    classifier: BasePUClassifier,
    s: NDArray[np.int8],
    scores: NDArray[np.float32],
    names: Any,
    images: Any = None,
    **how: Any,
) -> tuple[Evaluation | None, list[str]]:
    """Judge a classifier by the scores of rows that the model behind them was not fitted to.

    It is calibrated by them too if it did not calibrate itself. If one of both fails, the other
    stays.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    s, scores, names, images
        PU labels, scores, what people call the rows, their images.
    **how
        As in `nnpu.estimators.evaluation.evaluate`.

    Returns
    -------
    found : Evaluation or None
        None if the rows cannot judge the model.
    lines : list of str
        What to say.
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
        return f"Judged on {found.rows:,} rows that were set aside."
    return (
        f"Judged on all {found.rows:,} rows, each scored by a model that had not seen it "
        f"({int(found.fold.max()) + 1} folds)."
    )


def judged_again(model: TablePU, old: Evaluation) -> Evaluation:
    """Return the judgement by the same rows at the threshold that the model has now.

    Parameters
    ----------
    model : TablePU
        Fitted.
    old : Evaluation
        At another threshold.
    """
    found = evaluate(
        model.classifier_,
        old.s,
        old.scores,
        old.names,
        old.images,
        label_bias=model.label_bias,
        labelled=model.labelled_share_,
        fold=old.fold,
    )
    found = replace(found, plain=old.plain)
    if old.names is None and old.ranking is not None:  # of a folder, which keeps few names
        found = replace(found, ranking=old.ranking._replace(near=(), doubted=()))
    if isinstance(old.hidden, AuditedHidden):
        cut = unlabelled_cut(model.classifier_, model.labelled_share_)
        found = audited_by(found, old.hidden.answers, cut, model.label_bias)
    return found


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
