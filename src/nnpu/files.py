"""Files that are either complete or absent.

Everything this package writes goes through `atomic_path`: a temporary name in the same folder,
synced, then renamed. A process that dies while it writes leaves the old file as it was.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TEMPORARY_PREFIX", "FolderLock", "atomic_path", "sync", "write_text"]

TEMPORARY_PREFIX = ".nnpu-tmp-"


def sync(path: Path) -> None:
    """Make the operating system put a file, or a folder's list of names, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; what was written there takes its place on success.

    On an error, or if the body wrote nothing, `path` is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("a,b")
    >>> target.read_text()
    'a,b'
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays: writers (matplotlib, NumPy) choose the format by it. The body makes the
    # file, so that its permissions are those of any new file and an absent one means "nothing".
    unique = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    temporary = target.with_name(unique + "".join(target.suffixes))
    try:
        yield temporary
        if temporary.exists():
            sync(temporary)
            temporary.replace(target)
            sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file atomically, in UTF-8, and return its path."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


class FolderLock:
    """Makes a folder if need be, and this object its only writer.

    The lock is the operating system's (``flock``): it ends with `release` or with the process,
    however that dies, so that no lock is ever left behind.

    Parameters
    ----------
    folder : Path
        The folder; it gets a file ``lock``.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> lock = FolderLock(folder)
    >>> FolderLock(folder)
    Traceback (most recent call last):
    nnpu.parameters.InputError: ... is in use: another run writes to it. Wait for it or choose
    another folder.
    >>> lock.release()
    """

    NAME = "lock"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        while not self._acquire():  # its last owner removed the folder in the meantime
            pass

    def _acquire(self) -> bool:
        import fcntl  # POSIX only, and only here

        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._descriptor = os.open(self.folder / self.NAME, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise InputError(
                f"{self.folder} is in use: another run writes to it. Wait for it or choose another "
                "folder."
            ) from error
        if self.is_held():
            return True
        self.release()
        return False

    def is_held(self) -> bool:
        """Return whether the folder still has the file that is locked: nobody removed it."""
        try:
            found = os.stat(self.folder / self.NAME)
        except (FileNotFoundError, NotADirectoryError):
            return False
        mine = os.fstat(self._descriptor)
        return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        """Let others in."""
        os.close(self._descriptor)
