"""The threshold explorer and the costs of errors: tables that were computed beforehand.

The script only looks up: every figure, and every word for it, is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.parameters import ParameterError
from nnpu.report.html.chart import axes_of, chart, horizontal
from nnpu.report.html.document import Section
from nnpu.report.html.markup import (
    Html,
    floor_percent,
    interval_words,
    join,
    number,
    percent,
    table,
    tag,
)
from nnpu.report.panels import METRIC_NAMES, Panel, metric_curves, no_row_flagged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rows = Sequence[Mapping[str, float]]

__all__ = ["costs_section", "errors", "explorer_section", "scenarios_table"]

_DIGITS = 4  # of a threshold, as in nnpu.metrics.threshold_grid
_MEANINGS = {
    "precision": "of the flagged rows that are positive",
    "recall": "of the positives that are flagged",
    "f1": "balances the two",
    "flagged": "rows in {n}",
}


def explorer_section(
    rows: Rows,
    *,
    own: float,
    population: int,
    probabilities: Sequence[float],
    known: bool = True,
    score_range: tuple[float, float] | None = None,
    scenarios: Mapping[str, Rows] | None = None,
    remark: str = "",
) -> Section:
    """Return the explorer.

    Parameters
    ----------
    rows : sequence of mappings
        What `nnpu.metrics.threshold_table` returned; the intervals may also cover those of the
        prior.
    own : float
        The model's own threshold, one of the table's: where the slider starts.
    population : int
        How many rows are counted by ``flagged``.
    probabilities : sequence of float
        The calibrated probability at each threshold.
    known : bool
        Whether the prior is known; if not, the figures are shown as ranges.
    score_range : tuple of float, optional
        Of the histograms of the scores, if the page has them: their marker moves along.
    scenarios : mapping of str to rows, optional
        The tables of `scenarios_table`, if the page has one: it changes with the slider.
    remark : str
        Which rows are counted.
    """
    start = _index(rows, own)
    panel = _panel(rows)
    cells = [_cells(row, known=known) for row in rows]
    data: dict[str, Any] = {
        "start": start,
        "thresholds": [number(row["threshold"], _DIGITS) for row in rows],
        "probabilities": [floor_percent(probability) for probability in probabilities],
        "tiles": cells,
        "cells": [[_cells(row) for row in each] for each in (scenarios or {}).values()],
        "flagged": [_flagged(row) for row in rows],
        "markers": _markers(panel, rows, score_range),
    }
    parts = [
        tag("p", f"{_INTRODUCTION} {remark}".strip()),
        tag(
            "div",
            tag("div", chart(panel, "explorer-1", marker=True), _slider(data), class_="charts"),
            _tiles(cells[start], data["flagged"][start], population),
            class_="beside",
        ),
        _numbers(rows, population, known=known),
    ]
    return Section("explorer", "Choose a threshold", join(parts), {"explorer": data})


def scenarios_table(tables: Mapping[str, Rows], own: float) -> Html:
    """Return what the threshold does under other priors.

    Parameters
    ----------
    tables : mapping of str to rows
        What `nnpu.metrics.threshold_table` returned, for the same thresholds under each prior, by
        the words for that prior.
    own : float
        The threshold to show until the slider moves.
    """
    start = _index(next(iter(tables.values())), own)
    lines = []
    for index, (words, rows) in enumerate(tables.items()):
        found = _cells(rows[start])
        both = [
            join(
                [
                    tag("b", found[name][0], id=f"prior-{index}-{name}"),
                    " ",
                    tag("small", found[name][1], id=f"prior-{index}-{name}-interval"),
                ]
            )
            for name in METRIC_NAMES
        ]
        lines.append([words, *both])
    caption = "At the chosen threshold, if the share of positives were …"
    return table(caption, ["Share of positives", *METRIC_NAMES.values()], lines, class_="scenarios")


_INTRODUCTION = (
    "The model calls a row positive if its score is above a threshold. Move the slider to see what "
    "another threshold would do: a lower one flags more rows, a higher one fewer and surer ones. "
    "To use it, keep the predictions whose score is above it. The axis is spaced by rows, about as "
    "many from each step of the slider to the next, not evenly by score."
)
_WITHOUT_SCRIPTS = "The slider needs scripts; the figures are those of the model's own threshold."
_NOTHING = "no row is flagged"


def _index(rows: Rows, own: float) -> int:
    for index, row in enumerate(rows):
        if row["threshold"] == own:
            return index
    raise ParameterError(
        "The 'own' parameter of explorer_section must be one of the thresholds of the tables. "
        f"Got {own!r} instead."
    )


def _panel(rows: Rows) -> Panel:
    """The metrics against the slider's steps, with the scores written below."""
    marks = [round(part * (len(rows) - 1) / 4) for part in range(5)]
    return Panel(
        "What each threshold does, with 90 % intervals",
        "threshold (score; spaced by rows, not by score)",
        "estimate",
        metric_curves(rows, range(len(rows))),
        y_range=(0.0, 1.02),
        x_ticks=[
            (mark, number(round(rows[mark]["threshold"], 2))) for mark in dict.fromkeys(marks)
        ],
    )


