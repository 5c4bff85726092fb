"""Work on one batch while a thread reads the next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["prefetched"]


def prefetched(items: Iterator[Any]) -> Iterator[Any]:
    """Yield the items; a thread makes the next one while the last one is used.

    Parameters
    ----------
    items : iterator
        Not None.

    Examples
    --------
    >>> list(prefetched(iter([1, 2, 3])))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1, "nnpu-ahead") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
