"""Memory between steps, for the commands and worker processes of the paper's experiments."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_freed_memory"]

_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's mallopt
_LARGE = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let this process keep what it frees, and return whether the C library can do so.

    glibc gives large arrays back to the system and takes new pages, which the system must clear,
    for the next ones. In the paper's batches of 30,000 rows that is a third of an epoch. Only a
    process of our own may call this: a library must not change the allocator of its host.

    Examples
    --------
    >>> keep_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return all(library.mallopt(option, _LARGE) == 1 for option in (_MAP, _TRIM))
