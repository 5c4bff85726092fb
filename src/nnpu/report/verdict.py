"""The answer in three sentences: what was learned, how good it is, what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nnpu.estimators.evaluation import Estimate, Evaluation

__all__ = ["Verdict", "verdict"]

_AT_RANDOM = "the labelled rows are a random part of all positives"
_NOT_JUDGED = "Nothing is known about its quality: no rows could be used to judge it."


class Verdict(NamedTuple):
    """What a reader needs first.

    Attributes
    ----------
    learned, quality, advice : str
        A sentence or two each.
    warning : str
        What limits all figures, if the share of positives is not known; else empty.
    """

    learned: str
    quality: str
    advice: str
    warning: str = ""


def verdict(found: Evaluation | None, learned: str = "", *, leaks: Sequence[str] = ()) -> Verdict:
    """Say in plain words what an evaluation means.

    Parameters
    ----------
    found : Evaluation or None
        None if no row could judge the model.
    learned : str
        What it was fitted to; a sentence.
    leaks : sequence of str
        Columns that may give the label away: then no figure is to be believed.

    Examples
    --------
    >>> verdict(None, "The model learned from 9 labelled rows.").quality
    'Nothing is known about its quality: no rows could be used to judge it.'
    """
    if found is None:
        advice = (
            "Collect more labelled rows, or judge the model by another table that it has not seen "
            "(nnpu evaluate)."
        )
        return Verdict(learned, _NOT_JUDGED, advice)
    said = f"Of {found.rows:,} rows it had not seen, it predicts {found.flagged:,} to be positive."
    if leaks:
        names = ", ".join(repr(name) for name in leaks)
        quality = (
            f"That cannot be told: {names} alone nearly tells labelled from unlabelled rows. Such "
            "a column often holds the label in other words, and all figures below are then too "
            "good."
        )
        advice = (
            f"Exclude it (--drop {leaks[0]}) and fit again, unless new rows will have it just as "
            "well."
        )
        return Verdict(f"{learned} {said}".strip(), quality, advice, _warning(found))
    return Verdict(f"{learned} {said}".strip(), _quality(found), _advice(found), _warning(found))


def _quality(found: Evaluation) -> str:
    if not found.flagged:
        return "It flags no row: it finds no positive, and its precision cannot be estimated."
    precision, recall = found.precision, found.recall
    range_ = f"between {found.prior.low:.2f} and {found.prior.high:.2f}"
    share = f"{found.prior.value:.3g}" if found.prior_known else range_
    flagged = (
        f"{_about(precision.value)} rows it flags are positive ({_limits(precision)})"
        if found.prior_known
        else f"Of the rows it flags, {_limits(precision)} are positive"
    )
    return (
        f"{_chance(found)}{flagged}, and it finds {_about(recall.value).lower()} positives "
        f"({_limits(recall)}). This holds if the share of positives is {share} and {_AT_RANDOM}."
    )


def _about(share: float) -> str:
    if share >= 0.995:
        return "Nearly all"
    return "Hardly any of the" if share < 0.005 else f"About {100 * share:.0f} % of the"


def _limits(share: Estimate) -> str:
    low, high = (100 * min(max(end, 0.0), 1.0) for end in (share.low, share.high))
    return f"{low:.0f} to {high:.0f} %"


def _chance(found: Evaluation) -> str:
    auc = found.roc_auc
    if auc.low > 0.5:
        return ""
    return (
        f"Its ranking may be no better than chance (ROC AUC {auc.low:.2f} to "
        f"{min(auc.high, 1.0):.2f}). "
    )


def _advice(found: Evaluation) -> str:
    if found.roc_auc.low <= 0.5:
        return (
            "Do not act on it yet: add labelled rows or columns that tell positives apart, then "
            "fit again."
        )
    if _impossible(found):
        return (
            "Check the share of positives and how the labels came about before you use it: an "
            "estimate left the range that is possible."
        )
    if not found.prior_known:
        return (
            "Give the share of positives if you know it (--prior), or have a person check a few "
            "rows (nnpu review); both narrow the figures. The order of the rows can be used now: "
            "it depends on that share only a little."
        )
    if not found.flagged:
        return "Choose a lower threshold below, or work down the ranking from its top."
    if found.recall.value < 0.25:
        return (
            "Choose a lower threshold in the report, or work down the ranking from its top: at its "
            "own threshold the model misses most positives."
        )
    if found.precision.low < 0.5:
        return (
            "Treat the flagged rows as candidates: have a person check them, from the top of the "
            "ranking down."
        )
    return (
        "Score new rows (nnpu predict), look at the rows near the threshold by hand, and judge the "
        "model again when new labels arrive (nnpu evaluate)."
    )


def _impossible(found: Evaluation) -> bool:
    """Whether a share is beyond [0, 1] by more than chance explains."""
    shares = [found.accuracy, found.precision, found.recall, found.roc_auc]
    return any(
        (each.value > 1 and each.low >= 1) or (each.value < 0 and each.high <= 0) for each in shares
    )


def _warning(found: Evaluation) -> str:
    if found.prior_known:
        return ""
    return (
        f"The data allow any share from {found.prior.low:.2f} to {found.prior.high:.2f}; the best "
        f"guess is {found.prior.value:.2f}. All figures below are ranges over it. To narrow them, "
        "give the share if you know it (--prior), or have a person check a few rows (nnpu review)."
    )
