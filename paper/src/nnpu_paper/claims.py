"""A statement of the paper and whether a run bore it out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from nnpu.report import Section, table_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Claim", "as_dicts", "as_lines", "as_markdown", "as_section"]

_VERDICTS = {True: "held", False: "NOT HELD", None: "not run"}


@dataclass(frozen=True)
class Claim:
    """What was claimed, where, and what came out.

    Parameters
    ----------
    statement : str
        The claim in one sentence.
    source : str
        Where it stands: a theorem, a figure, or docs/departures.md.
    held : bool or None
        Whether the run bore it out; None if it was not run.
    figures : str
        The numbers on which that rests, or why it was not run.
    """

    statement: str
    source: str
    held: bool | None
    figures: str


def as_lines(claims: Iterable[Claim]) -> list[str]:
    r"""Return two lines per claim for the terminal: the verdict, then the numbers.

    >>> print(*as_lines([Claim("R is at least 0.", "Section 2", True, "least R 0.1")]), sep="\n")
    held      R is at least 0. [Section 2]
              least R 0.1
    """
    lines = []
    for claim in claims:
        lines += [
            f"{_VERDICTS[claim.held]:9} {claim.statement} [{claim.source}]",
            f"{'':9} {claim.figures}",
        ]
    return lines


def as_markdown(title: str, claims: Sequence[Claim]) -> str:
    """Return the claims as a Markdown page with one table.

    >>> print(as_markdown("T", [Claim("R >= 0", "Section 2", True, "least R 0.1")]))
    # T
    <BLANKLINE>
    | Claim | Source | Held | Figures |
    |---|---|---|---|
    | R >= 0 | Section 2 | yes | least R 0.1 |
    <BLANKLINE>
    """
    verdicts = {True: "yes", False: "**no**", None: "not run"}
    rows = [
        f"| {_cell(claim.statement)} | {_cell(claim.source)} | {verdicts[claim.held]} "
        f"| {_cell(claim.figures)} |"
        for claim in claims
    ]
    head = ["| Claim | Source | Held | Figures |", "|---|---|---|---|"]
    return "\n".join([f"# {title}", "", *head, *rows, ""])


def as_section(claims: Sequence[Claim]) -> Section:
    """Return the claims as a section of a page.

    >>> "<td>held</td>" in as_section([Claim("R >= 0", "Section 2", True, "least R 0.1")]).body
    True
    """
    judged = [claim.held for claim in claims if claim.held is not None]
    return table_section(
        "claims",
        "What was claimed, and what came out",
        ["Claim", "Verdict", "Figures", "Source"],
        [[claim.statement, _VERDICTS[claim.held], claim.figures, claim.source] for claim in claims],
        caption="Claims and verdicts",
        words=[f"{sum(judged)} of {len(judged)} claims held."],
    )


def as_dicts(claims: Iterable[Claim]) -> list[dict[str, object]]:
    """Return the claims as plain dictionaries, for JSON.

    >>> as_dicts([Claim("a", "b", False, "c")])
    [{'statement': 'a', 'source': 'b', 'held': False, 'figures': 'c'}]
    """
    return [asdict(claim) for claim in claims]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
