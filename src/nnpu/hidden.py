"""The positives among the unlabelled rows: how many, and how high they rank.

P and U alone do not tell where the hidden positives are: whoever gave the labels may have found
the clearest cases first. Let q be the share of U above a cut, a the share of the labelled rows
above it, and r that of the hidden positives. If labels were given at random, r = a. On genuine
problems the hidden ones stand out less, and nearly by the same factor at every cut:

    Φ⁻¹(r) = (1 − λ) Φ⁻¹(q) + λ Φ⁻¹(a),

with λ = 1 for labels at random and λ = 0 for hidden positives that rank like any row. `LabelLaw`
says how λ and the share of hidden positives differ from one problem to the next; it was fitted by
``benchmarks/genuine.py``. Everything else follows: of the first n rows, h · r / q are positive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from nnpu.parameters import InputError, check_count, check_label_bias
from nnpu.ranges import ENDS, Z90, Estimate, weighted_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "LENGTHS",
    "TYPICAL",
    "Answers",
    "AuditedHidden",
    "Estimate",
    "Hidden",
    "HiddenPositives",
    "KnownShare",
    "LabelLaw",
    "audited_hidden",
    "hidden_positives",
    "hidden_share",
    "typical_share",
    "unlabelled_probability",
]

_DRAWS = 2_000  # of the law: the ends of a range are then stable to about .01
_GRID = 240  # cuts at which curves are kept; geometric, since the first rows matter most
_WIDEST, _MOST = 0.25, 3.0  # an identified share: width of its range, ratio of the ends
_TINY = 1e-6  # shares stay this far from 0 and 1, where odds are infinite
_LEFT = 0.05  # of the law inside of the limits that a user gave; with less it says nothing
_SEEN = 2.0  # standard deviations of the share: further off no genuine problem tells of λ
_FEW = 5  # answers that a figure needs; with fewer the model's estimate stays
_AGREE = 0.01  # of the law that answers to a longer list must leave for a shorter one
_RESAMPLED = 400  # bootstrap samples of the answers, for the range of an AUC
#: Lengths of the list that are spoken of.
LENGTHS = (20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
#: What is left out at each end of a range. A range of more than .88 says nothing: its tails are
#: cut a little more, which costs nothing in how often ranges hold (``docs/lab/genuine.md``).
_TAILS, _WIDE = (0.05, 0.06, 0.07, 0.08, 0.1), 0.88
_REACH = 0.9  # ranges reach up to random labels as far as they are no wider than this


@dataclass(frozen=True)
class LabelLaw:
    """How labels are given in practice, as measured on genuine problems.

    Attributes
    ----------
    likeness, likeness_sd : float
        Mean and standard deviation of λ over problems.
    share, share_low, share_high : float
        The share of positives among unlabelled rows: median, 5 % and 95 % quantile over problems.
        The low end allows for labels that are nearly complete.
    trust : float
        How much of the way from `share` to the estimate under random labels the median goes, in
        log-odds.
    beyond : float
        The high end is at least this part of the largest share that random labels allow, and at
        least the estimate under random labels.
    correlation : float
        Of λ with the log-odds of the share: where more positives are hidden than usual, they stand
        out less. A share that is known tells of λ by it.
    random : float
        The chance that labels were given at random after all.
    """

    likeness: float
    likeness_sd: float
    share: float
    share_low: float
    share_high: float
    trust: float
    beyond: float
    correlation: float
    random: float


#: Fitted to genuine problems by ``python benchmarks/genuine.py law``; see ``docs/lab/genuine.md``.
TYPICAL = LabelLaw(
    likeness=0.51,
    likeness_sd=0.18,
    share=0.14,
    share_low=0.02,
    share_high=0.38,
    trust=0.5,
    beyond=0.7,
    correlation=-0.7,
    random=0.06,
)


class KnownShare(NamedTuple):
    """What is known of the share of positives among the unlabelled rows.

    Attributes
    ----------
    value, low, high : float
        The estimate under random labels with its range; all equal if the share was given.
    bound : float
        The largest share that random labels allow.
    least, most : float
        Hard limits that the user gave.
    audited : bool
        Whether a review gave the range: it then holds however labels were given.
    """

    value: float
    low: float
    high: float
    bound: float
    least: float = 0.0
    most: float = 1.0
    audited: bool = False

    @property
    def given(self) -> bool:
        """Whether the share is a number that the user gave."""
        return self.low == self.high


def unlabelled_probability(
    probability: NDArray[np.float64], labelled: float
) -> NDArray[np.float64]:
    """Return P(y = 1 | x, unlabelled) from f = P(y = 1 | x): f (1 − c) / (1 − c f).

    A row that had its chance to be labelled and was not is less likely positive than its cells
    say.

    Parameters
    ----------
    probability : ndarray
        f.
    labelled : float
        c, the share of the positives that is labelled.

    Examples
    --------
    >>> unlabelled_probability(np.array([0.5, 0.95]), 0.6).round(2)
    array([0.29, 0.88])
    """
    f = np.asarray(probability, dtype=np.float64)
    return np.asarray(f * (1 - labelled) / np.maximum(1 - labelled * f, _TINY))


@dataclass(frozen=True, eq=False)
class _Curves:
    """Draws of the share h, and of the recall r at each cut of the grid."""

    cuts: NDArray[np.float64]  # (k,): shares of U above
    share: NDArray[np.float64]  # (draws,)
    recall: NDArray[np.float64]  # (draws, k)

    def recall_at(self, q: float) -> NDArray[np.float64]:
        """Interpolate the recall at one cut."""
        i = int(np.clip(np.searchsorted(self.cuts, q), 1, len(self.cuts) - 1))
        left, right = self.cuts[i - 1], self.cuts[i]
        weight = (q - left) / (right - left)
        return np.asarray((1 - weight) * self.recall[:, i - 1] + weight * self.recall[:, i])

    def positives(self, rows: int) -> NDArray[np.int64]:
        """Return how many of the rows are positive; at least one is."""
        return np.maximum(np.round(self.share * rows), 1).astype(np.int64)

    def found(self, q: float, rows: int) -> NDArray[np.float64]:
        """Draw how many positives there are among the first q of the rows, the same each time.

        No more than there are rows, and no fewer than the negatives leave places for.
        """
        count, first = self.positives(rows), round(q * rows)
        drawn = np.random.default_rng(1).binomial(count, np.clip(self.recall_at(q), 0, 1))
        return np.clip(drawn, np.maximum(first - (rows - count), 0), first).astype(np.float64)

    def auc(self, rows: int) -> NDArray[np.float64]:
        """Draw how often a hidden positive of these rows ranks above a negative.

        With A = ∫ r dq, how often it ranks above any row, that is (A − h/2) / (1 − h). A is the
        mean of 1 − q over the positives, whose variance is 2 ∫ (1 − q) r dq − A².
        """
        mean = np.asarray(np.trapezoid(self.recall, self.cuts, axis=1))
        square = 2 * np.trapezoid((1 - self.cuts) * self.recall, self.cuts, axis=1)
        error = np.sqrt(np.maximum(square - mean**2, 0) / self.positives(rows))
        mean = mean + error * np.random.default_rng(1).standard_normal(len(self.share))
        found = (mean - self.share / 2) / np.maximum(1 - self.share, _TINY)
        return np.clip(found, 0, 1)


@dataclass(frozen=True, eq=False)
class HiddenPositives:
    """The positives among the unlabelled rows, under one view of how labels were given.

    Attributes
    ----------
    share : Estimate
        The share of positives among the unlabelled rows.
    precision : Estimate
        The share of positives among the unlabelled rows that are predicted positive; NaN if no
        row is.
    recall : Estimate
        The share of the hidden positives that is predicted positive.
    auc : Estimate
        How often a hidden positive ranks above a negative.
    rows, flagged : int
        The unlabelled rows, and those of them that are predicted positive.
    label_bias : "typical" or float
        How far labels may be from random.
    """

    label_bias: float | str
    rows: int
    flagged: int
    _middle: _Curves = field(repr=False)
    _ends: tuple[_Curves, ...] = field(repr=False)  # what the ends of a range come from

    @cached_property
    def share(self) -> Estimate:
        """The share of positives among the unlabelled rows."""
        return self._range(lambda curves: curves.share)

    @cached_property
    def auc(self) -> Estimate:
        """How often a hidden positive ranks above a negative."""
        return self._range(lambda curves: curves.auc(self.rows))

    @cached_property
    def recall(self) -> Estimate:
        """The share of the hidden positives that is predicted positive."""
        if not self.flagged:
            return Estimate(0.0, 0.0, 0.0)
        q = self.flagged / self.rows
        return self._range(lambda curves: curves.found(q, self.rows) / curves.positives(self.rows))

    @cached_property
    def precision(self) -> Estimate:
        """The share of positives among the unlabelled rows that are predicted positive."""
        if not self.flagged:
            return Estimate(float("nan"), float("nan"), float("nan"))
        return self.top(self.flagged)

    def top(self, n: int) -> Estimate:
        """Return the share of positives among the `n` unlabelled rows that rank highest.

        It speaks of particular rows: the range covers how many of them happen to be positive.

        Parameters
        ----------
        n : int
            How many rows; no more than there are.
        """
        n = check_count("n", n, "top")
        if n > self.rows:
            raise InputError(f"top({n:,}): there are only {self.rows:,} unlabelled rows.")
        return self._range(lambda curves: curves.found(n / self.rows, self.rows) / n)

    def found(self, n: int) -> Estimate:
        """Return the share of the hidden positives that is among the `n` highest-ranked rows."""
        q = min(check_count("n", n, "found") / self.rows, 1.0)
        return self._range(lambda curves: curves.recall_at(q))

    @property
    def identified(self) -> bool:
        """Whether the range of the share says something: at most .25 wide, ends within 3 times."""
        return _says_something(self.share)

    def _range(self, figure: Callable[[_Curves], NDArray[np.float64]]) -> Estimate:
        return _range_of(figure(self._middle), [figure(curves) for curves in self._ends])


def _range_of(middle: NDArray[np.float64], ends: list[NDArray[np.float64]]) -> Estimate:
    """Return the median of draws, and the range of others."""
    for tail in _TAILS:
        low = min(float(np.quantile(each, tail)) for each in ends)
        high = max(float(np.quantile(each, 1 - tail)) for each in ends)
        if high - low <= _WIDE:
            break
    return Estimate(min(max(float(np.median(middle)), low), high), low, high)


@dataclass(frozen=True, eq=False)
class Hidden(HiddenPositives):
    """`HiddenPositives` under ``label_bias``, with the same under labels at random beside it.

    Attributes
    ----------
    at_random : HiddenPositives
        What follows if labels were given at random among the positives.
    contradicted : str
        What these rows say against `at_random`: labels were not given at random, or the share of
        positives cannot be as given or estimated. Else empty.
    """

    at_random: HiddenPositives = field(repr=False)
    contradicted: str = ""

    @property
    def identified(self) -> bool:
        """Whether the range of the share says something, and nothing contradicts it."""
        return _says_something(self.share) and not self.contradicted

    @cached_property
    def recall(self) -> Estimate:
        """The share of the hidden positives that is predicted positive."""
        return self._reaching(super().recall, self.at_random.recall)

    @cached_property
    def auc(self) -> Estimate:
        """How often a hidden positive ranks above a negative."""
        return self._reaching(super().auc, self.at_random.auc)

    def top(self, n: int) -> Estimate:
        """Return the share of positives among the `n` unlabelled rows that rank highest.

        It speaks of particular rows: the range covers how many of them happen to be positive.

        Parameters
        ----------
        n : int
            How many rows; no more than there are.
        """
        most = self.share.high * self.rows / check_count("n", n, "top")
        return self._reaching(super().top(n), self.at_random.top(n), most)

    def found(self, n: int) -> Estimate:
        """Return the share of the hidden positives that is among the `n` highest-ranked rows."""
        return self._reaching(super().found(n), self.at_random.found(n))

    def _reaching(self, law: Estimate, random: Estimate, most: float = 1.0) -> Estimate:
        """Let the range of a figure of the list reach up to what random labels would give.

        They are at the upper end of the law. Not if these rows contradict them. What is wider than
        .9 by it is cut below, at most to the value.
        """
        high = min(random.high, most)
        if self.label_bias != "typical" or self.contradicted or high <= law.high:
            return law
        low = max(law.low, min(law.value, high - _REACH))
        return Estimate(law.value, low, max(law.high, min(high, low + _REACH)))


class Answers(NamedTuple):
    """A person's answers to unlabelled rows that were drawn with known chances.

    Attributes
    ----------
    rows : ndarray of int
        Their numbers among the rows that were judged.
    y : ndarray
        1 or 0.
    weight : ndarray
        1 / chance, up to a factor.
    share : Estimate
        The audited share of positives among the unlabelled rows.
    """

    rows: NDArray[np.intp]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    share: Estimate

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        arrays = {name: getattr(self, name).tolist() for name in ("rows", "y", "weight")}
        return {**arrays, "share": list(self.share)}

    @classmethod
    def from_json(cls, plain: Any, n: int) -> Answers:
        """Return the answers that were stored; `InputError` if they are not of `n` rows."""
        try:
            rows = np.array(plain["rows"], dtype=np.intp)
            y, weight = (np.array(plain[name], dtype=np.float64) for name in ("y", "weight"))
            share = Estimate(*(float(each) for each in plain["share"]))
            sound = rows.ndim == 1 and rows.shape == y.shape == weight.shape
            sound = sound and bool(np.isin(y, (0, 1)).all())
            sound = sound and bool(np.all((weight > 0) & np.isfinite(weight)))
            sound = sound and 0 <= share.low <= share.value <= share.high <= 1
            if not sound or (rows.size and not 0 <= rows.min() <= rows.max() < n):
                raise ValueError("they do not fit the rows")
        except (LookupError, TypeError, ValueError) as error:
            raise InputError(f"The stored answers cannot be understood: {error}") from error
        return cls(rows, y, weight, share)


@dataclass(frozen=True, eq=False)
class AuditedHidden(Hidden):
    """What a review found, whatever the model is worth and however labels were given.

    Figures that fewer than five answers carry are those of the law with the audited share. No
    range of a short list contradicts that of a longer one: see `top`.

    Attributes
    ----------
    answers : Answers
        The answers.
    """

    answers: Answers = field(repr=False, kw_only=True)
    _rank: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp), repr=False)

    @property
    def identified(self) -> bool:
        """Whether the range of the share says something: it holds however labels were given."""
        return _says_something(self.share)

    @cached_property
    def share(self) -> Estimate:
        """The share of positives among the unlabelled rows."""
        return self.answers.share

    @cached_property
    def recall(self) -> Estimate:
        """The share of the hidden positives that is predicted positive."""
        return self.found(self.flagged) if self.flagged else Estimate(0.0, 0.0, 0.0)

    @cached_property
    def auc(self) -> Estimate:
        """How often a hidden positive ranks above a negative."""
        rank, y, w = self._rank.astype(np.float64), self.answers.y, self.answers.weight
        if min(y.sum(), (1 - y).sum()) < _FEW:
            return super().auc
        rng, found = np.random.default_rng(0), []
        for draw in range(_RESAMPLED + 1):
            i = np.arange(len(y)) if draw == 0 else rng.integers(len(y), size=len(y))
            p, n = i[y[i] == 1], i[y[i] == 0]
            if p.size and n.size:
                above = (rank[p][:, None] < rank[n]) + 0.5 * (rank[p][:, None] == rank[n])
                found.append(float(w[p] @ above @ w[n] / (w[p].sum() * w[n].sum())))
        return Estimate(found[0], *(float(np.quantile(found[1:], end)) for end in ENDS))

    def top(self, n: int) -> Estimate:
        """Return the share of positives among the `n` unlabelled rows that rank highest.

        Answers to a longer list speak of its first rows too. If m rows hold between a and b
        positives, their first n hold at least n − (m − a), since no more than m − a of the m are
        negative, and at most b. Of the law, only draws count under which longer lists hold what
        the answers say; if hardly any are left, those bounds are all that is known.
        """
        own, longer = super().top(n), []  # which checks n
        if (counted := self._answered(n)) is not None:
            own = counted
        for m in LENGTHS:
            if n < m <= self.rows and (said := self._answered(m)) is not None:
                longer.append((m, said))
        if not longer:
            return own
        least = max(0.0, *(1 - m * (1 - said.low) / n for m, said in longer))
        most = max(least, min(1.0, *(m * said.high / n for m, said in longer)))
        if counted is None:
            own = self._agreeing(n, longer) or Estimate(longer[0][1].value, least, most)
        low, high = max(own.low, least), min(own.high, most)
        if low > high:
            low, high = least, most
        return Estimate(min(max(own.value, low), high), low, high)

    def _agreeing(self, n: int, longer: list[tuple[int, Estimate]]) -> Estimate | None:
        """Return what the law says of the first `n` rows where it agrees with longer lists."""

        def top(curves: _Curves) -> NDArray[np.float64]:
            agrees = np.ones(len(curves.share), dtype=bool)
            for m, said in longer:
                share = curves.found(m / self.rows, self.rows) / m
                agrees &= (said.low <= share) & (share <= said.high)
            found = curves.found(n / self.rows, self.rows) / n
            return found[agrees if agrees.mean() >= _AGREE else slice(0)]

        ends = [draws for draws in map(top, self._ends) if draws.size]
        middle = top(self._middle)
        if not ends:
            return None
        return _range_of(middle if middle.size else np.concatenate(ends), ends)

    def _answered(self, n: int) -> Estimate | None:
        """Return what the answers to the first `n` rows say; None if they are too few."""
        inside = self._rank < n
        if inside.sum() < _FEW:
            return None
        return weighted_share(self.answers.y[inside], self.answers.weight[inside])

    def found(self, n: int) -> Estimate:
        """Return the share of the hidden positives that is among the `n` highest-ranked rows.

        It agrees with `top` and `share`: no less than the fewest positives of these rows are of the
        most in all, no more than the most are of the fewest, and what their values give is inside.
        """
        believed, positive = super().found(n), self.answers.y == 1
        if positive.sum() < _FEW:
            return believed
        inside = (self._rank[positive] < n).astype(np.float64)
        counted = weighted_share(inside, self.answers.weight[positive])
        first, share, q = self.top(n), self.share, n / self.rows
        least, value, most = (
            min(1.0, q * part / max(whole, _TINY))
            for part, whole in zip(
                (first.low, first.value, first.high),
                (share.high, share.value, share.low),
                strict=True,
            )
        )
        low, high = np.clip([counted.low, counted.high], least, most).tolist()
        low, high = min(low, value), max(high, value)
        return Estimate(min(max(counted.value, low), high), low, high)


def _says_something(share: Estimate) -> bool:
    return share.width <= _WIDEST and share.high <= _MOST * share.low


def audited_hidden(
    s: NDArray[np.int8],
    scores: NDArray[np.floating[Any]],
    cut: float,
    answers: Answers,
    *,
    sampling: str = "one-sample",
    label_bias: float | str = "typical",
) -> AuditedHidden:
    """Return what the answers of a review say about the unlabelled rows.

    Parameters
    ----------
    s, scores, cut, sampling, label_bias
        As in `hidden_positives`. The scores of answered rows must not rest on their answers.
    answers : Answers
        The answers.
    """
    value, low, high = (_inside(end) for end in answers.share)
    known = KnownShare(value, low, high, bound=1.0, audited=True)
    law = hidden_positives(s, scores, cut, known, sampling=sampling, label_bias=label_bias)
    unlabelled = np.flatnonzero(s == 0)
    rank = np.full(len(s), len(s), dtype=np.intp)
    order = np.argsort(-np.asarray(scores, np.float64)[unlabelled], kind="stable")
    rank[unlabelled[order]] = np.arange(len(unlabelled))
    given = {name: getattr(law, name) for name in law.__dataclass_fields__}
    return AuditedHidden(**given, answers=answers, _rank=rank[answers.rows])


def hidden_positives(
    s: NDArray[np.int8],
    scores: NDArray[np.floating[Any]],
    cut: float,
    known: KnownShare,
    *,
    sampling: str = "one-sample",
    label_bias: float | str = "typical",
    law: LabelLaw = TYPICAL,
) -> Hidden:
    """Say what scored rows with PU labels tell about the positives among the unlabelled ones.

    Parameters
    ----------
    s : ndarray of shape (n,)
        PU labels: 1, 0, −1. Known negatives are not part of it.
    scores : ndarray of shape (n,)
        By a model that was not fitted to these rows.
    cut : float
        An unlabelled row is predicted positive if its score is greater.
    known : KnownShare
        What is known of the share of positives among the unlabelled rows.
    sampling : {"one-sample", "two-sample"}
        In two samples U holds positives of the kind that gets labelled too: r becomes
        c a + (1 − c) r with a share c that is unknown.
    label_bias : "typical" or float, default="typical"
        "typical": the law. 1: labels at random. g > 1: no kind of positive is more than g times
        rarer or commoner among the hidden than among the labelled ones.
    law : LabelLaw
        The law.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.2
    >>> s = (y & (rng.random(4000) < 0.5)).astype(np.int8)
    >>> scores = rng.normal(2.0 * y)
    >>> known = KnownShare(0.11, 0.08, 0.15, 0.2)
    >>> found = hidden_positives(s, scores, 1.0, known).at_random  # they were, here
    >>> truth = y[s == 0][np.argsort(-scores[s == 0])[:100]].mean()
    >>> bool(found.top(100).low <= truth <= found.top(100).high)
    True
    """
    bias = check_label_bias(label_bias, "hidden_positives")
    labelled = np.asarray(scores)[s == 1].astype(np.float64)
    unlabelled = np.sort(np.asarray(scores)[s == 0].astype(np.float64))
    if not labelled.size or not unlabelled.size:
        raise InputError("Judging hidden positives needs labelled and unlabelled rows.")
    cuts = _grid(len(unlabelled))
    rng = np.random.default_rng(0)
    recall = _labelled_recall(labelled, unlabelled, cuts, rng)
    normal = _normals()
    flagged = int(np.sum(unlabelled > cut))
    rows = len(unlabelled)
    random = _Curves(cuts, _shares_at_random(known, normal[1]), recall)
    at_random = HiddenPositives(1.0, rows, flagged, random, (random,))
    middle = random if bias == 1 else _typical(random, known, normal, law, sampling, rng)
    ends = (middle,) if bias in (1, "typical") else _bounded(random, known, float(bias))
    return Hidden(bias, rows, flagged, middle, ends, at_random)


def hidden_share(known: KnownShare, law: LabelLaw = TYPICAL) -> tuple[Estimate, Estimate]:
    """Return the share of positives among the unlabelled rows, by the law and at random.

    No score is needed: both are what `hidden_positives` says of rows with this `known`.

    Parameters
    ----------
    known : KnownShare
        What is known of it.
    law : LabelLaw
        The law.

    Examples
    --------
    >>> by_law, at_random = hidden_share(KnownShare(0.26, 0.14, 0.34, 0.31))
    >>> by_law.low < at_random.low < at_random.high < by_law.high
    True
    """
    normal = _normals()
    random = _shares_at_random(known, normal[1])
    typical = _typical_shares(random, known, normal[1], law)
    return _range_of(typical, [typical]), _range_of(random, [random])


def _normals() -> NDArray[np.float64]:
    """Draw what decides the likeness and the share, (2, draws), the same for all rows.

    The shares are quantiles in a random order, so their ranges have no error of their own.
    """
    rng = np.random.default_rng([0, 1])
    likeness = rng.standard_normal(_DRAWS)
    return np.array([likeness, ndtri((rng.permutation(_DRAWS) + 0.5) / _DRAWS)])


def _grid(n: int) -> NDArray[np.float64]:
    """Return shares of U, from none to all, dense where the first rows are."""
    return np.unique(np.concatenate([[0.0], np.geomspace(1 / n, 1, _GRID), [1.0]]))


def _labelled_recall(
    labelled: NDArray[np.float64],
    unlabelled: NDArray[np.float64],
    cuts: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw what the recall of labelled rows may be, (draws, cuts): Bayes's bootstrap.

    One more row counts with them, half of it anywhere in U and half at any rank of the list on a
    logarithmic scale. So a recall of 12 in 12 is no recall of 1, and none of 60 labelled rows among
    the first 20 does not rule out that hidden positives are there.
    """
    n = len(unlabelled)
    below = np.searchsorted(unlabelled, labelled, "left") + np.searchsorted(
        unlabelled, labelled, "right"
    )
    above = 1 - below / (2 * n)  # the share of U above each labelled row, ties half
    counts = np.histogram(above, bins=cuts)[0].astype(np.float64)
    ranks = np.log1p(n * cuts)
    anywhere = (np.diff(cuts) + np.diff(ranks) / ranks[-1]) / 2
    weights = rng.gamma(counts + anywhere, size=(_DRAWS, len(counts)))
    total = weights.sum(axis=1, keepdims=True)
    recall = np.minimum(np.cumsum(weights, axis=1) / total, 1)
    return np.concatenate([np.zeros((_DRAWS, 1)), recall], axis=1)


