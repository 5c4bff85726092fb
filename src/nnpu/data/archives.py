"""Archives and packed files from strangers.

They are read in memory: nothing is unpacked to the disk, nothing is executed, and what unpacks to
a multiple of its size that no data reach is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = [
    "check_unpacked",
    "damaged",
    "gunzip",
    "is_gzip",
    "open_arrow",
    "open_text",
    "tar_members",
    "zip_member",
]

_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".xz": lzma.open}
_SMALL = 1 << 28  # bytes that anything may unpack to
_MOST = 200  # times its size: more than that is made to fill the memory
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, lzma.LZMAError, zlib.error)


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn the many errors of a broken archive into one line."""
    try:
        yield
    except _DAMAGE as error:
        raise InputError(
            f"{path} is damaged or incomplete ({error}): delete it and run again."
        ) from error


def tar_members(
    path: Path, limit: Callable[[str], int], *, total: int
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the wanted files of a tar archive, in its order.

    Parameters
    ----------
    path : Path
        The archive; its compression is detected.
    limit : callable
        Largest size in bytes that a member of that name may have; 0 for one that is not wanted.
    total : int
        Largest size of all members together, wanted or not.

    Raises
    ------
    InputError
        If the archive is damaged or larger than allowed, or holds a link, a device, or a name
        that leads out of it.
    """
    seen = 0
    with damaged(path), tarfile.open(path, "r|*") as archive:
        for member in archive:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise InputError(f"{path} is refused: its member {member.name!r} leads out of it.")
            if member.isdir():
                continue
            if not member.isreg():
                raise InputError(f"{path} is refused: its member {member.name!r} is not a file.")
            seen += member.size
            wanted = limit(member.name)
            if seen > total or (wanted and member.size > wanted):
                raise InputError(
                    f"{path} is refused: its member {member.name!r} is larger than expected."
                )
            stream = archive.extractfile(member) if wanted else None
            if stream is not None:
                yield member.name, stream.read()


@contextmanager
def zip_member(path: Path, name: str, *, limit: int) -> Iterator[IO[bytes]]:
    """Open one member of a zip archive, of at most `limit` bytes, as a stream."""
    with damaged(path), zipfile.ZipFile(path) as archive:
        try:
            info = archive.getinfo(name)
        except KeyError:
            raise InputError(f"{path} has no member {name!r}.") from None
        if info.file_size > limit:
            raise InputError(f"{path} is refused: its member {name!r} is larger than expected.")
        with archive.open(info) as stream:
            yield stream


def gunzip(path: Path, *, limit: int) -> bytes:
    """Content of a gzip file of at most `limit` bytes once unpacked."""
    with damaged(path), gzip.open(path, "rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"{path} is refused: it unpacks to more than {limit:,} bytes.")
    return content


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
    """Raise `InputError` if a file unpacks to far more than data do.

    Parameters
    ----------
    path : Path
        The packed file.
    size : int
        Bytes that it unpacks to, or that were unpacked so far.
    """
    if size > max(_SMALL, _MOST * path.stat().st_size):
        raise InputError(
            f"{path} is refused: it unpacks to over {_MOST} times its size. If it is what you "
            "mean, store it unpacked."
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
