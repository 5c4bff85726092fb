"""`TablePU`: a table in, a judged model and a page out."""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from nnpu.data.folds import LabelledRows, Overlap, key_sample, row_keys
from nnpu.data.streams import Batch, prefetched, stream_rows
from nnpu.estimators.base import NotebookBox, refuse_search_over_prior
from nnpu.estimators.evaluation import evaluate, labelled_share, share_here, unlabelled_cut
from nnpu.estimators.explain import Contributions
from nnpu.estimators.loading import save
from nnpu.estimators.out_of_fold import MOST_ROWS
from nnpu.hidden import unlabelled_probability
from nnpu.parameters import InputError, check_number
from nnpu.table._messages import SAMPLING_LINES, TWO_TABLES, say, start_clock, table_lines
from nnpu.table.both_samples import hint_at_one_sample, hint_at_two_samples, prior_of_the_rest
from nnpu.table.columns import fit_columns, known_labels
from nnpu.table.columns.drift import DriftWatch, TrainingRows, UsualScores, drift_sentence
from nnpu.table.fit_rows import LEAST_LABELLED, rows_of_fit, together
from nnpu.table.fitting import (
    features_for,
    fit_classifier,
    known_answers,
    name_drivers,
    prepared,
    takes_raw,
    takes_words,
)
from nnpu.table.holdout import (
    against_plain,
    against_plain_in_folds,
    judge_scores,
    judged_again,
    unseen_scores,
)
from nnpu.table.leaks import leaking_columns
from nnpu.table.reading import (
    as_batch,
    check_order,
    check_parameters,
    is_mixed,
    is_on_dask,
    is_path,
    label_cells,
    labelled_by,
    prior_from,
    read_labels,
    row_names,
    source_name,
    stacked,
)
from nnpu.table.table_answers import audited, check_known
from nnpu.table.table_explain import (
    Explained,
    compared_rows,
    explain_aside,
    explain_rows,
    with_examples,
)
from nnpu.table.table_prior import table_prior
from nnpu.table.table_review import list_review

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.calibration import Threshold
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Page
    from nnpu.review import KnownRows, ListReview
    from nnpu.table.columns import ColumnPlan
    from nnpu.table.fit_rows import FitRows
    from nnpu.table.partitions import SampleOfTable
    from nnpu.table.table_explain import Examples
    from nnpu.table.table_prior import TablePrior

__all__ = ["TablePU"]


