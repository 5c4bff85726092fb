"""The threshold explorer and the costs of errors: tables that were computed beforehand.

The script only looks up: every figure, and every word for it, is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.parameters import ParameterError
from nnpu.report.charts import axes_of, drawing, horizontal, number
from nnpu.report.html import Section, fill, floor_percent, interval_words, percent
from nnpu.report.panels import METRIC_NAMES, Panel, metric_curves, no_row_flagged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    Rows = Sequence[Mapping[str, float]]

__all__ = ["costs_section", "errors", "explorer_section", "scenarios_table"]

_DIGITS = 4  # of a threshold, as in nnpu.metrics.threshold_grid
_NOTHING = "no row is flagged"


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
        What `nnpu.metrics.threshold_table` returned; the ranges may also cover those of the
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
    body = fill(
        "explorer.html",
        remark=remark,
        drawing=drawing(panel, "explorer-1", marker=True),
        start=start,
        last=len(rows) - 1,
        score=data["thresholds"][start],
        probability=data["probabilities"][start],
        metrics=METRIC_NAMES,
        cells=cells[start],
        flagged=data["flagged"][start],
        population=f"{population:,}",
        # Every tenth threshold in figures, for those who print the page or cannot use the chart.
        figures=[
            (data["thresholds"][i], data["flagged"][i][0], cells[i])
            for i in range(0, len(rows), max(len(rows) // 10, 1))
        ],
    )
    return Section("explorer", "Choose a threshold", body, {"explorer": data})


def scenarios_table(tables: Mapping[str, Rows], own: float) -> Markup:
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
    rows = [(words, _cells(table[start])) for words, table in tables.items()]
    return fill("scenarios.html", metrics=METRIC_NAMES, rows=rows)


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
        "What each threshold does, with 90 % ranges",
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
    """The words for each metric: its value with its range, or its range with the best guess."""
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
    return Section("costs", "What errors cost", fill("costs.html"), {"costs": data})
