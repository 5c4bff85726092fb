"""P(labelled | x) as a product: the chance f of a positive times the chance e of its label.

Both are logistic here: f in splines of all columns, so a class which bends is not taken for
biased labels, e in the columns that drive the labelling or in the log-odds of f. The product has
one likelihood, which is maximised over both at once: EM alone moves so slowly that it stays near
its start. What is found is where EM around a better classifier begins.

The likelihood has several maxima. The right one is easily found where positives are taken for
many, so labels must explain why so few are known; from there it is followed to smaller shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from nnpu.data.vectors import mean_and_scale
from nnpu.parameters import InputError, ParameterError, shown
from nnpu.prior.curve import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "Labelling",
    "Split",
    "check_chance",
    "chosen_columns",
    "default_trees",
    "expected_class",
    "losses",
    "needs_random",
    "over_level",
    "shift_to",
    "split",
    "standard",
]

Floats = NDArray[np.float64]

_RIDGE = 1.0  # on coefficients of standardised columns, beside a sum over rows
_PIN = 20.0  # times n: how firmly the mean of f is held at the prior
_STEPS = 300  # of L-BFGS, at most
_FAR = 4.0  # standard deviations beyond which a value counts no more
_FEW = 500  # labelled rows that are never cut to fewer
_TOP, _DESCENT = 0.8, 4  # the share at which the descent begins, and its steps


class Split(NamedTuple):
    """What the likelihood says of rows.

    Attributes
    ----------
    log_odds : ndarray of shape (n,)
        Of the class.
    chance : ndarray of shape (n,)
        e, of a label if the row is positive.
    varies : bool
        Whether e was found to depend on x; if not, it is the same for all rows.
    """

    log_odds: Floats
    chance: Floats
    varies: bool


def split(
    features: Floats, drivers: Floats | None, s: NDArray[np.bool_], prior: float, known: Any = None
) -> Split:
    """Split P(labelled | x) into class and labelling, the mean of the class being the prior.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        What the class depends on, standardised.
    drivers : ndarray of shape (n, k) or None
        Standardised columns, for the labelling; None: the log-odds of the class drive it. With
        k = 0 labels are random.
    s : ndarray of bool of shape (n,)
        Who is labelled.
    prior : float
        The share of positives.
    known : ndarray of shape (n,), optional
        e, if it is known.

    Returns
    -------
    Split
        e varies only if that explains the labels better than a constant does by more than half
        the logarithm of n per coefficient (the Bayesian information criterion).
    """
    rows = _rows_to_fit(s)
    ones = np.ones((len(s), 1))
    design = np.column_stack([ones, features])  # of the class: a level, then its columns
    start = np.zeros(design.shape[1])
    start[0] = logit(prior)
    if known is not None:  # the class alone is fitted
        nothing = ones[rows, :0]
        product = _Product(design[rows], nothing, s[rows], prior, offset=logit(known[rows]))
        theta = _minimise(product, start).x
        return Split(design @ theta, np.asarray(known, dtype=np.float64), varies=True)

    constant = _Product(design[rows], ones[rows], s[rows], prior)
    level = logit(np.clip(s[rows].mean() / prior, 1e-6, 1 - 1e-6))
    plain = _minimise(constant, np.append(start, float(level)))

    by_score = drivers is None
    drivers = ones if drivers is None else np.column_stack([ones, drivers])
    varying = replace(constant, drivers=drivers[rows], by_score=by_score)
    found = [_minimise(varying, theta) for theta in _starts(varying, plain.x)]
    best = min(found, key=lambda one: one.fun)

    extra = len(best.x) - len(plain.x)  # coefficients that the labelling has beyond its level
    if not extra or plain.fun - best.fun <= extra / 2 * np.log(len(rows)):
        return Split(design @ plain.x[:-1], np.full(len(s), expit(plain.x[-1])), varies=False)
    everyone = replace(varying, design=design, drivers=drivers, s=s)
    class_odds, label_odds = everyone.log_odds(best.x)
    return Split(class_odds, expit(label_odds), varies=True)


def _starts(varying: _Product, plain: Floats) -> list[Floats]:
    """Return where to start from: the likelihood of a chance that varies has several maxima.

    `plain` are the coefficients of the class and of one level for all.
    """
    if varying.by_score:
        return [np.append(plain, slope) for slope in (0.0, 1.0)]
    extra = varying.drivers.shape[1] - 1
    starts = [np.append(plain, np.zeros(extra))]
    if extra:
        highest, lowest = logit(max(varying.prior, _TOP)), logit(varying.prior)
        shares = expit(np.linspace(highest, lowest, _DESCENT))
        starts.append(_followed(varying.design, varying.drivers, varying.s, shares)[-1].x)
    return starts


def losses(
    features: Floats, drivers: Floats, s: NDArray[np.bool_], shares: Iterable[float]
) -> Floats:
    """Return how badly f and e explain the labels at each share of positives.

    Parameters
    ----------
    features, drivers, s
        As in `split`.
    shares : iterable of float
        From the largest to the smallest.

    Returns
    -------
    ndarray of float
        The penalised negative log-likelihood at its minimum, brought to the number of all rows if
        some of them were used.
    """
    rows = _rows_to_fit(s)
    ones = np.ones((len(rows), 1))
    design, drivers = (np.column_stack([ones, part[rows]]) for part in (features, drivers))
    found = [one.fun for one in _followed(design, drivers, s[rows], shares)]
    return np.array(found) * len(s) / len(rows)


def _rows_to_fit(s: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows that are used: all, or `MOST_ROWS` of them if enough are labelled."""
    if len(s) <= MOST_ROWS or s.mean() * MOST_ROWS < _FEW:
        return np.arange(len(s))
    return np.random.default_rng(0).permutation(len(s))[:MOST_ROWS]


