"""Only processes of our own keep what they free: the commands and workers of the paper's wing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import nnpu
from nnpu.cli import main
from nnpu.paper import freed_memory


def test_mapped_arrays_stay_with_the_process():
    """Pages that a freed array of 64 MB held are faulted in once, not at each allocation."""
    code = """
import resource
import numpy as np
from nnpu.paper.freed_memory import keep_freed_memory
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
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    assert not freed_memory.keep_freed_memory()
    monkeypatch.setattr(freed_memory.sys, "platform", "linux")
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda name: object())
    assert not freed_memory.keep_freed_memory()


def test_the_library_itself_never_asks_for_it():
    source = Path(nnpu.__file__).parent
    callers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "keep_freed_memory()" in path.read_text() and path.name != "freed_memory.py"
    }
    assert callers == {"cli/__init__.py", "paper/runner.py"}


@pytest.mark.parametrize("command", ["bench", "reproduce", "plan"])
def test_only_a_command_of_its_own_process_keeps_memory(command, monkeypatch):
    called = []
    monkeypatch.setattr(freed_memory, "keep_freed_memory", lambda: called.append(command))
    monkeypatch.setattr(sys, "argv", ["nnpu", command, "--help"])
    main([command, "--help"])  # a program that calls us keeps its allocator
    assert called == []
    main()
    assert called == [command] * (command != "plan")
