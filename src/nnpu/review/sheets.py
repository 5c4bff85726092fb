"""Review sheets: drawn rows as a CSV file with an empty column `answer`, and the answers back.

A sheet says itself which draw it is: its column `review` holds the number of the draw, its
purpose, how many rows were drawn of how many, how many could be drawn and the sum of their
probabilities, digests of ids and model, and the place of the row in the draw, so sorting
does no harm. `agreement` compares the sheets of two reviewers: how far they agree beyond chance,
and the answers that both support.
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

from nnpu.data.vectors import as_floats
from nnpu.parameters import InputError
from nnpu.ranges import Z90
from nnpu.review.audits import AuditedEstimate

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from nnpu.review.draws import Draw, FloatArray, IntArray, Purpose

__all__ = [
    "COLUMNS",
    "Agreement",
    "Sheet",
    "Stamp",
    "agreement",
    "cells",
    "digest",
    "holds_answers",
    "looks_text",
    "parse_answer",
    "parse_purpose",
    "parse_recall",
    "read_looks",
    "read_sheets",
    "sheet_text",
]

#: The columns of a sheet; those of the table follow.
COLUMNS = ("answer", "id", "probability", "reasons", "chance", "review")
_NEEDED = ("answer", "id", "probability", "chance", "review")
_LOOKS = ("answer", "row", "look", "reasons", "review")  # of a review that works down a list

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
            f"The purpose {text!r} is not understood. Write, for example, finding=0.3+estimate=0.7."
        ) from None


def parse_recall(text: str | None) -> float | None:
    """Return the recall that a certificate is to show; None without one.

    >>> parse_recall("recall=.9")
    0.9
    """
    if text is None:
        return None
    word, _, value = text.partition("=")
    try:
        found = float(value) if word.strip() == "recall" else 0.0
    except ValueError:
        found = 0.0
    if not 0 < found < 1:
        raise InputError(f"--until {text} is not understood. Write, for example, recall=0.9.")
    return found


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
            _number(drawn.probability[i]),
            why,
            _number(drawn.chance[i]),
        ]
        writer.writerow([*ours, f"{stamp}|{i}", *(safe(values[i]) for values in columns.values())])
    return text.getvalue()


def _number(value: float) -> str:
    """Return the shortest number of at most 12 digits: 0.15, not 0.15000000000000005."""
    return repr(float(f"{value:.12g}"))


def _safe(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula; numbers stay as they are."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def looks_text(
    rows: IntArray,
    random: Sequence[bool],
    columns: Mapping[str, Sequence[str]],
    reasons: Sequence[str],
    name: str,
) -> str:
    """Return the CSV text of the rows that a review down a list gave out.

    Parameters
    ----------
    rows : array of int
        Their numbers in the table; the sheet counts from 1.
    random : sequence of bool
        Whether each was drawn at random.
    columns, reasons
        Cells and reasons of these rows.
    name : str
        The review, so a sheet of another one is refused.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f"{column} (table)" if column in _LOOKS else column for column in columns]
    writer.writerow([*_LOOKS, *map(_safe, names)])
    for i, row in enumerate(rows):
        look = "random" if random[i] else "list"
        ours = ["", int(row) + 1, look, _safe(reasons[i]), name]
        writer.writerow([*ours, *(_safe(values[i]) for values in columns.values())])
    return text.getvalue()


def read_looks(
    path: str | os.PathLike[str], name: str, known: FloatArray
) -> tuple[list[int], list[float]]:
    """Return the rows that a sheet of a review down a list answers, and the answers.

    Parameters
    ----------
    path : path-like
        The sheet; rows whose answer is blank are left out.
    name : str
        The review that it must be of.
    known : array
        NaN for the rows that can be looked at.
    """
    names, lines = _csv_lines(path)
    missing = [column for column in ("answer", "row", "review") if column not in names]
    if missing and set(names) >= set(_NEEDED):
        raise InputError(
            f"{path} is a sheet of a review without a folder: read it without --folder. To keep "
            "its rows out of a new folder, pass it as --known."
        )
    if missing:
        raise InputError(
            f"{path} is not a sheet of this kind of review: it has no column {', '.join(missing)}. "
            "Write it with --next and --out, and change nothing but the column answer."
        )
    answers: dict[int, float] = {}
    for line, cells_ in lines:
        where, found = f"{path}, line {line}", dict(zip(names, cells_, strict=False))
        if found.get("review") != name:
            raise InputError(f"{where}: this row belongs to another review, model or table.")
        try:
            answer = parse_answer(found["answer"])
        except ValueError as error:
            raise InputError(
                f"{where}: the answer {found['answer']!r} is not understood. Write yes, no or ? "
                "(don't know)."
            ) from error
        try:
            row = int(found["row"]) - 1
        except ValueError as error:
            raise InputError(f"{where}: the column row must stay as it was.") from error
        if answer is None:
            continue
        if not 0 <= row < len(known) or not np.isnan(known[row]):
            raise InputError(
                f"{where}: row {row + 1} is not one to look at: it is labelled, known or not in "
                "the table. The column row must stay as it was."
            )
        if row in answers and not np.array_equal(answers[row], answer, equal_nan=True):
            raise InputError(f"{where}: row {row + 1} has another answer further up. Keep one.")
        answers[row] = answer
    return list(answers), list(answers.values())


