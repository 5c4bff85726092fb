"""Checkpoint folders: the state of a run on disk, of which one is always whole.

A checkpoint is a pair of files, ``N.safetensors`` with the tensors and ``N.json`` with everything
else and a SHA-256 over both. The JSON file comes last: without it, or if the checksum is another,
there is no checkpoint N. The two newest are kept. Nothing in them is executable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from nnpu.files import TEMPORARY_PREFIX, atomic_path
from nnpu.parameters import InputError
from nnpu.training.folder_lock import FolderLock

if TYPE_CHECKING:
    import os

__all__ = ["CheckpointFolder", "check_checkpoints"]

_KEPT = 2
_DIGITS = 10
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
                "again; the run begins anew."
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
                "Remove the folder to start anew."
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
