"""Which kind a column is, by its name, its type and its cells."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.streams import TOLERATED
from nnpu.table.columns.categories import MOST_CATEGORIES, Boolean, Category, are_truth_words
from nnpu.table.columns.column import (
    Column,
    Dropped,
    as_text,
    check_type,
    counted,
    is_missing_word,
    is_plain,
    is_string,
    is_temporal,
    percent,
)
from nnpu.table.columns.numbers import (
    Number,
    as_numbers,
    decimal_mark,
    percent_cells,
    spelled_numbers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "fit_column",
    "is_id",
    "is_named_like_an_id",
    "is_unique",
]

_ID_NAMES = {"", "id", "index", "key", "uuid", "rownames", "unnamed: 0"}  # indices of pandas and R
_ID_ENDING = re.compile(r"([_\-. ][iI][dD]|[a-z](Id|ID))$")  # customer_id, customerId
_TIME_NAMES = ("time", "date", "epoch", "stamp", "_at", "_ts", "_ns", "_us", "_ms")
_FEW = 1000  # distinct values up to which a column that is stored as categories has them
_PROBE = 5000  # distinct values that are looked at first
_MANY_NUMBERS = 20  # distinct strings such as 12.5 kg from which they are measurements, not codes
_UNIT = r"^[+-]?(\d+[.,]\d+\s*\pL{1,4}|[\d.,]+\s+\pL{1,4}|[\p{Nd}.,]*[^\P{Nd}0-9][\p{Nd}.,]*)$"
_LEAST_DATES = 3  # numbers such as 20240103 that must all be dates to be taken for dates
NO_VALUE = "no cell has a value"
SAME = "every row has the same value"
OWN = "nearly every row has a value of its own"


def is_id(name: str, cells: Any) -> bool:
    """Return whether a column names the rows: by its name, and because no value repeats.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_id("customer_id", pa.array(["a", "b"])), is_id("customer_id", pa.array(["a", "a"]))
    (True, False)
    """
    return is_named_like_an_id(name) and is_unique(cells) and not (name == "" and _measured(cells))


def _measured(cells: Any) -> bool:
    """Return whether there are fractions among the cells: an index of pandas or R has none."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(as_text(cells), r"^-?\d*\.\d*[1-9]")).as_py())


def is_named_like_an_id(name: str) -> bool:
    """Return whether a name says that the column is an id.

    Examples
    --------
    >>> [is_named_like_an_id(name) for name in ("ID", "customer_id", "customerId", "paid")]
    [True, True, True, False]
    """
    return name.lower() in _ID_NAMES or _ID_ENDING.search(name) is not None


def is_unique(cells: Any) -> bool:
    """Return whether every cell is there and no two are equal."""
    import pyarrow.compute as pc

    if not is_plain(cells.type):
        return False
    text = as_text(cells)
    return bool(text.null_count == 0 and pc.count_distinct(text).as_py() == len(text))


def fit_column(name: str, cells: Any, rows: Any, decimal: str | None = None) -> Column:
    """Choose the kind by all cells and fit it to the training rows.

    Parameters
    ----------
    name : str
        The column.
    cells : pyarrow array
        Its cells, of all rows: a kind that suited the training rows alone could fail on others.
    rows : ndarray of int
        The training rows.
    decimal : {".", ","}, optional
        The decimal mark; by default the one that makes more of the cells numbers.

    Raises
    ------
    InputError
        If the column holds lists, bytes or the like.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fit_column("age", pa.array(["31", "45", ""]), np.arange(3)).told()
    'number; missing cells get the median 38 and a flag'
    """
    import pyarrow as pa

    check_type(name, cells.type)
    if pa.types.is_dictionary(cells.type):
        present = len(cells) - cells.null_count
        if 1 < len(cells.unique().drop_null()) <= min(_FEW, present / 2):
            return Category.fit(name, cells.take(rows))
        cells = cells.dictionary_decode()
    if is_string(cells.type):
        return _fit_strings(name, cells, cells.take(rows), decimal)
    return _fit_typed(name, cells, cells.take(rows))


