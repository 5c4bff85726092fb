"""What 200 answers add to a fit on real tables: how much of the gap to the oracle they close.

300 rows of P and 1,500 of U (fewer where a table is small), ten splits. The ensemble with an
estimated prior, in three folds; the same with 200 answers to rows of U, drawn for estimates or at
random; and the oracle, the mean of LightGBM and a ridge regression that see the true classes of U.
Accuracy on 2,000 other rows. Also `--for finding`: the share of positives among the first 200
rows, and among the first 200 by each single member: the best on the mean over splits is chosen
with hindsight, the best in each split with much more of it (the largest of several noisy shares).

python benchmarks/review_fit.py --role verdict    # finished rows of the CSV are not run again
python benchmarks/review_fit.py --print
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tables import CHOOSE, VERDICT, load
from tables import draw as sample

from nnpu import EnsemblePU
from nnpu.review import draw, known_rows

SIZES = 300, 1500
ANSWERS = 200
FIRST = 200
DRAWS = "estimate", "random"
FIELDS = ["table", "role", "split", "system", "prior", "accuracy", "auc", "found"]


class Watched(EnsemblePU):
    """Keeps the out-of-fold probabilities, and the out-of-fold scores of each member."""

    def _combine(self, used, s):
        self.member_scores_ = {trial.member.name: trial.scores for trial in used}
        return super()._combine(used, s)

    def _finish(self, log_odds, s):
        super()._finish(log_odds, s)
        self.probability_ = self.calibration_(log_odds)


def oracle(table, x, y, test):
    """Return probabilities of the test rows by models that see true classes."""
    words = list(table.categorical)
    numbers = [j for j in range(x.shape[1]) if j not in words]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=10), words),
    )
    models = (
        LGBMClassifier(n_estimators=100, num_leaves=7, verbose=-1, n_jobs=1),
        make_pipeline(columns, LogisticRegression(C=0.5, max_iter=500)),
    )
    return np.mean([m.fit(x, y).predict_proba(test)[:, 1] for m in models], axis=0)


def top_share(scores, y):
    return y[np.argsort(-scores, kind="stable")[:FIRST]].mean()


def split(name, seed):
    """Yield a row for each system on one split."""
    table = load(name)
    chosen = sample(table, *SIZES, None, "two-sample", seed)
    x = np.vstack([chosen.x_p, chosen.x_u])
    s = np.repeat([1, 0], [len(chosen.p), len(chosen.u)])
    of_u, y, test, truth = s == 0, chosen.y_u.astype(float), chosen.x_test, chosen.y_test
    options = {
        "categories": list(table.categorical),
        "random_state": seed,
        "n_jobs": 1,
        "n_folds": 3,
    }

    def row(system, model, found=np.nan):
        right = np.mean((model.predict(test) == 1) == truth)
        auc = roc_auc_score(truth, model.decision_function(test))
        return system, model.prior_, right, auc, found

    base = Watched(**options).fit(x, s)
    p = base.probability_[of_u]
    found = draw(p, FIRST, purpose="finding", random_state=seed)
    yield row("estimated", base, y[found.rows].mean())
    for member, scores in base.member_scores_.items():
        yield f"member {member}", np.nan, np.nan, np.nan, top_share(scores[of_u], y)
    for how in DRAWS:
        q = np.full(p.size, 0.5) if how == "random" else p
        purpose = "estimate" if how == "random" else how
        drawn = draw(q, ANSWERS, purpose=purpose, random_state=seed)
        known = known_rows(q, drawn, y[drawn.rows])
        known = known._replace(rows=np.flatnonzero(of_u)[known.rows])
        yield row(how, EnsemblePU(**options).fit(x, s, answers=known))
    q = oracle(table, chosen.x_u, y, test)
    yield "oracle", chosen.prior, np.mean((q > 0.5) == truth), roc_auc_score(truth, q), np.nan


def summary(path):
    """Print the share of the gap that answers close, on the mean over splits."""
    rows = pd.read_csv(path)
    for (role, name), part in rows.groupby(["role", "table"], sort=False):
        mean = part.groupby("system").accuracy.mean()
        gap = mean["oracle"] - mean["estimated"]
        closed = {how: (mean[how] - mean["estimated"]) / gap for how in DRAWS}
        found = part[part.system == "estimated"].found.mean()
        members = part[part.system.str.contains("member")]  # "best member": of an earlier table
        lucky = members.groupby("split").found.max().mean()
        best = members[members.system != "best member"].groupby("system").found.mean().max()
        print(
            f"{name:10} {role:8} {part.split.nunique():2} splits  accuracy {mean['estimated']:.3f} "
            f"estimated prior, {mean['estimate']:.3f} estimate, {mean['random']:.3f} random, "
            f"{mean['oracle']:.3f} oracle; closed "
            + ", ".join(f"{how} {share:.0%}" for how, share in closed.items())
            + f"; first {FIRST}: {found:.3f}, best member {best:.3f}, best in each {lucky:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=("choose", "verdict"), default="verdict")
    parser.add_argument("--tables", type=int, default=6)
    parser.add_argument("--only", help="the name of a single table")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--most", type=int, default=1000, help="table splits in this run")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/review_fit.csv"))
    parser.add_argument("--print", action="store_true", dest="only_print")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.out.exists():
        options.out.write_text(",".join(FIELDS) + "\n")
    if not options.only_print:
        with options.out.open() as file:
            done = {(row["table"], row["split"]) for row in csv.DictReader(file)}
        names = (CHOOSE if options.role == "choose" else VERDICT)[: options.tables]
        names = [options.only] if options.only else names
        for seed in range(options.splits):
            for name in names:
                if (name, str(seed)) in done or options.most <= 0:
                    continue
                options.most -= 1
                lines = [
                    [name, options.role, seed, system, *(f"{value:.5f}" for value in numbers)]
                    for system, *numbers in split(name, seed)
                ]
                with options.out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(lines)
                print(name, seed, flush=True)
    summary(options.out)


if __name__ == "__main__":
    main()
