"""A small table of people for the tests of the commands."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["id", "age", "town", "member", "label"]


def people(n: int = 120, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of two overlapping classes, a third of the positives labelled, some cells missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        positive = number % 2 == 0
        rows.append(
            {
                "id": f"p{number:03d}",
                "age": "" if number % 17 == 0 else round(rng.normal(50 if positive else 30, 8), 1),
                "town": rng.choice(["Ulm", "Bonn", "?"], p=[0.7, 0.2, 0.1] if positive else None),
                "member": "yes" if rng.random() < (0.8 if positive else 0.3) else "no",
                "label": "1" if number % 6 == 0 else "",
            }
        )
    return rows


def write_csv(path: Path, rows: list[dict[str, Any]], names: list[str] | None = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names or NAMES, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path
