"""Categories and yes-or-no: a feature each for networks, a code each for trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nnpu.data.cells import (
    as_text,
    by_frequency,
    codes_of,
    distinct,
    is_missing_word,
    is_string,
)
from nnpu.parameters import InputError
from nnpu.table.columns.column import Block, Column, Dropped, Reading, as_features
from nnpu.table.columns.summaries import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nnpu.table.columns.summaries import RowSample

__all__ = [
    "FALSE",
    "MOST_CATEGORIES",
    "TRUE",
    "Boolean",
    "Category",
    "are_truth_words",
    "as_truth",
]

MOST_CATEGORIES = 50  # with a feature of their own
MOST_CODES = 1000  # with a code of their own


@dataclass(frozen=True)
class Category(Column):
    """A column of few distinct strings.

    Parameters
    ----------
    values : list of str
        The values with a feature of their own in the dense view, the most frequent first.
    other, missing : bool
        Whether the rarer ones share a feature, and whether missing cells have one. A value that
        the training did not have goes to the shared feature, or else has zeros everywhere.
    more : list of str
        Further values that have a code of their own in the raw view.
    none_is_missing : bool
        Whether "none" is a missing cell, as it was in version 0.1.0.
    """

    values: list[str]
    other: bool
    missing: bool
    more: list[str] | None = None
    none_is_missing: bool = True
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        if not all(isinstance(value, str) for value in [*self.values, *(self.more or [])]):
            raise TypeError(f"column {self.name!r}: its values must be strings")

    @classmethod
    def fit(cls, name: str, cells: Any, note: str = "") -> Self | Dropped:
        """Keep the values that occur often enough: twice, and in one row of 2,000."""
        texts = Texts()
        texts.add(as_text(cells))
        return cls.of(name, texts, note=note)

    @classmethod
    def of(
        cls, name: str, texts: Texts, sample: RowSample | None = None, note: str = ""
    ) -> Self | Dropped:
        """Return the column of the training rows' texts.

        Parameters
        ----------
        name : str
            The column.
        texts : Texts
            Their counts.
        sample : RowSample, optional
            Some rows, which are counted if not all texts are.
        note : str
            As in `Column`.
        """
        counted, share = texts, 1.0
        if sample is not None and not texts.exact:
            counted = Texts()
            counted.add(sample.texts)
            share = counted.count / texts.count
        values = counted.values.to_pylist() if counted.values is not None else []
        twice = by_frequency(values, counted.counts, least=2)
        least = math.ceil((texts.count + texts.gaps) * share / 2000)
        kept = sum(int(counted.counts[place]) >= least for place in twice[:MOST_CATEGORIES])
        if not kept:
            return Dropped(name, "no value occurs often enough to learn from")
        codes = [values[place] for place in twice[:MOST_CODES]]
        other = kept < texts.distinct
        return cls(name, codes[:kept], other, texts.gaps > 0, codes[kept:], False, note=note)

    @property
    def width(self) -> int:
        """One for each value, one for the others, one for missing cells."""
        return len(self.values) + self.other + self.missing

    @property
    def dense_names(self) -> list[str]:
        """One for each value, one for the others, one for missing cells."""
        names = [f"{self.name}={value}" for value in self.values]
        names += [f"{self.name} (other)"] if self.other else []
        return names + ([f"{self.name} (missing)"] if self.missing else [])

    @property
    def codes(self) -> list[str]:
        """The values with a code of their own, by code; the next code is that of all others."""
        return [*self.values, *(self.more or [])]

    @property
    def is_category(self) -> bool:
        """True."""
        return True

    def words(self) -> str:
        """Say how many."""
        number = len(self.codes)
        parts = [f"{number:,} {'categories' if number > 1 else 'category'}"]
        parts += ["rare ones merged"] if self.other else []
        parts += ["missing is a category of its own"] if self.missing else []
        return ", ".join(parts)

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Return codes: one past the last for all other values, −1 for missing cells."""
        return Reading(codes_of(cells, self.codes, none_is_missing=self.none_is_missing))

    def dense(self, values: Any) -> Block:
        """One-hot."""
        n, last = len(self.values), self.width  # the last is cut off below
        place: NDArray[np.intp] = np.minimum(values, n)  # codes beyond are the rarer ones
        place = np.where(place == n, n if self.other else last, place)
        place = np.where(values < 0, last - 1 if self.missing else last, place)
        block = np.zeros((len(values), last + 1), dtype=np.float32)
        block[np.arange(len(values)), place] = 1
        return block[:, :-1]

    def raw(self, values: Any) -> Any:
        """Return codes, NaN for missing cells and, where no rare value was seen, unseen ones."""
        unknown = (values < 0) | ((values == len(self.codes)) & (not self.other))
        return np.where(unknown, np.nan, values)[:, None]


