"""Blocks of rows in several threads: NumPy lets go of the interpreter while it computes.

A block is small and near one core's cache, so that two blocks on two cores beat one block whose
products alone are shared out.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

import torch
from threadpoolctl import threadpool_limits  # scikit-learn brings it

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

__all__ = ["in_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the results in the order of the items, which makes sums of them reproducible.

    As many threads as torch has (OMP_NUM_THREADS says how many); no more than twice as many
    results are held.

    Examples
    --------
    >>> list(in_threads(abs, [-1, -2, -3]))
    [1, 2, 3]
    """
    workers, items = torch.get_num_threads(), iter(items)
    first = list(islice(items, 2))
    if workers == 1 or len(first) < 2:  # nothing to share out
        yield from map(work, chain(first, items))
        return
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, items):
            waiting.append(pool.submit(work, item))
            if len(waiting) == 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
