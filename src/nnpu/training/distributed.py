"""Training in several processes: what they add up, what one of them does for all.

Every process is given the same data and takes its share of every mini-batch. torch.distributed
does the exchange. The processes of a torchrun join and leave by themselves; a process group that
the caller has made is used as it is. One process alone is a `World` of size 1. Batch norm sees the
rows of all processes.
"""

from __future__ import annotations

import functools
import os
import re
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from nnpu.parameters import check_number
from nnpu.terminal import has_group, of_torchrun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import nn

__all__ = [
    "ALONE",
    "SharedBatchNorm",
    "World",
    "joined",
    "local_device",
]

Value = TypeVar("Value")
_joined = 0  # groups so far: each has names of its own in the store


@dataclass(frozen=True)
class World:
    """The processes that train one model, seen from one of them: number `rank` of `size`.

    All of them must call the same methods in the same order. A process that is lost makes the
    others raise `ConnectionError`. If `local`, each takes a branch of Algorithm 1 of its own.

    >>> World().any(False, True), World().gather("alone"), World().from_first(lambda: 7)
    ((False, True), ['alone'], 7)
    """

    rank: int = 0
    size: int = 1
    local: bool = False

    def total(self, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Add up sums of losses, shape (3, 2), and counts of rows, shape (3,).

        Every process gets the same bits, so all take the same branch of Algorithm 1. The
        gradient is that with respect to this process's own sums: see `add_gradients`.
        """
        if self.size == 1:
            return sums, counts
        total = _added(torch.cat([sums, counts[:, None]], dim=1))
        return total[:, :2] + (sums - sums.detach()), total[:, 2]

    def part(self, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Return `size` times the own sums, and the counts of all processes.

        The mean of such parts is the total, and so the mean of max{0, r} over them is at least
        max{0, r} of the total. Means by each process's own counts can fall below it.
        """
        return self.size * sums, _added(counts) if self.size > 1 else counts

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by the sum over all processes, if any of them has one."""
        if self.size == 1:
            return
        trained = [p for p in parameters if p.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in trained]
        used = gradients[0].new_tensor([p.grad is not None for p in trained])
        total = _added(torch.cat([gradient.flatten() for gradient in [*gradients, used]]))
        *sums, used = total.split([*(p.numel() for p in trained), len(trained)])
        for parameter, gradient, users in zip(trained, sums, used.tolist(), strict=True):
            if users > 0:
                parameter.grad = gradient.view_as(parameter).to(parameter.dtype)

    def normalising(self) -> AbstractContextManager[object]:
        """Let batch norm in the body use the statistics of all processes' rows together."""
        return nullcontext() if self.size == 1 else SharedBatchNorm(_added)

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Return for each flag whether any process has set it."""
        return tuple(map(any, zip(*self.gather(flags), strict=True)))

    def gather(self, value: Value) -> list[Value]:
        """Return the value of every process, by rank."""
        values = [value] * self.size
        if self.size > 1:
            with _exchange():
                dist.all_gather_object(values, value)
        return values

    def from_first(self, act: Callable[[], Value]) -> Value:
        """Let rank 0 act; return what came of it, or raise what it raised, in every process."""
        if self.size == 1:
            return act()
        outcome: list[Any] = [None, None]
        if self.rank == 0:
            try:
                outcome[0] = act()
            except Exception as error:
                outcome[1] = error
        with _exchange():
            dist.broadcast_object_list(outcome, src=0)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]  # type: ignore[no-any-return]


ALONE = World()  # a process without others


@contextmanager
def joined(parallel: str = "global") -> Iterator[World]:
    """Join the other processes of a torchrun, or of a process group, for the body."""
    if has_group():
        size = dist.get_world_size()
        yield World(dist.get_rank(), size, parallel == "local" and size > 1)
    elif not of_torchrun():
        yield ALONE
    else:
        _join()
        try:
            with joined(parallel) as world:
                yield world
        finally:
            dist.destroy_process_group()


def local_device() -> torch.device:
    """Return a CUDA device if there is any, of its own for each process, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    number = int(os.environ["LOCAL_RANK"]) if of_torchrun() else torch.cuda.current_device()
    return torch.device("cuda", number % torch.cuda.device_count())


def _join() -> None:
    """Join the group of this torchrun.

    The store may be the launcher's, which outlives a restart of its processes: names of their own
    keep them from reading what the processes before them have left. The launchers of several
    machines count restarts differently.
    """
    global _joined
    _joined += 1
    text: Any = os.environ.get("NNPU_TIMEOUT", "60")
    seconds = float(text) if re.fullmatch(r"\d*\.?\d+", text) else text
    check_number("NNPU_TIMEOUT", seconds, "the environment", low=0, include_low=False)
    timeout = timedelta(seconds=seconds)
    one_machine = os.environ.get("GROUP_WORLD_SIZE") == "1"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if one_machine else "0"
    with _exchange():
        store, rank, size = _rendezvous(timeout)
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=dist.PrefixStore(f"nnpu/{attempt}/{_joined}", store),  # type: ignore[attr-defined]
            rank=rank,
            world_size=size,
            timeout=timeout,
        )
    if torch.cuda.is_available():
        torch.cuda.set_device(local_device())