def _followed(
    design: Floats, drivers: Floats, s: NDArray[np.bool_], shares: Iterable[float]
) -> list[Any]:
    """Minimise at each share, from where the one before ended and from labels that explain all."""
    found: list[Any] = []
    for share in shares:
        start = np.zeros(design.shape[1] + drivers.shape[1])
        start[0] = logit(share)
        start[design.shape[1]] = logit(np.clip(s.mean() / share, 1e-6, 1 - 1e-6))
        starts = [start, *(before.x for before in found[-1:])]
        product = _Product(design, drivers, s, share)
        found.append(min((_minimise(product, x) for x in starts), key=lambda one: one.fun))
    return found


@dataclass(frozen=True)
class _Product:
    """The penalised likelihood of f · e, and its gradient.

    The log-odds of e are ``offset + drivers @ v``, plus b times those of f if `by_score`.
    """

    design: Floats
    drivers: Floats
    s: NDArray[np.bool_]
    prior: float
    offset: Any = 0.0
    by_score: bool = False

    def log_odds(self, theta: Floats) -> tuple[Floats, Floats]:
        d = self.design.shape[1]
        z_f = self.design @ theta[:d]
        slope = theta[-1] if self.by_score else 0.0
        z_e = self.offset + self.drivers @ theta[d : d + self.drivers.shape[1]] + slope * z_f
        return z_f, z_e

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        n, d = self.design.shape
        z_f, z_e = self.log_odds(theta)
        log_p = -np.logaddexp(0, -z_f) - np.logaddexp(0, -z_e)
        not_p = np.maximum(-np.expm1(log_p), 1e-12)
        f, e = expit(z_f), expit(z_e)
        value = -np.where(self.s, log_p, np.log(not_p)).sum()
        push = np.where(self.s, -1.0, np.exp(log_p) / not_p)  # by log p
        on_e = push * (1 - e)
        slope = theta[-1] if self.by_score else 0.0
        gradient = np.concatenate(
            [
                self.design.T @ (push * (1 - f) + slope * on_e),
                self.drivers.T @ on_e,
                [on_e @ z_f] if self.by_score else [],
            ]
        )
        free = np.ones(len(theta))
        free[[0, d] if self.drivers.shape[1] else [0]] = 0.0  # levels are not held back
        gap = f.mean() - self.prior
        gradient[:d] += 2 * _PIN * gap * (self.design.T @ (f * (1 - f)))
        gradient += _RIDGE * free * theta
        value += _PIN * n * gap**2 + _RIDGE / 2 * float(free @ theta**2)
        return float(value), gradient


def _minimise(loss: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Any:
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})


@dataclass(frozen=True)
class Labelling:
    """e(x): logistic in some columns, or in the log-odds of the class if `columns` is None."""

    columns: tuple[int, ...] | None
    mean: Floats
    scale: Floats
    coef: Floats
    intercept: float

    def chance(self, X: Any, log_odds: Floats) -> Floats:
        """Return e of each row."""
        raw = log_odds[:, None] if self.columns is None else X[:, list(self.columns)]
        drivers = _standardised(raw, self.mean, self.scale)
        return np.asarray(expit(drivers @ self.coef + self.intercept), dtype=np.float64)


def standard(x: Any) -> tuple[Floats, Floats, Floats]:
    """Return columns with mean 0 and deviation 1, without gaps and far values; mean; deviation.

    Examples
    --------
    >>> standard(np.array([[1.0], [3.0], [np.nan]]))[0].ravel().tolist()
    [-1.0, 1.0, 0.0]
    """
    mean, scale = mean_and_scale(np.asarray(x, dtype=np.float64))
    return _standardised(x, mean, scale), mean, scale


