"""The base of every classifier: labels, prior, probabilities, threshold, saving.

A subclass says only how scores are fitted (`_fit_scores`) and computed (`_scores`).
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from importlib import metadata
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, check_random_state

from nnpu import metrics
from nnpu.calibration import ScoreCalibration
from nnpu.estimators import labels, threshold_choice
from nnpu.estimators.evaluation import prior_interval, prior_lines
from nnpu.estimators.explain import contributions
from nnpu.estimators.features import offset_to_json, prior_rows, rows_of, validate
from nnpu.estimators.loading import restore_shared, save
from nnpu.metrics.scorers import PUScorer
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_prior,
    check_prior_range,
    check_sampling,
)
from nnpu.prior import PriorEstimate, estimate_prior

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.calibration import Threshold
    from nnpu.estimators.ensemble.task import LargerTable
    from nnpu.estimators.explain import Contributions
    from nnpu.estimators.labels import Labels
    from nnpu.estimators.out_of_fold import OutOfFold
    from nnpu.review import KnownRows

__all__ = [
    "BasePUClassifier",
    "FitData",
    "NotebookBox",
    "refuse_search_over_prior",
]


class NotebookBox:
    """Adds a line about the fitted prior, and a link, to scikit-learn's HTML of an estimator."""

    _doc_link_module = "nnpu"

    @property
    def _doc_link_template(self) -> str:
        """The page of a class on the site that ``[project.urls]`` names; without one no link."""
        try:
            urls = metadata.metadata("nnpu").get_all("Project-URL") or []
        except metadata.PackageNotFoundError:
            urls = []
        site = dict(url.split(", ", 1) for url in urls).get("Documentation", "")
        return f"{site.rstrip('/')}/api/nnpu.{{estimator_name}}.html" if site else ""

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{_about_prior(self)}"  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += _about_prior(self)
        return bundle


def _about_prior(estimator: Any) -> str:
    """Say which prior was given or estimated; nothing before `fit`."""
    classifier = getattr(estimator, "classifier_", estimator)
    if not hasattr(classifier, "prior_"):
        return ""
    estimate = classifier.prior_estimate_
    known = estimate is None or estimate.identified
    lines = prior_lines(prior_interval(classifier), known)
    return f"<p><small>{escape(' '.join(lines))}</small></p>"


_NEAR = 8  # frames between the search and the step of a pipeline whose prior it sets


def refuse_search_over_prior(parameters: Mapping[str, Any], owner: str) -> None:
    """Raise `ParameterError` if scikit-learn sets `prior` for a candidate that it will score.

    A score under the candidate's own prior says nothing about the prior: on most data the largest
    one wins. A scorer with a prior of its own, or one of true labels, may judge candidates.

    Parameters
    ----------
    parameters : mapping
        What `set_params` was given.
    owner : str
        The class, for the message.
    """
    if "prior" not in parameters:
        return
    frame = sys._getframe(1)
    for _ in range(_NEAR):
        if frame.f_code.co_name == "_fit_and_score":
            break
        own = frame.f_globals.get("__name__", "").startswith("nnpu.")
        if frame.f_back is None or (own and frame.f_code.co_name != "set_params"):
            return  # a fit of this package that passes its prior on: no search
        frame = frame.f_back
    else:
        return
    if not _goes_by_own_prior(frame.f_locals.get("scorer")):
        return
    raise ParameterError(
        f"The 'prior' parameter of {owner} cannot be searched over: each candidate would be scored "
        "under its own prior, and such scores do not say which prior is right. Give the prior, or "
        "let prior='auto' estimate it; to compare models with different priors, judge them all "
        "under one: scoring=make_pu_scorer('pu_accuracy', prior=...)."
    )


def _goes_by_own_prior(scorer: Any) -> bool:
    """Return whether a scorer, or one of several, takes the prior from the estimator."""
    from sklearn.dummy import DummyClassifier  # heavy, and a search has loaded them
    from sklearn.metrics import check_scoring

    several = getattr(scorer, "_scorers", None)  # scikit-learn's scorer of several metrics
    each = list(several.values()) if isinstance(several, dict) else [scorer]
    calls_score = type(check_scoring(DummyClassifier()))  # what a search without scoring= uses
    return any(
        one.prior is None if isinstance(one, PUScorer) else isinstance(one, calls_score)
        for one in each
    )


metrics.register_scorers()  # for scoring="pu_f1"