@functools.cache
def _rendezvous(timeout: timedelta) -> Any:
    """Return the store where processes leave their addresses, once: it may live in this one."""
    from torch.distributed.rendezvous import rendezvous  # not in every build of torch

    return next(rendezvous("env://", timeout=timeout))


@contextmanager
def _exchange() -> Iterator[None]:
    """Say what it means that an exchange failed in the body."""
    try:
        yield
    except RuntimeError as error:
        silent = re.search("time[d ]*out", str(error), re.IGNORECASE)
        what = "does not answer in time" if silent else "has ended"
        raise ConnectionError(
            f"Another process of this training {what}. Look for its own error; then start all of "
            "them again: with checkpoints the run resumes where it stopped"
        ) from error


def _added(tensor: Tensor) -> Tensor:
    """Return the sum over all processes; each gets the same bits."""
    total = tensor.detach().clone(memory_format=torch.contiguous_format)
    with _exchange():
        dist.all_reduce(total)
    return total


class SharedBatchNorm(TorchFunctionMode):
    """While it is entered, every batch norm of this thread is one over all processes' rows.

    It stands in for the function that batch norm layers call, so layers, whoever wrote the
    module, keep their names, their weights and their running statistics.

    Parameters
    ----------
    add : callable
        Adds up the tensors of all processes.

    Examples
    --------
    >>> layer = torch.nn.BatchNorm1d(2, affine=False)
    >>> others = iter([torch.tensor([4.0, 2.0, 1.0]), torch.tensor([4.0, 0.0])])
    >>> with SharedBatchNorm(lambda tensor: tensor + next(others)):
    ...     layer(torch.tensor([[0.0, 2.0]]))  # (4, 2) elsewhere: mean (2, 2), variance (4, 0)
    tensor([[-1.0000,  0.0000]])
    """

    def __init__(self, add: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.add = add

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Replace batch norm; let everything else through."""
        called = self.batch_norm if func is functional.batch_norm else func
        return called(*args, **(kwargs or {}))

    def batch_norm(
        self,
        x: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        """`torch.nn.functional.batch_norm`; in training with the statistics of all rows.

        The parameters are torch's; `x` are this process's rows, of which there may be none. The
        sums of values and of squared distances from the mean are exchanged, in float64.
        """
        if not training:
            return functional.batch_norm(
                x, running_mean, running_var, weight, bias, False, momentum, eps
            )
        values = x.to(torch.promote_types(x.dtype, torch.float32))
        axes = [axis for axis in range(x.ndim) if axis != 1]
        shape = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
        count = values.new_tensor([x.numel() // x.shape[1]]).double()
        sums = self._total(torch.cat([values.sum(axes, dtype=torch.float64), count]))
        n = sums[-1].detach()
        if n <= 1:
            raise ValueError(f"Batch norm needs more than one row to train on, not {int(n)}.")
        mean = (sums[:-1] / n).to(values.dtype)
        centred = values - mean.view(shape)
        squares = self._total(centred.square().sum(axes, dtype=torch.float64))
        variance = (squares / n).to(values.dtype)
        y = centred * (variance + eps).rsqrt().view(shape)
        if weight is not None and bias is not None:
            y = y * weight.view(shape) + bias.view(shape)
        if running_mean is not None and running_var is not None:
            unbiased = squares / (n - 1)  # what is kept, as in torch
            with torch.no_grad():
                running_mean.lerp_(mean.to(running_mean), momentum)
                running_var.lerp_(unbiased.to(running_var), momentum)
        return y.to(x.dtype)

    def _total(self, tensor: Tensor) -> Tensor:
        total: Tensor = _Total.apply(tensor, self.add)  # type: ignore[no-untyped-call]
        return total


class _Total(torch.autograd.Function):
    """The sum over all processes; its gradient is the sum of those that all of them have of it."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, add: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.add = add
        return add(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.add(gradient), None
