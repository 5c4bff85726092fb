"""What can be done with a column: each kind is fitted, applied, told, and stored as plain values.

A kind is a frozen dataclass of strings, numbers and lists, so that it is JSON as it stands.
Every kind maps cells to a block of shape (n, width); what `fit` never saw becomes zeros or the
column's "other".
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy import sparse

from nnpu.parameters import InputError
from nnpu.table.columns.cells import LARGEST, as_numbers, as_text, as_truth, distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Boolean", "Category", "Column", "Dropped", "Id", "Matrix", "Number", "Text"]

Block: TypeAlias = Any  # a float32 array, or a CSR one

MOST_CATEGORIES = 50
BUCKETS = 1 << 13  # of hashed text; a power of two spreads evenly


@dataclass(frozen=True)
class Column(ABC):
    """A column of a table and what is done with it. Not to be used itself.

    Parameters
    ----------
    name : str
        The column.
    """

    name: str
    kind: ClassVar[str] = ""

    @property
    def width(self) -> int:
        """Number of features that it becomes."""
        return 0

    @abstractmethod
    def told(self) -> str:
        """Say in a few words what is done with the column."""

    def transform(self, cells: Any, first: int = 0) -> Block:
        """Return the features of some cells; `first` rows came before them."""
        return np.zeros((len(cells), 0), dtype=np.float32)


@dataclass(frozen=True)
class Dropped(Column):
    """A column that is not used.

    Parameters
    ----------
    reason : str
        Why.
    """

    reason: str
    kind: ClassVar[str] = "dropped"

    def told(self) -> str:
        """Say why."""
        return f"left out: {self.reason}"


@dataclass(frozen=True)
class Id(Column):
    """A column that names the rows: passed through to the predictions, no feature."""

    kind: ClassVar[str] = "id"

    def told(self) -> str:
        """Say where it goes."""
        return "id: passed through to the predictions"


@dataclass(frozen=True)
class Number(Column):
    """A column of numbers, standardised; a missing one becomes the median.

    Parameters
    ----------
    median, centre, scale : float
        Of the training rows: what fills a gap, and the mean and standard deviation.
    missing : bool
        Whether a second feature says that the cell was missing.
    """

    median: float
    centre: float
    scale: float
    missing: bool
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.median + self.centre + self.scale) and self.scale > 0):
            raise ValueError(f"column {self.name!r}: its numbers must be finite")

    @classmethod
    def fit(cls, name: str, cells: Any) -> Self | Dropped:
        """Measure the training rows."""
        values = as_numbers(cells, name)
        there = values[~np.isnan(values)]
        if not there.size:
            return Dropped(name, "no cell has a value")
        spread = float(there.std())
        return cls(
            name,
            float(np.median(there)),
            float(there.mean()),
            spread if spread > 0 else 1.0,
            there.size < values.size,
        )

    @property
    def width(self) -> int:
        """One, or two with the indicator."""
        return 1 + self.missing

    def told(self) -> str:
        """Say what a missing number becomes."""
        extra = ", and a column says so" if self.missing else ""
        return f"number; a missing one becomes the median {self.median:g}{extra}"

    def transform(self, cells: Any, first: int = 0) -> Block:
        """Fill the gaps and standardise."""
        values = as_numbers(cells, self.name, first)
        gaps = np.isnan(values)
        with np.errstate(over="ignore"):  # cut off below
            filled = (np.where(gaps, self.median, values) - self.centre) / self.scale
        filled = filled.clip(-LARGEST, LARGEST)
        return _stack([filled, gaps] if self.missing else [filled])


@dataclass(frozen=True)
class Boolean(Column):
    """A column of true and false, yes and no.

    Parameters
    ----------
    missing : bool
        Whether a second feature says that the cell was missing.
    """

    missing: bool
    kind: ClassVar[str] = "boolean"

    @classmethod
    def fit(cls, name: str, cells: Any) -> Self:
        """See whether cells are missing."""
        return cls(name, bool(np.isnan(as_truth(cells, name)).any()))

    @property
    def width(self) -> int:
        """One, or two with the indicator."""
        return 1 + self.missing

    def told(self) -> str:
        """Say what a missing cell becomes."""
        return "yes or no" + ("; a column says where it is missing" if self.missing else "")

    def transform(self, cells: Any, first: int = 0) -> Block:
        """1 for true, 0 for false and missing."""
        values = as_truth(cells, self.name, first)
        gaps = np.isnan(values)
        return _stack([np.where(gaps, 0.0, values), gaps] if self.missing else [values == 1])


@dataclass(frozen=True)
class Category(Column):
    """A column of few distinct strings: one feature each.

    Parameters
    ----------
    values : list of str
        The values with a feature of their own, the most frequent first.
    other, missing : bool
        Whether the rarer ones share a feature, and whether missing cells have one. A value that
        was never seen goes to the shared feature, or else has zeros everywhere.
    """

    values: list[str]
    other: bool
    missing: bool
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        if not all(isinstance(value, str) for value in self.values):
            raise TypeError(f"column {self.name!r}: its values must be strings")

    @classmethod
    def fit(cls, name: str, cells: Any) -> Self | Dropped:
        """Keep the values that occur often enough: twice, and in one row of 2,000."""
        values, places = distinct(cells)
        counts = np.bincount(places[places >= 0], minlength=len(values))
        least = max(2, -(-len(places) // 2000))
        order = sorted(range(len(values)), key=lambda place: (-counts[place], values[place]))
        kept = [values[place] for place in order if counts[place] >= least][:MOST_CATEGORIES]
        if not kept:
            return Dropped(name, "no value occurs often enough to learn from")
        return cls(name, kept, len(kept) < len(values), bool((places < 0).any()))

    @property
    def width(self) -> int:
        """One for each value, one for the others, one for missing cells."""
        return len(self.values) + self.other + self.missing

    def told(self) -> str:
        """Say how many."""
        parts = [f"{len(self.values)} {'categories' if len(self.values) > 1 else 'category'}"]
        parts += ["rarer ones together"] if self.other else []
        parts += ["missing as one more"] if self.missing else []
        return ", ".join(parts)

    def transform(self, cells: Any, first: int = 0) -> Block:
        """One-hot."""
        values, places = distinct(cells)
        own = {value: number for number, value in enumerate(self.values)}
        unseen = len(self.values) if self.other else self.width  # the last is cut off below
        features = [own.get(value, unseen) for value in values]
        features.append(self.width - 1 if self.missing else self.width)
        block = np.zeros((len(places), self.width + 1), dtype=np.float32)
        block[np.arange(len(places)), np.array(features)[places]] = 1
        return block[:, :-1]


@dataclass(frozen=True)
class Text(Column):
    """A column of sentences: n-grams, hashed to a fixed number of features.

    Parameters
    ----------
    analyzer : {"word", "char_wb"}
        Words and pairs of words, or runs of three to five characters.
    buckets : int
        Number of features.
    """

    analyzer: str
    buckets: int
    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        if self.analyzer not in ("word", "char_wb") or not 1 <= int(self.buckets) <= 1 << 24:
            raise ValueError(f"column {self.name!r}: no such text features")

    @property
    def width(self) -> int:
        """The number of buckets."""
        return self.buckets

    def told(self) -> str:
        """Say what of."""
        what = "words and pairs of words" if self.analyzer == "word" else "runs of characters"
        return f"text: {what} in {self.buckets:,} hashed columns"

    def transform(self, cells: Any, first: int = 0) -> Block:
        """Hash; a missing text is an empty one."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(
            n_features=self.buckets,
            analyzer=self.analyzer,
            ngram_range=(1, 2) if self.analyzer == "word" else (3, 5),
            token_pattern=r"(?u)\b\w+\b",
            dtype=np.float32,
        )
        return sparse.csr_array(hashing.transform(as_text(cells).fill_null("").to_pylist()))


