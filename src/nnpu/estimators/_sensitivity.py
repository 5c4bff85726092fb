"""How much depends on the prior: the same classifier under a range of assumed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from nnpu import metrics
from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators.labels import fit_labels
from nnpu.parameters import ParameterError, check_prior, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.labels import Labels

__all__ = ["sensitivity"]

FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2)  # those of Figure 3
_METRICS = ("accuracy", "precision", "recall")


def sensitivity(
    estimator: BasePUClassifier,
    X: Any,
    y: Any,
    priors: Iterable[float] | None = None,
    *,
    n_splits: int = 5,
    random_state: Any = None,
) -> list[dict[str, float]]:
    """Fit under a range of assumed priors π′ and report what changes: Figure 3 for your own data.

    Under each π′ every row is predicted by a classifier that was fitted to the other folds.

    Parameters
    ----------
    estimator : PU classifier
        `PUClassifier` or `PUWrapper`; it is cloned, never changed. Its own
        prior is the base of the comparison: ``prior_`` if it is fitted, else `prior`, which is
        estimated if it is "auto".
    X, y : array-like of shape (n, …), (n,)
        Rows and PU labels as in `fit`.
    priors : iterable of float, optional
        The priors to assume; the base is added. Default: 0.8, 0.9, 1, 1.1 and 1.2 times the base,
        as far as they are possible.
    n_splits : int, default=5
        The number of folds.
    random_state : int, RandomState or None, default=None
        The seed of the folds; the classifier has its own.

    Returns
    -------
    list of dict
        One row per assumed prior, in increasing order: ``assumed_prior``; ``accuracy``,
        ``precision`` and ``recall``, each also with ``_low`` and ``_high``, the limits of its 90 %
        range; ``share_flagged``, the share of the population that is predicted positive; and
        ``agreement``, the share of it whose prediction is that under the base prior. Accuracy and
        precision are estimated as if π′ were right: compare them with what is known of the
        matter, not with each other. `nnpu.report.sensitivity_panels` draws the table.

    References
    ----------
    Kiryo et al. (2017), Figure 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from nnpu import PUWrapper
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(2, 1, (500, 1)), rng.normal(-2, 1, (700, 1))]
    >>> s = np.r_[np.ones(200), np.zeros(1000)]                     # 30 % of U are positive
    >>> rows = sensitivity(PUWrapper(LogisticRegression(), prior=0.3), X, s, random_state=0)
    >>> [round(row["assumed_prior"], 2) for row in rows]
    [0.24, 0.27, 0.3, 0.33, 0.36]
    >>> rows[2]["agreement"]
    1.0
    """
    if "prior" not in estimator.get_params(deep=False):
        raise ParameterError(
            "The 'estimator' parameter of sensitivity must be a classifier with a 'prior' "
            f"parameter, such as PUClassifier. Got {shown(estimator)} instead."
        )
    if hasattr(X, "detach"):
        X = X.detach().cpu().numpy()
    y = np.asarray(y)
    codes = fit_labels(y)[1]
    base = _base_prior(estimator, X, y)
    assumed = _assumed_priors(priors, base, estimator.sampling, float(np.mean(codes == 1)))
    fold = PUStratifiedKFold(n_splits, random_state=random_state).assign(codes)
    flagged = {prior: _predict_out_of_fold(estimator, X, y, prior, fold) for prior in assumed}
    return [_row(codes, flagged[prior], flagged[base], prior, estimator) for prior in assumed]


def _base_prior(estimator: BasePUClassifier, X: Any, y: Any) -> float:
    if hasattr(estimator, "prior_"):
        return float(estimator.prior_)
    if estimator.prior != "auto":
        return check_prior(estimator.prior, type(estimator).__name__)
    return float(clone(estimator).fit(X, y).prior_)


def _assumed_priors(
    priors: Iterable[float] | None, base: float, sampling: str, labelled_share: float
) -> list[float]:
    least = labelled_share if sampling == "one-sample" else 0.0
    if priors is None:
        chosen = [factor * base for factor in FACTORS if least < factor * base < 1]
    else:
        chosen = [check_prior(prior, "sensitivity", name="priors") for prior in priors]
    if min(chosen, default=1.0) <= least:
        raise ParameterError(
            "The 'priors' parameter of sensitivity must be greater than the share of labelled "
            f"rows, {least:.4g}, when sampling='one-sample'. Got {min(chosen)!r} instead."
        )
    return sorted({*chosen, base})


def _predict_out_of_fold(
    estimator: BasePUClassifier, X: Any, y: NDArray[Any], prior: float, fold: NDArray[np.intp]
) -> NDArray[np.bool_]:
    flagged = np.empty(len(y), dtype=bool)
    for number in np.unique(fold):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = clone(estimator).set_params(prior=prior).fit(_safe_indexing(X, train), y[train])
        flagged[test] = model.predict(_safe_indexing(X, test)) == model.classes_[1]
    return flagged


def _row(
    codes: Labels,
    flagged: NDArray[np.bool_],
    base: NDArray[np.bool_],
    prior: float,
    estimator: BasePUClassifier,
) -> dict[str, float]:
    setting: dict[str, Any] = {"prior": prior, "sampling": estimator.sampling}
    row = {"assumed_prior": prior}
    for name in _METRICS:
        metric = metrics.METRICS[f"pu_{name}"]
        row[name] = metric(codes, flagged, **setting)
        row[f"{name}_low"], row[f"{name}_high"] = metrics.interval(
            metric, codes, flagged, **setting
        )
    population = codes == 0 if estimator.sampling == "two-sample" else np.ones_like(flagged)
    row["share_flagged"] = float(flagged[population].mean())
    row["agreement"] = float((flagged == base)[population].mean())
    return row
