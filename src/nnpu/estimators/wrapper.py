"""`PUWrapper`: any scikit-learn classifier of labelled against unlabelled, made a PU classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from nnpu.data.folds import PUStratifiedKFold, equal_rows
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.parameters import InputError, ParameterError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["PUWrapper"]

_AS_IT_IS: dict[str, Any] = {"skip_check_array": True}
_CERTAIN = 1e-6  # a posterior within this of 1 is as good as 1


class PUWrapper(BasePUClassifier):
    """Turn any scikit-learn classifier into a PU classifier, by correcting its probabilities.

    The estimator learns to tell labelled from unlabelled rows. Its probability σ of being labelled
    is proportional to the posterior of being positive once the sampling is taken into account:
    P(y = +1 | x) = π (1 − b)/b · σ/(1 − σ) for two samples and π σ / b for one, b being the
    labelled share of the rows; see `nnpu.calibration.posterior`. `decision_function` is the
    log-odds of that posterior.

    Parameters
    ----------
    estimator : classifier
        Anything with `fit` and `predict_proba`: logistic regression, gradient-boosted trees, a
        pipeline. Its probabilities must be honest, so leave class weights alone and regularise.
    prior : float or "auto", default="auto"
        The class prior π_p, as in `PUClassifier`. "auto" estimates it, with out-of-fold scores of
        the estimator itself.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        How the data came about, as in `PUClassifier`.
    random_state : int, RandomState or None, default=None
        Decides the folds in which the prior is estimated; the estimator has its own.

    Attributes
    ----------
    estimator_ : classifier
        The fitted clone, whose classes are 1 (labelled) and 0 (unlabelled).
    labelled_share_ : float
        b, in the rows that it was fitted to.
    classes_, sampling_, prior_, prior_estimate_, calibration_, threshold_, n_features_in_
        As in `BasePUClassifier`.

    Notes
    -----
    Probabilities of rows that the estimator was fitted to are wrong, and the more so the closer
    it fits: it has learned which of them carry a label. Forests and boosted trees give unlabelled
    rows of the training a posterior near 0 even where they are positive. Judge and use it on other
    rows (`sklearn.model_selection.cross_val_predict` gives out-of-fold ones).

    Where the corrected value reaches 1 (the ratio of densities is noisy there), scores go on
    rising with σ, so the order of rows is kept.

    A wrapper cannot be saved as a model folder, which holds no code and no pickle.

    References
    ----------
    Elkan and Noto (2008), Learning classifiers from only positive and unlabeled data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from nnpu import PUWrapper
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_u = rng.normal(2, 1, (200, 1)), rng.normal(-2, 1, (700, 1))
    >>> x_u = np.r_[rng.normal(2, 1, (300, 1)), x_u]                      # 30 % positive
    >>> X, s = np.r_[x_p, x_u], np.r_[np.ones(200), np.zeros(1000)]
    >>> clf = PUWrapper(LogisticRegression(), prior=0.3).fit(X, s)
    >>> clf.predict([[3.0], [-1.0]])
    array([1., 0.])
    """

    _negatives_are_population = True

    def __init__(
        self,
        estimator: Any,
        prior: float | str = "auto",
        *,
        sampling: str = "two-sample",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.sampling = sampling
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        methods = ("fit", "predict_proba")
        if isinstance(self.estimator, type) or not all(
            hasattr(self.estimator, name) for name in methods
        ):
            raise ParameterError(
                "The 'estimator' parameter of PUWrapper must be a classifier with fit and "
                f"predict_proba. Got {shown(self.estimator)} instead; a classifier with scores "
                "alone gets probabilities from sklearn.calibration.CalibratedClassifierCV."
            )

    def _validate(self, X: Any, s: Any = "no_validation") -> Any:
        """Check labels and the number and names of features; the rest is the estimator's task."""
        X = _with_rows(X)
        if isinstance(s, str):
            # One dimension may be a list of texts, which has no features to count.
            return X if _is_list(X) else validate_data(self, X, reset=False, **_AS_IT_IS)
        X, s = validate_data(self, X, s, **_AS_IT_IS)
        s = check_array(s, ensure_2d=False, dtype=None, input_name="y")
        s = column_or_1d(s, warn=True)
        check_consistent_length(X, s)
        return X, s

    def _fit_scores(self, data: FitData, work: None) -> None:
        X, codes = data.x, data.codes
        if self.sampling == "two-sample" and self._known_negatives:
            X, codes = _safe_indexing(X, np.flatnonzero(codes >= 0)), codes[codes >= 0]
        labels = (codes == 1).astype(np.int64)
        self.labelled_share_ = float(labels.mean())
        self.estimator_ = clone(self.estimator).fit(X, labels)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        probabilities = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        least = np.finfo(np.float64).tiny
        unlabelled, labelled = np.maximum(probabilities, least).T
        share = self.labelled_share_
        if self.sampling == "one-sample":
            log_posterior = np.log(self.prior_ / share * labelled)
        else:
            log_posterior = np.log(self.prior_ * (1 - share) / share) + np.log(labelled)
            log_posterior -= np.log(unlabelled)
        # Log-odds as far as there are any; beyond, what exceeds keeps the order of the rows.
        highest = np.log1p(-_CERTAIN)
        below = np.minimum(log_posterior, highest)
        scores = below - np.log(-np.expm1(below)) + np.maximum(log_posterior - highest, 0)
        return np.asarray(scores, dtype=np.float32)

    def _prior_samples(self, data: FitData, work: None) -> tuple[Any, Any, None]:
        """Out-of-fold probabilities of the estimator, on rows of whatever kind it takes."""
        used = np.flatnonzero(data.codes >= 0)
        X, labels = _safe_indexing(data.x, used), data.codes[used].astype(np.int64)
        groups = equal_rows(X) if data.groups is None else data.groups[used]
        n_groups = len(labels) if groups is None else np.unique(groups).size
        n_folds = min(5, int(labels.sum()), int((1 - labels).sum()), n_groups)
        if n_folds < 2:
            raise InputError(
                "Estimating the prior needs at least two labelled and two unlabelled rows."
            )
        folds = list(PUStratifiedKFold(n_folds, random_state=data.seed).split(X, labels, groups))
        if any(np.unique(labels[train]).size < 2 for train, _ in folds):
            raise InputError("Estimating the prior needs labelled and unlabelled rows that differ.")
        sigma = cross_val_predict(self.estimator, X, labels, cv=folds, method="predict_proba")[:, 1]
        return sigma[labels == 1], sigma[labels == 0], None

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        raise InputError(
            "A PUWrapper cannot be saved as a model folder: a scikit-learn object needs pickle, "
            "which runs code when it is loaded. Save it with joblib and load only your own files."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def _with_rows(X: Any) -> Any:
    """Return X as something whose rows can be chosen."""
    if sp.issparse(X):
        return X.tocsr()
    return X if isinstance(X, list | tuple) or hasattr(X, "shape") else np.asarray(X)


def _is_list(X: Any) -> bool:
    """Return whether X has one dimension."""
    shape = np.shape(X) if isinstance(X, list | tuple) else getattr(X, "shape", ())
    return len(shape) == 1
