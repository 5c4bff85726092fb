"""What errors cost: two numbers of the reader's, and the threshold of least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.report.html.document import Section
from nnpu.report.html.markup import join, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["costs_section", "errors"]

_WORDS = (
    "Enter what a false alarm costs and what a missed positive costs, in any unit; only their "
    "ratio matters for the threshold. The answer is estimated from the same rows as the figures "
    "above, so that small differences are chance."
)
_WITHOUT_SCRIPTS = "The least cost is computed in the page, which needs scripts."


def errors(
    rows: Sequence[Mapping[str, float]], prior: float, population: int
) -> dict[str, list[float]]:
    """Return the estimated false alarms and missed positives at each threshold.

    Of π n positives a share ``recall`` is flagged; the rest is missed. What else is flagged is a
    false alarm.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.threshold_table` returned.
    prior : float
        π, the share of positives in the population.
    population : int
        n, the number of rows that ``flagged`` counts.

    Examples
    --------
    >>> errors([{"flagged": 30, "recall": 0.75}], prior=0.2, population=100)
    {'alarms': [15.0], 'misses': [5.0]}
    """
    positives = prior * population
    alarms = [max(row["flagged"] - positives * row["recall"], 0.0) for row in rows]
    misses = [positives * (1 - row["recall"]) for row in rows]
    return {
        "alarms": [round(value, 2) for value in alarms],
        "misses": [round(value, 2) for value in misses],
    }


def costs_section(
    tables: Mapping[float, Sequence[Mapping[str, float]]], *, population: int
) -> Section:
    """Return the two inputs; the page's script finds the threshold of least cost.

    Parameters
    ----------
    tables : mapping of prior to rows
        What `nnpu.metrics.threshold_table` returned under each prior; the first is the chosen
        one, the others the ends of its range.
    population : int
        The number of rows that ``flagged`` counts.
    """
    data: dict[str, Any] = {
        "population": population,
        "priors": [
            {
                "prior": f"{prior:.2f}",
                "positives": round(prior * population, 2),
                **errors(rows, prior, population),
            }
            for prior, rows in tables.items()
        ],
    }
    form = tag(
        "div",
        _field("cost-alarm", "A false alarm costs"),
        _field("cost-miss", "A missed positive costs"),
        class_="fields",
        id="cost-fields",
        hidden=True,
    )
    body = [
        tag("p", _WORDS),
        form,
        tag("output", id="cost-answer", for_="cost-alarm cost-miss", aria_live="polite"),
        tag("p", "", id="cost-range"),
        tag("button", "Move the threshold there", type="button", id="cost-use", hidden=True),
        tag("noscript", tag("p", _WITHOUT_SCRIPTS)),
    ]
    return Section("costs", "What errors cost", join(body), {"costs": data})


def _field(name: str, label: str) -> str:
    return tag(
        "div",
        tag("label", label, for_=name),
        tag(
            "input",
            type="number",
            id=name,
            min=0,
            step="any",
            value="1",
            inputmode="decimal",
            autocomplete="off",
        ),
    )
