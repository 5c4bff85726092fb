"""Only processes of our own keep what they free: the command and its workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nnpu
import nnpu_paper
from nnpu_paper import memory
from nnpu_paper.cli import main


def test_mapped_arrays_stay_with_the_process():
    """Pages that a freed array of 64 MB held are faulted in once, not at each allocation."""
    code = """
import resource
import numpy as np
from nnpu_paper.memory import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        np.ones(8 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
kept = keep_freed_memory()
faults()
print(kept, faults())
"""
    pytest.importorskip("resource")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, faults = run.stdout.split()
    if kept == "False":
        pytest.skip("not glibc")
    assert int(faults) < 1_000  # 5 × 64 MB are 80,000 pages of 4 KiB


def test_other_systems_and_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    assert not memory.keep_freed_memory()
    monkeypatch.setattr(memory.sys, "platform", "linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert not memory.keep_freed_memory()


def test_the_library_itself_never_asks_for_it():
    for package, callers in ((nnpu, set()), (nnpu_paper, {"cli.py", "runs.py"})):
        source = Path(package.__file__).parent
        found = {
            path.relative_to(source).as_posix()
            for path in source.rglob("*.py")
            if "keep_freed_memory()" in path.read_text() and path.name != "memory.py"
        }
        assert found == callers


def test_only_a_command_of_its_own_process_keeps_memory(monkeypatch):
    called = []
    monkeypatch.setattr(memory, "keep_freed_memory", lambda: called.append(1))
    monkeypatch.setattr(sys, "argv", ["nnpu-paper", "bench", "--help"])
    main(["bench", "--help"])  # a program that calls us keeps its allocator
    assert called == []
    main()
    assert called == [1]
