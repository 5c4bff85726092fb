"""What the imbalanced risk changes where positives are rare: docs/lab/imbalanced.md.

    python benchmarks/imbalanced.py [--seeds 5]

The digit 8 against the others: 60 P, and U with a given share of positives; test data with the same
share, from 600 other rows. Finished cells of the table are not run again.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score

from nnpu import PUClassifier, data
from nnpu_paper.results import read_results, write_results

UNLABELLED = {0.03: 1000, 0.1: 350}  # rows by share of positives
RISKS = ("nnpu", "imbalanced")
METRICS = {
    "precision": lambda y, flagged: precision_score(y, flagged, zero_division=0.0),
    "recall": recall_score,
    "F1": f1_score,
    "balanced accuracy": balanced_accuracy_score,
}


def draw(seed, prior):
    d = data.load("digits", positive=[8])
    x, y = np.concatenate([d.x_train, d.x_test]), np.concatenate([d.y_train, d.y_test])
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:600], order[600:]
    n_u = UNLABELLED[prior]
    sample = data.sample_pu(
        (x[train], y[train]), 60, n_u, prior=prior, disjoint=True, random_state=seed
    )
    fresh = data.sample_pu((x[test], y[test]), 1, prior=prior, random_state=seed)
    return sample, fresh.x_u, fresh.y[fresh.index_u] == 1


def judge(risk, sample, x, positive, seed):
    model = PUClassifier(sample.prior, risk=risk, random_state=seed)
    model.fit(sample.x[sample.index], sample.s)
    flagged = model.predict(x) == 1
    return {name: round(float(metric(positive, flagged)), 5) for name, metric in METRICS.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/imbalanced.csv"))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    done = {(row["prior"], row["risk"], row["seed"]) for row in rows}
    for prior, risk, seed in itertools.product(UNLABELLED, RISKS, range(options.seeds)):
        if (prior, risk, seed) not in done:
            cell = {"prior": prior, "risk": risk, "seed": seed}
            rows.append(cell | judge(risk, *draw(seed, prior), seed))
            write_results(options.out, rows)
            print(rows[-1], flush=True)
    print(f"| prior | risk | {' | '.join(METRICS)} |\n|{'---|' * (2 + len(METRICS))}")
    for prior, risk in itertools.product(UNLABELLED, RISKS):
        part = [row for row in rows if (row["prior"], row["risk"]) == (prior, risk)]
        means = " | ".join(f"{np.mean([row[name] for row in part]):.3f}" for name in METRICS)
        print(f"| {prior} | {risk} | {means} |")


if __name__ == "__main__":
    main()
