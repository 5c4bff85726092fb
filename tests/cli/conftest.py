from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nnpu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ["id", "age", "town", "member", "label"]


def rows_of_people(n: int = 120, seed: int = 0) -> list[dict[str, Any]]:
    """Return rows of two overlapping classes, a third of the positives labelled."""
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


def write_people(path: Path, seed: int = 0, names: list[str] | None = None) -> Path:
    """Write `rows_of_people` as CSV, its columns in the order of `names`."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names or NAMES, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows_of_people(seed=seed))
    return path


@pytest.fixture(scope="session")
def people() -> Callable[..., Path]:
    """Write a small table of people: ``people(path, seed=0, names=None)``."""
    return write_people


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder fitted to `people`, which no test may change."""
    folder = tmp_path_factory.mktemp("fitted")
    data = write_people(folder / "people.csv")
    out = folder / "model"
    main(
        ["fit", str(data), "--label", "label", "--out", str(out), "--prior", "0.5", "--epochs", "2"]
    )
    return out
