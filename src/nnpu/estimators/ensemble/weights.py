"""Calibration and weights of the members, and the cut, from out-of-fold scores.

Answers of a review change weights, prior and probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from nnpu.boosting import kl_round
from nnpu.calibration import ScoreCalibration, cut_priors, fit_calibration, least_regret_cut
from nnpu.parameters import InputError
from nnpu.prior import PriorEstimate
from nnpu.prior.curve import auc
from nnpu.review.learning import moved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.task import Member
    from nnpu.estimators.labels import Labels
    from nnpu.review import KnownRows

__all__ = [
    "SURE",
    "Mixture",
    "answers_count",
    "audited_prior",
    "calibrated",
    "corrected",
    "find_cut",
    "find_stack",
    "find_weights",
    "fit_mixture",
    "p_against_u",
    "signed_weights",
    "takers_of_words",
]

SURE = 1e-9  # probabilities nearer to 0 or 1 count as this
_LEAST_SLOPE = 0.1  # of a calibration, for scores with standard deviation 1
_LEAST = 0.05  # a smaller weight becomes 0: it would cost time and change nothing
_DRAWN = 1.0  # / n_p: the strength with which evidence is drawn to adding up
_SHRINK = 200  # positives at which the data and the equal weights count the same


@dataclass(frozen=True, eq=False)
class Mixture:
    """How scores of members become log-odds: each is calibrated, then posteriors are averaged.

    Members of words beside members of numbers are a mixture of their own, and the evidence of both
    is added up.

    Parameters
    ----------
    names : tuple of str
        The members.
    calibrations : ndarray of shape (n_members, 2)
        Slope and intercept of each.
    weights : ndarray of shape (n_members,)
        What each one counts.
    of_words : ndarray of bool of shape (n_members,), optional
        Which members take the words beside numbers; None if all take the same columns.
    stack : ndarray of shape (3,), optional
        What `find_stack` gives, if there are members of both kinds.
    """

    names: tuple[str, ...]
    calibrations: NDArray[np.float64]
    weights: NDArray[np.float64]
    of_words: NDArray[np.bool_] | None = None
    stack: NDArray[np.float64] | None = None

    def by_member(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the calibrated log-odds of each member from its scores, (n_members, n)."""
        return _calibrated(scores, self.calibrations)

    def log_odds(self, by_member: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of all members together from those of each."""
        if self.stack is None or self.of_words is None:
            return _mean(by_member, self.weights)
        a, b, c = self.stack.tolist()
        numbers, words = (
            _mean(by_member[part], self.weights[part]) for part in (~self.of_words, self.of_words)
        )
        return np.asarray(a * numbers + b * words + c)


def fit_mixture(
    members: Sequence[Member],
    scores: NDArray[np.float64],
    s: NDArray[np.int8],
    prior: float,
    sampling: str,
    *,
    words_beside: bool = False,
) -> Mixture:
    """Calibrate and weigh members by their out-of-fold scores.

    Parameters
    ----------
    members : sequence of Member
        Those that have scores.
    scores : ndarray of shape (n_members, n)
        Their scores.
    s : ndarray of shape (n,)
        1 in P, 0 elsewhere.
    prior, sampling
        As in `EnsemblePU`.
    words_beside : bool
        Whether the rows are numbers beside words.
    """
    how = prior, sampling
    calibrations = np.array([calibrated(one, s, *how) for one in scores])
    by_member = _calibrated(scores, calibrations)
    shares = np.array([member.share for member in members])
    names = tuple(member.name for member in members)
    of_words = takers_of_words(members, words_beside=words_beside)
    if of_words is None:
        return Mixture(names, calibrations, find_weights(by_member, s, shares, *how))
    kinds = (~of_words, of_words)
    weights = np.empty(len(members))
    for part in kinds:
        weights[part] = find_weights(by_member[part], s, shares[part], *how)
    parts = np.array([_mean(by_member[part], weights[part]) for part in kinds])
    return Mixture(names, calibrations, weights, of_words, find_stack(parts, s, *how))


def takers_of_words(members: Sequence[Member], *, words_beside: bool) -> NDArray[np.bool_] | None:
    """Return which members take the words beside numbers; None if all take the same columns."""
    found = np.array([not member.takes_numbers for member in members], dtype=bool)
    return found if words_beside and found.any() and not found.all() else None


def _calibrated(
    scores: NDArray[np.float64], calibrations: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(calibrations[:, :1] * scores + calibrations[:, 1:])


def _mean(log_odds: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of the weighted mean of posteriors."""
    mean = weights @ expit(log_odds)
    return np.asarray(logit(np.clip(mean, SURE, 1 - SURE)))


def find_weights(
    log_odds: NDArray[np.float64],
    s: NDArray[np.int8],
    shares: NDArray[np.float64],
    prior: float,
    sampling: str,
) -> NDArray[np.float64]:
    """Return weights on the simplex for members whose calibrated log-odds are given.

    They minimise the KL risk of the mixture of posteriors, −π mean_P log Σ w_k q_k + mean_X
    Σ w_k q_k, which is convex, and are then drawn towards `shares`: they keep
    n_p² / (n_p² + 200²) of their distance, since few positives cannot tell members apart. A weight
    of less than 0.05 becomes 0, and the member is not scored.

    Parameters
    ----------
    log_odds : ndarray of shape (n_members, n)
        Out of fold, calibrated.
    s : ndarray of shape (n,)
        1 in P, 0 elsewhere.
    shares : ndarray of shape (n_members,)
        What members count, relative to each other, if there is nothing to go by.
    prior, sampling
        As everywhere.

    Examples
    --------
    >>> s = np.repeat([1, 0], [500, 500]).astype(np.int8)
    >>> good, bad = np.where(s == 1, 2.0, -2.0), np.zeros(1000)
    >>> find_weights(np.array([good, bad]), s, np.ones(2), 0.3, "two-sample").round(2)
    array([0.93, 0.07])
    """
    k = len(log_odds)
    start: NDArray[np.float64] = shares / shares.sum()
    if k == 1:
        return start
    q = expit(log_odds)
    of_p = s == 1
    q_p = q[:, of_p]
    cost = q.mean(axis=1) if sampling == "one-sample" else q[:, ~of_p].mean(axis=1)

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        mixed = np.maximum(w @ q_p, 1e-12)
        gradient = cost - prior * (q_p / mixed).mean(axis=1)
        return float(w @ cost - prior * np.log(mixed).mean()), gradient

    found = minimize(
        value,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(k)},
        options={"maxiter": 200, "ftol": 1e-9},
    )
    best = np.maximum(found.x, 0) if np.all(np.isfinite(found.x)) else start
    n_p = int(of_p.sum())
    share = n_p**2 / (n_p**2 + _SHRINK**2)
    weights: NDArray[np.float64] = share * best / best.sum() + (1 - share) * start
    weights[weights < _LEAST] = 0.0
    weights /= weights.sum()
    return weights


