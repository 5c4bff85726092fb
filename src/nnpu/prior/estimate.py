"""`estimate_prior`: one interface to every method, and how far to trust the answer.

`PriorEstimate` holds the share, its range, what was assumed, and how it is stored.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import mannwhitneyu

from nnpu.data.vectors import as_array, as_vector
from nnpu.parameters import (
    InputError,
    ParameterError,
    Sampling,
    check_choice,
    check_number,
    check_sampling,
    shown,
)
from nnpu.prior.curve import (
    FloatArray,
    auc,
    check_random_state,
    find_plateau,
    ratio_at,
    ratio_curve,
    some_rows,
)
from nnpu.prior.methods import METHODS, Limits, best_bin, best_bin_interval
from nnpu.prior.mixture import CLOSE, FAR, Separation
from nnpu.prior.scores import scores_and_separation
from nnpu.ranges import Z90
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nnpu.prior.curve import RatioCurve

__all__ = [
    "METHOD_NAMES",
    "MOST",
    "WIDEST",
    "Evidence",
    "PriorEstimate",
    "doubt",
    "estimate_prior",
    "message",
]

#: The names of the methods.
METHOD_NAMES = ("auto", "bbe", "dedpul", "elkan_noto", "km", "pen_l1")

_STORED = ("value", "low", "high", "method", "identified", "message", "sampling", "upper_bound")


@dataclass(frozen=True)
class PriorEstimate:
    """An estimate of the class prior.

    Attributes
    ----------
    value : float
        The best estimate of π_p, ready for `prior=`: the share of positives in U (two-sample) or
        in P ∪ U (one-sample).
    low, high : float
        A 90 % range. That of the method "auto" was made to hold on real tables whose classes
        overlap.
    method : str
        The method that made it.
    identified : bool
        Whether the range can be trusted and says something. If not, the message says why.
    message : str
        In plain words: the estimate, what was assumed, and what would change the answer.
    sampling : str
        The sampling under which `value` is the prior.
    upper_bound : float
        The largest mixture proportion: the share if no negative looked like a positive. Whatever
        the negatives look like, the prior is not larger, up to chance.
    curve : RatioCurve
        q_p and q_u at every threshold, for a picture.
    """

    value: float
    low: float
    high: float
    method: str
    identified: bool
    message: str
    sampling: Sampling = "two-sample"
    upper_bound: float = 1.0
    curve: RatioCurve | None = field(default=None, repr=False, compare=False)

    def stored(self) -> dict[str, Any]:
        """Return what a model folder keeps of it: everything but the curve."""
        return {name: getattr(self, name) for name in _STORED}

    def within(self, low: float, high: float) -> PriorEstimate:
        """Return the estimate, kept within hard limits that are known.

        Examples
        --------
        >>> estimate = PriorEstimate(0.3, 0.1, 0.5, "auto", False, "About 30 %.")
        >>> found = estimate.within(0.32, 0.4)
        >>> found.value, found.low, found.high
        (0.32, 0.32, 0.4)
        """
        value, least, most = (
            min(max(each, low), high) for each in (self.value, self.low, self.high)
        )
        said = f"{self.message} Kept within {low:.3g} and {high:.3g}, as given."
        return replace(self, value=value, low=least, high=most, message=said)

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> PriorEstimate:
        """Return the estimate that was stored, or raise an error if it is not a valid one.

        Folders of version 0.1.0 have no `upper_bound`: its only default method estimated that
        bound.

        Examples
        --------
        >>> estimate = PriorEstimate(0.3, 0.25, 0.35, "bbe", True, "About 30 %.", upper_bound=0.3)
        >>> PriorEstimate.from_stored(estimate.stored()) == estimate
        True
        """
        bound = stored["value"] if stored["method"] == "bbe" else 1.0
        estimate = cls(**{name: stored[name] for name in _STORED[:-1]})
        owner = cls.__name__
        low, value, high, bound = (
            check_number(name, number, owner, low=0, high=1)
            for name, number in (
                ("low", estimate.low),
                ("value", estimate.value),
                ("high", estimate.high),
                ("upper_bound", stored.get("upper_bound", bound)),
            )
        )
        check_choice("method", estimate.method, owner, (*METHOD_NAMES, "review"))
        check_sampling(estimate.sampling, owner)
        words = isinstance(estimate.message, str) and isinstance(estimate.identified, bool)
        if not words or not low <= value <= high or value == 0:
            raise ValueError("the stored estimate of the prior is not valid")
        return cls(**{**estimate.stored(), "upper_bound": bound})


#: A range wider than this says too little to call the prior identified.
WIDEST = 0.25

#: So does one whose ends, as shares of the unlabelled rows, differ by more than this factor.
MOST = 3.0

#: A greater AUC of P against U, or fewer positives in U, is a leak or no answer.
APART, FEWEST = 0.99, 10

_KNOW = (
    "A share that you know, or a review of some unlabelled rows, is worth more than this estimate."
)


@dataclass(frozen=True)
class Evidence:
    """Scores and an estimate made from them, as shares of positives in U."""

    scores_p: FloatArray
    scores_u: FloatArray
    method: str
    share: float
    low: float
    high: float
    bound: tuple[float, float]  # the range of the upper bound


def doubt(found: Evidence) -> str:
    """Return why the estimate may be wrong by more than its range says, or nothing."""
    p_value = mannwhitneyu(found.scores_p, found.scores_u, alternative="greater").pvalue
    if not p_value < 0.001:  # NaN if all scores are equal
        return (
            "The scores do not separate labelled from unlabelled rows: the share may be anything "
            "up to 1."
        )
    if auc(found.scores_p, found.scores_u) > APART or found.share * found.scores_u.size < FEWEST:
        return (
            "Hardly any unlabelled row looks like a labelled one: almost none of them is "
            "positive, or a column gives the label away (an id, a date, a note written when the "
            "label was given). Remove such a column and estimate again."
        )
    contradicted = found.method == "auto" and not found.low <= found.share <= found.high
    if contradicted or _thins_out(found.scores_p, found.scores_u, found.low):
        return (
            "Among the rows that look most like labelled ones, fewer are unlabelled than this "
            "share allows: a column may give the label away, or labels were not given at random "
            "among the positives."
        )
    if found.method == "auto":
        return ""
    if not find_plateau(found.scores_p, found.scores_u).flat:
        return "Even among the highest scores some rows look negative: the share may be much lower."
    if not found.bound[0] <= found.share <= found.bound[1]:
        return "It contradicts the ratio q_u / q_p at the top scores: see method='bbe'."
    return ""


def _thins_out(scores_p: FloatArray, scores_u: FloatArray, low: float) -> bool:
    """Whether the ratio q_u / q_p at the top of P is below the whole range beyond chance.

    It is at least π at any threshold if labels are given at random.
    """
    for top in (0.05, 0.1, 0.2, 0.4):
        ratio = ratio_at(float(np.quantile(scores_p, 1 - top)), scores_p, scores_u)
        if ratio.limits(2 * Z90)[1] < low:
            return True
    return False


def message(
    method: str,
    sampling: Sampling,
    *,
    value: float,
    low: float,
    high: float,
    upper_bound: float,
    apart: bool,
    doubts: str,
) -> str:
    """Return the estimate, what was assumed and what would change the answer."""
    where = "the unlabelled rows" if sampling == "two-sample" else "all rows"
    found = f"Share of positives among {where}: {value:.3f} (90 % range {low:.3f} to {high:.3f})."
    if doubts:
        found += f" Not identified. {doubts}"
    if method != "auto":
        return (
            f"{found} This is an upper bound: the share if no negative looked like a positive, "
            f"which these data cannot show. {_KNOW}"
        )
    few = "" if sampling == "two-sample" else ", that most positives are unlabelled"
    return (
        f"{found} This assumes that labels were given at random among the positives{few}, and that "
        "the scores of negatives are bell-shaped and "
        f"{'hardly overlap' if apart else 'may overlap'} those of "
        f"positives{', as in text and images' if apart else ''}. If no negative looked like a "
        f"positive, the share would be {upper_bound:.3f}, which is an upper bound. If clear cases "
        f"were labelled more often than others, the true share is larger than estimated. {_KNOW}"
    )


_LEAST = 1e-100  # the squares of smaller differences vanish


def estimate_prior(
    x_p: Any,
    x_u: Any,
    *,
    method: str = "auto",
    sampling: str = "two-sample",
    random_state: Any = None,
    model: Any = None,
    groups: Any = None,
    counts: tuple[int, int] | None = None,
) -> PriorEstimate:
    """Estimate the class prior π_p from positives and unlabelled data.

    Parameters
    ----------
    x_p, x_u : array-like, sparse matrix or tensor
        The positive and the unlabelled sample: features of shape (n_p, d) and (n_u, d), NaN for
        missing values, or ready scores of shape (n_p,) and (n_u,), made by a model that was not
        fitted to these rows. Of more than 20,000 rows in a sample, 20,000 drawn at random are
        used.
    method : str, default="auto"
        "auto" expects negatives that look like positives: U is P plus negatives whose scores
        are bell-shaped; in text and images fewer of them are expected to. The others estimate the
        largest mixture proportion, which is the share if no negative looks like a positive, and an
        upper bound if some do: "bbe" (best bin estimation, Garg et al., 2021), "dedpul" (Ivanov,
        2020), "elkan_noto" (2008), "km" (KM2, Ramaswamy et al., 2016) and "pen_l1" (du Plessis et
        al., 2017). The last two are given one feature, the rank of the score. Except for "auto"
        and "bbe" the range is a bootstrap, which does not see the method's bias.
    sampling : {"two-sample", "one-sample"}
        In the one-sample setting `value` is the share of positives in P ∪ U,
        b + (1 − b) π_U with b = n_p / (n_p + n_u) and π_U the share in U.
    random_state : int, RandomState, Generator or None
        Same seed, same result.
    model : classifier, optional
        The scikit-learn classifier that makes out-of-fold scores of labelled against unlabelled.
        A torch module comes in as ``PUClassifier(0.5, risk="pn", module=module)``, which tells the
        two apart as an ordinary classifier does.
    groups : pair of array-like of shape (n_p,) and (n_u,), optional
        A value per row of P and of U. Rows with equal values (the visits of one patient) are
        scored by a model that has seen none of them.
    counts : pair of int, optional
        How many rows P and U have, if `x_p` and `x_u` are only some of them. It matters in the
        one-sample setting, whose labelled share they give.

    Returns
    -------
    PriorEstimate

    Warns
    -----
    UserWarning
        If the estimate is 0, which no risk can use; it becomes 3 / n_u.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positives, negatives = rng.normal(2, 1, 1500), rng.normal(0, 1, 1400)
    >>> estimate = estimate_prior(
    ...     positives[:900], np.concatenate([positives[900:], negatives]), random_state=0)
    >>> bool(abs(estimate.value - 0.3) < 0.05), bool(estimate.low < 0.3 < estimate.high)
    (True, True)
    >>> estimate.identified, bool(estimate.value < estimate.upper_bound)
    (True, True)
    """
    check_choice("method", method, "estimate_prior", METHODS)
    sampling = check_sampling(sampling, "estimate_prior")
    x_p, x_u = as_array(x_p), as_array(x_u)
    scores_p, scores_u, separation = _scores_of(x_p, x_u, model, random_state, _pair(groups))
    rng = np.random.default_rng(_entropy(random_state))
    n_p, n_u = counts or (_n_rows(x_p), _n_rows(x_u))
    labelled = n_p / (n_p + n_u) if sampling == "one-sample" else None
    share, low, high = METHODS[method](scores_p, scores_u, rng, labelled, separation)
    bound = best_bin_interval(scores_p, scores_u, rng)
    doubts = doubt(Evidence(scores_p, scores_u, method, share, low, high, bound))
    share, low, high = _positive(share, low, high, scores_u.size)
    largest = max(best_bin(scores_p, scores_u), share)
    if sampling == "one-sample":
        share, low, high = _of_population(share, low, high, n_p, n_u)
        largest = (n_p + n_u * largest) / (n_p + n_u)
    low, high = min(low, share), max(high, share)
    hidden = [(end * (n_p + n_u) - n_p) / n_u if labelled else end for end in (low, high)]
    doubts = doubts or _doubt_of_range(high - low, *hidden)
    said = message(
        method,
        sampling,
        value=share,
        low=low,
        high=high,
        upper_bound=largest,
        apart=separation is FAR,
        doubts=doubts,
    )
    return PriorEstimate(
        value=share,
        low=low,
        high=high,
        method=method,
        identified=not doubts,
        message=said,
        sampling=sampling,
        upper_bound=largest,
        curve=ratio_curve(scores_p, scores_u),
    )


def _doubt_of_range(width: float, low: float, high: float) -> str:
    """Return why a range says too little; `low` and `high` are its ends as shares of U."""
    if width > WIDEST:
        return (
            f"The range is wider than {WIDEST}: more labelled rows, or columns that tell positives "
            "from negatives better, are needed."
        )
    if high > MOST * max(low, 0.0):
        return (
            f"The ends of the range differ by more than a factor of {MOST:.0f} among the "
            "unlabelled rows: there are too few labelled rows, or positives are too rare."
        )
    return ""


def _pair(groups: Any) -> tuple[Any, Any] | None:
    if groups is None:
        return None
    if not isinstance(groups, tuple | list) or len(groups) != 2:
        raise ParameterError(
            "The 'groups' parameter of estimate_prior must be a pair of arrays, one value per row "
            f"of x_p and of x_u. Got {shown(groups)} instead."
        )
    return np.asarray(groups[0]), np.asarray(groups[1])


def _scores_of(
    x_p: Any, x_u: Any, model: Any, random_state: Any, groups: tuple[Any, Any] | None
) -> tuple[FloatArray, FloatArray, Separation]:
    check_random_state(random_state)
    separation = CLOSE
    if np.ndim(x_p) == 1 and np.ndim(x_u) == 1:
        scores_p, scores_u = _as_scores(x_p, "x_p"), _as_scores(x_u, "x_u")
        scores_p, scores_u = (some_rows(x, random_state)[0] for x in (scores_p, scores_u))
    else:
        scores_p, scores_u, separation = scores_and_separation(
            x_p, x_u, model, random_state, groups
        )
    if np.ptp(np.concatenate([scores_p, scores_u])) < _LEAST:
        raise InputError(
            "All scores are equal, or nearly: they tell nothing about the prior. Give other "
            "features or another model."
        )
    return scores_p, scores_u, separation


def _as_scores(x: Any, name: str) -> FloatArray:
    scores = as_vector(x, name, "estimate_prior")
    if scores.size < 2:
        raise InputError(
            f"{name} has {how_many(scores.size, 'row')}; an estimate needs at least two."
        )
    return scores


def _n_rows(x: Any) -> int:
    return int(np.shape(x)[0])


def _positive(share: float, low: float, high: float, n_u: int) -> Limits:
    """Keep the estimate inside (0, 1): no risk can use 0 or 1."""
    least = min(3 / n_u, 0.5)  # 95 % of samples of this size would show a share as large as that
    if share <= 0:
        warnings.warn(
            f"No unlabelled row looks like a positive: the estimate 0 becomes 3/n_u = {least:.2g}.",
            UserWarning,
            stacklevel=3,
        )
        return least, 0.0, max(high, least)
    return min(share, 1 - least), low, high


def _of_population(share: float, low: float, high: float, n_p: int, n_u: int) -> Limits:
    """Turn the share of positives in U into that in P ∪ U, whose labelled share b is random."""
    n = n_p + n_u
    b = n_p / n
    value, margin_b = b + (1 - b) * share, Z90 * (1 - share) * np.sqrt(b * (1 - b) / n)
    down, up = (1 - b) * max(share - low, 0), (1 - b) * max(high - share, 0)
    return (
        value,
        max(value - float(np.hypot(down, margin_b)), b),
        min(value + float(np.hypot(up, margin_b)), 1.0),
    )


def _entropy(random_state: Any) -> int | None:
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state.randint(2**31))
