"""What a few answers say: prior, precision, recall and accuracy, with ranges from the draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nnpu.parameters import check_choice, check_count, check_number
from nnpu.ranges import Estimate
from nnpu.review.totals import Answered, Fill, Mask, Total, collect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from nnpu.review.draws import Draw, FloatArray

__all__ = ["FIGURES", "SAID", "Audit", "AuditedEstimate", "audit", "audit_answered", "curves"]

FIGURES = ("prior", "precision", "recall", "accuracy")
SAID = {"prior": "share of positives"}  # what a figure is called in sentences, if not by its name
_FEW = 5  # drawn rows that a figure needs for a range of the usual kind


class AuditedEstimate(Estimate):
    """A figure with its 90 % range, and the answers that carry it.

    The range holds for draws with these chances, whatever the model is.

    Attributes
    ----------
    value, low, high : float
        As in `nnpu.ranges.Estimate`.
    rows : int
        The drawn rows that carry the figure: all for prior and accuracy, the flagged ones for
        precision, those answered yes for recall.
    conservative : bool
        Whether fewer than five rows carry it; the range is then wider than 90 % asks for.
    """

    rows: int
    conservative: bool

    def __new__(  # noqa: D102
        cls, value: float, low: float, high: float, rows: int = 0, conservative: bool = False
    ) -> Self:
        made = super().__new__(cls, value, low, high)
        made.rows, made.conservative = rows, conservative
        return made

    def to_json(self) -> dict[str, Any]:
        """Return everything by its name."""
        return {**self._asdict(), "rows": self.rows, "conservative": self.conservative}


@dataclass(frozen=True)
class Audit:
    """What the answers say at one threshold.

    Attributes
    ----------
    prior, precision, recall, accuracy : AuditedEstimate
        Each with `value`, `low` and `high`.
    precision_unlabelled : AuditedEstimate or None
        The precision among flagged rows that were not known beforehand; None without `known`.
    threshold : float
        The threshold on the probability; rows above it are flagged.
    answered, dont_know : int
        Drawn rows with an answer, and rows without one that count as don't know.
    notes : tuple of str
        What a reader should know: few rows, don't knows.
    """

    prior: AuditedEstimate
    precision: AuditedEstimate
    recall: AuditedEstimate
    accuracy: AuditedEstimate
    precision_unlabelled: AuditedEstimate | None
    threshold: float
    answered: int
    dont_know: int
    notes: tuple[str, ...] = ()

    def expected(self, more: int = 50) -> dict[str, float]:
        """Return the width of each range to expect after `more` answers.

        Examples
        --------
        >>> found = Audit(*[AuditedEstimate(0.5, 0.4, 0.6, 100)] * 4, None, 0.5, 100, 0)
        >>> round(found.expected(300)["prior"], 3)
        0.1
        """
        more = check_count("more", more, "Audit.expected", low=0)
        shrink = np.sqrt(self.answered / (self.answered + more))
        return {name: float(getattr(self, name).width * shrink) for name in FIGURES}

    def rows_for(self, width: float, figure: str = "prior") -> int:
        """Return about how many more answers bring the range of a figure to `width`.

        Examples
        --------
        >>> found = Audit(*[AuditedEstimate(0.5, 0.4, 0.6, 100)] * 4, None, 0.5, 100, 0)
        >>> found.rows_for(0.1), found.rows_for(0.3)
        (300, 0)
        """
        name = check_choice("figure", figure, "Audit.rows_for", FIGURES)
        width = check_number("width", width, "Audit.rows_for", low=0, high=1, include_low=False)
        ratio = getattr(self, name).width / width
        return max(int(np.ceil(self.answered * (ratio**2 - 1) - 1e-9)), 0)

    def __str__(self) -> str:
        named = {SAID.get(name, name): getattr(self, name) for name in FIGURES}
        if self.precision_unlabelled is not None:
            named["precision among unlabelled rows"] = self.precision_unlabelled
        width = max(map(len, named)) + 1
        lines = [
            f"{name:{width}}{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
            for name, found in named.items()
        ]
        return "\n".join([*lines, *self.notes])


def audit(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    threshold: float = 0.5,
    known: ArrayLike | None = None,
) -> Audit:
    """Estimate prior, precision, recall and accuracy from the answers to drawn rows.

    prior = mean p + (1/N) Σ (y − p)/chance over the drawn rows; precision is the same over the
    flagged rows, whose number is known; recall is a ratio, linearised. The 90 % ranges come
    from the chances alone: they assume nothing about the model, the overlap of the classes, or
    how labels came about. Values lie within what the answers allow.

    Parameters
    ----------
    probability : array-like of shape (N,)
        The probabilities that the rows were drawn with; those of a model that was fitted on the
        answers are refused.
    draws : Draw or list of Draw
        One round, or all rounds in their order. Rows of a draw for finding count as known in
        later rounds; they alone give no estimate.
    answers : array-like, or one for each draw
        1 yes, 0 no, NaN don't know, in the order of ``Draw.rows``. The value takes the
        prediction for a don't know, and the bounds take the worst assignment.
    threshold : float
        Rows with a greater probability are flagged.
    known : array-like of shape (N,), optional
        1 or 0 for rows whose class needs no review, NaN for the others. In one-sample data the
        labelled rows are known yes: ``np.where(s == 1, 1, np.nan)``. Rows that were excluded
        from the draw and have no answer count as don't know.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.review import audit, draw
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = (rng.random(1000) < p).astype(float)
    >>> drawn = draw(p, 100, random_state=0)
    >>> found = audit(p, drawn, y[drawn.rows])
    >>> bool(found.prior.low < y.mean() < found.prior.high)
    True
    """
    threshold = check_number("threshold", threshold, "audit", low=0, high=1)
    return audit_answered(collect(probability, draws, answers, known, "audit"), threshold)


def curves(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    thresholds: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> list[Audit]:
    """Return an audit for each threshold: precision, recall and accuracy as curves.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.
    thresholds : array-like, optional
        Thresholds on the probability; 0.05, 0.10, ..., 0.95 if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.review import curves, draw
    >>> p = np.linspace(0, 1, 200)
    >>> drawn = draw(p, 60, random_state=0)
    >>> [found.threshold for found in curves(p, drawn, p[drawn.rows] > 0.5, thresholds=[0.4, 0.6])]
    [0.4, 0.6]
    """
    grid = np.arange(1, 20) / 20 if thresholds is None else np.atleast_1d(thresholds)
    collected = collect(probability, draws, answers, known, "curves")
    return [
        audit_answered(collected, check_number("thresholds", float(value), "curves", low=0, high=1))
        for value in grid
    ]


def audit_answered(answered: Answered, threshold: float, flagged: Mask | None = None) -> Audit:
    """Return the audit of rounds that were checked before; `flagged` may come from elsewhere."""
    if flagged is None:
        flagged = answered.probability > threshold
    figures = {
        "prior": _share(answered, flagged, np.ones(flagged.size, dtype=bool)),
        "precision": _share(answered, flagged, flagged),
        "recall": _recall(answered, flagged),
        "accuracy": _accuracy(answered, flagged),
    }
    unlabelled, extra = None, np.isnan(answered.given)
    if not extra.all():
        unlabelled = _share(answered, flagged & extra, flagged & extra)
    drawn = answered.answers[answered.drawn]
    return Audit(
        **figures,
        precision_unlabelled=unlabelled,
        threshold=threshold,
        answered=int((~np.isnan(drawn)).sum()),
        dont_know=answered.doubts,
        notes=_notes(figures, answered),
    )


def _share(answered: Answered, flagged: Mask, among: Mask) -> AuditedEstimate:
    """Estimate the share of positives among some rows: all rows, or the flagged ones."""
    size = int(among.sum())
    rows = _carrying(answered, among)
    if size == 0:
        return AuditedEstimate(np.nan, 0.0, 1.0, 0, True)
    a = among / size
    yes, no = _counts(answered, among)
    limits = yes / size, 1 - no / size
    return _linear(answered, a, 0.0, flagged, ((0, 0), (1, 1)), limits, rows, 1 / size)


def _accuracy(answered: Answered, flagged: Mask) -> AuditedEstimate:
    size = flagged.size
    a = np.where(flagged, 1.0, -1.0) / size
    (yes, no), (missed, right) = _counts(answered, flagged), _counts(answered, ~flagged)
    limits = (yes + right) / size, 1 - (no + missed) / size
    rows = _carrying(answered, np.ones(size, dtype=bool))
    constant = float((~flagged).sum()) / size
    return _linear(answered, a, constant, flagged, ((0, 1), (1, 0)), limits, rows, 1 / size)


def _linear(
    answered: Answered,
    a: FloatArray,
    constant: float,
    flagged: Mask,
    worst: tuple[Fill, Fill],
    limits: tuple[float, float],
    rows: int,
    one_row: float,
) -> AuditedEstimate:
    """Estimate constant + Σ a·y; `worst` are the assignments of don't knows for low and high."""
    careful = rows < _FEW
    total = answered.total(a, flagged, careful=careful)
    low = high = total
    if answered.doubts:
        low, high = (answered.total(a, flagged, fill, careful=careful) for fill in worst)
    value = float(np.clip(constant + total.value, *limits))
    lowest = min(float(np.clip(constant + t.value, *limits)) - t.margin for t in (total, low))
    highest = max(float(np.clip(constant + t.value, *limits)) + t.margin for t in (total, high))
    return _within(AuditedEstimate(value, lowest, highest, rows, careful), limits, one_row)


