"""Model folders on disk: what they are made of, how one replaces another, how one is read.

A folder is replaced as a whole, and only if everything in it is ours: nothing that this package
did not write is ever deleted. What is read was perhaps written by a stranger: files are plain and
of bounded size, JSON is strict, every size is compared with the bytes at hand before anything is
allocated, and nothing is executed. Whatever is not exactly as expected is an `InputError`.
`nnpu.estimators.loading` says what is in a folder.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnpu.files import TEMPORARY_PREFIX, stale, sync, temporary_beside
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CONFIG",
    "FILES",
    "LOG",
    "NOTES",
    "REPORT",
    "RUN",
    "SUMS",
    "WEIGHTS",
    "all_finite",
    "check_history",
    "check_target",
    "find",
    "is_there",
    "parse_json",
    "read_file",
    "read_tensors",
    "remove_stale",
    "replace",
]

WEIGHTS, CONFIG, SUMS = "model.safetensors", "config.json", "SHA256SUMS"
REPORT, RUN, LOG = "report.html", "run.toml", "log.jsonl"
NOTES = (REPORT, RUN, LOG)  # for people; loading does not read them
FILES = (WEIGHTS, CONFIG, SUMS, *NOTES)

_MARK = b'"format": "nnpu-model"'  # near the top of our configuration
_HEAD = 4096  # bytes of the file in which the mark is looked for
_OVERTAKEN = {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST}  # another process renamed first
_TRIES = 100  # renames that other processes may overtake; then something else is wrong


def check_target(folder: str | os.PathLike[str]) -> Path:
    """Return where a model folder is written, links resolved; an error if that would lose anything.

    The folder may be absent, empty, or a model folder with nothing else in it.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> check_target(place / "model").name
    'model'
    >>> _ = (place / "thesis.tex").write_text("...")
    >>> check_target(place)
    Traceback (most recent call last):
    nnpu.parameters.InputError: ... cannot be replaced by a model: it holds thesis.tex, which nnpu
    did not write. Choose another folder, or move that elsewhere.
    """
    target = Path(os.path.realpath(folder))
    for _ in range(25):  # another writer may be replacing it between two looks
        fault = _in_the_way(target) or _in_the_way(_aside(target))
        if not fault:
            return target
        time.sleep(0.01)
    raise InputError(fault)


def find(folder: str | os.PathLike[str]) -> Path:
    """Return where the model of that name is: set aside, if its replacement was interrupted.

    A warning says so: the folder may also have been removed on purpose since.
    """
    place = _place(folder)
    if place != Path(folder):
        warnings.warn(
            f"{folder} is missing: its replacement was interrupted. The previous model is used, "
            f"from {place}. Rename that folder to keep it, or delete it.",
            UserWarning,
            stacklevel=2,
        )
    return place


def is_there(folder: str | os.PathLike[str]) -> bool:
    """Return whether `find` finds a folder."""
    return _place(folder).exists()


def _place(folder: str | os.PathLike[str]) -> Path:
    real = Path(os.path.realpath(folder))
    return Path(folder) if real.exists() or not _aside(real).exists() else _aside(real)


def replace(new: Path, target: Path) -> None:
    """Put a folder that was written for it at `target`, in the place of the model there, if any.

    A folder cannot be renamed over a full one, so the old one steps aside first. A process
    killed in between leaves no folder of that name, and `find` finds the old one. Where another
    process writes the same folder at the same moment, the last one wins.

    Parameters
    ----------
    new : Path
        A complete model folder beside `target`.
    target : Path
        As `check_target` returned it.
    """
    old = _aside(target)
    for attempt in range(_TRIES):
        try:
            if target.exists():
                _remove(old)
                target.rename(old)
            new.rename(target)
            break
        except OSError as error:
            if error.errno not in _OVERTAKEN or attempt == _TRIES - 1:
                raise
            time.sleep(0.01)
    sync(target.parent)
    _remove(old)
    if foreign := _foreign(old):  # put there after `check_target` had looked
        warnings.warn(
            f"{target} held {_listed(foreign)} when it was replaced. That is in {old} now.",
            UserWarning,
            stacklevel=2,
        )


def _aside(folder: Path) -> Path:
    """Return where a model folder steps aside while another takes its place."""
    return folder.parent / f"{TEMPORARY_PREFIX}old-{folder.name}"


def _in_the_way(folder: Path) -> str:
    """Return why a folder cannot be replaced; nothing if it can."""
    if not os.path.lexists(folder):
        return ""
    if not folder.is_dir():
        return f"{folder} exists and is not a folder; choose another name."
    if os.path.ismount(folder):
        return f"{folder} is a mount point, which cannot be replaced; choose a folder inside it."
    if _is_around_us(folder):
        return f"{folder} is the folder you are in, which cannot be replaced; choose another name."
    foreign = _foreign(folder)
    if foreign:
        return (
            f"{folder} cannot be replaced by a model: it holds {_listed(foreign)}, which nnpu did "
            "not write. Choose another folder, or move that elsewhere."
        )
    names = _names(folder)
    if names and not _is_ours(folder):
        return (
            f"{folder} cannot be replaced by a model: it holds {_listed(names)}, but not the "
            f"{CONFIG} of an nnpu model. Choose another folder, or delete this one."
        )
    return ""


def _is_around_us(folder: Path) -> bool:
    try:
        return Path.cwd().is_relative_to(folder)
    except FileNotFoundError:  # somebody removed the folder that we are in
        return False


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _foreign(folder: Path) -> list[str]:
    """Return the names in a folder that no model folder has; a link is never ours."""
    return [name for name in _names(folder) if name not in FILES or not _is_plain(folder / name)]


def _is_plain(path: Path) -> bool:
    """Whether there is a file and no link; also if another process just removed it."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return True


