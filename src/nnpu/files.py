"""Files that are either complete or absent.

Everything this package writes goes through `atomic_path`: a temporary name in the same folder,
synced, then renamed. A process that dies while it writes leaves the old file as it was.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "TEMPORARY_PREFIX",
    "atomic_path",
    "partial_folder",
    "stale",
    "sync",
    "temporary_beside",
    "write_text",
]

TEMPORARY_PREFIX = ".nnpu-tmp-"
_REFUSED = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def partial_folder(target: str | os.PathLike[str]) -> Path:
    """Return the folder for the checkpoints of what will be `target`.

    >>> partial_folder("models/customers").as_posix()
    'models/customers.partial'
    """
    path = Path(target)
    return path.with_name(path.name + ".partial")


def temporary_beside(path: Path) -> Path:
    """Return a path in the same folder that nobody else uses; its suffix is that of `path`.

    Writers such as matplotlib and NumPy choose the format by the suffix.

    >>> temporary_beside(Path("tables/scores.csv.gz")).suffixes
    ['.csv', '.gz']
    """
    name = f"{_mark(path)}{os.getpid()}-{secrets.token_hex(8)}{''.join(path.suffixes)}"
    return path.with_name(name)


def _mark(path: Path) -> str:
    """Return how the temporary names of a path begin, on this machine."""
    whose = hashlib.sha256(os.fsencode(f"{platform.node()}/{path.name}")).hexdigest()
    return f"{TEMPORARY_PREFIX}{whose[:12]}-"


def stale(path: Path) -> list[Path]:
    """Return the temporary files and folders of a path that killed processes left.

    On Windows none: asking whether a process lives could end it.

    Examples
    --------
    >>> import tempfile
    >>> stale(Path(tempfile.mkdtemp()) / "table.csv")
    []
    """
    if os.name == "nt":
        return []
    mark = _mark(path)
    found = [
        (left, left.name.removeprefix(mark).split("-")[0]) for left in path.parent.glob(f"{mark}*")
    ]
    return [left for left, number in found if number.isdecimal() and not _is_alive(int(number))]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        pass
    return True


def sync(path: Path) -> None:
    """Make the operating system put a file, or a folder's list of names, on the disk.

    Windows opens no folders, and some file systems do not sync them: then nothing is done.
    """
    try:
        # Windows syncs only what is open for writing.
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if not path.is_dir() or error.errno not in _REFUSED:
            raise


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; what was written there takes its place on success.

    On an error, or if the body wrote nothing, `path` is left as it was. A link stays a link: the
    file that it leads to is replaced. What a killed process left of the same file is removed.

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
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in stale(target):
        with suppress(OSError):  # another writer was first
            left.unlink()
    # The body makes the file, so its permissions are those of any new file and an absent one
    # means "nothing".
    temporary = temporary_beside(target)
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
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return Path(path)
