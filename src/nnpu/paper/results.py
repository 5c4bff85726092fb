"""Tidy tables: one row per observation, one column per variable, in CSV files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.files import atomic_path

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["Row", "read_results", "write_results"]

Row = dict[str, float | int | str | bool]


def write_results(path: str | os.PathLike[str], rows: Sequence[Mapping[str, object]]) -> Path:
    r"""Write the rows as CSV, atomically; the first row's keys are the columns.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_results(target, [{"n": 10, "bias": 0.25}]).read_text()
    'n,bias\n10,0.25\n'
    """
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return Path(path)


def read_results(path: str | os.PathLike[str]) -> list[Row]:
    """Read what `write_results` wrote; a cell that is a number becomes one.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> read_results(write_results(target, [{"method": "nnPU", "epoch": 1, "value": 0.25}]))
    [{'method': 'nnPU', 'epoch': 1, 'value': 0.25}]
    """
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [{name: _cell(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _cell(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
