"""How large a share of U, relative to P, lies above each score: what every estimate rests on.

If U is a mixture of positives (share π) and negatives, then for every threshold c

    q_u(c) = π q_p(c) + (1 − π) q_n(c),    so    q_u(c) / q_p(c) ≥ π,

with equality where no negative scores c or more. The ratio is an upper bound on π everywhere, and
π itself on a plateau of pure positives at the top scores, if there is one. At most 20,000 rows of
P and of U are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, rankdata

from nnpu.parameters import ParameterError, shown
from nnpu.ranges import Z90

__all__ = [
    "MOST_ROWS",
    "Plateau",
    "Ratio",
    "RatioCurve",
    "auc",
    "check_random_state",
    "find_plateau",
    "ratio_at",
    "ratio_curve",
    "seed_of",
    "some_rows",
]

#: At most so many rows of P, and of U, make an estimate; more would say hardly anything new.
MOST_ROWS = 20_000


def some_rows(
    x: Any, random_state: Any, groups: Any = None, name: str = "x"
) -> tuple[Any, NDArray[Any] | None]:
    """Return at most `MOST_ROWS` rows, drawn at random, and their groups."""
    from sklearn.utils import resample

    n = np.shape(x)[0] if np.ndim(x) else 0
    if groups is not None and np.shape(groups) != (n,):
        raise ParameterError(
            f"The 'groups' parameter of estimate_prior must have one value per row of {name}, "
            f"{n} in all. Got an array of shape {np.shape(groups)} instead."
        )
    if n <= MOST_ROWS:
        return x, groups
    kind = {"replace": False, "n_samples": MOST_ROWS, "random_state": seed_of(random_state)}
    return tuple(resample(x, groups, **kind)) if groups is not None else (resample(x, **kind), None)


def check_random_state(random_state: Any) -> Any:
    """Return the generator that a seed stands for, or raise `ParameterError`."""
    from sklearn.utils import check_random_state as as_random_state

    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return as_random_state(random_state)
    except ValueError as error:
        raise ParameterError(
            "The 'random_state' parameter of estimate_prior must be an int in the range "
            f"[0, 2**32), a RandomState, a Generator or None. Got {shown(random_state)} instead."
        ) from error


def seed_of(random_state: Any) -> int:
    """Return a number that the seed stands for; a generator draws the next."""
    generator = check_random_state(random_state)
    if isinstance(generator, np.random.Generator):
        return int(generator.integers(2**31))
    return int(generator.randint(2**31))


FloatArray = NDArray[np.float64]

#: The share of P, from the top, in which pure positives are looked for.
TOP = 0.15


def auc(scores_p: FloatArray, scores_u: FloatArray) -> float:
    """Return the chance that a row of P scores more than one of U, ties counting one half.

    >>> auc(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    0.625
    """
    n_p, n_u = scores_p.size, scores_u.size
    ranks = rankdata(np.concatenate([scores_p, scores_u]))[:n_p]
    return float(ranks.sum() - n_p * (n_p + 1) / 2) / (n_p * n_u)


@dataclass(frozen=True)
class RatioCurve:
    """q_p, q_u and their ratio at every score that occurs in P or U.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        The distinct scores up to the highest of P, in increasing order.
    q_p, q_u : ndarray of shape (m,)
        The shares of P and U whose score is at least the threshold.
    """

    thresholds: FloatArray
    q_p: FloatArray
    q_u: FloatArray

    @property
    def ratio(self) -> FloatArray:
        """q_u / q_p, an upper bound on the share of positives in U, up to chance."""
        return self.q_u / self.q_p


def ratio_curve(scores_p: FloatArray, scores_u: FloatArray) -> RatioCurve:
    """Compute the shares of P and U above every distinct score; tied rows enter together.

    Examples
    --------
    >>> import numpy as np
    >>> curve = ratio_curve(np.array([1.0, 2.0]), np.array([0.0, 0.0, 1.0, 2.0]))
    >>> curve.thresholds.tolist(), curve.ratio.tolist()
    ([0.0, 1.0, 2.0], [1.0, 0.5, 0.5])
    """
    thresholds = np.unique(np.concatenate([scores_p, scores_u]))
    thresholds = thresholds[thresholds <= scores_p.max()]  # above it q_p = 0
    return RatioCurve(
        thresholds, share_above(scores_p, thresholds), share_above(scores_u, thresholds)
    )


def share_above(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the share of the scores that are at least each threshold."""
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    shares: FloatArray = 1 - below / scores.size
    return shares


class Ratio(NamedTuple):
    """An estimate of q_u / q_p at one threshold and the standard error of its logarithm."""

    value: float
    log_error: float

    def limits(self, z: float = Z90) -> tuple[float, float]:
        """Return the limits of a range that is symmetric on the logarithmic scale."""
        margin = float(np.exp(z * self.log_error))
        return self.value / margin, self.value * margin


def ratio_at(threshold: float, scores_p: FloatArray, scores_u: FloatArray) -> Ratio:
    """Return q_u / q_p at a threshold that was chosen without looking at these scores.

    The delta method for the logarithm of a ratio of two independent binomial shares, with half a
    row added to each count so that an empty one has a finite error (Walter, 1975).
    """
    (k_p, n_p), (k_u, n_u) = (
        (float(np.sum(scores >= threshold)) + 0.5, scores.size + 0.5)
        for scores in (scores_p, scores_u)
    )
    variance = (1 / k_p - 1 / n_p) + (1 / k_u - 1 / n_u)
    return Ratio((k_u / n_u) / (k_p / n_p), float(np.sqrt(variance)))


class Plateau(NamedTuple):
    """What the curve says about pure positives at the top scores."""

    separable: bool
    flat: bool


def find_plateau(scores_p: FloatArray, scores_u: FloatArray) -> Plateau:
    """Test whether P and U differ at all, and whether q_u / q_p has stopped falling at the top.

    `separable`: P scores higher than U by the rank-sum test at the 0.1 % level.
    `flat`: within the top 15 % of P, the ratio in the better half is not significantly below that
    in the other half. The halves hold different rows, so the ratios are independent.
    """
    separable = mannwhitneyu(scores_p, scores_u, alternative="greater").pvalue < 0.001
    upper, lower = np.quantile(scores_p, [1 - TOP / 2, 1 - TOP])
    best = ratio_at(float(upper), scores_p, scores_u)
    rest_p, rest_u = scores_p[scores_p < upper], scores_u[scores_u < upper]
    shares = rest_u.size / scores_u.size, rest_p.size / scores_p.size
    if rest_p.size == 0 or rest_u.size == 0 or shares[1] == 0:
        return Plateau(bool(separable), flat=False)
    following = ratio_at(float(lower), rest_p, rest_u)
    difference = np.log(following.value * shares[0] / shares[1]) - np.log(best.value)
    error = np.hypot(best.log_error, following.log_error)
    return Plateau(
        separable=bool(separable),
        flat=bool(difference < 2 * error),
    )
