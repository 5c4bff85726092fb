"""The plan of a table's columns, from what a model folder holds; what is read is checked first."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError
from nnpu.table.columns.column_plan import ColumnPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nnpu.table.columns.column import Column

__all__ = ["kind_named", "plan_from_json"]

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
_NUMBERS = ("rows", "missing", "low", "high", "median", "unseen", "unreadable")
_LISTS = ("edges", "shares")


def plan_from_json(plain: Any, arrays: Mapping[str, NDArray[Any]] | None = None) -> ColumnPlan:
    """Return the plan that `ColumnPlan.to_json` and `arrays` described; else `InputError`.

    Without the arrays a plan with text has no raw view.
    """
    try:
        columns = []
        for number, entry in enumerate(plain):
            fields = dict(entry)
            kind = kind_named(fields.pop("kind"))
            if kind.kind == "text" and arrays and f"columns.{number}.terms" in arrays:
                from nnpu.table.columns.text import Directions

                keys = ("terms", "weights", "components")
                own = {key: np.asarray(arrays[f"columns.{number}.{key}"]) for key in keys}
                fields["directions"] = Directions.from_arrays(own)
            _check_seen(fields.get("seen"))
            columns.append(kind(**fields))
        if not columns or not all(isinstance(column.name, str) for column in columns):
            raise TypeError("columns without names")
    except (TypeError, ValueError, LookupError) as error:
        raise InputError(f"The stored columns cannot be understood: {error}") from error
    return ColumnPlan(tuple(columns))


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


def _check_seen(seen: Any) -> None:
    """Raise ValueError unless `seen` is what `TrainingRows` notes, or None."""
    if seen is None:
        return
    if not isinstance(seen, dict) or not set(seen) <= {*_NUMBERS, *_LISTS}:
        raise ValueError("the summary of a column cannot be understood")
    lists = [seen.get(name, []) for name in _LISTS]
    if not all(isinstance(each, list) for each in lists):
        raise ValueError("the summary of a column must hold lists of numbers")
    numbers = [seen[name] for name in _NUMBERS if name in seen] + lists[0] + lists[1]
    if not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
        raise ValueError("the summary of a column must hold finite numbers")
    if lists[0] != sorted(lists[0]) or (lists[1] and len(lists[1]) != len(lists[0]) + 1):
        raise ValueError("the summary of a column does not fit together")
    if "rows" not in seen or ("edges" in seen) != ("shares" in seen) or seen["rows"] < 1:
        raise ValueError("the summary of a column is incomplete")
