"""`TablePU`: a table in, a judged model and a page out."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from nnpu.data.streams import Batch, stream_rows
from nnpu.estimators.evaluation import evaluate
from nnpu.estimators.notebook import NotebookBox
from nnpu.estimators.storage import save
from nnpu.parameters import InputError
from nnpu.table._messages import SAMPLING_LINES, say, table_lines
from nnpu.table.columns import fit_columns
from nnpu.table.columns.seen import TrainingRows
from nnpu.table.fitting import fit_classifier, known_answers
from nnpu.table.holdout import LEAST_LABELLED, group_numbers, judge, rows_to_judge
from nnpu.table.leaks import leaking_columns
from nnpu.table.named_models import features_for, prepared
from nnpu.table.reading import (
    as_batch,
    check_parameters,
    is_path,
    label_cells,
    read_labels,
    row_names,
    source_name,
)
from nnpu.table.table_explain import Explained, explain_aside

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.table.columns import ColumnPlan
    from nnpu.table.columns.drift import DriftWatch
    from nnpu.table.table_prior import TablePrior

__all__ = ["TablePU"]


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
    pos_label : str or number, optional
        The label of the positives, such as "fraud". By default 1, true or yes; if the labels are
        words, the one that does not mean "unknown", else the rarer one, and a warning says which.
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
    sep, decimal, encoding : str, optional
        How a text file is written: what separates the cells, the decimal mark, the encoding. By
        default detected.
    random_state : int, default=0
        The same seed on the same machine gives the same bits.
    verbose : int, default=0
        1 prints what is done, 2 also when.

    Attributes
    ----------
    classifier_ : classifier
        What was fitted to the features.
    columns_ : ColumnPlan
        What is done with each column.
    prior_, prior_estimate_, classes_
        Of the classifier.
    pos_label_ : str or None
        The word that was taken as the positive, if the labels are words.
    holdout_ : Evaluation or None
        What the rows that were set aside say; None if they are too few to judge.
    explained_ : Explained
        Which columns matter by these rows (``importance``), and for whom (``why``).

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
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
        pos_label: str | float | None = None,
        id: str | None = None,
        drop: Sequence[str] = (),
        groups: str | None = None,
        time: str | None = None,
        holdout: float = 0.2,
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.model = model
        self.images = images
        self.sampling = sampling
        self.pos_label = pos_label
        self.id = id
        self.drop = drop
        self.groups = groups
        self.time = time
        self.holdout = holdout
        self.sep = sep
        self.decimal = decimal
        self.encoding = encoding
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
            be positive; 0, false, no or nothing where that is unknown; −1 for a known negative;
            or words, see `pos_label`.
        answers : path, list of paths or review, optional
            Answered sheets of a review of this table (``nnpu review``), or the review itself. They
            give the prior, and teach the ensemble (``docs/review.md``).
        """
        batch, codes = self._read(table, s)
        groups = group_numbers(batch, self.groups)
        how = self.holdout, self.random_state
        aside = rows_to_judge(batch, codes, *how, groups=groups, time=self.time)
        fitted = np.flatnonzero(~aside)
        self.columns_ = self._plan(batch, fitted)
        self._say(*self._lines(batch, codes, aside))
        classifier = self._classifier(codes[fitted])
        training = TrainingRows(fitted)
        features = features_for(classifier, self.columns_, batch, training)
        self.columns_ = self.columns_.with_seen(training.seen)
        self.leaks_ = leaking_columns(self.columns_, features, codes, batch, self.sampling)
        known = known_answers(answers, batch, self.columns_, codes, self.sampling)
        self.classifier_ = fit_classifier(
            classifier, features, codes, aside, self.columns_, groups, known, say=self._say
        )
        self.n_labelled_ = int((codes[fitted] == 1).sum())
        self.n_unlabelled_ = int((codes[fitted] == 0).sum())
        self._adopt(self.classifier_)
        self.holdout_, self.explained_ = None, Explained()
        if aside.any():
            names = row_names(batch, self.columns_, np.flatnonzero(aside))
            rows = features[aside]
            images = rows if self.columns_.has_images else None
            self.holdout_, lines = judge(self.classifier_, rows, codes[aside], names, images)
            if self.leaks_ and self.holdout_ is not None:
                lines = [f"Figures are withheld: {self.leaks_[0]!r} may give the label away."]
            self._say(*lines)
            self.explained_ = explain_aside(self, rows, codes[aside], names)
        return self

    def estimate_prior(self, table: Any, s: Any) -> TablePrior:
        """Estimate the share of positives in a table, without fitting a model."""
        from nnpu.table.table_prior import table_prior

        batch, codes = self._read(table, s)
        self.columns_ = self._plan(batch, np.arange(batch.n_rows))
        features = features_for(self._classifier(codes), self.columns_, batch)
        leaking_columns(self.columns_, features, codes, batch, self.sampling)
        groups = group_numbers(batch, self.groups)
        return table_prior(features, codes, groups, self.sampling, self.random_state)

    def decision_function(self, table: Any) -> NDArray[np.float32]:
        """Return a score for each row: greater means more likely positive."""
        from nnpu.table.columns.drift import DriftWatch, drift_sentence

        watch = DriftWatch()
        scores = np.concatenate([part for _, part in self.scored(table, watch)])
        if lines := watch.lines():
            warnings.warn(drift_sentence(lines), UserWarning, stacklevel=2)
        return scores

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
        from nnpu.table.columns.drift import DriftWatch

        check_is_fitted(self)
        table = table if is_path(table) and isinstance(s, str) else self._batch(table)
        watch, scores, cells, names, files = DriftWatch(), [], [], [], []
        for batch, part in self.scored(table, watch):
            scores.append(part)
            cells.append(label_cells(batch, s))
            names.append(row_names(batch, self.columns_))
            files += list(self.columns_.files(batch)) if self.columns_.has_images else []
        codes = read_labels(cells, s, source_name(table), self._known_label()).codes
        rows = np.concatenate(scores), np.concatenate(names), files or None
        found = evaluate(self.classifier_, codes, *rows)
        return replace(found, drift=watch.lines(), cells=watch.counts())

    def report(self, found: Evaluation | None = None, *, title: str = "Report") -> Page:
        """Return the report: it shows itself in a notebook, and ``.save(path)`` writes it.

        Parameters
        ----------
        found : Evaluation, optional
            What `evaluate` returned; by default that of the rows that were set aside in `fit`.
        title : str, default="Report"
            The heading.
        """
        check_is_fitted(self)
        if found is not None:
            from nnpu.table.evaluation_page import evaluation_page

            return evaluation_page(self, found, title=title)
        from nnpu.table.pages import fit_page

        return fit_page(self, title=title)

    def save(
        self, folder: str | os.PathLike[str], *, notes: Mapping[str, str] | None = None
    ) -> Path:
        """Write a model folder; `nnpu.load` reads it.

        Parameters
        ----------
        folder : path-like
            A new folder, or one with a model and nothing else in it, which is replaced as a whole.
        notes : mapping of str to str, optional
            Text files for people, which loading does not read: any of ``report.html``,
            ``run.toml`` and ``log.jsonl``.
        """
        from nnpu.table.saving import stored

        check_is_fitted(self)
        table, arrays = stored(self)
        return save(self.classifier_, folder, table=table, arrays=arrays, notes=notes)

    def scored(
        self, table: Any, watch: DriftWatch | None = None
    ) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
        """Yield the rows of a table with their scores; a file is read a batch at a time.

        Parameters
        ----------
        table : table or path
            The rows.
        watch : DriftWatch, optional
            Compares the rows with those of the training.
        """
        check_is_fitted(self)
        if isinstance(table, np.ndarray) or sparse.issparse(table):
            yield self._scored_array(table)
            return
        from nnpu.data.prefetch import prefetched

        rows = 0
        how = {"sep": self.sep, "decimal": self.decimal, "encoding": self.encoding}
        batches = stream_rows(table, **how) if is_path(table) else [self._batch(table)]
        read = ((b, features_for(self.classifier_, self.columns_, b, watch)) for b in batches)
        for batch, features in prefetched(read):
            rows += batch.n_rows
            yield batch, self.classifier_.decision_function(features)
        if rows == 0:
            raise InputError(f"{source_name(table)} has no rows.")

    def flags(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which scores are predicted positive."""
        return np.asarray(scores.astype(np.float64) > self.classifier_.threshold_)

    def _scored_array(self, table: Any) -> tuple[Batch, NDArray[np.float32]]:
        """Score an array: the columns of fit, or the features that they became."""
        batch = self._batch(table)
        takes_matrix = any(column.name == "x" for column in self.columns_.columns)
        features = features_for(self.classifier_, self.columns_, batch) if takes_matrix else table
        return batch, self.classifier_.decision_function(features)

    def _batch(self, table: Any) -> Batch:
        return as_batch(table, sep=self.sep, decimal=self.decimal, encoding=self.encoding)

    def _read(self, table: Any, s: Any) -> tuple[Batch, NDArray[np.int8]]:
        check_parameters(self)
        self._say(SAMPLING_LINES[self.sampling])
        batch = self._batch(table)
        if self.verbose > 1:
            self._say(f"Read: {batch.n_rows:,} rows.")
        self.label_ = s if isinstance(s, str) else None
        cells = label_cells(batch, s)
        codes, self.pos_label_ = read_labels([cells], s, batch.source, self.pos_label)
        return batch, codes

    def _known_label(self) -> str | float | None:
        return self.pos_label if self.pos_label is not None else self.pos_label_

    def _plan(self, batch: Batch, rows: NDArray[np.intp]) -> ColumnPlan:
        used = [name for name in (self.groups, self.time) if name is not None]
        names = {"label": self.label_, "id_name": self.id, "images": self.images}
        return fit_columns(batch, rows, drop=[*self.drop, *used], **names)

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

    def _lines(self, batch: Batch, codes: NDArray[np.int8], aside: Any) -> list[str]:
        why = f"that takes {LEAST_LABELLED} labelled rows" if self.holdout else "as requested"
        word, how = self.pos_label_, batch.read_as
        return table_lines(codes, aside, self.columns_, positive=word, why_none=why, read_as=how)

    def _adopt(self, classifier: BasePUClassifier) -> None:
        """Take on what people look for in a fitted classifier."""
        self.classes_ = classifier.classes_
        self.prior_, self.prior_estimate_ = classifier.prior_, classifier.prior_estimate_
        self.n_features_in_ = sum(
            c.width if c.kind == "matrix" else 1 for c in self.columns_.columns
        )

    def _say(self, *lines: str) -> None:
        if self.verbose:
            say(*lines, timed=self.verbose > 1)
