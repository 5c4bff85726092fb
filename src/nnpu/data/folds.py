"""Folds that keep the share of labelled rows, and rows that belong together, together.

`row_keys` gives a row 64 bits that are the same in every process, so equal rows can share a
fold and rows of a fit are known again later; `Overlap` needs a sample of their keys alone.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from nnpu.parameters import InputError, ParameterError, check_count

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "LabelledRows",
    "Overlap",
    "PUStratifiedKFold",
    "equal_rows",
    "key_sample",
    "key_shares",
    "mixed",
    "row_keys",
]

Indices = NDArray[np.intp]


class PUStratifiedKFold:
    """Cross-validation folds with the same share of labelled rows in each.

    A fold without positives, or without unlabelled rows, can be neither fitted to nor judged, so
    stratification matters more than it does with true labels. With groups, all rows of a
    group fall into one fold (patients with several visits; a positive that is also a row of U),
    and the shares are kept as nearly equal as the groups allow.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2.
    shuffle : bool, default=True
        Whether rows are dealt to the folds in random order; otherwise in order of appearance.
    random_state : int, RandomState or None, default=None
        The seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> s = np.array([1, 1, 0, 0, 0, 0])
    >>> folds = PUStratifiedKFold(2, random_state=0)
    >>> [int(s[test].sum()) for _, test in folds.split(s[:, None], s)]
    [1, 1]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None
    ) -> None:
        self.n_splits = check_count("n_splits", n_splits, "PUStratifiedKFold", low=2)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the row numbers of the training part and of the held-out part of each fold.

        Parameters
        ----------
        X : array-like with n rows
            Only there for scikit-learn's interface; it is not read.
        y : array-like of shape (n,)
            The PU label s of each row.
        groups : array-like of shape (n,), optional
            Rows with equal values stay together.
        """
        fold = self.assign(y, groups)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def assign(self, s: ArrayLike, groups: ArrayLike | None = None) -> Indices:
        """Return the number of the fold of each row.

        Examples
        --------
        >>> PUStratifiedKFold(2, shuffle=False).assign([1, 0, 1, 0], groups=["a", "a", "b", "b"])
        array([0, 0, 1, 1])
        """
        labels, counts = _places(s, "labels")
        if groups is not None:
            return self._deal_groups(labels, counts, np.asarray(groups))
        if counts.min(initial=self.n_splits) < self.n_splits:
            raise InputError(
                f"PUStratifiedKFold needs at least n_splits={self.n_splits} rows of each PU "
                f"label; the rarest has {counts.min()}. Use fewer folds or label more rows."
            )
        order = self._order(labels.size)
        order = order[np.argsort(labels[order], kind="stable")]  # one label after another
        fold = np.empty(labels.size, dtype=np.intp)
        fold[order] = np.arange(labels.size) % self.n_splits
        return fold

    def _order(self, n: int) -> Indices:
        if not self.shuffle:
            return np.arange(n)
        from sklearn.utils import check_random_state

        order: Indices = check_random_state(self.random_state).permutation(n)
        return order

    def _deal_groups(self, labels: Indices, counts: Indices, groups: NDArray[Any]) -> Indices:
        """Deal groups out, large ones first, each to the fold that lacks its labels most."""
        if groups.shape != labels.shape:
            raise ParameterError(
                "The 'groups' parameter of PUStratifiedKFold must be an array of shape "
                f"{labels.shape}. Got shape {groups.shape} instead."
            )
        members, _ = _places(groups, "groups")
        sizes = np.zeros((members.max() + 1, counts.size))
        np.add.at(sizes, (members, labels), 1)
        if sizes.shape[0] < self.n_splits:
            raise InputError(
                f"PUStratifiedKFold needs at least n_splits={self.n_splits} groups; there are "
                f"{sizes.shape[0]}. Use fewer folds."
            )
        order = self._order(sizes.shape[0])
        order = order[np.argsort(-sizes[order].sum(axis=1), kind="stable")]
        filled = np.zeros((self.n_splits, counts.size))  # the share of each label dealt so far
        fold_of_group = np.empty(sizes.shape[0], dtype=np.intp)
        for group in order:
            share = sizes[group] / counts
            lightest = np.lexsort((filled.sum(axis=1), filled @ share))[0]
            fold_of_group[group] = lightest
            filled[lightest] += share
        return fold_of_group[members]


def _places(values: ArrayLike, name: str) -> tuple[Indices, Indices]:
    """Return each row's place among the distinct values, and how often each occurs."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"PUStratifiedKFold: the {name} must be one value per row; their shape is "
            f"{array.shape}."
        )
    try:
        _, places, counts = np.unique(array, return_inverse=True, return_counts=True)
    except TypeError as error:  # a None among numbers
        raise InputError(
            f"PUStratifiedKFold: the {name} cannot be compared with each other ({error})."
        ) from error
    return places, counts


