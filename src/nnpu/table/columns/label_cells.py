"""The label column: which cells say that a row is a known positive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nnpu.table.columns.cells import check_type, distinct
from nnpu.table.columns.truth import FALSE, TRUE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LabelCells", "known_labels", "label_code", "read_label_cells"]


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
    codes = [label_code(value) for value in values]
    word = None
    if pos_label is not None or None in codes:
        from nnpu.table.columns.label_words import find_word

        word, codes = find_word(values, codes, places, pos_label, name, source)
    plain = [0 if code is None else code for code in codes]
    return LabelCells(np.array([*plain, 0], dtype=np.int8)[places], word)


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
