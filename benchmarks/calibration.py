"""How far probabilities are from the truth, even against odd digits: docs/lab/selection.md.

    python benchmarks/calibration.py [mnist] [digits] [--seeds 5]

MNIST: 1,000 P, 10,000 U, 10,000 test rows. Digits: 300 P, 1,047 U, at most 450 test rows. The
true prior. A fifth of P and U (of digits a third) is held out of the training and calibrates the
probabilities; true labels serve only to judge them, on test rows with U's share of positives.
Expected calibration error: 15 bins of equal width. One row of the table per bin; finished runs
are not run again. The picture goes to docs/images/calibration.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import expit

import nnpu_paper
from nnpu import PUClassifier, data
from nnpu.report import Curve, Panel, save_figure
from nnpu.training import Training
from nnpu_paper.results import read_results, write_results

BINS = 15
LOSSES = ("sigmoid", "logistic")
KINDS = {"as they are": "orange", "calibrated": "blue"}


def mnist(seed):
    d = nnpu_paper.load("mnist")
    sample = data.sample_pu(d, 1_000, 10_000, disjoint=True, random_state=seed)
    return sample, d.x_test, d.y_test, 0.2


def digits(seed):
    d = data.load("digits")
    x, y = np.concatenate([d.x_train, d.x_test]), np.concatenate([d.y_train, d.y_test])
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:450], order[450:]
    sample = data.sample_pu((x[train], y[train]), 300, disjoint=True, random_state=seed)
    fresh = data.sample_pu((x[test], y[test]), 1, prior=sample.prior, random_state=seed)
    return sample, fresh.x_u, fresh.y[fresh.index_u], 1 / 3


SETS = {"mnist": mnist, "digits": digits}


def bins(probabilities, positive):
    """One row per bin with rows in it: mean probability, share of positives, share of rows."""
    number = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    for chosen in np.unique(number):
        inside = number == chosen
        yield {
            "bin": int(chosen),
            "weight": round(float(inside.mean()), 6),
            "probability": round(float(probabilities[inside].mean()), 6),
            "positives": round(float(positive[inside].mean()), 6),
        }


def run(name, loss, seed):
    sample, x_test, y_test, fraction = SETS[name](seed)
    options = Training(schedule="cosine", warm_up=0.2, validation_fraction=fraction)
    model = PUClassifier(sample.prior, loss=loss, training=options, random_state=seed)
    model.fit(sample.x[sample.index], sample.s)
    positive = y_test == 1
    probabilities = {
        "as they are": expit(model.decision_function(x_test).astype(float)),
        "calibrated": model.predict_proba(x_test)[:, 1],
    }
    rows = []
    for kind, values in probabilities.items():
        wrong = round(float(np.mean((values > 0.5) != positive)), 5)
        cell = {"data": name, "loss": loss, "seed": seed, "kind": kind, "error": wrong}
        rows += [cell | row for row in bins(values, positive)]
    return rows


def expected_calibration_error(rows):
    return sum(row["weight"] * abs(row["probability"] - row["positives"]) for row in rows)


def summarise(rows, name):
    rows = [row for row in rows if row["data"] == name]
    print(f"\n{name}\n")
    print("| loss | probabilities | expected calibration error | largest | error at one half |")
    print("|---|---|---|---|---|")
    for loss in LOSSES:
        for kind in KINDS:
            chosen = [row for row in rows if (row["loss"], row["kind"]) == (loss, kind)]
            by_seed = [
                [row for row in chosen if row["seed"] == seed]
                for seed in sorted({row["seed"] for row in chosen})
            ]
            found = [expected_calibration_error(part) for part in by_seed]
            wrong = np.mean([part[0]["error"] for part in by_seed])
            print(f"| {loss} | {kind} | {np.mean(found):.3f} | {max(found):.3f} | {wrong:.3f} |")


def panel(rows, loss):
    """Reliability: over all seeds, the share of positives in each bin against its mean."""
    curves = [Curve("", [0, 1], [0, 1], None, "grey", "dotted")]
    for kind, colour in KINDS.items():
        x, y = [], []
        for number in range(BINS):
            key = (loss, kind, number)
            inside = [row for row in rows if (row["loss"], row["kind"], row["bin"]) == key]
            if inside:
                weights = [row["weight"] for row in inside]
                x.append(np.average([row["probability"] for row in inside], weights=weights))
                y.append(np.average([row["positives"] for row in inside], weights=weights))
        curves.append(Curve(kind, x, y, None, colour))
    return Panel(f"{loss} loss", "probability", "share of positives", curves)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(SETS), help=" ".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/calibration.csv"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/calibration"))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    done = {(row["data"], row["loss"], row["seed"]) for row in rows}
    for name, seed, loss in product(options.data, range(options.seeds), LOSSES):
        if (name, loss, seed) not in done:
            rows += run(name, loss, seed)
            write_results(options.out, rows)
            print(f"{name}, {loss} loss, seed {seed}", flush=True)
    for name in options.data:
        summarise(rows, name)
    if "mnist" in options.data:
        of_mnist = [row for row in rows if row["data"] == "mnist"]
        panels = [panel(of_mnist, loss) for loss in LOSSES]
        save_figure(panels, options.figure, formats=("png",))


if __name__ == "__main__":
    main()
