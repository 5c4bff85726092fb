r"""nnpu beside its peers: the same data, the same split, the same prior; time, memory, accuracy.

    python -m venv .venv-peers
    .venv-peers/bin/pip install -c constraints.txt torch \
        pulearn==0.2.0 pu-toolbox==1.11.0 pywsl==0.1.4
    python benchmarks/peers.py --peers .venv-peers/bin/python --out benchmarks/results/peers.csv

Each contender is fitted in a process of its own, in its own environment, with its own default
settings and the true prior; features are standardised for all. `seconds` is the time of `fit`,
`memory` the peak of the process, libraries included, in MB. The true labels judge the test rows
only. Finished rows of the table are not run again.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

Shape = tuple[int, int]


def ours(name: str, **parameters: Any) -> Any:
    return lambda prior, seed, shape: getattr(importlib.import_module("nnpu"), name)(
        prior, random_state=seed, **parameters
    )


def linear(full_batches: bool) -> Any:
    """Linear models as the peers train them: pulearn in full batches, pu-toolbox in small ones."""

    def make(prior: float, seed: int, shape: Shape) -> Any:
        from torch import nn

        from nnpu import PUClassifier
        from nnpu.training import Training

        as_the_peer = (
            {"optimizer": "sgd", "lr": 0.01, "batch_size": shape[0], "epochs": 1_000}
            if full_batches
            else {"optimizer": "adam", "lr": 0.001, "batch_size": 256, "epochs": 200}
        )
        return PUClassifier(
            prior,
            module=nn.Linear(shape[1], 1),
            weight_decay=0.0,
            random_state=seed,
            training=Training(),
            **as_the_peer,
        )

    return make


def pulearn_nnpu(prior: float, seed: int, shape: Shape) -> Any:
    from pulearn import NNPUClassifier

    return NNPUClassifier(prior=prior, random_state=seed)


def pulearn_elkan_noto(prior: float, seed: int, shape: Shape) -> Any:
    from pulearn import ElkanotoPuClassifier
    from sklearn.svm import SVC

    return ElkanotoPuClassifier(SVC(probability=True, random_state=seed), random_state=seed)


def pulearn_bagging(prior: float, seed: int, shape: Shape) -> Any:
    from pulearn import BaggingPuClassifier

    return BaggingPuClassifier(n_estimators=100, random_state=seed)


def toolbox_nnpu(prior: float, seed: int, shape: Shape) -> Any:
    from pu_toolbox.estimators.risk.nnpu import NonNegativePUClassifier

    return NonNegativePUClassifier(class_prior=prior, random_state=seed)


def pywsl_squared(prior: float, seed: int, shape: Shape) -> Any:
    from pywsl.pul.pu_mr import PU_SL

    np.random.seed(seed)  # noqa: NPY002 - it draws its centres from the global generator
    return PU_SL(prior=prior, sigma=8.0, lam=0.1)  # its default sigma is for unit cubes


CONTENDERS: dict[str, tuple[str, Any]] = {
    "nnpu: PUClassifier": ("ours", ours("PUClassifier")),
    "nnpu: LinearPU, squared, 200 Gaussians": (
        "ours",
        ours("LinearPU", loss="squared", basis="gaussian", n_components=200, alpha=0.05),
    ),
    "nnpu: linear, 1,000 steps on all rows": ("ours", linear(full_batches=True)),
    "pulearn: NNPUClassifier, the same": ("peers", pulearn_nnpu),
    "nnpu: linear, 200 epochs of batches of 256": ("ours", linear(full_batches=False)),
    "pu-toolbox: NonNegativePUClassifier, the same": ("peers", toolbox_nnpu),
    "pulearn: ElkanotoPuClassifier, SVC": ("peers", pulearn_elkan_noto),
    "pulearn: BaggingPuClassifier, 100 trees": ("peers", pulearn_bagging),
    "pywsl: PU_SL, squared, 200 Gaussians": ("peers", pywsl_squared),
}


def draw(name: str, seed: int) -> dict[str, Any]:
    """Return X and s to fit, and the test rows with their true classes."""
    import nnpu_paper
    from nnpu import data

    found = nnpu_paper.load(name)
    x = np.concatenate([found.x_train, found.x_test]).reshape(-1, found.x_train[0].size)
    y = np.concatenate([found.y_train, found.y_test])
    n_p, n_u, n_test = {"digits": (100, 1_247, 450), "mnist": (1_000, 10_000, 10_000)}[name]
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:n_test], order[n_test:]
    drawn = data.sample_pu((x[train], y[train]), n_p, n_u, disjoint=True, random_state=seed)
    scale = x[train].std(axis=0)
    x = ((x - x[train].mean(axis=0)) / np.where(scale > 0, scale, 1)).astype(np.float32)
    rows = train[drawn.index]
    return {
        "X": x[rows],
        "s": drawn.s.astype(np.int64),
        "x_test": x[test],
        "y_test": y[test],
        "prior": drawn.prior,
    }


def peak_memory() -> int:
    """Return the peak of this process alone in MB; `getrusage` would count its parent's too."""
    status = Path("/proc/self/status").read_text()
    return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


