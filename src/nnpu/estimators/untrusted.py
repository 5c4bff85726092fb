"""Reading files that nobody vouches for: plain, of bounded size, strict JSON, plain arrays.

Every size is compared with the bytes at hand before anything is allocated for it, nothing is
executed, and whatever is not exactly as expected is an `InputError`.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "all_finite",
    "check_history",
    "parse_json",
    "read_file",
    "read_tensors",
]

_LARGEST_HEADER = 2 * 2**20  # bytes; twenty thousand tensors
#: Flags that a system may not have: POSIX's against links and pipes, Windows's for plain bytes.
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
_DTYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
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
                f"{path.parent} is not a model folder: it has no file {path.name}, but something "
                "of that name which is not a plain file."
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
    >>> from safetensors.numpy import save
    >>> read_tensors(save({"w": np.array([1.0, 2.0])}))
    {'w': array([1., 2.])}
    """
    length = int.from_bytes(content[:8], "little")
    if length > _LARGEST_HEADER:
        raise ValueError(f"a header of {length:,} bytes is longer than any model's")
    try:
        found = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)[:200]) from error
    return {name: _array(entry) for name, entry in found}


def _array(entry: dict[str, Any]) -> NDArray[Any]:
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
        raise TypeError("the history is no list of rows")
    return history


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether an array has neither NaN nor infinities, a million numbers at a time.

    >>> all_finite(np.array([1.0, np.nan]))
    False
    """
    flat = array.reshape(-1)
    return all(np.isfinite(flat[i : i + 2**20]).all() for i in range(0, len(flat), 2**20))
