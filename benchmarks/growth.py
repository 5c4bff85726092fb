"""How the cost of the main job grows: seconds, processor time and memory of fit and predict.

    python benchmarks/growth.py                       # 1,000 to 1,000,000 rows, one machine
    python benchmarks/growth.py --rows 10000000       # more of them
    python benchmarks/growth.py --dask                # the same on Dask, a worker per processor
    python docs/lab_tables.py && python docs/explaining_pictures.py

The table is that of budgets.py. Each command runs as a user's would, in a process of its own, and
what it prints says when a phase ends. Processor time and memory are read from /proc at that
moment (Linux): of the command and of the processes that it started together, and the peak of
the largest of those as ``worker_mb``. A number of rows whose commands are all in
benchmarks/results/growth.csv is not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from budgets import written

RESULTS = Path(__file__).parent / "results" / "growth.csv"
FIELDS = ["where", "rows", "command", "phase", "seconds", "cpu", "mb", "worker_mb", "load"]
TICKS = os.sysconf("SC_CLK_TCK")

NEVER = r"(?!)"

#: What the first line that belongs to the next phase looks like, in the order of the phases.
PHASES = {
    "start": r"\] (Sampling|Reading|Cluster)",
    "read": r"\] Read:",
    "columns": r"\] Training:",
    "members tried": r"fitted to all rows",
    "members fitted": r"\] Labels:",
    "judged": r"\] Next:",
    "report and folder": NEVER,
}


def process_tree(root):
    """Return the ids of a process and of those that it started."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            parents[int(folder.name)] = int(stat.rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
    tree = [root]
    for one in tree:
        tree += [child for child, parent in parents.items() if parent == one]
    return tree


def used(root):
    """Return processor seconds of the tree, and the peak memory of its root and of the others."""
    seconds, peaks = 0.0, {}
    for pid in process_tree(root):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        seconds += sum(map(int, stat[11:15])) / TICKS  # with what ended children used
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        peaks[pid] = int(peak[1]) / 1024 if peak else 0.0
    return seconds, peaks.pop(root, 0.0), max(peaks.values(), default=0.0)


class Meter:
    """What a process and those that it started have used so far, read ten times a second."""

    def __init__(self, root):
        self.root, self.now, self.over = root, np.zeros(3), threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def read(self):
        self.now = np.maximum(self.now, used(self.root))  # a process that ended is not seen
        return self.now

    def run(self):
        while not self.over.wait(0.1):
            self.read()

    def stop(self):
        self.over.set()
        self.thread.join()


def watched(command, phases):
    """Run a command; return (phase, seconds, processor seconds, MB, MB of a worker) of each."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nnpu", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    start, meter = time.perf_counter(), Meter(process.pid)
    left, said, ends = list(phases.items()), [], []
    for line in process.stdout:
        said.append(line)
        found = [i for i, (_, pattern) in enumerate(left) if re.search(pattern, line)]
        if found:  # a phase whose end is not said ends with the next one
            phase = " and ".join(name for name, _ in left[: found[0] + 1])
            del left[: found[0] + 1]
            ends.append((phase, time.perf_counter() - start, *meter.read()))
    _, status, usage = os.wait4(process.pid, 0)
    meter.stop()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("".join(said))
    _, mb, worker_mb = meter.now
    cpu = max(usage.ru_utime + usage.ru_stime, meter.now[0])
    ends.append((left[-1][0], time.perf_counter() - start, cpu, mb, worker_mb))
    before = [(0.0, 0.0), *(one[1:3] for one in ends)]
    return [
        (phase, seconds - begun, cpu - spent, mb, worker_mb)
        for (phase, seconds, cpu, mb, worker_mb), (begun, spent) in zip(ends, before, strict=False)
    ]


def commands(folder, csv_file, parquet, dask):
    """Return name, arguments and phases of each command."""
    model, scores = folder / "model", folder / "scores"
    scores.mkdir()
    fit = ("fit", parquet, "--label", "s", "--out", model, "--verbose", *dask)
    yield "fit", fit, PHASES
    whole = {"whole": NEVER}
    if dask:
        some = ("predict", model, folder / "*.parquet", "--out", scores / "parts", *dask)
        yield "predict Parquet", some, whole
        return
    for name, data in (("Parquet", parquet), ("CSV", csv_file)):
        out = scores / f"scores{data.suffix}"
        yield f"predict {name}", ("predict", model, data, "--out", out), whole


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--dask", action="store_true", help="on two workers, not in one process")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    where = "two workers" if options.dask else "one machine"
    dask = ("--dask", "local") if options.dask else ()
    rows = []
    if options.out.exists():
        with options.out.open() as file:
            rows = list(csv.DictReader(file))
    done = {(row["where"], int(row["rows"])) for row in rows}
    for n in options.rows:
        if (where, n) in done:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder, found = Path(name), []
            for command, arguments, phases in commands(folder, *written(folder, n), dask):
                load = round(os.getloadavg()[0], 1)
                for phase, *figures in watched(arguments, phases):
                    seconds, cpu, mb, worker_mb = figures
                    row = [where, n, command, phase, round(seconds, 2), round(cpu, 2)]
                    row += [round(mb), round(worker_mb), load]
                    found.append(dict(zip(FIELDS, row, strict=True)))
                    print(*row, flush=True)
        rows += found
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
