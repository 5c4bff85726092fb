"""What known negatives are worth on digits: docs/lab/negatives.md.

    python benchmarks/negatives.py [--seeds 5]

Even against odd, 100 P, 1,247 U, and a growing number of negatives from among those of U; 450
test rows. PN sees P and N, nnPU sees P and U, nnPNU sees all three. Finished cells of the table
are not run again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from nnpu import PUClassifier, data
from nnpu_paper.results import read_results, write_results

COUNTS = (5, 20, 80, 320, 600)
READS = {"pn": (1, -1), "nnpu": (1, 0), "nnpnu": (1, 0, -1)}


def draw(seed, n_negative):
    d = data.load("digits")
    x, y = np.concatenate([d.x_train, d.x_test]), np.concatenate([d.y_train, d.y_test])
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:450], order[450:]
    sample = data.sample_pu(
        (x[train], y[train]), 100, n_n=n_negative, disjoint=True, random_state=seed
    )
    return sample, x[test], y[test]


def accuracy(risk, sample, x_test, y_test, seed):
    parts = {1: sample.x_p, 0: sample.x_u, -1: sample.x_n}
    chosen = [parts[label] for label in READS[risk]]
    s = np.repeat(READS[risk], [len(rows) for rows in chosen])
    model = PUClassifier(sample.prior, risk=risk, random_state=seed)
    model.fit(np.concatenate(chosen), s)
    return round(float(np.mean((model.predict(x_test) == 1) == (y_test == 1))), 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/negatives.csv"))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    done = {(row["negatives"], row["seed"]) for row in rows}
    for seed in range(options.seeds):
        for count in COUNTS:
            if (count, seed) not in done:
                sample = draw(seed, count)
                cell = {"negatives": count, "seed": seed}
                rows.append(cell | {risk: accuracy(risk, *sample, seed) for risk in READS})
                write_results(options.out, rows)
                print(rows[-1], flush=True)
    print("| negatives | PN | nnPU | nnPNU |\n|---|---|---|---|")
    for count in COUNTS:
        part = [row for row in rows if row["negatives"] == count]
        means = " | ".join(f"{np.mean([row[risk] for row in part]):.3f}" for risk in READS)
        print(f"| {count} | {means} |")


if __name__ == "__main__":
    main()
