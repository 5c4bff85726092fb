"""Checkpoint folders: the state of a run on disk, of which one is always whole; runs that go on.

A checkpoint is a pair of files, ``N.safetensors`` with the tensors and ``N.json`` with everything
else and a SHA-256 over both. The JSON file comes last: without it, or if the checksum is another,
there is no checkpoint N. The two newest are kept. Nothing in them is executable. A folder has one
writer at a time, and digests of everything that decides the result say which run it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from nnpu.data.rows import SparseBatch
from nnpu.files import TEMPORARY_PREFIX, atomic_path, partial_folder
from nnpu.parameters import InputError
from nnpu.terminal import is_first
from nnpu.training.options import DEFAULT_TRAINING, Training

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from torch import nn

    from nnpu.objective import Objective
    from nnpu.training.distributed import World
    from nnpu.training.run_state import Run, TrainingSample

__all__ = [
    "CheckpointFolder",
    "FolderLock",
    "Identity",
    "check_checkpoints",
    "check_same",
    "checkpoints_beside",
    "data_digest",
    "difference",
    "model_digest",
    "resumable",
    "run_identity",
]

_KEPT = 2  # checkpoints: if the newest is damaged, a run resumes from the one before
_DIGITS = 10  # of a checkpoint's number, padded: names sort as numbers do
_SUFFIXES = (".json", ".safetensors")
_OLD_LOCK = "lock"  # version 0.1.0 kept its lock in the folder


class CheckpointFolder:
    """The checkpoints of one run; a second writer is refused while this one is open.

    Parameters
    ----------
    folder : path-like
        New, empty, or with checkpoints in it. What a writer that died left half done is removed.

    Examples
    --------
    >>> import tempfile
    >>> name = Path(tempfile.mkdtemp()) / "run"
    >>> with CheckpointFolder(name) as folder:
    ...     folder.save({"epoch": 3, "weights": torch.ones(2)})
    >>> with CheckpointFolder(name) as folder:
    ...     folder.load()
    ...     folder.remove()
    {'epoch': 3, 'weights': tensor([1., 1.])}
    >>> name.exists()
    False
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = check_checkpoints(folder)
        self._lock = FolderLock(self.path)
        self._clean()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.path.is_dir() and not self._numbers(".json"):
            self.remove()  # nothing worth a folder
        self._lock.release()

    def save(self, state: Mapping[str, Any]) -> None:
        """Write a checkpoint; whatever happens meanwhile, the one before stays readable.

        Parameters
        ----------
        state : mapping
            Tensors, numbers, text, None, and lists, tuples and mappings of these.
        """
        if not self.path.is_dir():
            raise InputError(
                f"{self.path} was removed while the run was writing its checkpoints there. Start "
                "it again; it begins from scratch."
            )
        tensors: dict[str, Tensor] = {}
        text = _canonical(_flat(state, tensors))
        content = safetensors.torch.save(tensors)
        number = max(self._numbers(".json"), default=0) + 1
        with atomic_path(self._file(number, ".safetensors")) as temporary:
            temporary.write_bytes(content)
        with atomic_path(self._file(number, ".json")) as temporary:
            temporary.write_text(f'{{"sha256": "{_digest(text, content)}",\n"state": {text}}}\n')
        self._drop(before=number - _KEPT + 1)

    def load(self) -> dict[str, Any] | None:
        """Return the newest state whose checksum is right; None if nothing was ever saved."""
        numbers = self._numbers(".json")
        for number in reversed(numbers):
            state = self._read(number)
            if state is not None:
                return state
        if numbers:
            raise InputError(
                f"No checkpoint in {self.path} is readable any more: their checksums are wrong. "
                "Remove the folder to start from scratch."
            )
        return None

    def remove(self) -> None:
        """Remove the checkpoints, and the folder."""
        self._drop(before=max(self._numbers(".json"), default=0) + 1)
        self.path.rmdir()

    def _read(self, number: int) -> dict[str, Any] | None:
        try:
            document = json.loads(self._file(number, ".json").read_bytes())
            content = self._file(number, ".safetensors").read_bytes()
            if document["sha256"] != _digest(_canonical(document["state"]), content):
                return None
            state = _nested(document["state"], safetensors.torch.load(content))
        except (FileNotFoundError, ValueError, LookupError, TypeError, SafetensorError):
            return None
        return dict(state)

    def _file(self, number: int, suffix: str) -> Path:
        return self.path / f"{number:0{_DIGITS}d}{suffix}"

    def _numbers(self, suffix: str) -> list[int]:
        return sorted(int(path.stem) for path in self.path.glob(f"{'[0-9]' * _DIGITS}{suffix}"))

    def _drop(self, *, before: int) -> None:
        for suffix in _SUFFIXES:  # the JSON files first: a checkpoint goes as a whole
            for number in self._numbers(suffix):
                if number < before:
                    self._file(number, suffix).unlink()

    def _clean(self) -> None:
        """Remove what a writer that died left: temporary files, tensors without their JSON."""
        (self.path / _OLD_LOCK).unlink(missing_ok=True)
        for path in self.path.glob(f"{TEMPORARY_PREFIX}*"):
            path.unlink()
        for number in set(self._numbers(".safetensors")) - set(self._numbers(".json")):
            self._file(number, ".safetensors").unlink()


