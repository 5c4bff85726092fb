"""Which of several processes this is: only the first of them writes and prints. Without torch."""

from __future__ import annotations

import os
import sys

__all__ = ["has_group", "is_first", "of_torchrun"]


def of_torchrun() -> bool:
    """Return whether torchrun started this process and others beside it."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def has_group() -> bool:
    """Return whether this process belongs to a process group of torch's."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return False
    return bool(torch.distributed.is_initialized())


def is_first() -> bool:
    """Return whether this process writes and prints: rank 0, or the only one.

    >>> is_first()
    True
    """
    torch = sys.modules.get("torch")  # without it there is no group
    if (
        torch is not None
        and torch.distributed.is_available()
        and torch.distributed.is_initialized()
    ):
        return bool(torch.distributed.get_rank() == 0)
    return not of_torchrun() or os.environ["RANK"] == "0"
