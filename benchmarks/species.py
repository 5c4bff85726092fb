r"""Presence-only species data: mean test AUC by region, ours beside what ecologists use.

    python benchmarks/species.py --data species/ --out benchmarks/results/species.csv
    .venv-peers/bin/python benchmarks/species.py --data species/ \
        --out benchmarks/results/species.csv --systems maxent

P is where a species was seen, U 10,000 background places of its region; the test rows have true
presence and absence. Files REGION-presence.parquet, REGION-background.parquet and
REGION-test.parquet (from the R package disdat) lie in the folder that --data names. Every setting
is the same for all species and regions. The ensemble's settings were chosen on
the first, third, … species of each region; `--step 2 --first 1` runs the others. Maxent
is that of elapid and runs in the environment of the peers (``benchmarks/leaderboard.py``). Seconds
are CPU seconds of fit and scores. Results are appended to a CSV; what is in it is not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CATEGORIES = {
    "awt": [],
    "nsw": ["disturb", "soilfert", "vegsys"],
    "nz": ["age", "toxicats"],
    "swi": ["calc"],
}
PRIOR = 0.1  # unknown; the AUC hardly depends on it
COLUMNS = ["region", "species", "n_p", "system", "auc", "seconds"]


def ensemble(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    from nnpu import EnsemblePU

    model = EnsemblePU(PRIOR, categories=categories, random_state=0).fit(x, s)
    return model.decision_function(test)


def network(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    from nnpu import PUClassifier

    x, test = one_hot(x, test, categories)
    return PUClassifier(PRIOR, random_state=0).fit(x, s).decision_function(test)


def boosted(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    from nnpu import BoostedPU

    return BoostedPU(PRIOR, random_state=0).fit(x, s).decision_function(test)


def ridge(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    x, test = one_hot(x, test, categories)
    model = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        LogisticRegression(C=0.05, class_weight="balanced", max_iter=300),
    )
    return model.fit(x, s).decision_function(test)


def forest(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    """500 trees, each grown from as many rows of U as of P: down-sampled, as ecologists do."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    p, u = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    x, test = x.astype(np.float32), test.astype(np.float32)
    total = np.zeros(len(test))
    for _ in range(500):
        rows = np.concatenate([rng.choice(p, len(p)), rng.choice(u, len(p))])
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=int(rng.integers(2**31)))
        total += tree.fit(x[rows], s[rows]).predict_proba(test)[:, 1]
    return total


def weighted_forest(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    """300 trees grown from all rows, P and U weighing the same."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(300, class_weight="balanced", random_state=0)
    return model.fit(x, s).predict_proba(test)[:, 1]


def maxent(x: Any, s: Any, test: Any, categories: list[int]) -> Any:
    import elapid

    names = [f"c{j}" for j in range(x.shape[1])]
    frame, other = pd.DataFrame(x, columns=names), pd.DataFrame(test, columns=names)
    model = elapid.MaxentModel()
    model.fit(frame, s, categorical=categories or None)
    return np.asarray(model.predict(other)).ravel()


def one_hot(x: Any, test: Any, categories: list[int]) -> tuple[Any, Any]:
    if not categories:
        return x, test
    plain = [j for j in range(x.shape[1]) if j not in categories]
    hot = [(j, level) for j in categories for level in np.unique(x[:, j])]
    return tuple(  # type: ignore[return-value]
        np.column_stack([rows[:, plain], *[(rows[:, j] == level) * 1.0 for j, level in hot]])
        for rows in (x, test)
    )


SYSTEMS: dict[str, Callable[..., Any]] = {
    "ensemble": ensemble,
    "ridge": ridge,
    "forest": forest,
    "weighted forest": weighted_forest,
    "maxent": maxent,
    "boosted": boosted,
    "network": network,
}


def species(folder: Path, region: str) -> Iterator[tuple[str, Any, Any, Any, Any, list[int]]]:
    """Yield the name, rows, labels, test rows and test labels of each species."""
    presence, background, test = (
        pd.read_parquet(folder / f"{region}-{part}.parquet")
        for part in ("presence", "background", "test")
    )
    columns = [c for c in background if c not in ("spid", "group", "x", "y") and c in presence]
    categories = [columns.index(name) for name in CATEGORIES[region]]
    u = background[columns].to_numpy(np.float64)
    for name in sorted(presence.spid.unique()):
        p = presence.loc[presence.spid == name, columns].to_numpy(np.float64)
        truth = test[name].to_numpy(np.float64)
        known = ~np.isnan(truth)
        x, s = np.concatenate([p, u]), np.repeat([1, 0], [len(p), len(u)])
        rows = test.loc[known, columns].to_numpy(np.float64)
        yield name, x, s, rows, truth[known], categories


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--systems", default="ensemble,ridge,forest")
    parser.add_argument("--regions", default="awt,nsw,nz,swi")
    parser.add_argument("--step", type=int, default=1, help="take every so many species")
    parser.add_argument("--first", type=int, default=0, help="from this one on")
    options = parser.parse_args()
    if not options.out.exists():
        options.out.write_text(",".join(COLUMNS) + "\n")
    done = pd.read_csv(options.out)
    seen = set(zip(done.species, done.system, strict=True))
    warnings.simplefilter("ignore")
    for region in options.regions.split(","):
        for i, (name, x, s, test, truth, categories) in enumerate(species(options.data, region)):
            for system in options.systems.split(","):
                if i % options.step != options.first or (name, system) in seen:
                    continue
                start = time.process_time()
                scores = SYSTEMS[system](x, s, test, categories)
                row = [
                    region,
                    name,
                    int(s.sum()),
                    system,
                    round(float(roc_auc_score(truth, scores)), 5),
                    round(time.process_time() - start, 2),
                ]
                with options.out.open("a") as file:
                    file.write(",".join(map(str, row)) + "\n")
    result = pd.read_csv(options.out)
    print(result.pivot_table(index="system", columns="region", values="auc").round(4))
    print(result.pivot_table(index="system", columns="region", values="seconds", aggfunc="sum"))


if __name__ == "__main__":
    main()
