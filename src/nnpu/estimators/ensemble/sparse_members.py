"""Members for sparse rows, such as words: a weight for each column, or for directions of many.

Numbers beside words are one finite sparse matrix, for what takes no gaps and no codes.

Rows of U that share rare words also learn from each other: what one is, the other likely is too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logit

from nnpu.boosting import kl_round
from nnpu.calibration import positive_share, soft_labels
from nnpu.estimators.ensemble.inputs import fit_columns, fit_dense
from nnpu.estimators.ensemble.member_scorers import Scorer, SparseScorer
from nnpu.estimators.ensemble.task import MANY_COLUMNS, Member, ridge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.task import Task

__all__ = [
    "SelfTrained",
    "SparseLinear",
    "Topics",
    "at_scales",
    "for_lightgbm",
    "joined",
    "kl_ridge",
    "nearest",
    "on_directions",
    "self_taught",
    "smoothed",
    "soft_ridge",
]

#: The length of all numbers of a row together, that of its words being 1. With more, words are
#: learned worse where numbers say nothing; with less, numbers are where they do (docs/lab/text.md).
_SHARE = 0.2


def joined(X: Any, n_dense: int, categories: Sequence[int]) -> tuple[Any, NDArray[np.intp]]:
    """Return the rows as one matrix, and for each of its columns the one in `X` behind it.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
        Its first columns are numbers and codes, with NaN for gaps; the others are words.
    n_dense : int
        How many there are of the first; with 0 the rows stay as they are.
    categories : sequence of int
        Which of them are codes.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_array(np.array([[3.0, 1, 0.6], [np.nan, 0, 0], [5.0, 1, 0.6]]))
    >>> matrix, origin = joined(X, 2, [1])
    >>> origin.tolist()                     # the number, its gaps, two levels, a word
    [0, 0, 1, 1, 2]
    >>> bool(np.isfinite(matrix.toarray()).all())
    True
    """
    if not n_dense:
        return X, np.arange(X.shape[1])
    codes = tuple(int(column) for column in categories)
    x, words = fit_columns(X, codes, "joined", n_dense).parts(X, n_dense)
    design = fit_dense(x, np.array(codes, dtype=np.int32))
    parts = design.numeric, design.flagged, design.level_column
    origin = np.concatenate([*parts, np.arange(n_dense, X.shape[1])]).astype(np.intp)
    dense = design.transform(x) * np.float32(_SHARE / np.sqrt(max(design.size, 1)))
    return sparse.csr_array(sparse.hstack([dense, words], format="csr")), origin


Weights = tuple["NDArray[np.float64]", "NDArray[np.float64]"]  # of the columns, and the intercept

_COLUMNS = 10_000  # the fullest, of which directions are made
_SURE = 1e-4  # a smoothed label nearer to 0 or 1 counts as this
_STEPS = 25  # of a fit to soft labels, which change in the next round
_MOST_FILLED = 2000  # columns that trees look at: rare words cost time and split little


def at_scales(task: Task, grid: Sequence[tuple[str, float]]) -> list[Weights]:
    """Minimise the logistic loss with columns at one scale or at a scale each, and a strength."""
    x = task.view.sparse.astype(np.float64)
    square = np.asarray(x.multiply(x).mean(axis=0)).ravel()  # (n_features,)
    each = np.sqrt(np.where(square > 0, square, np.inf))
    one = np.full(len(square), np.sqrt(square.sum()) or np.inf)
    found = []
    for kind, strength in grid:
        scale = one if kind == "one" else each
        weights, intercept = ridge(x.multiply(1 / scale).tocsr(), task, strength)
        found.append((weights / scale, intercept))
    return found


def on_directions(task: Task, directions: int, strengths: tuple[float, ...]) -> list[Weights]:
    """Minimise the KL risk on the directions in which rows differ most, for each strength."""
    from sklearn.utils.extmath import randomized_svd

    x, scale = _unit_rows(task)
    kept = _fullest(x, _COLUMNS)
    x = x[:, kept]
    size = min(directions, *(side - 1 for side in x.shape))
    axes = randomized_svd(x, size, n_iter=2, random_state=task.seed)[2].T
    columns = np.asarray(x @ axes)
    found = []
    for strength in strengths:
        slopes, intercept = kl_ridge(columns, task, strength)
        weights = np.zeros(task.view.sparse.shape[1])
        weights[kept] = axes @ slopes / scale
        found.append((weights, intercept))
    return found


def self_taught(
    task: Task, scores: NDArray[np.float64], strengths: Sequence[float], rounds: int
) -> list[Weights]:
    """Label U by scores, fit to the labels, label it by the new scores, and so on.

    In every other round, the first among them, labels are mixed with those of similar rows. The
    mean of the labels is the share of positives in U; an answer is the label of its row.
    """
    x, scale = _unit_rows(task)
    share = positive_share(task.prior, task.s, task.sampling)
    known = task.s == 1
    known[task.answered()[0]] = True
    links = nearest(task.view.sparse)
    taught = []
    for strength in strengths:
        z, found = scores, np.zeros(x.shape[1] + 1)
        for number in range(rounds):
            y = _labels(z, task, share)
            if number % 2 == 0:
                mixed = np.clip(smoothed(y, known, links), _SURE, 1 - _SURE)
                y = _labels(logit(mixed), task, share)
            found = soft_ridge(x, y, np.abs(2 * y - 1), strength, found, most=_STEPS)
            z = x @ found[:-1] + found[-1]
        taught.append((found[:-1] / scale, found[-1:]))
    return taught


def _labels(scores: NDArray[np.float64], task: Task, share: float) -> NDArray[np.float64]:
    y = task.s.astype(np.float64)
    y[task.s == 0] = soft_labels(scores[task.s == 0], share)
    answered, classes, _ = task.answered()
    y[answered] = classes
    return y


def _unit_rows(task: Task) -> tuple[Any, float]:
    """Return the rows divided by one number, so their mean square is 1; and the number."""
    x = task.view.sparse.astype(np.float64)
    scale = float(np.sqrt(x.multiply(x).sum() / x.shape[0])) or 1.0
    return (x / scale).tocsr(), scale


def kl_ridge(columns: NDArray[np.float64], task: Task, strength: float) -> Weights:
    """Minimise (1 − η) KL risk + η mean loss of the answers + strength/n_p · ‖w‖²/2."""
    rows, y, weight = task.answered()
    eta = task.eta if len(rows) else 0.0
    penalty = strength / task.n_p

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = columns @ w[:-1] + w[-1]
        start = kl_round(scores, task.s, prior=task.prior, sampling=task.sampling)
        slope = (1 - eta) / len(scores) * start.gradient
        slope[rows] += eta * weight * (expit(scores[rows]) - y)
        answered = weight @ (np.logaddexp(0, scores[rows]) - y * scores[rows])
        risk = (1 - eta) * start.values["train_risk"] + eta * answered
        gradient = np.append(columns.T @ slope + penalty * w[:-1], slope.sum())
        return float(risk + penalty / 2 * w[:-1] @ w[:-1]), gradient

    first = np.append(np.zeros(columns.shape[1]), logit(task.prior))
    found = minimize(value, first, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return found[:-1], found[-1:]


def soft_ridge(
    x: Any,
    y: NDArray[np.floating[Any]],
    weight: NDArray[np.floating[Any]],
    strength: float,
    start: NDArray[np.float64],
    most: int = 300,
) -> NDArray[np.float64]:
    """Minimise (Σ weight · (ln(1 + eᶻ) − y z) + strength · ‖w‖²/2) / Σ weight, z = x w + b.

    Parameters
    ----------
    x : sparse or dense matrix of shape (n, k)
    y : ndarray of shape (n,)
        Labels between 0 and 1.
    weight : ndarray of shape (n,)
    strength : float
    start : ndarray of shape (k + 1,)
        Where to begin; the last is b, as in what is returned.
    most : int
        Iterations of L-BFGS.

    Examples
    --------
    >>> one = np.ones((4, 1))
    >>> w, b = soft_ridge(one, np.array([0, 0, 0, 1.0]), np.ones(4), 1e-9, np.zeros(2))
    >>> round(float(expit(w + b)), 3)
    0.25
    """
    total = float(weight.sum())

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = x @ w[:-1] + w[-1]
        loss = weight @ (np.logaddexp(0, z) - y * z) + strength / 2 * w[:-1] @ w[:-1]
        slope = weight * (expit(z) - y)
        gradient = np.append(x.T @ slope + strength * w[:-1], slope.sum())
        return float(loss / total), gradient / total

    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": most}).x
    return np.asarray(found, dtype=np.float64)


def for_lightgbm(x: Any) -> Any:
    """Return a sparse matrix as LightGBM takes it, with the fullest columns alone."""
    rows = sp.csr_matrix(x, copy=True)
    kept = np.zeros(x.shape[1], dtype=bool)
    kept[_fullest(rows, _MOST_FILLED)] = True
    rows.data[~kept[rows.indices]] = 0  # a column of zeros is never split
    rows.eliminate_zeros()
    return rows


def _fullest(x: Any, most: int) -> NDArray[np.intp]:
    """Return the columns that hold most entries, in their order."""
    filled = np.bincount(x.indices, minlength=x.shape[1])
    chosen = np.argsort(-filled, kind="stable")[: min(most, np.count_nonzero(filled))]
    return np.sort(chosen)


_NEIGHBOURS = 10  # of a row whose labels are mixed with its own
_PRODUCTS = 2e7  # that the cosines may take: about a second
_BLOCK = 1000  # rows whose cosines with others are in memory


def nearest(x: Any, k: int = _NEIGHBOURS, products: float = _PRODUCTS) -> sp.csr_array:
    """Return for each row the rows with the greatest cosines, k at most, weighted by its square.

    The cosines are those of the rarest columns, as many as the products allow: on text they are
    better than those of all columns. The weights of a row sum to 1, or to 0 if it has no neighbour.

    Parameters
    ----------
    x : sparse matrix of shape (n, d)
    k : int
    products : float
        A column with m entries takes m² of them.

    Returns
    -------
    sparse array of shape (n, n)

    Examples
    --------
    >>> x = sp.csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 2, 0], [0, 0, 3]]))
    >>> nearest(x).toarray().round(2)
    array([[0. , 1. , 0. , 0. ],
           [0.5, 0. , 0.5, 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    from sklearn.preprocessing import normalize

    n = x.shape[0]
    unit = sp.csr_array(normalize(x)).astype(np.float32)
    entries = np.bincount(unit.indices, minlength=unit.shape[1]).astype(np.float64)
    order = np.argsort(entries, kind="stable")
    rare = np.sort(order[np.cumsum(entries[order] ** 2) <= products])
    unit = unit[:, rare[entries[rare] > 1]]
    turned = unit.T.tocsr()
    found, lengths = [], []
    for start in range(0, n, _BLOCK):
        part = unit[start : start + _BLOCK] @ turned
        row = start + np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        part.data[part.indices == row] = 0  # a row is not its own neighbour
        for i, j in pairwise(part.indptr):
            top = i + np.argpartition(part.data[i:j], -k)[-k:] if j - i > k else np.arange(i, j)
            found.append((part.indices[top], part.data[top]))
            lengths.append(len(top))
    columns, cosines = (np.concatenate(one) for one in zip(*found, strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    links = sp.csr_array((np.maximum(cosines, 0).astype(np.float64) ** 2, columns, ends), (n, n))
    links.eliminate_zeros()
    total = links.sum(axis=1)
    links.data /= np.repeat(total, np.diff(links.indptr))
    return links


def smoothed(
    labels: NDArray[np.float64],
    known: NDArray[np.bool_],
    links: sp.csr_array,
    share: float = 0.7,
    steps: int = 5,
) -> NDArray[np.float64]:
    """Mix labels with those of the neighbours, a few times; known rows keep theirs.

    Examples
    --------
    >>> links = nearest(sp.csr_array(np.array([[1.0, 0], [1.0, 0], [0, 1.0]])))
    >>> smoothed(np.array([1, 0.5, 0.5]), np.array([True, False, False]), links)
    array([1.  , 0.85, 0.5 ])
    """
    free = share * (links.sum(axis=1) > 0) * ~known
    mixed = labels
    for _ in range(steps):
        mixed = (1 - free) * labels + free * (links @ mixed)
    return mixed


class SparseLinear(Member):
    """Ridge logistic regression on sparse columns, at one scale for all or a scale for each.

    The weights of TF-IDF say which words matter, and one scale keeps them: rows have the mean
    square 1. Counts and indicators of very different sizes need a scale for each column.
    """

    name = "linear"
    needs_dense = False
    takes_numbers = False
    most_rows = 200_000
    grid = (("one", 1.0), ("one", 0.3), ("one", 0.1), ("each", 1.0))

    def impossible(self, task: Task) -> str:
        """Say that there are no sparse columns."""
        return "for sparse data alone" if task.n_words is None else ""

    def settings(self, task: Task) -> int:
        """Return the number of scales with a strength."""
        return len(self.grid)

    def fit(self, task: Task) -> list[Scorer]:
        """Fit each scale with its strength."""
        found = at_scales(task.at_most(self.most_rows), self.grid)
        return [SparseScorer(*weights) for weights in found]


class Topics(Member):
    """Ridge regression with the KL risk on the directions in which sparse rows differ most.

    Words that stand beside each other in U count together, whichever of them P has. Directions and
    slopes are a weight for each column again in the end.
    """

    name = "topics"
    needs_prior = True
    needs_dense = False
    takes_numbers = False
    most_rows = 20_000
    directions = 150
    strengths: tuple[float, ...] = (0.06, 0.02, 0.006)

    def impossible(self, task: Task) -> str:
        """Say that there are too few sparse columns to have directions."""
        few = (task.n_words or 0) <= MANY_COLUMNS
        return f"for sparse data of more than {MANY_COLUMNS} columns" if few else ""

    def settings(self, task: Task) -> int:
        """Return the number of strengths."""
        return len(self.strengths)

    def fit(self, task: Task) -> list[Scorer]:
        """Find the directions, then the slopes for each strength."""
        task = task.at_most(self.most_rows, together=task.sampling == "one-sample")
        found = on_directions(task, self.directions, self.strengths)
        return [SparseScorer(*weights) for weights in found]


class SelfTrained(Topics):
    """Ridge logistic regression on all sparse columns, from soft labels of U.

    The first labels are those of `Topics`, the next ones its own, both mixed with the labels of
    rows that share rare words. Their mean is the share of positives, and each counts |2y − 1|: the
    surest rows decide. A word that P lacks gets its weight from rows of U with words that P has.
    """

    name = "taught"
    strengths = (0.02,)  # of `Topics`
    rounds = 4
    ridges = (0.1, 0.03)  # for a sum of losses of rows of mean square 1

    def settings(self, task: Task) -> int:
        """Return the number of ridges."""
        return len(self.ridges)

    def fit(self, task: Task) -> list[Scorer]:
        """Label U and fit to the labels, a few times, with each ridge."""
        task = task.at_most(self.most_rows, together=task.sampling == "one-sample")
        first = super().fit(task)[0].scores(task.view)
        return [SparseScorer(*one) for one in self_taught(task, first, self.ridges, self.rounds)]