def check_checkpoints(
    folder: str | os.PathLike[str], runs: Sequence[str] = (), *, files: Sequence[str] = ()
) -> Path:
    """Return the path of a folder of checkpoints; `InputError` if it holds anything else.

    Parameters
    ----------
    folder : path-like
        It need not be there.
    runs : sequence of str
        Names of the runs that have a folder of checkpoints each in this one. Without names it
        holds the checkpoints itself.
    files : sequence of str
        Names of other files that the fit keeps there.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is not a folder; choose another name for checkpoints.")
    for entry in sorted(path.iterdir() if path.is_dir() else ()):
        if entry.name in runs and not entry.is_symlink():
            check_checkpoints(entry)
        elif not _is_ours(entry, runs, files):
            raise InputError(
                f"{path} holds other files than checkpoints ({entry.name}); choose a folder of its "
                "own for the checkpoints, or move them elsewhere."
            )
    return path


def _is_ours(entry: Path, runs: Sequence[str], files: Sequence[str]) -> bool:
    """Whether a checkpoint, or something that a writer that died left, has such a name."""
    if entry.is_symlink() or not entry.is_file():
        return False
    if entry.name in files:
        return True
    checkpoints = () if runs else tuple(f"{'[0-9]' * _DIGITS}{suffix}" for suffix in _SUFFIXES)
    if any(entry.match(pattern) for pattern in (f"{TEMPORARY_PREFIX}*", *checkpoints)):
        return True
    old_locks = [f"{run}.lock" for run in runs] or [_OLD_LOCK]  # of versions up to 0.2.0
    return entry.name in old_locks and not entry.stat().st_size


def _canonical(plain: Any) -> str:
    return json.dumps(plain, separators=(",", ":"))


def _digest(text: str, content: bytes) -> str:
    digest = hashlib.sha256(text.encode())
    digest.update(content)
    return digest.hexdigest()


def _flat(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Move the tensors of a nested state into `tensors`; return the rest in JSON's types."""
    if isinstance(value, Tensor):
        # A copy: safetensors refuses tensors that share memory, as tied weights do.
        tensors[str(len(tensors))] = value.detach().to(
            "cpu", copy=True, memory_format=torch.contiguous_format
        )
        return {"tensor": str(len(tensors) - 1)}
    if isinstance(value, Mapping):  # pairs, since JSON would turn numbers into text
        return {"items": [[key, _flat(item, tensors)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_flat(item, tensors) for item in value]}
    if isinstance(value, list):
        return [_flat(item, tensors) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise InputError(
        f"A checkpoint cannot hold {value!r}, a {type(value).__name__}, which the model, the "
        "optimiser or on_epoch_end keeps; it holds tensors, numbers, text and collections of them."
    )


def _nested(plain: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Undo `_flat`."""
    if isinstance(plain, list):
        return [_nested(item, tensors) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "tensor" in plain:
        return tensors[plain["tensor"]]
    if "tuple" in plain:
        return tuple(_nested(item, tensors) for item in plain["tuple"])
    return {key: _nested(item, tensors) for key, item in plain["items"]}


class FolderLock:
    """Makes a folder if need be, and this object its only writer.

    The lock is the operating system's: it ends with `release` or with the process, however that
    dies. Its file stands beside the folder, so the folder can be renamed or removed while it
    is locked, and goes with `release`.

    Parameters
    ----------
    folder : Path
        The folder; its lock is the file ``.nnpu-tmp-FOLDER.lock`` beside it, a name that no other
        program uses: ``FOLDER.lock`` may be somebody's.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp()) / "run"
    >>> lock = FolderLock(folder)
    >>> FolderLock(folder)
    Traceback (most recent call last):
    nnpu.parameters.InputError: ... is in use: another run writes to it. Wait for it or choose
    another folder.
    >>> lock.release()
    >>> [path.name for path in folder.parent.iterdir()]
    ['run']
    """

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, Timeout  # here: most of what writes needs no lock

        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder.with_name(f"{TEMPORARY_PREFIX}{folder.name}.lock")
        self._lock = FileLock(self._path, timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise InputError(
                f"{folder} is in use: another run writes to it. Wait for it or choose another "
                "folder."
            ) from error
        folder.mkdir(exist_ok=True)  # its last owner may have removed it in the meantime

    def release(self) -> None:
        """Let others in."""
        with suppress(OSError):  # Windows removes it when it is closed, which filelock does
            self._path.unlink()
        self._lock.release()


Identity = dict[str, str]

_NOT_IN_THE_RESULT = {"checkpoint", "checkpoint_every", "keep_checkpoint", "on_epoch_end"}


def run_identity(
    model: nn.Module,
    sample: TrainingSample,
    objective: Objective,
    options: Training,
    **settings: Any,
) -> Identity:
    """Return what makes this run this run, under the names that an error would use.

    Functions count by their name only. The thread count and the versions of libraries are not
    part of it, though they can change the last bits.
    """
    return {
        "data": data_digest(sample),
        "model": model_digest(model),
        "objective": _stable(vars(objective)),
        "options": _stable(
            {
                field.name: getattr(options, field.name)
                for field in fields(options)
                if field.name not in _NOT_IN_THE_RESULT
            }
            | {"on_epoch_end": options.on_epoch_end is not None}
        ),
        **{name: _stable(value) for name, value in settings.items()},
    }


def difference(mine: Identity, theirs: Identity) -> list[str]:
    """Return the names of what differs between two runs.

    >>> difference({"data": "a", "seed": "0"}, {"data": "a", "seed": "1"})
    ['seed']
    """
    return [name for name in mine if mine[name] != theirs.get(name)]


def check_same(mine: Identity, world: World) -> None:
    """Raise `InputError`, in every process, unless all have the same run before them."""
    everyones = world.gather(mine)
    other = [name for name in mine if any(one[name] != mine[name] for one in everyones)]
    if other:
        raise InputError(
            f"The {world.size} processes do not train the same model: the "
            f"{' and the '.join(other)} differ{'s' if len(other) == 1 else ''} between them. "
            "Give every process the same data and the same parameters, with an int as "
            "random_state; each takes its own share of every mini-batch by itself."
        )


def data_digest(sample: TrainingSample, *, chunk: int = 4096) -> str:
    """Return a SHA-256 over the rows, as the loop sees them, and their labels."""
    digest = hashlib.sha256(f"{len(sample)}".encode())
    _update(digest, sample.s[sample.index])
    for index in sample.index.split(chunk):
        batch = sample.rows.take(index)
        parts = batch[:3] if isinstance(batch, SparseBatch) else (batch,)
        for part in parts:
            _update(digest, part)
    return digest.hexdigest()


def model_digest(model: nn.Module) -> str:
    """Return a SHA-256 over a model's layers, its weights and the kind of its device."""
    digest = hashlib.sha256(_stable(model).encode())
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        if isinstance(value, torch.Tensor):  # a module may keep anything as its extra state
            _update(digest, value)
    digest.update(next(model.parameters()).device.type.encode())
    return digest.hexdigest()


def _update(digest: Any, tensor: Tensor) -> None:
    flat = tensor.detach().cpu().contiguous()
    digest.update(f"{flat.dtype}{tuple(flat.shape)}".encode())
    digest.update(flat.flatten().view(torch.uint8).numpy())


def _stable(value: Any) -> str:
    """The representation without addresses, which are others in every process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


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

    A run cannot resume from the middle of a step. A second Ctrl-C does not wait.
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
