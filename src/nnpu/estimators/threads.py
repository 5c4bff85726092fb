"""Blocks of rows in threads: NumPy and LightGBM let others run while they compute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from threadpoolctl import ThreadpoolController

__all__ = ["count_jobs", "in_threads", "one_blas_thread"]

_BLOCK = 1 << 11  # rows of a block: near the size of a cache
_LEAST = 1 << 8  # rows that are worth a thread


def in_threads(function: Callable[[Any], Any], X: Any, n_jobs: int) -> list[Any]:
    """Return what the function makes of each block of rows, in their order.

    Parameters
    ----------
    function : callable
        Of some rows.
    X : ndarray or CSR matrix
        The rows.
    n_jobs : int
        Number of threads, each of which multiplies matrices alone.

    Examples
    --------
    >>> import numpy as np
    >>> in_threads(len, np.zeros((5000, 2)), 2)
    [2048, 2048, 904]
    """
    n = X.shape[0]
    size = max(min(_BLOCK, -(-n // n_jobs)), min(_BLOCK, _LEAST))
    blocks = [X[start : start + size] for start in range(0, n, size)]
    if min(n_jobs, len(blocks)) < 2:
        return [function(block) for block in blocks]
    with one_blas_thread(), ThreadPoolExecutor(n_jobs) as pool:
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


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means: one for each core if None or −1."""
    import joblib

    return n_jobs if n_jobs and n_jobs > 0 else int(joblib.cpu_count())


@cache
def _libraries() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looks through all loaded libraries, which takes milliseconds
