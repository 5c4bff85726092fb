"""The accuracy of `estimate_prior`: the tables in docs/prior.md.

python benchmarks/prior.py digits|mnist|20news|gaussians [--seeds 5] [--method bbe]
    [--model default|boosting|logistic|trees]

MNIST and 20 Newsgroups are read from the folder named by NNPU_DATA. One line per cell; the last
line is the mean absolute error.
"""

from __future__ import annotations

import argparse
import gzip
import os
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.prior import estimate_prior

if TYPE_CHECKING:
    from collections.abc import Iterator

Cell = tuple[str, Any, Any, float]
PRIORS = (0.2, 0.5, 0.8)


def digits(seeds: int) -> Iterator[Cell]:
    """Even against odd: 450 rows are held out, 100 positives labelled, 1,247 rows unlabelled."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, digit = load_digits(return_X_y=True)
    for seed in range(seeds):
        x_train, _, y, _ = train_test_split(
            x, digit % 2 == 0, test_size=450, random_state=seed, stratify=digit % 2 == 0
        )
        labelled = np.random.default_rng(seed).permutation(np.flatnonzero(y))[:100]
        rest = np.setdiff1d(np.arange(y.size), labelled)
        yield f"digits seed {seed}", x_train[labelled], x_train[rest], float(y[rest].mean())


def mnist(seeds: int) -> Iterator[Cell]:
    folder = Path(os.environ["NNPU_DATA"]) / "mnist"
    pixels = np.frombuffer(
        gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16
    )
    digit = np.frombuffer(
        gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8
    )
    x = pixels.reshape(digit.size, -1).astype(np.float32) / 255
    for seed in range(seeds):
        for name, y in (("0-4", digit < 5), ("even", digit % 2 == 0)):
            for prior in PRIORS:
                yield f"mnist {name} seed {seed}", *mixture(x, y, 1000, 10_000, prior, seed)


def news(seeds: int) -> Iterator[Cell]:
    """The paper's split of the topics, on TF-IDF of the training messages."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, topics = [], []
    archive = Path(os.environ["NNPU_DATA"]) / "20news" / "20news-bydate.tar.xz"
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and "train" in member.name:
                texts.append(tar.extractfile(member).read().decode("latin1"))  # type: ignore[union-attr]
                topics.append(member.name.split("/")[-2].split(".")[0])
    x = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english").fit_transform(texts)
    y = np.isin(topics, ["alt", "comp", "misc", "rec"])
    for seed in range(seeds):
        for prior in PRIORS:
            yield f"20news seed {seed}", *mixture(x, y, 1000, 3000, prior, seed)


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


def make_model(name: str) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "default": None,
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "trees": ExtraTreesClassifier(100, min_samples_leaf=5, random_state=0),
    }[name]


def run(cells: Iterator[Cell], method: str, model: Any) -> None:
    errors = []
    for name, x_p, x_u, prior in cells:
        start, cpu = time.perf_counter(), time.process_time()
        found = estimate_prior(x_p, x_u, method=method, model=model, random_state=0)
        errors.append(abs(found.value - prior))
        print(
            f"{name}: true {prior:.3f} estimate {found.value:.3f} ({found.low:.3f} to "
            f"{found.high:.3f}) identified {found.identified} "
            f"{time.perf_counter() - start:.1f} s, {time.process_time() - cpu:.1f} s of one core",
            flush=True,
        )
    print(f"mean absolute error {np.mean(errors):.4f} over {len(errors)} cells")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["digits", "mnist", "20news", "gaussians"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--method", default="bbe")
    parser.add_argument(
        "--model", default="default", choices=["default", "boosting", "logistic", "trees"]
    )
    arguments = parser.parse_args()
    if arguments.data == "gaussians":
        gaussians(arguments.seeds, arguments.method)
    else:
        cells = {"digits": digits, "mnist": mnist, "20news": news}[arguments.data]
        run(cells(arguments.seeds), arguments.method, make_model(arguments.model))


if __name__ == "__main__":
    main()