def _recall(answered: Answered, flagged: Mask) -> AuditedEstimate:
    rows = int((answered.answers[answered.drawn] == 1).sum())
    (yes, no), (missed, right) = _counts(answered, flagged), _counts(answered, ~flagged)
    most_found, most_missed = int(flagged.sum()) - no, int((~flagged).sum()) - right
    limits = _ratio(yes, most_missed, 0.0), _ratio(most_found, missed, 1.0)
    fills: list[Fill] = [(None, None), (0, 1), (1, 0)]
    careful, few_flagged = rows < _FEW, _carrying(answered, flagged) < _FEW
    found: list[tuple[float, float, float]] = []
    for fill in fills if answered.doubts else fills[:1]:
        tp_total = answered.total(flagged.astype(np.float64), flagged, fill, careful=few_flagged)
        fn_total = answered.total((~flagged).astype(np.float64), flagged, fill)
        tp = float(np.clip(tp_total.value, yes, most_found))
        fn = float(np.clip(fn_total.value, missed, most_missed))
        value = _ratio(tp, fn, 0.5)
        if careful or tp + fn <= 0:  # each count at its worst, no linearisation
            low = _ratio(max(tp - tp_total.margin, yes), fn + fn_total.margin, 0.0)
            high = _ratio(tp + tp_total.margin, max(fn - fn_total.margin, missed), 1.0)
        else:
            a = np.where(flagged, 1 - value, -value) / (tp + fn)
            low, high = _recall_interval(value, answered.total(a, flagged, fill))
        found.append((value, low, high))
    value, lowest, highest = found[0][0], min(f[1] for f in found), max(f[2] for f in found)
    return _within(AuditedEstimate(value, lowest, highest, rows, careful), limits, 1 / flagged.size)


