"""`ScorePU`: scores that another program made, and PU labels in; a judged classifier out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit, logit
from scipy.stats import mannwhitneyu
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from nnpu.data.vectors import as_vector
from nnpu.estimators import threshold_choice
from nnpu.estimators.base import BasePUClassifier
from nnpu.estimators.evaluation import evaluate, labelled_share, share_here, unlabelled_cut
from nnpu.hidden import unlabelled_probability
from nnpu.parameters import InputError, check_label_bias
from nnpu.report.model_page import ASSUMPTION, model_page
from nnpu.table.columns import find_column
from nnpu.table.columns.numbers import as_numbers, decimal_mark
from nnpu.table.leaks import FEWEST, leaks
from nnpu.table.reading import as_batch, check_order, label_cells, read_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.base import FitData
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.estimators.labels import Labels
    from nnpu.report.html import Page

__all__ = ["ScorePU", "scores_in_table"]

_LEAST = 1e-15  # a probability of 0 has no log-odds
_LARGEST = 1e30  # scores are kept in 32 bits
_MOST_LOST = 1.1  # times as many different scores before they are rounded to 32 bits
_BY_CHANCE = 1e-3  # p-value of labelled rows that score lower


class ScorePU(BasePUClassifier):
    """A PU classifier from ready scores: of a network, of Spark, of a vendor.

    Scores and PU labels in; the share of positives, probabilities, a cut, what is known of the
    hidden positives, and a report out. The scores are one number per row, greater for likelier
    positives, by a model that was not fitted to these rows: of held-out rows, or out of fold.

    Parameters
    ----------
    prior : float, "auto", (low, high) or PriorEstimate, default="auto"
        The share of positives: among all rows (one-sample) or among the unlabelled ones
        (two-sample). "auto" estimates it from the scores.
    sampling : {"one-sample", "two-sample"}, default="one-sample"
        "one-sample": all rows are one sample, and some of its positives got a label.
        "two-sample": the labelled rows were collected separately from the unlabelled ones.
    label_bias : "typical" or float, default="typical"
        How far labels may be from random, as in `TablePU`.
    random_state : int, RandomState or None, default=0
        Decides which of more than 20,000 rows the prior is estimated from.

    Attributes
    ----------
    holdout_ : Evaluation
        What the rows of `fit` say; the model behind the scores was not fitted to them.
    cut_ : float
        Rows that score more are predicted positive, on the scale of the given scores.
    unlabelled_cut_ : float
        The same for rows that are known to be unlabelled, as in ``predict(scores, s)``.
    probabilities_in_ : bool
        Whether the given scores are in [0, 1] and were taken as probabilities: their log-odds are
        what is calibrated, and what `decision_function` returns.
    labelled_share_ : float
        The share of the positives that is labelled, by ``prior_``; 0 in two samples.
    classes_, sampling_, prior_, prior_estimate_, calibration_, threshold_
        As in `BasePUClassifier`.

    Notes
    -----
    Scores of rows that their model was fitted to are too good where a row has a label and too
    low where it has none, and nothing in them shows it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.3                      # nobody knows
    >>> s = (y & (rng.random(2000) < 0.5)).astype(int)
    >>> scores = rng.normal(3.0 * y, 1)                 # of a model that has not seen these rows
    >>> model = ScorePU().fit(scores, s)
    >>> bool(abs(model.prior_ - 0.3) < 0.05)
    True
    >>> model.predict([4.0, -1.0]).tolist()
    [1, 0]
    >>> bool(model.holdout_.top(100).high > 0.5)
    True
    """

    def __init__(
        self,
        prior: Any = "auto",
        *,
        sampling: str = "one-sample",
        label_bias: float | str = "typical",
        random_state: Any = 0,
    ) -> None:
        self.prior = prior
        self.sampling = sampling
        self.label_bias = label_bias
        self.random_state = random_state

    def fit(self, scores: Any, s: Any, *, names: Any = None) -> Self:  # type: ignore[override]
        """Estimate the prior, calibrate the scores, choose the cut and judge the result.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Scores of rows that their model was not fitted to.
        s : array-like of shape (n,)
            PU labels, as for the other classifiers: of two values the greater is labelled;
            exactly {−1, 0, 1} means known negatives too.
        names : sequence of length n, optional
            What the rows are called in a report; by default by their number.
        """
        check_order(scores, s)
        super().fit(scores, s)
        values, codes = self._scored(scores, s)
        _doubt(values.astype(np.float64), codes)
        self.labelled_share_ = labelled_share(self, codes)
        self.holdout_ = self._judged(values, codes, names)
        return self

    def predict_proba(self, scores: Any, s: Any = None) -> NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n, 2), in the order of ``classes_``.

        Without `s` it is P(y = 1 | score). In one sample a row that is known to be unlabelled is
        less likely positive, and a labelled row has the probability 1; see `TablePU`.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
        s : array-like of shape (n,), optional
            The PU labels, if they are known.
        """
        check_order(scores, s)
        positive = super().predict_proba(scores)[:, 1]
        if s is not None and self.sampling == "one-sample":
            codes = self._encode(positive, s)
            hidden = unlabelled_probability(positive, self.labelled_share_)
            positive = np.select([codes == 1, codes == -1], [1.0, 0.0], hidden)
        return np.column_stack([1 - positive, positive])

    def predict(self, scores: Any, s: Any = None) -> NDArray[Any]:
        """Return the predicted class of each row; `s` as in `predict_proba`."""
        if s is None or self.sampling == "two-sample":
            return super().predict(scores)
        check_order(scores, s)
        values, codes = self._scored(scores, s)
        above = values.astype(np.float64) > unlabelled_cut(self, self.labelled_share_)
        positive = np.select([codes == 1, codes == -1], [True, False], above)
        return np.asarray(self.classes_[positive.astype(int)])

    def evaluate(self, scores: Any, s: Any, *, names: Any = None, prior: Any = None) -> Evaluation:
        """Judge the classifier by other rows; those of the fit are judged in ``holdout_``.

        Parameters
        ----------
        scores, s, names
            As in `fit`.
        prior : float, "auto", (low, high) or PriorEstimate, optional
            The share of positives in these rows. By default that of the fit; if these rows
            contradict it, it is estimated anew and ``prior_note`` says so.
        """
        check_order(scores, s)
        values, codes = self._scored(scores, s)
        _doubt(values.astype(np.float64), codes)
        how: dict[str, Any] = {"judged": self.holdout_, "owner": "ScorePU.evaluate"}
        here, note = share_here(self, codes, values, prior, **how)
        return replace(self._judged(values, codes, names, here), prior_note=note)

    def report(self, found: Evaluation | None = None, *, title: str = "Report") -> Page:
        """Return the report: it shows itself in a notebook, and ``.save(path)`` writes it.

        Parameters
        ----------
        found : Evaluation, optional
            What `evaluate` returned; by default ``holdout_``.
        title : str, default="Report"
            The heading.
        """
        check_is_fitted(self)
        learned = (
            "The scores come from another model; the probabilities and the cut were fitted to "
            "them here."
        )
        if self.probabilities_in_:
            own = unlabelled_cut(self, self.labelled_share_)
            learned += (
                " The given scores lie between 0 and 1; this page shows their log-odds: "
                f"{self.unlabelled_cut_:.3g} is {own:.3g} here."
            )
        lead = "What the scores say about the unlabelled rows, and how far to trust them."
        found = found or self.holdout_
        return model_page(
            self,
            found,
            title=title,
            lead=lead,
            learned=learned,
            about_rows=ASSUMPTION,
            commands=False,
        )

    @property
    def cut_(self) -> float:
        """The score above which a row is predicted positive, on the scale of the given ones."""
        check_is_fitted(self)
        return self._as_given(self.threshold_)

    @property
    def unlabelled_cut_(self) -> float:
        """The same for a row that is known to be unlabelled: in one sample it is higher."""
        check_is_fitted(self)
        return self._as_given(unlabelled_cut(self, self.labelled_share_))

    def _as_given(self, score: float) -> float:
        return float(expit(score)) if self.probabilities_in_ else float(score)

    def _judged(
        self,
        values: NDArray[np.float32],
        codes: Labels,
        names: Any,
        classifier: BasePUClassifier | None = None,
    ) -> Evaluation:
        if names is not None:
            check_consistent_length(values, names)
        how: dict[str, Any] = {"label_bias": self.label_bias, "labelled": self.labelled_share_}
        return evaluate(classifier or self, codes, values, names, **how)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_label_bias(self.label_bias, "ScorePU")

    def _validate(self, X: Any, s: Any = "no_validation") -> Any:
        """Return scores as a column of float64 on the scale that is calibrated, and labels."""
        scores = as_vector(X, "scores", "ScorePU")
        if np.abs(scores).max() > _LARGEST:
            raise InputError("ScorePU: scores holds values beyond 1e30; scale them down.")
        if not isinstance(s, str):
            s = column_or_1d(s)
            check_consistent_length(scores, s)
            self.n_features_in_ = 1
            self.probabilities_in_ = bool(scores.min() >= 0 and scores.max() <= 1)
        elif self.probabilities_in_ and not (scores.min() >= 0 and scores.max() <= 1):
            raise InputError(
                "ScorePU was fitted to scores between 0 and 1, as probabilities are. Got scores "
                f"from {scores.min():.4g} to {scores.max():.4g}; give them on the same scale."
            )
        if self.probabilities_in_:
            scores = logit(np.clip(scores, _LEAST, 1 - _LEAST))
        elif np.unique(scores).size > _MOST_LOST * np.unique(scores.astype(np.float32)).size:
            raise InputError(
                f"ScorePU: scores from {scores.min():.10g} to {scores.max():.10g} differ too "
                "little for their size, and would be equal in 32 bits; subtract their mean."
            )
        return scores[:, None] if isinstance(s, str) else (scores[:, None], s)

    def _prior_samples(self, data: FitData, work: None) -> tuple[Any, Any, None]:
        p, u = data.x[data.codes == 1, 0], data.x[data.codes == 0, 0]
        if np.ptp(p) == 0 == np.ptp(u) and p[0] != u[0]:
            raise InputError(
                "ScorePU: the scores are the labels: one value in all labelled rows, another in "
                "all unlabelled ones. Give scores of a model that does not see these labels."
            )
        return p, u, None

    def _fit_scores(self, data: FitData, work: None) -> None:
        scores, codes = self._scores(data.x), data.codes
        n_p, n_u = int((codes == 1).sum()), int((codes == 0).sum())
        if min(n_p, n_u) < 2:
            raise InputError(
                f"ScorePU: {n_p} labelled and {n_u} unlabelled rows; at least two of each are "
                "needed."
            )
        self.calibration_ = threshold_choice.calibration(self, scores, codes)
        # Of least regret over the range of an estimated prior; at one half if it was given.
        self.threshold_ = threshold_choice.threshold(self, scores, codes, "regret", None, None)[0]

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return np.asarray(X[:, 0], dtype=np.float32)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        _, fitted = super()._state()
        fitted |= {
            "probabilities_in": self.probabilities_in_,
            "labelled_share": self.labelled_share_,
        }
        arrays: dict[str, NDArray[Any]] = {"s": self.holdout_.s.astype(np.int8)}
        arrays["scores"] = self.holdout_.scores
        return arrays, fitted

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        self.probabilities_in_ = fitted["probabilities_in"] is True
        self.labelled_share_ = float(fitted["labelled_share"])
        if not 0 <= self.labelled_share_ < 1:
            raise ValueError("the labelled share is not a share")
        scores = as_vector(tensors["scores"], "scores", "ScorePU").astype(np.float32)
        s = tensors["s"]
        if s.shape != scores.shape or not np.isin(s, (-1, 0, 1)).all():
            raise ValueError("the stored labels are not one of 1, 0 and -1 for each score")
        self.holdout_ = self._judged(scores, s.astype(np.int8), None)


