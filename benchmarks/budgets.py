"""What the commands take on a million rows: seconds by phase, processor time, peak memory.

    python benchmarks/budgets.py table --rows 1000000     # fit, prior, predict (CSV and Parquet)
    python benchmarks/budgets.py start                    # predict 100 rows with a tree model
    python benchmarks/budgets.py arrays                   # 300,000 x 20: estimate_prior, "auto"
    python benchmarks/budgets.py sparse                   # 50,000 x 50,000, 50 non-zeros a row
    python benchmarks/budgets.py text                     # 100,000 rows with a column of text
    python benchmarks/budgets.py wide                     # 300 rows x 20,000 columns
    python benchmarks/budgets.py dask --rows 10000000     # two workers, from Parquet
    python benchmarks/budgets.py dask_table --rows 200000 # TablePU on two workers, and in memory
    python benchmarks/budgets.py dask_twice --rows 100000 # two equal fits there: scores and ranks

A table is drawn (12 numbers, 5 of which tell the classes apart, 4 categories, 2 dates, 2 yes/no
columns; 2 % of the cells missing; 30 % positives, 40 % of them labelled) in a temporary folder. The
commands run as a user's would, in a process each; ``--verbose`` makes them print when each phase
began. Peak memory is the largest resident set of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

BLOCK = 100_000


def table(n, seed=0):
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    columns = {"row_id": seed + np.arange(n)}
    for j in range(12):
        values = rng.normal(0.8 * y * (j < 5), 1).round(4)
        columns[f"x{j}"] = np.where(rng.random(n) < 0.02, np.nan, values)
    for j, levels in enumerate((4, 12, 60, 300)):
        codes = rng.integers(0, levels, n)
        codes = np.where(y & (rng.random(n) < 0.15), 0, codes)
        columns[f"c{j}"] = np.char.add("v", codes.astype(str))
    for j in range(2):
        days = np.datetime64("2020-01-01") + rng.integers(0, 1500, n).astype("m8[D]")
        columns[f"d{j}"] = days.astype(str)
    for j in range(2):
        columns[f"b{j}"] = np.where(rng.random(n) < 0.3 + 0.2 * y, "yes", "no")
    columns["s"] = (y & (rng.random(n) < 0.4)).astype(np.int8)
    return pa.table({name: pa.array(c, from_pandas=True) for name, c in columns.items()})


def numbers(n, seed):
    """20 columns of numbers, 5 of which tell the classes apart, 2 % of the cells missing."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    columns = {}
    for j in range(20):
        values = rng.standard_normal(n, np.float32) + np.float32(0.8 * (j < 5)) * y
        values[rng.random(n, np.float32) < 0.02] = np.nan
        columns[f"x{j}"] = values
    return pa.table(columns | {"s": (y & (rng.random(n) < 0.4)).astype(np.int8)})


def write_table(folder, n):
    import pyarrow.csv
    import pyarrow.parquet

    csv, parquet, first = folder / "table.csv", folder / "table.parquet", True
    with csv.open("wb") as text:
        writer = None
        for start in range(0, n, BLOCK):
            part = table(min(BLOCK, n - start), seed=start)
            options = pyarrow.csv.WriteOptions(include_header=first, quoting_style="needed")
            pyarrow.csv.write_csv(part, text, options)
            writer = writer or pyarrow.parquet.ParquetWriter(parquet, part.schema)
            writer.write_table(part)
            first = False
        writer.close()
    return csv, parquet


