"""Memory of this process: what it keeps between steps, and how much it has at its highest."""

from __future__ import annotations

import ctypes
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["anonymous_mb", "keep_freed_memory", "peak_memory"]

_EVERY = 0.01  # seconds between two looks at the memory
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


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Yield a list whose one number is, after the body, the highest anonymous memory in MB.

    That is what the process has for itself: pages of files that are mapped can be dropped and do
    not count (``RssAnon`` in Linux; NaN elsewhere).

    Examples
    --------
    >>> with peak_memory() as peak:
    ...     pass
    >>> len(peak)
    1
    """
    peak, done = [anonymous_mb()], threading.Event()

    def watch() -> None:
        while not done.wait(_EVERY):
            peak[0] = max(peak[0], anonymous_mb())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def anonymous_mb() -> float:
    """Return the anonymous memory of this process in MB."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1000
