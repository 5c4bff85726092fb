"""`BiasedLabelPU`: labels that depend on x, by a model of who gets labelled.

The share of positives is found by propensities, or by the likelihood of class and labelling.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.estimators.forest import Forest, along_paths, stored_forest
from nnpu.estimators.labelling_model import (
    Labelling,
    check_chance,
    chosen_columns,
    default_trees,
    expected_class,
    losses,
    needs_random,
    over_level,
    shift_to,
    split,
    standard,
)
from nnpu.estimators.wrapper import PUWrapper
from nnpu.extras import need_lightgbm
from nnpu.metrics import propensity_metrics
from nnpu.parameters import InputError, ParameterError, shown
from nnpu.prior import PriorEstimate, estimate_prior
from nnpu.prior.scores import spline_features
from nnpu.ranges import ENDS, Z90

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.labelling_model import Floats, Split
    from nnpu.prior.methods import Limits

__all__ = [
    "BiasedLabelPU",
    "biased_share",
    "weighted_share",
]

_OWNER = "BiasedLabelPU"
_FOLDS = 3  # for the log-odds out of fold, in every round of EM
_ROUNDS = 5  # of EM; more change little
_CERTAIN = 1e-6  # probabilities stay this far from 0 and 1, where log-odds are infinite


@dataclass
class _Work:
    """What the steps of a fit find for the steps after them.

    ``columns`` drive the labelling, ``chance`` is a known propensity. ``found`` is the split under
    the prior that was estimated; ``wrapper`` is the model if labels look random instead.
    """

    columns: tuple[int, ...] | None
    chance: Floats | None
    found: Split | None = None
    wrapper: PUWrapper | None = None


class BiasedLabelPU(BasePUClassifier):
    """Learn from labels that some positives were more likely to get than others.

    The chance of a label is P(labelled | x) = f(x) e(x), f being the probability of a positive and
    e, the propensity, the chance that a positive gets its label. Both are learned by EM: f by any
    classifier, scored out of fold, e by logistic regression. All rows are one sample
    (``sampling="one-sample"``).

    Parameters
    ----------
    estimator : classifier, optional
        What f is: anything whose `fit` takes `sample_weight` and that has `predict_proba`. Default:
        60 small boosted trees (LightGBM).
    prior : float or "auto", default="auto"
        The share of positives among all rows. Give it if it is known: the split rests on it.
        "auto" estimates it by how well f and e explain who is labelled, and from labelled rows
        weighted by 1 / e, against all rows.
    propensity : "all", str, int or list of them, default="all"
        What e depends on: names or numbers of the columns that drive the labelling. "all": the
        log-odds of f, so clear cases are labelled more or less often; that needs a prior.
    random_state : int, RandomState or None, default=None
        Decides the folds, the default trees and the rows that the prior is estimated from.

    Attributes
    ----------
    estimator_ : classifier or None
        The fitted clone; None for the default trees, which are in ``forest_``.
    labelling_ : Labelling or None
        e(x). None if labels look random (the propensity is then the same for all rows), or if the
        propensities were given to `fit`.
    labels_vary_ : bool
        Whether the propensity was found, or said, to depend on x.
    classes_, sampling_, prior_, prior_estimate_, threshold_, n_features_in_
        As in `BasePUClassifier`.

    Notes
    -----
    Without an assumption f and e cannot be told apart. Here f is held to the prior and e is
    logistic in the columns you name; the class may depend on these columns too. Labels are taken
    as random unless the likelihood clearly says otherwise (the Bayesian information criterion);
    with ``prior="auto"`` the model is then that of `PUWrapper`.
    A positive that had no chance of a label cannot be found. What was measured is in
    ``docs/lab/biased_labels.md``.

    References
    ----------
    Bekker, Robberechts and Davis (2019), Beyond the selected completely at random assumption for
    learning from positive and unlabeled data.

    Examples
    --------
    Old patients (column 1) are tested more often, so more of them are known:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from nnpu import BiasedLabelPU
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.4
    >>> X = rng.normal(size=(4000, 2)) + 2.0 * np.c_[y, np.zeros(4000)]
    >>> s = y & (rng.random(4000) < 1 / (1 + np.exp(1 - 2 * X[:, 1])))
    >>> clf = BiasedLabelPU(LogisticRegression(), 0.4, propensity=[1], random_state=0).fit(X, s)
    >>> clf.labels_vary_, bool(np.mean(clf.predict(X) == y) > 0.8)
    (True, True)
    >>> clf.chance([[2.0, -1.0], [2.0, 2.0]]).round(1)    # the truth: 0.05 and 0.95
    array([0.1, 0.9])
    """

    _one_sample_only = True
    sampling = "one-sample"

    def __init__(
        self,
        estimator: Any = None,
        prior: float | str = "auto",
        *,
        propensity: Any = "all",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.propensity = propensity
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None, chance: Any = None) -> Self:
        """Fit class and propensity, or the class alone under propensities that are known.

        Parameters
        ----------
        X, y, groups
            As in `BasePUClassifier.fit`.
        chance : array-like of shape (n,), optional
            The propensity of each row, if it is known: P(labelled | y = +1, x), in (0, 1]. It
            replaces `propensity`, and ``prior="auto"`` becomes the mean of s / e.

        Returns
        -------
        self
        """
        return self._fit(X, y, groups, chance=chance)

    def chance(self, X: Any) -> NDArray[np.float64]:
        """Return the propensity e of each row, the chance of a label if the row is positive.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        """
        check_is_fitted(self)
        if self.labels_vary_ and self.labelling_ is None:
            raise InputError(
                f"{_OWNER} was fitted with known propensities and has no model of them: use those "
                "that you passed."
            )
        X = self._validate(X)
        if self.labelling_ is None:
            return np.full(X.shape[0], self._level)
        return self.labelling_.chance(X, self._log_odds(X))

    def score(self, X: Any, y: Any, *, chance: Any = None) -> float:
        """Return the accuracy by inverse propensities, from PU labels.

        Parameters
        ----------
        X, y
            Rows and their PU labels, as in `fit`.
        chance : array-like of shape (n,), optional
            Their propensities; by default those of the model, which then judges itself.
        """
        predictions = self._positive(X).astype(int)
        codes = self._encode(predictions, y)
        chance = self.chance(X) if chance is None else chance
        return propensity_metrics(codes == 1, predictions, chance=chance).accuracy

    def calibrate(self, X: Any, y: Any) -> NoReturn:
        """Refuse: it assumes random labels. Probabilities are those of EM."""
        raise needs_random("calibrate", _OWNER)

    def _choose(self, scores: Any, codes: Any, *how: Any) -> NoReturn:
        """Refuse: it assumes random labels. Set ``threshold_`` yourself."""
        raise needs_random("choose_threshold", _OWNER)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        if self.estimator is None:
            return
        usable = not isinstance(self.estimator, type) and all(
            hasattr(self.estimator, name) for name in ("fit", "predict_proba")
        )
        if not usable or not has_fit_parameter(self.estimator, "sample_weight"):
            raise ParameterError(
                f"The 'estimator' parameter of {_OWNER} must be a classifier with predict_proba "
                f"whose fit takes sample_weight. Got {shown(self.estimator)} instead."
            )

    def _prepare(self, data: FitData) -> _Work:
        if sp.issparse(data.x):
            raise InputError(f"{_OWNER} takes dense rows. Got a sparse matrix; pass X.toarray().")
        if self.estimator is None:
            need_lightgbm(_OWNER)
        s = data.codes == 1
        if min(s.sum(), (~s).sum()) < 2:
            raise InputError(f"{_OWNER} needs at least two labelled and two unlabelled rows.")
        names = list(getattr(self, "feature_names_in_", []))
        columns = chosen_columns(self.propensity, names, self.n_features_in_, _OWNER)
        chance = None if data.chance is None else check_chance(data.chance, s, _OWNER)
        return _Work(columns, chance)

    def _find_prior(self, data: FitData, work: _Work) -> float:
        X, s = data.x, data.codes == 1
        if self.prior == "auto" and work.chance is not None:
            self.prior_estimate_ = weighted_share(s, work.chance)
            return self.prior_estimate_.value
        first = super()._find_prior(data, work)
        if self.prior != "auto":  # given, or estimated within limits
            return first
        if work.columns is None:
            warnings.warn(
                "Without a known prior, how labels depend on the score cannot be estimated: "
                "labels are taken as given at random. Give a prior, or name the columns that "
                "drive the labelling (propensity=...).",
                UserWarning,
                stacklevel=4,
            )
            work.columns = ()
        if not _split(data, work, first).varies:
            return self._take_as_random(data, work)
        estimate = biased_share(X, s, work.columns, data.groups, data.seed)
        found = _split(data, work, estimate.value)
        if not found.varies:
            return self._take_as_random(data, work)
        self.prior_estimate_, work.found = estimate, found
        warnings.warn(estimate.message, UserWarning, stacklevel=4)
        return estimate.value

    def _take_as_random(self, data: FitData, work: _Work) -> float:
        """Fit as `PUWrapper` would, and return its prior."""
        model = default_trees(data.seed) if self.estimator is None else self.estimator
        wrapper = PUWrapper(model, sampling="one-sample", random_state=self.random_state)
        work.wrapper = wrapper.fit(data.x, (data.codes == 1).astype(int), groups=data.groups)
        self.prior_estimate_ = wrapper.prior_estimate_
        return wrapper.prior_

    def _fit_scores(self, data: FitData, work: _Work) -> None:
        X, s = data.x, data.codes == 1
        self._as_labelled = work.wrapper is not None
        if work.wrapper is not None:
            model = work.wrapper.estimator_
            self.labels_vary_, self.labelling_, self._shift = False, None, 0.0
            self._level = float(s.mean() / self.prior_)
        else:
            found = work.found or _split(data, work, self.prior_)
            log_odds, chance, self.labelling_, self._shift = self._rounds(data, work, found)
            self.labels_vary_ = found.varies
            self._level = float(np.mean(chance))
            model = self._learn(X, expected_class(log_odds, chance, s), data.seed)
        self.estimator_ = None if self.estimator is None else model
        self.forest_ = (
            Forest.from_text(model.booster_.model_to_string()) if self.estimator is None else None
        )

    def _rounds(
        self, data: FitData, work: _Work, found: Split
    ) -> tuple[Floats, Floats, Labelling | None, float]:
        """Run EM; return log-odds out of fold, propensities, their model, and the last shift."""
        X, s, seed, prior = data.x, data.codes == 1, data.seed, self.prior_
        folds = PUStratifiedKFold(min(_FOLDS, int(s.sum()), int((~s).sum())), random_state=seed)
        parts = list(folds.split(X, s.astype(int), data.groups))
        log_odds, chance, labelling, shift = found.log_odds, found.chance, None, 0.0
        for _ in range(_ROUNDS):
            target = expected_class(log_odds, chance, s)
            raw = np.empty(len(s))
            for train, test in parts:
                raw[test] = _log_odds(self._learn(X[train], target[train], seed), X[test])
            shift = shift_to(prior, raw)
            log_odds = raw + shift
            if not found.varies:
                chance = np.full(len(s), min(s.mean() / prior, 1 - _CERTAIN))
            elif work.chance is None:
                labelling = _fit_labelling(X, work.columns, log_odds, chance, s)
                chance = labelling.chance(X, log_odds)
        return log_odds, chance, labelling, shift

    def _learn(self, X: Any, target: Floats, seed: int) -> Any:
        """Fit f: each row as a positive with weight P(y = +1 | x, s), and as a negative."""
        weight = np.concatenate([target, 1 - target])
        rows = np.flatnonzero(weight > 0)
        model = default_trees(seed) if self.estimator is None else clone(self.estimator)
        n = len(target)
        return model.fit(X[rows % n], (rows < n).astype(int), sample_weight=weight[rows])

    def _log_odds(self, X: Any) -> Floats:
        raw = self.forest_.scores(X) if self.forest_ is not None else _log_odds(self.estimator_, X)
        return over_level(raw, self._level) if self._as_labelled else raw + self._shift

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return self._log_odds(X).astype(np.float32)

    def _divided(self, X: Any, background: Any) -> tuple[float, NDArray[np.float64]] | None:
        if self.forest_ is None or self._as_labelled:  # a curve of the forest's scores
            return None
        base, values = along_paths(self.forest_, X, background)
        return base + self._shift, values

    def _allows_missing(self) -> bool:
        return self.estimator is None or get_tags(self.estimator).input_tags.allow_nan

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        if self.forest_ is None:
            raise InputError(
                f"A {_OWNER} around a classifier of your own cannot be saved as a model folder: a "
                "scikit-learn object needs pickle, which runs code when it is loaded. Save it with "
                "joblib, or use the default trees (estimator=None)."
            )
        tensors |= self.forest_.arrays()
        labelling = self.labelling_
        if labelling is not None:
            tensors |= {f"labelling/{name}": getattr(labelling, name) for name in _ARRAYS}
            fitted["labelling"] = {
                "columns": labelling.columns and list(labelling.columns),
                "intercept": labelling.intercept,
            }
        return tensors, fitted | {
            "shift": self._shift,
            "level": self._level,
            "as_labelled": self._as_labelled,
            "labels_vary": self.labels_vary_,
        }

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        arrays = dict(tensors)
        self.labelling_, stored = None, fitted.get("labelling")
        if stored is not None:
            parts = {name: arrays.pop(f"labelling/{name}") for name in _ARRAYS}
            columns = stored["columns"]
            size = 1 if columns is None else len(columns)
            inside = columns is None or all(type(c) is int for c in columns)
            inside = inside and all(0 <= c < self.n_features_in_ for c in columns or ())
            if not inside or any(
                p.shape != (size,) or p.dtype != np.float64 for p in parts.values()
            ):
                raise InputError("The stored model of the labelling does not fit the features.")
            chosen = None if columns is None else tuple(columns)
            self.labelling_ = Labelling(
                columns=chosen, intercept=float(stored["intercept"]), **parts
            )
        self.forest_, self.estimator_ = stored_forest(arrays, self.n_features_in_), None
        self._shift, self._level = float(fitted["shift"]), float(fitted["level"])
        self.labels_vary_ = fitted["labels_vary"] is True
        self._as_labelled = fitted.get("as_labelled") is True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


_ARRAYS = ("mean", "scale", "coef")


def _split(data: FitData, work: _Work, prior: float) -> Split:
    """Split who is labelled into class and labelling, under a prior."""
    drivers = None if work.columns is None else standard(data.x[:, list(work.columns)])[0]
    features = spline_features(len(data.codes)).fit_transform(data.x)
    return split(features, drivers, data.codes == 1, prior, work.chance)


def _fit_labelling(
    X: Any,
    columns: tuple[int, ...] | None,
    log_odds: Floats,
    chance: Floats,
    s: NDArray[np.bool_],
) -> Labelling:
    """Fit e: who is labelled, each row weighted by how surely it is positive."""
    from sklearn.linear_model import LogisticRegression

    raw = log_odds[:, None] if columns is None else X[:, list(columns)]
    drivers, mean, scale = standard(raw)
    weight = expected_class(log_odds, chance, s)
    model = LogisticRegression(max_iter=300).fit(drivers, s, sample_weight=weight)
    return Labelling(columns, mean, scale, model.coef_[0], float(model.intercept_[0]))


def _log_odds(model: Any, X: Any) -> Floats:
    p = np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    return np.asarray(logit(np.clip(p, _CERTAIN, 1 - _CERTAIN)), dtype=np.float64)


#: Neither class nor labelling is exactly logistic: labels say no more than so many would.
MODEL_LABELS = 100

_SHARES = 12  # that are tried
_DRAWS = 2  # of labelled rows by their weights: the mean of their estimates counts
_MOST = 0.95  # quantile of the weights above which no row counts more
_MORE = 1 + 1e-6  # the prior is greater than the labelled share


def weighted_share(s: NDArray[np.bool_], chance: Floats) -> PriorEstimate:
    """Return the mean of s / e, which is the share of positives if the propensities are right."""
    value = s / chance
    share, margin = float(value.mean()), Z90 * float(value.std() / np.sqrt(len(s)))
    if share >= 1:
        raise InputError(
            f"The mean of s / chance is {share:.3g}: more positives than rows. The propensities "
            "are too small; give larger ones, or a prior."
        )
    low, high = max(share - margin, float(s.mean())), min(share + margin, 1.0)
    said = f"The share of positives is about {share:.2g} ({low:.2g} to {high:.2g}), by the "
    said += "propensities that were given. It is right if they are."
    return PriorEstimate(share, min(low, share), high, "auto", True, said, sampling="one-sample")


def biased_share(
    X: Any,
    s: NDArray[np.bool_],
    columns: Sequence[int],
    groups: NDArray[np.intp] | None,
    seed: int,
) -> PriorEstimate:
    """Estimate the prior where `columns` drive the labelling: the mean of two estimates.

    One is the share at which class and labelling best explain who is labelled; it errs where
    neither is what the model says. The other weights labelled rows by that labelling and compares
    them with all rows; it errs where classes overlap.
    """
    features = spline_features(len(s)).fit_transform(X)
    drivers = standard(X[:, list(columns)])[0]
    likely = _by_likelihood(features, drivers, s)
    chance = split(features, drivers, s, likely[0]).chance
    weighted = _by_weights(X, s, chance, groups, seed)
    value, low, high = np.mean([likely, weighted], axis=0).tolist()
    said = (
        f"The share of positives is about {value:.2g} ({low:.2g} to {high:.2g}), estimated from "
        "how well class and labelling together explain who is labelled, and from labelled rows "
        "weighted by that labelling. The rows alone cannot show whether a column drives the class "
        "or the labelling: a prior known from elsewhere, or a review of 100 unlabelled rows, "
        "would settle it."
    )
    return PriorEstimate(value, low, high, "auto", False, said, sampling="one-sample")


def _by_likelihood(features: Floats, drivers: Floats, s: NDArray[np.bool_]) -> Limits:
    """Return the mean and the limits of the posterior over the share.

    Before, it has the beta law with parameters ½ and 1.
    """
    b = float(s.mean())
    margin = b * (1 - b) / 10
    tried = np.linspace(logit(1 - margin), logit(b + margin), _SHARES)
    loss = losses(features, drivers, s, expit(tried)) / (1 + s.sum() / MODEL_LABELS)
    log_odds = np.linspace(tried[-1], tried[0], 400)
    share = expit(log_odds)
    log_weight = np.log(share) / 2 + np.log1p(-share)
    log_weight -= PchipInterpolator(tried[::-1], loss[::-1])(log_odds)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    low, high = np.interp(ENDS, np.cumsum(weight) - weight / 2, share).tolist()
    return float(share @ weight), low, high


def _by_weights(
    X: Any, s: NDArray[np.bool_], chance: Floats, groups: NDArray[np.intp] | None, seed: int
) -> Limits:
    """Estimate the share from labelled rows that count 1 / e each, against all rows.

    Counted so, labelled rows are like a random sample of the positives. They are drawn by their
    weights, as many as they are worth, and a row's copies share its fold.
    """
    labelled = np.flatnonzero(s)
    weight = 1 / chance[labelled]
    weight = np.minimum(weight, np.quantile(weight, _MOST))
    size = max(round(weight.sum() ** 2 / np.square(weight).sum()), 2)
    steps = np.cumsum(weight) / weight.sum() * size
    steps[-1] = size  # rounding
    together = np.arange(len(s)) if groups is None else groups
    found = []
    for number in range(_DRAWS):
        start = np.random.default_rng([seed, number]).random()
        chosen = labelled[np.searchsorted(steps, start + np.arange(size))]
        pair = (together[chosen], together)
        one = estimate_prior(X[chosen], X, random_state=seed + number, groups=pair)
        found.append((one.value, one.low, one.high))
    value, low, high = np.clip(np.mean(found, axis=0), s.mean() * _MORE, 1).tolist()
    return value, low, high
