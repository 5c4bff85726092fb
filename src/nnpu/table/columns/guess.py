"""Which kind a column is, by its name, its type and its cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnpu.parameters import InputError
from nnpu.table.columns.cells import (
    as_numbers,
    as_text,
    check_type,
    dates_refused,
    is_plain,
    is_string,
)
from nnpu.table.columns.kinds import (
    BUCKETS,
    MOST_CATEGORIES,
    Boolean,
    Category,
    Column,
    Dropped,
    Number,
    Text,
)

__all__ = ["fit_column", "is_id"]

_ID_NAMES = {"", "id", "index", "key", "uuid", "unnamed: 0"}  # pandas writes its index as ""
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})
_DATE = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})"
    r"([ T]\d{1,2}:\d{2}.*)?$"
)


def is_id(name: str, cells: Any) -> bool:
    """Return whether a column names the rows: by its name, and because no value repeats.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_id("customer_id", pa.array(["a", "b"])), is_id("customer_id", pa.array(["a", "a"]))
    (True, False)
    """
    lower = name.lower()
    return (lower in _ID_NAMES or lower.endswith("_id")) and is_unique(cells)


def is_unique(cells: Any) -> bool:
    """Return whether every cell is there and no two are equal."""
    import pyarrow.compute as pc

    if not is_plain(cells.type):
        return False
    text = as_text(cells)
    return bool(text.null_count == 0 and pc.count_distinct(text).as_py() == len(text))


def fit_column(name: str, cells: Any, rows: Any) -> Column:
    """Choose the kind by all cells and fit it to the training rows.

    Parameters
    ----------
    name : str
        The column.
    cells : pyarrow array
        Its cells, of all rows: a kind that suited the training rows alone could fail on others.
    rows : ndarray of int
        The training rows.

    Raises
    ------
    InputError
        If the column holds dates, or something that is no cell at all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fit_column("age", pa.array(["31", "45", ""]), np.arange(3)).told()
    'number; a missing one becomes the median 38, and a column says so'
    """
    check_type(name, cells.type)
    training = cells.take(rows)
    if not is_string(cells.type):
        return _fit_typed(name, cells, training)
    text = as_text(cells)
    values = text.drop_null().unique()
    if len(values) == 0:
        return Dropped(name, "no cell has a value")
    if len(values) == 1 and text.null_count == 0:
        return Dropped(name, "every row has the same value")
    lower = {value.lower() for value in values[:3].to_pylist()}
    if len(values) <= 2 and any(lower <= names for names in _BOOLEANS):
        return Boolean.fit(name, training)
    if _are_numbers(values):
        as_numbers(cells, name)  # says which row holds one that is too large
        return Number.fit(name, training)
    _refuse_dates(name, values)
    return _fit_strings(name, text, values, training)


def _fit_typed(name: str, cells: Any, training: Any) -> Column:
    """Fit a column that is stored as numbers or booleans."""
    import pyarrow as pa

    if pa.types.is_null(cells.type) or cells.null_count == len(cells):
        return Dropped(name, "no cell has a value")
    if len(cells.unique()) == 1:
        return Dropped(name, "every row has the same value")
    if pa.types.is_boolean(cells.type):
        return Boolean.fit(name, training)
    as_numbers(cells, name)
    return Number.fit(name, training)


def _are_numbers(values: Any) -> bool:
    import pyarrow as pa

    try:
        values.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _refuse_dates(name: str, values: Any) -> None:
    import pyarrow.compute as pc

    looked_at = values[:1000]
    if pc.all(pc.match_substring_regex(looked_at, _DATE)).as_py():
        raise InputError(dates_refused(name, repr(looked_at[0].as_py())))


def _fit_strings(name: str, text: Any, values: Any, training: Any) -> Column:
    """Tell categories from sentences, and both from names that every row has to itself."""
    import pyarrow.compute as pc

    if len(values) > MOST_CATEGORIES:
        words = pc.mean(pc.add(pc.count_substring_regex(values, r"\s+"), 1)).as_py()
        if words >= 3:
            return Text(name, "word", BUCKETS)
        present = len(text) - text.null_count
        if len(values) > 0.9 * present:
            plain = np.asarray(pc.string_is_ascii(values)).mean() > 0.5
            if plain or pc.mean(pc.utf8_length(values)).as_py() < 10:
                return Dropped(name, "nearly every row has a value of its own")
            return Text(name, "char_wb", BUCKETS)  # a script without spaces
    return Category.fit(name, training)
