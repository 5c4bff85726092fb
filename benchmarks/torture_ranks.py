"""Each of two processes is killed, raises and freezes in turn: torchrun and checkpoints recover.

    python benchmarks/torture_ranks.py

The run of `torture.py` is shared by two processes under torchrun, with the settings of
docs/distributed.md. One of them meets one fault: before it joins the other, in a step, or while a
checkpoint is put together. torchrun starts both again, they go on from the last checkpoint, and
the final state is compared with that of two processes that were never disturbed.

One JSON object on standard output, with the seconds from a fault to the first step after it; exit
status 1 if a run did not end, ended in other bits, or took more than a minute to go on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from torture import digest, train_once

from nnpu.files import write_text
from nnpu.training import loop
from nnpu.training.run_state import Run

KINDS = ("killed", "raised", "frozen")
MOMENTS = ("at the start", "in a step", "at a checkpoint")
SETTINGS = {"NNPU_TIMEOUT": "10", "OMP_NUM_THREADS": "1"}
ALLOWED = 60  # seconds


def launch(folder: Path, *fault: object) -> int:
    """Run both processes to their end, with one fault or none; return the exit status."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--max-restarts", "1", __file__, "--worker", folder, *map(str, fault)]
    done = subprocess.run(
        command, env=os.environ | SETTINGS, stdout=sys.stderr, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        print(done.stderr.decode(), file=sys.stderr)
    return done.returncode


def work(folder: Path, *fault: str) -> None:
    """Train, as one of the processes; the first attempt meets the fault."""
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if fault:
            prepare(folder, *fault)
    elif os.environ["RANK"] == "0":
        tell_first_step(folder)
    train_once(folder)


def prepare(folder: Path, rank: str, kind: str, moment: str, number: str) -> None:
    """Let this process, if it is the one, meet its fault when its moment has come."""
    if os.environ["RANK"] != rank:
        return

    def act() -> None:
        write_text(f"{folder}-fault", repr(time.time()))
        if kind == "raised":
            raise RuntimeError("a fault")
        os.kill(os.getpid(), signal.SIGKILL if kind == "killed" else signal.SIGSTOP)

    if moment == "at the start":
        act()
    place, name = (loop, "train_step") if moment == "in a step" else (Run, "state")
    call, calls = getattr(place, name), itertools.count()

    def watched(*arguments: object) -> object:
        if next(calls) == int(number):
            act()
        return call(*arguments)

    setattr(place, name, watched)


def tell_first_step(folder: Path) -> None:
    """Note the time at which the first step after a restart is done."""
    step = loop.train_step
    steps = itertools.count()

    def told(*arguments: object) -> object:
        result = step(*arguments)
        if next(steps) == 0:
            write_text(f"{folder}-recovered", repr(time.time()))
        return result

    loop.train_step = told


def seconds(folder: Path) -> float:
    """Return the time from the fault to the first step after it."""
    end, begin = (
        float(Path(f"{folder}-{name}").read_text(encoding="utf-8"))
        for name in ("recovered", "fault")
    )
    return end - begin


def torture(faults: int, seed: int, folder: Path) -> dict[str, object]:
    generator = random.Random(seed)
    table = list(itertools.product(MOMENTS, KINDS, ("0", "1")))
    if launch(folder / "undisturbed"):
        return {"failed": 1}
    expected = digest(folder / "undisturbed")
    count = dict.fromkeys(("faults", "failed", "different", "late"), 0)
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(faults):
        moment, kind, rank = table[number % len(table)]
        run = folder / f"run-{number}"
        status = launch(run, rank, kind, moment, generator.randint(1, 20))
        count["faults"] += 1
        if status:
            count["failed"] += 1
            continue
        count["different"] += digest(run) != expected
        taken[kind].append(round(seconds(run), 1))
        count["late"] += taken[kind][-1] > ALLOWED
        print(f"{number + 1}: rank {rank} {kind} {moment}: {taken[kind][-1]} s", file=sys.stderr)
    return count | {"seconds": taken}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=len(MOMENTS) * len(KINDS) * 2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(Path(arguments.worker[0]), *arguments.worker[1:])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        result = torture(arguments.faults, arguments.seed, Path(folder))
    print(json.dumps(result))
    return int(any(result.get(name) for name in ("failed", "different", "late")))


if __name__ == "__main__":
    sys.exit(main())
