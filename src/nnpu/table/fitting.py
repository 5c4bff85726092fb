"""The fit of a table's classifier to the rows that are not set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.table._messages import UNTESTED
from nnpu.table.leaks import column_owners

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.review import KnownRows
    from nnpu.table.columns import ColumnPlan

__all__ = ["fit_classifier", "known_answers"]


def known_answers(
    answers: Any, batch: Batch, plan: ColumnPlan, codes: NDArray[np.int8], sampling: str
) -> KnownRows | None:
    """Return what the answers of a review give a fit; None without answers.

    Parameters
    ----------
    answers : None, path, list of paths or review
        As in `TablePU.fit`.
    batch, plan, codes, sampling
        The table, what becomes of its columns, its PU labels, and how they came about.
    """
    if answers is None:
        return None
    from nnpu.table.table_answers import answers_of, population

    return answers_of(answers, population(batch, plan, codes, sampling))


def fit_classifier(
    classifier: BasePUClassifier,
    features: Any,
    codes: NDArray[np.int8],
    aside: NDArray[np.bool_],
    plan: ColumnPlan,
    groups: NDArray[np.intp] | None = None,
    answers: KnownRows | None = None,
    *,
    say: Callable[[str], None],
) -> BasePUClassifier:
    """Fit a classifier and say what is done.

    Parameters
    ----------
    classifier : BasePUClassifier
        Not fitted yet.
    features, codes, aside, groups
        Of all rows: what the model takes, PU labels, which rows are set aside, and which belong
        together.
    plan : ColumnPlan
        The columns of the table.
    answers : KnownRows, optional
        What a review gave, by row numbers of the table.
    say : callable
        Takes each line.
    """
    fitted = np.flatnonzero(~aside)
    say(f"Training: {type(classifier).__name__} on {len(fitted):,} rows ...")
    if aside.any() and "training" in classifier.get_params(deep=False):  # a network
        from nnpu.table.epoch_risk import watched

        classifier = watched(classifier, features[aside], codes[aside])
    used = None if groups is None else groups[fitted]
    if answers is None:
        classifier.fit(features[fitted], codes[fitted], groups=used)
    else:
        from nnpu.table.table_answers import fit_with_answers

        rows = features[fitted], codes[fitted]
        say(fit_with_answers(classifier, *rows, answers, fitted, groups=used))
    classifier.scar_test_ = None
    if classifier.prior == "auto" and answers is None:
        say(UNTESTED)
    elif not plan.has_images:
        from nnpu.table.label_check import check_labels, label_line

        rows, origin = plan.as_one_matrix(features[fitted])
        owners = column_owners(plan, features.shape[1])
        classifier.scar_test_ = check_labels(
            rows,
            codes[fitted],
            owners if origin is None else [owners[column] for column in origin],
            prior=_least(classifier),
            sampling=classifier.sampling,
            seed=0,
        )
        if classifier.scar_test_ is not None:
            say(label_line(classifier.scar_test_))
    return classifier


def _least(classifier: BasePUClassifier) -> float:
    """Return the smallest prior that was said to be possible: what it contradicts, all of them do.

    An estimate inside of given limits comes from the rows themselves and would test nothing.
    """
    given = classifier.prior
    return float(given[0]) if isinstance(given, tuple | list) else classifier.prior_