def _shares_at_random(known: KnownShare, normal: NDArray[np.float64]) -> NDArray[np.float64]:
    if known.given:
        return np.full(len(normal), known.value)
    value, low, high = (_inside(end) for end in (known.value, known.low, known.high))
    return np.clip(_two_piece(value, low, high, normal), known.least, known.most)


def _typical(
    random: _Curves,
    known: KnownShare,
    normal: NDArray[np.float64],
    law: LabelLaw,
    sampling: str,
    rng: np.random.Generator,
) -> _Curves:
    share = _typical_shares(random.share, known, normal[1], law)
    # λ given the share, so whoever knows the share gets the narrower ranges of both.
    own = np.sqrt(1 - law.correlation**2) * normal[0]
    likeness = law.likeness + law.likeness_sd * (law.correlation * _unusual(share, law) + own)
    likeness = np.clip(likeness, 0, 1)
    inner = np.clip(random.cuts, _TINY, 1 - _TINY)
    a = np.clip(random.recall, _TINY, 1 - _TINY)
    z = (1 - likeness)[:, None] * ndtri(inner) + likeness[:, None] * ndtri(a)
    recall = ndtr(z)
    recall[:, 0], recall[:, -1] = 0, 1
    if sampling == "two-sample":
        alike = rng.random(len(share))[:, None]
        recall = alike * random.recall + (1 - alike) * recall
    lucky = slice(0, round(law.random * len(share)))
    recall[lucky] = random.recall[lucky]
    return _possible(replace(random, share=share, recall=recall))


