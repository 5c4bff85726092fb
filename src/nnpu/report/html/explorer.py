"""The threshold explorer: a slider over a table that was computed beforehand.

The script only looks up: every figure, and every word for it, is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.parameters import ParameterError
from nnpu.report.figure import Curve, Panel
from nnpu.report.html.chart import axes_of, chart, horizontal
from nnpu.report.html.document import Section
from nnpu.report.html.markup import Html, join, table, tag
from nnpu.report.html.words import interval_words, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rows = Sequence[Mapping[str, float]]

__all__ = ["explorer_section"]

_DIGITS = 4  # of a threshold, as in nnpu.metrics.threshold_grid
_NAMES = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
_MEANINGS = {
    "precision": "of the flagged rows that are positive",
    "recall": "of the positives that are flagged",
    "f1": "balances the two",
    "flagged": "rows in {n}",
}
_LOOKS: Mapping[str, tuple[str, Any]] = {
    "precision": ("blue", "solid"),
    "recall": ("green", "dotted"),
    "f1": ("purple", "dashed"),
}


def explorer_section(
    tables: Mapping[str, Rows],
    *,
    own: float,
    population: int,
    probabilities: Sequence[float],
    score_range: tuple[float, float] | None = None,
) -> Section:
    """Return the explorer.

    Parameters
    ----------
    tables : mapping of str to rows
        What `nnpu.metrics.threshold_table` returned, for the same thresholds under each prior, by
        the words for that prior. The first is the chosen one.
    own : float
        The model's own threshold, one of the table's: where the slider starts.
    population : int
        How many rows are counted by ``flagged``.
    probabilities : sequence of float
        The calibrated probability at each threshold.
    score_range : tuple of float, optional
        Of the histograms of the scores, if the page has them: their marker moves along.
    """
    chosen = next(iter(tables.values()))
    start = _index(chosen, own)
    panel = _panel(chosen)
    cells = {words: [_cells(row) for row in rows] for words, rows in tables.items()}
    first = next(iter(cells.values()))
    data: dict[str, Any] = {
        "start": start,
        "thresholds": [number(row["threshold"], _DIGITS) for row in chosen],
        "probabilities": [percent(probability) for probability in probabilities],
        "cells": list(cells.values()),
        "flagged": [_flagged(row) for row in chosen],
        "markers": _markers(panel, chosen, score_range),
    }
    parts = [
        tag("p", _INTRODUCTION),
        tag(
            "div",
            tag("div", chart(panel, "explorer-1", marker=True), _slider(data), class_="charts"),
            _tiles(first[start], data["flagged"][start], population),
            class_="beside",
        ),
        _scenarios({words: rows[start] for words, rows in cells.items()}),
        tag("p", _ABOUT_PRIORS),
        _numbers(chosen, population),
    ]
    return Section("explorer", "The threshold", join(parts), {"explorer": data})


_INTRODUCTION = (
    "The model calls a row positive if its score is above a threshold. Move the slider to see what "
    "another threshold would do: to the left more rows are flagged, to the right fewer and surer "
    "ones. To use another threshold, keep the rows of the predictions whose score is above it."
)
_ABOUT_PRIORS = (
    "The figures rest on the prior, the share of positives, which no such data can prove. "
    "Precision is proportional to it; recall does not depend on it. The table says what the same "
    "model is worth under another prior. A precision above 100 % means chance, or a prior that is "
    "too large."
)
_WITHOUT_SCRIPTS = "The slider needs scripts; the figures are those of the model's own threshold."


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
    steps = range(len(rows))
    marks = [round(part * (len(rows) - 1) / 4) for part in range(5)]
    curves = [
        Curve(
            _NAMES[name],
            steps,
            [row[name] for row in rows],
            [(row[f"{name}_high"] - row[f"{name}_low"]) / 2 for row in rows],
            *looks,
        )
        for name, looks in _LOOKS.items()
    ]
    return Panel(
        "What each threshold does, with 90 % intervals",
        "threshold (score)",
        "estimate",
        curves,
        y_range=(0.0, 1.1),
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


def _cells(row: Mapping[str, float]) -> dict[str, list[str]]:
    """The words for each metric: its value, and its interval."""
    words = {}
    for name in _NAMES:
        limits = interval_words(row[f"{name}_low"], row[f"{name}_high"])
        words[name] = [percent(row[name]), limits]
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
    tiles = [_tile(name, _NAMES[name], cells[name], _MEANINGS[name]) for name in _NAMES]
    meaning = _MEANINGS["flagged"].format(n=f"{population:,}")
    tiles.append(_tile("flagged", "Flagged", flagged, meaning))
    live = tag("output", class_="spoken", id="spoken", for_="threshold", aria_live="polite")
    return tag("div", tag("dl", *tiles, class_="tiles"), live)


def _tile(name: str, title: str, words: Sequence[str], meaning: str) -> Html:
    return tag(
        "div",
        tag("dt", title),
        tag("dd", words[0], id=f"tile-{name}", class_=f"k-{name}"),
        tag("dd", words[1], id=f"tile-{name}-interval", class_="interval"),
        tag("dd", meaning, class_="meaning"),
        class_="tile",
    )


def _scenarios(cells: Mapping[str, Mapping[str, Sequence[str]]]) -> Html:
    rows = []
    for index, (words, found) in enumerate(cells.items()):
        both = [
            join(
                [
                    tag("b", found[name][0], id=f"prior-{index}-{name}"),
                    " ",
                    tag("small", found[name][1], id=f"prior-{index}-{name}-interval"),
                ]
            )
            for name in _NAMES
        ]
        rows.append([words, *both])
    caption = "At this threshold, if the prior were …"
    return table(caption, ["Prior", *_NAMES.values()], rows, class_="scenarios")


def _numbers(rows: Rows, population: int) -> Html:
    """Every tenth threshold in figures, for those who print the page or cannot use the chart."""
    shown = rows[:: max(len(rows) // 10, 1)]
    lines = [
        [
            number(row["threshold"], _DIGITS),
            f"{row['flagged']:,}",
            *(f"{value} ({limits})" for value, limits in _cells(row).values()),
        ]
        for row in shown
    ]
    head = ["Score above", f"Flagged of {population:,}", *_NAMES.values()]
    caption = "Estimates with 90 % intervals at every tenth threshold"
    return tag("details", tag("summary", "Thresholds in figures"), table(caption, head, lines))