def fit_one(contender: str, file: str, seed: int) -> dict[str, float]:
    data = dict(np.load(file))
    clf = CONTENDERS[contender][1](float(data["prior"]), seed, data["X"].shape)
    start = time.perf_counter()
    clf.fit(data["X"], data["s"])
    seconds = time.perf_counter() - start
    memory = peak_memory()
    right = (np.asarray(clf.predict(data["x_test"])).ravel() > 0) == (data["y_test"] > 0)
    return {
        "seconds": round(seconds, 3),
        "memory": memory,
        "accuracy": round(float(right.mean()), 4),
    }


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        contender, file, seed = sys.argv[2:]
        print(json.dumps(fit_one(contender, file, int(seed))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", required=True, help="interpreter that has the peers")
    parser.add_argument("--data", nargs="+", default=["digits", "mnist"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one fit")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/peers.csv"))
    given = parser.parse_args()
    from nnpu_paper.results import read_results, write_results

    rows = read_results(given.out) if given.out.exists() else []
    done = {(row["data"], row["seed"], row["contender"]) for row in rows}
    for name in given.data:
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "data.npz"
                np.savez(file, **draw(name, seed))
                for contender, (where, _) in CONTENDERS.items():
                    if (name, seed, contender) in done:
                        continue
                    python = sys.executable if where == "ours" else given.peers
                    row = {"data": name, "seed": seed, "contender": contender}
                    row |= run(python, contender, file, seed, given.limit)
                    rows.append(row)
                    write_results(given.out, rows)
                    print(row, flush=True)
    summarise(rows)


def run(python: str, contender: str, file: Path, seed: int, limit: float) -> dict[str, Any]:
    command = [python, __file__, "worker", contender, str(file), str(seed)]
    try:
        output = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=limit
        ).stdout
    except subprocess.TimeoutExpired:
        return {"seconds": float("inf"), "memory": float("nan"), "accuracy": float("nan")}
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def summarise(rows: list[dict[str, Any]]) -> None:
    """Print means over the seeds; times as multiples of PUClassifier's."""
    for name in dict.fromkeys(row["data"] for row in rows):
        print(f"\n{name}\n| contender | accuracy | time | memory, MB |\n|---|---|---|---|")
        own = None
        for contender in CONTENDERS:
            of = [r for r in rows if (r["data"], r["contender"]) == (name, contender)]
            if not of:
                continue
            mean = {k: np.mean([r[k] for r in of]) for k in ("accuracy", "seconds", "memory")}
            own = own or mean["seconds"]
            print(
                f"| {contender} | {mean['accuracy']:.3f} | {mean['seconds'] / own:.2f} "
                f"| {mean['memory']:.0f} |"
            )


if __name__ == "__main__":
    main()
