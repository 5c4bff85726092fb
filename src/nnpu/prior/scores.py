"""Out-of-fold scores of positives against unlabelled rows.

A model that has seen a row scores it too high if it is in P and too low if it is in U, which
ruins every estimate made from the scores. Here each row is scored by a model fitted to the other
folds, and equal rows are in the same fold: a positive that also occurs in U, as in the paper's
experiments, would otherwise be recognised.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from nnpu.data.folds import PUStratifiedKFold, equal_rows
from nnpu.data.vectors import as_array
from nnpu.extras import MissingExtraError, need_lightgbm
from nnpu.parameters import InputError, ParameterError, shown
from nnpu.prior.curve import auc, seed_of, some_rows
from nnpu.prior.mixture import CLOSE, FAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.prior.curve import FloatArray
    from nnpu.prior.mixture import Separation

__all__ = [
    "as_features",
    "default_model",
    "out_of_fold_scores",
    "scores_and_separation",
    "spline_features",
]

N_FOLDS = 5  # a model sees four fifths of the rows, nearly what a fit sees

#: With more columns than this, extremely randomised trees and a kernel take the place of splines.
WIDE = 50

#: With more sparse columns than this, such as words, rows are also scored by so many directions.
WORDS, DIRECTIONS = 500, 100

#: The centres of the kernel, and its γ times the number of columns, which lie between 0 and 1.
CENTRES, GAMMA = 300, 14

#: Of the default model, what asks for single columns and what compares whole rows.
RIVALS = ("boosted", "kernel")

#: With fewer different rows than this share of U, equal rows are chance and no copies.
DIFFERENT = 0.8


def out_of_fold_scores(
    x_p: Any,
    x_u: Any,
    *,
    model: Any = None,
    random_state: Any = None,
    n_folds: int = N_FOLDS,
    groups: tuple[Any, Any] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Score each row of P and U with a model that was fitted without it.

    Parameters
    ----------
    x_p, x_u : array-like, sparse matrix or tensor of shape (n_p, d), (n_u, d)
        The positive and the unlabelled sample. Of more than 20,000 rows in a sample, 20,000 drawn
        at random are used.
    model : classifier, optional
        Any scikit-learn classifier with `predict_proba` or `decision_function`. It is fitted to
        tell P (1) from U (0). Default: `default_model`.
    random_state : int, RandomState or None
        The seed of the folds and of the default model.
    n_folds : int, default=5
        The number of folds; fewer if P or U has fewer rows.
    groups : pair of array-like of shape (n_p,) and (n_u,), optional
        Rows with equal values share a fold. Default: equal rows, unless they are common in U.

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
    return scores_and_separation(x_p, x_u, model, random_state, groups, n_folds)[:2]


def scores_and_separation(
    x_p: Any, x_u: Any, model: Any, random_state: Any, groups: Any, n_folds: int = N_FOLDS
) -> tuple[FloatArray, FloatArray, Separation]:
    """Return the scores of `out_of_fold_scores`, and how far classes lie apart in such data.

    Those of words (more than 500 sparse columns) seldom overlap, nor do those of images. Pixels
    are more than 50 columns of which none says much by itself: the kernel, which compares whole
    rows, tells P from U better than boosted trees, which ask for one column after the other, and
    which are then left out. In wide tables it seldom does.
    """
    seed = seed_of(random_state)
    groups_p, groups_u = groups or (None, None)
    x_p, groups_p = some_rows(as_array(x_p), seed, groups_p, "x_p")
    x_u, groups_u = some_rows(as_array(x_u), seed, groups_u, "x_u")
    x, s = _stack(as_features(x_p, "x_p"), as_features(x_u, "x_u"))
    n_p = int(s.sum())
    together = _copies(x, n_p) if groups is None else np.concatenate([groups_p, groups_u])
    n_different = s.size if together is None else np.unique(together).size
    if n_different < 2:
        raise InputError("All rows are equal, or in one group: they tell nothing about the prior.")
    folds = PUStratifiedKFold(
        min(n_folds, n_p, s.size - n_p, n_different), random_state=np.random.RandomState(seed)
    )
    views: list[Any] = [x]
    members: list[str] = []
    if model is None:
        model = default_model(x, random_state=seed)
        names = [name for name, _ in getattr(model, "estimators", ())]
        members = names if set(RIVALS) <= set(names) else []
        if sp.issparse(x) and x.shape[1] > WORDS and s.size > DIRECTIONS:
            views.append(_directions(x, seed))
    scores, held_out = np.zeros(s.size), {name: np.zeros(s.size) for name in members}
    for train, test in folds.split(x, s, together):
        if np.unique(s[train]).size < 2:
            raise InputError("Out-of-fold scores need different rows, in x_p and in x_u.")
        for view in views:
            fitted = _fit(model, view[train], s[train])
            scores[test] += _scores(fitted, view[test]) / len(views)
            for name, by_member in held_out.items():
                by_member[test] = _scores(fitted.named_estimators_[name], view[test])
    apart = sp.issparse(x) and x.shape[1] > WORDS
    if members:
        columns, whole = (auc(held_out[name][:n_p], held_out[name][n_p:]) for name in RIVALS)
        apart = whole > columns
        if apart:
            scores = np.mean([held_out[name] for name in members if name != RIVALS[0]], axis=0)
    return scores[:n_p], scores[n_p:], FAR if apart else CLOSE


def default_model(x: Any, *, random_state: int | None = None) -> Any:
    """Return the classifier that makes the scores when none is given.

    The mean probability of two models that err in different ways, with classes weighted to equal
    shares: small boosted trees (LightGBM), and logistic regression on splines of the columns.
    Where there are more than 50 columns, such as pixels, extremely randomised trees and logistic
    regression on Gaussian bumps take the place of splines. Sparse features: logistic regression.
    Chosen by the measurements in ``docs/lab/prior.md``.

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
    ['boosted', 'splines']
    """
    from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression

    if sp.issparse(x):
        return LogisticRegression(class_weight="balanced")
    leaf = int(np.clip(x.shape[0] // 20, 1, 10))
    models: list[tuple[str, Any]] = [("splines", _splines(x.shape[0]))]
    if x.shape[1] > WIDE:
        trees = ExtraTreesClassifier(
            80, min_samples_leaf=leaf, class_weight="balanced", random_state=random_state
        )
        models = [("random", trees), ("kernel", _kernel(x.shape, random_state))]
    if (boosted := _boosted(leaf, random_state)) is not None:
        models.insert(0, ("boosted", boosted))
    return VotingClassifier(models, voting="soft")


def spline_features(n: int) -> Any:
    """Return what makes quadratic splines of the ranks of each column, for about `n` rows.

    Examples
    --------
    >>> spline_features(100).fit_transform(np.arange(100.0)[:, None]).shape
    (100, 5)
    """
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, SplineTransformer, StandardScaler

    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        QuantileTransformer(  # of the rows of a fold, which are fewer
            n_quantiles=int(np.clip(n // 4, 2, 100)), subsample=5000, random_state=0
        ),
        SplineTransformer(5, degree=2, include_bias=False),
        StandardScaler(),
    )


def _splines(n: int) -> Any:
    """Return logistic regression on quadratic splines of the ranks of each column."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = LogisticRegression(C=0.01, class_weight="balanced", max_iter=300)
    return make_pipeline(*(step for _, step in spline_features(n).steps), model)