def _typical_shares(
    random: NDArray[np.float64], known: KnownShare, normal: NDArray[np.float64], law: LabelLaw
) -> NDArray[np.float64]:
    """Draw shares by the law; the first of them are those at random, as labels may be."""
    if known.given or known.audited:
        return random
    middle, low, high = typical_share(known._replace(least=0.0, most=1.0), law)
    share = _truncated(middle, low, high, known.least, known.most, normal)
    lucky = slice(0, round(law.random * len(share)))
    share[lucky] = random[lucky]
    return share


def _unusual(share: NDArray[np.float64], law: LabelLaw) -> NDArray[np.float64]:
    """Return how far shares are from the law's, in standard deviations of the log-odds."""
    m = logit(law.share)
    beyond = logit(np.clip(share, 1e-4, 1 - 1e-4)) - m
    below, above = (m - logit(law.share_low)) / Z90, (logit(law.share_high) - m) / Z90
    found = np.clip(beyond / np.where(beyond < 0, below, above), -_SEEN, _SEEN)
    return np.asarray(found)


def typical_share(known: KnownShare, law: LabelLaw = TYPICAL) -> Estimate:
    """Return the share of positives among the unlabelled rows, without looking at any score.

    Parameters
    ----------
    known : KnownShare
        What is known of it.
    law : LabelLaw
        The law.

    Examples
    --------
    >>> typical_share(KnownShare(0.3, 0.3, 0.3, 0.3))
    Estimate(value=0.3, low=0.3, high=0.3)
    """
    if known.given or known.audited:
        return Estimate(known.value, known.low, known.high)
    high = max(law.share_high, min(max(law.beyond * known.bound, known.value), 0.97))
    odds = (1 - law.trust) * logit(law.share) + law.trust * logit(_inside(known.value))
    middle = float(np.clip(expit(odds), 1.2 * law.share_low, 0.9 * high))
    ends = (min(max(end, known.least), known.most) for end in (middle, law.share_low, high))
    return Estimate(*ends)


