"""Out-of-fold scores of positives against unlabelled rows.

A model that has seen a row scores it too high if it is in P and too low if it is in U, which
ruins every estimate made from the scores. Here each row is scored by a model fitted to the other
folds, and equal rows are in the same fold: a positive that also occurs in U, as in the paper's
experiments, would otherwise be recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from nnpu.data.folds import PUStratifiedKFold
from nnpu.data.vectors import as_array
from nnpu.parameters import InputError, ParameterError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.prior.curve import FloatArray

__all__ = ["as_features", "check_random_state", "default_model", "out_of_fold_scores"]

N_FOLDS = 5


def out_of_fold_scores(
    x_p: Any, x_u: Any, *, model: Any = None, random_state: Any = None, n_folds: int = N_FOLDS
) -> tuple[FloatArray, FloatArray]:
    """Score each row of P and U with a model that was fitted without it.

    Parameters
    ----------
    x_p, x_u : array-like, sparse matrix or tensor of shape (n_p, d), (n_u, d)
        The positive and the unlabelled sample.
    model : classifier, optional
        Any scikit-learn classifier with `predict_proba` or `decision_function`. It is fitted to
        tell P (1) from U (0). Default: `default_model`.
    random_state : int, RandomState or None
        The seed of the folds and of the default model.
    n_folds : int, default=5
        The number of folds; fewer if P or U has fewer rows.

    Returns
    -------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> x_p, x_u = np.arange(90, 100.0)[:, None], np.arange(100.0)[:, None]
    >>> scores_p, scores_u = out_of_fold_scores(
    ...     x_p, x_u, model=LogisticRegression(), random_state=0)
    >>> bool(scores_p.mean() > scores_u.mean()), scores_u.shape
    (True, (100,))
    """
    x, s = _stack(as_features(x_p, "x_p"), as_features(x_u, "x_u"))
    n_p = int(s.sum())
    groups = _equal_rows(x)
    n_different = s.size if groups is None else int(groups.max()) + 1
    if n_different < 2:
        raise InputError("All rows are equal: they tell nothing about the prior.")
    folds = PUStratifiedKFold(
        min(n_folds, n_p, s.size - n_p, n_different),
        random_state=np.random.RandomState(_seed(random_state)),
    )
    if model is None:
        model = default_model(x, random_state=_seed(random_state))
    scores = np.empty(s.size)
    for train, test in folds.split(x, s, groups):
        if np.unique(s[train]).size < 2:
            raise InputError("Out-of-fold scores need different rows, in x_p and in x_u.")
        scores[test] = _scores(_fit(model, x[train], s[train]), x[test])
    return scores[:n_p], scores[n_p:]


def default_model(x: Any, *, random_state: int | None = None) -> Any:
    """Return the classifier that makes the scores when none is given.

    Dense features: the mean probability of a kernel logistic regression and of extremely
    randomised trees, which err in different ways. Sparse ones: logistic regression. Chosen by the
    measurements in ``docs/prior.md``.

    Parameters
    ----------
    x : ndarray or sparse matrix of shape (n, d)
        The rows that it will be fitted to; only the shape is read.
    random_state : int, optional
        The seed.

    Examples
    --------
    >>> import numpy as np
    >>> [name for name, _ in default_model(np.zeros((100, 3))).estimators]
    ['kernel', 'trees']
    """
    from sklearn.decomposition import PCA
    from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if sp.issparse(x):
        return LogisticRegression(max_iter=300)
    fitted = max(x.shape[0] // 2, 1)  # two folds leave half of the rows to fit to
    kernel = make_pipeline(
        StandardScaler(),
        PCA(min(50, x.shape[1], fitted), random_state=random_state),
        Nystroem(n_components=min(500, fitted), random_state=random_state),
        LogisticRegression(C=10.0, max_iter=300),
    )
    trees = ExtraTreesClassifier(100, min_samples_leaf=5, random_state=random_state)
    return VotingClassifier([("kernel", kernel), ("trees", trees)], voting="soft")


def as_features(x: Any, name: str) -> Any:
    """Return a two-dimensional float array or CSR matrix, or say what is wrong with `x`."""
    from sklearn.utils import check_array

    x = as_array(x)
    if not sp.issparse(x) and np.shape(x)[:1] == (0,):
        raise InputError(f"{name} is empty: there is nothing to estimate from.")
    if not sp.issparse(x) and np.ndim(x) > 2:
        x = np.asarray(x).reshape(np.shape(x)[0], -1)
    try:
        features = check_array(
            x, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(str(error).splitlines()[0]) from error
    values = features.data if sp.issparse(features) else features
    if np.abs(values).max(initial=0) > np.finfo(np.float32).max:
        raise InputError(f"{name} holds values too large for float32; divide them by a number.")
    return features


def _stack(x_p: Any, x_u: Any) -> tuple[Any, NDArray[np.int64]]:
    if x_p.shape[1] != x_u.shape[1]:
        raise InputError(
            f"x_p has {x_p.shape[1]} features and x_u has {x_u.shape[1]}; give both the same."
        )
    if min(x_p.shape[0], x_u.shape[0]) < 2:
        raise InputError("Out-of-fold scores need at least two rows in x_p and in x_u.")
    s = np.repeat([1, 0], [x_p.shape[0], x_u.shape[0]])
    if sp.issparse(x_p) or sp.issparse(x_u):
        return sp.vstack([sp.csr_matrix(x_p), sp.csr_matrix(x_u)], format="csr"), s
    return np.concatenate([x_p, x_u]), s


def _equal_rows(x: Any) -> NDArray[np.intp] | None:
    """Return a number for each row, equal for equal rows; None if all rows differ."""
    if sp.issparse(x):
        x = x.copy()
        x.sum_duplicates()
        rows = [
            x.indices[start:stop].tobytes() + x.data[start:stop].tobytes()
            for start, stop in zip(x.indptr[:-1], x.indptr[1:], strict=True)
        ]
    else:
        rows = [row.tobytes() for row in np.ascontiguousarray(x)]
    numbers: dict[bytes, int] = {}
    groups = np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.intp)
    return None if len(numbers) == len(rows) else groups


def _fit(model: Any, x: Any, s: NDArray[np.int64]) -> Any:
    from sklearn.base import clone

    able = any(hasattr(model, name) for name in ("predict_proba", "decision_function"))
    if isinstance(model, type) or not hasattr(model, "fit") or not able:
        raise ParameterError(
            "The 'model' parameter of estimate_prior must be a classifier with fit and "
            f"predict_proba or decision_function. Got {shown(model)} instead."
        )
    return clone(model).fit(x, s)


def _scores(model: Any, x: Any) -> FloatArray:
    """Return the probability of being labelled if the model has one, else its score."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(x)[:, 1], dtype=np.float64)
    return np.asarray(model.decision_function(x), dtype=np.float64)


def check_random_state(random_state: Any) -> Any:
    """Return the generator that a seed stands for; what is none is refused in our words."""
    from sklearn.utils import check_random_state as as_random_state

    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return as_random_state(random_state)
    except ValueError as error:
        raise ParameterError(
            "The 'random_state' parameter of estimate_prior must be an int in the range "
            f"[0, 2**32), a RandomState, a Generator or None. Got {shown(random_state)} instead."
        ) from error


def _seed(random_state: Any) -> int:
    generator = check_random_state(random_state)
    if isinstance(generator, np.random.Generator):
        return int(generator.integers(2**31))
    return int(generator.randint(2**31))
