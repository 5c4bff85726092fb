"""Totals over all rows from the answers to a few, and their variance under the draw.

For each round, the total of a·y is Σ a·p + Σ a·(y − p)/chance over the drawn rows: right on the
average over draws whatever p is. What was known before a round takes the place of p. Rounds are
combined with weights fixed by their size; a round is drawn given the earlier ones, so their
errors are uncorrelated and the variances add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from nnpu.data.vectors import as_floats
from nnpu.parameters import InputError
from nnpu.review.draws import Draw, FloatArray, IntArray, as_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Answered", "Fill", "Total", "as_known", "collect"]

_GROUP = 4  # neighbours by probability in the variance; the draw is spread at that width
_PRIOR_ROWS = 10  # rows that the expected variance counts for
_LEAST = 0.05  # probabilities are kept this far from 0 and 1 in the expected variance
_CLOSE = 1e-3  # probabilities that went through a file may differ by this

Mask = NDArray[np.bool_]
#: What a don't know counts as among the flagged rows and among the rest; None is the prediction.
Fill = tuple[float | None, float | None]


@dataclass(frozen=True)
class Total:
    """An estimated total, its variance, and t's 95 % point for it."""

    value: float
    variance: float
    quantile: float

    @property
    def margin(self) -> float:
        """Half the width of a 90 % range."""
        return float(self.quantile * np.sqrt(self.variance))


@dataclass(frozen=True)
class _Round:
    """One draw with its answers."""

    weight: float
    prediction: FloatArray  # (N,): p, and the answer where it was known before the draw
    rows: IntArray  # drawn rows in the order of the draw's probabilities
    chance: FloatArray
    answers: FloatArray
    group: IntArray
    doubt: IntArray  # rows that could not be drawn and have no answer
    odds: FloatArray  # (N,): 1/chance − 1 of the rows that could be drawn, else 0

    def residuals(self, flagged: Mask, fill: Fill) -> FloatArray:
        """Return answer minus prediction of the drawn rows."""
        error = self.answers - self.prediction[self.rows]
        missing = np.isnan(error)
        if missing.any():
            rows = self.rows[missing]
            error[missing] = _filled(self.prediction[rows], flagged[rows], fill)
        return error

    def total(self, a: FloatArray, flagged: Mask, fill: Fill) -> float:
        known = float(a @ self.prediction)
        doubt = _filled(self.prediction[self.doubt], flagged[self.doubt], fill)
        drawn = a[self.rows] * self.residuals(flagged, fill) / self.chance
        return known + float(a[self.doubt] @ doubt) + float(drawn.sum())

    def squares(self, a: FloatArray, flagged: Mask, fill: Fill) -> FloatArray:
        """Return what each drawn row adds to the variance of the total (Hájek's, in groups)."""
        x = a[self.rows] * self.residuals(flagged, fill) / self.chance
        c = 1 - self.chance
        size = np.bincount(self.group)
        weight = np.maximum(np.bincount(self.group, c), 1e-300)
        mean = np.bincount(self.group, c * x) / weight
        one_less = np.maximum(size - 1, 1)
        return np.asarray(c * (size / one_less)[self.group] * (x - mean[self.group]) ** 2)


def _filled(p: FloatArray, flagged: Mask, fill: Fill) -> FloatArray:
    """Return fill − p for rows without an answer."""
    values = [p if value is None else np.full(p.size, value) for value in fill]
    return np.where(flagged, values[0], values[1]) - p


@dataclass(frozen=True)
class Answered:
    """All rounds with their answers."""

    probability: FloatArray
    rounds: tuple[_Round, ...]
    answers: FloatArray  # (N,): every answer that there is; NaN where there is none
    given: FloatArray  # (N,): what was known without a review
    drawn: IntArray  # rows of the draws that estimate
    doubts: int  # rows answered by don't know, or that could not be drawn and have no answer

    def total(
        self,
        a: FloatArray,
        flagged: Mask,
        fill: Fill = (None, None),
        *,
        careful: bool = False,
    ) -> Total:
        """Return the estimate of Σ a·y, with its variance.

        The variance of each part (flagged, rest) is raised where the expected one, Σ a² odds
        p(1 − p), counted as ten more rows, is higher: a part in which all answers agree with the
        prediction keeps a range. `careful` takes p(1 − p) = 1/4 for all.
        """
        value = sum(r.weight * r.total(a, flagged, fill) for r in self.rounds)
        q = np.clip(self.probability, _LEAST, 1 - _LEAST)
        spread = a**2 * (0.25 if careful else q * (1 - q))
        squares, flags, expected, groups = [], [], np.zeros(2), 0
        for r in self.rounds:
            free = r.chance < 1
            squares.append(r.weight**2 * r.squares(a, flagged, fill)[free])
            flags.append(flagged[r.rows][free])
            groups += np.unique(r.group[free]).size
            for i, part in enumerate((flagged, ~flagged)):
                expected[i] += r.weight**2 * float((spread * r.odds)[part].sum())
        v, flag = np.concatenate(squares), np.concatenate(flags)
        variance = 0.0
        for i, part in enumerate((flag, ~flag)):
            seen, m = float(v[part].sum()), int(part.sum())
            share = 1.0 if careful else _PRIOR_ROWS / (m + _PRIOR_ROWS)
            variance += max(seen, (1 - share) * seen + share * expected[i])
        return Total(float(value), variance, _quantile(v, groups))


