"""Exchanges of tensors between the processes of one training, and what it means when one fails."""

from __future__ import annotations

import functools
import os
import re
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AWAKE", "Exchange", "GroupExchange", "everyones", "lost", "talking", "yield_core"]

Value = TypeVar("Value")

AWAKE = 0.01  # seconds that an exchange is waited for without sleeping

yield_core = getattr(os, "sched_yield", functools.partial(time.sleep, 0))


class Exchange(ABC):
    """A way for tensors to get from each process to all others.

    Every method must be called by all of them, in the same order, with tensors of one shape and
    type. Each gets the same bits.
    """

    @abstractmethod
    def gather(self, tensor: Tensor) -> Tensor:
        """Return the tensors of all processes, by rank: shape (size, …)."""

    @abstractmethod
    def add(self, *tensors: Tensor) -> Tensor:
        """Return the sums over all processes of some tensors, end to end: shape (n,)."""


class GroupExchange(Exchange):
    """Exchanges by torch.distributed, whatever its backend."""

    def gather(self, tensor: Tensor) -> Tensor:
        """Return the tensors of all processes, by rank: shape (size, …)."""
        everyone = tensor.new_empty(dist.get_world_size(), *tensor.shape)
        with talking():
            _finish(dist.all_gather(list(everyone), tensor.contiguous(), async_op=True))
        return everyone

    def add(self, *tensors: Tensor) -> Tensor:
        """Return the sums over all processes of some tensors, end to end: shape (n,)."""
        total = torch.cat([tensor.detach().flatten() for tensor in tensors])
        with talking():
            _finish(dist.all_reduce(total, async_op=True))
        return total


def everyones(value: Value) -> list[Value]:
    """Return an object of every process, by rank; by torch.distributed."""
    values = [value] * dist.get_world_size()
    with talking():
        dist.all_gather_object(values, value)
    return values


def _finish(exchange: Any) -> None:
    """Wait, at first without sleeping: to wake up takes longer than an exchange on one machine."""
    until = time.perf_counter() + AWAKE
    while not exchange.is_completed() and time.perf_counter() < until:
        yield_core()
    exchange.wait()


@contextmanager
def talking() -> Iterator[None]:
    """Say what it means that an exchange by torch.distributed failed in the body."""
    try:
        yield
    except RuntimeError as error:
        silent = re.search("time[d ]*out", str(error), re.IGNORECASE) is not None
        raise lost(silent=silent) from error


def lost(*, silent: bool) -> ConnectionError:
    """Return the error that another process does not answer, or has ended."""
    return ConnectionError(
        f"Another process of this training {'does not answer in time' if silent else 'has ended'}. "
        "Look for its own error; then start all of them again: with checkpoints the run goes on "
        "where it was"
    )
