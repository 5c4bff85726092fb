"""The desk of a served review: hands out one row at a time, and ranks the rest behind it.

Several tabs may be open: each holds a row of its own. A few rows are handed out ahead. When they
run low, a thread ranks the list anew and hands out more, while people go on with the rest. The
thread has a `ListReview` of its own on the same folder, so no answer waits for a ranking.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError
from nnpu.review.worklist import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nnpu.review.worklist import ListReview

__all__ = ["Desk"]

_AHEAD, _LOW = 5, 3  # rows handed out at once, when fewer than these are free
_CURVE = 200  # points of the curve of finds


class Desk:
    """Hands the rows of a kept review to one person, in any number of tabs.

    Parameters
    ----------
    folder : path-like
        Where the review is kept.
    describe : callable
        Takes row numbers and returns a description of each: a dict of plain values.
    by : str
        Who answers. No other desk may hand rows to the same person at the same time.
    random, until
        As in `ListReview.next`.

    Examples
    --------
    >>> import tempfile
    >>> from nnpu.review import ListReview
    >>> folder = ListReview([0.1, 0.9, 0.5]).save(tempfile.mkdtemp())
    >>> with Desk(folder, lambda rows: [{"name": f"row {row}"} for row in rows], random=0) as desk:
    ...     here, there = desk.take("tab 1", wait=5), desk.take("tab 2", wait=5)
    ...     desk.answer("tab 1", here["row"], 1.0)
    ...     desk.take("tab 1", wait=5)["name"], there["name"], desk.status()["found"]
    ('row 0', 'row 2', 1)
    """

    def __init__(
        self,
        folder: Any,
        describe: Callable[[Sequence[int]], list[dict[str, Any]]],
        *,
        by: str = "",
        random: float = 0.1,
        until: float | None = None,
    ) -> None:
        self.by, self.random, self.until = by, random, until
        self._folder, self._describe = Path(folder), describe
        self._review = load(folder)
        self._changed = threading.Condition()
        self._free: list[int] = []  # handed to this person, in nobody's hands
        self._held: dict[str, int] = {}  # tab: row
        self._views: dict[int, dict[str, Any]] = {}
        # Who may take back which answer: a tab its own, and everybody those of closed tabs.
        self._done: list[tuple[int, str | None]] = [
            (row, None) for row in self._review.answered_by(by)
        ]
        self._fault: InputError | None = None
        self._spent = self._closed = False
        self._thread = threading.Thread(target=self._deal, name="nnpu review", daemon=True)

    def __enter__(self) -> Desk:
        """Start to hand out rows."""
        from filelock import FileLock, Timeout

        mark = self.by.encode().hex() or "none"
        self._lock = FileLock(self._folder / f".nnpu-tmp-desk-{mark}.lock", timeout=0)
        try:
            self._lock.acquire()
        except Timeout as error:
            who = f"for {self.by!r} " if self.by else ""
            raise InputError(
                f"{self._folder} is served {who}already. Open that page, or name another "
                "person with --by."
            ) from error
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop handing out rows; those without an answer are handed out again by the next desk."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout=60)
        self._lock.release()

    def take(self, tab: str, wait: float = 1.0) -> dict[str, Any] | None:
        """Return the row that a tab holds, or the next one: its description and number.

        Parameters
        ----------
        tab : str
            The tab.
        wait : float, default=1
            Seconds to wait for a ranking.

        Returns
        -------
        dict or None
            None if no row is ready; see `spent`.
        """
        with self._changed:
            self._fault, fault = None, self._fault
            self._changed.notify_all()  # after a fault, try again
            if fault is not None and not self._free and tab not in self._held:
                raise fault
            ready = self._changed.wait_for(
                lambda: self._free or tab in self._held or self._spent or self._fault, wait
            )
            if tab not in self._held:
                if not (ready and self._free):
                    return None
                self._held[tab] = self._free.pop(0)
                self._changed.notify_all()
            row = self._held[tab]
            return {**self._views[row], "row": row}

    @property
    def spent(self) -> bool:
        """Whether all rows are handed out."""
        return self._spent

    def answer(self, tab: str, row: int, answer: float) -> None:
        """Put an answer on the disk; the tab must hold the row.

        Parameters
        ----------
        tab, row
            Which tab answers which row.
        answer : float
            1 yes, 0 no, NaN don't know.
        """
        with self._changed:
            if self._held.get(tab) != row:
                raise InputError("This tab no longer holds this row; nothing was saved.")
            self._review.answer([row], [answer], by=self.by)
            del self._held[tab], self._views[row]
            self._done.append((row, tab))

    def undo(self, tab: str) -> None:
        """Take back the last answer of a tab; the tab holds its row again."""
        with self._changed:
            at = self._last(tab)
            if at is None:
                return
            row, _ = self._done[at]
            self._view([row], self._review)
            self._review.take_back(row, by=self.by)
            del self._done[at]
            if tab in self._held:
                self._free.insert(0, self._held[tab])
            self._held[tab] = row

    def can_undo(self, tab: str) -> bool:
        """Return whether there is an answer that the tab may take back."""
        with self._changed:
            return self._last(tab) is not None

    def release(self, tab: str) -> None:
        """Take the row of a tab that was closed, for another one."""
        with self._changed:
            if tab in self._held:
                self._free.insert(0, self._held.pop(tab))
            self._done = [(row, None if who == tab else who) for row, who in self._done]
            self._changed.notify_all()

    def status(self) -> dict[str, Any]:
        """Return where the review stands, as plain values."""
        recall = 0.9 if self.until is None else self.until
        with self._changed:
            self._review.refresh()
            found = self._review.to_json(recall=recall)
            curve = self._review.curve
            words = str(self._review.certificate(recall))
        # A curve of many looks keeps its ends and as many points between as a screen shows.
        at = np.unique(np.linspace(0, len(curve), _CURVE).astype(int))
        return {
            **found,
            "curve": [[int(i), curve[i - 1] if i else 0] for i in at],
            "words": words,
            "by": self.by,
        }

    def _last(self, tab: str) -> int | None:
        mine = [i for i, (_, who) in enumerate(self._done) if who in (tab, None)]
        return mine[-1] if mine else None

    def _view(self, rows: Sequence[int], review: ListReview) -> None:
        """Describe some rows; `random` says how each was drawn."""
        if rows:
            drawn = review.is_random(rows).tolist()
            for row, random, view in zip(rows, drawn, self._describe(rows), strict=True):
                self._views[row] = {**view, "random": random}

    def _deal(self) -> None:
        """Rank and hand out rows whenever few are free, until the desk closes or no row is left."""
        behind: ListReview | None = None
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or (len(self._free) < _LOW and self._fault is None)
                )
                if self._closed:
                    return
            try:
                if behind is None:  # first, rows from earlier that have no answer
                    behind, last = load(self._folder), False
                else:
                    new = behind.next(_AHEAD, self.random, until=self.until, by=self.by)
                    last = not len(new)
                with self._changed:
                    busy = {*self._free, *self._held.values(), *(row for row, _ in self._done)}
                # In the order of handing out: a row that waits counts only once a later one is
                # answered.
                rows = [row for row in behind.waiting_for(self.by) if row not in busy]
                self._view(rows, behind)
                with self._changed:
                    self._free += rows
                    self._spent = last
                    self._changed.notify_all()
                if last:
                    return
            except Exception as fault:
                behind = None
                with self._changed:  # for whoever asks for a row next
                    self._fault = InputError(f"The next rows could not be chosen: {fault}")
                    self._changed.notify_all()
