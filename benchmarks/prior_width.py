"""How narrow an interval of the prior could be: docs/lab/prior.md.

python benchmarks/prior_width.py

A regression of quantiles learns from true shares, which no method may know, what the share is where
`estimate_prior` says this and that. It sees the cells of ``benchmarks/corpus.py`` and of the tables
"choose" (``benchmarks/prior.py suite``) and is judged by the tables "verdict" and "last". Its
shares lie between .05 and .7 as theirs do. Nothing is estimated anew.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor

RESULTS = Path(__file__).parent / "results"
SEEN = ["value", "low", "high", "upper_bound", "one_sample"]
LEVELS = (0.8, 0.85, 0.9, 0.95)


def cells():
    suite = pd.read_csv(RESULTS / "prior.csv")
    corpus = pd.read_csv(RESULTS / "prior_corpus.csv")
    corpus = corpus.rename(columns={"problem": "table"}).assign(role="corpus")
    both = pd.concat([suite[suite.method == "auto"], corpus], ignore_index=True)
    return both.assign(one_sample=(both.sampling == "one-sample").astype(float))


def quantile(train, test, tail):
    model = GradientBoostingRegressor(
        loss="quantile",
        alpha=tail,
        n_estimators=150,
        learning_rate=0.05,
        min_samples_leaf=15,
        subsample=0.7,
        random_state=0,
    )
    return model.fit(train[SEEN], train.prior).predict(test[SEEN])


def judge(name, test, low, high):
    held = (low <= test.prior) & (test.prior <= high)
    worst = held.groupby(test.table).mean().min()
    width = (high - low).mean()
    print(f"{name}: held {held.mean():.3f}, worst table {worst:.2f}, mean width {width:.3f}")


def main():
    rows = cells()
    judged = rows.role.isin(["verdict", "last"])
    train, test = rows[~judged], rows[judged]
    print(f"{len(train)} cells to learn from, {len(test)} to judge by")
    judge("estimate_prior", test, test.low, test.high)
    for level in LEVELS:
        limits = (quantile(train, test, tail) for tail in ((1 - level) / 2, (1 + level) / 2))
        judge(f"learned, level {level}", test, *limits)


if __name__ == "__main__":
    main()
