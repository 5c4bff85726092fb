"""`TablePU`: a table in, a judged model and a page out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from nnpu.calibration import ScoreCalibration
from nnpu.data.streams import Batch, stream_rows
from nnpu.estimators.evaluation import evaluate
from nnpu.estimators.notebook import NotebookBox
from nnpu.estimators.storage import save
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_number,
    check_sampling,
)
from nnpu.table._messages import SAMPLING_LINES, say
from nnpu.table.columns import find_column, fit_columns
from nnpu.table.fitting import fit_classifier
from nnpu.table.holdout import LEAST_LABELLED, as_time, set_aside
from nnpu.table.leaks import leaking_columns
from nnpu.table.named_models import features_for, prepared
from nnpu.table.reading import as_batch, check_labels, is_path, read_labels, row_names

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.review import KnownRows
    from nnpu.table.columns import ColumnPlan
    from nnpu.table.table_prior import TablePrior

__all__ = ["TablePU"]

_SHOWN = ("pu_accuracy", "pu_precision", "pu_recall", "pu_roc_auc")


class TablePU(NotebookBox, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The whole job on a table: columns, prior, model, judgement, report.

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The share of positives: among all rows (one-sample) or among the unlabelled ones
        (two-sample). "auto" estimates it.
    model : str or classifier, optional
        "ensemble" (the default), "network", "trees", "linear", or a classifier of this package.
    images : str, optional
        A column of image files, relative to the table; `ImagePU` learns from them alone.
    sampling : {"one-sample", "two-sample"}, default="one-sample"
        "one-sample": all rows are one sample, and some of its positives got a label.
        "two-sample": the labelled rows were collected separately from the unlabelled ones.
    id : str, optional
        The column that names the rows. By default one called ``id`` or the like whose values do
        not repeat.
    drop : sequence of str
        Columns to exclude.
    groups : str, optional
        A column such as patient or site: rows of one value are set aside together and are never
        in two folds. It is no feature.
    time : str, optional
        A column that orders the rows: the latest are set aside. It is no feature.
    holdout : float, default=0.2
        The share of the rows that is set aside to judge the model.
    random_state : int, default=0
        The same seed on the same machine gives the same bits.
    verbose : int, default=0
        1 prints what is done.

    Attributes
    ----------
    classifier_ : classifier
        What was fitted to the features.
    columns_ : ColumnPlan
        What is done with each column.
    prior_, prior_estimate_, classes_
        Of the classifier.
    holdout_ : Evaluation or None
        What the rows that were set aside say; None if they are too few to judge.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> fraud = rng.random(500) < 0.3
    >>> table = pa.table({
    ...     "amount": rng.normal(np.where(fraud, 90, 40), 20),
    ...     "country": np.where(rng.random(500) < 0.2 + 0.5 * fraud, "A", "B"),
    ...     "known": np.where(fraud & (rng.random(500) < 0.5), "yes", ""),
    ... })
    >>> model = TablePU(prior=0.3, model="linear").fit(table, "known")
    >>> [column.kind for column in model.columns_.columns]
    ['number', 'category']
    >>> model.predict_proba(table).shape
    (500, 2)
    """

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        model: Any = None,
        images: str | None = None,
        sampling: str = "one-sample",
        id: str | None = None,
        drop: Sequence[str] = (),
        groups: str | None = None,
        time: str | None = None,
        holdout: float = 0.2,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.model = model
        self.images = images
        self.sampling = sampling
        self.id = id
        self.drop = drop
        self.groups = groups
        self.time = time
        self.holdout = holdout
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, table: Any, s: Any, *, answers: Any = None) -> Self:
        """Read the table, set rows aside, estimate the prior, fit the model and judge it.

        Parameters
        ----------
        table : table or path
            A pandas, polars or pyarrow table, a NumPy array, or the path of a file.
        s : str or array-like
            The column with the PU labels, or the labels: 1, true or yes where a row is known to
            be positive; 0, false, no or nothing where that is unknown; −1 for a known negative.
        answers : path, list of paths or review, optional
            Answered sheets of a review of this table (``nnpu review``), or the review itself. They
            give the prior, and teach the ensemble (``docs/review.md``).
        """
        self._check_parameters()
        self._say(SAMPLING_LINES[self.sampling])
        batch, codes = self._read(table, s)
        groups = self._groups(batch)
        aside = self._set_aside(batch, codes, groups)
        self.columns_ = self._plan(batch, np.flatnonzero(~aside))
        self._describe(codes, aside)
        classifier = self._classifier(codes[~aside])
        features = features_for(classifier, self.columns_, batch)
        self.leaks_ = leaking_columns(self.columns_, features, codes)
        known = self._answers(answers, batch, codes)
        self.classifier_ = fit_classifier(
            classifier, features, codes, aside, groups=groups, answers=known, say=self._say
        )
        self.n_labelled_ = int((codes[~aside] == 1).sum())
        self.n_unlabelled_ = int((codes[~aside] == 0).sum())
        self._adopt(self.classifier_)
        self.holdout_ = None
        if aside.any():
            names = row_names(batch, self.columns_, np.flatnonzero(aside))
            self.holdout_ = self._judge(features[aside], codes[aside], names)
        return self

    def estimate_prior(self, table: Any, s: Any) -> TablePrior:
        """Estimate the share of positives in a table, without fitting a model."""
        from nnpu.table.table_prior import table_prior

        self._check_parameters()
        self._say(SAMPLING_LINES[self.sampling])
        batch, codes = self._read(table, s)
        self.columns_ = self._plan(batch, np.arange(batch.n_rows))
        features = features_for(self._classifier(codes), self.columns_, batch)
        leaking_columns(self.columns_, features, codes)
        return table_prior(features, codes, self._groups(batch), self.sampling, self.random_state)

    def decision_function(self, table: Any) -> NDArray[np.float32]:
        """Return a score for each row: greater means more likely positive."""
        return np.concatenate([scores for _, scores in self.scored(table)])

    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n, 2)."""
        scores = self.decision_function(table)
        positive = self.classifier_.calibration_(scores)
        return np.column_stack([1 - positive, positive])

    def predict(self, table: Any) -> NDArray[Any]:
        """Return 1 for the rows that are predicted positive, and 0 for the others."""
        flags = self.flags(self.decision_function(table))
        return np.asarray(self.classes_[flags.astype(int)])

    def score(self, table: Any, s: Any) -> float:
        """Return the estimated accuracy; no true label is needed."""
        return self.evaluate(table, s).accuracy.value

    def evaluate(self, table: Any, s: Any) -> Evaluation:
        """Judge the model by the labelled and unlabelled rows of another table.

        Parameters
        ----------
        table, s
            As in `fit`; rows that the model was not fitted to.
        """
        check_is_fitted(self)
        table = table if is_path(table) and isinstance(s, str) else as_batch(table)
        scores, labels, names, files = [], [], [], []
        for batch, part in self.scored(table):
            scores.append(part)
            labels.append(read_labels(batch, s)[0])
            names.append(row_names(batch, self.columns_))
            files += list(self.columns_.files(batch)) if self.columns_.has_images else []
        codes = np.concatenate(labels)
        check_labels(codes, s if isinstance(s, str) else None, _source(table))
        rows = np.concatenate(scores), np.concatenate(names), files or None
        return evaluate(self.classifier_, codes, *rows)

    def report(self, found: Evaluation | None = None, *, title: str = "Report") -> Page:
        """Return the report: it shows itself in a notebook, and ``.save(path)`` writes it.

        Parameters
        ----------
        found : Evaluation, optional
            What `evaluate` returned; by default that of the rows that were set aside in `fit`.
        title : str, default="Report"
            The heading.
        """
        from nnpu.table.pages import evaluation_page, fit_page

        check_is_fitted(self)
        if found is not None:
            return evaluation_page(self, found, title=title)
        return fit_page(self, title=title)

    def save(
        self, folder: str | os.PathLike[str], *, notes: Mapping[str, str] | None = None
    ) -> Path:
        """Write a model folder; `nnpu.load` reads it.

        Parameters
        ----------
        folder : path-like
            A new folder, or one with a model in it, which is replaced.
        notes : mapping of str to str, optional
            Further text files by name, for people: loading does not read them.
        """
        from nnpu.table.folder import stored

        check_is_fitted(self)
        table, arrays = stored(self)
        return save(self.classifier_, folder, table=table, arrays=arrays, notes=notes)

    def scored(self, table: Any) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
        """Yield the rows of a table with their scores; a file is read a batch at a time."""
        check_is_fitted(self)
        if isinstance(table, np.ndarray) or sparse.issparse(table):
            yield self._scored_array(table)
            return
        rows = 0
        for batch in stream_rows(table) if is_path(table) else [as_batch(table)]:
            rows += batch.n_rows
            features = features_for(self.classifier_, self.columns_, batch)
            yield batch, self.classifier_.decision_function(features)
        if rows == 0:
            raise InputError(f"{_source(table)} has no rows.")

    def flags(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which scores are predicted positive."""
        above: NDArray[np.bool_] = scores.astype(np.float64) > self.classifier_.threshold_
        return above

    def _scored_array(self, table: Any) -> tuple[Batch, NDArray[np.float32]]:
        """Score an array: the columns of fit, or the features that they became."""
        batch = as_batch(table)
        takes_matrix = any(column.name == "x" for column in self.columns_.columns)
        features = features_for(self.classifier_, self.columns_, batch) if takes_matrix else table
        return batch, self.classifier_.decision_function(features)

    def _check_parameters(self) -> None:
        check_sampling(self.sampling, "TablePU")
        check_number("holdout", self.holdout, "TablePU", low=0, high=0.5)
        if self.groups is not None and self.time is not None:
            raise ParameterError(
                "The 'groups' and 'time' parameters of TablePU must not both be given. "
                f"Got {self.groups!r} and {self.time!r}."
            )

    def _read(self, table: Any, s: Any) -> tuple[Batch, NDArray[np.int8]]:
        batch = as_batch(table)
        codes, self.label_ = read_labels(batch, s)
        check_labels(codes, self.label_, batch.source)
        return batch, codes

    def _groups(self, batch: Batch) -> NDArray[np.intp] | None:
        """Return a number for each row, equal in a group; empty cells are one group."""
        if self.groups is None:
            return None
        cells = batch.columns[find_column(self.groups, batch.columns, batch.source)]
        numbers: NDArray[np.intp] = cells.dictionary_encode().indices.fill_null(-1).to_numpy()
        return numbers

    def _set_aside(
        self, batch: Batch, codes: NDArray[np.int8], groups: NDArray[np.intp] | None
    ) -> NDArray[np.bool_]:
        time = None
        if self.time is not None:
            find_column(self.time, batch.columns, batch.source)
            time = as_time(batch.columns[self.time], self.time)
        return set_aside(codes, self.holdout, self.random_state, groups=groups, time=time)

    def _plan(self, batch: Batch, rows: NDArray[np.intp]) -> ColumnPlan:
        used = [name for name in (self.groups, self.time) if name is not None]
        names = {"label": self.label_, "id_name": self.id, "images": self.images}
        return fit_columns(batch, rows, drop=[*self.drop, *used], **names)

    def _answers(self, answers: Any, batch: Batch, codes: NDArray[np.int8]) -> KnownRows | None:
        if answers is None:
            return None
        from nnpu.table.table_answers import answers_of, population

        return answers_of(answers, population(batch, self.columns_, codes, self.sampling))

    def _classifier(self, codes: NDArray[np.int8]) -> BasePUClassifier:
        return prepared(
            self.model,
            prior=self.prior,
            sampling=self.sampling,
            seed=self.random_state,
            verbose=self.verbose,
            s=codes,
            categories=self.columns_.raw_categories,
            images=self.columns_.has_images,
        )

    def _judge(self, features: Any, codes: NDArray[np.int8], names: Any) -> Evaluation | None:
        """Measure, then calibrate what did not calibrate itself; if one fails, the other stays."""
        scores = self.classifier_.decision_function(features)
        found = None
        try:
            images = features if self.columns_.has_images else None
            found = evaluate(self.classifier_, codes, scores, names, images)
        except (ParameterError, InputError) as error:
            self._say(f"The rows that were set aside cannot judge the model: {error}")
        try:
            if self.classifier_.calibration_ == ScoreCalibration(1.0, 0.0):
                self.classifier_.calibrate(features, codes)
        except (ParameterError, InputError) as error:
            self._say(f"The rows that were set aside cannot calibrate the probabilities: {error}")
        if found is not None and self.leaks_:
            self._say(f"Figures are withheld: {self.leaks_[0]!r} may give the label away.")
        elif found is not None:
            self._say(f"On {found.rows:,} rows that were set aside:", *found.lines(_SHOWN))
        return found

    def _describe(self, codes: NDArray[np.int8], aside: NDArray[np.bool_]) -> None:
        negatives = int((codes == -1).sum())
        known = f" and {negatives:,} known to be negative" if negatives else ""
        judge = (
            f"{int(aside.sum()):,} are set aside to judge the model."
            if aside.any()
            else f"none is set aside: that takes {LEAST_LABELLED} labelled rows."
        )
        self._say(
            f"Rows: {len(codes):,}, of which {int((codes == 1).sum()):,} are labelled{known}; "
            f"{judge}",
            f"Columns ({self.columns_.width:,} features):",
            *(f"  {line}" for line in self.columns_.told()),
        )

    def _adopt(self, classifier: BasePUClassifier) -> None:
        """Take on what people look for in a fitted classifier."""
        self.classes_ = classifier.classes_
        self.prior_, self.prior_estimate_ = classifier.prior_, classifier.prior_estimate_
        self.n_features_in_ = len(self.columns_.columns)

    def _say(self, *lines: str) -> None:
        if self.verbose:
            say(*lines)


def _source(table: Any) -> str:
    return (
        table.source if isinstance(table, Batch) else str(table) if is_path(table) else "the table"
    )
