"""Review on real tables: coverage, error and width of audits from 100 answers.

`EnsemblePU` with an estimated prior, or a LightGBM of P against U, scores U out of fold; 2,000
draws
of 100 rows are answered by the hidden truth. Beside it: the same flagged rows, drawn and audited
with the probabilities of a model that saw all labels (the oracle), and a simple random sample with
Wilson's intervals.

python benchmarks/review.py --model ensemble --draws 2000 --out benchmarks/results/review.csv
python benchmarks/review.py --print
python benchmarks/review.py --limit churn    # how near to the oracle these probabilities can come
"""

from __future__ import annotations

import argparse
import csv
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from tables import CHOOSE, VERDICT, load
from tables import draw as sample

from nnpu import EnsemblePU, estimate_prior
from nnpu.calibration import posterior
from nnpu.review import draw
from nnpu.review.audits import audit_answered
from nnpu.review.draws import inclusion
from nnpu.review.totals import collect

FIGURES = ("prior", "precision", "recall", "accuracy")
Z = 1.6448536


def trees() -> LGBMClassifier:
    return LGBMClassifier(
        n_estimators=80,
        num_leaves=15,
        min_child_samples=30,
        learning_rate=0.06,
        verbose=-1,
        n_jobs=1,
        random_state=0,
    )


class Watched(EnsemblePU):
    """Keeps the out-of-fold probabilities."""

    def _finish(self, log_odds, s):
        super()._finish(log_odds, s)
        self.out_of_fold_ = self.calibration_(log_odds)


def population(name: str, model: str, seed: int = 0):
    """Return truth, PU probabilities, and probabilities of the oracle for the rows of U."""
    table = load(name)
    chosen = sample(table, 600, 5000, None, "two-sample", seed)
    x = np.vstack([chosen.x_p, chosen.x_u])
    s = np.repeat([1, 0], [len(chosen.p), len(chosen.u)])
    if model == "ensemble":
        options = {"categories": list(table.categorical), "n_jobs": 1, "random_state": seed}
        p = Watched(**options).fit(x, s).out_of_fold_[s == 0]
    else:
        sigma = cross_val_predict(trees(), x, s, cv=5, method="predict_proba")[:, 1]
        prior = estimate_prior(sigma[s == 1], sigma[s == 0], random_state=0).value
        prior = float(np.clip(prior, 0.01, 0.99))
        p = posterior(np.clip(sigma[s == 0], 0, 1 - 1e-9), prior=prior, labelled_share=s.mean())
    y = chosen.y_u.astype(float)
    oracle = cross_val_predict(trees(), chosen.x_u, y, cv=5, method="predict_proba")[:, 1]
    return y, p, oracle


def truth(y, flagged):
    found = y[flagged].sum()
    return {
        "prior": y.mean(),
        "precision": found / max(flagged.sum(), 1),
        "recall": found / y.sum(),
        "accuracy": np.mean(flagged == y),
    }


def audits(y, p, flagged, n, repeats, seed):
    """Return value, low and high of each figure of the flagged rows in each draw."""
    rng, rows = np.random.default_rng(seed), {name: [] for name in FIGURES}
    for _ in range(repeats):
        drawn = draw(p, n, random_state=rng)
        found = audit_answered(collect(p, drawn, y[drawn.rows], None, "audit"), 0.5, flagged)
        for name in FIGURES:
            figure = getattr(found, name)
            rows[name].append((figure.value, figure.low, figure.high))
    return {name: np.array(values) for name, values in rows.items()}


def wilson(k, n):
    if n == 0:
        return 0.5, 0.0, 1.0
    share = k / n
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return share, centre - half, centre + half


def simple(y, flagged, n, repeats, seed):
    """The same from simple random samples, without a model."""
    rng, rows = np.random.default_rng(seed), {name: [] for name in FIGURES}
    for _ in range(repeats):
        drawn = rng.choice(y.size, n, replace=False)
        yes, flag = y[drawn] == 1, flagged[drawn]
        rows["prior"].append(wilson(yes.sum(), n))
        rows["precision"].append(wilson((yes & flag).sum(), flag.sum()))
        rows["recall"].append(wilson((yes & flag).sum(), yes.sum()))
        rows["accuracy"].append(wilson((yes == flag).sum(), n))
    return {name: np.array(values) for name, values in rows.items()}


def summary(values, exact):
    covered = (values[:, 1] <= exact + 1e-12) & (values[:, 2] >= exact - 1e-12)
    width = values[:, 2] - values[:, 1]
    return covered.mean(), np.abs(values[:, 0] - exact).mean(), width.mean()