def written(folder, n):
    """Write the table in another process: what this one holds would count for its children."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(write_table, folder, n).result()


def measured(name, *command, rows=None):
    """Run a command in a process of its own and print what it took."""
    print(f"\n$ {name}", flush=True)
    start = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable, [sys.executable, "-m", "nnpu", *map(str, command)], os.environ
    )
    _, status, used = os.wait4(pid, 0)
    seconds, processor = time.perf_counter() - start, used.ru_utime + used.ru_stime
    rate = f", {rows / seconds:,.0f} rows/s" if rows else ""
    print(
        f"{name}: {seconds:.1f} s, {processor:.1f} s of processor time, "
        f"{used.ru_maxrss / 1024:,.0f} MB{rate}, status {os.waitstatus_to_exitcode(status)}",
        flush=True,
    )


def run_table(folder, n):
    csv, parquet = written(folder, n)
    print(f"{n:,} rows, {csv.stat().st_size / 1e6:,.0f} MB as CSV")
    label, model = ("--label", "s"), folder / "model"
    measured("fit", "fit", csv, *label, "--out", model, "--verbose")
    measured("prior", "prior", csv, *label, "--verbose")
    for data in (parquet, csv):
        out = folder / f"scores{data.suffix}"
        measured(f"predict {data.suffix}", "predict", model, data, "--out", out, rows=n)


def run_start(folder, n):
    csv, _ = written(folder, 2000)
    measured("fit", "fit", csv, "--label", "s", "--out", folder / "trees", "--model", "trees")
    small = folder / "small.csv"
    small.write_text("".join(csv.read_text().splitlines(keepends=True)[:101]))
    for _ in range(3):
        out = ("--out", folder / "scores.csv")
        measured("predict 100 rows", "predict", folder / "trees", small, *out)


def timed(name, function):
    """Run a function and print what it took."""
    wall, processor = time.perf_counter(), time.process_time()
    found = function()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name}: {wall:.1f} s, {processor:.1f} s of processor time, {peak:,.0f} MB", flush=True)
    return found


def run_arrays(folder, n):
    from nnpu import PUClassifier, estimate_prior

    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.3
    X = rng.normal(0.8 * y[:, None], 1, (n, 20))
    s = (y & (rng.random(n) < 0.4)).astype(int)
    how = {"sampling": "one-sample", "random_state": 0}
    timed("estimate_prior", lambda: estimate_prior(X[s == 1], X[s == 0], **how))
    timed('PUClassifier("auto")', lambda: PUClassifier("auto", **how).fit(X, s))


def run_sparse(folder, n):
    from scipy import sparse

    from nnpu import EnsemblePU, PUClassifier

    rng = np.random.default_rng(0)
    n, d, per_row = 50_000, 50_000, 50
    y = rng.random(n) < 0.3
    columns = rng.zipf(1.3, (n, per_row)) % d
    columns[:, :5] = np.where(y[:, None], rng.integers(0, 200, (n, 5)), columns[:, :5])
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csr_array((np.ones(n * per_row, np.float32), (rows, columns.ravel())), (n, d))
    s = (y & (rng.random(n) < 0.4)).astype(int)
    how = {"sampling": "one-sample", "random_state": 0}
    timed("EnsemblePU", lambda: EnsemblePU("auto", **how).fit(X, s))
    timed("PUClassifier", lambda: PUClassifier("auto", **how).fit(X, s))


def run_text(folder, n):
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.random(n) < 0.3
    words = np.array([f"word{i}" for i in range(20_000)])
    topics = np.array([f"topic{i}" for i in range(50)])
    text = [
        " ".join(
            [*words[rng.zipf(1.3, 20) % 20_000], *(topics[rng.integers(0, 50, 2)] if one else ())]
        )
        for one in y
    ]
    s = (y & (rng.random(n) < 0.4)).astype(np.int8)
    columns = {"note": text, "x": rng.normal(y, 1), "s": s}
    pyarrow.parquet.write_table(pa.table(columns), folder / "text.parquet")
    out = ("--out", folder / "model")
    measured("fit", "fit", folder / "text.parquet", "--label", "s", *out, "--verbose")


def run_wide(folder, n):
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.4
    columns = {f"x{j}": rng.normal(y * (j < 200), 1) for j in range(20_000)}
    columns["s"] = (y & (rng.random(300) < 0.5)).astype(np.int8)
    pyarrow.parquet.write_table(pa.table(columns), folder / "wide.parquet")
    out = ("--out", folder / "model")
    measured("fit", "fit", folder / "wide.parquet", "--label", "s", *out, "--verbose")


def run_dask(folder, n):
    import dask.dataframe as dd
    import pyarrow.parquet
    from distributed import Client, LocalCluster

    from nnpu import BoostedPU
    from nnpu.estimators.on_dask import evaluate_on_dask, predict_on_dask

    for number, start in enumerate(range(0, n, BLOCK)):
        part = numbers(min(BLOCK, n - start), seed=start)
        pyarrow.parquet.write_table(part, folder / f"part-{number:04}.parquet")
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.read_parquet(folder)
        X, s = frame.drop(columns="s"), frame["s"]
        model = BoostedPU("auto", risk="kl", sampling="one-sample", random_state=0)
        timed("fit", lambda: model.fit(X, s))
        print(f"prior {model.prior_:.3f}")
        print(timed("evaluate", lambda: evaluate_on_dask(model, X, s)))
        timed("predict", lambda: predict_on_dask(model, X).to_parquet(folder / "scores"))
        peak = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print("peak memory of the workers, MB:", [round(one) for one in peak.values()])


def run_dask_table(folder, n):
    """The drawn table as Parquet files of 100,000 rows; up to a million rows also in memory."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(write_parts, folder, n).result()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(fit_parts, folder).result()
    if n <= 1_000_000:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            pool.submit(fit_whole, folder).result()


