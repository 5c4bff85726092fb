"""Draw PU data from a data set whose true labels are known.

Samples are row numbers, not copies, so ten samplings of a large set cost little memory.
A sampling is a pure function of (seed, index): the methods of an experiment that ask for
sampling i all get the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.datasets import Dataset
from nnpu.parameters import InputError, ParameterError, check_count, check_prior, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]

__all__ = ["CensoredSample", "PUSample", "negative_count", "sample_censored", "sample_pu"]


@dataclass(frozen=True, eq=False)
class PUSample:
    """Two-sample PU data (and N data for PN learning) as rows of a training set.

    Parameters
    ----------
    x, y : array-like
        The training set it was drawn from: features, and true classes +1 and −1.
    index_p, index_u, index_n : ndarray of int
        Rows of the positives, the unlabelled and the negatives.
    """

    x: Any
    y: NDArray[np.int8]
    index_p: Rows
    index_u: Rows
    index_n: Rows

    @property
    def x_p(self) -> Any:
        """Features of the positives (a copy)."""
        return self.x[self.index_p]

    @property
    def x_u(self) -> Any:
        """Features of the unlabelled (a copy)."""
        return self.x[self.index_u]

    @property
    def x_n(self) -> Any:
        """Features of the negatives (a copy)."""
        return self.x[self.index_n]

    @property
    def prior(self) -> float:
        """π_p: the share of positives in U."""
        return float(np.mean(self.y[self.index_u] == 1))

    @property
    def index(self) -> Rows:
        """Rows of P, then of U: those that `s` labels."""
        return np.concatenate([self.index_p, self.index_u])

    @property
    def s(self) -> NDArray[np.int8]:
        """PU labels of the rows in `index`: 1 for P, 0 for U."""
        return np.repeat(np.array([1, 0], dtype=np.int8), [len(self.index_p), len(self.index_u)])


@dataclass(frozen=True, eq=False)
class CensoredSample:
    """One-sample PU data: one sample, of whose positives some are labelled.

    Parameters
    ----------
    x, y : array-like
        The training set it was drawn from: features, and true classes +1 and −1.
    index : ndarray of int
        Rows of the sample.
    s : ndarray of int8
        PU labels of these rows: 1 = labelled positive, 0 = unlabelled.
    """

    x: Any
    y: NDArray[np.int8]
    index: Rows
    s: NDArray[np.int8]

    @property
    def prior(self) -> float:
        """π_p: the share of positives in the whole sample, P ∪ U."""
        return float(np.mean(self.y[self.index] == 1))


def negative_count(prior: float, n_p: int) -> int:
    """Number of N data that the paper gives to PN learning: (π_n / 2π_p)² n_p, rounded.

    Parameters
    ----------
    prior : float
        π_p, between 0 and 1.
    n_p : int
        Number of P data.

    References
    ----------
    Section 5, method (A); the choice comes from Niu et al. (2016).

    Examples
    --------
    >>> negative_count(0.5, 1000)
    250
    """
    prior = check_prior(prior, "negative_count")
    n_p = check_count("n_p", n_p, "negative_count")
    try:
        return round(((1 - prior) / (2 * prior)) ** 2 * n_p)
    except OverflowError:
        raise ParameterError(
            f"The 'prior' parameter of negative_count must be greater. Got {prior!r} instead, for "
            "which the number of negatives is too large to count."
        ) from None


def sample_pu(
    data: Dataset | tuple[Any, Any],
    n_p: int,
    n_u: int | None = None,
    *,
    n_n: int = 0,
    disjoint: bool = False,
    prior: float | None = None,
    random_state: int | np.random.Generator = 0,
    index: int = 0,
) -> PUSample:
    """Draw P from the positives and U from all training data, as the paper does.

    Figure 1: ``sample_pu(mnist, 100, n_n=50, disjoint=True)`` (U is the other 59,900). Section 5:
    ``sample_pu(mnist, 1000, n_n=negative_count(mnist.prior, 1000))`` (U is all training data, P
    inside it). All draws are without replacement.

    Parameters
    ----------
    data : Dataset or (x, y)
        The training data; y holds +1 and −1.
    n_p : int
        Number of P data.
    n_u : int, optional
        Number of U data; by default as many as there are.
    n_n : int, default=0
        Number of N data, drawn from all negatives; they may be in U too.
    disjoint : bool, default=False
        Whether the rows of P are kept out of U.
    prior : float, optional
        Share of positives wanted in U, met as nearly as whole numbers allow; by default U is
        drawn blindly.
    random_state : int or Generator, default=0
        The seed of a series of samplings, or a generator.
    index : int, default=0
        Number of the sampling in the series of that seed. Not for a generator, which gives a new
        sampling at each call.

    Returns
    -------
    PUSample

    Examples
    --------
    >>> from nnpu.data import load
    >>> sample = sample_pu(load("digits"), 100, disjoint=True, random_state=1)
    >>> len(sample.index_p), len(sample.index_u), np.isin(sample.index_p, sample.index_u).any()
    (100, 1247, np.False_)
    """
    x, y = _training_data(data, "sample_pu")
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == -1)
    n_p = _check_available("n_p", n_p, len(positives), "positives", "sample_pu")
    n_n = _check_available("n_n", n_n, len(negatives), "negatives", "sample_pu", low=0)
    # One stream per sample: the number of U data does not change which P and N are drawn.
    rng_p, rng_u, rng_n = _generator(random_state, index, "sample_pu").spawn(3)
    index_p = rng_p.permutation(positives)[:n_p]
    index_n = rng_n.permutation(negatives)[:n_n]
    pool = np.setdiff1d(np.arange(len(y)), index_p) if disjoint else np.arange(len(y))
    index_u = _draw_unlabelled(pool, y, n_u, prior, rng_u)
    return PUSample(x, y, index_p, index_u, index_n)


def sample_censored(
    data: Dataset | tuple[Any, Any],
    n_p: int,
    n: int | None = None,
    *,
    random_state: int | np.random.Generator = 0,
    index: int = 0,
) -> CensoredSample:
    """Draw one sample and label some of its positives, each with the same chance (SCAR).

    Parameters
    ----------
    data : Dataset or (x, y)
        The training data; y holds +1 and −1.
    n_p : int
        Number of labelled positives: fewer than the sample has.
    n : int, optional
        Size of the sample; by default all training data.
    random_state, index
        As in `sample_pu`.

    Returns
    -------
    CensoredSample

    References
    ----------
    Elkan and Noto (2008), Learning classifiers from only positive and unlabeled data.

    Examples
    --------
    >>> from nnpu.data import load
    >>> sample = sample_censored(load("digits"), 100)
    >>> len(sample.s), int(sample.s.sum())
    (1347, 100)
    """
    x, y = _training_data(data, "sample_censored")
    n = len(y) if n is None else _check_available("n", n, len(y), "rows", "sample_censored")
    rng_rows, rng_labels = _generator(random_state, index, "sample_censored").spawn(2)
    rows = np.arange(len(y)) if n == len(y) else rng_rows.permutation(len(y))[:n]
    positives = np.flatnonzero(y[rows] == 1)
    available = len(positives) - 1  # at least one positive stays unlabelled
    n_p = _check_available("n_p", n_p, available, "positives to label", "sample_censored")
    s = np.zeros(n, dtype=np.int8)
    s[rng_labels.permutation(positives)[:n_p]] = 1
    return CensoredSample(x, y, rows, s)


def _training_data(data: Dataset | tuple[Any, Any], owner: str) -> tuple[Any, NDArray[np.int8]]:
    pair = (data.x_train, data.y_train) if isinstance(data, Dataset) else data
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ParameterError(
            f"The 'data' parameter of {owner} must be a Dataset or a pair (x, y). "
            f"Got {shown(data)} instead."
        )
    x, y = pair[0] if hasattr(pair[0], "shape") else np.asarray(pair[0]), np.asarray(pair[1])
    if y.ndim != 1 or x.shape[0] != len(y) or not np.isin(y, (-1, 1)).all():
        raise InputError(
            f"y must hold one true class, +1 or -1, per row of x; got y of shape {y.shape} "
            f"with the values {shown(y.ravel()[:5].tolist())} for x of shape {x.shape}."
        )
    return x, y.astype(np.int8, copy=False)


def _generator(
    random_state: int | np.random.Generator, index: int, owner: str
) -> np.random.Generator:
    index = check_count("index", index, owner, low=0)
    if isinstance(random_state, np.random.Generator):
        if index:
            raise ParameterError(
                f"The 'index' parameter of {owner} must be 0 where 'random_state' is a Generator. "
                f"Got {index!r} instead."
            )
        return random_state
    seed = check_count("random_state", random_state, owner, low=0)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))


def _check_available(
    name: str, value: Any, available: int, what: str, owner: str, *, low: int = 1
) -> int:
    count = check_count(name, value, owner, low=low)
    if count > available:
        raise InputError(
            f"{owner}: {name} is {shown(count)}, but there are only {available:,} {what}."
        )
    return count


def _draw_unlabelled(
    pool: Rows,
    y: NDArray[np.int8],
    n_u: int | None,
    prior: float | None,
    rng: np.random.Generator,
) -> Rows:
    if prior is None:
        if n_u is None:
            return pool
        n_u = _check_available("n_u", n_u, len(pool), "rows to draw U from", "sample_pu")
        return np.sort(rng.permutation(pool)[:n_u])
    prior = check_prior(prior, "sample_pu")
    positives, negatives = pool[y[pool] == 1], pool[y[pool] == -1]
    if n_u is None:
        n_u = int(min(len(positives) / prior, len(negatives) / (1 - prior)))
    n_u = _check_available("n_u", n_u, len(pool), "rows to draw U from", "sample_pu")
    n_positive = round(prior * n_u)
    if n_positive > len(positives) or n_u - n_positive > len(negatives):
        raise InputError(
            f"sample_pu: {n_u:,} unlabelled rows at prior {prior} need {n_positive:,} positives "
            f"and {n_u - n_positive:,} negatives; there are {len(positives):,} and "
            f"{len(negatives):,}."
        )
    drawn = (
        rng.permutation(positives)[:n_positive],
        rng.permutation(negatives)[: n_u - n_positive],
    )
    return np.sort(np.concatenate(drawn))