def _kernel(shape: tuple[int, int], random_state: int | None) -> Any:
    """Return logistic regression on Gaussian bumps around some rows (Nyström's features)."""
    from sklearn.impute import SimpleImputer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    n, d = shape
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        MinMaxScaler(),  # pixels that are hardly ever inked stay small
        Nystroem(gamma=GAMMA / d, n_components=min(CENTRES, n // 2), random_state=random_state),
        LogisticRegression(class_weight="balanced", max_iter=300),
    )


def _directions(x: Any, seed: int) -> NDArray[np.float64]:
    """Return unit rows: where each row lies on the directions in which all of them differ most.

    Words that stand beside each other then count together. Labels play no part, so the
    directions may be found from all rows at once.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    found = TruncatedSVD(DIRECTIONS, random_state=seed).fit_transform(x)
    unit: NDArray[np.float64] = normalize(found)
    return unit


def _boosted(leaf: int, random_state: int | None) -> Any:
    """Return small LightGBM trees, or None and a warning if the library cannot be loaded."""
    try:
        lightgbm = need_lightgbm("estimate_prior")
    except MissingExtraError as error:
        reason = str(error.__cause__).splitlines()[0]
        warnings.warn(
            f"LightGBM cannot be loaded ({reason}): the prior is estimated without it.",
            UserWarning,
            stacklevel=2,
        )
        return None
    return lightgbm.LGBMClassifier(
        n_estimators=80,
        learning_rate=0.08,
        num_leaves=4,
        min_child_samples=2 * leaf,
        reg_lambda=10,
        subsample=0.8,
        subsample_freq=1,
        colsample_bytree=0.5,
        class_weight="balanced",
        random_state=random_state,
        n_jobs=1,  # the rows are few: more threads would wait for each other
        verbose=-1,
    )


def as_features(x: Any, name: str) -> Any:
    """Return a two-dimensional float array or CSR matrix, or say what is wrong with `x`."""
    from sklearn.utils import check_array

    x = as_array(x)
    if not sp.issparse(x) and np.shape(x)[:1] == (0,):
        raise InputError(f"{name} is empty: there is nothing to estimate from.")
    if not sp.issparse(x) and np.ndim(x) > 2:
        x = np.asarray(x).reshape(np.shape(x)[0], -1)
    try:
        with np.errstate(invalid="ignore"):  # ∞ − ∞, of which it then says what is wrong
            features = check_array(
                x,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=True if sp.issparse(x) else "allow-nan",
                input_name=name,
            )
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(str(error).splitlines()[0]) from error
    values = features.data if sp.issparse(features) else features
    if np.fmax.reduce(np.abs(values), axis=None, initial=0) > np.finfo(np.float32).max:
        raise InputError(f"{name} holds values too large for float32; scale them down.")
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


def _copies(x: Any, n_p: int) -> NDArray[np.intp] | None:
    """Return a number for each row, equal for equal rows; None if there are no copies.

    A row of P that is also a row of U is a copy where the rows of U differ. Where they do not, in
    a table of a few categories, equal rows are different people.
    """
    groups = equal_rows(x)
    if groups is None or not groups.any():  # all rows differ, or none do
        return groups
    different = np.unique(groups[n_p:]).size / (groups.size - n_p)
    return groups if different >= DIFFERENT else None


def _fit(model: Any, x: Any, s: NDArray[np.int64]) -> Any:
    from sklearn.base import clone
    from sklearn.exceptions import ConvergenceWarning

    able = any(hasattr(model, name) for name in ("predict_proba", "decision_function"))
    if isinstance(model, type) or not hasattr(model, "fit") or not able:
        raise ParameterError(
            "The 'model' parameter of estimate_prior must be a classifier with fit and "
            f"predict_proba or decision_function. Got {shown(model)} instead."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nearly there ranks as well
        return clone(model).fit(x, s)


def _scores(model: Any, x: Any) -> FloatArray:
    """Return the probability of being labelled if the model has one, else its score."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(x)[:, 1], dtype=np.float64)
    return np.asarray(model.decision_function(x), dtype=np.float64)