def run_dask_twice(folder, n):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(write_parts, folder, n, n // 10).result()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(fit_twice, folder).result()


def fit_twice(folder):
    from distributed import Client, LocalCluster
    from scipy.stats import spearmanr

    from nnpu import TablePU
    from nnpu.table.partitions import partitions_of_files

    found = []
    rows = table(50_000, seed=10**9).drop_columns("s")
    for _ in range(2):
        with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            with Client(cluster):
                model = TablePU().fit(partitions_of_files(folder), "s")
            found.append((model.prior_, model.decision_function(rows)))
    (first, a), (second, b) = found
    tops = [set(np.argsort(-scores)[:500].tolist()) for scores in (a, b)]
    print(f"shares {first:.4f} and {second:.4f}")
    print(
        f"scores differ by {np.abs(a - b).mean():.4f} on average, {np.abs(a - b).max():.3f} at most"
    )
    same = len(tops[0] & tops[1])
    print(f"rank correlation {spearmanr(a, b)[0]:.5f}, {same} of the 500 first rows in both")


def write_parts(folder, n, rows=BLOCK):
    import pyarrow.parquet

    for number, start in enumerate(range(0, n, rows)):
        part = table(min(rows, n - start), seed=start)
        pyarrow.parquet.write_table(part, folder / f"part-{number:04}.parquet")


def fit_parts(folder):
    from distributed import Client, LocalCluster

    from nnpu import TablePU
    from nnpu.table.partitions import partitions_of_files

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        model = TablePU(verbose=2)
        timed("fit on Dask", lambda: model.fit(partitions_of_files(folder), "s"))
        peak = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print("peak memory of the workers, MB:", [round(one) for one in peak.values()])
    compare(model)


def fit_whole(folder):
    from nnpu import TablePU

    model = TablePU()
    timed("fit in memory", lambda: model.fit(folder, "s"))
    compare(model)


def compare(model):
    """Print the share that a model found, and its AUC on 50,000 other rows (truth known)."""
    from sklearn.metrics import roc_auc_score

    seed, n = 10**9, 50_000
    truth = np.random.default_rng(seed).random(n) < 0.3  # the first that `table` draws
    scores = model.decision_function(table(n, seed=seed).drop_columns("s"))
    weights = {one["name"]: round(one["weight"], 3) for one in model.classifier_.members_}
    found = model.prior_estimate_
    print(f"share {model.prior_:.4f} ({found.low:.3f} to {found.high:.3f})")
    print(f"AUC on other rows {roc_auc_score(truth, scores):.4f}; weights {weights}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=sorted(k[4:] for k in globals() if k.startswith("run_")))
    parser.add_argument("--rows", type=int)
    arguments = parser.parse_args()
    rows = arguments.rows or {"table": 1_000_000, "arrays": 300_000}.get(arguments.what, 10_000_000)
    with tempfile.TemporaryDirectory() as folder:
        globals()[f"run_{arguments.what}"](Path(folder), rows)


if __name__ == "__main__":
    main()
