"""Checkpoint folders: the last whole state is always there, and only one writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from nnpu.files import TEMPORARY_PREFIX, partial_folder
from nnpu.parameters import InputError
from nnpu.training.checkpoint import CheckpointFolder, FolderLock

STATE = {
    "epoch": 3,
    "betas": (0.9, 0.999),
    "best": float("inf"),
    "none": None,
    "flag": True,
    "optimizer": {"state": {0: {"step": torch.tensor(2.0)}, 1: {}}, "groups": [{"params": [0, 1]}]},
    "weights": torch.arange(6, dtype=torch.float64).reshape(2, 3).T,
    "counts": torch.tensor([1, 2]),
    "empty": torch.zeros(0, 3),
    "bits": torch.tensor([True, False]),
    "half": torch.tensor([1.5], dtype=torch.bfloat16),
}


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def save(path, *epochs):
    with CheckpointFolder(path) as folder:
        for epoch in epochs:
            folder.save({**STATE, "epoch": epoch})


def loaded_epoch(path):
    with CheckpointFolder(path) as folder:
        return folder.load()["epoch"]


@pytest.fixture
def run(tmp_path):
    save(tmp_path / "run", 1, 2, 3)
    return tmp_path / "run"


def test_a_state_comes_back_with_its_types_and_bits(tmp_path):
    shared = torch.ones(3)
    state = {**STATE, "tied": [shared, shared]}
    with CheckpointFolder(tmp_path / "run") as folder:
        assert folder.load() is None
        folder.save(state)
        assert same(folder.load(), state)


def test_two_checkpoints_are_kept(run):
    assert sorted(path.name for path in run.iterdir()) == [
        "0000000002.json",
        "0000000002.safetensors",
        "0000000003.json",
        "0000000003.safetensors",
    ]


def damaged(content, rng):
    """Return a copy with a flipped bit or without its end."""
    if rng.random() < 0.5:
        return content[: rng.integers(len(content) - 2)]
    place = rng.integers(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.integers(8)]) + content[place + 1 :]


def says_the_same(a, b):
    """Return whether only the space between values of two JSON texts differs."""
    try:
        return json.loads(a) == json.loads(b)
    except ValueError:
        return False


@pytest.mark.parametrize("suffix", ["json", "safetensors"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(run, suffix):
    path = run / f"0000000003.{suffix}"
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(100):
        path.write_bytes(damaged(content, rng))
        expected = 3 if says_the_same(path.read_bytes(), content) else 2
        assert loaded_epoch(run) == expected
    path.unlink()
    assert loaded_epoch(run) == 2


def test_if_none_is_readable_it_says_so_and_removes_nothing(run):
    for path in run.glob("*.safetensors"):
        path.write_bytes(b"x")
    before = sorted(path.name for path in run.iterdir())
    with (
        CheckpointFolder(run) as folder,
        pytest.raises(InputError, match=r"No checkpoint in .*run"),
    ):
        folder.load()
    assert sorted(path.name for path in run.iterdir()) == before


def test_what_a_dead_writer_left_is_cleaned_at_the_next_start(run):
    for name in (f"{TEMPORARY_PREFIX}aa.json", f"{TEMPORARY_PREFIX}b", "0000000004.safetensors"):
        (run / name).write_bytes(b"half")
    assert loaded_epoch(run) == 3
    assert len(list(run.iterdir())) == 4
    save(run, 4)
    assert loaded_epoch(run) == 4


def test_after_damage_the_next_save_is_newer_than_all(run):
    (run / "0000000003.safetensors").write_bytes(b"x")
    save(run, 7)
    assert loaded_epoch(run) == 7


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"holds other files than checkpoints \(thesis\.tex\)"):
        CheckpointFolder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_removing_takes_the_folder_and_an_unused_one_disappears(run, tmp_path):
    with CheckpointFolder(run) as folder:
        folder.remove()
    assert not run.exists()
    with CheckpointFolder(tmp_path / "unused"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_partial_folder_stands_beside_its_target():
    assert partial_folder("a/model.v1") == Path("a/model.v1.partial")
    assert partial_folder("a/table.csv/") == Path("a/table.csv.partial")


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path):
    code = """
        import sys, time
        from pathlib import Path
        from nnpu.training.checkpoint import FolderLock
        lock = FolderLock(Path(sys.argv[1]))
        print("locked", flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(InputError, match="in use: another run writes to it"):
            FolderLock(tmp_path)
        os.kill(other.pid, signal.SIGKILL)
    FolderLock(tmp_path).release()


def test_a_lock_stands_beside_its_folder_and_goes_with_it(tmp_path):
    folder = tmp_path / "model.partial"
    with CheckpointFolder(folder) as run:
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            ".nnpu-tmp-model.partial.lock",
            "model.partial",
        ]
        run.save({"epoch": 1})
        assert not (folder / "lock").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model.partial"]


def test_a_folder_can_be_renamed_while_it_is_locked_and_its_name_stays_taken(tmp_path):
    lock = FolderLock(tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="in use"):
        FolderLock(tmp_path / "run")
    lock.release()
    FolderLock(tmp_path / "run").release()


def test_one_of_many_that_come_at_once_gets_the_lock_each_time(tmp_path):
    """Threads that take and release the lock, which removes its file: never two at a time."""
    inside, most, taken = 0, 0, 0
    guard = threading.Lock()

    def work():
        nonlocal inside, most, taken
        for _ in range(200):
            try:
                lock = FolderLock(tmp_path / "run")
            except InputError:
                continue
            with guard:
                inside, taken = inside + 1, taken + 1
                most = max(most, inside)
            with guard:
                inside -= 1
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == (1, 0)
    assert taken > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_folder_of_version_0_1_0_with_its_lock_inside_goes_on(tmp_path):
    with CheckpointFolder(tmp_path / "run") as folder:
        folder.save({"epoch": 1})
    (tmp_path / "run" / "lock").touch()
    with CheckpointFolder(tmp_path / "run") as folder:
        assert folder.load() == {"epoch": 1}
        folder.remove()
    assert list(tmp_path.iterdir()) == []
