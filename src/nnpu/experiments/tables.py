"""Tidy tables: one row per observation, one column per variable, in CSV files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.files import atomic_path

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["Row", "write_table"]

Row = dict[str, float | int | str | bool]


def write_table(path: str | os.PathLike[str], rows: Sequence[Mapping[str, object]]) -> Path:
    r"""Write the rows as CSV, atomically; the first row's keys are the columns.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_table(target, [{"n": 10, "bias": 0.25}]).read_text()
    'n,bias\n10,0.25\n'
    """
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return Path(path)
