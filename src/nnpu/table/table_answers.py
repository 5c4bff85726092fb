"""Answers of a review in the fit of a table: which rows they are, and what the model gets."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.estimators.ensemble import EnsemblePU
from nnpu.estimators.ensemble.weights import audited_prior
from nnpu.hidden import Answers, audited_hidden
from nnpu.parameters import InputError, ParameterError, shown
from nnpu.ranges import Estimate
from nnpu.review import Review
from nnpu.review.sheets import read_sheets
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.review import KnownRows
    from nnpu.table.columns import ColumnPlan

__all__ = [
    "Population",
    "answers_of",
    "audited",
    "audited_by",
    "audited_from_json",
    "check_known",
    "fit_with_answers",
    "population",
    "with_answers",
]


class Population(NamedTuple):
    """The rows that the figures are about: U in two samples, all rows in one.

    Attributes
    ----------
    rows : array
        Their numbers in the table.
    names : list of str
        Their ids, or their numbers from 1 on.
    known : array
        1 or 0 where the label says so, else NaN.
    """

    rows: NDArray[np.intp]
    names: list[str]
    known: NDArray[np.float64]


def population(
    batch: Batch, plan: ColumnPlan, codes: NDArray[np.int8], sampling: str
) -> Population:
    """Return the rows that a review of a table is about."""
    two = sampling == "two-sample"
    rows = np.flatnonzero(codes == 0) if two else np.arange(batch.n_rows)
    ids = plan.ids(batch)
    every = [str(i + 1) for i in range(batch.n_rows)] if ids is None else ids.to_pylist()
    known = np.select([codes == 1, codes == -1], [1.0, 0.0], np.nan)[rows]
    return Population(rows, [str(every[i]) for i in rows], known)


def check_known(answers: Any) -> None:
    """Refuse sheets of other reviews beside anything but sheets: a review holds what it knows."""
    if answers is None or isinstance(getattr(answers, "review", answers), Review):
        raise ParameterError(
            "The 'known' parameter of TablePU.fit (--known) goes with answered sheets "
            f"(--answers). Got {shown(answers)} instead."
        )


def answers_of(answers: Any, rows: Population, known: Any = ()) -> KnownRows:
    """Return the answered rows, by their numbers in the table, and the audited prior.

    Parameters
    ----------
    answers : path, list of paths, Review or TableReview
        Answered sheets of all rounds, or a review with its answers.
    rows : Population
        The rows of the table that the review was about.
    known : path or list of paths
        Answered sheets whose rows were known when those of `answers` were drawn.
    """
    review = getattr(answers, "review", answers)
    if not isinstance(review, Review):
        paths = [answers] if isinstance(answers, str | os.PathLike) else answers
        if not isinstance(paths, list | tuple) or not paths:
            raise ParameterError(
                "The 'answers' parameter of TablePU.fit must be the path of an answered sheet, a "
                f"list of paths, or a review. Got {shown(answers)} instead."
            )
        before = [known] if isinstance(known, str | os.PathLike) else known
        given, _ = with_answers(rows.known, rows.names, before)
        review = Review.from_sheets(*paths, ids=rows.names, known=given)
    elif review.ids != rows.names:
        raise ParameterError(
            "The 'answers' parameter of TablePU.fit must be a review of the rows of this table. "
            "Got one of other rows instead."
        )
    found = review.known_rows()
    return found._replace(rows=rows.rows[found.rows])


def with_answers(
    known: NDArray[np.float64], names: list[str], paths: Sequence[Any]
) -> tuple[NDArray[np.float64], str]:
    """Return what is known after the answers of other reviews, and a line that says so.

    Parameters
    ----------
    known, names
        Of a `Population`.
    paths : sequence of paths
        Answered sheets. Rows without a clear answer stay unknown.
    """
    at, values, count = {name: i for i, name in enumerate(names)}, known.copy(), 0
    for sheet in (sheet for path in paths for sheet in read_sheets(path)):
        unknown = [id_ for id_ in sheet.ids if id_ not in at]
        if unknown:
            raise InputError(
                f"{sheet.source}: ids that are not in the data: {len(unknown)}, such as "
                f"{unknown[0]!r}. Use the data file that the rows were drawn from."
            )
        for id_, answer in zip(sheet.ids, sheet.answers, strict=True):
            if answer is not None and not np.isnan(answer):
                values[at[id_]], count = answer, count + 1
    verb = "is" if count == 1 else "are"
    return values, f"{how_many(count, 'row')} {verb} known from earlier answers."


def fit_with_answers(
    classifier: BasePUClassifier,
    features: Any,
    codes: NDArray[np.int8],
    known: KnownRows,
    fitted: NDArray[np.intp],
    **options: Any,
) -> str:
    """Fit a classifier to some rows and what is known of them; return what was done, in words.

    The ensemble learns from every answer; the others get the audited prior.

    Parameters
    ----------
    classifier : BasePUClassifier
        Not fitted yet.
    features, codes
        Of the rows to fit.
    known : KnownRows
        By row numbers of the table.
    fitted : array
        The numbers, in the table, of the rows to fit. Answers to other rows count in the prior.
    **options
        Passed to ``fit``.
    """
    if isinstance(classifier, EnsemblePU):
        inside = np.isin(known.rows, fitted)
        rows = np.searchsorted(fitted, known.rows[inside])
        here = known._replace(rows=rows, y=known.y[inside], weight=known.weight[inside])
        classifier.fit(features, codes, answers=here, **options)
        asked = int((codes[here.rows] == 0).sum())
        return f"{asked:,} answered rows are among the rows that the model is fitted to."
    estimate = audited_prior(known, codes, str(classifier.sampling))
    given = classifier.prior != "auto"
    if not given:
        classifier.set_params(prior=estimate.value)
    classifier.fit(features, codes, **options)
    if not given:
        classifier.prior_estimate_ = estimate
    return (
        f"{type(classifier).__name__} takes the prior from the answers; the ensemble would learn "
        "from each of them."
    )


def audited(
    found: Evaluation, known: KnownRows, rows: NDArray[np.intp], cut: float, label_bias: Any
) -> Evaluation:
    """Put what a review found in place of what was estimated.

    Parameters
    ----------
    found : Evaluation
        Of rows whose scores do not rest on their own answers.
    known : KnownRows
        By row numbers of the table; without an audited prior nothing changes.
    rows : array
        The numbers, in the table, of the rows that were judged.
    cut : float
        The score above which an unlabelled row is predicted positive.
    label_bias : "typical" or float
        As in `TablePU`.
    """
    if known.prior is None:
        return found
    n_p, n_u = int((found.s == 1).sum()), int((found.s == 0).sum())

    def among(share: float) -> float:
        if found.sampling == "two-sample":
            return share
        return float(np.clip((share * len(found.s) - n_p) / n_u, 0, 1))

    at = {int(row): place for place, row in enumerate(rows)}
    kept = [i for i, row in enumerate(known.rows) if int(row) in at and found.s[at[int(row)]] == 0]
    prior = known.prior
    answers = Answers(
        np.array([at[int(known.rows[i])] for i in kept], dtype=np.intp),
        known.y[kept],
        known.weight[kept],
        Estimate(*(among(each) for each in (prior.value, prior.low, prior.high))),
    )
    return audited_by(found, answers, cut, label_bias)


def audited_from_json(found: Evaluation, plain: Any, cut: float, label_bias: Any) -> Evaluation:
    """Put the answers that a folder kept in place of what was estimated."""
    return audited_by(found, Answers.from_json(plain, found.rows), cut, label_bias)


def audited_by(found: Evaluation, answers: Answers, cut: float, label_bias: Any) -> Evaluation:
    """Put answers, by the number of the row among those judged, in place of what was estimated."""
    hidden = audited_hidden(
        found.s, found.scores, cut, answers, sampling=found.sampling, label_bias=label_bias
    )
    hidden = replace(hidden, contradicted=found.hidden.contradicted)
    return replace(found, hidden=hidden, audited=True)