def _fit_typed(name: str, cells: Any, training: Any) -> Column:
    """Fit a column that is stored as numbers, dates or booleans."""
    import pyarrow as pa

    if pa.types.is_null(cells.type) or cells.null_count == len(cells):
        return Dropped(name, NO_VALUE)
    if len(cells.unique()) == 1:
        return Dropped(name, SAME)
    if pa.types.is_boolean(cells.type):
        return Boolean.fit(name, training)
    if is_temporal(cells.type):
        from nnpu.table.columns.dates import Date

        return Date.fit(name, training)
    if pa.types.is_integer(cells.type):
        text = as_text(cells)
        values, places = counted(text)
        if (special := _special_digits(name, text, values, places, training)) is not None:
            return special
    found, _ = as_numbers(cells, name)  # says which row holds one that is too large
    shares = bool((np.abs(found[~np.isnan(found)]) <= 1).all())  # if strings come later
    return Number.fit(name, training, shares=shares)


def _fit_strings(name: str, cells: Any, training: Any, decimal: str | None) -> Column:
    """Tell truth, numbers and dates from words."""
    text = as_text(cells)
    values, places = counted(text)
    if len(values) == 0:
        return Dropped(name, NO_VALUE)
    if len(values) == 1 and text.null_count == 0:
        return Dropped(name, SAME)
    if len(values) <= 2 and are_truth_words(values.to_pylist()):
        return Boolean.fit(name, training)
    special = _special_digits(name, text, values, places, training)
    if special is not None:
        return special
    probe = values.take(np.linspace(0, len(values) - 1, min(len(values), _PROBE)).astype(int))
    mark, remark = (decimal, "") if decimal else _decimal(probe)
    if _are_some(spelled_numbers(probe, mark), probe):
        found = spelled_numbers(values, mark)
        mostly, note = _mostly(np.isfinite(found), values, places, "numbers")
        if mostly:
            as_numbers(cells, name, decimal=mark)  # says which row holds one that is too large
            shares, units = _shares(values, found)
            return Number.fit(name, training, mark, _joined(remark, units, note), shares=shares)
    date = _as_dates(name, values, places, probe, training)
    return date or _fit_words(name, text, values, training)


def _as_dates(
    name: str, values: Any, places: NDArray[np.intp], probe: Any, training: Any
) -> Column | None:
    """Return a column of dates if nearly all cells are dates."""
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(probe, r"\d")).as_py():
        return None  # every date has a digit
    from nnpu.table.columns.dates import Date, day_first, spelled_dates

    order, proven = day_first(values)
    if not _are_some(spelled_dates(probe, order), probe):
        return None
    right = ~np.isnan(spelled_dates(values, order))
    mostly, note = _mostly(right, values, places, "dates")
    if not mostly:
        return None
    return Date.fit(name, training, order, _joined(_order_words(order, proven), note))


def _are_some(found: NDArray[np.float64], probe: Any) -> bool:
    """Return whether it is worth looking at all values: most of those looked at were read."""
    if not np.isnan(found).any():
        return True
    return bool((~np.isnan(found)).sum() >= 0.5 * (~is_missing_word(probe)).sum())


def _special_digits(
    name: str, text: Any, values: Any, places: NDArray[np.intp], training: Any
) -> Column | None:
    """Return what digits are if not numbers: dates, codes, ids; None if they may be numbers."""
    import pyarrow.compute as pc

    digits = np.asarray(pc.match_substring_regex(values, r"^\d+$"), dtype=bool)
    if not digits.all():
        if digits.mean() < 1 - TOLERATED:
            return None
        digits[is_missing_word(values)] = True
        if not digits.all():
            return None
    if len(values) >= _LEAST_DATES:
        eight = pc.match_substring_regex(values, r"^(19|20)\d{6}$")
        if pc.all(eight).as_py():
            from nnpu.table.columns.dates import Date, as_dates

            if not np.isnan(as_dates(values, None)[0]).any():
                return Date.fit(name, training)
    lengths = pc.utf8_length(values)
    long = pc.quantile(lengths, 0.5)[0].as_py() >= 16 and not _is_time(name)
    zeros = pc.any(pc.match_substring_regex(values, r"^0\d+$")).as_py()
    if not long and not zeros:
        return None
    return _fit_words(name, text, values, training)


def _is_time(name: str) -> bool:
    lower = name.lower()
    return any(part in lower for part in _TIME_NAMES) or lower == "ts"


