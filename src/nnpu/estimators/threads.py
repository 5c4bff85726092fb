"""Blocks of rows in threads: NumPy and LightGBM let others run while they compute."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from threadpoolctl import ThreadpoolController

__all__ = ["count_jobs", "free_openmp_threads", "in_threads", "one_blas_thread"]

_BLOCK = 1 << 11  # rows of a block: near the size of a cache
_LEAST = 1 << 8  # rows that are worth a thread
#: Seconds before each look for busy processors: one busy moment is not a load.
_LOOKS = (0.0, 0.005, 0.01)


def in_threads(function: Callable[[Any], Any], X: Any, n_jobs: int | None) -> list[Any]:
    """Return what the function makes of each block of rows, in their order.

    Parameters
    ----------
    function : callable
        Of some rows.
    X : ndarray or CSR matrix
        The rows.
    n_jobs : int or None
        As in `count_jobs`; each thread multiplies matrices alone.

    Examples
    --------
    >>> import numpy as np
    >>> in_threads(len, np.zeros((5000, 2)), 2)
    [2048, 2048, 904]
    """
    n = X.shape[0]
    jobs = count_jobs(n_jobs) if n > _LEAST else 1
    size = max(min(_BLOCK, -(-n // jobs)), min(_BLOCK, _LEAST))
    blocks = [X[start : start + size] for start in range(0, n, size)]
    if min(jobs, len(blocks)) < 2:
        return [function(block) for block in blocks]
    with one_blas_thread(), ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(function, blocks))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which a product of matrices takes one thread.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     np.ones((2, 2)) @ np.ones(2)
    array([2., 2.])
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


def free_openmp_threads() -> AbstractContextManager[Any]:
    """Return a context in which OpenMP takes as many threads as processors are free.

    For estimators that have no parameter for it: see `count_jobs`.

    Examples
    --------
    >>> with free_openmp_threads():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    limit: AbstractContextManager[Any] = threadpool_limits(count_jobs(None), user_api="openmp")
    return limit


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means: one per free processor if None or −1.

    Free are the processors that this process may use (affinity, container quota) less those that
    others keep busy now. Threads beyond that spin while they wait for each other, which takes
    several times as long as one thread. ``OMP_NUM_THREADS`` is the most. Results do not depend
    on the number.

    Examples
    --------
    >>> count_jobs(3), count_jobs(None) >= 1
    (3, True)
    """
    if n_jobs and n_jobs > 0:
        return n_jobs
    import joblib

    allowed = int(joblib.cpu_count())  # knows the affinity and the quota
    with suppress(KeyError, ValueError):  # not set, or one number per level
        allowed = min(allowed, int(os.environ["OMP_NUM_THREADS"]))
    total = os.cpu_count() or 1
    for pause in _LOOKS:
        time.sleep(pause)
        free = total - _busy_elsewhere()
        if free >= allowed:
            return max(1, allowed)
    return max(1, free)


def _busy_elsewhere() -> int:
    """Return how many threads of the machine run or wait for a processor, without this one."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].split("/")[0]) - 1  # "0.52 0.58 0.59 3/412 8241"
    except (OSError, ValueError, IndexError):
        with suppress(AttributeError, OSError):  # Windows does not know its load
            return round(os.getloadavg()[0])
    return 0


@cache
def _libraries() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds
