"""Downloaded archives, read in memory: nothing is unpacked to the disk, nothing is executed."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["damaged", "gunzip", "tar_members", "zip_member"]

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
