"""Download a file over HTTP: resumable, with a progress bar, used only if its checksum is right."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from typing import IO, TYPE_CHECKING, Any

from tqdm import tqdm

from nnpu.files import sync
from nnpu.paper.datasets.cache import verify, writing
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from nnpu.paper.datasets.manifest import DataFile

__all__ = ["UnreachableError", "download"]

_BLOCK = 1 << 18
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
    headers = {"User-Agent": "nnpu"} | ({"Range": f"bytes={start}-"} if start else {})
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
            while block := response.read(_BLOCK):
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
