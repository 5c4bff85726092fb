"""The kinds of columns by the name they are stored under."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nnpu.table.columns.column import Column

__all__ = ["kind_named"]

_HOMES = {  # imported only if a column is of that kind
    "boolean": ("truth", "Boolean"),
    "category": ("categories", "Category"),
    "date": ("dates", "Date"),
    "dropped": ("column", "Dropped"),
    "id": ("column", "Id"),
    "image": ("image_files", "Picture"),
    "matrix": ("matrices", "Matrix"),
    "number": ("numbers", "Number"),
    "text": ("text", "Text"),
}


def kind_named(name: str) -> type[Column]:
    """Return the class of a kind of column; LookupError if there is no such kind.

    Examples
    --------
    >>> kind_named("number").__name__
    'Number'
    """
    module, kind = _HOMES[name]
    found: type[Column] = getattr(importlib.import_module(f"nnpu.table.columns.{module}"), kind)
    return found
