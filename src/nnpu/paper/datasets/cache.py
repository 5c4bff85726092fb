"""Where data files are looked for, and how a file is checked before it is used."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.files import write_text
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nnpu.paper.datasets.manifest import Bundle, DataFile

__all__ = ["cache_folder", "data_folder", "find", "sha256_of", "verify", "writing"]

_BLOCK = 1 << 20


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Folder that the user named, by the argument or by ``NNPU_DATA``; None if neither did."""
    named = os.fspath(folder) if folder is not None else os.environ.get("NNPU_DATA", "")
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_dir():
        origin = "The data folder" if folder is not None else "The folder named by NNPU_DATA"
        raise InputError(f"{origin}, {path}, is not there: create it or name another one.")
    return path


def cache_folder() -> Path:
    """Folder of downloaded files: ``NNPU_CACHE``, else ``nnpu`` below the user's cache."""
    named = os.environ.get("NNPU_CACHE", "")
    if named:
        return Path(named).expanduser()
    # The XDG specification: a relative value is to be ignored.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "nnpu"


def find(bundle: Bundle, base: Path) -> list[Path] | None:
    """Paths of a bundle's files below `base`, or None unless all of them are there."""
    paths = []
    for file in bundle.files:
        places = (base / bundle.folder / file.name, base / file.name)
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return None
        paths.append(path)
    return paths


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def verify(path: Path, file: DataFile, *, record: Path | None = None) -> None:
    """Raise `InputError` unless `path` holds the bytes that the manifest describes.

    Parameters
    ----------
    path : Path
        The file at hand.
    file : DataFile
        What it should be.
    record : Path, optional
        For a file without a published checksum: where its SHA-256 is written when it is first
        used, and compared from then on.
    """
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        raise InputError(
            f"{path} has {size:,} bytes instead of {file.size:,} (truncated, or another version): "
            f"delete it and run again."
        )
    if file.sha256 is None and record is None:
        return
    actual = sha256_of(path)
    expected = file.sha256 or _recorded(record)
    if expected is None and record is not None:
        with writing(record):
            write_text(record, f"{actual}  {file.name}\n")
    elif actual != expected:
        also = f" and {record}" if file.sha256 is None else ""
        raise InputError(
            f"{path} is damaged or another version: its SHA-256 is {actual} instead of "
            f"{expected}. Delete it{also} and run again."
        )


def _recorded(record: Path | None) -> str | None:
    if record is None or not record.is_file():
        return None
    return record.read_text(encoding="utf-8").split(" ", 1)[0]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failed write into one line that names the file and the remedy."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}): make room or allow writing "
            f"there, or set NNPU_CACHE to another folder."
        ) from error