_INTEGERS = 2.0**24  # float32 holds all integers up to here


def row_keys(x: Any) -> NDArray[np.uint64]:
    """Return 64 bits for each row: the same in every process, different for different rows.

    Parameters
    ----------
    x : ndarray or sparse matrix of shape (n, d)
        Numbers, taken as float32 up to 2^24 and as float64 beyond, where float32 does not even hold
        integers. All NaN are equal. Or, of shape (n,), the paths of files, known by their content.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if not sp.issparse(x) and x.ndim == 1:
        digests = b"".join(_file_digest(Path(path)) for path in x)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    if sp.issparse(x):
        x = sp.csr_array(x, dtype=np.float64, copy=True)
        x.sum_duplicates()
        x.eliminate_zeros()
        indices, data = x.indices.astype(np.int64), _single(x.data)
        spans = zip(x.indptr[:-1], x.indptr[1:], strict=True)
        rows = (indices[i:j].tobytes() + data[i:j].tobytes() for i, j in spans)
        # Not Python's hash(), which differs from one process to the next.
        digests = b"".join(blake2b(row, digest_size=8).digest() for row in rows)
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    # Sums of numbers that depend on all bits of a cell, one law for each column, modulo 2^64.
    odd = np.random.default_rng(0).integers(1, 1 << 63, (x.shape[1], 2), dtype=np.uint64) | 1
    keys = np.zeros(len(x), dtype=np.uint64)
    for j, (first, second) in enumerate(odd):
        bits = _single(np.asarray(x[:, j], np.float64)).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * first
        keys += (bits ^ (bits >> np.uint64(29))) * second
    return keys


def mixed(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for each number, different for different ones (the finish of SplitMix64).

    Examples
    --------
    >>> len(np.unique(mixed(np.arange(1000)) >> np.uint64(40)))
    1000
    """
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def key_shares(keys: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each key, as if drawn at random by the seed.

    Rows with a number in an interval are a random sample, which depends neither on the order of the
    rows nor on the process that looks at them.

    Examples
    --------
    >>> shares = key_shares(row_keys(np.arange(10_000.0)[:, None]), seed=0)
    >>> bool(abs((shares < 0.2).mean() - 0.2) < 0.01)
    True
    """
    return mixed(keys ^ mixed(np.array([seed]))) / 2.0**64


def _file_digest(path: Path) -> bytes:
    """Return 8 bytes for a file, by its size and where its content begins."""
    with path.open("rb") as file:
        start = file.read(_START)
    return blake2b(start, digest_size=8, salt=path.stat().st_size.to_bytes(16, "little")).digest()


_SAMPLE = 16_384  # keys that a model folder keeps: a share of .05 is then known to ±.003
_FEW, _MATTERS = 3, 0.05  # rows of the sample, and their share of a table
_START = 1 << 16  # bytes of a file


def key_sample(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the 16,384 smallest of the distinct keys: a random sample of the distinct rows."""
    return np.unique(keys)[:_SAMPLE]


class LabelledRows:
    """Finds the labelled rows of a fit to two tables, whose files have no label column.

    Each of them takes one equal row out of the list, as often as it stood among the labelled ones.

    Parameters
    ----------
    keys : ndarray of uint64
        The keys of the labelled rows.

    Examples
    --------
    >>> known = LabelledRows(np.array([5, 5, 7], dtype=np.uint64))
    >>> known.add(np.array([5, 6, 5, 5], dtype=np.uint64))
    >>> known.rows.tolist(), known.found
    ([True, False, True, False], 2)
    """

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        values, counts = np.unique(keys, return_counts=True)
        self._left: dict[int, int] = dict(zip(values.tolist(), counts.tolist(), strict=True))
        self._values = values
        self.rows = np.zeros(0, dtype=bool)
        self.found = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Take the keys of some rows; `rows` then says which are labelled ones."""
        self.rows = np.isin(keys, self._values)
        for row in np.flatnonzero(self.rows):
            key = int(keys[row])
            self.rows[row] = self._left[key] > 0
            self._left[key] -= 1
        self.found += int(self.rows.sum())


class Overlap:
    """Counts how many of some rows are those of which a sample of keys is kept.

    Parameters
    ----------
    sample : ndarray of uint64
        Of `key_sample`.
    rows : int
        How many rows it was made of.

    Examples
    --------
    >>> x = np.arange(1000.0)[:, None]
    >>> overlap = Overlap(key_sample(row_keys(x)), len(x))
    >>> overlap.add(row_keys(x[:250])), overlap.add(row_keys(x[:250] + 2000))
    (None, None)
    >>> overlap.of_sample, overlap.of_rows
    (0.25, 0.5)
    """

    def __init__(self, sample: NDArray[np.uint64], rows: int) -> None:
        self._sample, self._rows = sample, rows
        self._largest = np.iinfo(np.uint64).max if len(sample) < _SAMPLE else sample[-1]
        self._seen = np.zeros(0, dtype=np.uint64)

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Take the keys of some rows."""
        small = keys[keys <= self._largest]  # as if they had been sampled in the same way
        self._seen = np.union1d(self._seen, small)

    @property
    def of_sample(self) -> float:
        """The share of the distinct rows of the sample that is among these rows."""
        return self._found / max(len(self._sample), 1)

    @property
    def of_rows(self) -> float:
        """The share of these distinct rows that the sample stands for."""
        return self._found / max(len(self._seen), 1)

    @property
    def tells(self) -> bool:
        """Whether most rows of the sample differ; if not, other tables have the same few."""
        distinct = float(len(self._sample))
        if distinct == _SAMPLE:
            distinct = (_SAMPLE - 1) / (float(self._sample[-1]) / 2**64)
        return distinct >= self._rows / 2

    @property
    def matters(self) -> bool:
        """Whether more of these rows are repeated than chance and a slip would."""
        return self.tells and self._found >= _FEW and self.of_rows >= _MATTERS

    @property
    def _found(self) -> int:
        return int(np.isin(self._sample, self._seen, assume_unique=True).sum())


def _single(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers as float32 holds them if they are small enough; −0 is 0, all NaN are equal."""
    with np.errstate(over="ignore"):
        single = column.astype(np.float32).astype(np.float64) + 0.0
    values: NDArray[np.float64] = np.where(np.abs(column) > _INTEGERS, column, single)
    values[np.isnan(values)] = np.nan
    return values


def equal_rows(x: Any) -> NDArray[np.intp] | None:
    """Return a number for each row, equal for equal rows; None if all rows differ.

    Parameters
    ----------
    x : ndarray, sparse matrix, frame or list of length n
        The rows. Numbers are compared as in `row_keys`, all else, such as texts, cell by cell;
        None comes back too if cells cannot be compared.

    Examples
    --------
    >>> equal_rows(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    >>> equal_rows(["a text", "another", "a text"]).tolist()
    [0, 1, 0]
    """
    rows = x.to_numpy() if hasattr(x, "to_numpy") else x
    if sp.issparse(rows) or (isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf"):
        flat = rows if sp.issparse(rows) else rows.reshape(len(rows), -1)
        values, groups = np.unique(row_keys(flat), return_inverse=True)
        return None if len(values) == len(groups) else groups
    numbers: dict[Any, int] = {}
    keys = (row if isinstance(row, str) else tuple(np.ravel(row)) for row in rows)
    try:
        groups = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    except TypeError:  # cells without a hash, such as lists
        return None
    return None if len(numbers) == len(groups) else groups
