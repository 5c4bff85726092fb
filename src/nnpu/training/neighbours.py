"""Exchanges between processes of one machine, in memory that they share.

Each process writes its numbers to a place of its own, tells the others so through pipes, waits
until all have told it, and reads theirs. There are two sets of places, used in turn: whoever has
heard from all others in one exchange knows that they are done with the one before. The pipe of a
process that has ended says so at once.
"""

from __future__ import annotations

import functools
import mmap
import os
import select
import shutil
import tempfile
import time
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from nnpu.training.exchange import AWAKE, Exchange, GroupExchange, everyones, lost, yield_core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SharedMemory", "fastest_exchange"]

Value = TypeVar("Value")

_FOLDER = Path("/dev/shm")  # files that are nowhere but in memory; Linux has it
_ROOM = 1 << 21  # bytes of a place: what is larger goes in pieces
_MOST = 8  # processes: each reads the places of all


class SharedMemory(Exchange):
    """The exchange between the processes that have the same folder open.

    Parameters
    ----------
    folder : Path
        Where `prepare` has made the memory and the pipes.
    rank, size : int
        Which of how many processes this is.
    timeout : float
        Seconds after which a process that does not answer is given up.
    """

    def __init__(self, folder: Path, rank: int, size: int, timeout: float) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self._group = GroupExchange()
        self._turn = 0
        self._others = [other for other in range(size) if other != rank]
        with (folder / "memory").open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        self._memory = torch.frombuffer(memory, dtype=torch.uint8).view(2, size, _ROOM)
        self._from = [
            os.open(folder / f"{other}-{rank}", os.O_RDONLY | os.O_NONBLOCK)
            for other in self._others
        ]
        self._to: list[int] = []
        self._known: dict[tuple[int, int, torch.dtype], tuple[Tensor, Tensor]] = {}

    @staticmethod
    def prepare(folder: Path, size: int) -> None:
        """Make what the processes will open; raise `OSError` if there is no room for it."""
        with (folder / "memory").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2 * size * _ROOM)
        for one, other in permutations(range(size), 2):
            os.mkfifo(folder / f"{one}-{other}")

    def connect(self, folder: Path) -> None:
        """Open the pipes to the others, all of whom have opened theirs."""
        for other in self._others:
            self._to.append(os.open(folder / f"{self.rank}-{other}", os.O_WRONLY | os.O_NONBLOCK))

    def close(self) -> None:
        """Close the pipes, which the others notice if they are still waiting."""
        for pipe in (*self._from, *self._to):
            os.close(pipe)
        self._from, self._to = [], []

    def gather(self, tensor: Tensor) -> Tensor:
        """Return the tensors of all processes, by rank: shape (size, …)."""
        if tensor.device.type != "cpu" or tensor.nbytes > _ROOM:
            return self._group.gather(tensor)
        return self._exchanged([tensor.flatten()]).clone().view(self.size, *tensor.shape)

    def add(self, *tensors: Tensor) -> Tensor:
        """Return the sums over all processes of some tensors, end to end, added by rank."""
        if any(tensor.device.type != "cpu" for tensor in tensors):
            return self._group.add(*tensors)
        flat = [tensor.detach().flatten() for tensor in tensors]
        room = _ROOM // max(tensor.element_size() for tensor in tensors)
        totals = []
        for pieces in _filling(flat, room):
            first, second, *others = self._exchanged(pieces).unbind()
            total = first + second
            for other in others:
                total += other
            totals.append(total)
        return totals[0] if len(totals) == 1 else torch.cat(totals)

    def _exchanged(self, pieces: list[Tensor]) -> Tensor:
        """Return the places of all processes, shape (size, n), valid until the next but one.

        The pieces have one axis each and fit into a place together.
        """
        places, own = self._places(
            self._turn,
            sum(map(len, pieces)),
            functools.reduce(torch.promote_types, {piece.dtype for piece in pieces}),
        )
        torch.cat(pieces, out=own)
        self._meet()
        return places

    def _places(self, turn: int, n: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return the places of all processes for n values, and that of this one."""
        key = turn, n, dtype
        if key not in self._known:
            places = self._memory[turn, :, : n * dtype.itemsize].view(dtype)
            self._known[key] = places, places[self.rank]
        return self._known[key]

    def _meet(self) -> None:
        """Tell the others that this process's place is written; wait until theirs are."""
        self._turn = 1 - self._turn
        for pipe in self._to:
            try:
                os.write(pipe, b".")
            except BrokenPipeError as error:
                raise lost(silent=False) from error
        for pipe in self._from:
            self._hear(pipe)

    def _hear(self, pipe: int) -> None:
        """Wait for another process, at first without sleeping: to wake up takes longer."""
        began = time.monotonic()
        while True:
            try:
                word = os.read(pipe, 1)
            except BlockingIOError:
                waited = time.monotonic() - began
                if waited < AWAKE:
                    yield_core()
                elif waited < self.timeout:
                    select.select([pipe], [], [], self.timeout - waited)
                else:
                    raise lost(silent=True) from None
            else:
                if not word:
                    raise lost(silent=False)
                return


def _filling(tensors: list[Tensor], room: int) -> Iterator[list[Tensor]]:
    """Cut tensors of one axis into pieces, and yield as many together as have `room` values."""
    if sum(map(len, tensors)) <= room:
        yield tensors
        return
    pieces, left = list[Tensor](), room
    for tensor in tensors:
        rest = tensor
        while len(rest):
            pieces.append(rest[:left])
            rest, left = rest[left:], left - len(pieces[-1])
            if left == 0:
                yield pieces
                pieces, left = [], room
    if pieces:
        yield pieces


@contextmanager
def fastest_exchange(rank: int, size: int, timeout: float) -> Iterator[Exchange]:
    """Yield the exchange in shared memory if all processes are on one machine that has it.

    Else that of torch.distributed, whose group they have joined. All must enter it together.

    Parameters
    ----------
    rank, size : int
        Which of how many processes this is.
    timeout : float
        Seconds after which a process that does not answer is given up.
    """
    shared = _shared_memory(rank, size, timeout)
    if shared is None:
        yield GroupExchange()
        return
    try:
        yield shared
    finally:
        shared.close()


def _shared_memory(rank: int, size: int, timeout: float) -> SharedMemory | None:
    """Open the memory together: all processes or none."""
    made = _attempt(lambda: _make_folder(size)) if rank == 0 and size <= _MOST else None
    try:
        folder = everyones(made)[0]
        if folder is None:
            return None
        # It opens where the folder is, and so only on the machine of the first process.
        shared = _attempt(lambda: SharedMemory(folder, rank, size, timeout))
        if all(everyones(shared is not None)) and shared is not None:
            shared.connect(folder)
            everyones(True)  # until then a pipe looks like that of a process that has ended
            return shared
        if shared is not None:
            shared.close()
        return None
    finally:
        if made is not None:
            shutil.rmtree(made)


def _make_folder(size: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="nnpu-", dir=_FOLDER))
    try:
        SharedMemory.prepare(folder, size)
    except OSError:
        shutil.rmtree(folder)
        raise
    return folder


def _attempt(action: Callable[[], Value]) -> Value | None:
    """Return what comes of an action, or None where the system refuses it."""
    try:
        return action()
    except (OSError, AttributeError):  # systems without pipes that have names
        return None
