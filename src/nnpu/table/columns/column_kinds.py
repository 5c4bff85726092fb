"""The kinds of columns by the name they are stored under."""

from __future__ import annotations

from nnpu.table.columns.categories import MOST_CATEGORIES, Category
from nnpu.table.columns.column import Block, Column, Dropped, Id, Reading
from nnpu.table.columns.dates import Date
from nnpu.table.columns.image_files import Picture
from nnpu.table.columns.matrices import Matrix
from nnpu.table.columns.numbers import Number
from nnpu.table.columns.text import Directions, Text
from nnpu.table.columns.truth import Boolean

__all__ = [
    "KINDS",
    "MOST_CATEGORIES",
    "Block",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Directions",
    "Dropped",
    "Id",
    "Matrix",
    "Number",
    "Picture",
    "Reading",
    "Text",
]

KINDS: dict[str, type[Column]] = {
    kind.kind: kind
    for kind in (Dropped, Id, Number, Boolean, Category, Date, Text, Matrix, Picture)
}
