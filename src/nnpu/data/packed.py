"""Files packed by gzip, bzip2 or xz, read as if they were not.

A file that expands more than 200-fold is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from typing import IO, TYPE_CHECKING, Any

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_unpacked", "is_gzip", "open_arrow", "open_text"]

_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".xz": lzma.open}
_SMALL = 1 << 28  # bytes that anything may unpack to
_MOST = 200  # times its size: more than that is made to fill the memory
_DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)


def is_gzip(path: Path) -> bool:
    """Return whether a file is packed by gzip, whatever its name is."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_text(path: Path) -> IO[bytes]:
    """Open a text file as bytes, unpacking gzip (by its content), .bz2 and .xz (by the name).

    Reading raises `InputError` where a packed file is damaged, or made to fill the memory.
    """
    opener = gzip.open if is_gzip(path) else _OPENERS.get(path.suffix)
    return (
        path.open("rb") if opener is None else io.BufferedReader(_Unpacked(path, opener), 1 << 18)
    )


def check_unpacked(path: Path, size: int) -> None:
    """Raise `InputError` if a file expands more than 200-fold.

    Parameters
    ----------
    path : Path
        The packed file.
    size : int
        Bytes that it unpacks to, or that were unpacked so far.
    """
    if size > max(_SMALL, _MOST * path.stat().st_size):
        raise InputError(
            f"{path} is refused: it unpacks to over {_MOST} times its size. If it really is that "
            "large, store it unpacked."
        )


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file, counted and checked as they are read."""

    def __init__(self, path: Path, opener: Any) -> None:
        self.path, self.stream, self.seen = path, opener(path, "rb"), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            size: int = self.stream.readinto(buffer)
        except _DAMAGE as error:
            raise InputError(f"{self.path} is damaged or incomplete ({error}).") from error
        self.seen += size
        check_unpacked(self.path, self.seen)
        return size

    def close(self) -> None:
        self.stream.close()
        super().close()


def open_arrow(path: Path) -> Any:
    """Open a file, unpacked if it is packed by gzip, for pyarrow's readers.

    pyarrow opens it by its name and not through Python, whose threads may be gone before its own.
    """
    import pyarrow as pa

    stream = pa.OSFile(os.fsencode(path))  # as bytes: the locale may not have the characters
    return pa.CompressedInputStream(stream, "gzip") if is_gzip(path) else stream
