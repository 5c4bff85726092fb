"""What answers teach beside the figures of an audit.

Answered rows never become labelled positives: they were not drawn at random from the positives,
and that would break the assumption behind every PU risk. They enter a fit as known rows of both
classes, weighted by 1/chance (`known_rows`), and move its probabilities (`recalibrate`). They find
the cut of least expected cost, where a false alarm and a miss cost differently (`least_cost`), and
say whether the labels look like a random sample of the positives (`scar_check`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import norm

from nnpu.parameters import InputError, check_number
from nnpu.ranges import Z90
from nnpu.review.audits import AuditedEstimate, audit_answered
from nnpu.review.draws import FloatArray, IntArray, as_probability
from nnpu.review.totals import Answered, collect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from nnpu.review.draws import Draw

__all__ = [
    "Cut",
    "KnownRows",
    "Recalibration",
    "ScarCheck",
    "known_rows",
    "least_cost",
    "moved",
    "recalibrate",
    "scar_check",
]

_CAP = 5.0  # times the mean weight, at most: no single answer decides the fit
_EDGE = 1e-3  # probabilities are kept this far from 0 and 1 on the logit scale
_FAR = float(logit(1 - _EDGE))  # the same for log-odds
_SLOPE_ROWS = 10.0  # weight, in answers, of the penalty that draws the slope to 1
_SHIFT_ROWS = 1.0  # the same for the shift, drawn to 0


class KnownRows(NamedTuple):
    """Rows whose class a person gave, or that were known before.

    Attributes
    ----------
    rows : array
        Their indices.
    y : array
        1 or 0.
    weight : array
        1/chance, capped at five times its mean, over its mean. A row that was known before has
        the chance 1.
    prior : AuditedEstimate or None
        The audited prior, with its range.
    """

    rows: IntArray
    y: FloatArray
    weight: FloatArray
    prior: AuditedEstimate | None = None


def known_rows(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    known: ArrayLike | None = None,
    partial: bool = False,
) -> KnownRows:
    """Return the rows with a clear answer, their weights in the risk R_PN, and the audited prior.

    Rows that `known` gives are among them: answers alone stand for the other rows only. Only
    draws that estimate count: rows drawn for finding have no chance to weight by.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.
    partial : bool
        Of rows that were not drawn, only the sum of the probabilities is known.

    Returns
    -------
    KnownRows
        For ``EnsemblePU.fit(X, s, answers=...)``. Its rows count in `probability`: in two samples,
        where that is of U alone, ``found._replace(rows=np.flatnonzero(s == 0)[found.rows])``.

    Examples
    --------
    >>> from nnpu.review import draw
    >>> p = [0.1, 0.3, 0.5, 0.7, 0.9]
    >>> drawn = draw(p, 3, random_state=0)
    >>> known = known_rows(p, drawn, [1, float("nan"), 0])
    >>> len(known.rows), float(known.y.sum()), round(float(known.weight.mean()), 6)
    (2, 1.0, 1.0)
    """
    answered = collect(probability, draws, answers, known, "known_rows", partial=partial)
    rows = np.concatenate([r.rows for r in answered.rounds])
    weight = np.concatenate([r.weight / r.chance for r in answered.rounds])
    rows, first = np.unique(rows, return_index=True)
    clear = ~np.isnan(answered.answers[rows])
    rows, weight = rows[clear], weight[first][clear]
    if weight.size:
        weight = np.minimum(weight, _CAP * weight.mean())
        before = np.flatnonzero(~np.isnan(answered.given))
        rows = np.concatenate([rows, before])
        weight = np.concatenate([weight, np.ones(before.size)]) / weight.mean()
    prior = audit_answered(answered, 0.5).prior
    return KnownRows(rows, answered.answers[rows], weight, prior)


@dataclass(frozen=True)
class Recalibration:
    """Probabilities moved to fit the answers: logit p′ = shift + slope · logit p.

    Attributes
    ----------
    shift, slope : float
        0 and 1 leave probabilities as they are.
    rows : int
        The answers that they were fitted to.

    Examples
    --------
    >>> Recalibration(0.0, 1.0, 0)([0.2, 0.8]).round(3)
    array([0.2, 0.8])
    """

    shift: float
    slope: float
    rows: int

    def __call__(self, probability: ArrayLike) -> FloatArray:
        """Return the moved probabilities."""
        p = as_probability(probability, "Recalibration")
        return np.asarray(expit(self.shift + self.slope * _logit(p)), dtype=np.float64)

    def threshold(self, wanted: float = 0.5) -> float:
        """Return the threshold on the old probabilities that is `wanted` on the moved ones.

        Examples
        --------
        >>> round(Recalibration(-1.0, 1.0, 50).threshold(), 3)
        0.731
        """
        return float(expit((logit(wanted) - self.shift) / self.slope))


def recalibrate(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    known: ArrayLike | None = None,
) -> Recalibration:
    """Fit shift and slope on the logit scale to the answers, weighted by 1/chance.

    The weighted logistic loss has a penalty towards shift 0 and slope 1: few answers change
    little. This moves the cut, and with it accuracy, to where the answers want it, and leaves the
    ranking as it is.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.

    Returns
    -------
    Recalibration

    Examples
    --------
    >>> from nnpu.review import draw
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(4000)
    >>> y = rng.random(4000) < truth
    >>> p = expit(logit(truth) + 1.5)  # a model that believes in too large a prior
    >>> drawn = draw(p, 200, random_state=0)
    >>> moved = recalibrate(p, drawn, y[drawn.rows])
    >>> bool(abs(moved(p).mean() - y.mean()) < abs(p.mean() - y.mean()) / 3)
    True
    """
    p = as_probability(probability, "recalibrate")
    found = known_rows(p, draws, answers, known=known)
    if found.rows.size == 0:
        return Recalibration(0.0, 1.0, 0)
    return moved(_logit(p[found.rows]), found.y, found.weight)


def moved(log_odds: FloatArray, y: FloatArray, weight: FloatArray) -> Recalibration:
    """Fit shift and slope for answered rows whose log-odds are given; see `recalibrate`.

    Examples
    --------
    >>> found = moved(np.array([-1.0, 0.0, 1.0, 2.0]), np.zeros(4), np.ones(4))
    >>> found.shift < 0, found.rows
    (True, 4)
    """
    z, sign = np.clip(log_odds, -_FAR, _FAR), 2 * y - 1

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        shift, slope = parameters
        margin = sign * (shift + slope * z)
        value = float(weight @ np.logaddexp(0, -margin))
        slack = -weight * sign * expit(-margin)
        penalty = 0.5 * (_SHIFT_ROWS * shift**2 + _SLOPE_ROWS * (slope - 1) ** 2)
        gradient = [slack.sum() + _SHIFT_ROWS * shift, slack @ z + _SLOPE_ROWS * (slope - 1)]
        return value + penalty, np.array(gradient)

    limits = [(-20.0, 20.0), (0.05, 20.0)]  # a slope below 0 would turn the ranking round
    found = minimize(loss, np.array([0.0, 1.0]), jac=True, bounds=limits, method="L-BFGS-B")
    return Recalibration(float(found.x[0]), float(found.x[1]), int(y.size))


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(p, _EDGE, 1 - _EDGE)), dtype=np.float64)


_GRID = 200  # thresholds that are compared


@dataclass(frozen=True)
class Cut:
    """A threshold, and what it costs.

    Attributes
    ----------
    threshold : float
        Flag rows whose probability is greater.
    low, high : float
        Thresholds that the answers cannot tell from it (90 %): between them, no cut is clearly
        cheaper or dearer. Equal to `threshold` without answers.
    cost : AuditedEstimate
        The expected cost per row, with its range; without answers the value only, right if
        the probabilities are.
    flagged : float
        The share of rows that are flagged.
    """

    threshold: float
    low: float
    high: float
    cost: AuditedEstimate
    flagged: float


def least_cost(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw] | None = None,
    answers: ArrayLike | Sequence[ArrayLike] | None = None,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    known: ArrayLike | None = None,
) -> Cut:
    """Return the threshold of least expected cost.

    With probabilities alone it is cost_fp/(cost_fp + cost_fn). With answers, the probabilities
    are first moved to fit them (`recalibrate`), and the cost of the cut comes from the draw.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`; without draws the probabilities are taken as they are.
    cost_fp, cost_fn : float
        What a flagged negative and a missed positive cost.

    Returns
    -------
    Cut

    Examples
    --------
    >>> import numpy as np
    >>> cut = least_cost(np.linspace(0, 1, 101), cost_fp=1, cost_fn=4)
    >>> cut.threshold
    0.2
    """
    fp = check_number("cost_fp", cost_fp, "least_cost", low=0, include_low=False)
    fn = check_number("cost_fn", cost_fn, "least_cost", low=0, include_low=False)
    p = as_probability(probability, "least_cost")
    wanted = fp / (fp + fn)
    if draws is None or answers is None:
        flagged = p > wanted
        value = float(np.where(flagged, fp * (1 - p), fn * p).mean())
        return Cut(
            wanted, wanted, wanted, AuditedEstimate(value, value, value), float(flagged.mean())
        )
    answered = collect(p, draws, answers, known, "least_cost")
    threshold = recalibrate(p, draws, answers, known=known).threshold(wanted)
    grid = np.unique(np.append(np.quantile(p, np.linspace(0, 1, _GRID)), threshold))
    same = [bool(_no_dearer(answered, cut, threshold, fp, fn)) for cut in grid]
    here = int(np.searchsorted(grid, threshold))
    low = here - next((i for i, s in enumerate(same[here::-1]) if not s), here + 1) + 1
    high = here + next((i for i, s in enumerate(same[here:]) if not s), len(same) - here) - 1
    return Cut(
        threshold,
        float(grid[low]),
        float(grid[high]),
        _cost(answered, threshold, fp, fn),
        float((p > threshold).mean()),
    )


def _coefficients(
    p: FloatArray, threshold: float, fp: float, fn: float
) -> tuple[FloatArray, float]:
    """Return a and c such that the mean cost is c + Σ a·y."""
    flagged = p > threshold
    return np.where(flagged, -fp, fn) / p.size, fp * float(flagged.mean())


def _cost(answered: Answered, threshold: float, fp: float, fn: float) -> AuditedEstimate:
    p = answered.probability
    flagged = p > threshold
    a, constant = _coefficients(p, threshold, fp, fn)
    total, low, high = (answered.total(a, flagged, fill) for fill in ((None, None), (1, 0), (0, 1)))
    values = [max(constant + t.value, 0.0) for t in (total, low, high)]
    lowest = min(values[0] - total.margin, values[1] - low.margin)
    highest = max(values[0] + total.margin, values[2] + high.margin)
    return AuditedEstimate(values[0], max(lowest, 0.0), highest, int(answered.drawn.size))


def _no_dearer(answered: Answered, cut: float, than: float, fp: float, fn: float) -> bool:
    """Return whether the draw does not show that `cut` costs more than the threshold `than`."""
    p = answered.probability
    one, constant = _coefficients(p, cut, fp, fn)
    two, other = _coefficients(p, than, fp, fn)
    between = (p > cut) != (p > than)
    if not between.any():
        return True
    total = answered.total(one - two, between)
    return constant - other + total.value <= total.margin


@dataclass(frozen=True)
class ScarCheck:
    """Labelled positives against positives that a review found.

    Attributes
    ----------
    labelled, unlabelled : AuditedEstimate
        The mean probability of labelled positives, and of the other positives, each with its 90 %
        range. Under SCAR they are equal.
    pvalue : float
        Of that equality, by a normal approximation.
    broken : bool
        Whether the p-value is below 0.05.
    message : str
        The same in words.
    """

    labelled: AuditedEstimate
    unlabelled: AuditedEstimate
    pvalue: float
    broken: bool
    message: str


def scar_check(
    probability: ArrayLike,
    draws: Draw | Sequence[Draw],
    answers: ArrayLike | Sequence[ArrayLike],
    *,
    labelled_probability: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> ScarCheck:
    """Compare labelled positives with those that the review found among the others.

    PU metrics and PU estimates of the prior need labels that were given completely at random
    (SCAR): labelled positives then get the same probabilities as the others. The audit itself
    does not need it.

    Parameters
    ----------
    probability, draws, answers, known
        As for `audit`.
    labelled_probability : array-like, optional
        Out-of-fold probabilities of the labelled positives. Without it those of the rows that
        `known` says are yes.

    Returns
    -------
    ScarCheck

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu.review import draw, scar_check
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> drawn = draw(p, 200, random_state=0)
    >>> easy = p[y & (p > 0.7)]  # only clear cases were labelled
    >>> scar_check(p, drawn, y[drawn.rows], labelled_probability=easy).broken
    True
    """
    answered = collect(probability, draws, answers, known, "scar_check")
    p, others = answered.probability, np.isnan(answered.given)
    if labelled_probability is not None:
        q = as_probability(labelled_probability, "scar_check")
    else:
        q = p[answered.given == 1]
    if q.size < 2:
        raise InputError(
            "scar_check: at least two labelled positives are needed: pass labelled_probability or "
            "known."
        )
    everywhere = np.ones(p.size, dtype=bool)
    positives = answered.total(others.astype(np.float64), everywhere).value
    found = int((answered.answers[answered.drawn] == 1).sum())
    if positives <= 0 or found < 5:
        nothing = AuditedEstimate(np.nan, 0.0, 1.0, found, True)
        message = f"Only {found} answers are positives: too few to judge the labels."
        return ScarCheck(_mean(q), nothing, 1.0, False, message)
    weighted = answered.total(np.where(others, p, 0.0), everywhere).value
    mean = float(np.clip(weighted / positives, 0, 1))
    total = answered.total(np.where(others, p - mean, 0.0) / positives, everywhere)
    labelled, error = _mean(q), float(np.sqrt(total.variance + q.var(ddof=1) / q.size))
    low, high = max(mean - total.margin, 0.0), min(mean + total.margin, 1.0)
    z = (labelled.value - mean) / error if error > 0 else 0.0
    pvalue = float(2 * norm.sf(abs(z)))
    return ScarCheck(
        labelled,
        AuditedEstimate(mean, low, high, found),
        pvalue,
        pvalue < 0.05,
        _message(labelled.value, mean, pvalue),
    )


def _mean(q: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> AuditedEstimate:
    value = float(q.mean())
    margin = float(Z90 * q.std(ddof=1) / np.sqrt(q.size))
    return AuditedEstimate(value, max(value - margin, 0.0), min(value + margin, 1.0), int(q.size))


def _message(labelled: float, others: float, pvalue: float) -> str:
    means = f"mean probability {labelled:.2f} of labelled and {others:.2f} of other positives"
    if pvalue >= 0.05:
        return f"No evidence against random labelling (p = {pvalue:.2g}; {means})."
    kind = "easier" if labelled > others else "harder"
    return (
        f"Labelled positives are {kind} cases than the others (p = {pvalue:.2g}; {means}): do not "
        "trust estimates of the share, precision or recall without answers; trust the review."
    )