def _doubt(scores: NDArray[np.float64], codes: Labels) -> None:
    """Warn of scores that know the labels, and of scores that run the other way.

    Examples
    --------
    >>> s = np.repeat([1, 0], [50, 150]).astype(np.int8)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     _doubt(np.arange(200.0), s)
    >>> str(said[0].message)[:58]
    'Labelled rows score lower than unlabelled ones (AUC 0.000)'
    """
    p, u = scores[codes == 1], scores[codes == 0]
    if min(len(p), len(u)) < FEWEST:
        return
    test = mannwhitneyu(p, u, alternative="less")
    auc = test.statistic / (len(p) * len(u))
    if test.pvalue < _BY_CHANCE:
        warnings.warn(
            f"Labelled rows score lower than unlabelled ones (AUC {auc:.3f}): a greater score must "
            "mean a likelier positive. If it is the other way round, give the negative scores.",
            UserWarning,
            stacklevel=3,
        )
    elif leaks(scores[:, None], codes).size:
        warnings.warn(
            f"The scores almost separate labelled from unlabelled rows (AUC {auc:.3f}): hardly any "
            "unlabelled row is positive, or the model behind them was fitted to these labels, and "
            "then nothing here holds. Give scores out of fold or of held-out rows.",
            UserWarning,
            stacklevel=3,
        )


