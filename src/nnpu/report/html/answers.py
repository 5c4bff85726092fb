"""The parts of a report that a reader wants first: the verdict, the rows, the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.estimators.evaluation import CLOSE
from nnpu.report.html.document import Section
from nnpu.report.html.markup import Html, floor_percent, join, number, table, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nnpu.estimators.ranking import RankedRow, Ranking
    from nnpu.report.verdict import Verdict

__all__ = [
    "drift_section",
    "importance_section",
    "models_section",
    "rows_section",
    "verdict_section",
]

_MOST = 12  # columns in the list of those that matter
_BAR = 200  # width of a bar's drawing


def verdict_section(answer: Verdict, facts: Mapping[str, str | tuple[str, str]]) -> Section:
    """Return the answer, and the figures to see first.

    Parameters
    ----------
    answer : Verdict
        What `nnpu.report.verdict.verdict` returned.
    facts : mapping of str to str or (str, str)
        Figures by what they count, some with a remark.
    """
    sentences = {
        "What was learned": answer.learned,
        "What to expect": answer.quality,
        "What to do next": answer.advice,
    }
    parts = [
        tag("div", tag("dt", name), tag("dd", text.replace(" %", "\u00a0%")))
        for name, text in sentences.items()
        if text
    ]
    banner = Html()
    if answer.warning:
        banner = tag("div", tag("p", answer.warning), class_="banner", role="note")
    tiles = (_fact(name, value) for name, value in facts.items())
    body = [banner, tag("dl", *parts, class_="verdict"), tag("dl", *tiles, class_="tiles")]
    return Section("verdict", "In short", join(body))


def _fact(name: str, value: str | tuple[str, str]) -> Html:
    figure, remark = (value, "") if isinstance(value, str) else value
    below = tag("dd", remark, class_="interval") if remark else Html()
    return tag("div", tag("dt", name), tag("dd", figure), below, class_="tile")


def rows_section(
    ranking: Ranking,
    probability: Callable[[float], float],
    why: Mapping[str, str] | None = None,
    *,
    labelled: Callable[[float], float] | None = None,
    cut: float | None = None,
) -> Section:
    """Return the rows to look at first.

    Parameters
    ----------
    ranking : Ranking
        The rows by name, with their scores.
    probability : callable
        From a score to a probability.
    why : mapping of str to str, optional
        For the name of a row, which columns put it there.
    labelled : callable, optional
        The same as `probability` for rows that have a label.
    cut : float, optional
        The score above which a row without a label is predicted positive.
    """
    head = ["Row", "Score", "Probability", *(["Why"] if why else [])]

    def listed(caption: str, rows: Sequence[RankedRow]) -> Html:
        lines = []
        of = labelled if rows is ranking.doubted and labelled is not None else probability
        for row in rows:
            line = [row.name, number(row.score), floor_percent(of(row.score))]
            reason = _kept_together(why.get(row.name, "")) if why else ""
            lines.append([*line, reason] if why else line)
        return table(caption, head, lines, class_="text reasons" if why else "text")

    parts = {
        "Most likely positive": ranking.top,
        "Closest to the threshold": ranking.near,
        "Labelled, but scored low": ranking.doubted,
    }
    words = (
        "Rows without a label, from the top of the ranking: here hidden positives are most likely."
    )
    if ranking.near:
        at = "" if cut is None else f" (a score of {number(cut)})"
        words += (
            f" Rows without a label whose probability is within {100 * CLOSE:.0f} percentage "
            f"points of their threshold{at}: here a person's answer changes most."
        )
    if ranking.near == ranking.top:
        del parts["Closest to the threshold"]
        words = (
            "Rows without a label, from the top of the ranking: here hidden positives are most "
            "likely. They are also the closest to the threshold, which few or no rows without a "
            "label are above: a person's answer changes most here too."
        )
    lists = [listed(caption, rows) for caption, rows in parts.items() if rows]
    if ranking.doubted:
        words += (
            " Labelled rows that the model would not flag by their score: wrong labels, or "
            "positives of another kind."
        )
    if why:
        words += (
            " Why: the cells that raised the score of a row (+) or lowered it (\u2212) most, "
            "compared with other rows, and by how much."
        )
    return Section(
        "rows",
        "Rows to look at first",
        join([tag("p", words), tag("div", *lists, class_="lists full" if why else "lists")]),
    )


def _kept_together(reason: str) -> str:
    """Return a reason whose lines break between columns, not before a number."""
    return reason.replace(" (-", "\u00a0(\u2212").replace(" (+", "\u00a0(+")


def importance_section(
    rows: Sequence[tuple[str, float, float, float]],
    meaning: str = (
        "How far the ROC AUC falls if a column is shuffled, in points of 100 (chance is 50), with "
        "a 90 % interval."
    ),
) -> Section:
    """Return which columns matter.

    Parameters
    ----------
    rows : sequence of (name, value, low, high)
        The importance of each column, with its interval.
    meaning : str
        What the numbers are.
    """
    ordered = sorted(rows, key=lambda row: -row[1])[:_MOST]
    most = max((high for *_, high in ordered), default=0.0) or 1.0
    lines = [
        [
            name,
            _bar(value / most, low / most, high / most),
            _points(value, low, high),
        ]
        for name, value, low, high in ordered
    ]
    left = len(rows) - len(ordered)
    rest = [tag("p", f"{left:,} more columns matter less.")] if left > 0 else []
    head = ["Column", "", "Points of AUC lost"]
    found = table("Importance of each column", head, lines, class_="text bars")
    return Section("importance", "Which columns matter", join([tag("p", meaning), found, *rest]))


def _points(value: float, low: float, high: float) -> str:
    """Write shares of one in points of 100."""
    words = [f"{100 * each:.1f}".replace("-0.0", "0.0") for each in (value, low, high)]
    return f"{words[0]} ({words[1]} to {words[2]})".replace("-", "\u2212")


def _bar(value: float, low: float, high: float) -> Html:
    def place(share: float) -> float:
        return _BAR * min(max(share, 0.0), 1.0)

    return tag(
        "svg",
        tag("rect", class_="bar-fill", x=0, y=3, width=place(value), height=8),
        tag("line", class_="bar-range", x1=place(low), x2=place(high), y1=7, y2=7),
        viewBox=f"0 0 {_BAR} 14",
        width=_BAR,
        height=14,
        aria_hidden="true",
    )


def models_section(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: str = "",
    unused: Sequence[Sequence[str]] = (),
) -> Section:
    """Return the models that were compared, as a plain table.

    Parameters
    ----------
    head, rows
        Names of the columns, and the cells.
    words : str
        A sentence above them.
    unused : sequence of sequences of str
        Name and reason of each model that the score does not rest on, which is folded away.
    """
    parts = [tag("p", words)] if words else []
    parts.append(table("Models in use", head, rows, class_="text"))
    if unused:
        summary = tag("summary", f"Models that are not in use ({len(unused):,})")
        names = [*head[:1], *head[2:], "Reason"]
        rest = table("Models that are not in use", names, unused, class_="text")
        parts.append(tag("details", summary, rest))
    return Section("models", "Models compared", join(parts))


def drift_section(sentences: Sequence[str]) -> Section:
    """Return how the rows differ from those of the fit, a sentence for each difference."""
    items = [tag("li", sentence) for sentence in sentences]
    words = (
        "These rows differ from those that the model was fitted to. Figures and predictions can "
        "be off where they do."
    )
    return Section(
        "drift", "What has changed since the fit", join([tag("p", words), tag("ul", *items)])
    )