def find_stack(
    parts: NDArray[np.float64], s: NDArray[np.int8], prior: float, sampling: str
) -> NDArray[np.float64]:
    """Return (a, b, c): what makes one log-odds, a z₁ + b z₂ + c, of those of two sets of columns.

    If the sets are independent within each class, a = b = 1 and c = −logit π: evidence adds up,
    which no mean of probabilities does. They minimise the KL risk and are drawn to these values,
    the more the fewer positives there are.

    Parameters
    ----------
    parts : ndarray of shape (2, n)
        Log-odds out of fold, calibrated.
    s, prior, sampling
        As in `find_weights`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.r_[np.ones(1000), rng.random(4000) < 0.5]
    >>> s = np.repeat([1, 0], [1000, 4000]).astype(np.int8)
    >>> x = rng.normal(np.where(y, 1, -1), 1, (2, 5000))
    >>> bool(np.abs(find_stack(2 * x, s, 0.5, "two-sample") - [1, 1, 0]).max() < 0.15)
    True
    """
    start = np.array([1.0, 1.0, -logit(prior)])
    columns = np.concatenate([parts, np.ones((1, parts.shape[1]))])
    strength = _DRAWN / int(s.sum())

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = w @ columns
        found = kl_round(scores, s, prior=prior, sampling=sampling)
        away = w - start
        gradient = columns @ found.gradient / len(scores) + strength * away
        return float(found.values["train_risk"] + strength / 2 * away @ away), gradient

    bounds = [(0.0, None), (0.0, None), (None, None)]
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found if np.all(np.isfinite(found)) else start


def calibrated(
    scores: NDArray[np.float64], s: NDArray[np.int8], prior: float, sampling: str
) -> tuple[float, float]:
    """Return slope and intercept; the fewer positives, the more the slope is drawn to zero.

    It never gets there: scores that seem to mislead keep their order, at probabilities that all but
    agree with the prior.
    """
    n_p = int(s.sum())
    population = scores if sampling == "one-sample" else scores[s == 0]
    least = _LEAST_SLOPE / max(float(scores.std()), 1e-12)
    if np.ptp(population) == 0:
        return least, float(logit(prior)) - least * float(population.mean())
    fitted = fit_calibration(
        scores[s == 1],
        scores[s == 0],
        prior=prior,
        sampling=sampling,
        ridge=1e-3 + 1 / n_p,
    )
    if fitted.slope > least:
        return fitted.slope, fitted.intercept
    return least, float(logit(prior)) - least * float(population.mean())


