from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from people_table import people, write_csv

from nnpu.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder fitted to `people`, which no test may change."""
    folder = tmp_path_factory.mktemp("fitted")
    data = write_csv(folder / "people.csv", people())
    out = folder / "model"
    main(
        ["fit", str(data), "--label", "label", "--out", str(out), "--prior", "0.5", "--epochs", "2"]
    )
    return out
