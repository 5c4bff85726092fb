"""Numbers beside words as one finite sparse matrix, for what takes no gaps and no codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.estimators.ensemble.designs import fit_dense
from nnpu.estimators.ensemble.inputs import fit_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["joined"]

#: The length of all numbers of a row together, that of its words being 1. With more, words are
#: learned worse where numbers say nothing; with less, numbers are where they do (docs/text.md).
_SHARE = 0.2


def joined(X: Any, n_dense: int, categories: Sequence[int]) -> tuple[Any, NDArray[np.intp]]:
    """Return the rows as one matrix, and for each of its columns the one in `X` behind it.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
        Its first columns are numbers and codes, with NaN for gaps; the others are words.
    n_dense : int
        How many there are of the first; with 0 the rows stay as they are.
    categories : sequence of int
        Which of them are codes.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_array(np.array([[3.0, 1, 0.6], [np.nan, 0, 0], [5.0, 1, 0.6]]))
    >>> matrix, origin = joined(X, 2, [1])
    >>> origin.tolist()                     # the number, its gaps, two levels, a word
    [0, 0, 1, 1, 2]
    >>> bool(np.isfinite(matrix.toarray()).all())
    True
    """
    if not n_dense:
        return X, np.arange(X.shape[1])
    codes = tuple(int(column) for column in categories)
    x, words = fit_columns(X, codes, "joined", n_dense).parts(X, n_dense)
    design = fit_dense(x, np.array(codes, dtype=np.int32))
    parts = design.numeric, design.flagged, design.level_column
    origin = np.concatenate([*parts, np.arange(n_dense, X.shape[1])]).astype(np.intp)
    dense = design.transform(x) * np.float32(_SHARE / np.sqrt(max(design.size, 1)))
    return sparse.csr_array(sparse.hstack([dense, words], format="csr")), origin
