"""The label column: which cells say that a row is a known positive.

Labels may be words; then one of them is taken as the positive, and a line says which.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.data.cells import check_type, distinct
from nnpu.parameters import InputError
from nnpu.table.columns.categories import FALSE, TRUE
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "LabelCells",
    "find_word",
    "known_labels",
    "label_code",
    "label_codes",
    "read_label_cells",
]


class LabelCells(NamedTuple):
    """The label column, read.

    Attributes
    ----------
    codes : ndarray of int8
        1 labelled positive, 0 unlabelled, −1 known negative.
    word : str or None
        The word that was taken as the positive; None if the labels are numbers or yes and no.
    """

    codes: NDArray[np.int8]
    word: str | None


def read_label_cells(
    cells: Any, name: str, source: str, pos_label: str | float | None = None
) -> LabelCells:
    """Read the label column; of words, say which is the positive.

    Parameters
    ----------
    cells : pyarrow array
        The whole label column.
    name, source : str
        Name of the column and of the file, for messages.
    pos_label : str or number, optional
        The value of the labelled rows. By default 1, true or yes; of two words the one that does
        not mean "not known", else the rarer one, with a warning.

    Warns
    -----
    UserWarning
        If a word was taken as the positive that was not named.

    Raises
    ------
    InputError
        If the cells do not say which rows are labelled.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = pa.array(["fraud", "unknown", "unknown", None])
    >>> read_label_cells(cells, "s", "t.csv", pos_label="fraud").codes
    array([1, 0, 0, 0], dtype=int8)
    """
    import pyarrow as pa

    check_type(name, cells.type)
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    values, places = distinct(cells, none_is_missing=True)
    counts = np.bincount(places[places >= 0], minlength=len(values))
    word, codes = label_codes(
        values, counts, lambda value: int(np.argmax(places == value)), name, source, pos_label
    )
    return LabelCells(np.array([*codes, 0], dtype=np.int8)[places], word)


def label_codes(
    values: list[str],
    counts: NDArray[np.intp],
    first: Callable[[int], int],
    name: str,
    source: str,
    pos_label: str | float | None = None,
) -> tuple[str | None, list[int]]:
    """Return the word that is the positive, if it is one, and the code of each label.

    Parameters
    ----------
    values, counts
        The distinct labels, and in how many rows each stands.
    first : callable
        Takes the place of a label among them and returns the number of its first row.
    name, source, pos_label
        As in `read_label_cells`.

    Examples
    --------
    >>> label_codes(["fraud", "unknown"], np.array([3, 9]), int, "s", "t.csv", "fraud")
    ('fraud', [1, 0])
    """
    codes = [label_code(value) for value in values]
    word = None
    if pos_label is not None or None in codes:
        word, codes = find_word(values, codes, counts, first, pos_label, name, source)
    return word, [0 if code is None else code for code in codes]


def known_labels(cells: Any, name: str, word: str | float | None) -> NDArray[np.int8]:
    """Read label cells of rows to predict, as the fit read its own: 1, 0 or −1 each.

    Any number of rows may be labelled, also none. A cell that says nothing is unlabelled.

    Parameters
    ----------
    cells : pyarrow array
        Some rows of the label column.
    name : str
        The column.
    word : str, number or None
        The value of the labelled rows, if it is not 1, true or yes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> known_labels(pa.array(["fraud", "unknown", None]), "known", "fraud")
    array([1, 0, 0], dtype=int8)
    """
    import pyarrow as pa

    check_type(name, cells.type)
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    values, places = distinct(cells, none_is_missing=True)
    wanted = None if word is None else str(word).strip().lower()
    codes = [1 if value.lower() == wanted else label_code(value) or 0 for value in values]
    if wanted is not None and label_code(wanted) != 1:  # 1 is then no word for labelled
        plain = zip(values, codes, strict=True)
        codes = [code if value.lower() == wanted else min(code, 0) for value, code in plain]
    return np.array([*codes, 0], dtype=np.int8)[places]


def label_code(value: str) -> int | None:
    """Return what a label cell says by itself; None if it is another word or number."""
    lower = value.lower()
    if lower in TRUE or lower in FALSE:
        return int(lower in TRUE)
    try:
        number = float(lower)
    except ValueError:
        return None
    return int(number) if number in (1, 0, -1) else None


#: Words that say that the class of a row is not known: never the positive.
_UNLABELLED = FALSE | {
    *("unknown", "unk", "unlabelled", "unlabeled", "not labelled", "not labeled", "u", "missing"),
    *("none", "nothing", "null", "undefined", "unspecified", "unsure", "not known", "tbd", "other"),
    *("others", "rest", "background", "negative", "neg", "unbekannt", "inconnu", "desconocido"),
}
#: Words that say by themselves that a row is labelled.
_LABELLED = {"positive", "pos", "p", "labelled", "labeled", "known", "case", "event", "hit"}


def find_word(
    values: list[str],
    codes: list[int | None],
    counts: NDArray[np.intp],
    first: Callable[[int], int],
    pos_label: str | float | None,
    name: str,
    source: str,
) -> tuple[str | None, list[int | None]]:
    """Return the word that is the positive, if it is one, and the code of each value.

    Parameters
    ----------
    values, codes : list
        The distinct cells, and what they say by themselves.
    counts, first, pos_label, name, source
        As in `label_codes`.
    """
    if pos_label is not None:
        word: str | None = _named(values, _as_text(pos_label), name, source)
        if word is not None and codes[values.index(word)] == 1 and None not in codes:
            word = None  # as it would be read anyway
    else:
        word = _inferred(values, codes, counts, name, source, first)
    if word is None:
        return None, codes
    codes = [
        1 if value == word else -1 if code == -1 else 0
        for value, code in zip(values, codes, strict=True)
    ]
    _warn_of_several(values, codes, word, source, name)
    return word, codes


def _as_text(pos_label: Any) -> str:
    """Return a value as the cells of a table have it."""
    if isinstance(pos_label, bool | np.bool_):
        return str(int(pos_label))
    if isinstance(pos_label, float | np.floating) and float(pos_label).is_integer():
        return str(int(pos_label))
    return str(pos_label).strip()


def _named(values: list[str], wanted: str, name: str, source: str) -> str:
    """Return the value that the user named, whatever its case."""
    if wanted in values:
        return wanted
    for value in values:
        if value.lower() == wanted.lower():
            return value
        if label_code(wanted) == 1 and label_code(value) == 1:  # True, 1 and yes are the same
            return value
    listed = ", ".join(repr(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")
    raise InputError(
        f"{source}: no cell of the label column {name!r} is {wanted!r}, the word given for "
        f"positives; it holds {listed or 'nothing'}."
    )


def _inferred(
    values: list[str],
    codes: list[int | None],
    counts: NDArray[np.intp],
    name: str,
    source: str,
    first: Callable[[int], int],
) -> str | None:
    """Return the word that is the positive, with a warning; None if 1, true or yes is."""
    words = [value for value, code in zip(values, codes, strict=True) if code is None]
    open_words = [word for word in words if word.lower() not in _UNLABELLED]
    others = len(values) - len(open_words)
    if not open_words:
        if 0 in codes and 1 in codes:
            _warn_unlabelled(values, codes, source, name)
        return None
    wrong = next((word for word in open_words if _is_number(word)), None)
    if wrong is None and (1 in codes or len(open_words) > 2 or (len(open_words) == 2 and others)):
        wrong = open_words[0]
    if wrong is not None:
        row = first(values.index(wrong)) + 1
        raise InputError(
            f"{source}: the label column {name!r} holds {wrong!r} (row {row}); a label is "
            "1/true/yes, or 0/false/no/empty for unknown, or -1 for a known negative. If a word "
            "marks the positives, name it: pos_label in Python, --positive in a command."
        )
    known = [word for word in open_words if word.lower() in _LABELLED]
    rows = {word: int(counts[values.index(word)]) for word in open_words}
    word = min(known or open_words, key=lambda each: (rows[each], each))
    rest = ", ".join(repr(value) for value in values if value != word) or "an empty cell"
    warnings.warn(
        f"{source}: the labels are words. {word!r} ({how_many(rows[word], 'row')}) is taken as the "
        f"positive and {rest} as unlabelled. If that is wrong, name the positive: pos_label in "
        "Python, --positive in a command.",
        UserWarning,
        stacklevel=2,
    )
    return word


def _warn_unlabelled(values: list[str], codes: list[int | None], source: str, name: str) -> None:
    listed = ", ".join(
        repr(value) for value, code in zip(values, codes, strict=True) if code in (0, None)
    )
    warnings.warn(
        f"{source}: in the label column {name!r}, {listed} are all taken as unlabelled; write -1 "
        "where a row is known to be negative.",
        UserWarning,
        stacklevel=2,
    )


def _warn_of_several(
    values: list[str], codes: list[int | None], word: str, source: str, name: str
) -> None:
    """Warn if several words count as unlabelled that do not say so."""
    rest = [
        value
        for value, code in zip(values, codes, strict=True)
        if code == 0 and value.lower() not in _UNLABELLED and label_code(value) is None
    ]
    if len(rest) > 1:
        _warn_unlabelled([word, *rest], [1, *([0] * len(rest))], source, name)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
