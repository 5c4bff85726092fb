"""Which kind a column is, by its name, its type and its cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.cells import as_text, check_type, is_missing_word, is_plain, is_string, is_temporal
from nnpu.data.streams import TOLERATED
from nnpu.parameters import InputError
from nnpu.table.columns.categories import (
    MOST_CATEGORIES,
    Boolean,
    Category,
    are_truth_words,
    as_truth,
)
from nnpu.table.columns.column import Column, Dropped, Id, percent
from nnpu.table.columns.numbers import (
    Number,
    as_numbers,
    decimal_mark,
    percent_cells,
    plain_numbers,
    spelled_numbers,
)
from nnpu.table.columns.summaries import Examples, Numbers, RowSample, Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CellSummary",
    "TrainingCells",
    "Treatment",
    "fit_column",
    "is_id",
    "is_named_like_an_id",
    "is_unique",
]

_ID_NAMES = {"", "id", "index", "key", "uuid", "rownames", "unnamed: 0"}  # indices of pandas and R
_ID_ENDING = re.compile(r"([_\-. ][iI][dD]|[a-z](Id|ID))$")  # customer_id, customerId
_NAMED = (  # of which ids are written as one word: paid, valid, fluid and grid are not ids
    "account acct app applicant article case claim client cust customer device doc document emp "
    "employee event gu hh household invoice item loan member message msg o object order p pat "
    "patient person policy product rec record resp respondent row sample seq session store "
    "student subj subject ticket trans transaction tx u unit user usubj visit"
)
_ID_WORD = re.compile(rf"^({'|'.join(_NAMED.split())})id$", re.IGNORECASE)
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
    >>> names = ("ID", "customer_id", "customerId", "customerid", "paid")
    >>> [is_named_like_an_id(name) for name in names]
    [True, True, True, True, False]
    """
    if name.lower() in _ID_NAMES:
        return True
    return any(pattern.search(name) is not None for pattern in (_ID_ENDING, _ID_WORD))


def is_unique(cells: Any) -> bool:
    """Return whether every cell is there and no two are equal."""
    import pyarrow.compute as pc

    if not is_plain(cells.type):
        return False
    text = as_text(cells)
    return bool(text.null_count == 0 and pc.count_distinct(text).as_py() == len(text))


