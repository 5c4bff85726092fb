"""The list of a table's model beside that of a plain classifier of the same columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.data.folds import PUStratifiedKFold
from nnpu.data.row_keys import equal_rows
from nnpu.estimators.plain import compare_lists, plain_scores
from nnpu.table.holdout import LEAST_LABELLED
from nnpu.table.table_explain import columns_that_differ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.plain import PlainList
    from nnpu.table.table_pu import TablePU

__all__ = ["against_plain", "against_plain_in_folds"]

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
