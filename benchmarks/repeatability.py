"""What the same seed gives elsewhere: other numbers of threads, other chunks of rows.

    python benchmarks/repeatability.py

The default classifier and a linear one are fitted to 100 positives and 1,247 unlabelled digits, in
processes of one and of two threads, and twice with each number. All differences are relative to the
largest score; 0 means equal in every bit. One JSON object on standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CHUNKS = (1, 7, 100, 449)


def fit(folder: Path) -> None:
    """Fit both classifiers; write their scores, of all test rows at once and in chunks."""
    from nnpu import LinearPU, PUClassifier, data

    digits = data.load("digits")
    sample = data.sample_pu(digits, 100, disjoint=True, random_state=0)
    x = digits.x_train[sample.index]
    for name, clf in {
        "network": PUClassifier(sample.prior, epochs=20, random_state=0),
        "linear": LinearPU(sample.prior, basis="rff", random_state=0),
    }.items():
        clf.fit(x, sample.s)
        rows = digits.x_test
        found = {"0": clf.decision_function(rows)}
        for size in CHUNKS:
            parts = [rows[start : start + size] for start in range(0, len(rows), size)]
            found[str(size)] = np.concatenate([clf.decision_function(part) for part in parts])
        np.savez(folder / f"{name}.npz", **found)


def scores_with(threads: int, folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return the scores of a process with that many threads."""
    folder.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    subprocess.run([sys.executable, __file__, "--child", str(folder)], env=environment, check=True)
    return {path.stem: dict(np.load(path)) for path in folder.glob("*.npz")}


def difference(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    return {
        "largest": float(np.abs(a - b).max() / np.abs(a).max()),
        "predictions_changed": int(np.sum((a > 0) != (b > 0))),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        fit(arguments.child)
        return 0
    with tempfile.TemporaryDirectory() as work:
        one, again, two, two_again = (
            scores_with(threads, Path(work) / str(number))
            for number, threads in enumerate((1, 1, 2, 2))
        )
    result: dict[str, dict[str, object]] = {}
    for name in sorted(one):
        whole = one[name]["0"]
        result[name] = {
            "again": difference(whole, again[name]["0"]),
            "two threads, again": difference(two[name]["0"], two_again[name]["0"]),
            "two threads": difference(whole, two[name]["0"]),
            **{f"chunks of {size}": difference(whole, one[name][str(size)]) for size in CHUNKS},
        }
    print(json.dumps(result, indent=1))
    return int(any(part["again"]["largest"] != 0 for part in result.values()))


if __name__ == "__main__":
    sys.exit(main())
