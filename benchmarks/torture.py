"""SIGKILL at random moments: a training run goes on every time and ends in the same bits.

    python benchmarks/torture.py --kills 200 --seed 0

A small run with a checkpoint after every step is started in a process of its own and killed, half
of the time at a random moment and half of the time while it is known to be writing a checkpoint.
After every kill its folder is read as the next process would read it. A run that gets to its end is
compared with one that was never disturbed, and the next one is begun, until all kills are done.

One JSON object on standard output; exit status 1 if anything was lost or differed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from nnpu.data.rows import as_rows
from nnpu.objective import Objective
from nnpu.parameters import InputError
from nnpu.training import Training, TrainingSample, train
from nnpu.training.checkpoint import CheckpointFolder

EPOCHS, BATCH, ROWS, WIDTH = 4, 40, 400, 256  # 32 steps, checkpoints of 0.36 MB


def train_once(folder: Path) -> None:
    """Train with a checkpoint after every step; the last one, with everything in it, is kept."""
    rng = np.random.default_rng(0)
    sign = np.r_[np.ones(ROWS // 2), -np.ones(ROWS // 2)]
    x = rng.normal(sign[:, None], 1.0, (ROWS, 64)).astype(np.float32)
    s = torch.from_numpy((np.arange(ROWS) < ROWS // 4).astype(np.int8))
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(64, WIDTH),
        nn.BatchNorm1d(WIDTH),
        nn.ReLU(),
        nn.Dropout(),
        nn.Linear(WIDTH, 1),
    )
    train(
        model,
        TrainingSample(as_rows(x), s),
        Objective(0.4, gamma=0.5),
        epochs=EPOCHS,
        batch_size=BATCH,
        lr=1e-3,
        options=Training(
            schedule="cosine",
            averaging=0.9,
            validation_fraction=0.2,
            patience=EPOCHS,
            checkpoint=folder,
            checkpoint_every=1,
            keep_checkpoint=True,
        ),
    )


def start(folder: Path) -> tuple[int, int]:
    """Start a run in a process of its own; return its number and a pipe that tells of writes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    save = CheckpointFolder.save

    def told(self: CheckpointFolder, state: dict) -> None:
        os.write(writer, b"<")
        save(self, state)
        os.write(writer, b"%d.%d>" % (state["run"]["epoch"], state["run"]["step"]))

    CheckpointFolder.save = told
    try:
        train_once(folder)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def kill_during_write(child: int, reader: int, moment: float) -> bytes:
    """Wait for a few writes to begin, then for a moment, then kill; return what was told."""
    told = b""
    for _ in range(random.randint(1, 6)):
        told += os.read(reader, 4096)
    while not told.endswith(b"<"):
        part = os.read(reader, 4096)
        if not part:
            return told
        told += part
    time.sleep(moment)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return told


def kill_after(child: int, reader: int, seconds: float) -> bytes:
    """Kill after some time, or return when the run ends before that."""
    told, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([reader], [], [], left)[0]:
            part = os.read(reader, 4096)
            if not part:
                return told
            told += part
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return told


def drain(reader: int) -> bytes:
    """Return what is left in the pipe of a process that has ended."""
    rest = b""
    while part := os.read(reader, 4096):
        rest += part
    os.close(reader)
    return rest


def last_told(told: bytes) -> tuple[int, int]:
    """Return the position of the last checkpoint that was reported as written."""
    done = [part for part in told.replace(b"<", b"").split(b">")[:-1] if part]
    if not done:
        return (0, 0)
    epoch, step = done[-1].split(b".")
    return int(epoch), int(step)


def position(folder: Path) -> tuple[int, int]:
    """Read a copy of the folder as the next process would."""
    if not folder.exists():
        return (0, 0)
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    with CheckpointFolder(copy) as checkpoints:
        state = checkpoints.load()
    shutil.rmtree(copy, ignore_errors=True)
    return (0, 0) if state is None else (state["run"]["epoch"], state["run"]["step"])


def digest(folder: Path) -> str:
    """The SHA-256 over the final state: weights, optimiser, averages, history, generators."""
    newest = max(folder.glob("*.json"))
    return json.loads(newest.read_text())["sha256"]


def torture(kills: int, seed: int, work: Path) -> dict[str, int | float]:
    random.seed(seed)
    train_once(work / "undisturbed")
    expected = digest(work / "undisturbed")
    write = typical_write(work)
    folder = work / "run"
    names = ("kills", "during_write", "unreadable", "lost", "failed", "finished", "different")
    count = dict.fromkeys(names, 0)
    reached = (0, 0)
    began = time.monotonic()
    while count["kills"] < kills or folder.exists():
        child, reader = start(folder)
        if count["kills"] >= kills:
            told = b""
        elif count["kills"] % 2:
            told = kill_during_write(child, reader, random.uniform(0, write))
        else:
            told = kill_after(child, reader, random.uniform(0, 12 * write))
        told += drain(reader)
        status = os.waitpid(child, 0)[1]
        reached = max(reached, last_told(told))
        if os.WIFSIGNALED(status):
            count["kills"] += 1
            count["during_write"] += told.endswith(b"<")
            try:
                found = position(folder)
            except InputError:
                count["unreadable"] += 1
                break
            count["lost"] += found < reached
        elif status == 0:
            count["finished"] += 1
            count["different"] += digest(folder) != expected
            shutil.rmtree(folder)
            reached = (0, 0)
        else:
            count["failed"] += 1
            break
    return count | {"seconds": round(time.monotonic() - began, 1)}


def typical_write(work: Path) -> float:
    """Return the seconds that a checkpoint of this size takes here."""
    with CheckpointFolder(work / "undisturbed") as checkpoints:
        state = checkpoints.load()
    with CheckpointFolder(work / "timed") as checkpoints:
        began = time.monotonic()
        for _ in range(5):
            checkpoints.save(state)
    return (time.monotonic() - began) / 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # a process with threads cannot be forked safely
    with tempfile.TemporaryDirectory() as work:
        result = torture(arguments.kills, arguments.seed, Path(work))
    print(json.dumps(result))
    wrong = ("unreadable", "lost", "failed", "different")
    return int(any(result[name] for name in wrong))


if __name__ == "__main__":
    sys.exit(main())
