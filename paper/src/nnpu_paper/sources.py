"""The files of a data set: found in the user's folder or the cache, downloaded, and verified.

A download is resumable, shows its progress, and is used only if its checksum is right.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tqdm import tqdm

from nnpu.files import sync, write_text
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nnpu_paper.manifest import Bundle, DataFile

__all__ = [
    "UnreachableError",
    "cache_folder",
    "data_folder",
    "download",
    "find",
    "locate",
    "sha256_of",
    "verify",
    "writing",
]


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
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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


_PACKET = 1 << 18  # bytes of a download at a time
_TIMEOUT = 30.0  # seconds without a byte
_BROKEN = (OSError, http.client.HTTPException)  # URLError and time-outs are OSErrors


class UnreachableError(InputError):
    """No address gave the file."""


def download(file: DataFile, target: Path) -> None:
    """Put `file` at `target`, trying its addresses in turn.

    What has arrived is kept in ``target.part``, and the next call goes on from there. `target`
    itself appears only once its size and SHA-256 are right.

    Raises
    ------
    UnreachableError
        If no address gave the file; the message has the reason of each.
    InputError
        If the file cannot be written.
    """
    part = target.with_name(f"{target.name}.part")
    reasons = []
    for url in file.urls:
        reason = _fetch(url, part, file)
        if reason is None:
            with writing(target):
                sync(part)
                part.replace(target)
                sync(target.parent)
            return
        reasons.append(f"{url}: {reason}")
    raise UnreachableError(f"{file.name} could not be downloaded ({'; '.join(reasons)}).")


def _fetch(url: str, part: Path, file: DataFile) -> str | None:
    """Complete `part` from one address; return None, or the reason why it is not complete."""
    while True:
        before = _size(part)
        try:
            reason = None if before == file.size else _transfer(url, part, file.name)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and before:
                part.unlink()  # longer than the file there: start again
                continue
            return f"HTTP status {error.code}"
        except _BROKEN as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        if reason is None:
            return _wrong(part, file)
        if _size(part) <= before:  # no progress: give up here, keep what came
            return reason


def _transfer(url: str, part: Path, name: str) -> str | None:
    """Append what is missing to `part`; return None, or why the end was not reached."""
    start = _size(part)
    headers = {"User-Agent": "nnpu-paper"} | ({"Range": f"bytes={start}-"} if start else {})
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        if not _continues(response, start):
            start = 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        with (
            _open(part, "ab" if start else "wb") as out,
            tqdm(
                total=total, initial=start, unit="B", unit_scale=True, desc=name, disable=None
            ) as bar,
        ):
            while block := response.read(_PACKET):
                _append(out, block, part)
                bar.update(len(block))
    received = _size(part)
    if total is not None and received < total:
        return f"stopped after {received:,} of {total:,} bytes; run again to go on"
    return None


def _continues(response: Any, start: int) -> bool:
    """Whether the server sends the rest of the file rather than all of it."""
    sent = re.match(r"bytes (\d+)-", response.headers.get("Content-Range") or "")
    return response.status == http.client.PARTIAL_CONTENT and bool(sent and int(sent[1]) == start)


def _open(part: Path, mode: str) -> IO[bytes]:
    with writing(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        return part.open(mode, buffering=0)  # unbuffered: what was read from the net is in the file


def _append(out: IO[bytes], block: bytes, part: Path) -> None:
    try:
        with writing(part):
            rest = memoryview(block)
            while rest:
                rest = rest[out.write(rest) :]
    except InputError:
        part.unlink(missing_ok=True)  # the disk is full: leave it no fuller than it was
        raise


def _wrong(part: Path, file: DataFile) -> str | None:
    """Check the finished `part`; a wrong one is deleted, and the reason returned."""
    try:
        verify(part, file)
    except InputError:
        size = _size(part)
        part.unlink()
        return f"what it sent ({size:,} bytes) is not the published file (SHA-256 or size differs)"
    return None


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def locate(
    name: str,
    bundles: Sequence[Bundle],
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> tuple[Bundle, list[Path]]:
    """Return the first bundle that can be had, and the verified paths of its files.

    Parameters
    ----------
    name : str
        The data set, for messages.
    bundles : sequence of Bundle
        Acceptable files, the preferred ones first.
    folder : path-like, optional
        Where to look first; ``NNPU_DATA`` by default.
    download : bool, default=True
        Whether files that are found nowhere are downloaded into the cache.

    Raises
    ------
    InputError
        If there is no bundle, or a file is not what the manifest says.
    """
    cache = cache_folder()
    bases = [base for base in (data_folder(folder), cache) if base is not None]
    for base in bases:
        for bundle in bundles:
            paths = find(bundle, base)
            if paths is not None:
                return bundle, _verified(bundle, paths, cache)
    wanted = _listed(bundles)
    looked = " or ".join(str(base) for base in bases)
    if not download:
        raise InputError(
            f"{name}: {wanted} not found in {looked}. Put it there, set NNPU_DATA to the folder "
            f"that has it, or allow the download."
        )
    reasons = []
    for bundle in bundles:
        if bundle.downloadable:
            try:
                return bundle, _downloaded(bundle, cache)
            except UnreachableError as error:
                reasons.append(str(error))
    raise InputError(
        f"{name}: {wanted} not found in {looked}, and could not be downloaded: "
        f"{' '.join(reasons)} Set NNPU_DATA to a folder that has it."
    )


def _downloaded(bundle: Bundle, cache: Path) -> list[Path]:
    paths = []
    for file in bundle.files:
        target = cache / bundle.folder / file.name
        if not target.is_file():
            download(file, target)
        paths.append(target)
    return _verified(bundle, paths, cache)


def _verified(bundle: Bundle, paths: list[Path], cache: Path) -> list[Path]:
    for path, file in zip(paths, bundle.files, strict=True):
        verify(path, file, record=cache / bundle.folder / f"{file.name}.sha256")
    return paths


def _listed(bundles: Sequence[Bundle]) -> str:
    """Names of the files, a long bundle shortened to its first."""
    names = [
        bundle.files[0].name + (f" and {len(bundle.files) - 1} more" if bundle.files[1:] else "")
        for bundle in bundles
    ]
    return " or ".join(dict.fromkeys(names))
