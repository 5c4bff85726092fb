"""Runs that go on: a checkpoint now and then, and after a restart the last one again."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from nnpu.files import partial_folder
from nnpu.launch import is_first
from nnpu.parameters import InputError
from nnpu.training._identity import check_same, difference
from nnpu.training._options import DEFAULT_TRAINING, Training
from nnpu.training.checkpoint import CheckpointFolder, check_checkpoints

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from nnpu.training._identity import Identity
    from nnpu.training._run import Run
    from nnpu.training.distributed import World

__all__ = ["checkpoints_beside", "resumable"]


@contextmanager
def checkpoints_beside(
    target: str | os.PathLike[str], training: Training = DEFAULT_TRAINING
) -> Iterator[Training]:
    """Yield options that keep checkpoints in ``TARGET.partial`` until the body has stored TARGET.

    The folder may hold nothing else, and is removed when the body ends without an error. A process
    that is killed at any moment before that, even between the last step and the storing, loses
    nothing.

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
    folder = check_checkpoints(partial_folder(target))
    yield replace(training, checkpoint=folder, keep_checkpoint=True)
    if folder.is_dir() and is_first():
        with CheckpointFolder(folder) as finished:
            finished.remove()


@contextmanager
def resumable(run: Run, options: Training, identity: Callable[[], Identity]) -> Iterator[Run]:
    """Take the run back to its last checkpoint, if it has one, and write others in the body.

    Parameters
    ----------
    run : Run
        At its start. Processes that share it are compared first.
    options : Training
        Where and how often; without ``checkpoint`` nothing is done.
    identity : callable
        Says which run this is; a checkpoint of another one is refused.
    """
    world = run.world
    kept = options.checkpoint is not None
    me = identity() if kept or world.size > 1 else {}
    check_same(me | {"checkpoint option": f"{kept}, {options.keep_checkpoint}"}, world)
    if options.checkpoint is None:
        yield run
        return
    me["number of processes"] = str(world.size)
    with _FirstsFolder(options.checkpoint, world) as folder, _Interrupts() as interrupts:
        _restore(run, folder, me)
        keeper = _Keeper(run, folder, me, options.checkpoint_every)

        def after_step() -> None:
            interrupted, due = world.any(interrupts.pending, keeper.step_done())
            if interrupted:
                interrupts.let_through()
            if due:
                keeper.save()

        run.after_step = after_step
        try:
            yield run
            if world.any(interrupts.pending)[0]:
                interrupts.let_through()
        except KeyboardInterrupt:
            # Several processes can write a checkpoint only where all of them stop.
            if run.whole and (interrupts.through or world.size == 1):
                keeper.save()
            raise
        if options.keep_checkpoint:
            keeper.save()
        else:
            folder.remove()


class _FirstsFolder:
    """A checkpoint folder that the first process alone opens and writes, on behalf of all."""

    def __init__(self, path: str | os.PathLike[str], world: World) -> None:
        self.path, self._world = path, world

    def __enter__(self) -> _FirstsFolder:
        self._world.from_first(self._open)
        return self

    def _open(self) -> None:
        self._folder = CheckpointFolder(self.path)

    def __exit__(self, *error: object) -> None:
        if self._world.rank == 0:
            self._folder.__exit__(*error)

    def load(self) -> dict[str, Any] | None:
        return self._world.from_first(lambda: self._folder.load())

    def save(self, state: dict[str, Any]) -> None:
        self._world.from_first(lambda: self._folder.save(state))

    def remove(self) -> None:
        self._world.from_first(lambda: self._folder.remove())


def _restore(run: Run, folder: _FirstsFolder, me: Identity) -> None:
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
        self, run: Run, folder: _FirstsFolder, identity: Identity, every: int | timedelta
    ) -> None:
        self.run, self.folder, self.identity, self.every = run, folder, identity, every
        self._steps, self._since = 0, time.monotonic()

    def step_done(self) -> bool:
        """Count a step; return whether it is time for a checkpoint."""
        self._steps += 1
        if isinstance(self.every, timedelta):
            return time.monotonic() - self._since >= self.every.total_seconds()
        return self._steps >= self.every

    def save(self) -> None:
        self.folder.save({"identity": self.identity, "run": self.run.state()})
        self._steps, self._since = 0, time.monotonic()


class _Interrupts:
    """Holds an interruption by the keyboard back until a step is complete.

    A state in the middle of a step is none to go on from. A second Ctrl-C does not wait.
    """

    def __enter__(self) -> _Interrupts:
        self.pending, self.through = False, False
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
        if self.pending:
            self._previous(number, frame)
        self.pending = True

    def let_through(self) -> None:
        """Raise what was held back, here or in another process."""
        self.pending, self.through = False, True
        if callable(self._previous):
            self._previous(signal.SIGINT, None)