def _possible(curves: _Curves) -> _Curves:
    """Cut recalls off where more rows would be positive, or negative, than there are."""
    q, h = curves.cuts, np.maximum(curves.share, _TINY)[:, None]
    recall = np.minimum(curves.recall, q / h)
    return replace(curves, recall=np.maximum(recall, 1 - (1 - q) / h))


def _bounded(random: _Curves, known: KnownShare, g: float) -> tuple[_Curves, ...]:
    """Return the corners if the density ratio of hidden to labelled positives is in [1/g, g].

    With a share a of the labelled rows above a cut, that of the hidden ones is at least
    max(a/g, 1 − g(1 − a)) and at most min(g a, 1 − (1 − a)/g); both are reached, by one density
    for all cuts each. The share of positives moves by at most g, either way. A large share allows
    less extreme recalls, so each end of one goes with each end of the other.
    """
    a = random.recall
    recalls = np.maximum(a / g, 1 - g * (1 - a)), np.minimum(g * a, 1 - (1 - a) / g)
    shares: tuple[NDArray[np.float64], ...] = (random.share,)
    if not (known.given or known.audited):
        most = min(known.most, 1 - _TINY)
        shares = tuple(np.clip(random.share * by, known.least, most) for by in (1 / g, g))
    return tuple(
        _possible(replace(random, share=share, recall=recall))
        for share in shares
        for recall in recalls
    )


