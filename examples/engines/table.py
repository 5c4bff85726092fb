"""The table of these examples, where its files are, and a model of it: made once, by hand here."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from nnpu import TablePU

FOLDER = Path(tempfile.gettempdir()) / "nnpu-engines"
NUMBERS = ["age", "amount", "visits"]


def mixed_table(n: int = 6_000, seed: int = 0) -> pd.DataFrame:
    """Return numbers, words, dates and gaps; `known` is the PU label, `truth` the class."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    days = rng.integers(0, 300, n) + 200 * y
    return pd.DataFrame(
        {
            "row": np.arange(n),
            "age": rng.normal(40 + 12 * y, 10).round(1),
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3 + y, 1).round(2)),
            "visits": rng.poisson(2 + 3 * y),
            "town": rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], n),
            "since": (pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")).astype(str),
            "known": (y & (rng.random(n) < 0.4)).astype(int),
            "truth": y.astype(int),
        }
    )


def files() -> tuple[str, Path]:
    """Return a folder of Parquet files and a model folder; both are made if they are not there."""
    rows, model = FOLDER / "rows", FOLDER / "model"
    table = mixed_table()
    rows.mkdir(parents=True, exist_ok=True)
    for part in range(4):
        table.iloc[part::4].to_parquet(rows / f"part-{part}.parquet", index=False)
    if not model.exists():
        TablePU(id="row", drop=["truth"]).fit(table, "known").save(model)
    return str(rows), model