def limits(name):
    """Print errors over the oracle's: of these probabilities, and recalibrated with hindsight.

    The errors are standard deviations over draws, Σ a²(y − p)²(1 − chance)/chance, exact but for
    what systematic sampling saves. An isotonic regression on all true classes is the most that any
    recalibration of the same ranking can do.
    """
    y, p, oracle = population(name, "ensemble")
    hindsight = IsotonicRegression().fit(p, y).predict(p)
    flagged = p > 0.5
    recall = y[flagged].sum() / y.sum()
    parts = {
        "prior": np.full(y.size, 1 / y.size),
        "precision": flagged / flagged.sum(),
        "recall": (flagged - recall) / y.sum(),
    }

    def spread(q, a):
        chance = inclusion(q, 100, "estimate", np.ones(y.size, dtype=bool))
        return np.sqrt(np.sum((a * (y - q)) ** 2 * (1 - chance) / chance))

    for what, q in (("as they are", p), ("recalibrated", hindsight), ("oracle", oracle)):
        ratios = [f"{figure} {spread(q, a) / spread(oracle, a):.2f}" for figure, a in parts.items()]
        print(
            f"{name}, {what}: AUC {roc_auc_score(y, q):.3f}, Brier {np.mean((y - q) ** 2):.4f}; "
            f"error / oracle's: {', '.join(ratios)}"
        )


def summaries(path):
    """Print coverage, and ratios of errors and widths, over all tables and in the worst cell."""
    rows = pd.read_csv(path)
    rows["error / oracle"] = rows.error / rows.oracle_error
    rows["width / oracle"] = rows.width / rows.oracle_width
    rows["width / simple"] = rows.width / rows.simple_width
    for (model, figure), part in rows.groupby(["model", "figure"], sort=False):
        ratios = "; ".join(
            f"{name} {part[name].mean():.3f}, at most {part[name].max():.3f} "
            f"({part.table[part[name].idxmax()]}), least {part[name].min():.3f}"
            for name in ("error / oracle", "width / oracle", "width / simple")
        )
        print(
            f"{model} {figure}: {len(part)} tables, covers {part.coverage.mean():.3f}, at least "
            f"{part.coverage.min():.3f}; {ratios}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--role", choices=("choose", "verdict"), default="verdict")
    parser.add_argument("--model", choices=("ensemble", "lightgbm"), default="ensemble")
    parser.add_argument("--most", type=int, default=100, help="tables in this run")
    parser.add_argument("--print", action="store_true", dest="only_print")
    parser.add_argument("--limit", metavar="TABLE", help="print how near the oracle is")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/review.csv"))
    options = parser.parse_args()
    if options.limit:
        limits(options.limit)
        return
    header = "model,table,role,n,N,figure,truth,pu_estimate,coverage,error,width,oracle_error,"
    header += "oracle_width,simple_coverage,simple_error,simple_width"
    done = set()
    if options.out.exists():
        with options.out.open() as file:
            done = {(row["model"], row["table"], row["n"]) for row in csv.DictReader(file)}
    else:
        options.out.write_text(header + "\n")
    if options.only_print:
        summaries(options.out)
        return
    for name in CHOOSE if options.role == "choose" else VERDICT:
        if (options.model, name, str(options.rows)) in done or options.most <= 0:
            continue
        options.most -= 1
        y, p, oracle = population(name, options.model)
        seed = zlib.crc32(name.encode())
        flagged = p > 0.5
        ours = audits(y, p, flagged, options.rows, options.draws, seed)
        best = audits(y, oracle, flagged, options.rows, options.draws, seed)
        random = simple(y, flagged, options.rows, options.draws, seed)
        exact = truth(y, flagged)
        believed = truth(p, flagged) | {"accuracy": np.where(flagged, p, 1 - p).mean()}
        with options.out.open("a", newline="") as file:
            for figure in FIGURES:
                if np.isnan(ours[figure]).any():
                    continue
                mine = summary(ours[figure], exact[figure])
                _, error, width = summary(best[figure], exact[figure])
                other = summary(random[figure], exact[figure])
                numbers = (exact[figure], believed[figure], *mine, error, width, *other)
                row = [options.model, name, options.role, options.rows, y.size, figure]
                csv.writer(file).writerow(row + [f"{v:.5f}" for v in numbers])
                print(
                    f"{name:10} {figure:10} {exact[figure]:.3f} (PU {believed[figure]:.3f})  "
                    f"covers {mine[0]:.3f}  error {mine[1]:.4f} ({mine[1] / error:.2f} of "
                    f"oracle's)  width {mine[2]:.3f} ({mine[2] / width:.2f} of oracle's, "
                    f"{mine[2] / other[2]:.2f} of simple)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
