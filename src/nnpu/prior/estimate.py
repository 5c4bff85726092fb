"""`estimate_prior`: one interface to every method, and what may be believed of the answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nnpu.data.vectors import as_array, as_vector
from nnpu.parameters import InputError, ParameterError, check_choice, check_sampling, shown
from nnpu.prior.bbe import best_bin, best_bin_interval
from nnpu.prior.curve import Z90, FloatArray, ratio_curve
from nnpu.prior.judgement import MOST, WIDEST, Evidence, doubt, message
from nnpu.prior.methods import METHODS, Limits
from nnpu.prior.mixture import CLOSE, FAR, Law
from nnpu.prior.result import PriorEstimate
from nnpu.prior.subsample import check_random_state, some_rows
from nnpu.terminal import how_many

__all__ = ["estimate_prior"]

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
        "auto" expects negatives that look like positives: U is P plus negatives whose scores are
        spread like a bell; fewer are expected to in text and images. The others estimate the
        largest mixture proportion, which is the share if no negative looks like a positive, and an
        upper bound if some do: "bbe" (best bin estimation, Garg et al., 2021), "dedpul" (Ivanov,
        2020), "elkan_noto" (2008), "km" (KM2, Ramaswamy et al., 2016) and "pen_l1" (du Plessis et
        al., 2017). The last two are given one feature, the rank of the score. Except for "auto"
        and "bbe" the interval is a bootstrap, which does not see the method's bias.
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
    scores_p, scores_u, law = _scores_of(x_p, x_u, model, random_state, _pair(groups))
    rng = np.random.default_rng(_entropy(random_state))
    n_p, n_u = counts or (_n_rows(x_p), _n_rows(x_u))
    labelled = n_p / (n_p + n_u) if sampling == "one-sample" else None
    share, low, high = METHODS[method](scores_p, scores_u, rng, labelled, law)
    bound = best_bin_interval(scores_p, scores_u, rng)
    doubts = doubt(Evidence(scores_p, scores_u, method, share, low, high, bound))
    share, low, high = _positive(share, low, high, scores_u.size)
    largest = max(best_bin(scores_p, scores_u), share)
    if sampling == "one-sample":
        share, low, high = _of_population(share, low, high, n_p, n_u)
        largest = (n_p + n_u * largest) / (n_p + n_u)
    low, high = min(low, share), max(high, share)
    if not doubts and high - low > WIDEST:
        doubts = (
            f"The interval is wider than {WIDEST}: more labelled rows, or columns that tell "
            "positives from negatives better, are needed."
        )
    hidden = [(end * (n_p + n_u) - n_p) / n_u if labelled else end for end in (low, high)]
    if not doubts and hidden[1] > MOST * max(hidden[0], 0.0):
        doubts = (
            f"The ends of the interval differ by more than a factor of {MOST:.0f} among the "
            "unlabelled rows: there are too few labelled rows, or positives are too rare."
        )
    said = message(
        method,
        sampling,
        value=share,
        low=low,
        high=high,
        upper_bound=largest,
        apart=law is FAR,
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
) -> tuple[FloatArray, FloatArray, Law]:
    check_random_state(random_state)
    law = CLOSE
    if np.ndim(x_p) == 1 and np.ndim(x_u) == 1:
        scores_p, scores_u = _as_scores(x_p, "x_p"), _as_scores(x_u, "x_u")
        scores_p, scores_u = (some_rows(x, random_state)[0] for x in (scores_p, scores_u))
    else:
        from nnpu.prior.scores import scores_and_law

        scores_p, scores_u, law = scores_and_law(x_p, x_u, model, random_state, groups)
    if np.ptp(np.concatenate([scores_p, scores_u])) < _LEAST:
        raise InputError(
            "All scores are equal, or nearly: they tell nothing about the prior. Give other "
            "features or another model."
        )
    return scores_p, scores_u, law


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