def _csv_lines(path: str | os.PathLike[str]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the column names of a sheet and its lines with their numbers; blank ones left out."""
    source = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 text: save it as CSV UTF-8.") from error
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}.") from error
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = next(rows, [])
    # Headers of sheets that were put together come again.
    return names, [(rows.line_num, line) for line in rows if any(line) and line != names]


def read_sheets(path: str | os.PathLike[str]) -> list[Sheet]:
    """Read a sheet, or several one below the other, and refuse what cannot be matched."""
    source = str(path)
    names, lines = _csv_lines(path)
    missing = [name for name in _NEEDED if name not in names]
    if missing and set(names) >= set(_LOOKS):
        raise InputError(
            f"{source} is a sheet of a review in a folder: read it with that --folder. To use its "
            "answers elsewhere, write them into the label column: 1 for yes, -1 for no."
        )
    if missing:
        raise InputError(
            f"{source} is not a review sheet: it has no column {', '.join(missing)}. Write it with "
            "--out, and change nothing but the column answer."
        )
    at = {name: names.index(name) for name in _NEEDED}
    sheets: dict[str, Sheet] = {}
    for line, cells_ in lines:
        _add(sheets, cells_, at, f"{source}, line {line}", source)
    if not sheets:
        raise InputError(f"{source} has no rows.")
    return [_complete(sheet) for sheet in sheets.values()]


def holds_answers(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a sheet in which something is answered."""
    if not Path(path).is_file():
        return False
    try:
        names, lines = _csv_lines(path)
        if tuple(names[: len(_LOOKS)]) == _LOOKS:
            return any(cells_[0].strip() for _, cells_ in lines)
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
        sheet.notes.append(f"{where}: a second copy of {id_!r} was ignored.")
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


@dataclass(frozen=True, eq=False)
class Agreement:
    """How two reviewers agree.

    Attributes
    ----------
    kappa : AuditedEstimate
        Cohen's κ with a 90 % range: 1 full agreement, 0 no more than chance. NaN if both gave
        one and the same answer to every row.
    agreed : int
        Rows to which both gave the same clear answer.
    rows : int
        Rows to which both gave a clear answer.
    merged : array
        The answers for an audit: don't know where the two differ, so the range covers
        both; a clear answer where only one of them knew.
    """

    kappa: AuditedEstimate
    agreed: int
    rows: int
    merged: FloatArray


def agreement(first: ArrayLike, second: ArrayLike) -> Agreement:
    """Compare the answers of two reviewers to the same rows.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        1 yes, 0 no, NaN don't know.

    Returns
    -------
    Agreement

    Notes
    -----
    The range is the wider of two: the large-sample one of Fleiss, Cohen and Everitt (1969), and
    Wilson's for the share of equal answers, taken through κ = (share − e)/(1 − e). The second
    keeps a width where all answers agree.

    Examples
    --------
    >>> found = agreement([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0])
    >>> found.agreed, found.rows, round(found.kappa.value, 3)
    (5, 6, 0.667)
    >>> found.merged
    array([ 1.,  1.,  0.,  0., nan,  0.])
    """
    a, b = (as_floats(values, "answers", "agreement") for values in (first, second))
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(
            "agreement needs two lists of answers of one length. Got shapes "
            f"{a.shape} and {b.shape}."
        )
    for values in (a, b):
        if not np.isin(values[~np.isnan(values)], (0, 1)).all():
            raise InputError("agreement: answers must be 1 (yes), 0 (no) or NaN (don't know).")
    both = ~np.isnan(a) & ~np.isnan(b)
    merged = np.where(np.isnan(a), b, np.where(both & (a != b), np.nan, a))
    n, same = int(both.sum()), int((a[both] == b[both]).sum())
    if n == 0:
        return Agreement(AuditedEstimate(np.nan, -1.0, 1.0, 0, True), 0, 0, merged)
    return Agreement(_kappa(a[both], b[both], n), same, n, merged)


def _kappa(a: FloatArray, b: FloatArray, n: int) -> AuditedEstimate:
    table = np.bincount((2 * a + b).astype(int), minlength=4).reshape(2, 2) / n
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    share, chance = float(np.trace(table)), float(rows @ columns)
    if chance == 1:  # one answer only
        return AuditedEstimate(np.nan, -1.0, 1.0, n, n < 5)
    kappa = (share - chance) / (1 - chance)
    on = np.diag(table) * (1 - (rows + columns) * (1 - kappa)) ** 2
    across = (1 - kappa) ** 2 * (columns[:, None] + rows[None, :]) ** 2 * table
    off = across.sum() - np.trace(across)
    spread = on.sum() + off - (kappa - chance * (1 - kappa)) ** 2
    margin = Z90 * float(np.sqrt(max(spread, 0.0) / n)) / (1 - chance)
    centre = (share + Z90**2 / (2 * n)) / (1 + Z90**2 / n)
    half = Z90 / (1 + Z90**2 / n) * np.sqrt(share * (1 - share) / n + Z90**2 / (4 * n**2))
    wilson = [float((x - chance) / (1 - chance)) for x in (centre - half, centre + half)]
    low, high = min(kappa - margin, wilson[0]), max(kappa + margin, wilson[1])
    return AuditedEstimate(kappa, max(low, -1.0), min(high, 1.0), n, n < 5)
