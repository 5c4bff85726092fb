"""What ``nnpu predict`` takes: peak memory on a large CSV against a small one, and a killed run.

    python benchmarks/predict_memory.py --gigabytes 10 --folder /some/disk

Writes a table of 30 columns (numbers, categories, an id, missing cells; about 200 bytes a row) of
that size, fits a model to its first 5,000 rows, and scores it. Prints the peak resident memory of
the command on a hundredth of the file and on all of it, and their ratio: memory that grew with the
file would show there. Then kills a run and looks at what it left. The large files are removed at
the end.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from nnpu.files import TEMPORARY_PREFIX

LIMIT = 500  # MB
ROWS_OF_A_BLOCK = 100_000


def block(n_rows, seed):
    """Return rows of the table as bytes."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n_rows) < 0.3
    shift = np.where(positive, 0.5, 0.0)
    columns = [np.char.add("r", np.arange(n_rows).astype(str))]
    for number in range(22):
        values = np.char.mod("%.4g", rng.normal(shift * (number < 8), 1.0))
        columns.append(np.where(rng.random(n_rows) < 0.02, "", values))
    columns += [rng.integers(0, 10**5, n_rows).astype(str) for _ in range(3)]
    columns += [rng.choice(["Ulm", "Bonn", "Kiel", "?"], n_rows) for _ in range(2)]
    columns.append(rng.choice(["yes", "no"], n_rows))
    columns.append(np.where(positive & (rng.random(n_rows) < 0.3), "1", ""))
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def write_tables(folder, size):
    """Write the table to fit and those to score; return their paths."""
    names = ["row_id", *(f"x{k}" for k in range(28)), "label"]
    header = (",".join(names) + "\n").encode()
    blocks = [block(ROWS_OF_A_BLOCK, seed) for seed in range(3)]
    first = b"".join(blocks[0].splitlines(keepends=True)[:5_000])
    paths = {
        "fit": folder / "fit.csv",
        "small": folder / "small.csv",
        "large": folder / "large.csv",
    }
    paths["fit"].write_bytes(header + first)
    for name, wanted in (("small", size // 100), ("large", size)):
        with paths[name].open("wb") as stream:
            stream.write(header)
            number = 0
            while stream.tell() < wanted:
                stream.write(blocks[number % len(blocks)])
                number += 1
    return paths


def command(*arguments):
    return [sys.executable, "-m", "nnpu", *map(str, arguments)]


def measured(*arguments):
    """Run a command; return its peak resident memory in MB, its seconds and its output."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command(*arguments), stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        output.seek(0)
        text = output.read().decode()
    if status:
        raise SystemExit(f"nnpu {arguments[0]} ended with status {status}")
    return usage.ru_maxrss / 1024, seconds, text


def kill_a_run(model, data, out, after):
    """Kill a run in the middle of writing; return the names of what is left beside the model."""
    process = subprocess.Popen(command("predict", model, data, "--out", out))
    unfinished = f"{TEMPORARY_PREFIX}*"
    while not any(path.stat().st_size for path in out.parent.glob(unfinished)):
        if process.poll() is not None:
            raise SystemExit("the run ended before it could be killed; use a larger file")
        time.sleep(0.05)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return sorted(path.name for path in out.parent.iterdir())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument(
        "--folder", type=Path, help="Where there is room; default: a temporary one."
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        paths = write_tables(folder, int(options.gigabytes * 1e9))
        model = folder / "model"
        measured("fit", paths["fit"], "--label", "label", "--out", model, "--prior", "0.3")
        peaks = {}
        for size in ("small", "large"):
            out = folder / f"{size}-predictions" / "scores.csv"
            peaks[size], seconds, text = measured(
                "predict", model, paths[size], "--out", out, "--json"
            )
            rows = json.loads(text)["rows"]
            with out.open("rb") as stream:
                written = sum(1 for _ in stream) - 1
            gigabytes = paths[size].stat().st_size / 1e9
            print(
                f"{size}: {gigabytes:.2f} GB, {rows:,} rows, {written:,} predictions: "
                f"peak {peaks[size]:.0f} MB, {peaks[size] / LIMIT:.2f} of the limit of {LIMIT}; "
                f"{seconds:.0f} s, {1000 * gigabytes / seconds:.0f} MB/s",
                flush=True,
            )
            out.unlink()
        print(f"large / small: {peaks['large'] / peaks['small']:.2f}")
        left = kill_a_run(model, paths["large"], folder / "killed" / "scores.csv", after=1.0)
        print(f"killed while it wrote scores.csv; left: {', '.join(left)}")
        if "scores.csv" in left or peaks["large"] > LIMIT:
            raise SystemExit("not as promised")


if __name__ == "__main__":
    main()
