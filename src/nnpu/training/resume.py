"""Runs that go on: a checkpoint now and then, and after a restart the last one again."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from nnpu.parameters import InputError
from nnpu.training.checkpoint import CheckpointFolder, partial_folder
from nnpu.training.identity import difference
from nnpu.training.options import DEFAULT_TRAINING, Training

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from nnpu.training.identity import Identity
    from nnpu.training.run import Run

__all__ = ["checkpoints_beside", "resumable"]


@contextmanager
def checkpoints_beside(
    target: str | os.PathLike[str], training: Training = DEFAULT_TRAINING
) -> Iterator[Training]:
    """Yield options that keep checkpoints in ``TARGET.partial`` until the body has stored TARGET.

    The folder is removed when the body ends without an error. A process that is killed at any
    moment before that, even between the last step and the storing, loses nothing.

    Parameters
    ----------
    target : path-like
        What the body makes: a model folder, a table.
    training : Training, optional
        The other options; default are those of `PUClassifier`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with checkpoints_beside(Path(tempfile.mkdtemp()) / "model") as training:
    ...     training.checkpoint.name, training.schedule
    ('model.partial', 'cosine')
    """
    folder = partial_folder(target)
    yield replace(training, checkpoint=folder, keep_checkpoint=True)
    if folder.is_dir():
        with CheckpointFolder(folder) as finished:
            finished.remove()


@contextmanager
def resumable(run: Run, options: Training, identity: Callable[[], Identity]) -> Iterator[None]:
    """Take the run back to its last checkpoint, if it has one, and write others in the body.

    Parameters
    ----------
    run : Run
        At its start.
    options : Training
        Where and how often; without ``checkpoint`` nothing is done.
    identity : callable
        Says which run this is; a checkpoint of another one is refused.
    """
    if options.checkpoint is None:
        yield
        return
    me = identity()
    with CheckpointFolder(options.checkpoint) as folder, _Interrupts() as interrupts:
        _restore(run, folder, me)
        keeper = _Keeper(run, folder, me, options.checkpoint_every)

        def after_step() -> None:
            interrupts.let_through()
            keeper.save_if_due()

        run.after_step = after_step
        try:
            yield
            interrupts.let_through()
        except KeyboardInterrupt:
            if run.whole:
                keeper.save()
            raise
        if options.keep_checkpoint:
            keeper.save()
        else:
            folder.remove()


def _restore(run: Run, folder: CheckpointFolder, me: Identity) -> None:
    found = folder.load()
    if found is None:
        return
    other = difference(me, found["identity"])
    if other:
        raise InputError(
            f"{folder.path} holds a checkpoint of another run: the {' and the '.join(other)} "
            f"differ{'s' if len(other) == 1 else ''}. Repeat that run with the same data, "
            "parameters and random_state, choose another folder, or remove this one."
        )
    run.restore(found["run"])


class _Keeper:
    """Saves a run whenever so many steps, or so much time, have passed."""

    def __init__(
        self, run: Run, folder: CheckpointFolder, identity: Identity, every: int | timedelta
    ) -> None:
        self.run, self.folder, self.identity, self.every = run, folder, identity, every
        self._steps, self._since = 0, time.monotonic()

    def save_if_due(self) -> None:
        self._steps += 1
        if isinstance(self.every, timedelta):
            due = time.monotonic() - self._since >= self.every.total_seconds()
        else:
            due = self._steps >= self.every
        if due:
            self.save()

    def save(self) -> None:
        self.folder.save({"identity": self.identity, "run": self.run.state()})
        self._steps, self._since = 0, time.monotonic()


class _Interrupts:
    """Holds an interruption by the keyboard back until a step is complete.

    A state in the middle of a step is none to go on from. A second Ctrl-C does not wait.
    """

    def __enter__(self) -> _Interrupts:
        self._pending = False
        self._previous: Any = None
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._hold)
        return self

    def __exit__(self, *error: object) -> None:
        if callable(self._previous):
            signal.signal(signal.SIGINT, self._previous)

    def _hold(self, number: int, frame: Any) -> None:
        if self._pending:
            self._previous(number, frame)
        self._pending = True

    def let_through(self) -> None:
        """Raise what was held back."""
        if self._pending:
            self._pending = False
            self._previous(signal.SIGINT, None)
