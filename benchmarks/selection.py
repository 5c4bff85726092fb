"""Which model would be chosen without a true label, and what that costs: docs/lab/selection.md.

    python benchmarks/selection.py [digits] [mnist] [--seeds 10]

Six candidates of different quality are judged by 3-fold `GridSearchCV` on P and U alone. Each is
then fitted to all of P and U, and its accuracy on the test set is looked up: the regret of a
criterion is the best candidate's accuracy minus that of the candidate it chose. Digits: 100 P,
1,247 U, 450 test rows. MNIST: 1,000 P, 6,000 U, 10,000 test rows. The prior is known. Finished
seeds in the table are not run again.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

import nnpu_paper
from nnpu import PUClassifier, data, metrics, models
from nnpu.training import Training
from nnpu_paper.results import read_results, write_results

COSINE = Training(schedule="cosine", warm_up=0.2)
UNBIASED = {"risk": "upu", "weight_decay": 0.0}
CANDIDATES = {
    "nnPU": {},
    "nnPU, weight decay 0.05": {"weight_decay": 0.05},
    "nnPU, 3 epochs": {"epochs": 3},
    "nnPU, one layer of 20": {"module": partial(models.mlp, hidden=(20,))},
    "uPU": UNBIASED,
    "uPU, stopped early": UNBIASED
    | {"training": Training(warm_up=0.2, validation_fraction=0.2, patience=4)},
}
CRITERIA = ("pu_accuracy", "pu_f1", "lee_liu_score", "pu_roc_auc")
BUDGET = {"digits": {"epochs": 40}, "mnist": {"epochs": 8, "batch_size": 500}}


def digits(seed):
    d = data.load("digits")
    x, y = np.concatenate([d.x_train, d.x_test]) / 16, np.concatenate([d.y_train, d.y_test])
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:450], order[450:]
    sample = data.sample_pu((x[train], y[train]), 100, disjoint=True, random_state=seed)
    return sample, x[test], y[test]


def mnist(seed):
    d = nnpu_paper.load("mnist")
    sample = data.sample_pu(d, 1_000, 6_000, disjoint=True, random_state=seed)
    return sample, d.x_test, d.y_test


SETS = {"digits": digits, "mnist": mnist}


def run(name, seed):
    """One row per candidate: its score by every criterion, and its true accuracy."""
    sample, x_test, y_test = SETS[name](seed)
    x, s = sample.x[sample.index], sample.s
    start = time.perf_counter()
    base = PUClassifier(sample.prior, training=COSINE, random_state=seed, **BUDGET[name])
    search = GridSearchCV(
        base,
        [{key: [value] for key, value in candidate.items()} for candidate in CANDIDATES.values()],
        scoring={criterion: metrics.SCORERS[criterion] for criterion in CRITERIA},
        cv=data.PUStratifiedKFold(3, random_state=seed),
        refit=False,
        error_score="raise",
    ).fit(x, s)
    rows = []
    for number, (candidate, changes) in enumerate(CANDIDATES.items()):
        model = base.set_params(**(COMMON | BUDGET[name] | changes)).fit(x, s)
        row = {"data": name, "seed": seed, "candidate": candidate}
        for criterion in CRITERIA:
            score = search.cv_results_[f"mean_test_{criterion}"][number]
            row[criterion] = round(float(score), 5)
        right = model.predict(x_test) == (y_test == 1)
        rows.append(row | {"test_accuracy": round(float(np.mean(right)), 5)})
    print(f"{name} seed {seed}: {time.perf_counter() - start:.0f} s", flush=True)
    return rows


#: What a candidate may change, as it is before any does.
COMMON = {
    "risk": "nnpu",
    "module": None,
    "weight_decay": PUClassifier().weight_decay,
    "training": COSINE,
}


def regret(rows, criterion):
    """Best test accuracy of the candidates minus that of the one with the best score."""
    scores = np.array([row[criterion] for row in rows])
    accuracy = np.array([row["test_accuracy"] for row in rows])
    return accuracy.max() - accuracy[np.argmax(scores)]


def summarise(rows, name):
    rows = [row for row in rows if row["data"] == name]
    seeds = sorted({row["seed"] for row in rows})
    by_seed = [[row for row in rows if row["seed"] == seed] for seed in seeds]
    if not seeds:
        return
    print(f"\n{name}, {len(seeds)} seeds\n\n| candidate | test accuracy | chosen |\n|---|---|---|")
    chosen = [max(part, key=lambda row: row["pu_accuracy"])["candidate"] for part in by_seed]
    for candidate in CANDIDATES:
        values = [row["test_accuracy"] for row in rows if row["candidate"] == candidate]
        print(f"| {candidate} | {np.mean(values):.3f} | {chosen.count(candidate)} |")
    print("\n| criterion | mean regret, points | largest |\n|---|---|---|")
    for criterion in CRITERIA:
        values = 100 * np.array([regret(part, criterion) for part in by_seed])
        print(f"| {criterion} | {values.mean():.2f} | {values.max():.2f} |")
    spread = [
        max(r["test_accuracy"] for r in p) - np.mean([r["test_accuracy"] for r in p])
        for p in by_seed
    ]
    print(f"| none: a candidate at random | {100 * np.mean(spread):.2f} | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(SETS), help=" ".join(SETS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/selection.csv"))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    done = {(row["data"], row["seed"]) for row in rows}
    for name in options.data:
        for seed in range(options.seeds):
            if (name, seed) not in done:
                rows += run(name, seed)
                write_results(options.out, rows)
    for name in options.data:
        summarise(rows, name)


if __name__ == "__main__":
    main()
