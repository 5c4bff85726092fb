"""The label column: which cells say that a row is a known positive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError
from nnpu.table.columns.cells import check_type, distinct
from nnpu.table.columns.truth import FALSE, TRUE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["label_codes"]


def label_codes(cells: Any, name: str, source: str, first: int = 0) -> NDArray[np.int8]:
    """Return PU labels: 1 for 1/true/yes, 0 for 0/false/no and missing cells, −1 for −1.

    Parameters
    ----------
    cells : pyarrow array
        The label column.
    name, source, first : str, str, int
        Name of the column, of the file, and number of rows before these, for messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> label_codes(pa.array(["yes", "", "0", "-1"]), "s", "table.csv")
    array([ 1,  0,  0, -1], dtype=int8)
    """
    import pyarrow as pa

    check_type(name, cells.type)
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    values, inverse = distinct(cells, none_is_missing=True)
    codes = [_label(value) for value in values]
    if None in codes:
        wrong = codes.index(None)
        row = first + int(np.argmax(inverse == wrong)) + 1
        raise InputError(
            f"{source}: the label column {name!r} holds {values[wrong]!r} (row {row}); a label is "
            "1/true/yes, or 0/false/no/empty for unknown, or -1 for a known negative."
        )
    return np.array([*codes, 0], dtype=np.int8)[inverse]


def _label(value: str) -> int | None:
    lower = value.lower()
    if lower in TRUE or lower in FALSE:
        return int(lower in TRUE)
    try:
        number = float(lower)
    except ValueError:
        return None
    return int(number) if number in (1, 0, -1) else None
