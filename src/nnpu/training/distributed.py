"""Training in several processes: what they add up, what one of them does for all.

Every process is given the same data and takes its share of every mini-batch. The processes of a
torchrun join and leave by themselves; a process group that the caller has made is used as it is.
One process alone is a `World` of size 1, in which all of this does nothing.
"""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from nnpu.parameters import InputError, check_number
from nnpu.training.batchnorm import SharedBatchNorm
from nnpu.training.exchange import Exchange, GroupExchange, everyones, talking
from nnpu.training.neighbours import fastest_exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import nn

    from nnpu.risk.partial import Pool

__all__ = ["ALONE", "World", "is_first", "joined", "launcher", "local_device"]

Value = TypeVar("Value")

_joined = 0  # groups so far: each has names of its own in the store


@dataclass(frozen=True)
class World:
    """The processes that train one model, seen from one of them.

    Every method must be called by all of them, in the same order. A process that is lost makes
    the others raise `ConnectionError`, at the latest after the time-out.

    Parameters
    ----------
    rank : int, default=0
        Which one this is; rank 0 writes, prints and asks on behalf of all.
    size : int, default=1
        How many there are.
    local : bool, default=False
        Whether each takes a branch of Algorithm 1 of its own: see `part`.
    exchange : Exchange, optional
        How tensors get from one to another; by default by torch.distributed.

    Examples
    --------
    >>> world = World()
    >>> world.any(False, True), world.gather("alone"), world.from_first(lambda: 7)
    ((False, True), ['alone'], 7)
    """

    rank: int = 0
    size: int = 1
    local: bool = False
    exchange: Exchange = field(default_factory=GroupExchange, repr=False)

    @property
    def first(self) -> bool:
        """Whether this process acts for all."""
        return self.rank == 0

    @property
    def pool(self) -> Pool:
        """What a step is computed from: the total, or this process's part of it."""
        return self.part if self.local else self.total

    def total(self, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Add up sums of losses, shape (3, 2), and counts of rows, shape (3,).

        Every process gets the same bits, so that all take the same branch of Algorithm 1. The
        gradient is that with respect to this process's own sums: see `add_gradients`.
        """
        if self.size == 1:
            return sums, counts
        own = torch.cat([sums, counts[:, None]], dim=1)
        everything = _Total.apply(own, self._sum)  # type: ignore[no-untyped-call]
        return everything[:, :2], everything[:, 2]

    def part(self, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Return `size` times the own sums, and the counts of all processes.

        The mean of such parts is the total, and so the mean of max{0, r} over them is at least
        max{0, r} of the total. Means by each process's own counts have no such mean: where counts
        are unequal they can fall below.
        """
        return self.size * sums, self._sum(counts) if self.size > 1 else counts

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Put the sum over all processes in place of each gradient.

        A parameter that no process had a gradient for is left without one.
        """
        if self.size == 1:
            return
        trained = [p for p in parameters if p.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in trained]
        used = gradients[0].new_tensor([p.grad is not None for p in trained])
        total = self.exchange.add(*gradients, used)
        *sums, used = total.split([*(p.numel() for p in trained), len(trained)])
        for parameter, gradient, users in zip(trained, sums, used.tolist(), strict=True):
            if users > 0:
                parameter.grad = gradient.view_as(parameter).to(parameter.dtype)

    def normalising(self) -> AbstractContextManager[object]:
        """Let batch norm in the body use the statistics of all processes' rows together."""
        if self.size == 1:
            return nullcontext()
        return SharedBatchNorm(self.exchange.gather, self._sum)

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Return for each flag whether any process has set it."""
        if self.size == 1:
            return flags
        return tuple(self._sum(torch.tensor(flags, dtype=torch.int32)).gt(0).tolist())

    def _sum(self, tensor: Tensor) -> Tensor:
        return self.exchange.add(tensor).view_as(tensor)

    def mean(self, value: float) -> float:
        """Return the mean of a number over the processes."""
        return sum(self.gather(value)) / self.size

    def gather(self, value: Value) -> list[Value]:
        """Return the value of every process, by rank."""
        return everyones(value) if self.size > 1 else [value]

    def from_first(self, act: Callable[[], Value]) -> Value:
        """Let rank 0 act; return what came of it, or raise what it raised, in every process."""
        if self.size == 1:
            return act()
        outcome: list[Any] = [None, None]
        if self.first:
            try:
                outcome[0] = act()
            except Exception as error:
                outcome[1] = error
        with talking():
            dist.broadcast_object_list(outcome, src=0)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]  # type: ignore[no-any-return]

    def check_same(self, identity: dict[str, str]) -> None:
        """Raise `InputError`, in every process, unless all have the same run before them."""
        everyone = self.gather(identity)
        other = [name for name in identity if any(one[name] != identity[name] for one in everyone)]
        if other:
            raise InputError(
                f"The {self.size} processes do not train the same model: the "
                f"{' and the '.join(other)} differ{'s' if len(other) == 1 else ''} between them. "
                "Give every process the same data and the same parameters, with an int as "
                "random_state; each takes its own share of every mini-batch by itself."
            )


#: A process without others.
ALONE = World()


@contextmanager
def joined(parallel: str = "global") -> Iterator[World]:
    """Join the other processes of a torchrun for the body, if there are any.

    A process group that the caller has made is used, and left as it is. The environment variable
    ``NNPU_TIMEOUT`` says after how many seconds (60) a process that does not answer is given up.

    Parameters
    ----------
    parallel : {"global", "local"}
        See `Training`.

    Examples
    --------
    >>> with joined() as world:
    ...     world.rank, world.size
    (0, 1)
    """
    if _has_group():
        yield _here(parallel, GroupExchange())
    elif not _torchrun():
        yield ALONE
    else:
        _join()
        try:
            here = dist.get_rank(), dist.get_world_size(), _timeout().total_seconds()
            with fastest_exchange(*here) as exchange:
                yield _here(parallel, exchange)
        finally:
            dist.destroy_process_group()


def is_first() -> bool:
    """Return whether this process writes and prints: rank 0, or the only one.

    >>> is_first()
    True
    """
    if _has_group():
        return dist.get_rank() == 0
    return not _torchrun() or os.environ["RANK"] == "0"


def launcher() -> str:
    """Return what comes before the command that started this process, if it has others beside it.

    >>> launcher()
    ''
    """
    if not _torchrun():
        return ""
    return f"torchrun --nproc-per-node {os.environ['LOCAL_WORLD_SIZE']} -m "


def local_device() -> torch.device:
    """Return a CUDA device if there is any, of its own for each process, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    number = int(os.environ["LOCAL_RANK"]) if _torchrun() else torch.cuda.current_device()
    return torch.device("cuda", number % torch.cuda.device_count())


def _here(parallel: str, exchange: Exchange) -> World:
    size = dist.get_world_size()
    return World(dist.get_rank(), size, parallel == "local" and size > 1, exchange)


def _has_group() -> bool:
    return dist.is_available() and dist.is_initialized()


def _torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def _timeout() -> timedelta:
    text = os.environ.get("NNPU_TIMEOUT", "60")
    try:
        value: float | str = float(text)
    except ValueError:
        value = text
    seconds = check_number("NNPU_TIMEOUT", value, "the environment", low=0, include_low=False)
    return timedelta(seconds=seconds)


def _join() -> None:
    # Not there in a torch that was built without it.
    from torch.distributed import PrefixStore  # type: ignore[attr-defined]

    global _joined
    _joined += 1
    # The store may be the launcher's, which outlives a restart of its processes: names of their
    # own keep them from reading what the processes before them have left. The launchers of several
    # machines count restarts differently.
    one_machine = os.environ.get("GROUP_WORLD_SIZE") == "1"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if one_machine else "0"
    timeout = _timeout()
    with talking():
        store, rank, size = _rendezvous(timeout)
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=PrefixStore(f"nnpu/{attempt}/{_joined}", store),
            rank=rank,
            world_size=size,
            timeout=timeout,
        )
    if torch.cuda.is_available():
        torch.cuda.set_device(local_device())


@functools.cache
def _rendezvous(timeout: timedelta) -> tuple[Any, int, int]:
    """Return the store where processes leave their addresses, once: it may live in this one."""
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://", timeout=timeout))
    return store, rank, size


class _Total(torch.autograd.Function):
    """The sum over all processes; backwards the gradient goes to each of them."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, add: Callable[[Tensor], Tensor]) -> Tensor:
        return add(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None