def _quantile(v: FloatArray, groups: int) -> float:
    """Return the 95 % point of t with Satterthwaite's degrees of freedom.

    A variance that a few rows make up is itself uncertain: with k = (Σv)²/Σv² of m rows the
    degrees are 2mk/(m − k), at least 2, at most m less one for each group; the expected variance
    adds its ten rows.
    """
    m, degrees = v.size, 2.0
    if v.sum() > 0:
        k = float(v.sum() ** 2 / (v**2).sum())
        degrees = max(min(2 * m * k / max(m - k, 1e-9), m - groups), 2.0)
    return float(student.ppf(0.95, degrees + _PRIOR_ROWS))


def collect(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    known: ArrayLike | None,
    owner: str,
    *,
    partial: bool = False,
) -> Answered:
    """Check draws and answers, and put them together.

    `partial`: of the rows that were not drawn only the sum of the probabilities is right, so
    only totals in which all rows count the same can be estimated.
    """
    p = as_probability(probability, owner)
    pairs = _pairs(p, draws, answers, owner)
    given = as_known(known, p.size, owner)
    if not any(drawn.estimates for drawn, _ in pairs):
        raise InputError(
            f"{owner}: rows drawn for finding are the most likely positives, and tell nothing "
            "about the others. Add a draw with purpose='estimate'."
        )
    everything = given.copy()
    for drawn, values in pairs:
        clear = ~np.isnan(values)
        everything[drawn.rows[clear]] = values[clear]
    size = sum(len(drawn) for drawn, _ in pairs if drawn.estimates)
    rounds, before, asked = [], given.copy(), np.zeros(p.size, dtype=bool)
    for drawn, values in pairs:
        if drawn.estimates:
            weight = len(drawn) / size
            rounds.append(_round(drawn, values, p, before, everything, weight, partial=partial))
        clear = ~np.isnan(values)
        before[drawn.rows[clear]] = values[clear]
        asked[drawn.rows] = True
    for r in rounds:
        asked[r.doubt] = True
    unclear = int((asked & np.isnan(everything)).sum())
    drawn_rows = np.unique(np.concatenate([r.rows for r in rounds]))
    return Answered(p, tuple(rounds), everything, given, drawn_rows, unclear)


def _round(
    drawn: Draw,
    values: FloatArray,
    p: FloatArray,
    before: FloatArray,
    everything: FloatArray,
    weight: float,
    *,
    partial: bool,
) -> _Round:
    prediction = np.where(np.isnan(before), p, before)
    excluded = drawn.excluded
    # A row that this draw could not take has no part in its chance: any answer to it may be used.
    prediction[excluded] = np.where(
        np.isnan(everything[excluded]), p[excluded], everything[excluded]
    )
    odds = np.zeros(p.size)
    if partial:  # a drawn row stands for 1/chance rows
        odds[drawn.rows] = (1 - drawn.chance) / drawn.chance**2
    else:
        chances = drawn.chances(p)
        np.divide(1 - chances, chances, out=odds, where=chances > 0)
    odds[~np.isnan(before)] = 0.0
    order = np.argsort(drawn.probability, kind="stable")
    doubt = excluded[np.isnan(everything[excluded])]
    return _Round(
        weight,
        prediction,
        drawn.rows[order],
        drawn.chance[order],
        values[order],
        _groups(drawn, order),
        doubt,
        odds,
    )


def _groups(drawn: Draw, order: IntArray) -> IntArray:
    """Number the drawn rows, in `order`, by groups of neighbours: one group if not spread."""
    spread = len(drawn) == drawn.size and drawn.modelled
    free = drawn.chance[order] < 1
    last = max(int(free.sum()) // _GROUP - 1, 0) if spread else 0
    number = (np.cumsum(free) - free) // _GROUP
    return np.asarray(np.minimum(number, last), dtype=np.int64)


def _pairs(
    p: FloatArray, draws: Draw | Sequence[Draw], answers: object, owner: str
) -> list[tuple[Draw, FloatArray]]:
    one = isinstance(draws, Draw)
    listed = [draws] if isinstance(draws, Draw) else list(draws)
    columns = [answers] if one else list(answers)  # type: ignore[call-overload]
    if not listed or len(listed) != len(columns):
        raise InputError(
            f"{owner}: {len(listed)} draws need as many lists of answers. Got {len(columns)}."
        )
    pairs = []
    for drawn, column in zip(listed, columns, strict=True):
        values = as_floats(column, "answers", owner)
        if values.shape != drawn.rows.shape:
            raise InputError(
                f"{owner}: a draw of {len(drawn)} rows needs {len(drawn)} answers (NaN for don't "
                f"know). Got an array of shape {values.shape}."
            )
        if not np.isin(values[~np.isnan(values)], (0, 1)).all():
            raise InputError(f"{owner}: answers must be 1 (yes), 0 (no) or NaN (don't know).")
        if p.size != drawn.N:
            raise InputError(
                f"{owner}: the draw was made from {drawn.N} rows, and probability has {p.size}."
            )
        if drawn.modelled and np.abs(p[drawn.rows] - drawn.probability).max() > _CLOSE:
            raise InputError(
                f"{owner}: these are not the probabilities that the rows were drawn with. Pass "
                "those probabilities; to judge a model that was fitted since, draw again."
            )
        pairs.append((drawn, values))
    return pairs


def as_known(known: ArrayLike | None, n_rows: int, owner: str) -> FloatArray:
    """Return what is known of each row: 1, 0 or NaN."""
    if known is None:
        return np.full(n_rows, np.nan)
    values = as_floats(known, "known", owner)
    if values.shape != (n_rows,) or not np.isin(values[~np.isnan(values)], (0, 1)).all():
        raise InputError(
            f"{owner}: known must hold {n_rows} values: 1 (yes), 0 (no) or NaN (not known)."
        )
    return values
