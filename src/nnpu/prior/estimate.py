"""`estimate_prior`: one interface to every method, and what may be believed of the answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import rankdata

from nnpu.data.vectors import as_array, as_vector
from nnpu.parameters import InputError, Sampling, check_choice, check_number, check_sampling
from nnpu.prior.bbe import best_bin, best_bin_interval
from nnpu.prior.curve import Z90, FloatArray, Plateau, RatioCurve, find_plateau, ratio_curve
from nnpu.prior.dedpul import dedpul
from nnpu.prior.elkan_noto import elkan_noto
from nnpu.prior.kernel_mean import kernel_mean
from nnpu.prior.penalised import penalised_l1
from nnpu.prior.scores import check_random_state, out_of_fold_scores

__all__ = ["METHODS", "PriorEstimate", "estimate_prior"]

#: An interval wider than this says too little to call the prior identified.
WIDEST = 0.2

_LEAST = 1e-100  # the squares of smaller differences vanish


@dataclass(frozen=True)
class PriorEstimate:
    """An estimate of the class prior.

    Attributes
    ----------
    value : float
        The estimate of π_p, ready for `prior=`: the share of positives in U (two-sample) or in
        P ∪ U (one-sample).
    low, high : float
        A 90 % interval.
    method : str
        The method that made it.
    identified : bool
        Whether the data show a plateau of pure positives and the interval is at most 0.2 wide.
        True means that `value` estimates the largest mixture proportion, an upper bound on the
        prior that equals it only if no part of the negatives looks like positives.
    message : str
        The same in plain words.
    sampling : str
        The sampling under which `value` is the prior.
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
    curve: RatioCurve | None = field(default=None, repr=False, compare=False)

    def stored(self) -> dict[str, Any]:
        """Return what a model folder keeps of it: everything but the curve."""
        return {name: getattr(self, name) for name in _STORED}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> PriorEstimate:
        """Return the estimate of which `stored` is kept, or raise `ValueError` if it is none.

        Examples
        --------
        >>> estimate = PriorEstimate(0.3, 0.25, 0.35, "bbe", True, "About 30 %.")
        >>> PriorEstimate.from_stored(estimate.stored()) == estimate
        True
        """
        estimate = cls(**{name: stored[name] for name in _STORED})
        owner = cls.__name__
        low, value, high = (
            check_number(name, stored[name], owner, low=0, high=1)
            for name in ("low", "value", "high")
        )
        check_choice("method", estimate.method, owner, METHODS)
        check_sampling(estimate.sampling, owner)
        words = isinstance(estimate.message, str) and isinstance(estimate.identified, bool)
        if not words or not low <= value <= high or value == 0:
            raise ValueError("the estimate of the prior is none")
        return estimate


_STORED = ("value", "low", "high", "method", "identified", "message", "sampling")

#: The share of positives in U and the limits of a 90 % interval.
Limits = tuple[float, float, float]


Method = Callable[[FloatArray, FloatArray, np.random.Generator], Limits]
Estimator = Callable[[FloatArray, FloatArray, np.random.Generator], float]


def _bbe(scores_p: FloatArray, scores_u: FloatArray, rng: np.random.Generator) -> Limits:
    return best_bin(scores_p, scores_u), *best_bin_interval(scores_p, scores_u, rng)


def _resampled(function: Estimator, repeats: int) -> Method:
    return lambda scores_p, scores_u, rng: _bootstrap(function, scores_p, scores_u, rng, repeats)


def _on_ranks(function: Estimator) -> Estimator:
    """Give a method for features one: the rank of the score, whatever the model's scale."""

    def estimate(p: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
        ranks = rankdata(np.concatenate([p, u]))[:, None]
        return function(ranks[: p.size], ranks[p.size :], rng)

    return estimate


def _bootstrap(
    function: Estimator, p: FloatArray, u: FloatArray, rng: np.random.Generator, repeats: int
) -> Limits:
    """Estimate on the rows and on resampled ones, P and U separately; percentiles as limits.

    They show how much the method varies, not how far it is off: only the interval of best bin
    estimation was checked for coverage.
    """
    value = function(p, u, rng)
    repeated = [
        function(p[rng.integers(len(p), size=len(p))], u[rng.integers(len(u), size=len(u))], rng)
        for _ in range(repeats)
    ]
    low, high = np.quantile(repeated, [0.05, 0.95])
    return value, float(low), float(high)


#: The methods by name.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "bbe": _bbe,
        "dedpul": _resampled(lambda p, u, _: dedpul(p, u), repeats=100),
        "elkan_noto": _resampled(lambda p, u, _: elkan_noto(p, u), repeats=100),
        "km": _resampled(_on_ranks(kernel_mean), repeats=10),
        "pen_l1": _resampled(_on_ranks(penalised_l1), repeats=20),
    }
)