def _two_piece(
    middle: float, low: float, high: float, normal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw shares whose log-odds are normal on either side of the median."""
    m = logit(middle)
    below, above = (m - logit(low)) / Z90, (logit(high) - m) / Z90
    return np.asarray(expit(m + np.where(normal < 0, below, above) * normal))


def _truncated(
    middle: float, low: float, high: float, least: float, most: float, normal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw like `_two_piece`, inside of hard limits.

    Limits that leave next to nothing of the law contradict it: any log-odds between them are then
    as likely as others, and not those next to the law.
    """
    if least <= 0 and most >= 1:
        return _two_piece(middle, low, high, normal)
    m = logit(middle)
    below, above = max((m - logit(low)) / Z90, _TINY), max((logit(high) - m) / Z90, _TINY)
    ends = [logit(_inside(end)) - m for end in (least, most)]
    first, last = (ndtr(end / (below if end < 0 else above)) for end in ends)
    if last - first < _LEFT:
        between = ends[0] + (ends[1] - ends[0]) * ndtr(normal)
        return np.asarray(np.clip(expit(m + between), least, most))
    inside = np.clip(first + (last - first) * ndtr(normal), _TINY, 1 - _TINY)
    return np.clip(_two_piece(middle, low, high, ndtri(inside)), least, most)


def _inside(share: float) -> float:
    return float(np.clip(share, 1e-4, 1 - 1e-4))
