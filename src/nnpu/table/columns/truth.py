"""Yes and no, in the usual spellings of the usual languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nnpu.parameters import InputError
from nnpu.table.columns.cells import distinct, is_missing_word, is_string
from nnpu.table.columns.column import Block, Column, Reading, as_features

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["FALSE", "TRUE", "Boolean", "are_truth_words", "as_truth"]

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

    def read(self, cells: Any, first: int = 0, decimal: str | None = None) -> Reading:
        """Return 1, 0 and NaN."""
        return Reading(as_truth(cells, self.name, first))

    def dense(self, values: Any) -> Block:
        """1 for true, 0 for false and missing."""
        gaps = np.isnan(values)
        return as_features([np.where(gaps, 0.0, values), gaps] if self.missing else [values == 1])

    def raw(self, values: Any) -> Any:
        """Return 1, 0 and NaN."""
        return values[:, None]
