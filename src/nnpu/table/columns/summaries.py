"""What a column plan needs to know of the cells, in pieces that can be added up.

A summary takes cells by `add` and another summary by `merge`. What it then says depends on the
cells alone, not on how they were cut into batches or in which order these came, so a file,
a stream of batches and the workers of a cluster make the same plan.

Memory is bounded. Up to the bound a summary is exact. Beyond it, numbers are told apart by fewer
binary digits, and of texts the ones with the smallest hash are kept: a random sample of the
distinct values, with their exact counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.cells import as_text, is_string
from nnpu.data.folds import mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MOST_NUMBERS",
    "MOST_ROWS",
    "MOST_TEXTS",
    "Examples",
    "Numbers",
    "RowSample",
    "Texts",
    "text_hashes",
    "weighted_median",
    "weighted_quantiles",
]

MOST_NUMBERS = 1 << 16  # distinct numbers (or cells of numbers) that are kept: 1.5 MB
MOST_TEXTS = 1 << 16  # distinct texts
MOST_ROWS = 20_000  # rows of a sample, as many as text features are fitted to
_ALL_BITS = 52  # binary digits of a float64 after the first


class Numbers:
    """A multiset of numbers: exact up to `most` distinct ones, then in cells that grow.

    A cell is what agrees in sign, exponent and the first `bits` binary digits; `bits` is the
    largest number that leaves at most `most` cells. Each cell keeps its count, its smallest and
    its largest number, so a quantile is off by at most the width of a cell: the fraction
    2^−`bits` of its size.

    Parameters
    ----------
    most : int, default=65,536
        At least 4,096, which is how many cells `bits` = 0 can have.

    Examples
    --------
    >>> one, other = Numbers(), Numbers()
    >>> one.add(np.array([3.0, np.nan, 1.0]))
    >>> other.add(np.array([2.0, 3.0]))
    >>> one.merge(other)
    >>> one.count, one.gaps, one.median, one.quantiles([0.0, 1.0]).tolist()
    (4, 1, 2.5, [1.0, 3.0])
    """

    def __init__(self, most: int = MOST_NUMBERS) -> None:
        self.most, self.bits, self.gaps = most, _ALL_BITS, 0
        self.least: NDArray[np.float64] = np.zeros(0)  # the smallest number of each cell, in order
        self.greatest: NDArray[np.float64] = np.zeros(0)
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, values: NDArray[np.float64]) -> None:
        """Take numbers; NaN is a gap."""
        there = values[~np.isnan(values)] + 0.0  # −0 is 0
        self.gaps += len(values) - len(there)
        distinct, counts = np.unique(there, return_counts=True)
        self._join(distinct, distinct, counts)

    def merge(self, other: Numbers) -> None:
        """Take the numbers of another summary."""
        self.gaps += other.gaps
        self.bits = min(self.bits, other.bits)
        self._join(other.least, other.greatest, other.counts)

    def _join(self, least: Any, greatest: Any, counts: Any) -> None:
        if not len(least):
            return
        if len(self.least):
            least = np.concatenate([self.least, least])
            order = np.argsort(least, kind="stable")
            least = least[order]
            greatest = np.concatenate([self.greatest, greatest])[order]
            counts = np.concatenate([self.counts, counts])[order]
        # Cells of b digits are unions of cells of b + 1: the last b does not depend on the way.
        low, high = 0, self.bits
        if _firsts(least, high).sum() > self.most:
            while low < high - 1:
                middle = (low + high) // 2
                if _firsts(least, middle).sum() > self.most:
                    high = middle
                else:
                    low = middle
            self.bits = low
        starts = np.flatnonzero(_firsts(least, self.bits))
        self.least = least[starts]  # in order, so the first is the smallest
        self.greatest = np.maximum.reduceat(greatest, starts)
        self.counts = np.add.reduceat(counts, starts)

    @property
    def count(self) -> int:
        """Number of numbers."""
        return int(self.counts.sum())

    @property
    def exact(self) -> bool:
        """Whether no two different numbers share a cell."""
        return self.bits == _ALL_BITS

    @property
    def low(self) -> float:
        """The smallest number."""
        return float(self.least[0])

    @property
    def high(self) -> float:
        """The largest number."""
        return float(self.greatest.max())

    @property
    def values(self) -> NDArray[np.float64]:
        """A number for each cell, in order: the middle between its smallest and its largest."""
        return np.where(self.least == self.greatest, self.least, self.least / 2 + self.greatest / 2)

    @property
    def median(self) -> float:
        """The median."""
        return weighted_median(self.values, self.counts)

    def quantiles(self, shares: Any) -> NDArray[np.float64]:
        """Return quantiles, between two numbers by linear interpolation (NumPy's default)."""
        return weighted_quantiles(self.values, self.counts, shares)

    def moments(self, low: float, high: float) -> tuple[float, float]:
        """Return mean and standard deviation of the numbers, clipped."""
        inside = self.values.clip(low, high)
        mean = float((inside * self.counts).sum() / self.count)
        return mean, float(np.sqrt((np.square(inside - mean) * self.counts).sum() / self.count))

    def outside(self, low: float, high: float) -> int:
        """Return how many numbers are below `low` or above `high`."""
        values = self.values
        return int(self.counts[(values < low) | (values > high)].sum())


def _firsts(values: NDArray[np.float64], bits: int) -> NDArray[np.bool_]:
    """Return which of some numbers in order begin a cell of so many binary digits."""
    keys = values.view(np.int64) >> np.int64(_ALL_BITS - bits)  # of sign and size, like the bits
    return np.append(True, keys[1:] != keys[:-1])


def weighted_quantiles(values: Any, counts: Any, shares: Any) -> NDArray[np.float64]:
    """Return quantiles of numbers in order that occur so many times each.

    Examples
    --------
    >>> weighted_quantiles(np.array([1.0, 2.0]), np.array([3, 1]), [0.5, 0.75, 1]).tolist()
    [1.0, 1.25, 2.0]
    """
    ends = np.cumsum(counts)
    places = np.asarray(shares, dtype=np.float64) * (ends[-1] - 1)
    below = np.floor(places)
    a = values[np.searchsorted(ends, below, side="right")]
    b = values[np.searchsorted(ends, np.minimum(below + 1, ends[-1] - 1), side="right")]
    part = places - below  # from the nearer end, as NumPy does it: the same bits
    found: NDArray[np.float64] = np.where(part < 0.5, a + (b - a) * part, b - (b - a) * (1 - part))
    return found


def weighted_median(values: Any, counts: Any) -> float:
    """Return the median of numbers in order that occur so many times each.

    Examples
    --------
    >>> weighted_median(np.array([1.0, 2.0]), np.array([2, 2]))
    1.5
    """
    ends = np.cumsum(counts)
    middle = [(ends[-1] - 1) // 2, ends[-1] // 2]
    a, b = values[np.searchsorted(ends, middle, side="right")]
    return float(a if a == b else (a + b) / 2)


class Texts:
    """Distinct texts, each with its count and the row where it first stood.

    Parameters
    ----------
    most : int, default=65,536
        If there are more distinct texts, those with the smallest hashes are kept. A kept one was
        never left out before, so its count and its row are exact.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one, other = Texts(), Texts()
    >>> other.add(pa.array(["b", "a", None]), first=2)
    >>> one.add(pa.array(["a", "c"]))
    >>> one.merge(other)
    >>> one.values.to_pylist(), one.counts.tolist(), one.rows.tolist(), one.gaps, one.distinct
    (['a', 'c', 'b'], [2, 1, 1], [0, 1, 2], 1, 3)
    """

    def __init__(self, most: int = MOST_TEXTS) -> None:
        self.most, self.count, self.gaps, self.exact = most, 0, 0, True
        self.values: Any = None  # a pyarrow array, in the order of their first rows
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._limit = 1.0  # the largest hash that is kept, as a share of all hashes

    def add(self, text: Any, first: int = 0) -> None:
        """Take texts, null where there is none; `first` rows stood before them."""
        encoded = text.dictionary_encode()
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        self.count += len(text) - text.null_count
        self.gaps += text.null_count
        # Places count up as texts are met first.
        highest = np.maximum.accumulate(places)
        rows = np.flatnonzero(np.diff(highest, prepend=-1))
        counts = np.bincount(places + 1, minlength=len(rows) + 1)[1:]
        self._join(encoded.dictionary, counts, rows + first)

    def merge(self, other: Texts) -> None:
        """Take the texts of another summary."""
        self.count += other.count
        self.gaps += other.gaps
        self.exact &= other.exact
        self._limit = min(self._limit, other._limit)
        if other.values is not None:
            self._join(other.values, other.counts, other.rows)

    def _join(self, values: Any, counts: Any, rows: Any) -> None:
        import pyarrow as pa

        if self.values is not None:
            both = pa.concat_arrays([self.values, values]).dictionary_encode()
            places = both.indices.to_numpy(zero_copy_only=False)
            values, old = both.dictionary, (counts, rows)
            counts = np.bincount(
                places, np.concatenate([self.counts, old[0]]), minlength=len(values)
            ).astype(np.int64)
            rows = np.full(len(values), np.iinfo(np.int64).max)
            np.minimum.at(rows, places, np.concatenate([self.rows, old[1]]))
        kept = np.arange(len(values))
        if len(values) > self.most or not self.exact:
            hashes = text_hashes(values)
            if len(values) > self.most:
                kept = np.argpartition(hashes, self.most - 1)[: self.most]
                self._limit = float(hashes[kept].max()) / 2.0**64
            self.exact = False
        in_order = len(rows) < 2 or bool((rows[1:] > rows[:-1]).all())
        order = np.sort(kept) if in_order else kept[np.argsort(rows[kept], kind="stable")]
        if len(order) < len(values) or (order[1:] < order[:-1]).any():
            values = values.take(pa.array(order))
        self.values, self.counts, self.rows = values, counts[order], rows[order]

    @property
    def distinct(self) -> int:
        """How many distinct texts there are; beyond `most`, estimated to one in a hundred."""
        if self.values is None:
            return 0
        return len(self.values) if self.exact else round((self.most - 1) / self._limit)

    @property
    def unique(self) -> bool:
        """Whether every cell is there and no kept text repeats."""
        if self.exact:
            return not self.gaps and self.distinct == self.count
        return not self.gaps and bool((self.counts == 1).all())


def text_hashes(text: Any) -> NDArray[np.uint64]:
    """Return 64 bits for each text, the same in every process.

    Examples
    --------
    >>> import pyarrow as pa
    >>> hashes = text_hashes(pa.array(["ab", "ba", "ab", ""]))
    >>> bool(hashes[0] == hashes[2]), len(np.unique(hashes))
    (True, 3)
    """
    import pyarrow as pa

    text = text.cast(pa.large_string())
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    letters = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]]
    padded = np.concatenate([letters, np.zeros(8, np.uint8)])
    eight = np.ndarray(len(letters) + 1, "<u8", padded, strides=(1,))  # letters from each place on
    starts, left = ends[:-1] - ends[0], np.diff(ends)
    hashes = mixed(left)
    longer = np.flatnonzero(left > 0)
    while longer.size:
        words = eight[starts[longer]]
        over = (8 * np.maximum(8 - left[longer], 0)).astype(np.uint64)  # bits of the next text
        hashes[longer] = mixed(hashes[longer] ^ ((words << over) >> over))
        starts, left = starts + 8, left - 8
        longer = longer[left[longer] > 0]
    return hashes


