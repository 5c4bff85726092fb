"""Which columns matter, and why a row has its score: without a single negative.

`importance` asks what the PU AUC loses when a column is shuffled. `contributions` divides the
score of each row among the columns, so they add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from nnpu.metrics.estimates import rank_curve
from nnpu.parameters import InputError, check_count
from nnpu.ranges import Z90

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.labels import Labels

__all__ = ["Contributions", "Importance", "contributions", "importance"]

_BULK = 20_000  # rows that are scored together


@dataclass(frozen=True)
class Importance:
    """What the PU AUC loses when a column is shuffled, with its 90 % range."""

    column: str
    value: float
    low: float
    high: float


def importance(
    classifier: BasePUClassifier,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 5,
    groups: Mapping[str, Sequence[int]] | None = None,
    random_state: int = 0,
) -> list[Importance]:
    """Return how much of the PU AUC is lost without each column, greatest first.

    A column is shuffled among the rows, and the AUC is estimated anew. The range is that of
    the difference: both estimates come from the same rows, whose errors cancel for the most part.
    Columns that say the same share what they say, and each may look unimportant.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    X, y
        Rows that it was not fitted to, and their PU labels, as in `fit`.
    n_repeats : int, default=5
        How often each column is shuffled; the losses are averaged.
    groups : mapping of str to sequence of int, optional
        Columns that are shuffled together, by a name. Default: each column by itself.
    random_state : int, default=0
        Decides the shuffles.

    Examples
    --------
    >>> from nnpu import LinearPU
    >>> rng = np.random.default_rng(0)
    >>> X, s = rng.normal(0, 1, (600, 2)), np.repeat([1, 0], [200, 400])
    >>> X[:300, 1] += 3                                  # the first column is noise
    >>> found = importance(LinearPU(0.25).fit(X[::2], s[::2]), X[1::2], s[1::2])
    >>> [row.column for row in found], bool(found[0].low > 0.2)
    (['1', '0'], True)
    """
    check_count("n_repeats", n_repeats, "importance")
    rows = _matrix(classifier, X, sparse_too=groups is not None)
    codes = classifier._encode(rows, y)
    if not (codes == 1).any() or not (codes == 0).any():
        raise InputError("importance needs labelled and unlabelled rows; one of them is missing.")
    whole = _auc_influence(classifier, classifier._scores(rows), codes)
    rng = np.random.default_rng(random_state)
    groups = groups if groups is not None else _each(classifier, rows.shape[1])

    def shuffled() -> Iterator[NDArray[Any]]:
        for columns in groups.values():
            for _ in range(n_repeats):
                yield _exchanged(rows, rows[rng.permutation(rows.shape[0])], columns)

    scored = _in_bulk(classifier._scores, shuffled())
    found = []
    for name in groups:
        lost = np.zeros(rows.shape[0])
        for _ in range(n_repeats):
            lost += whole - _auc_influence(classifier, next(scored), codes)
        value, error = _difference(lost / n_repeats, codes, classifier.sampling)
        found.append(Importance(name, value, value - Z90 * error, value + Z90 * error))
    return sorted(found, key=lambda row: -row.value)


def _in_bulk(score: Callable[[Any], NDArray[Any]], parts: Iterator[Any]) -> Iterator[NDArray[Any]]:
    """Yield the scores of each part; small parts are scored together, which is faster."""
    for first in parts:
        some = [first, *islice(parts, _BULK // max(first.shape[0], 1))]
        ends = np.cumsum([part.shape[0] for part in some[:-1]])
        yield from np.split(score(_stacked(some)), ends)


def _exchanged(rows: Any, others: Any, columns: Sequence[int]) -> Any:
    """Return the rows with some columns from others."""
    if not sparse.issparse(rows):
        mixed = rows.copy()
        mixed[:, columns] = others[:, columns]
        return mixed
    of_others = np.zeros(rows.shape[1], dtype=bool)
    of_others[columns] = True
    return _only(rows, ~of_others) + _only(others, of_others)


def _only(rows: Any, columns: NDArray[np.bool_]) -> Any:
    """Return sparse rows without the entries of other columns; no product, for 0 · NaN is NaN."""
    part = sparse.csr_array(rows, copy=True)
    kept = columns[part.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[part.indptr]
    return sparse.csr_array((part.data[kept], part.indices[kept], ends), part.shape)


def _stacked(parts: Sequence[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _auc_influence(
    classifier: BasePUClassifier, scores: NDArray[np.float32], codes: Labels
) -> NDArray[np.float64]:
    """Return numbers whose mean over P, plus whose mean over U, is the PU AUC but for a constant.

    Each row of P has the share of U that it beats, and each row of U the share of P that beats it;
    both means are A, the AUC of P against U, and A/2 is taken off each, so the means add up to
    A and vary as it does (DeLong et al., 1988). The PU AUC is (A − π/2)/(1 − π)
    for two samples, and ((1 − b) A + …)/(1 − π) for one, b being the labelled share.
    """
    of_p = codes == 1
    of_u = codes == 0 if classifier.sampling == "two-sample" else ~of_p
    factor = 1 / (1 - classifier.prior_)
    if classifier.sampling == "one-sample":
        factor *= float(np.mean(~of_p))
    p, u = scores[of_p], scores[of_u]
    out = np.zeros(len(scores))
    beaten = rank_curve(u, np.ones(len(u)), at=p)
    beating = 1 - rank_curve(p, np.ones(len(p)), at=u)
    out[of_p] = factor * (beaten - beaten.mean() / 2)
    out[of_u] = factor * (beating - beating.mean() / 2)
    return out


def _difference(lost: NDArray[np.float64], codes: Labels, sampling: str) -> tuple[float, float]:
    """Return the mean over P plus the mean over U, and its standard error."""
    of_p = codes == 1
    of_u = codes == 0 if sampling == "two-sample" else ~of_p
    parts = [lost[of_p], lost[of_u]]
    if not np.any(lost):
        return 0.0, 0.0
    error = sum(part.var(ddof=1) / len(part) if len(part) > 1 else 0.0 for part in parts)
    return float(sum(part.mean() for part in parts)), float(np.sqrt(error))


@dataclass(frozen=True, eq=False)
class Contributions:
    """The scores of rows, divided among the columns.

    Attributes
    ----------
    base : float
        The mean score of the background rows.
    values : ndarray of shape (n, n_features)
        What each column adds: ``base + values.sum(axis=1)`` are the scores.
    columns : list of str
        Their names.
    """

    base: float
    values: NDArray[np.float64]
    columns: list[str]


def contributions(
    classifier: BasePUClassifier,
    X: Any,
    *,
    background: Any = None,
    n_orders: int = 4,
    random_state: int = 0,
    groups: Mapping[str, Sequence[int]] | None = None,
) -> Contributions:
    """Divide the score of each row among the columns.

    `BoostedPU`: along the path of each tree. A comparison adds the difference that it makes to the
    mean of the background rows that get as far, so the sum is the score, exactly. All others:
    Shapley values by sampled orders. The columns of a background row are replaced by those of the
    row in a random order and in its reverse; what each step changes is its column's. They add up
    exactly too; how the sum is divided has the noise of `n_orders` orders.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    X : array-like of shape (n, n_features)
        Rows to explain.
    background : array-like, optional
        Rows that a score is compared with. Default: X itself.
    n_orders : int, default=4
        Orders, each with a background row of its own; the cost is 2 · n_orders · n_features scores
        of each row.
    random_state : int, default=0
        Decides orders and background rows.
    groups : mapping of str to sequence of int, optional
        Columns that count as one, by a name; each column is in one group. Rows may then be sparse.
        Default: each column by itself.

    Examples
    --------
    >>> from nnpu import LinearPU
    >>> rng = np.random.default_rng(0)
    >>> X, s = rng.normal(0, 1, (600, 2)), np.repeat([1, 0], [200, 400])
    >>> X[:300, 1] += 3
    >>> clf = LinearPU(0.25).fit(X, s)
    >>> why = contributions(clf, X[:5])
    >>> scores = clf.decision_function(X[:5])
    >>> bool(np.allclose(why.base + why.values.sum(axis=1), scores, atol=1e-5))
    True
    """
    check_count("n_orders", n_orders, "contributions")
    sparse_too = groups is not None
    rows = _matrix(classifier, X, sparse_too=sparse_too)
    other = rows if background is None else _matrix(classifier, background, sparse_too=sparse_too)
    names = _names(classifier, rows.shape[1]) if groups is None else list(groups)
    parts = [[j] for j in range(rows.shape[1])] if groups is None else list(groups.values())
    if (exact := classifier._divided(rows, other)) is not None:
        base, values = exact
        sums = [values[:, columns].sum(axis=1) for columns in parts] if sparse_too else values.T
        return Contributions(base, np.array(sums).T, names)

    def score(part: NDArray[Any]) -> NDArray[np.float64]:
        return classifier._scores(part).astype(np.float64)

    return Contributions(*_sampled(score, rows, other, n_orders, random_state, parts), names)


def _sampled(
    score: Callable[[Any], NDArray[np.float64]],
    rows: Any,
    background: Any,
    n_orders: int,
    seed: int,
    parts: Sequence[Sequence[int]] | None = None,
) -> tuple[float, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    n = rows.shape[0]
    parts = [[j] for j in range(rows.shape[1])] if parts is None else parts
    chosen = rng.integers(0, background.shape[0], n_orders)
    orders = [rng.permutation(len(parts)) for _ in chosen]
    paths = [
        (start, order)
        for start, forward in zip(chosen, orders, strict=True)
        for order in (forward, forward[::-1])
    ]

    def steps() -> Iterator[Any]:
        for start, order in paths:
            mixed = background[np.full(n, start)]
            yield mixed
            for j in order:
                mixed = _exchanged(mixed, rows, parts[j])
                yield mixed

    scored = _in_bulk(score, steps())
    values = np.zeros((n, len(parts)))
    base = 0.0
    for _, order in paths:
        before = next(scored)
        base += float(before[0]) / len(paths) if len(before) else 0.0
        for j in order:
            after = next(scored)
            values[:, j] += (after - before) / len(paths)
            before = after
    return base, values


def _matrix(classifier: BasePUClassifier, X: Any, *, sparse_too: bool = False) -> Any:
    check_is_fitted(classifier)
    rows = classifier._validate(X)
    if sparse_too and sparse.issparse(rows):
        return sparse.csr_array(rows)
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        raise InputError(
            "Only the columns of a dense table can be explained. Got "
            f"{type(rows).__name__} instead; a sparse matrix has too many."
        )
    return rows


def _each(classifier: BasePUClassifier, n: int) -> dict[str, list[int]]:
    return {name: [j] for j, name in enumerate(_names(classifier, n))}


def _names(classifier: BasePUClassifier, n: int) -> list[str]:
    names = getattr(classifier, "feature_names_in_", None)
    return [str(j) for j in range(n)] if names is None else [str(name) for name in names]
