"""How far probabilities are from the truth on MNIST, even against odd: docs/selection.md.

    python benchmarks/calibration.py [--seeds 5]

1,000 P and 10,000 U, the true prior. A fifth of P and U is held out of the training and
calibrates the probabilities; true labels serve only to judge them, on the 10,000 test images.
Expected calibration error: 15 bins of equal width. One row of the table per bin; finished runs
are not run again. The picture goes to docs/images/calibration.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit

from nnpu import PUClassifier, data
from nnpu.experiments.tables import read_table, write_table
from nnpu.report import Curve, Panel, save_figure
from nnpu.training import Training

BINS = 15
LOSSES = ("sigmoid", "logistic")
KINDS = {"as they are": "orange", "calibrated": "blue"}


def fit(dataset, loss, seed):
    sample = data.sample_pu(dataset, 1_000, 10_000, disjoint=True, random_state=seed)
    options = Training(schedule="cosine", warm_up=0.2, validation_fraction=0.2)
    model = PUClassifier(sample.prior, loss=loss, training=options, random_state=seed)
    return model.fit(sample.x[sample.index], sample.s)


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


def run(dataset, loss, seed):
    model = fit(dataset, loss, seed)
    positive = dataset.y_test == 1
    probabilities = {
        "as they are": expit(model.decision_function(dataset.x_test).astype(float)),
        "calibrated": model.predict_proba(dataset.x_test)[:, 1],
    }
    rows = []
    for kind, values in probabilities.items():
        wrong = round(float(np.mean((values > 0.5) != positive)), 5)
        cell = {"loss": loss, "seed": seed, "kind": kind, "error": wrong}
        rows += [cell | row for row in bins(values, positive)]
    return rows


def expected_calibration_error(rows):
    return sum(row["weight"] * abs(row["probability"] - row["positives"]) for row in rows)


def summarise(rows):
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
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/calibration.csv"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/calibration"))
    options = parser.parse_args()
    rows = read_table(options.out) if options.out.exists() else []
    done = {(row["loss"], row["seed"]) for row in rows}
    dataset = data.load("mnist")
    for seed in range(options.seeds):
        for loss in LOSSES:
            if (loss, seed) not in done:
                rows += run(dataset, loss, seed)
                write_table(options.out, rows)
                print(f"{loss} seed {seed}", flush=True)
    summarise(rows)
    save_figure([panel(rows, loss) for loss in LOSSES], options.figure, formats=("png",))


if __name__ == "__main__":
    main()
