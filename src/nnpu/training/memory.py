"""Memory between steps: what one step frees, the next one gets again.

glibc gives arrays of more than 32 MB back to the operating system when they are freed, and takes
new pages, which the system must clear, for the next ones. A step of a large mini-batch allocates
the same arrays as the step before it, and can spend a third of its time there.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["kept_memory"]

_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of mallopt
_LARGE = 2**31 - 1
_USUAL = 32 << 20  # the greatest that glibc comes to by itself
_lock = threading.Lock()
_depth = 0


@contextmanager
def kept_memory() -> Iterator[None]:
    """Let freed memory stay with the process during the body, and give it back afterwards.

    Does nothing where the C library is not glibc. Threads share the setting: the last body to end
    gives the memory back.

    Examples
    --------
    >>> with kept_memory():
    ...     sum(range(3))
    3
    """
    _enter(1)
    try:
        yield
    finally:
        _enter(-1)


def _enter(step: int) -> None:
    global _depth
    library = _glibc()
    if library is None:
        return
    with _lock:
        _depth += step
        if _depth == 1 and step == 1:
            library.mallopt(_MAP, _LARGE)
            library.mallopt(_TRIM, _LARGE)
        elif _depth == 0:
            library.mallopt(_MAP, _USUAL)
            library.mallopt(_TRIM, 2 * _USUAL)
            library.malloc_trim(0)


@cache
def _glibc() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None