def _is_ours(folder: Path) -> bool:
    try:
        with (folder / CONFIG).open("rb") as stream:
            return _MARK in stream.read(_HEAD)
    except OSError:
        return False


def _listed(names: list[str]) -> str:
    *others, last = names if len(names) <= 3 else [*names[:3], f"{len(names) - 3} more"]
    return f"{', '.join(others)} and {last}" if others else last


def _remove(folder: Path) -> None:
    """Remove a model folder that was set aside; anything else in it stays.

    It gets a name of its own first: of several writers one removes it, and none a half of it.
    """
    if not folder.is_dir() or _foreign(folder) or not (_is_ours(folder) or not _names(folder)):
        return
    doomed = temporary_beside(folder)
    try:
        folder.rename(doomed)
    except FileNotFoundError:  # another process was first
        return
    _empty(doomed)


def _empty(folder: Path) -> None:
    """Remove what nnpu writes into a folder, and the folder if nothing else is in it."""
    with suppress(OSError):  # another process was first, or something was put into it
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def remove_stale(folder: Path) -> None:
    """Remove what a killed process left when it wrote, or replaced, this model folder."""
    for left in (*stale(folder), *stale(_aside(folder))):
        _empty(left)


_LARGEST_HEADER = 2 * 2**20  # bytes; twenty thousand tensors
#: Flags that a system may not have: POSIX's against links and pipes, Windows's for plain bytes.
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "uint16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}


def read_file(path: Path, largest: int) -> bytes:
    """Return the content of a plain file of at most `largest` bytes.

    Neither links nor pipes nor devices are opened for reading: they could lead out of the folder
    or never end.
    """
    try:
        # Not blocking: opening a pipe would wait for somebody to write to it.
        flags = sum(getattr(os, name, 0) for name in _FLAGS)
        if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        descriptor = os.open(path, os.O_RDONLY | flags)
    except OSError as error:
        raise InputError(
            f"{path.parent} is not a model folder: it has no file {path.name} ({error.strerror})."
        ) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(
                f"{path.parent} is not a model folder: its {path.name} is not a plain file."
            )
        if status.st_size > largest:
            raise InputError(
                f"{path} has {status.st_size:,} bytes, more than any model's ({largest:,}); it is "
                "not loaded."
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(descriptor)


def parse_json(text: bytes) -> Any:
    """Parse JSON as its standard has it: finite numbers, UTF-8, and no key twice in an object.

    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' occurs twice
    """
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_not_finite,
            parse_float=_finite,
        )
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in result if names.count(name) > 1)
        raise ValueError(f"the key {twice[:50]!r} occurs twice")
    return result


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _not_finite(text)


def _not_finite(text: str) -> float:
    raise ValueError(f"the number {text[:50]} is not finite")


def read_tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file; bfloat16 comes as the bits of uint16.

    The safetensors library compares every offset, shape and type with the bytes at hand before it
    makes a tensor; the length of the header is limited here. Errors are ValueErrors.

    Examples
    --------
    >>> import numpy as np
    >>> from safetensors.numpy import save
    >>> read_tensors(save({"w": np.array([1.0, 2.0])}))
    {'w': array([1., 2.])}
    """
    import safetensors  # heavy, and commands check their paths by this module first

    length = int.from_bytes(content[:8], "little")
    if length > _LARGEST_HEADER:
        raise ValueError(f"a header of {length:,} bytes is longer than any model's")
    try:
        found = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)[:200]) from error
    return {name: _array(entry) for name, entry in found}


def _array(entry: dict[str, Any]) -> NDArray[Any]:
    import numpy as np

    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise ValueError(f"tensors of type {entry['dtype']!r} are not read")
    return np.frombuffer(entry["data"], dtype=dtype).reshape(entry["shape"])


def check_history(history: Any) -> list[dict[str, float]]:
    """Return a stored history if it is a list of rows.

    >>> check_history([{"epoch": 0, "train_risk": 0.3}])
    [{'epoch': 0, 'train_risk': 0.3}]
    """
    if not isinstance(history, list) or not all(isinstance(row, dict) for row in history):
        raise TypeError("the history is not a list of rows")
    return history


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether an array has neither NaN nor infinities, a million numbers at a time.

    >>> import numpy as np
    >>> all_finite(np.array([1.0, np.nan]))
    False
    """
    import numpy as np

    flat = array.reshape(-1)
    return all(np.isfinite(flat[i : i + 2**20]).all() for i in range(0, len(flat), 2**20))
