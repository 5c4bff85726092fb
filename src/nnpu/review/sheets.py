"""Review sheets: drawn rows as a CSV file with an empty column `answer`, and the answers back.

A sheet says itself which draw it is: its column `review` holds the number of the draw, its
purpose, how many rows were drawn of how many, how many could be drawn and the sum of their
probabilities, digests of ids and model, and the place of the row in the draw, so that sorting
does no harm.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os

    from nnpu.review.draws import Draw, IntArray, Purpose

__all__ = [
    "COLUMNS",
    "Sheet",
    "Stamp",
    "cells",
    "digest",
    "holds_answers",
    "parse_answer",
    "parse_purpose",
    "read_sheets",
    "sheet_text",
]

#: The columns of a sheet; those of the table follow.
COLUMNS = ("answer", "id", "probability", "reasons", "chance", "review")
_NEEDED = ("answer", "id", "probability", "chance", "review")

_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_WORDS: dict[str, float | None] = {
    **dict.fromkeys(("yes", "y", "1", "1.0", "true", "t"), 1.0),
    **dict.fromkeys(("no", "n", "0", "0.0", "false", "f"), 0.0),
    **dict.fromkeys(("?", "don't know", "dont know", "dk", "unknown", "unsure"), float("nan")),
    "": None,
}


def parse_answer(cell: str) -> float | None:
    """Return 1, 0, NaN for don't know, or None for a cell that is not filled in.

    >>> parse_answer(" Yes"), parse_answer("n"), parse_answer("?"), parse_answer("")
    (1.0, 0.0, nan, None)
    """
    word = cell.strip().lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if word not in _WORDS:
        raise ValueError(cell)
    return _WORDS[word]


def parse_purpose(text: str) -> Purpose:
    """Return a purpose, or the shares of a mixture.

    >>> parse_purpose("finding=0.3+estimate=0.7")
    {'finding': 0.3, 'estimate': 0.7}
    """
    if "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split("+"))
    try:
        return {name.strip(): float(share) for name, _, share in pairs}
    except ValueError:
        raise InputError(
            f"The purpose {text!r} is not understood. Write finding=0.3+estimate=0.7, say."
        ) from None


def digest(values: Iterable[Any]) -> str:
    """Return a short digest of some values, whatever their order.

    >>> digest(["a", "b"]) == digest(["b", "a"]) != digest(["a", "c"])
    True
    """
    whole = hashlib.sha256()
    for value in sorted(str(value) for value in values):
        whole.update(value.encode() + b"\0")
    return whole.hexdigest()[:12]


@dataclass(frozen=True)
class Stamp:
    """What a sheet says about the draw that it holds.

    Examples
    --------
    >>> stamp = Stamp(2, {"finding": 0.3, "estimate": 0.7}, 100, 5000, 4200, 731.25, "ab12", "")
    >>> str(stamp)
    '2|finding=0.3+estimate=0.7|100|5000|4200|731.25|ab12|'
    >>> Stamp.parse(str(stamp)) == stamp
    True
    """

    number: int
    purpose: Purpose
    size: int
    N: int
    left: int
    expected: float
    ids: str
    model: str

    def __str__(self) -> str:
        purpose = self.purpose
        if isinstance(purpose, Mapping):
            purpose = "+".join(f"{name}={share!r}" for name, share in purpose.items())
        sizes = self.size, self.N, self.left, self.expected
        return "|".join(map(str, (self.number, purpose, *sizes, self.ids, self.model)))

    @classmethod
    def parse(cls, text: str) -> Stamp:
        """Read a stamp, or raise `ValueError`."""
        number, purpose, size, n_rows, left, expected, ids, model = text.split("|")
        sizes = int(size), int(n_rows), int(left), float(expected)
        return cls(int(number), parse_purpose(purpose), *sizes, ids, model)


@dataclass
class Sheet:
    """The rows of one draw as they came back, in the order of the draw."""

    stamp: Stamp
    source: str
    places: list[int]
    ids: list[str]
    probability: list[float]
    chance: list[float]
    answers: list[float | None]
    notes: list[str]


def sheet_text(
    drawn: Draw,
    stamp: Stamp,
    ids: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    reasons: Sequence[str] | None,
    *,
    escape: bool = True,
) -> str:
    """Return the CSV text of a draw.

    A table's column that has one of our names gets a suffix. `escape` puts an apostrophe before
    words that a spreadsheet would run as a formula.
    """
    safe = _safe if escape else str
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f"{name} (table)" if name in COLUMNS else name for name in columns]
    writer.writerow([*COLUMNS, *map(safe, names)])
    for i, row in enumerate(drawn.rows):
        why = safe(reasons[i]) if reasons is not None else ""
        ours = [
            "",
            safe(ids[row]),
            repr(float(drawn.probability[i])),
            why,
            repr(float(drawn.chance[i])),
        ]
        writer.writerow([*ours, f"{stamp}|{i}", *(safe(values[i]) for values in columns.values())])
    return text.getvalue()


def _safe(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula; numbers stay as they are."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def read_sheets(path: str | os.PathLike[str]) -> list[Sheet]:
    """Read a sheet, or several one below the other, and refuse what cannot be matched."""
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 text: save it as CSV UTF-8.") from error
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}.") from error
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = next(rows, [])
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise InputError(
            f"{source} is not a review sheet: it has no column {', '.join(missing)}. Write it with "
            "--out, and change nothing but the column answer."
        )
    at = {name: names.index(name) for name in _NEEDED}
    sheets: dict[str, Sheet] = {}
    for cells_ in rows:
        if any(cells_) and cells_ != names:  # blank lines, and headers of sheets put together
            _add(sheets, cells_, at, f"{source}, line {rows.line_num}", source)
    if not sheets:
        raise InputError(f"{source} has no rows.")
    return [_complete(sheet) for sheet in sheets.values()]


def holds_answers(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a sheet in which something is answered."""
    if not Path(path).is_file():
        return False
    try:
        return any(value is not None for sheet in read_sheets(path) for value in sheet.answers)
    except InputError:
        return False