class TablePU(NotebookBox, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The whole job on a table: columns, prior, model, judgement, report.

    Parameters
    ----------
    prior : float, "auto", (low, high) or PriorEstimate, default="auto"
        The share of positives: among all rows (one-sample) or among the unlabelled ones
        (two-sample). "auto" estimates it; a pair of numbers are limits that you are sure of.
    model : str or classifier, optional
        "ensemble" (the default), "network", "trees", "linear", "biased", or a classifier of this
        package.
    labelled : float or (low, high), optional
        The share of the positives that is labelled, instead of `prior`; one sample only.
    labelled_by : str or sequence of str
        Columns that decided who got a label, such as age if the old see doctors more often. The
        model is then `BiasedLabelPU`.
    label_bias : "typical" or float, default="typical"
        How far labels may be from random: "typical" is the law measured on genuine problems, 1 is
        for labels given at random, and g > 1 says that no kind of positive is more than g times
        rarer or commoner among the hidden than among the labelled ones. See `nnpu.hidden`.
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
    keep : sequence of str
        Columns to use even if they would be excluded: a customer's id that repeats, or a column
        that is filled only in labelled or only in unlabelled rows.
    groups : str, optional
        A column such as patient or site: rows of one value are set aside together and are never
        in two folds. It is not a feature.
    time : str, optional
        A column that orders the rows: the latest are set aside. It is not a feature.
    holdout : float, default=0.2
        The share of the rows that is set aside to judge the model, if any are: in tables of more
        than 30,000 rows, with `time`, and for networks. Otherwise all rows judge the model, each
        scored by one that was not fitted to it. With 0 the model is not judged.
    sep, decimal, encoding : str, optional
        How a text file is written: what separates the cells, the decimal mark, the encoding.
        Detected by default. The decimal mark also holds for cells that are stored as strings.
    sheet : str, optional
        The sheet of an Excel workbook; by default the only one with data.
    random_state : int, default=0
        The same seed on the same machine gives the same bits.
    verbose : int, default=0
        1 prints each step, 2 also its time and all columns.

    Attributes
    ----------
    classifier_ : classifier
        The classifier, fitted to the features.
    columns_ : ColumnPlan
        What is done with each column.
    prior_, prior_estimate_, classes_, sampling_
        Those of the classifier.
    pos_label_ : str or None
        The word that was taken as the positive, if the labels are words.
    holdout_ : Evaluation or None
        The judgement by rows that the model was not fitted to; None if they are too few.
    labelled_share_ : float
        The share of the positives that is labelled, by ``prior_``; 0 in two samples.
    groups_ : str or None
        The column whose rows were kept together: `groups`, or an id that repeats.
    n_features_in_, feature_names_in_
        The columns of the table but the label; no names if the table was an array of numbers.
    threshold_ : float
        The score above which a row is predicted positive; see `choose_threshold`.
    explained_ : Explained
        Which columns matter (``importance``), and which cells put a row where it is (``why``).

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
    >>> model.get_feature_names_out().tolist()
    ['amount', 'country=B', 'country=A']
    >>> cut = model.choose_threshold(recall=0.9)
    >>> bool(cut.estimate >= 0.9) and model.threshold_ == cut.value
    True
    """

    def __init__(
        self,
        prior: Any = "auto",
        *,
        model: Any = None,
        labelled: Any = None,
        labelled_by: str | Sequence[str] = (),
        label_bias: float | str = "typical",
        images: str | None = None,
        sampling: str = "one-sample",
        pos_label: str | float | None = None,
        id: str | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        groups: str | None = None,
        time: str | None = None,
        holdout: float = 0.2,
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.model = model
        self.labelled = labelled
        self.labelled_by = labelled_by
        self.label_bias = label_bias
        self.images = images
        self.sampling = sampling
        self.pos_label = pos_label
        self.id = id
        self.drop = drop
        self.keep = keep
        self.groups = groups
        self.time = time
        self.holdout = holdout
        self.sep = sep
        self.decimal = decimal
        self.encoding = encoding
        self.sheet = sheet
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a search over `prior` by scores under each candidate's own is refused."""
        refuse_search_over_prior(params, type(self).__name__)
        return super().set_params(**params)  # type: ignore[no-any-return]

    def fit(self, table: Any, s: Any, *, answers: Any = None, known: Any = ()) -> Self:
        """Read the table, set rows aside, estimate the prior, fit the model and judge it.

        Parameters
        ----------
        table : table or path
            A pandas or polars frame (lazy ones too), a pyarrow table or anything else with an Arrow
            stream (DuckDB, Ibis), a NumPy array, or the path of a file. The columns of an array of
            strings or of mixed cells are called ``x0``, ``x1`` and so on. Or a Dask DataFrame,
            which is fitted by the workers of the client in use; see ``docs/scale.md``.
        s : str or array-like
            The column with the PU labels, or the labels: 1, true or yes where a row is known to
            be positive; 0, false, no or nothing where that is unknown; −1 for a known negative;
            or words, see `pos_label`.
        answers : path, list of paths or review, optional
            Answered sheets of a review of this table (``nnpu review``), or the review itself. They
            give the prior, and teach the ensemble (``docs/review.md``).
        known : path or list of paths, optional
            Answered sheets of other reviews whose rows were known when the sheets of `answers`
            were drawn (``nnpu review --known``). Their answers count too.
        """
        if known:
            check_known(answers)
        if is_on_dask(table):
            if answers is not None:
                raise InputError(
                    "The answers of a review go by row numbers: fit the table in memory, or make "
                    "them labels (1 and -1) of the table on Dask."
                )
            from nnpu.table.partitions import fit_to_partitions  # here: most tables are in memory

            sample = fit_to_partitions(self, table, s)
            self.columns_ = sample.plan
            return self._fit_rows(sample.rows, sample=sample)
        return self._fit(table, s, answers, known)

    def _fit(
        self,
        table: Any,
        s: Any,
        answers: Any = None,
        known: Any = (),
        *,
        two_tables: bool = False,
    ) -> Self:
        whole = answers is not None  # these go by the rows of the whole table
        read = self._read(table, s, TWO_TABLES if two_tables else "")
        rows = rows_of_fit(self, *read, whole=whole, say=self._say)
        self.columns_ = self._plan(rows.batch, rows.fitted, rows.unused)
        return self._fit_rows(rows, answers, known, two_tables=two_tables)

    def _fit_rows(
        self,
        rows: FitRows,
        answers: Any = None,
        known: Any = (),
        sample: SampleOfTable | None = None,
        *,
        two_tables: bool = False,
    ) -> Self:
        """Fit the model to rows whose columns are planned, and judge it."""
        batch, codes, fitted = rows.batch, rows.codes, rows.fitted
        self.groups_ = rows.grouped_by
        self._say(*self._lines(rows, sample))
        classifier = self._classifier(rows)
        training = TrainingRows(fitted)
        features = features_for(classifier, self.columns_, batch, training)
        name_drivers(classifier, labelled_by(self), self.columns_, features)
        self.columns_ = self.columns_.with_seen(training.seen)
        if not rows.taken_out[0]:  # else it has been said already
            self._check_sampling(batch, codes)
        self.leaks_ = leaking_columns(self.columns_, features, codes, batch, self.sampling)
        found = known_answers(answers, known, batch, self.columns_, codes, self.sampling)
        self.classifier_ = fit_classifier(
            classifier,
            features,
            codes,
            rows.aside,
            self.columns_,
            rows.groups,
            found,
            sample,
            say=self._say,
        )
        keys = row_keys(features[fitted])
        self.n_labelled_ = int((codes[fitted] == 1).sum())
        self.n_unlabelled_ = int((codes[fitted] == 0).sum())
        share = float(np.mean(codes[fitted] == 1))
        if sample is not None:
            self.n_labelled_, self.n_unlabelled_ = sample.n_fitted
            share, keys = sample.labelled, np.concatenate([keys, *sample.keys])
        self._adopt(self.classifier_)
        self.labelled_share_ = labelled_share(self.classifier_, share)
        self.holdout_: Evaluation | None = None
        self.fit_keys_: NDArray[np.uint64] | None = key_sample(keys)
        self.row_keys_: NDArray[np.uint64] | None = None
        self.labelled_keys_: NDArray[np.uint64] | None = None
        if two_tables:  # no later table has their labels; equal rows of tables apart are chance
            in_both = codes == 1 if rows.taken_out[0] else np.zeros(len(codes), dtype=bool)
            self.labelled_keys_ = np.sort(row_keys(features[in_both]))
        self.explained_ = Explained()
        unlabelled = np.flatnonzero(~rows.aside & (codes == 0))
        self.compared_ = compared_rows(self, features, unlabelled)
        if rows.in_folds or rows.aside.any():
            self._judge(rows, features, found)
        return self

    def fit_two(self, positives: Any, unlabelled: Any) -> Self:
        """Fit to two tables, positives in one and unlabelled rows in the other: two samples.

        Columns are matched by their names; a warning names those that only one table has.
        Positives that are in the unlabelled table too, by their id or cell by cell, are taken out
        of it, with a warning. `sampling` becomes "two-sample". Rows of the fit later have the
        scores that judged them.

        Parameters
        ----------
        positives, unlabelled : table or path
            As in `fit`, without a label column.

        Examples
        --------
        >>> import numpy as np, pyarrow as pa
        >>> rng = np.random.default_rng(0)
        >>> p = pa.table({"size": rng.normal(2, 1, 100)})
        >>> u = pa.table({"size": rng.normal(2.0 * (rng.random(400) < 0.3), 1)})
        >>> model = TablePU(0.3, model="linear").fit_two(p, u)
        >>> model.sampling, model.n_labelled_, model.n_unlabelled_
        ('two-sample', 100, 400)
        """
        self.sampling = "two-sample"
        check_parameters(self)
        p, u = self._batch(positives), self._batch(unlabelled)
        for rows, name in ((p, "positives"), (u, "unlabelled")):
            if rows.n_rows < 2:
                raise InputError(f"TablePU.fit_two: {name} has fewer than two rows.")
        batch, lines = stacked(u, p, self.drop)
        for line in lines:
            warnings.warn(f"Columns {line}.", UserWarning, stacklevel=2)
        return self._fit(batch, np.repeat([0, 1], [u.n_rows, p.n_rows]), two_tables=True)

    def _read(self, table: Any, s: Any, said: str = "") -> tuple[Batch, NDArray[np.int8]]:
        start_clock()
        check_parameters(self)
        self._say(said or SAMPLING_LINES[self.sampling])
        check_order(table, s)
        batch = self._batch(table)
        if batch.n_rows == 0:
            raise InputError("The table has no rows.")
        if self.verbose > 1:
            self._say(f"Read: {batch.n_rows:,} rows.")
        self.label_ = s if isinstance(s, str) else None
        cells = label_cells(batch, s)
        codes, self.pos_label_ = read_labels([cells], s, batch.source, self.pos_label)
        return batch, codes

    def _plan(self, batch: Batch, rows: NDArray[np.intp], unused: Mapping[str, str]) -> ColumnPlan:
        uses = {self.groups: "it says which rows belong together", self.time: "it orders the rows"}
        names: dict[str, Any] = {"label": self.label_, "id_name": self.id, "images": self.images}
        used = {name: use for name, use in uses.items() if name is not None}
        names["words"] = takes_words(self.model) and not labelled_by(self)
        return fit_columns(batch, rows, drop=self.drop, used=used | dict(unused), **names)

    def _lines(self, rows: FitRows, sample: SampleOfTable | None) -> list[str]:
        why = (
            f"that takes {LEAST_LABELLED} labelled and {LEAST_LABELLED} unlabelled rows"
            if self.holdout
            else "as requested"
        )
        codes, aside = rows.codes, int(rows.aside.sum())
        counts = tuple(int((codes == code).sum()) for code in (1, 0, -1))
        return table_lines(
            counts if sample is None else sample.counts,  # type: ignore[arg-type]
            aside,
            self.columns_,
            in_folds=rows.in_folds,
            positive=self.pos_label_,
            why_none=why,
            read_as=rows.batch.read_as,
            all_columns=self.verbose > 1,
        )

    def _classifier(self, rows: FitRows) -> BasePUClassifier:
        """Return the classifier of the job, not fitted yet."""
        codes = rows.codes[rows.fitted]
        return prepared(
            self.model,
            prior=prior_of_the_rest(prior_from(self, codes), *rows.taken_out),
            labelled_by=labelled_by(self),
            sampling=self.sampling,
            seed=self.random_state,
            verbose=self.verbose,
            s=codes,
            categories=self.columns_.raw_categories,
            n_dense=self.columns_.n_dense,
            images=self.columns_.has_images,
        )

    def _check_sampling(self, batch: Batch, codes: NDArray[np.int8]) -> None:
        """Warn where the rows look like the other kind of sampling."""
        if self.images is not None:
            return
        if self.sampling == "two-sample":
            hint_at_one_sample(self.columns_, batch, codes)
            return
        ids = {column.name for column in self.columns_.columns if column.kind == "id"}
        hint_at_two_samples(batch, codes, {self.label_, self.id, *ids, *self.drop}, self.id)

    def _adopt(self, classifier: BasePUClassifier) -> None:
        """Take on what people look for in a fitted classifier."""
        self.classes_, self.sampling_ = classifier.classes_, classifier.sampling_
        self.prior_, self.prior_estimate_ = classifier.prior_, classifier.prior_estimate_
        columns = self.columns_.columns
        self.n_features_in_ = sum(c.width if c.kind == "matrix" else 1 for c in columns)
        if not any(c.kind == "matrix" for c in columns):
            self.feature_names_in_ = np.array([c.name for c in columns], dtype=object)

    def _judge(self, rows: FitRows, features: Any, known: KnownRows | None) -> None:
        """Judge the model by rows that it was not fitted to: all in folds, or those set aside."""
        found = unseen_scores(self.classifier_, features, rows, seed=self.random_state)
        judged = np.flatnonzero(found.fold >= 0)
        codes, scores = rows.codes[judged], found.scores[judged].astype(np.float32)
        names = row_names(rows.batch, self.columns_, judged)
        self.holdout_, lines = judge_scores(
            self.classifier_,
            codes,
            scores,
            names,
            features[judged] if self.columns_.has_images else None,
            label_bias=self.label_bias,
            labelled=self.labelled_share_,
            fold=found.fold[judged] if rows.in_folds else None,
        )
        if self.holdout_ is not None:
            if rows.in_folds:
                self.row_keys_ = row_keys(features)[judged]
            how = "in the same folds" if rows.in_folds else "on the same rows set aside"
            order = features, rows.codes, found.fold, judged, scores
            plain = against_plain(self, *order, fitted_to=how)
            self.holdout_ = replace(self.holdout_, plain=plain)
            if self.verbose > 1:
                lines += self.holdout_.plain_lines()
        self._say_judged(lines, known, judged)
        first = np.flatnonzero(found.fold == 0)
        self.classifier_._note_unseen(features[first], rows.codes[first], found.first)
        self.explained_ = explain_aside(
            *(self, features[judged], codes, names, rows.batch, judged),
            judge=found.first,
            unseen=found.fold[judged] == 0,
        )
        self.classifier_.out_of_fold_ = None  # the judgement keeps what is needed of it

    def _say_judged(
        self, lines: list[str], known: KnownRows | None, rows: NDArray[np.intp]
    ) -> None:
        """Say what the judgement is; the answers of a review come before any estimate."""
        if known is not None and self.holdout_ is not None:
            cut = unlabelled_cut(self.classifier_, self.labelled_share_)
            self.holdout_ = audited(self.holdout_, known, rows, cut, self.label_bias)
            lines = self.holdout_.lines() if self.holdout_.audited else lines
        if self.leaks_ and self.holdout_ is not None:
            lines = [f"Figures are withheld: {self.leaks_[0]!r} may give the label away."]
        self._say(*lines)

    def _say(self, *lines: str) -> None:
        if self.verbose:
            say(*lines, timed=self.verbose > 1)

    def estimate_prior(self, table: Any, s: Any) -> TablePrior:
        """Estimate the share of positives in a table as `fit` with ``prior="auto"`` does.

        It is what `fit` finds on the same table with the same seed, without the rest of a fit.

        Parameters
        ----------
        table, s
            As in `fit`.
        """
        rows = rows_of_fit(self, *self._read(table, s), say=self._say)
        self.columns_ = self._plan(rows.batch, rows.fitted, rows.unused)
        if self.columns_.has_images:
            raise InputError(
                "TablePU.estimate_prior takes columns of a table, not images, whose features only "
                "a fit finds: fit the model and read classifier_.prior_estimate_."
            )
        classifier = self._classifier(rows).set_params(prior="auto")
        features = features_for(classifier, self.columns_, rows.batch)
        name_drivers(classifier, labelled_by(self), self.columns_, features)
        leaking_columns(self.columns_, features, rows.codes, rows.batch, self.sampling)
        self._say(
            f"Estimating the share as a fit does: {type(classifier).__name__} on "
            f"{len(rows.fitted):,} rows, out of fold ..."
        )
        return table_prior(classifier, features, rows.codes, rows.fitted, rows.groups)

    def plan_columns(self, table: Any, s: Any = None) -> ColumnPlan:
        """Say what would be done with each column of a table, without fitting a model.

        Parameters
        ----------
        table : table or path
            The rows.
        s : str, optional
            The label column, which is not a feature and helps to tell an id that repeats; labels
            of another kind are not looked at.

        Returns
        -------
        ColumnPlan
            Its ``columns`` have a ``name``, a ``kind``, and a ``description()`` in words.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [31, 45, 52], "town": ["Ulm", "Bonn", "Ulm"]})
        >>> plan = TablePU().plan_columns(table)
        >>> [f"{column.name}: {column.description()}" for column in plan.columns]
        ['age: number', 'town: 1 category, rare ones merged']
        """
        job: TablePU = clone(self).set_params(verbose=0)  # this one stays as it is
        unused: dict[str, str] = {}
        job.label_ = None
        if isinstance(s, str):
            batch, codes = job._read(table, s)
            unused = together(job, batch, codes, say=job._say).unused
        else:
            check_parameters(self)
            batch = self._batch(table)
            if batch.n_rows == 0:
                raise InputError("The table has no rows.")
        return job._plan(batch, np.arange(batch.n_rows), unused)

    def decision_function(self, table: Any) -> NDArray[np.float32]:
        """Return a score for each row: greater means more likely positive.

        Parameters
        ----------
        table : table or path
            The rows, with the columns of the fit; an array if the fit took one.
        """
        watch = self.drift_watch()
        scores = np.concatenate([part for _, part in self.scored(table, watch)])
        if lines := watch.lines():
            warnings.warn(drift_sentence(lines), UserWarning, stacklevel=2)
        return scores

    def predict_proba(self, table: Any, s: Any = None) -> NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n, 2).

        For a row whose label is not known here it is P(y = 1 | x). In one sample a row that is
        known to be unlabelled had its chance of a label: it is less likely positive, P(y = 1 | x,
        unlabelled), and a labelled row has the probability 1.

        Parameters
        ----------
        table : table or path
            The rows, with the columns of the fit; an array if the fit took one.
        s : str or array-like, optional
            The PU labels or their column; by default the label column of the fit, if the table
            has it.
        """
        positive = self._answers(table, s)[0]
        return np.column_stack([1 - positive, positive])

    def predict(self, table: Any, s: Any = None) -> NDArray[Any]:
        """Return 1 for the rows that are predicted positive, and 0 for the others.

        Parameters
        ----------
        table, s
            As in `predict_proba`.
        """
        flags = self._answers(table, s)[1]
        return np.asarray(self.classes_[flags.astype(int)])

    def _answers(self, table: Any, s: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the probability of each row, and whether it is predicted positive."""
        watch, probabilities, flags = self.drift_watch(), [], []
        check_order(table, s)
        given = None if s is None or isinstance(s, str) else label_cells(self._rows(table), s)
        first = 0
        for batch, scores in self.scored(table, watch, labelled=s is not None):
            part = None if given is None else given[first : first + batch.n_rows]
            codes = self.labels_of(batch, s if isinstance(s, str) else None, part)
            probabilities.append(self.probabilities(scores, codes))
            flags.append(self.flags(scores, codes))
            first += batch.n_rows
        if lines := watch.lines():
            warnings.warn(drift_sentence(lines), UserWarning, stacklevel=3)
        return np.concatenate(probabilities), np.concatenate(flags)

    def labels_of(
        self, batch: Batch, label: str | None = None, cells: Any = None
    ) -> NDArray[np.int8] | None:
        """Return the PU labels of some rows; None if they are not known.

        Parameters
        ----------
        batch : Batch
            The rows.
        label : str, optional
            Their label column; by default that of the fit, if they have it.
        cells : pyarrow array, optional
            The labels themselves.
        """
        name = label or self.label_
        if cells is None and label is not None:
            cells = label_cells(batch, label)
        elif cells is None and self.label_ is not None:
            cells = batch.columns.get(self.label_)
        return None if cells is None else known_labels(cells, name or "s", self._known_label())

    def probabilities(
        self, scores: NDArray[np.floating[Any]], codes: NDArray[np.int8] | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each score, given the PU label of its row if that is known."""
        positive = np.asarray(self.classifier_.calibration_(scores))
        if codes is None or self.sampling == "two-sample":
            return positive
        hidden = unlabelled_probability(positive, self.labelled_share_)
        return np.select([codes == 1, codes == -1], [1.0, 0.0], hidden)

    def score(self, table: Any, s: Any) -> float:
        """Return the estimated accuracy; no true label is needed."""
        return self.evaluate(table, s).accuracy.value

    def evaluate(self, table: Any, s: Any, *, prior: Any = None) -> Evaluation:
        """Judge the model by the labelled and unlabelled rows of another table.

        Parameters
        ----------
        table, s
            As in `fit`; rows that the model was not fitted to.
        prior : float, "auto", (low, high) or PriorEstimate, optional
            The share of positives in these rows, as in the constructor. By default that of the
            training; if these rows contradict it, it is estimated anew and ``prior_note`` says so.
        """
        check_is_fitted(self)
        self._check_array(table)
        check_order(table, s)
        table = table if is_path(table) and isinstance(s, str) else self._rows(table)
        watch, scores, cells, names, files = self.drift_watch(), [], [], [], []
        kept: Examples | None = None
        batches: list[Batch] = []
        overlap = self.overlap()
        for batch, part in self.scored(table, watch, labelled=True, overlap=overlap):
            scores.append(part)
            cells.append(label_cells(batch, s))
            names.append(row_names(batch, self.columns_))
            codes = self.labels_of(batch, None, cells[-1])
            kept = with_examples(kept, self, batch, codes, part, names[-1])
            if batch.first + batch.n_rows <= MOST_ROWS:  # of more, nothing is compared
                batches.append(batch)
            files += list(self.columns_.files(batch)) if self.columns_.has_images else []
        codes = read_labels(cells, s, source_name(table), self._known_label()).codes
        self._warn_of_seen_rows(overlap)
        rows = np.concatenate(scores), np.concatenate(names), files or None
        classifier, note = share_here(
            *(self.classifier_, codes, rows[0], prior),
            judged=self.holdout_,
            owner="TablePU.evaluate",
        )
        found = evaluate(
            classifier,
            codes,
            *rows,
            label_bias=self.label_bias,
            labelled=self.labelled_share_,
        )
        if sum(batch.n_rows for batch in batches) == len(codes):
            parts = [features_for(self.classifier_, self.columns_, batch) for batch in batches]
            found = replace(found, plain=against_plain_in_folds(self, parts, codes, found.scores))
        drift, counts = watch.lines(), watch.counts()
        return replace(found, drift=drift, cells=counts, examples=kept, prior_note=note)

    def choose_threshold(
        self,
        table: Any = None,
        s: Any = None,
        *,
        at: str | None = None,
        precision: float | None = None,
        recall: float | None = None,
    ) -> Threshold:
        """Set ``threshold_``, where `predict` cuts the scores, without any negative.

        ``holdout_`` is judged again, at the new threshold. Rows that are known to be unlabelled
        are cut where their own probability is that of the threshold.

        Parameters
        ----------
        table, s
            Rows that the model was not fitted to, and their PU labels, as in `evaluate`. By
            default the rows that judged the model in `fit`.
        at : {"prior", "half", "regret"}, optional
            "prior": predict as many positives as there are. "half": where the probability is one
            half. "regret": the cut that loses least over the range of an estimated prior.
        precision, recall : float, optional
            The value to reach by PU estimates. Exactly one of `at`, `precision` and `recall`.

        Returns
        -------
        Threshold
            As the classifiers' ``choose_threshold``.
        """
        check_is_fitted(self)
        if (table is None) != (s is None):
            raise InputError("choose_threshold needs a table and its PU labels, or neither.")
        if table is not None:
            rows = self._scored_labels(table, s)
        elif self.holdout_ is not None:
            rows = self.holdout_.scores, self.holdout_.s
        else:
            raise InputError("choose_threshold needs a table and its PU labels: fit kept no rows.")
        chosen = self.classifier_._choose(*rows, at, precision, recall)
        if self.holdout_ is not None:
            self.holdout_ = judged_again(self, self.holdout_)
        return chosen

    def _scored_labels(self, table: Any, s: Any) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Return the scores of rows and their PU labels."""
        self._check_array(table)
        check_order(table, s)
        table = table if is_path(table) and isinstance(s, str) else self._rows(table)
        overlap = self.overlap()
        scored = self.scored(table, labelled=True, overlap=overlap)
        parts = [(part, label_cells(batch, s)) for batch, part in scored]
        self._warn_of_seen_rows(overlap)
        cells = [cells for _, cells in parts]
        codes = read_labels(cells, s, source_name(table), self._known_label()).codes
        return np.concatenate([part for part, _ in parts]), codes

    @property
    def threshold_(self) -> float:
        """The score above which a row is predicted positive: that of ``classifier_``."""
        return float(self.classifier_.threshold_)

    @threshold_.setter
    def threshold_(self, value: float) -> None:
        self.classifier_.threshold_ = check_number("threshold_", value, "TablePU")
        if self.holdout_ is not None:
            self.holdout_ = judged_again(self, self.holdout_)

    def shift_prior(self, new_prior: float) -> Self:
        """Return a copy for a population in which positives have another share.

        Probabilities and threshold move as the classifiers' ``shift_prior`` moves them. This is
        right if each class looks the same there. ``labelled_share_`` stays. Nothing is known of
        the copy's quality in that population: its ``holdout_`` is None.

        Parameters
        ----------
        new_prior : float
            The share of positives where the model will be used.
        """
        check_is_fitted(self)
        moved = copy(self)
        moved.classifier_ = self.classifier_.shift_prior(new_prior)
        moved._adopt(moved.classifier_)
        moved.holdout_, moved.row_keys_ = None, None
        return moved

    def explain(
        self, table: Any, *, background: Any = None, n_orders: int = 4, random_state: int = 0
    ) -> Contributions:
        """Divide the score of each row among the columns of its table.

        Parameters
        ----------
        table : table or path
            The rows.
        background : table or path, optional
            Rows that a score is compared with; by default the rows that ``nnpu predict`` and the
            report compare with: some unlabelled ones of the fit.
        n_orders, random_state : int
            As the classifiers' ``explain``.

        Returns
        -------
        Contributions
            ``base + values.sum(axis=1)`` are the scores of ``classifier_``, and ``columns`` the
            names of the columns that are features.
        """
        rows = self.transform(table)
        if rows.shape[0] == 0:
            names = [column.name for column in self.columns_.columns if column.width]
            return Contributions(math.nan, np.zeros((0, len(names))), names)
        other = None if background is None else self.transform(background)
        return explain_rows(self, rows, other, n_orders=n_orders, random_state=random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features are of single precision
        return tags

    def transform(self, table: Any) -> Any:
        """Return the features of some rows, as ``classifier_`` takes them.

        Parameters
        ----------
        table : table or path
            The rows, with the columns of `fit`.

        Returns
        -------
        ndarray or CSR array of shape (n, n_features)
            `get_feature_names_out` has the names.
        """
        check_is_fitted(self)
        return features_for(self.classifier_, self.columns_, self._rows(table))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features that `transform` returns.

        Parameters
        ----------
        input_features : ignored
            The names are those of the columns in `fit`.
        """
        check_is_fitted(self)
        raw = takes_raw(self.classifier_) and not self.columns_.has_images
        names = self.columns_.raw_names if raw else self.columns_.dense_names
        return np.array(names, dtype=object)

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
        from nnpu.table.pages import evaluation_page, fit_page

        if found is not None:
            return evaluation_page(self, found, title=title)
        return fit_page(self, title=title)

    def review(self, table: Any, s: Any = None) -> ListReview:
        """Return a review that works down the list of a table's unlabelled rows.

        Every answer improves the ranking; the model, its prior and its figures stay as they are.

        Parameters
        ----------
        table : table or path
            The rows.
        s : str or array-like, optional
            The PU labels or their column; by default the label column of the fit, if the table
            has it. Labelled rows are never given out.

        Returns
        -------
        ListReview
            With ``next``, ``answer``, ``found``, ``left``, ``certificate`` and ``save``;
            `nnpu.review.load` reads it. Row numbers are those of the table, from 0 on.
        """
        check_is_fitted(self)
        return list_review(self, table, label=s)

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
        from nnpu.table.folder import stored

        check_is_fitted(self)
        table, arrays = stored(self)
        return save(self.classifier_, folder, table=table, arrays=arrays, notes=notes)

    def scored(
        self,
        table: Any,
        watch: DriftWatch | None = None,
        *,
        labelled: bool = False,
        overlap: Overlap | LabelledRows | None = None,
    ) -> Iterator[tuple[Batch, NDArray[np.float32]]]:
        """Yield the rows of a table with their scores; a file is read a batch at a time.

        A row of the fit, in a table whose labels are known, has the score that judged it: by a
        model that was not fitted to it.

        Parameters
        ----------
        table : table or path
            The rows.
        watch : DriftWatch, optional
            Compares the rows with those of the training.
        labelled : bool, default=False
            Whether the labels are known though the table may not have the label column.
        overlap : Overlap or LabelledRows, optional
            Is shown the keys of the rows: it counts those of the fit, or finds its labelled ones.
        """
        check_is_fitted(self)
        if is_mixed(table):
            table = self._rows(table)
        self._check_array(table)
        rows = 0
        batches = stream_rows(table, **self._how()) if is_path(table) else [self._batch(table)]
        read = ((b, features_for(self.classifier_, self.columns_, b, watch)) for b in batches)
        for batch, features in prefetched(read):
            rows += batch.n_rows
            judged = labelled or self.label_ in batch.columns or self.labelled_keys_ is not None
            scores = self._scores(features, judged)
            if watch is not None:
                watch.add_scores(scores)
            if overlap is not None and batch.n_rows:
                overlap.add(row_keys(features))
            yield batch, scores
        if rows == 0 and is_path(table):
            raise InputError(f"{source_name(table)} has no rows.")

    def drift_watch(self) -> DriftWatch:
        """Return what compares rows and their scores with those of the training."""
        check_is_fitted(self)
        found = self.holdout_
        if found is None:
            return DriftWatch()
        rows = found.scores, found.s == 1
        cut = float(self.classifier_.threshold_)
        return DriftWatch(UsualScores.of(*rows, cut, self.sampling))

    def overlap(self) -> Overlap | None:
        """Return what counts the rows that the model was fitted to; None if it does not know."""
        if self.fit_keys_ is None:
            return None
        return Overlap(self.fit_keys_, self.n_labelled_ + self.n_unlabelled_)

    def _warn_of_seen_rows(self, overlap: Overlap | None) -> None:
        """Warn if rows that judge the model have scores of a model that was fitted to them."""
        if overlap is None or self.row_keys_ is not None:  # then each has its score out of fold
            return
        if overlap.matters:
            warnings.warn(
                f"About {100 * overlap.of_rows:.0f} % of these rows are rows of the fit, which the "
                "model has seen: the figures may flatter it. Use rows that it has not seen.",
                UserWarning,
                stacklevel=3,
            )

    def flags(
        self, scores: NDArray[np.float32], codes: NDArray[np.int8] | None = None
    ) -> NDArray[np.bool_]:
        """Return which scores are predicted positive, given the PU labels if they are known."""
        values = scores.astype(np.float64)
        if codes is None or self.sampling == "two-sample":
            return np.asarray(values > self.classifier_.threshold_)
        above = values > unlabelled_cut(self.classifier_, self.labelled_share_)
        return np.select([codes == 1, codes == -1], [True, False], above)

    def _scores(self, features: Any, labelled: bool) -> NDArray[np.float32]:
        """Return scores; if labels are known, those that judged the rows of the fit for them."""
        if features.shape[0] == 0:
            return np.zeros(0, dtype=np.float32)
        scores = self.classifier_.decision_function(features)
        if not labelled or self.row_keys_ is None or self.holdout_ is None:
            return scores
        order = np.argsort(self.row_keys_, kind="stable")
        known, keys = self.row_keys_[order], row_keys(features)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        same = known[place] == keys
        return np.where(same, self.holdout_.scores[order[place]], scores).astype(np.float32)

    def _check_array(self, table: Any) -> None:
        """Refuse an array if the columns have names: it does not say which one is which."""
        is_array = (isinstance(table, np.ndarray) or sparse.issparse(table)) and not is_mixed(table)
        if is_array and not any(column.kind == "matrix" for column in self.columns_.columns):
            raise InputError(
                "The model was fitted to a table with named columns and cannot take an array, "
                "which does not name them: pass a table with the columns of the fit."
            )

    def _batch(self, table: Any) -> Batch:
        return as_batch(table, **self._how())

    def _how(self) -> dict[str, str | None]:
        """Return how a file is to be read."""
        return {name: getattr(self, name) for name in ("sep", "decimal", "encoding", "sheet")}

    def _rows(self, table: Any) -> Batch:
        """Return rows for a fitted model; cells of mixed types are numbers if it takes numbers."""
        if is_mixed(table) and any(column.kind == "matrix" for column in self.columns_.columns):
            try:
                table = table.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"The model was fitted to an array of numbers, and this one holds others: "
                    f"{error}."
                ) from error
        return self._batch(table)

    def _known_label(self) -> str | float | None:
        return self.pos_label if self.pos_label is not None else self.pos_label_