def estimate_prior(
    x_p: Any,
    x_u: Any,
    *,
    method: str = "bbe",
    sampling: str = "two-sample",
    random_state: Any = None,
    model: Any = None,
) -> PriorEstimate:
    """Estimate the class prior π_p from positives and unlabelled data.

    Parameters
    ----------
    x_p, x_u : array-like, sparse matrix or tensor
        The positive and the unlabelled sample: features of shape (n_p, d) and (n_u, d), or ready
        scores of shape (n_p,) and (n_u,), made by a model that was not fitted to these rows.
    method : str, default="bbe"
        "bbe": best bin estimation (Garg et al., 2021), the only one whose interval was checked
        for coverage. "dedpul" (Ivanov, 2020). "elkan_noto" (2008), right only for classes that do
        not overlap. "km": KM2 (Ramaswamy et al., 2016) on at most 300 rows of each sample.
        "pen_l1": penalised L1 distance (du Plessis et al., 2017). The last two are for features
        of few dimensions and are given one, the rank of the out-of-fold score. Except for "bbe"
        the interval is a bootstrap, which does not see the method's bias.
    sampling : {"two-sample", "one-sample"}
        In the one-sample setting `value` is the share of positives in P ∪ U,
        b + (1 − b) π_U with b = n_p / (n_p + n_u) and π_U the share in U.
    random_state : int, RandomState, Generator or None
        Same seed, same result.
    model : classifier, optional
        The scikit-learn classifier that makes out-of-fold scores of labelled against unlabelled.
        A torch module comes in as ``PUClassifier(0.5, risk="pn", module=module)``, which tells the
        two apart as an ordinary classifier does.

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
    >>> positives, negatives = rng.normal(4, 1, 1500), rng.normal(0, 1, 1400)
    >>> estimate = estimate_prior(
    ...     positives[:900], np.concatenate([positives[900:], negatives]), random_state=0)
    >>> bool(abs(estimate.value - 0.3) < 0.03), bool(estimate.low < 0.3 < estimate.high)
    (True, True)
    >>> estimate.identified
    True
    """
    check_choice("method", method, "estimate_prior", METHODS)
    sampling = check_sampling(sampling, "estimate_prior")
    scores_p, scores_u = _scores_of(x_p, x_u, model, random_state)
    rng = np.random.default_rng(_entropy(random_state))
    share, low, high = METHODS[method](scores_p, scores_u, rng)
    agrees = method == "bbe" or _agrees(share, best_bin_interval(scores_p, scores_u, rng))
    share, low, high = _positive(share, low, high, scores_u.size)
    doubts = _doubts(find_plateau(scores_p, scores_u), agrees)
    if sampling == "one-sample":
        share, low, high = _of_population(share, low, high, scores_p.size, scores_u.size)
    low, high = min(low, share), max(high, share)
    identified, message = _judge(share, low, high, doubts, sampling)
    return PriorEstimate(
        value=share,
        low=low,
        high=high,
        method=method,
        identified=identified,
        message=message,
        sampling=sampling,
        curve=ratio_curve(scores_p, scores_u),
    )


def _scores_of(x_p: Any, x_u: Any, model: Any, random_state: Any) -> tuple[FloatArray, FloatArray]:
    x_p, x_u = as_array(x_p), as_array(x_u)
    if np.ndim(x_p) == 1 and np.ndim(x_u) == 1:
        scores_p, scores_u = _as_scores(x_p, "x_p"), _as_scores(x_u, "x_u")
        check_random_state(random_state)
    else:
        scores_p, scores_u = out_of_fold_scores(x_p, x_u, model=model, random_state=random_state)
    if np.ptp(np.concatenate([scores_p, scores_u])) < _LEAST:
        raise InputError(
            "All scores are equal, or nearly: they tell nothing about the prior. Give other "
            "features or another model."
        )
    return scores_p, scores_u


def _as_scores(x: Any, name: str) -> FloatArray:
    scores = as_vector(x, name, "estimate_prior")
    if scores.size < 2:
        raise InputError(f"{name} has {scores.size} rows; an estimate needs at least two.")
    return scores


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


def _agrees(share: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= share <= limits[1]


def _doubts(plateau: Plateau, agrees: bool) -> str:
    """Return why the share may be wrong by more than chance, or nothing."""
    if not plateau.separable:
        return "The scores do not tell P from U: the prior may be anything up to 1."
    if not plateau.flat:
        return (
            "The share of U relative to P still falls at the top scores: there is no plateau of "
            "pure positives, and the prior may be much lower."
        )
    if not agrees:
        return "It contradicts the ratio q_u / q_p at the top scores: see method='bbe'."
    return ""


def _judge(
    value: float, low: float, high: float, doubts: str, sampling: Sampling
) -> tuple[bool, str]:
    where = "U" if sampling == "two-sample" else "P and U together"
    found = f"Share of positives in {where}: {value:.3f} (90 % interval {low:.3f} to {high:.3f})."
    bound = (
        "It is the largest share that the data allow, an upper bound on the prior, equal to it "
        "only if no part of the negatives looks like positives, which such data cannot show."
    )
    if not doubts and high - low > WIDEST:
        doubts = f"The interval is wider than {WIDEST}: more rows or a better model are needed."
    if doubts:
        return False, f"{found} Not identified. {doubts} {bound}"
    return True, f"{found} {bound}"


def _entropy(random_state: Any) -> int | None:
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state.randint(2**31))
