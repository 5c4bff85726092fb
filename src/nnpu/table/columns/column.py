"""What every kind of column shares: cells are read once, then shown in two views.

A kind is a frozen dataclass of strings, numbers and lists, so it is JSON as it stands; only
text has arrays beside. `read` turns cells into values. `dense` gives what networks and linear
models take: standardised, without gaps. `raw` gives what trees take: plain numbers and category
codes, NaN where a cell is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from nnpu.data.cells import as_text, is_missing_word, is_string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = [
    "DAY",
    "Block",
    "Column",
    "Dropped",
    "Id",
    "Reading",
    "as_features",
    "percent",
    "read_once",
    "tolerant",
]

Block: TypeAlias = Any  # a float32 array, or a CSR one

DAY = 86_400.0  # seconds


def read_once(memory: dict[str, Any] | None, name: str, cells: Any, how: Any, read: Any) -> Any:
    """Return what `read` makes of the cells of a column, as it did the last time.

    Parameters
    ----------
    memory : dict or None
        What was read last of each column, as `nnpu.data.streams.Batch` keeps it for its cells.
    name : str
        The column.
    cells : pyarrow array
        Its cells; others than the last time are read again.
    how : tuple
        In which way they are read.
    read : callable
        Takes the cells.
    """
    if memory is None or not is_string(cells.type):
        return read(cells)
    last = memory.get(name)
    if last is None or last[0] is not cells or last[1] != how:
        memory[name] = last = (cells, how, read(cells))
    return last[2]


@dataclass(frozen=True)
class Reading:
    """The cells of a column, read.

    Parameters
    ----------
    values : ndarray
        What the kind makes of them; see there.
    unreadable : int
        Number of cells that hold something else than the column does.
    example : str
        The first of these, with its row: "row 6 is 'unknown'".
    wrong, cells : int
        Number of those that do not say "not known", and of all that hold something.
    complaint : str
        What to say if these are too many.
    zoned : bool or None
        Whether times have a zone; None if that cannot be told, or there are no times.
    """

    values: Any
    unreadable: int = 0
    example: str = ""
    wrong: int = 0
    cells: int = 0
    complaint: str = ""
    zoned: bool | None = None


@dataclass(frozen=True)
class Column(ABC):
    """A column of a table and what is done with it. Use one of its subclasses.

    Parameters
    ----------
    name : str
        The column.
    note : str
        What else should be known about its cells.
    seen : mapping, optional
        What the training rows held, to notice other data later; see `nnpu.table.columns.drift`.
    """

    name: str
    note: str = field(default="", kw_only=True)
    seen: Mapping[str, Any] | None = field(default=None, kw_only=True)
    kind: ClassVar[str] = ""

    @property
    def width(self) -> int:
        """Number of features in the dense view."""
        return 0

    @property
    def raw_names(self) -> list[str]:
        """Names of the features in the raw view: the column's own, if it has any feature."""
        return [self.name] if self.width else []

    @property
    def dense_names(self) -> list[str]:
        """Names of the features in the dense view; the second, if any, flags missing cells."""
        return [self.name, f"{self.name} (missing)"][: self.width]

    @property
    def is_category(self) -> bool:
        """Whether the raw view holds codes of categories."""
        return False

    @property
    def makes_words(self) -> bool:
        """Whether the raw view is sparse, a feature for each word."""
        return False

    @property
    def in_document(self) -> bool:
        """Whether the cells are a part of one document in the raw view, with other columns."""
        return False

    @abstractmethod
    def words(self) -> str:
        """Say in a few words what is done with the column."""

    def description(self) -> str:
        """Return `words` and the note."""
        return f"{self.words()}; {self.note}" if self.note else self.words()

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Read cells.

        Parameters
        ----------
        cells : pyarrow array
            The cells.
        first : int
            How many rows came before them.
        decimal : {".", ","}, optional
            Replaces the mark of `fit`.
        memory : dict, optional
            As in `read_once`.
        """
        return Reading(np.zeros((len(cells), 0)))

    def dense(self, values: Any) -> Block:
        """Return the dense view of values: float32, no gaps."""
        return np.zeros((len(values), 0), dtype=np.float32)

    def raw(self, values: Any) -> Any:
        """Return the raw view of values: float64, NaN for gaps."""
        return np.zeros((len(values), 0))

    def transform(self, cells: Any, first: int = 0) -> Block:
        """Read cells and return their dense view."""
        return self.dense(self.read(cells, first).values)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is too large for JSON."""
        return {}

    def with_seen(self, seen: Mapping[str, Any] | None) -> Self:
        """Return the column with a note of what the training rows held."""
        return replace(self, seen=seen)


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

    def words(self) -> str:
        """Say why."""
        old = self.reason == "you said so"  # as version 0.1.0 stored it
        return f"excluded ({'as requested' if old else self.reason})"


@dataclass(frozen=True)
class Id(Column):
    """A column that names the rows: copied to the predictions, not a feature."""

    kind: ClassVar[str] = "id"

    def words(self) -> str:
        """Say where it goes."""
        return "id: copied to the predictions"


def tolerant(
    column: Column, cells: Any, values: Any, unreadable: NDArray[np.bool_], first: int, what: str
) -> Reading:
    """Return what was read; cells that hold something else count as missing, if they are few.

    Words that say "not known" are not mistakes, however many there are.

    Parameters
    ----------
    column, cells, values, unreadable
        The column, its cells, what was read (NaN for gaps), and which cells could not be read.
    first : int
        Rows before these, for messages.
    what : str
        What a cell should be.
    """
    there = int((~np.isnan(values)).sum() + unreadable.sum())
    if not unreadable.any():
        return Reading(values, cells=there)
    text = as_text(cells)
    wrong = unreadable & ~is_missing_word(text)
    row = int(np.argmax(wrong if wrong.any() else unreadable))
    place, cell = f"row {first + row + 1}", repr(text[row].as_py()[:40])
    return Reading(
        values,
        int(unreadable.sum()),
        f"{place} is {cell}",
        wrong=int(wrong.sum()),
        cells=there,
        complaint=f"Column {column.name!r}, {place}: {cell} is not {what}, as the column was in "
        "fit; correct it or leave the cell empty.",
    )


def percent(part: int, whole: int) -> str:
    """Return a share for people, never rounded to all or to nothing.

    Examples
    --------
    >>> percent(9997, 10000), percent(999_999, 1_000_000), percent(1, 3)
    ('99.97 %', '99.99 %', '33 %')
    """
    share = 100 * part / whole
    if 1 <= share <= 99:
        return f"{share:.0f} %"
    if 0 < share < 100:
        return f"{min(max(round(share, 2), 0.01), 99.99):g} %"
    return f"{share:.0f} %"


def as_features(features: list[Any]) -> NDArray[np.float32]:
    """Return columns of numbers as one float32 block."""
    return np.column_stack(features).astype(np.float32)
