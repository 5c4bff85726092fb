"""Random numbers that torch draws from its one global generator: initial weights, dropout."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["seeded"]

_GENERATOR = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator for the body, then put it back as it was.

    All threads share that generator, so one body runs at a time: fits in several threads give
    the same bits as one after another. Use processes to train in parallel.

    Examples
    --------
    >>> import torch
    >>> def draw():
    ...     with seeded(0):
    ...         return torch.rand(1).item()
    >>> draw() == draw()
    True
    """
    with _GENERATOR, torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
