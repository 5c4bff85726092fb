"""A shield from torch's global settings: what a program has set does not change an answer."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "one_thread",
    "plain_torch",
]


@contextmanager
def plain_torch() -> Iterator[None]:
    """Compute as torch does by itself: gradients on, no autocast, float32 by default.

    It also decorates functions. What was set before is set again afterwards.

    Examples
    --------
    >>> import torch
    >>> with torch.no_grad(), plain_torch():
    ...     torch.is_grad_enabled()
    True
    """
    import torch

    before = torch.get_default_dtype()
    with ExitStack() as stack:
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if before != torch.float32:
            stack.callback(torch.set_default_dtype, before)
            torch.set_default_dtype(torch.float32)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: small products gain little from more, and wait on a busy machine.

    Examples
    --------
    >>> import torch
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
