"""The answer in three sentences: what was learned, how good it is, what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nnpu.estimators.evaluation import Evaluation

__all__ = ["Verdict", "verdict"]

_NOT_JUDGED = "Nothing is known about its quality: no rows could be used to judge it."
_ANSWERS, _LIST = 30, 200  # answers of a short review, and the rows that they are drawn from
_FEW = 10  # flagged rows; with fewer the advice is to go by the list
_HALF = 15  # percentage points, at most: 1.645 √(0.25 / 30), half a 90 % range of a share


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


def verdict(
    found: Evaluation | None,
    learned: str = "",
    *,
    leaks: Sequence[str] = (),
    commands: bool = True,
) -> Verdict:
    """Say in plain words what an evaluation means.

    Parameters
    ----------
    found : Evaluation or None
        None if no row could judge the model.
    learned : str
        What it was fitted to; a sentence.
    leaks : sequence of str
        Columns that may give the label away: then no figure is to be believed.
    commands : bool
        Whether there is a model folder, which commands take: else advice names none.

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
    hidden = found.hidden
    said = f"It predicts {hidden.flagged:,} of {hidden.rows:,} unlabelled rows to be positive."
    if leaks:
        names = ", ".join(repr(name) for name in leaks)
        quality = (
            f"Unknown: {names} alone nearly separates labelled from unlabelled rows. Such a column "
            "often holds the label in other words, and all figures below are then too good."
        )
        advice = f"Exclude it (--drop {leaks[0]}) and fit again, unless new rows will have it too."
        return Verdict(f"{learned} {said}".strip(), quality, advice, _warning(found, commands))
    said = f"{learned} {said}".strip()
    return Verdict(said, _quality(found), _advice(found, commands), _warning(found, commands))


def _quality(found: Evaluation) -> str:
    """Say how many unlabelled rows are positive, and how many of the first ones."""
    hidden, n = found.hidden, _list_size(found)
    share, first = hidden.share, hidden.top(n)
    many = f"{round(share.value * hidden.rows):,} unlabelled rows are positive"
    if share.low < share.high:
        low, high = (f"{round(end * hidden.rows):,}" for end in (share.low, share.high))
        many = f"Between {low} and {high} unlabelled rows are positive"
    source = ""
    if not found.audited:
        source = (
            " The ranges are meant to hold nine times in ten, and allow for labels that were not "
            "given at random."
        )
        if hidden.label_bias == 1:
            source = " This holds if labels were given at random among the positives."
    return (
        f"{_chance(found)}{many}. Of the first {n:,} of the list, "
        f"{round(first.low * n):,} to {round(first.high * n):,} are.{source}"
    )


def _list_size(found: Evaluation) -> int:
    """Return the length of the list to speak of: 100 rows, or half of all."""
    return max(min(100, found.hidden.rows // 2), 1)


def _chance(found: Evaluation) -> str:
    auc = found.hidden.at_random.auc
    if auc.low > 0.5:
        return ""
    return (
        f"Its ranking may be no better than chance (ROC AUC {auc.low:.2f} to "
        f"{min(auc.high, 1.0):.2f}). "
    )


def _advice(found: Evaluation, commands: bool) -> str:
    if found.hidden.at_random.auc.low <= 0.5:
        return (
            "Do not act on it yet: add labelled rows or columns that tell positives apart, then "
            "fit again."
        )
    hidden = found.hidden
    few = "" if hidden.flagged >= _FEW else "Next to nothing is predicted positive: "
    work = "look at the unlabelled rows from the highest score down"
    if commands:
        work = "look at the first rows of the list (nnpu predict --top 100)"
    if found.audited:
        return _sentence(f"{few}{work}.")
    size = min(_LIST, max(hidden.rows // 2, 1))
    if size <= _ANSWERS:
        return _sentence(f"{few}{work}.")
    top = hidden.top(size)
    drawn = f"{_ANSWERS} rows drawn at random from the first {size}"
    if commands:
        drawn = f"{_ANSWERS} rows (nnpu review --top {size} --rows {_ANSWERS})"
    return _sentence(
        f"{few}{work}. Or first check {drawn}: the share of positives in the first {size} is "
        f"then known to ± {_HALF} percentage points, instead of {100 * top.low:.0f} to "
        f"{100 * top.high:.0f} %."
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _warning(found: Evaluation, commands: bool) -> str:
    if found.hidden.contradicted:
        return f"{found.hidden.contradicted} Figures for all rows are not shown."
    if found.audited or found.prior_known:
        return ""
    low, high = (f"{100 * end:.0f} %" for end in found.hidden.share[1:])
    known = f"The share of positives among the unlabelled rows is not known: {low} to {high}. "
    if not commands:
        return known + (
            "To narrow it, give the share if you know it, or a range (prior), or have a person "
            "check some rows that were drawn at random (nnpu.review)."
        )
    return known + (
        "To narrow it, give the share if you know it, or a range (--prior), or the share of the "
        "positives that is labelled (--labelled), or have a person check some rows (nnpu review)."
    )