def _markers(
    panel: Panel, rows: Rows, score_range: tuple[float, float] | None
) -> dict[str, list[float]]:
    """Where the marker of each chart stands at each step."""
    x_axis, _ = axes_of(panel)
    places = {"explorer-1": x_axis.place(range(len(rows)))}
    if score_range is not None:
        scores = horizontal(score_range)
        values = [min(max(row["threshold"], score_range[0]), score_range[1]) for row in rows]
        places |= {"scores-1": scores.place(values), "scores-2": scores.place(values)}
    return {name: [round(float(x), 1) for x in along] for name, along in places.items()}


def _cells(row: Mapping[str, float], *, known: bool = True) -> dict[str, list[str]]:
    """The words for each metric: its value and its interval, or its range and the best guess."""
    words = {}
    for name in METRIC_NAMES:
        value = percent(row[name])
        limits = interval_words(row[f"{name}_low"], row[f"{name}_high"])
        if name == "precision" and no_row_flagged(row):
            words[name] = ["–", _NOTHING]
        elif known or name == "recall":
            words[name] = [value, limits]
        else:
            words[name] = [limits, f"best guess {value}"]
    return words


def _flagged(row: Mapping[str, float]) -> list[str]:
    low, high = round(row["flagged_low"]), round(row["flagged_high"])
    return [f"{row['flagged']:,}", f"{low:,} to {high:,}"]


def _slider(data: Mapping[str, Any]) -> Html:
    start = data["start"]
    value = f"score above {data['thresholds'][start]}"
    return tag(
        "div",
        tag("label", "Threshold", for_="threshold"),
        tag(
            "input",
            type="range",
            id="threshold",
            min=0,
            max=len(data["thresholds"]) - 1,
            step=1,
            value=start,
            aria_valuetext=value,
            autocomplete="off",
        ),
        tag(
            "p",
            "Score above ",
            tag("b", data["thresholds"][start], id="at-score"),
            ", probability above ",
            tag("b", data["probabilities"][start], id="at-probability"),
            " ",
            tag("span", "(the model's own)", id="at-own"),
        ),
        tag("button", "Back to the model's own", type="button", id="reset", hidden=True),
        tag("noscript", tag("p", _WITHOUT_SCRIPTS)),
        class_="slider",
    )


def _tiles(cells: Mapping[str, Sequence[str]], flagged: Sequence[str], population: int) -> Html:
    tiles = [_tile(name, METRIC_NAMES[name], cells[name], _MEANINGS[name]) for name in METRIC_NAMES]
    meaning = _MEANINGS["flagged"].format(n=f"{population:,}")
    tiles.append(_tile("flagged", "Flagged", flagged, meaning))
    live = tag("output", class_="spoken", id="spoken", for_="threshold", aria_live="polite")
    return tag("div", tag("dl", *tiles, class_="tiles"), live)


def _tile(name: str, title: str, words: Sequence[str], meaning: str) -> Html:
    return tag(
        "div",
        tag("dt", title),
        tag("dd", words[0], id=f"tile-{name}", class_=f"k-{name}{' range' * (' to ' in words[0])}"),
        tag("dd", words[1], id=f"tile-{name}-interval", class_="interval"),
        tag("dd", meaning, class_="meaning"),
        class_="tile",
    )


def _numbers(rows: Rows, population: int, *, known: bool) -> Html:
    """Every tenth threshold in figures, for those who print the page or cannot use the chart."""
    shown = rows[:: max(len(rows) // 10, 1)]
    lines = [
        [
            number(row["threshold"], _DIGITS),
            f"{row['flagged']:,}",
            *(
                join([value, " ", tag("small", limits)])
                for value, limits in _cells(row, known=known).values()
            ),
        ]
        for row in shown
    ]
    head = ["Score above", f"Flagged of {population:,}", *METRIC_NAMES.values()]
    caption = "Estimates with 90 % intervals at every tenth threshold"
    figures = table(caption, head, lines, class_="scenarios")
    return tag("details", tag("summary", "Thresholds in figures"), figures)


_COSTS = (
    "Enter what a false alarm costs and what a missed positive costs, in any unit; only their "
    "ratio matters for the threshold. The answer is estimated from the same rows as the figures "
    "above, so that small differences are chance."
)
_COSTS_WITHOUT_SCRIPTS = "The least cost is computed in the page, which needs scripts."


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
        tag("p", _COSTS),
        form,
        tag("output", id="cost-answer", for_="cost-alarm cost-miss", aria_live="polite"),
        tag("p", "", id="cost-range"),
        tag("button", "Move the threshold there", type="button", id="cost-use", hidden=True),
        tag("noscript", tag("p", _COSTS_WITHOUT_SCRIPTS)),
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