def _add(
    sheets: dict[str, Sheet], cells_: list[str], at: Mapping[str, int], where: str, source: str
) -> None:
    try:
        answer_, id_, p, chance, stamp = (cells_[at[n]] for n in _NEEDED)
        if id_.startswith("'") and id_[1:].startswith(_FORMULA):
            id_ = id_[1:]
        numbers = float(p.replace(",", ".")), float(chance.replace(",", "."))
        stamp, _, place = stamp.rpartition("|")
        sheet = sheets.get(stamp) or Sheet(Stamp.parse(stamp), source, [], [], [], [], [], [])
        order = int(place)
    except (IndexError, ValueError) as error:
        raise InputError(
            f"{where}: the columns id, probability, chance and review must stay as they were."
        ) from error
    try:
        answer = parse_answer(answer_)
    except ValueError as error:
        raise InputError(
            f"{where}: the answer {answer_!r} is not understood. Write yes, no or ? (don't know)."
        ) from error
    sheets[stamp] = sheet
    if id_ in sheet.ids:
        before = sheet.answers[sheet.ids.index(id_)]
        if str(before) != str(answer):
            raise InputError(f"{where}: the id {id_!r} has a second, different answer.")
        sheet.notes.append(f"{where}: a second copy of {id_!r} was left out.")
        return
    sheet.places.append(order)
    sheet.ids.append(id_)
    sheet.probability.append(numbers[0])
    sheet.chance.append(numbers[1])
    sheet.answers.append(answer)


def _complete(sheet: Sheet) -> Sheet:
    """Return the sheet in the order of the draw; all of its rows must be there."""
    order = np.argsort(sheet.places)
    if sorted(sheet.places) != list(range(sheet.stamp.size)):
        raise InputError(
            f"{sheet.source}: draw {sheet.stamp.number} had {sheet.stamp.size} rows, and "
            f"{len(sheet.ids)} are here. Put the others back; rows without an answer may stay "
            "blank."
        )
    for name in ("places", "ids", "probability", "chance", "answers"):
        values = getattr(sheet, name)
        setattr(sheet, name, [values[i] for i in order])
    return sheet


def cells(table: Any, rows: IntArray) -> dict[str, list[str]]:
    """Return some rows of a table (pandas, polars, pyarrow or a dict of arrays) as text.

    >>> import numpy as np
    >>> cells({"age": [30, 40, None]}, np.array([2, 0]))
    {'age': ['', '30']}
    """
    if table is None:
        return {}
    if hasattr(table, "to_pydict"):  # pyarrow
        columns = table.take(rows).to_pydict()
    elif hasattr(table, "iloc"):  # pandas
        part = table.iloc[rows]
        columns = {str(name): part.iloc[:, i].tolist() for i, name in enumerate(table.columns)}
    elif hasattr(table, "to_dicts"):  # polars
        columns = table[rows.tolist()].to_dict(as_series=False)
    else:
        columns = {name: [values[i] for i in rows] for name, values in table.items()}
    return {str(name): [_text(value) for value in values] for name, values in columns.items()}


def _text(value: Any) -> str:
    empty = value is None or (np.ndim(value) == 0 and value != value)  # NaN, NaT
    return "" if empty else str(value)