@dataclass(frozen=True)
class Matrix(Column):
    """An array of an NPZ file, or the rows of an SVMlight file: features as they are.

    Parameters
    ----------
    features : int
        Number of features, all dimensions but the first multiplied.
    is_sparse : bool
        Whether most of them are zero and not stored.
    """

    features: int
    is_sparse: bool
    kind: ClassVar[str] = "matrix"

    @classmethod
    def fit(cls, name: str, cells: Any) -> Self:
        """Take the shape."""
        width = math.prod(cells.shape[1:])
        return cls(name, int(width), sparse.issparse(cells))

    @property
    def width(self) -> int:
        """The number of features."""
        return self.features

    def told(self) -> str:
        """Say how many."""
        return f"{self.features:,} {'sparse ' if self.is_sparse else ''}features, as they are"

    def transform(self, cells: Any, first: int = 0) -> Block:
        """Check the shape and the values."""
        width = math.prod(cells.shape[1:])
        if sparse.issparse(cells) and self.is_sparse and width <= self.features:
            # The text does not say how many features there are: the last ones may be all zero.
            block: Block = sparse.csr_array(cells, dtype=np.float32)
            block.resize((cells.shape[0], self.features))
            values = block.data
        elif width == self.features and not sparse.issparse(cells) and not self.is_sparse:
            if np.asarray(cells).dtype.kind not in "biuf":
                raise InputError(f"{self.name!r} holds {cells.dtype} values; save numbers.")
            with np.errstate(over="ignore"):  # told below
                block = np.asarray(cells).reshape(len(cells), -1).astype(np.float32)
            values = block
        else:
            raise InputError(
                f"{self.name!r} has {width:,} features instead of {self.features:,}, the number "
                "in fit."
            )
        if not np.isfinite(values).all():
            raise InputError(
                f"{self.name!r} holds missing, infinite or too large values; fill them in first, "
                "or save the table as CSV, where missing cells are filled in."
            )
        return block


#: The kinds by the name they are stored under.
KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Dropped, Id, Number, Boolean, Category, Text, Matrix)
}


def _stack(features: list[Any]) -> NDArray[np.float32]:
    return np.column_stack(features).astype(np.float32)