def _recall_interval(value: float, total: Total) -> tuple[float, float]:
    """Return value ± margin, or Wilson's interval if that is more than half of [0, 1].

    The variance then stands for n = v(1 − v)/variance positives of a simple random sample.
    """
    if total.margin <= 0.25 or not 0.05 < value < 0.95:
        return value - total.margin, value + total.margin
    n = value * (1 - value) / total.variance
    pull = total.quantile**2 / n
    centre = (value + pull / 2) / (1 + pull)
    half = total.quantile / (1 + pull) * np.sqrt(value * (1 - value) / n + pull / (4 * n))
    return float(centre - half), float(centre + half)


def _within(found: AuditedEstimate, limits: tuple[float, float], one_row: float) -> AuditedEstimate:
    """Keep a range within what the answers allow, but never at less than a row's width."""
    value = min(max(found.value, limits[0]), limits[1])
    low = min(max(found.low, limits[0]), value - one_row / 2)
    high = max(min(found.high, limits[1]), value + one_row / 2)
    return AuditedEstimate(value, max(low, 0.0), min(high, 1.0), found.rows, found.conservative)


def _ratio(x: float, y: float, default: float) -> float:
    return x / (x + y) if x + y > 0 else default


def _counts(answered: Answered, among: Mask) -> tuple[int, int]:
    """Return how many of these rows are known yes, and known no."""
    values = answered.answers[among]
    return int((values == 1).sum()), int((values == 0).sum())


def _carrying(answered: Answered, among: Mask) -> int:
    rows = answered.drawn[among[answered.drawn]]
    return int((~np.isnan(answered.answers[rows])).sum())


def _notes(figures: dict[str, AuditedEstimate], answered: Answered) -> tuple[str, ...]:
    notes = []
    if np.isnan(figures["precision"].value):
        notes.append("No row is flagged at this threshold: precision is undefined.")
    for name, figure in figures.items():
        if figure.conservative and not np.isnan(figure.value):
            kind = {"precision": "flagged ", "recall": "positive "}.get(name, "")
            notes.append(
                f"The {SAID.get(name, name)} rests on only {figure.rows} answered {kind}rows: its "
                "range is conservative."
            )
    if answered.doubts:
        notes.append(
            f"{answered.doubts} rows have no clear answer: the prediction stands in for it in the "
            "values, the worst case in the ranges."
        )
    return tuple(notes)
