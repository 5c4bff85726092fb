"""Every test has a cache of its own and sees no data folder, unless it asks for the real one."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    if "reproduction" not in request.keywords:
        monkeypatch.setenv("NNPU_CACHE", str(folder))
        monkeypatch.delenv("NNPU_DATA", raising=False)
    return folder


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """No file may grow past that many bytes: the kernel refuses the write, as on a full disk."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture
def files_below() -> Callable[[Path], list[str]]:
    """Names of all files below a folder, hidden and temporary ones included."""
    return lambda folder: sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )
