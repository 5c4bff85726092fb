"""LinearPU: against pywsl on the same Gaussian basis, and on a million sparse rows.

python -m venv /tmp/pywsl && /tmp/pywsl/bin/pip install pywsl==0.1.4 numpy scipy scikit-learn
python benchmarks/linear.py pywsl --peer /tmp/pywsl/bin/python [--rows 100000] [--dtype float64]
python benchmarks/linear.py path --peer /tmp/pywsl/bin/python [--rows 20000]
python benchmarks/linear.py sparse [--rows 1000000] [--loss logistic] [--alpha 1]

`pywsl` runs both in their own environments, in turn, and prints the ratio of the shortest times of
`fit`, on the wall and of the processor; the objective of both solutions is computed by nnpu.risk
in float64. `path` does the same for a search: eleven strengths of regularisation on all rows and on
five folds, by `regularisation_path` and by as many fits of pywsl. `sparse` prints rows per second
and the peak memory of the process. Set OMP_NUM_THREADS to say how many threads both get.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PRIOR, LAMBDA = 0.4, 0.1
LAMBDAS = np.logspace(-3, 1, 11)  # what pywsl's own search tries


def draw(rows: int, d: int, dtype: str) -> tuple[Any, Any]:
    """Two Gaussian classes; 5 % more rows are labelled positives. Mean 0, variance 1 overall."""
    rng = np.random.default_rng(0)
    n_p = rows // 20
    positive = np.r_[np.ones(n_p, bool), rng.random(rows) < PRIOR]
    X = rng.normal(size=(n_p + rows, d)) + np.where(positive, 0.5, -0.5)[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X.astype(np.float32).astype(dtype), np.r_[np.ones(n_p, int), np.zeros(rows, int)]


def fit_ours(data: Any, repeats: int) -> dict[str, Any]:
    from nnpu import LinearPU

    clf = LinearPU(
        PRIOR,
        loss="squared",
        alpha=LAMBDA / 2,
        fit_intercept=False,
        basis="gaussian",
        n_components=int(data["components"]),
        gamma=float(data["gamma"]),
        random_state=0,
    )
    times = timed(lambda: clf.fit(data["X"], data["s"]), repeats)
    coef, centres = clf.coef_[0].tolist(), clf.features_.points.tolist()
    return {**times, "coef": coef, "centres": centres}


def fit_peer(data: Any, repeats: int) -> dict[str, Any]:
    from pywsl.pul.pu_mr import PU_SL

    np.random.permutation = lambda n: data["order"]  # the centres that LinearPU drew
    sigma = float(np.sqrt(1 / (2 * data["gamma"])))
    clf = PU_SL(prior=PRIOR, sigma=sigma, lam=LAMBDA, n_basis=int(data["components"]))
    times = timed(lambda: clf.fit(data["X"], data["s"]), repeats)
    return {**times, "coef": clf.coef_.tolist()}


def path_ours(data: Any, repeats: int) -> dict[str, Any]:
    from nnpu import LinearPU

    clf = LinearPU(
        PRIOR,
        loss="squared",
        fit_intercept=False,
        basis="gaussian",
        n_components=int(data["components"]),
        gamma=float(data["gamma"]),
        random_state=0,
    )
    tables: list[Any] = []

    def work() -> None:
        tables.append(clf.regularisation_path(data["X"], data["s"], LAMBDAS / 2))

    return {**timed(work, repeats), "objectives": [row["objective"] for row in tables[-1]]}


def path_peer(data: Any, repeats: int) -> dict[str, Any]:
    from pywsl.pul.pu_mr import PU_SL
    from sklearn.model_selection import StratifiedKFold

    X, s = data["X"], data["s"]
    shuffle = np.random.permutation
    sigma = float(np.sqrt(1 / (2 * data["gamma"])))
    coefs: list[Any] = []

    def search() -> None:
        coefs.clear()
        for lam in LAMBDAS:
            clf = PU_SL(prior=PRIOR, sigma=sigma, lam=lam, n_basis=int(data["components"]))
            np.random.permutation = shuffle
            for train, test in StratifiedKFold(5).split(X, s):
                clf.fit(X[train], s[train]).score(X[test], s[test])
            np.random.permutation = lambda n: data["order"]
            coefs.append(clf.fit(X, s).coef_.tolist())

    return {**timed(search, repeats), "coefs": coefs}


def timed(work: Any, repeats: int) -> dict[str, float]:
    """Return the shortest wall and processor times, after one run that does not count."""
    work()
    times = []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = np.min(times, axis=0)
    return {"wall": wall, "processor": processor}


def objective(X: Any, s: Any, coef: Any, centres: Any, gamma: float, lam: float = LAMBDA) -> float:
    """R̂_pu + α/2 ‖w‖² by nnpu.risk, in float64, from differences x − c: no code is shared."""
    import torch
    from scipy.spatial.distance import cdist

    from nnpu.risk import upu_risk

    w = np.asarray(coef)
    parts = np.array_split(X.astype(np.float64), 20)
    g = torch.from_numpy(
        np.concatenate([np.exp(-gamma * cdist(part, centres, "sqeuclidean")) @ w for part in parts])
    )
    return float(upu_risk(g[s == 1], g[s == 0], PRIOR, "squared")) + lam / 4 * float(w @ w)


def against_pywsl(rows: int, d: int, components: int, dtype: str, peer: str, repeats: int) -> None:
    X, s = draw(rows, d, dtype)
    gamma = 1 / (2 * d)
    shared = {"X": X, "s": s, "gamma": gamma, "components": components}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, **shared)
        first = run(sys.executable, "ours", file, repeats)
        centres = np.array(first["centres"])
        order = nearest(centres, X[s == 0])
        centres = X[s == 0][order].astype(np.float64)
        np.savez(file, order=order, **shared)
        peers, ours = [], [first]
        for _ in range(3):
            peers.append(run(peer, "peer", file, repeats))
            ours.append(run(sys.executable, "ours", file, repeats))
    j_mine, j_theirs = (objective(X, s, runs[0]["coef"], centres, gamma) for runs in (ours, peers))
    print(f"rows={len(X)} features={d} centres={components} dtype={dtype}")
    for clock in ("wall", "processor"):
        mine, theirs = (min(result[clock] for result in runs) for runs in (ours, peers))
        print(f"{clock}: LinearPU {mine:.4f} s, pywsl {theirs:.4f} s, ratio {theirs / mine:.1f}")
    print(f"objective: LinearPU {j_mine:.9f}, pywsl {j_theirs:.9f}, {j_mine - j_theirs:+.1e}")


def path_against_pywsl(
    rows: int, d: int, components: int, dtype: str, peer: str, repeats: int
) -> None:
    X, s = draw(rows, d, dtype)
    gamma = 1 / (2 * d)
    shared = {"X": X, "s": s, "gamma": gamma, "components": components}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, **shared)
        order = nearest(np.array(run(sys.executable, "ours", file, 1)["centres"]), X[s == 0])
        np.savez(file, order=order, **shared)
        theirs = run(peer, "path_peer", file, repeats)
        ours = run(sys.executable, "path_ours", file, repeats)
    centres = X[s == 0][order].astype(np.float64)
    difference = max(
        abs(mine - objective(X, s, coef, centres, gamma, lam))
        for mine, coef, lam in zip(ours["objectives"], theirs["coefs"], LAMBDAS, strict=True)
    )
    print(f"rows={len(X)} features={d} centres={components} dtype={dtype} strengths={len(LAMBDAS)}")
    for clock in ("wall", "processor"):
        a, b = ours[clock], theirs[clock]
        print(f"{clock}: LinearPU {a:.4f} s, pywsl {b:.4f} s, ratio {b / a:.1f}")
    print(f"objectives differ by at most {difference:.1e}")


def nearest(centres: Any, x_u: Any) -> Any:
    from sklearn.metrics import pairwise_distances_argmin

    order = pairwise_distances_argmin(centres, x_u)
    assert np.allclose(x_u[order], centres, atol=1e-5)
    return order


def run(python: str, worker: str, file: Path, repeats: int) -> dict[str, Any]:
    command = [python, __file__, "worker", worker, str(file), str(repeats)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def million_sparse_rows(rows: int, d: int, per_row: int, loss: str, alpha: float) -> None:
    """Rows with `per_row` random features each; 1,000 features are commoner in one class."""
    from scipy import sparse

    from nnpu import LinearPU

    rng = np.random.default_rng(0)
    n_p = rows // 20
    positive = np.r_[np.ones(n_p, bool), rng.random(rows - n_p) < PRIOR]
    indices = rng.integers(0, d, (rows, per_row), dtype=np.int32)
    indices[:, :2] %= 500
    indices[:, :2] += np.where(positive, 0, 500).astype(np.int32)[:, None]
    indices.sort(axis=1)
    data = rng.random(rows * per_row, dtype=np.float32)
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_matrix((data, indices.ravel(), indptr), shape=(rows, d))
    s = np.r_[np.ones(n_p, int), np.zeros(rows - n_p, int)]
    print(f"data: {(data.nbytes + indices.nbytes + indptr.nbytes) / 2**20:.0f} MB")
    start = time.perf_counter()
    clf = LinearPU(PRIOR, loss=loss, alpha=alpha).fit(X, s)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    accuracy = np.mean((clf.decision_function(X[n_p:]) > 0) == positive[n_p:])
    print(f"rows={rows} features={d} loss={loss} alpha={alpha:g}")
    print(f"{seconds:.1f} s, {rows / seconds:,.0f} rows/s")
    print(f"peak memory of the process {peak:.2f} GB; {clf.certificate_}")
    print(f"objective {clf.objective_:.6f}; accuracy on the unlabelled rows {accuracy:.4f}")


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        _, _, worker, file, repeats = sys.argv
        fit = {
            "ours": fit_ours,
            "peer": fit_peer,
            "path_ours": path_ours,
            "path_peer": path_peer,
        }[worker]
        print(json.dumps(fit(dict(np.load(file)), int(repeats))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["pywsl", "path", "sparse"])
    parser.add_argument("--peer", default="/tmp/pywsl/bin/python")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int)
    parser.add_argument("--centres", type=int, default=200)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--alpha", type=float, default=1.0)
    given = parser.parse_args()
    if given.what in ("pywsl", "path"):
        single = given.what == "pywsl"
        rows, d = given.rows or (100_000 if single else 20_000), given.features or 20
        compare = against_pywsl if single else path_against_pywsl
        compare(rows, d, given.centres, given.dtype, given.peer, given.repeats)
    else:
        rows, d = given.rows or 1_000_000, given.features or 100_000
        million_sparse_rows(rows, d, 50, given.loss, given.alpha)


if __name__ == "__main__":
    main()