def find_cut(
    scores: NDArray[np.float64], s: NDArray[np.int8], prior: float, estimate: PriorEstimate
) -> float:
    """Return the cut of one sample that loses least over the range of an estimated prior.

    Two samples are cut where the probability is one half: ``docs/lab/prior.md`` says why.
    """
    priors = cut_priors(prior, estimate, float(s.mean()))
    under = (ScoreCalibration(*calibrated(scores, s, each, "one-sample")) for each in priors)
    return least_regret_cut(scores, *under)


def p_against_u(scores: NDArray[np.float64], s: NDArray[np.int8]) -> float:
    """Return the chance that a row of P scores more than one of U, ties counting one half.

    >>> p_against_u(np.array([3.0, 1.0, 2.0]), np.int8([1, 0, 0]))
    1.0
    """
    return auc(scores[s == 1], scores[s != 1])


_HALF = 50  # answers that count as much as all that P and U say


def answers_count(n: int) -> float:
    """Return η, what n answers count in the risk (1 − η) R_PU + η R_PN of every member.

    On genuine problems 200 answers with η = .8 ranked hidden positives better than with .5 or .2 on
    nearly all, and choosing η by the answers' own loss was worse than any (`docs/lab/genuine.md`).

    Examples
    --------
    >>> answers_count(200), answers_count(50), answers_count(0)
    (0.8, 0.5, 0.0)
    """
    return n / (n + _HALF)


def signed_weights(answers: KnownRows, codes: Labels) -> NDArray[np.float64]:
    """Return the weight of each row answered yes, minus that of each answered no, else 0.

    Examples
    --------
    >>> from nnpu.review import KnownRows
    >>> known = KnownRows(np.array([2, 0]), np.array([1.0, 0.0]), np.array([1.5, 0.5]))
    >>> signed_weights(known, np.zeros(4, dtype=np.int8))
    array([-0.5,  0. ,  1.5,  0. ])
    """
    n = len(codes)
    rows, y, weight = (np.asarray(part) for part in answers[:3])
    fits = rows.ndim == 1 and rows.shape == y.shape == weight.shape and rows.dtype.kind in "iu"
    if not fits or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise InputError(
            f"EnsemblePU: answers must be KnownRows with row numbers in the range [0, {n}), as "
            "nnpu.review.known_rows returns them; in two samples add the number of "
            "rows before U."
        )
    if not np.isin(y, (0, 1)).all() or not np.all(weight > 0):
        raise InputError("EnsemblePU: answers must be 1 or 0, and their weights above 0.")
    if np.any(codes[rows[y == 0]] == 1):
        raise InputError(
            "EnsemblePU: a row that was answered no is labelled positive. Do the answers belong to "
            "these rows? In two samples add the number of rows before U to their row numbers."
        )
    signed = np.zeros(n)
    signed[rows] = np.where(y == 1, weight, -weight)
    return signed


def audited_prior(answers: KnownRows, codes: Labels, sampling: str) -> PriorEstimate:
    """Return the prior that the answers gave, as an estimate with its range."""
    found = answers.prior
    assert found is not None
    share = float(np.mean(codes == 1)) if sampling == "one-sample" else 0.0
    low, high = max(found.low, share), max(found.high, share + 1e-6)
    value = found.value if found.value > share else (share + high) / 2
    return PriorEstimate(
        value=min(max(value, 1e-6), 1 - 1e-6),
        low=min(low, value),
        high=max(high, value),
        method="review",
        identified=True,
        message=(
            f"About {100 * value:.1f} % of the rows are positive, 90 % range {100 * low:.1f} % to "
            f"{100 * high:.1f} %: estimated from the answers of a review, whatever the model or "
            "the labels."
        ),
        sampling="one-sample" if sampling == "one-sample" else "two-sample",
    )


def corrected(
    calibration: ScoreCalibration, log_odds: NDArray[np.float64], answers: NDArray[np.float64]
) -> tuple[ScoreCalibration, float]:
    """Return the calibration moved to fit the answers, and the cut at one half."""
    rows = np.flatnonzero(answers)
    slope, intercept = calibration.slope, calibration.intercept
    if rows.size:
        z = slope * log_odds[rows] + intercept
        found = moved(z, (answers[rows] > 0).astype(np.float64), np.abs(answers[rows]))
        slope, intercept = found.slope * slope, found.shift + found.slope * intercept
    return ScoreCalibration(slope, intercept), -intercept / slope
