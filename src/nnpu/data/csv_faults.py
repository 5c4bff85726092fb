"""What is wrong with a CSV text, and in which line: read slowly, by Python's own reader."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, cast

from nnpu.data.csvfile import long_cells
from nnpu.data.packed import open_text
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from nnpu.data.csvfile import Dialect
    from nnpu.data.text_encoding import Utf8Text

__all__ = ["fault"]


def fault(text: Utf8Text, dialect: Dialect) -> str | None:
    """Return what is wrong with the first wrong row, and its line number; None if nothing is."""
    source = text.source
    line = 1  # of the row that is being read
    blank = 0  # line of the first blank line that no row has followed yet
    expected = 0
    with (
        long_cells(),
        io.TextIOWrapper(cast("Any", open_text(text.path)), "utf-8-sig", newline="") as lines,
    ):
        for _ in range(dialect.skip):
            lines.readline()
        reader = csv.reader(lines, delimiter=dialect.sep, quotechar=dialect.quote, strict=True)
        try:
            for row in reader:
                number = reader.line_num + dialect.skip
                if not row:
                    blank = blank or number
                elif blank and expected:
                    return f"{source}, line {blank} is blank; remove it."
                else:
                    blank, expected = 0, expected or len(row)
                if row and len(row) != expected:
                    return (
                        f"{source}, line {number}: {how_many(len(row), 'cell')} instead of "
                        f"{expected}, the number of the header's names."
                    )
                line = number + 1
        except csv.Error as error:
            long = "a cell is very long, or " if "limit" in str(error) else ""
            return (
                f"{source}, line {line}: {long}a quote ({dialect.quote}) is opened and not closed, "
                "or stands alone in a quoted cell; close it, or double it."
            )
    return None
