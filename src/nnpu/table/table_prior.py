"""The share of positives in a table, in words, in rows, and as a picture.

`labels_at_random` asks whether the labels can have been given at random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from nnpu.estimators.threads import one_blas_thread
from nnpu.hidden import KnownShare, hidden_share
from nnpu.prior import scar_test
from nnpu.terminal import status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.prior import PriorEstimate, ScarTest

__all__ = [
    "TablePrior",
    "draw_prior",
    "in_rows",
    "in_the_world",
    "label_line",
    "labels_at_random",
    "table_prior",
]


class TablePrior(NamedTuple):
    """The estimate for a table.

    Attributes
    ----------
    value : float
        The prior of all rows, known negatives included (one-sample), or of the unlabelled ones.
    estimate : PriorEstimate
        How it was estimated, from labelled and unlabelled rows.
    labelled, unlabelled, rows : int
        How many there are.
    """

    value: float
    estimate: PriorEstimate
    labelled: int
    unlabelled: int
    rows: int


def table_prior(
    classifier: BasePUClassifier,
    features: Any,
    s: NDArray[np.int8],
    fitted: NDArray[np.intp],
    groups: NDArray[np.intp] | None,
) -> TablePrior:
    """Estimate the share of positives in a table as a fit of the classifier would.

    It takes the steps of that fit up to the prior: of the ensemble, the members that need no prior
    are fitted out of fold, and none to all rows.

    Parameters
    ----------
    classifier : BasePUClassifier
        Not fitted yet, with ``prior="auto"``.
    features, s, groups
        Of all rows: what the classifier takes, PU labels, and which rows belong together.
    fitted : ndarray of int
        The rows that a fit would not set aside.
    """
    used = None if groups is None else groups[fitted]
    try:
        with one_blas_thread():  # as in the ensemble's fit
            classifier._up_to_prior(features[fitted], s[fitted], used)
    finally:
        status("")
    estimate = classifier.prior_estimate_
    assert estimate is not None  # of prior="auto"
    counts = int((s == 1).sum()), int((s == 0).sum()), len(s)
    return TablePrior(classifier.prior_, estimate, *counts)


def in_rows(found: TablePrior) -> str:
    """Say in numbers of rows what the share means.

    Examples
    --------
    >>> from nnpu.prior import PriorEstimate
    >>> estimate = PriorEstimate(0.3, 0.2, 0.4, "bbe", True, "", "one-sample")
    >>> in_rows(TablePrior(0.3, estimate, 20, 80, 100))
    'In rows: of 100, about 30 would be positive: 20 labelled and about 10 others.'
    """
    if found.estimate.sampling == "one-sample":
        positives = round(found.value * found.rows)
        return (
            f"In rows: of {found.rows:,}, about {positives:,} would be positive: "
            f"{found.labelled:,} labelled and about {max(positives - found.labelled, 0):,} others."
        )
    return (
        f"In rows: of {found.unlabelled:,} unlabelled ones, about "
        f"{round(found.value * found.unlabelled):,} would be positive."
    )


def in_the_world(found: TablePrior) -> str:
    """Say what the share may be if labels were not given at random.

    Examples
    --------
    >>> from nnpu.prior import PriorEstimate
    >>> estimate = PriorEstimate(0.3, 0.2, 0.4, "auto", True, "", "one-sample", 0.4)
    >>> in_the_world(TablePrior(0.3, estimate, 20, 80, 100))[:51]
    'Labels are seldom given at random. Allowing for that'
    """
    share = hidden_share(_known(found))[0]
    low, high = (round(end * found.unlabelled) for end in (share.low, share.high))
    return (
        "Labels are seldom given at random. Allowing for that, "
        f"between {low:,} and {high:,} of the unlabelled rows are positive ({100 * share.low:.0f} "
        f"to {100 * share.high:.0f} %). A review (nnpu review) narrows this range."
    )


def _known(found: TablePrior) -> KnownShare:
    """Return the estimate as one of the share among the unlabelled rows."""
    estimate, n = found.estimate, found.labelled + found.unlabelled

    def among(share: float) -> float:
        if estimate.sampling == "two-sample":
            return share
        return min(max((share * n - found.labelled) / found.unlabelled, 0.0), 1.0)

    return KnownShare(
        value=among(estimate.value),
        low=among(estimate.low),
        high=among(estimate.high),
        bound=among(estimate.upper_bound),
    )


def draw_prior(found: TablePrior, out: Path) -> list[str]:
    """Write the picture behind the estimate as PNG and SVG, and return the two paths."""
    from nnpu.report import save_figure
    from nnpu.report.panels import prior_panel

    stem = out.with_suffix("") if out.suffix in (".png", ".svg") else out
    panel = prior_panel(found.estimate, found.labelled, found.unlabelled)
    return [str(path) for path in save_figure([panel], stem, columns=1)]


def labels_at_random(
    features: Any,
    codes: NDArray[np.int8],
    owners: Sequence[str],
    *,
    prior: float,
    sampling: str,
    seed: int,
    groups: NDArray[np.intp] | None = None,
) -> ScarTest | None:
    """Run `nnpu.scar_test` on labelled and unlabelled rows; None if it cannot be run on them.

    It takes a matrix, and groups of which some rows can be compared with others.

    Parameters
    ----------
    features, codes
        Of the rows: what the model takes, PU labels.
    owners : sequence of str
        The column of the table that each feature comes from.
    prior, sampling, seed
        As in `nnpu.scar_test`; the prior is not estimated from these rows.
    groups : ndarray of shape (n,), optional
        Rows that belong together, such as the visits of a patient, who would be recognised.
    """
    matrix = isinstance(features, np.ndarray) or sparse.issparse(features)
    p, u = codes == 1, codes == 0
    if not matrix or min(p.sum(), u.sum()) < 2:
        return None
    if groups is not None and len(np.unique(groups[p | u])) < 2:
        return None
    if sampling == "one-sample":  # the share in P ∪ U; known negatives are left out of the test
        prior = min(prior * len(codes) / int((codes >= 0).sum()), 1 - 1e-9)
        if prior <= p.sum() / (p.sum() + u.sum()):
            return None
    test = scar_test(
        features[p],
        features[u],
        prior=prior,
        sampling=sampling,
        random_state=seed,
        groups=None if groups is None else (groups[p], groups[u]),
    )
    names = tuple(dict.fromkeys(owners[number] for number in test.columns))
    ending = f" These rows differ from others in: {', '.join(map(str, test.columns))}."
    message = test.message.replace(
        ending, f" These rows differ from others in: {', '.join(names)}."
    )
    return replace(test, columns=names, message=message)


def label_line(test: ScarTest) -> str:
    """Say in one line what the test found.

    Examples
    --------
    >>> from nnpu.prior import ScarTest
    >>> label_line(ScarTest(0.4, (), ""))
    'Labels: no evidence against random labelling (p = 0.4).'
    """
    if test.pvalue >= 0.05:
        return f"Labels: no evidence against random labelling (p = {test.pvalue:.2g})."
    where = f", by {', '.join(map(str, test.columns))}" if test.columns else ""
    return (
        f"Labels: not given at random (p = {test.pvalue:.2g}): clear cases are labelled too "
        f"often{where}, or the share is too large."
    )
