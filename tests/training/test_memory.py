"""Freed memory stays with the process for the time of a run, and goes back after it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from nnpu.training import memory
from nnpu.training.memory import kept_memory


class Library:
    def __init__(self):
        self.calls = []

    def mallopt(self, what, value):
        self.calls.append((what, value))

    def malloc_trim(self, pad):
        self.calls.append("trim")


def test_runs_within_runs_change_the_setting_once_and_the_last_one_gives_back(monkeypatch):
    library = Library()
    monkeypatch.setattr(memory, "_glibc", lambda: library)
    with kept_memory():
        begun = list(library.calls)
        with pytest.raises(RuntimeError), kept_memory():
            raise RuntimeError
        assert library.calls == begun
    assert len(begun) == 2
    assert library.calls[2:] == [(-3, 32 << 20), (-1, 64 << 20), "trim"]


def test_without_glibc_nothing_happens(monkeypatch):
    monkeypatch.setattr(memory, "_glibc", lambda: None)
    with kept_memory():
        assert torch.ones(3).sum() == 3


FAULTS = """
import resource
import torch
from nnpu.paper.speed.contest import anonymous_mb
from nnpu.training.memory import kept_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

with kept_memory():
    torch.ones(1 << 24)
    before = faults()
    for _ in range(20):
        torch.ones(1 << 24)
    again, held = faults() - before, anonymous_mb()
print(again, held - anonymous_mb())
"""


@pytest.mark.skipif(memory._glibc() is None, reason="the C library is not glibc")
def test_most_pages_of_large_arrays_are_taken_once_and_given_back():
    """64 MB are 16,384 pages; a page is a fault when it is first touched: 20 times without this.

    In a process of its own: one that was once refused memory gets it from another place.
    """
    command = [sys.executable, "-c", FAULTS]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    again, given_back = map(float, printed.split())
    assert again < 10 * 16_384
    assert given_back > 50
