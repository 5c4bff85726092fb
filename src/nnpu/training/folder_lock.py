"""One writer at a time for a folder of checkpoints."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from nnpu.files import TEMPORARY_PREFIX
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FolderLock"]


class FolderLock:
    """Makes a folder if need be, and this object its only writer.

    The lock is the operating system's: it ends with `release` or with the process, however that
    dies. Its file stands beside the folder, so that the folder can be renamed or removed while it
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