def scores_in_table(
    table: Any,
    scores: str,
    s: Any,
    *,
    id: str | None = None,
    pos_label: str | float | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    **parameters: Any,
) -> ScorePU:
    """Fit `ScorePU` to a column of a table.

    Parameters
    ----------
    table, s, id, pos_label, sep, decimal, encoding
        As in `TablePU`.
    scores : str
        The column with the scores.
    **parameters
        Of `ScorePU`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"score": [3.0, 2.0, 2.5, 0.0, -1.0], "known": [1, 1, 0, 0, 0]})
    >>> scores_in_table(table, "score", "known", prior=0.6).predict([2.2]).tolist()
    [1]
    """
    batch = as_batch(table, sep=sep, decimal=decimal, encoding=encoding)
    if scores == s:
        raise InputError(f"{batch.source}: column {s!r} cannot be the label and the scores.")
    codes = read_labels([label_cells(batch, s)], s, batch.source, pos_label).codes
    for name in (scores, id):
        if name is not None:
            find_column(name, batch.columns, batch.source)
    cells = batch.columns[scores]
    values, unreadable = as_numbers(cells, scores, decimal=decimal or decimal_mark(cells))
    bad = np.flatnonzero(unreadable | ~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"{batch.source}: column {scores!r}, row {bad[0] + 1}: a score must be a number. Got "
            f"{cells[int(bad[0])].as_py()!r}; remove rows without a score."
        )
    names = None if id is None else [f"{cell}" for cell in batch.columns[id].to_pylist()]
    return ScorePU(**parameters).fit(values, codes, names=names)
