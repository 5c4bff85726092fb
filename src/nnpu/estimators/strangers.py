"""Reading what a stranger wrote: plain files of bounded size, strict JSON, plain tensors.

Every size is compared with the bytes at hand before anything is allocated for it, nothing is
executed, and whatever is not exactly as expected is an `InputError`.
"""

from __future__ import annotations

import json
import math
import os
import stat
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["all_finite", "check_alike", "check_history", "parse_json", "read_file", "read_tensors"]

_LARGEST_HEADER = 2 * 2**20  # bytes; twenty thousand tensors
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)  # POSIX
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_file(path: Path, largest: int) -> bytearray:
    """Return the content of a plain file of at most `largest` bytes.

    Neither links nor pipes nor devices are opened for reading: they could lead out of the folder
    or never end.
    """
    try:
        # Not blocking: opening a pipe would wait for somebody to write to it.
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK | _NO_WAIT)
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
        content = bytearray(status.st_size)
        with open(descriptor, "rb", closefd=False) as file:
            file.readinto(content)
    finally:
        os.close(descriptor)
    return content


def parse_json(text: bytes | bytearray) -> Any:
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


def read_tensors(content: bytearray) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file; they share its memory.

    The file is eight bytes with the length of a JSON header, the header, and the data. Tensors
    must lie end to end and fill the data, as the format prescribes. Errors are ValueErrors.

    Examples
    --------
    >>> from safetensors.torch import save
    >>> read_tensors(bytearray(save({"w": torch.tensor([1.0, 2.0])})))
    {'w': tensor([1., 2.])}
    """
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, _LARGEST_HEADER):
        raise ValueError(f"a header of {length:,} bytes does not fit")
    header = parse_json(content[8 : 8 + length])
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    header.pop("__metadata__", None)
    start = 8 + length
    tensors, at = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: _offsets(item[1])):
        begin, end = _offsets(entry)
        if begin != at:
            raise ValueError(f"the tensor {name[:50]!r} does not begin where another ends")
        if end > len(content) - start:
            raise ValueError(f"the tensor {name[:50]!r} ends behind the file")
        tensors[name] = _view(content, start + begin, end - begin, entry)
        at = end
    if at != len(content) - start:
        raise ValueError("there are bytes behind the last tensor")
    return tensors


def _offsets(entry: Any) -> tuple[int, int]:
    if not isinstance(entry, dict):
        raise ValueError("a tensor is no JSON object")
    begin, end = _counts(entry.get("data_offsets"), 2)
    return begin, end


def _counts(values: Any, most: int) -> list[int]:
    if not isinstance(values, list) or len(values) > most:
        raise ValueError("a shape or a pair of offsets is no short list")
    if not all(type(value) is int and 0 <= value < 2**63 for value in values):
        raise ValueError("a shape or an offset is no count")
    return values


def _view(content: bytearray, begin: int, size: int, entry: dict[str, Any]) -> Tensor:
    name = entry.get("dtype")
    dtype = _DTYPES.get(name) if isinstance(name, str) else None
    if dtype is None:
        raise ValueError(f"tensors of type {str(name)[:50]!r} are not read")
    shape = _counts(entry.get("shape"), 16)
    n = math.prod(shape)
    if size != n * dtype.itemsize:
        raise ValueError(f"{size} bytes are not a tensor of shape {shape} and type {name}")
    if n == 0:
        return torch.empty(0, dtype=dtype).reshape(shape)
    if begin % dtype.itemsize:
        raise ValueError("a tensor is not aligned")
    return torch.frombuffer(content, dtype=dtype, count=n, offset=begin).reshape(shape)


def check_alike(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise a ValueError unless both have the same names, shapes and types.

    A parameter of `expected` that is still lazy is as good as any.

    >>> check_alike({"w": torch.zeros(2)}, {"w": torch.zeros(1).expand(3)})
    Traceback (most recent call last):
    ValueError: the weights 'w' must be float32 of shape (3,), not float32 of shape (2,)
    """
    for name in sorted(tensors.keys() ^ expected.keys()):
        fault = "missing" if name in expected else "not the model's"
        raise ValueError(f"the weights {name[:50]!r} are {fault}")
    for name, wanted in expected.items():
        if not is_lazy(wanted) and _kind(tensors[name]) != _kind(wanted):
            raise ValueError(
                f"the weights {name!r} must be {_kind(wanted)}, not {_kind(tensors[name])}"
            )


def check_history(history: Any) -> list[dict[str, float]]:
    """Return a stored history if it is a list of rows.

    >>> check_history([{"epoch": 0, "train_risk": 0.3}])
    [{'epoch': 0, 'train_risk': 0.3}]
    """
    if not isinstance(history, list) or not all(isinstance(row, dict) for row in history):
        raise TypeError("the history is no list of rows")
    return history


def all_finite(tensor: Tensor) -> bool:
    """Return whether a tensor has neither NaN nor infinities; it is not copied as a whole."""
    return all(bool(part.isfinite().all()) for part in tensor.flatten().split(2**20))


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