class RowSample:
    """Texts of rows drawn at random: those whose numbers have the smallest hashes.

    What is frequent among the rows is frequent here too, which the distinct texts do not show.

    Parameters
    ----------
    most : int, default=20,000
        How many rows; of fewer, all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sample = RowSample()
    >>> sample.add(pa.array(["b", None, "a"]))
    >>> sample.texts.to_pylist()
    ['b', 'a']
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self.most = most
        self.texts: Any = None  # a pyarrow array, in the order of the rows
        self.rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, text: Any, rows: NDArray[np.int64] | None = None) -> None:
        """Take texts, null where there is none, and the numbers of their rows."""
        numbers = np.arange(len(text)) if rows is None else np.asarray(rows, dtype=np.int64)
        there = np.asarray(text.is_valid(), dtype=bool)
        self._join(text.drop_null(), numbers[there])

    def merge(self, other: RowSample) -> None:
        """Take the rows of another sample."""
        if other.texts is not None:
            self._join(other.texts, other.rows)

    def _join(self, text: Any, rows: Any) -> None:
        import pyarrow as pa

        if self.texts is not None:
            text = pa.concat_arrays([self.texts, text])
            rows = np.concatenate([self.rows, rows])
        kept = np.arange(len(rows))
        if len(rows) > self.most:
            kept = np.argpartition(mixed(rows), self.most - 1)[: self.most]
        order = kept[np.argsort(rows[kept], kind="stable")]
        self.texts, self.rows = text.take(pa.array(order)), rows[order]


class Examples:
    """How many cells of strings were read, how many hold something else, and the first of these.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = Examples()
    >>> cells.add(np.array([1.0, np.nan, np.nan]), pa.array(["1", "soon", ""]), first=4)
    >>> cells.read, cells.other, cells.row, cells.text
    (1, 1, 5, 'soon')
    """

    def __init__(self) -> None:
        self.read, self.other, self.row, self.text = 0, 0, -1, ""

    def add(self, values: NDArray[np.float64], cells: Any, first: int = 0) -> None:
        """Take what was read, NaN where a cell could not be, and the cells."""
        unread = np.flatnonzero(np.isnan(values))
        self.read += len(values) - len(unread)
        if not len(unread) or not is_string(cells.type):
            return
        text = as_text(cells.take(unread))
        wrong = np.flatnonzero(np.asarray(text.is_valid(), dtype=bool))
        if len(wrong):
            self._note(first + int(unread[wrong[0]]), text[int(wrong[0])].as_py(), len(wrong))

    def merge(self, other: Examples) -> None:
        """Take the counts of other cells."""
        self.read += other.read
        if other.other:
            self._note(other.row, other.text, other.other)

    def _note(self, row: int, text: str, count: int) -> None:
        if not self.other or row < self.row:
            self.row, self.text = row, text
        self.other += count