@dataclass(frozen=True)
class FitData:
    """What `fit` was given, checked: every step of a fit takes it, and no classifier keeps it.

    Attributes
    ----------
    x : array, sparse matrix or Rows
        The features, as `_validate` returns them.
    codes : ndarray of shape (n,)
        PU labels: 1 labelled positive, 0 unlabelled, −1 known negative.
    groups : ndarray of shape (n,) or None
        Numbers of groups whose rows stay together.
    seed : int
        What every random choice of the fit derives from.
    answers : KnownRows or None
        What a person said of some rows; `EnsemblePU` takes it.
    chance : array-like or None
        The propensity of each row, if it is known; `BiasedLabelPU` takes it.
    table : LargerTable or None
        The table of which the rows are a sample; `EnsemblePU` takes it.
    """

    x: Any
    codes: Labels
    groups: NDArray[np.intp] | None
    seed: int
    answers: KnownRows | None = None
    chance: Any = None
    table: LargerTable | None = None


class BasePUClassifier(NotebookBox, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What all PU classifiers share. Use one of its subclasses.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The unlabelled (or negative) and the labelled class.
    prior_ : float
        The class prior π_p that was given or estimated.
    prior_estimate_ : PriorEstimate or None
        How it was estimated, if it was; without its curve in a classifier from a folder.
    sampling_ : {"one-sample", "two-sample"}
        How the rows of the fit came about.
    calibration_ : ScoreCalibration
        From scores to probabilities: the plain logistic function until `calibrate` is called.
    threshold_ : float
        `predict` calls a row positive if its score is greater: 0 until `choose_threshold`.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    prior: float | str | tuple[float, float]
    sampling: str
    random_state: Any
    scar_test_: Any = None  # the `ScarTest` of a table's labels, if `TablePU` made one
    out_of_fold_: OutOfFold | None = None  # of the rows of the fit, where the fit has them anyway
    _offset: NDArray[np.float64] | None = None  # what is subtracted from the columns of X
    _called_by: str = ""  # the class that the user called, if it was another

    # What the job of a table must know of a class.
    _takes_codes = False  # gaps and codes of categories as they are, as trees do
    _takes_words = False  # words beside numbers and codes
    _takes_images = False  # images, and nothing else
    _trains_in_epochs = False  # as networks do, for as long as the user likes
    _one_sample_only = False
    _negatives_are_population = False  # known ones: unlabelled rows of one sample, else not used
    _traced_by_torch = False  # its ONNX graph is

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a search over `prior` by scores under each candidate's own is refused."""
        refuse_search_over_prior(params, type(self).__name__)
        return super().set_params(**params)  # type: ignore[no-any-return]

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Fit from labelled positives and unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Features; a network also takes images and other shapes (n, …) that its module takes,
            and tables on disk: memory maps, `nnpu.data.ParquetRows`, `nnpu.data.read_csr`.
        y : array-like of shape (n,)
            The PU labels s, under the name that scikit-learn wants. Two values: the greater is
            labelled positive, the other unlabelled. Exactly {−1, 0, 1}: −1 is a known negative.
        groups : array-like of shape (n,), optional
            Rows with equal values (the visits of one patient) are never in two folds: not where
            the prior is estimated, nor where a model is calibrated out of fold.

        Returns
        -------
        self
        """
        return self._fit(X, y, groups)

    def _fit(
        self,
        X: Any,
        y: Any,
        groups: Any,
        answers: KnownRows | None = None,
        chance: Any = None,
        table: LargerTable | None = None,
    ) -> Self:
        """Take the steps of every fit; what `_prepare` returns is handed to those after it."""
        data, work = self._up_to_prior(X, y, groups, answers, chance, table)
        self.calibration_, self.threshold_ = ScoreCalibration(1.0, 0.0), 0.0
        self._fit_scores(data, work)
        return self

    def _up_to_prior(
        self,
        X: Any,
        y: Any,
        groups: Any,
        answers: KnownRows | None = None,
        chance: Any = None,
        table: LargerTable | None = None,
    ) -> tuple[FitData, Any]:
        """Take the steps of a fit up to ``prior_``; return what the others take."""
        self._check_parameters()
        self.sampling_ = self.sampling
        X, s = self._validate(X, y)
        self.classes_, codes = labels.fit_labels(s)
        groups = labels.fit_groups(groups, len(codes), self._owner)
        self._known_negatives = bool(np.any(codes == -1))
        self._check_labels(codes)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        data = FitData(X, codes, groups, seed, answers, chance, table)
        work = self._prepare(data)
        self.prior_estimate_: PriorEstimate | None = None
        self.prior_ = self._find_prior(data, work)
        return data, work

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return the scores g(x): positive where the labelled class is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self._scores(self._validate(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row: ``classes_[1]`` is the labelled class.

        It is that of the rows whose score is greater than ``threshold_``.
        """
        positive = self._positive(X)
        return np.asarray(self.classes_[positive.astype(int)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n, 2), in the order of ``classes_``.

        They are ``calibration_`` of the scores. Before `calibrate` that is the logistic function:
        posteriors under ``prior_`` only as far as the loss makes scores log-odds.
        """
        scores = self.decision_function(X)
        positive = self.calibration_(scores)
        return np.column_stack([1 - positive, positive])

    def calibrate(self, X: Any, y: Any) -> Self:
        """Make `predict_proba` a posterior, by rows that the classifier was not fitted to.

        Slope and intercept are fitted to P and U under ``prior_``; see
        `nnpu.calibration.fit_calibration`. ``threshold_`` stays, so `predict` does too;
        ``choose_threshold(at="half")`` then cuts where the probability is one half.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Held-out rows: rows of the training would make the probabilities too extreme.
        y : array-like of shape (n,)
            Their PU labels, as in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from nnpu import LinearPU
        >>> rng = np.random.default_rng(0)
        >>> y = np.r_[np.ones(700), -np.ones(700)]       # 400 of the positives are labelled
        >>> X, s = rng.normal(y[:, None], 1), np.r_[np.ones(400), np.zeros(1000)]
        >>> clf = LinearPU(0.3).fit(X[::2], s[::2])
        >>> clf = clf.calibrate(X[1::2], s[1::2])
        >>> bool(abs(clf.predict_proba(X[s == 0])[:, 1].mean() - 0.3) < 0.05)
        True
        """
        self.calibration_ = threshold_choice.calibration(self, *self._scored(X, y))
        return self

    def choose_threshold(
        self,
        X: Any,
        y: Any,
        *,
        at: str | None = None,
        precision: float | None = None,
        recall: float | None = None,
    ) -> Threshold:
        """Set ``threshold_``, where `predict` cuts the scores, without any negative.

        Parameters
        ----------
        X, y
            Rows that the classifier was not fitted to, and their PU labels, as in `calibrate`.
        at : {"prior", "half", "regret"}, optional
            "prior": predict as many positives as there are; precision equals recall there. "half":
            where the calibrated probability is one half, the most accurate cut if it is right.
            "regret": the cut that loses least over the range of an estimated prior; see
            `nnpu.calibration.least_regret_cut`.
        precision, recall : float, optional
            The value to reach by PU estimates. Exactly one of `at`, `precision` and `recall`.

        Returns
        -------
        Threshold
            The cut, and an estimate with its 90 % range: of the recall if a recall was asked
            for, else of the precision. Both take ``prior_`` as known.
        """
        return self._choose(*self._scored(X, y), at, precision, recall)

    def shift_prior(self, new_prior: float) -> Self:
        """Return a copy for a population in which positives have another share.

        Probabilities and threshold move as in `nnpu.calibration.shift_prior`: the log-odds by
        logit π′ − logit π, and the cut so that it stays at the same probability. This is right if
        each class looks the same there, and as far as probabilities are calibrated: call
        `calibrate` first, and `choose_threshold` with ``at="prior"`` or a precision anew on rows
        of that population where there are any.

        Parameters
        ----------
        new_prior : float
            π′, the share of positives where the classifier will be used.
        """
        check_is_fitted(self)
        return threshold_choice.shifted(self, new_prior)

    def explain(
        self, X: Any, *, background: Any = None, n_orders: int = 4, random_state: int = 0
    ) -> Contributions:
        """Divide the score of each row among the columns; see `nnpu.estimators.explain`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows to explain; dense.
        background : array-like, optional
            Rows that a score is compared with. Default: X itself.
        n_orders, random_state : int
            How many random orders of the columns are averaged, and what decides them.

        Returns
        -------
        Contributions
            ``base + values.sum(axis=1)`` are the scores, and ``columns`` the names of the columns.
        """
        return contributions(
            self, X, background=background, n_orders=n_orders, random_state=random_state
        )

    def score(self, X: Any, y: Any) -> float:
        """Return the PU accuracy under ``prior_`` from PU labels `y`: no true label is needed.

        It estimates the share of right predictions in the population, so model selection
        by ``GridSearchCV`` goes the right way. It can leave [0, 1]. With true labels at hand use
        ``sklearn.metrics.accuracy_score``.
        """
        predictions = self._positive(X).astype(int)
        codes = self._encode(predictions, y)
        if self._unlabelled_is_negative():
            return float(np.mean(predictions == (codes == 1)))
        return metrics.pu_accuracy(codes, predictions, prior=self.prior_, sampling=self.sampling)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the fitted classifier as a model folder; see `nnpu.load`."""
        return save(self, folder)

    @property
    def _owner(self) -> str:
        """What errors about the shared parameters call the classifier."""
        return self._called_by or type(self).__name__

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check every constructor parameter before any work is done."""

    def _unlabelled_is_negative(self) -> bool:
        """Return whether every row without a label is a negative: ordinary supervision."""
        return False

    def _ignores_negatives(self) -> str:
        """Say who does not use known negatives, and what to do; empty if they are used."""
        if self._negatives_are_population and self.sampling == "two-sample":
            return f"{type(self).__name__}; PUClassifier(risk='nnpnu') uses them."
        return ""

    def _prior_samples(self, data: FitData, work: Any) -> tuple[Any, Any, Any]:
        """Return what the prior is estimated from: rows of P and of U, and the groups of both.

        Or scores made by models that have not seen these rows, and None.
        """
        p, u = prior_rows(data.x, data.codes, data.seed)
        groups = None if data.groups is None else (data.groups[p], data.groups[u])
        return rows_of(data.x, p), rows_of(data.x, u), groups

    def _positive(self, X: Any) -> NDArray[np.bool_]:
        # In float64: NumPy would round the threshold to the type of the scores.
        above: NDArray[np.bool_] = self.decision_function(X).astype(np.float64) > self.threshold_
        return above

    def _encode(self, values: Any, y: Any) -> Labels:
        codes = labels.encode(y, self.classes_, known_negatives=self._known_negatives)
        check_consistent_length(values, codes)
        return codes

    def _scored(self, X: Any, y: Any) -> tuple[NDArray[np.float32], Labels]:
        scores = self.decision_function(X)
        return scores, self._encode(scores, y)

    def _choose(
        self,
        scores: NDArray[np.float32],
        codes: Labels,
        at: str | None,
        precision: float | None,
        recall: float | None,
    ) -> Threshold:
        """Set ``threshold_`` by scored rows."""
        chosen = threshold_choice.threshold(self, scores, codes, at, precision, recall)
        self.threshold_ = chosen.value
        return chosen

    def _calibrate_on(self, scores: NDArray[np.float32], codes: Labels, failed: str) -> bool:
        """Calibrate on rows that the fit held out; warn with these words if they cannot."""
        try:
            self.calibration_ = threshold_choice.calibration(self, scores, codes)
        except (InputError, ParameterError) as error:
            warnings.warn(
                f"{failed}: {error}",
                UserWarning,
                stacklevel=5,
            )
            return False
        return True

    def _prepare(self, data: FitData) -> Any:
        """Do what can fail on bad input before the prior is estimated.

        What it returns is the `work` of the later steps, which may change it; nothing by default.
        """

    @abstractmethod
    def _fit_scores(self, data: FitData, work: Any) -> None:
        """Fit whatever computes the scores."""

    @abstractmethod
    def _scores(self, X: Any) -> NDArray[np.float32]:
        """Return g(x) for validated rows."""

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the arrays and the plain values of a fitted classifier; subclasses add theirs."""
        check_is_fitted(self)
        fitted: dict[str, Any] = {
            "classes": self.classes_.tolist(),
            "classes_dtype": self.classes_.dtype.str,
            "prior": self.prior_,
            "known_negatives": self._known_negatives,
            "n_features": self.n_features_in_,
            "calibration": vars(self.calibration_),
            "threshold": self.threshold_,
        }
        if self._offset is not None:
            fitted["offset"] = offset_to_json(self._offset)
        if self.prior_estimate_ is not None:
            fitted["prior_estimate"] = self.prior_estimate_.stored()
        if hasattr(self, "feature_names_in_"):
            fitted["feature_names"] = self.feature_names_in_.tolist()
        return {}, fitted

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        """Restore what `_state` returned."""
        restore_shared(self, fitted)

    def _adapt(self, **wanted: Any) -> Self:
        """Set those of the parameters that the class has; the others mean nothing to it."""
        known = self._get_param_names()
        return self.set_params(**{name: wanted[name] for name in wanted if name in known})

    def _watching(self, X: Any, s: Labels) -> Self:
        """Measure the risk of rows that were set aside while it trains, if the class can."""
        return self

    def _divided(self, X: Any, background: Any) -> tuple[float, NDArray[np.float64]] | None:
        """Return the mean score of the background, and what each feature adds to that of a row.

        None if only random orders of the features can tell.
        """
        return None

    def _note_unseen(self, X: Any, s: Labels, judge: Self) -> None:
        """Note how the parts of `judge`, which was not fitted to these rows, rank them.

        It is the classifier itself, or one that was fitted to other folds.
        """

    def _check_shared_parameters(self, owner: str | None = None) -> None:
        owner = owner or self._owner
        check_sampling(self.sampling, owner)
        if isinstance(self.prior, str):
            if self.prior != "auto":
                raise ParameterError(
                    f"The 'prior' parameter of {owner} must be 'auto' or a float in the range "
                    f"(0, 1). Got {self.prior!r} instead."
                )
        elif isinstance(self.prior, tuple | list):
            check_prior_range(self.prior, owner)
        elif not isinstance(self.prior, PriorEstimate):
            check_prior(self.prior, owner)

    def _validate(self, X: Any, s: Any = "no_validation") -> Any:
        """Check features (and labels) as scikit-learn does; what is in memory becomes float32."""
        return validate(self, X, s)

    def _allows_any_shape(self) -> bool:
        """Return whether a row may have any shape, as an image has."""
        return False

    def _takes_rows(self) -> bool:
        """Return whether rows are taken from a `Rows` a mini-batch at a time."""
        return False

    def _may_centre(self) -> bool:
        """Return whether a number may be subtracted from a column without changing the model."""
        return True

    def _allows_missing(self) -> bool:
        return False

    def _check_labels(self, codes: Labels, owner: str | None = None) -> None:
        """Compare the labels with the parameters that say how to read them."""
        share = float(np.mean(codes == 1))
        least = _least_prior(self.prior)
        if (
            self.sampling == "one-sample"
            and not self._unlabelled_is_negative()
            and least is not None
            and (least < share or (least == share and not isinstance(self.prior, tuple | list)))
        ):
            raise labels.prior_too_small(self.prior, share, owner or self._owner)
        if self._known_negatives and (reason := self._ignores_negatives()):
            warnings.warn(
                f"{np.sum(codes == -1)} known negatives are not used by {reason}",
                UserWarning,
                stacklevel=4,
            )

    def _find_prior(self, data: FitData, work: Any) -> float:
        if isinstance(self.prior, PriorEstimate):
            self.prior_estimate_ = self.prior
            return self.prior.value
        limits = self.prior if isinstance(self.prior, tuple | list) else None
        if self.prior != "auto" and limits is None:
            return float(self.prior)  # type: ignore[arg-type]
        if self._unlabelled_is_negative():  # then nothing is hidden
            return float(np.mean(data.codes == 1))
        return self._estimate_prior(self._prior_samples(data, work), data.codes, data.seed)

    def _estimate_prior(self, samples: tuple[Any, Any, Any], codes: Labels, seed: int) -> float:
        """Estimate the share of positives from what `_prior_samples` gives, inside of limits."""
        limits = self.prior if isinstance(self.prior, tuple | list) else None
        x_p, x_u, groups = samples
        self.prior_estimate_ = estimate_prior(
            x_p,
            x_u,
            sampling=self.sampling,
            random_state=seed,
            groups=groups,
            counts=(int(np.sum(codes == 1)), int(np.sum(codes == 0))),
        )
        # From P ∪ U to the whole sample, of which known negatives are a part.
        known = float(np.mean(codes >= 0)) if self.sampling == "one-sample" else 1.0
        if limits is not None:
            low, high = (float(end) / known for end in limits)
            self.prior_estimate_ = self.prior_estimate_.within(low, min(high, 1.0))
        return self.prior_estimate_.value * known

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._allows_missing()
        return tags


def _least_prior(prior: Any) -> float | None:
    """Return the smallest share that a given prior allows; None if it is to be estimated."""
    if isinstance(prior, str):
        return None
    if isinstance(prior, PriorEstimate):
        return prior.value
    return float(prior[0] if isinstance(prior, tuple | list) else prior)
