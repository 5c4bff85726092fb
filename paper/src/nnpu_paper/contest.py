"""Contests: every contender in turn, some rounds, the best of each; times as ratios to one of them.

A time alone says little: it is the machine's. In turn, so a busy moment harms all alike.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, NamedTuple

from nnpu_paper.memory import peak_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nnpu_paper.results import Row

__all__ = ["Clock", "Contender", "contest"]


class Clock:
    """Two clocks, read at the start and at the end of what is to be timed.

    The wall's says how long one waits. The processor's counts this process alone: on a busy
    machine, and with one thread, it is the one to compare.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.start()
    >>> clock.stop()
    >>> clock.wall >= 0 and clock.processor >= 0
    True
    """

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def start(self) -> None:
        """Begin; what was timed before is forgotten."""
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """End."""
        self.wall = time.perf_counter() - self._began[0]
        self.processor = time.process_time() - self._began[1]


class Contender(NamedTuple):
    """Somebody who does a piece of work.

    ``run`` does it and says on the clock it gets when the part that counts begins and ends;
    ``of`` names the contender whose time is the unit; ``n_rows`` is what the work goes through.
    """

    name: str
    run: Callable[[Clock], object]
    of: str
    n_rows: int


def contest(contenders: Sequence[Contender], *, repeats: int = 3) -> list[Row]:
    """Let every contender work in turn and return a row for each.

    Parameters
    ----------
    contenders : sequence of Contender
        In their order.
    repeats : int, default=3
        Rounds; the best time and the lowest peak of memory of each contender count.

    Returns
    -------
    list of dict
        ``what``, ``ratio`` (the time as a multiple of that of the contender it is compared with),
        ``processor_ratio`` (the same by the processor's clock), ``seconds``, ``rows_per_second``
        and ``peak_mb``: anonymous memory of the process at its highest, in MB.

    Examples
    --------
    >>> def count(clock, upto):
    ...     clock.start(); sum(range(upto)); clock.stop()
    >>> rows = contest([
    ...     Contender("short", lambda clock: count(clock, 10**4), "short", 10**4),
    ...     Contender("long", lambda clock: count(clock, 10**6), "short", 10**6),
    ... ])
    >>> rows[0]["ratio"], rows[1]["ratio"] > 1
    (1.0, True)
    """
    walls, processors, peaks = ({one.name: float("inf") for one in contenders} for _ in range(3))
    for _ in range(repeats):
        for one in contenders:
            gc.collect()  # what others left is not this one's
            clock = Clock()
            with peak_memory() as peak:
                one.run(clock)
            walls[one.name] = min(walls[one.name], clock.wall)
            processors[one.name] = min(processors[one.name], clock.processor)
            peaks[one.name] = min(peaks[one.name], peak[0])
    return [
        {
            "what": one.name,
            "ratio": round(walls[one.name] / walls[one.of], 6),
            "processor_ratio": round(processors[one.name] / processors[one.of], 6),
            "seconds": round(walls[one.name], 4),
            "rows_per_second": round(one.n_rows / walls[one.name]),
            "peak_mb": round(peaks[one.name]),
        }
        for one in contenders
    ]