def _standardised(x: Any, mean: Floats, scale: Floats) -> Floats:
    return np.nan_to_num(np.clip((np.asarray(x, dtype=np.float64) - mean) / scale, -_FAR, _FAR))


def shift_to(prior: float, log_odds: Floats) -> float:
    """Return what makes the mean probability the prior when it is added to the log-odds.

    Examples
    --------
    >>> round(shift_to(0.5, np.array([3.0, 3.0])), 6)
    -3.0
    """
    far = float(np.abs(log_odds).max()) + abs(float(logit(prior))) + 1
    return float(brentq(lambda shift: expit(log_odds + shift).mean() - prior, -far, far))


def expected_class(log_odds: Floats, chance: Floats, s: NDArray[np.bool_]) -> Floats:
    """Return P(y = +1 | x, s): 1 if labelled, else f (1 − e) / (1 − f e), the E-step.

    Examples
    --------
    >>> expected_class(np.zeros(2), np.array([0.5, 0.5]), np.array([True, False])).round(3).tolist()
    [1.0, 0.333]
    """
    f = expit(log_odds)
    return np.where(s, 1.0, f * (1 - chance) / (1 - f * chance))


def over_level(log_odds: Floats, level: float) -> Floats:
    """Return the log-odds of f = P(labelled | x) / level from those of P(labelled | x).

    Where f would be 1 or more, the order of the rows is kept.

    Examples
    --------
    >>> over_level(np.log([0.25, 3.0]), 0.5).round(3).tolist()    # f = 0.2 / 0.5, and 0.75 / 0.5
    [-0.405, 14.221]
    """
    log_f = -np.logaddexp(0, -log_odds) - np.log(level)
    below = np.minimum(log_f, np.log1p(-1e-6))
    return np.asarray(below - np.log(-np.expm1(below)) + np.maximum(log_f - below, 0))


def needs_random(name: str, owner: str) -> InputError:
    """Return the error of a method that assumes random labels."""
    return InputError(
        f"{name} assumes that labels were given at random among the positives, which {owner} does "
        "not. Its probabilities are those of EM; set threshold_ to cut elsewhere."
    )


def default_trees(seed: int) -> Any:
    """Return the trees that f is by default, not fitted yet."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=60,
        num_leaves=8,
        reg_lambda=10,
        subsample=0.8,
        subsample_freq=1,
        colsample_bytree=0.5,
        max_bin=63,
        random_state=seed % 2**31,
        n_jobs=1,  # many small fits: more threads would wait for each other
        deterministic=True,
        force_row_wise=True,
        verbose=-1,
    )


def check_chance(chance: Any, s: NDArray[np.bool_], owner: str) -> Floats:
    """Return known propensities, one per row in (0, 1], or say what is wrong with them."""
    try:
        values = np.asarray(chance, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The 'chance' parameter of {owner} must be numbers in the range (0, 1], one per row. "
            f"Got {shown(chance)} instead."
        ) from error
    if values.shape != s.shape:
        raise InputError(
            f"The 'chance' parameter of {owner} must have one value per row, {s.size} in all. "
            f"Got an array of shape {values.shape} instead."
        )
    if not np.all((values > 0) & (values <= 1)):
        raise InputError(
            f"The 'chance' parameter of {owner} must be in the range (0, 1] for every row: no "
            "labelled row stands for a positive that can never be labelled. Got "
            f"{shown(float(values[~((values > 0) & (values <= 1))][0]))} instead."
        )
    return values


def chosen_columns(given: Any, names: list[str], n: int, owner: str) -> tuple[int, ...] | None:
    """Return the numbers of the columns that drive the labelling; None for "all".

    Examples
    --------
    >>> chosen_columns(["age"], ["sex", "age"], 2, "BiasedLabelPU")
    (1,)
    """
    if isinstance(given, str) and given == "all":
        return None
    wanted = [given] if isinstance(given, str | int | np.integer) else given
    try:
        chosen = [names.index(one) if isinstance(one, str) else range(n)[one] for one in wanted]
        if chosen and not any(isinstance(one, bool) for one in wanted):
            return tuple(dict.fromkeys(chosen))
    except (IndexError, TypeError, ValueError):
        pass
    known = f"numbers from 0 to {n - 1}" + (" or names" if names else "")
    raise ParameterError(
        f"The 'propensity' parameter of {owner} must be 'all' or a list of columns of X, by "
        f"{known}. Got {shown(given)} instead."
    )