_WORDS = (
    "true/false yes/no t/f y/n ja/nein j/n ja/nee wahr/falsch oui/non vrai/faux si/no sí/no sì/no "
    "sim/não on/off"
)
_PAIRS = tuple(tuple(pair.split("/")) for pair in _WORDS.split())
TRUE = frozenset(yes for yes, _ in _PAIRS)
FALSE = frozenset(no for _, no in _PAIRS)


def are_truth_words(values: Iterable[str]) -> bool:
    """Return whether strings are one or both words of a pair such as yes and no.

    Examples
    --------
    >>> are_truth_words(["Yes", "no"]), are_truth_words(["yes", "off"])
    (True, False)
    """
    words = {value.lower() for value in values}
    return any(words <= set(pair) for pair in _PAIRS)


def as_truth(cells: Any, name: str, first: int = 0) -> NDArray[np.float64]:
    """Return yes/no cells as 1 and 0, a missing one as NaN.

    Raises
    ------
    InputError
        If a cell says neither.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_truth(pa.array(["Yes", "no", "", "1", "Nein"]), "smoker")
    array([ 1.,  0., nan,  1.,  0.])
    >>> as_truth(pa.array(["yes", "rarely"]), "smoker")
    Traceback (most recent call last):
    nnpu.parameters.InputError: Column 'smoker', row 2: 'rarely' is neither yes nor no (nor
    true/false, 1/0), as the column was in fit; correct it or leave the cell empty.
    """
    import pyarrow as pa

    if not is_string(cells.type):
        numbers = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        wrong = ~(np.isnan(numbers) | (numbers == 0) | (numbers == 1))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise _neither(name, first + row, f"{numbers[row]:g}")
        return np.asarray(numbers, dtype=np.float64)
    values, places = distinct(cells, none_is_missing=True)
    codes = [_truth(value) for value in values]
    unknown = is_missing_word(pa.array(values, pa.large_string()))
    for place, (value, code) in enumerate(zip(values, codes, strict=True)):
        if code is None and not unknown[place]:
            raise _neither(name, first + int(np.argmax(places == place)), value)
    plain = [np.nan if code is None else code for code in codes]
    return np.array([*plain, np.nan])[places]


def _truth(value: str) -> float | None:
    lower = value.lower()
    if lower in TRUE or lower in FALSE:
        return float(lower in TRUE)
    try:
        number = float(lower)
    except ValueError:
        return None
    return number if number in (0, 1) else None


def _neither(name: str, row: int, cell: str) -> InputError:
    return InputError(
        f"Column {name!r}, row {row + 1}: {cell[:40]!r} is neither yes nor no (nor true/false, "
        "1/0), as the column was in fit; correct it or leave the cell empty."
    )


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

    def words(self) -> str:
        """Say what a missing cell becomes."""
        return "yes or no" + ("; missing cells get a flag" if self.missing else "")

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Return 1, 0 and NaN."""
        return Reading(as_truth(cells, self.name, first))

    def dense(self, values: Any) -> Block:
        """1 for true, 0 for false and missing."""
        gaps = np.isnan(values)
        return as_features([np.where(gaps, 0.0, values), gaps] if self.missing else [values == 1])

    def raw(self, values: Any) -> Any:
        """Return 1, 0 and NaN."""
        return values[:, None]