def _shares(values: Any, found: NDArray[np.float64]) -> tuple[bool, str]:
    """Return whether 45 % is 0.45, and what to say if some cells have the sign and some not."""
    percent = percent_cells(values)
    bare = np.abs(found[~percent & np.isfinite(found)])
    shares = bool(bare.size and bare.max() <= 1)
    if not bare.size or not (percent & np.isfinite(found)).any():
        return shares, ""
    row = int(np.argmax(percent & np.isfinite(found)))
    value = found[row] / (100 if shares else 1)
    unit = "shares" if shares else "percent"
    return shares, (
        f"cells without a percent sign are taken for {unit}: {values[row].as_py()[:40]!r} is read "
        f"as {value:g}"
    )


def _decimal(values: Any) -> tuple[str, str]:
    """Return the decimal mark of strings, and what to say if it could be the other."""
    import pyarrow.compute as pc

    mark = decimal_mark(values)
    if mark == ",":
        return mark, ""
    if pc.any(pc.match_substring_regex(values, r"^\D*[1-9]\d{0,2}(,\d{3})+\D*$")).as_py():
        by_comma = pc.all(pc.match_substring_regex(values, r"^\D*[1-9]\d{0,2},\d{3}\D*$")).as_py()
        return mark, "',' is read as the thousands separator" if by_comma else ""
    pointed = pc.match_substring_regex(values, r"^\D*[1-9]\d{0,2}\.\d{3}\D*$")
    whole = pc.match_substring_regex(values, r"^\D*\d{1,3}\D*$")
    either = pc.all(pc.or_(pointed, whole)).as_py()
    if either and pc.sum(pointed).as_py() >= 10 and pc.any(whole).as_py():
        return ",", "'.' is read as the thousands separator"  # 850, then 1.234
    if either and pc.any(pointed).as_py():  # 45.000: no cell has other than three decimals
        return mark, "'.' is read as the decimal mark; if it separates thousands, use --decimal ,"
    return mark, ""


def _mostly(
    right: NDArray[np.bool_], values: Any, places: NDArray[np.intp], what: str
) -> tuple[bool, str]:
    """Return whether nearly all cells are of a kind, and a sentence about those that are not.

    Words that say "not known" do not count against it.
    """
    if right.all():
        return True, ""
    rows = np.bincount(places[places >= 0], minlength=len(values))
    wrong = ~right & ~is_missing_word(values)
    found, bad = int(rows[right].sum()), int(rows[wrong].sum())
    if found == 0 or bad > TOLERATED * (found + bad):
        return False, ""
    row = int(np.argmax(np.append(~right, False)[places]))
    cell = values[int(places[row])].as_py()[:40]
    return True, (
        f"{percent(found, int(rows.sum()))} of the cells are {what}; row {row + 1} is {cell!r} "
        "(read as missing)"
    )


def _order_words(order: bool | None, proven: bool) -> str:
    if order is None:
        return ""
    words = "day before month" if order else "month before day"
    return words if proven else f"{words} (assumed: no cell shows it)"


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _fit_words(name: str, text: Any, values: Any, training: Any) -> Column:
    """Tell categories from sentences, and both from names that every row has to itself."""
    import pyarrow.compute as pc

    if len(values) > MOST_CATEGORIES:
        from nnpu.table.columns.text import Text

        words = pc.mean(pc.add(pc.count_substring_regex(values, r"\s+"), 1)).as_py()
        if words >= 3:
            return Text.fit(name, training, "word")
        present = len(text) - text.null_count
        if len(values) > 0.9 * present:
            plain = np.asarray(pc.string_is_ascii(values)).mean() > 0.5
            if plain or pc.mean(pc.utf8_length(values)).as_py() < 10:
                return Dropped(name, OWN)
            return Text.fit(name, training, "char_wb")  # a script without spaces
    column = Category.fit(name, training)
    if len(values) >= _MANY_NUMBERS and (note := _with_units(values)):
        return replace(column, note=_joined(column.note, note))
    return column


def _with_units(values: Any) -> str:
    """Say so if nearly all of the distinct strings are a number and a unit, or foreign digits."""
    import pyarrow.compute as pc

    unit = pc.match_substring_regex(values, _UNIT)
    if pc.mean(unit).as_py() < 1 - TOLERATED:
        return ""
    cell = values.filter(unit)[0].as_py()[:40]
    return f"taken for words: cells hold more than digits, such as {cell!r}"