def fit_column(
    name: str,
    cells: Any,
    rows: Any,
    decimal: str | None = None,
    memory: dict[str, Any] | None = None,
) -> Column:
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
    memory : dict, optional
        As in `nnpu.table.columns.column.read_once`.

    Raises
    ------
    InputError
        If the column holds lists, bytes or the like.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fit_column("age", pa.array(["31", "45", ""]), np.arange(3)).description()
    'number; missing cells get the median 38 and a flag'
    """
    found = CellSummary(name)
    found.add(cells, memory=memory)
    training = TrainingCells(found.treatment(decimal))
    training.add(cells, rows, memory=memory)
    return training.column()


class CellSummary:
    """What decides the kind of a column: its type, its gaps, its distinct texts, its range.

    Parameters
    ----------
    name : str
        The column.
    may_be_id : bool, default=False
        Whether it is to be known if its values repeat, even if it is not named like an id.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one, other = CellSummary("age"), CellSummary("age")
    >>> one.add(pa.array(["31", ""]))
    >>> other.add(pa.array(["unknown", "45"]), first=2)
    >>> one.merge(other)
    >>> one.treatment().kind
    'number'
    """

    def __init__(self, name: str, may_be_id: bool = False) -> None:
        self.name, self.type = name, "nothing"
        self._may_be_id = may_be_id or is_named_like_an_id(name)
        self.is_dictionary = False
        self.count, self.nulls, self.not_numbers = 0, 0, 0
        self.low, self.high = np.inf, -np.inf  # of what is stored as numbers or dates
        self.plain = True  # so far all strings were numbers without more
        self.texts = Texts()  # of strings, integers, and columns that are named like an id

    def add(self, cells: Any, first: int = 0, memory: dict[str, Any] | None = None) -> None:
        """Take cells; `first` rows stood before them.

        Raises
        ------
        InputError
            If they are lists, bytes or the like, not of the type of those before, or too large.
        """
        import pyarrow as pa

        check_type(self.name, cells.type)
        self.is_dictionary |= pa.types.is_dictionary(cells.type)
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        self._join_type(_family(cells.type))
        self.count += len(cells)
        self.nulls += cells.null_count
        if is_string(cells.type):
            values = plain_numbers(cells, self.name, memory) if self.plain else None
            self.plain = False
            if values is not None and not np.isinf(values).any():
                self.plain = int(np.isnan(values).sum()) == cells.null_count  # no word such as nan
                self._widen(values)
            self.texts.add(as_text(cells), first)
            return
        if self._may_be_id or self.is_dictionary or pa.types.is_integer(cells.type):
            self.texts.add(as_text(cells), first)
        if is_temporal(cells.type):
            from nnpu.table.columns.dates import stored_dates

            self._widen(stored_dates(cells))
        elif not pa.types.is_null(cells.type):
            self._widen(as_numbers(cells, self.name, first)[0])  # one may be too large

    def merge(self, other: CellSummary) -> None:
        """Take the cells of another summary of the column."""
        self._join_type(other.type)
        self.is_dictionary |= other.is_dictionary
        self.count += other.count
        self.nulls += other.nulls
        self.not_numbers += other.not_numbers
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.plain &= other.plain
        self.texts.merge(other.texts)

    def _join_type(self, found: str) -> None:
        both = {self.type, found} - {"nothing"}
        if len(both) > 1 and both != {"integer", "number"}:
            raise InputError(
                f"Column {self.name!r} is of two types: {' and '.join(sorted(both))}, in different "
                "batches of rows; give it one."
            )
        self.type = "number" if len(both) == 2 else (*both, "nothing")[0]

    def _widen(self, values: Any) -> None:
        gaps = np.isnan(values)
        self.not_numbers += int(gaps.sum())
        if not gaps.all():
            there = values[~gaps]
            self.low = min(self.low, float(there.min()))
            self.high = max(self.high, float(there.max()))

    @property
    def is_id(self) -> bool:
        """Whether the column names the rows: by its name, and because no value repeats."""
        if not (is_named_like_an_id(self.name) and self.texts.unique):
            return False
        return not (self.name == "" and self.count and _measured(self.texts.values))

    def treatment(self, decimal: str | None = None) -> Treatment:
        """Return what is to be done with the column.

        Parameters
        ----------
        decimal : {".", ","}, optional
            The decimal mark; by default the one that makes more of the cells numbers.
        """
        present = self.count - self.nulls
        few = min(_FEW, present / 2)
        if self.is_dictionary and 1 < self.texts.distinct <= few:
            return Treatment(self.name, "category")
        if self.type == "string":
            return _treat_strings(self, decimal)
        return self._treat_typed()

    def _treat_typed(self) -> Treatment:
        """Treat a column that is stored as numbers, dates or booleans."""
        if self.nulls == self.count:
            return Treatment(self.name, "dropped", reason=NO_VALUE)
        gaps = self.not_numbers - self.nulls  # NaN that are not null
        one_value = self.low == self.high and not self.not_numbers
        if one_value or (gaps == self.count):
            return Treatment(self.name, "dropped", reason=SAME)
        if self.type in ("boolean", "temporal"):
            return Treatment(self.name, "boolean" if self.type == "boolean" else "date")
        if self.type == "integer" and (special := _special_digits(self)) is not None:
            return special
        shares = not self.low < -1 and not self.high > 1  # if strings come later
        return Treatment(self.name, "number", shares=shares)


def _family(kind: Any) -> str:
    """Return what a pyarrow type is, in one of six words."""
    import pyarrow as pa

    if is_string(kind):
        return "string"
    if is_temporal(kind):
        return "temporal"
    tests = {
        "nothing": pa.types.is_null,
        "boolean": pa.types.is_boolean,
        "integer": pa.types.is_integer,
    }
    return next((name for name, test in tests.items() if test(kind)), "number")


@dataclass(frozen=True)
class Treatment:
    """What is to be done with a column, before the training rows are measured.

    Parameters
    ----------
    name : str
        The column.
    kind : {"boolean", "category", "date", "dropped", "id", "image", "number", "text"}
        See `nnpu.table.columns.column_plan.kind_named`.
    reason : str
        Why a column is dropped.
    decimal, shares, first_is_day, analyzer
        As in `Number`, `Date` and `Text`.
    note : str
        As in `Column`.
    noted : str
        What most cells are, if those that are not are to be mentioned in the note.
    """

    name: str
    kind: str
    reason: str = ""
    decimal: str = "."
    shares: bool = False
    first_is_day: bool | None = None
    analyzer: str = "word"
    note: str = ""
    noted: str = ""


class TrainingCells:
    """What a treated column needs to know of the training rows, and of the cells it cannot read.

    Parameters
    ----------
    treatment : Treatment
        What is to be done with the column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = TrainingCells(Treatment("age", "number"))
    >>> cells.add(pa.array(["31", "45", "99"]), rows=np.array([0, 1]))
    >>> cells.column().median
    38.0
    """

    def __init__(self, treatment: Treatment) -> None:
        self.treatment = treatment
        self.others = Examples()
        self.summary: Any = None  # Numbers, Days, Texts, or whether a cell is missing
        self.sample = RowSample()
        if treatment.kind == "number":
            self.summary = Numbers()
        elif treatment.kind == "date":
            from nnpu.table.columns.dates import Days

            self.summary = Days()
        elif treatment.kind == "category":
            self.summary = Texts()
        elif treatment.kind == "boolean":
            self.summary = False

    def add(
        self, cells: Any, rows: Any, first: int = 0, memory: dict[str, Any] | None = None
    ) -> None:
        """Take cells of all rows, of which `rows` are for training; `first` stood before them."""
        what, name = self.treatment, self.treatment.name
        if what.kind == "number":
            values = as_numbers(
                cells, name, first, what.decimal, shares=what.shares, memory=memory
            )[0]
        elif what.kind == "date":
            from nnpu.table.columns.dates import as_dates

            values = as_dates(cells, what.first_is_day, name, memory)[0]
        elif what.kind == "boolean":
            values = as_truth(cells, name, first)
            self.summary |= bool(np.isnan(values[rows]).any())
            return
        elif what.kind in ("category", "text"):
            text = as_text(cells.take(rows))
            if what.kind == "category":
                self.summary.add(text, first)
            if what.kind == "text" or len(text) > self.sample.most:
                self.sample.add(text, first + np.asarray(rows))
            return
        else:
            return
        self.summary.add(values[rows])
        if what.noted:
            self.others.add(values, cells, first)

    def merge(self, other: TrainingCells) -> None:
        """Take the cells of other rows of the column."""
        self.others.merge(other.others)
        self.sample.merge(other.sample)
        if self.treatment.kind == "boolean":
            self.summary |= other.summary
        elif self.summary is not None:
            self.summary.merge(other.summary)

    def column(self) -> Column:
        """Return the column, fitted."""
        what = self.treatment
        if what.kind == "dropped":
            return Dropped(what.name, what.reason)
        if what.kind == "id":
            return Id(what.name)
        if what.kind == "image":
            from nnpu.table.columns.matrices import Picture

            return Picture(what.name)
        if what.kind == "boolean":
            return Boolean(what.name, self.summary)
        if what.kind == "category":
            return _with_note(Category.of(what.name, self.summary, self.sample), what.note)
        if what.kind == "text":
            from nnpu.table.columns.text import Text

            return Text.fit(what.name, self.sample.texts, what.analyzer)
        note = _joined(what.note, self._others())
        if what.kind == "number":
            return Number.of(what.name, self.summary, what.decimal, note, shares=what.shares)
        from nnpu.table.columns.dates import Date

        return Date.of(what.name, self.summary, what.first_is_day, note)

    def _others(self) -> str:
        """Return a sentence about the cells that hold something else."""
        found = self.others
        if not self.treatment.noted or not found.other:
            return ""
        share = percent(found.read, found.read + found.other)
        return (
            f"{share} of the cells are {self.treatment.noted}; row {found.row + 1} is "
            f"{found.text[:40]!r} (read as missing)"
        )


def _with_note(column: Column, note: str) -> Column:
    return replace(column, note=_joined(column.note, note)) if note else column


def _treat_strings(cells: CellSummary, decimal: str | None) -> Treatment:
    """Tell truth, numbers and dates from words."""
    name, texts = cells.name, cells.texts
    if not texts.count:
        return Treatment(name, "dropped", reason=NO_VALUE)
    values = texts.values
    if texts.distinct == 1 and not texts.gaps:
        return Treatment(name, "dropped", reason=SAME)
    if texts.distinct <= 2 and are_truth_words(values.to_pylist()):
        return Treatment(name, "boolean")
    special = _special_digits(cells)
    if special is not None:
        return special
    probe = values.take(np.linspace(0, len(values) - 1, min(len(values), _PROBE)).astype(int))
    mark, remark = (decimal, "") if decimal else _decimal(probe)
    if cells.plain and mark == ".":
        shares = not cells.low < -1 and not cells.high > 1
        return Treatment(name, "number", decimal=mark, shares=shares, note=remark)
    if _are_some(spelled_numbers(probe, mark), probe):
        found = spelled_numbers(values, mark)
        if _mostly(np.isfinite(found), texts):
            shares, units = _shares(values, found)
            note = _joined(remark, units)
            return Treatment(
                name, "number", decimal=mark, shares=shares, note=note, noted="numbers"
            )
    if (dates := _treat_dates(cells, probe)) is not None:
        return dates
    words = _treat_words(cells)
    if decimal and len(values) >= _MANY_NUMBERS and (said := _by_other_mark(cells.texts, decimal)):
        if words.kind == "dropped":
            return replace(words, reason=said)
        if words.kind == "category":
            return replace(words, note=said)
    return words


def _by_other_mark(texts: Texts, decimal: str) -> str:
    """Say so if nearly all cells are numbers under the decimal mark that was not given."""
    other, name = (".", "point") if decimal == "," else (",", "comma")
    if not _mostly(np.isfinite(spelled_numbers(texts.values, other)), texts):
        return ""
    return f"its numbers have a decimal {name}, and decimal={decimal!r} was given"


def _treat_dates(cells: CellSummary, probe: Any) -> Treatment | None:
    """Return the treatment of dates if nearly all cells are dates."""
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(probe, r"\d")).as_py():
        return None  # every date has a digit
    from nnpu.table.columns.dates import day_first, spelled_dates

    values = cells.texts.values
    order, proven = day_first(values)
    if not _are_some(spelled_dates(probe, order), probe):
        return None
    if not _mostly(~np.isnan(spelled_dates(values, order)), cells.texts):
        return None
    note = _order_words(order, proven)
    return Treatment(cells.name, "date", first_is_day=order, note=note, noted="dates")


def _are_some(found: NDArray[np.float64], probe: Any) -> bool:
    """Return whether it is worth looking at all values: most of those looked at were read."""
    if not np.isnan(found).any():
        return True
    return bool((~np.isnan(found)).sum() >= 0.5 * (~is_missing_word(probe)).sum())


def _special_digits(cells: CellSummary) -> Treatment | None:
    """Return what digits are if not numbers: dates, codes, ids; None if they may be numbers."""
    import pyarrow.compute as pc

    values = cells.texts.values
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
            from nnpu.table.columns.dates import as_dates

            if not np.isnan(as_dates(values, None)[0]).any():
                return Treatment(cells.name, "date")
    lengths = pc.utf8_length(values)
    long = pc.quantile(lengths, 0.5)[0].as_py() >= 16 and not _is_time(cells.name)
    zeros = pc.any(pc.match_substring_regex(values, r"^0\d+$")).as_py()
    if not long and not zeros:
        return None
    return _treat_words(cells)


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


def _mostly(right: NDArray[np.bool_], texts: Texts) -> bool:
    """Return whether nearly all cells are of a kind.

    Words that say "not known" do not count against it.
    """
    if right.all():
        return True
    wrong = ~right & ~is_missing_word(texts.values)
    found, bad = int(texts.counts[right].sum()), int(texts.counts[wrong].sum())
    return found > 0 and bad <= TOLERATED * (found + bad)


def _order_words(order: bool | None, proven: bool) -> str:
    if order is None:
        return ""
    words = "day before month" if order else "month before day"
    return words if proven else f"{words} (assumed: no cell shows it)"


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _treat_words(cells: CellSummary) -> Treatment:
    """Tell categories from sentences, and both from names that every row has to itself."""
    import pyarrow.compute as pc

    name, values, distinct = cells.name, cells.texts.values, cells.texts.distinct
    if distinct > MOST_CATEGORIES:
        words = pc.mean(pc.add(pc.count_substring_regex(values, r"\s+"), 1)).as_py()
        if words >= 3:
            return Treatment(name, "text", analyzer="word")
        if distinct > 0.9 * cells.texts.count:
            plain = np.asarray(pc.string_is_ascii(values)).mean() > 0.5
            if plain or pc.mean(pc.utf8_length(values)).as_py() < 10:
                return Treatment(name, "dropped", reason=OWN)
            return Treatment(name, "text", analyzer="char_wb")  # a script without spaces
    note = _with_units(values) if distinct >= _MANY_NUMBERS else ""
    return Treatment(name, "category", note=note)


def _with_units(values: Any) -> str:
    """Say so if nearly all of the distinct strings are a number and a unit, or foreign digits."""
    import pyarrow.compute as pc

    unit = pc.match_substring_regex(values, _UNIT)
    if pc.mean(unit).as_py() < 1 - TOLERATED:
        return ""
    cell = values.filter(unit)[0].as_py()[:40]
    return f"taken for words: cells hold more than digits, such as {cell!r}"
