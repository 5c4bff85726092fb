"""Settings of the whole suite: the same examples on every run, no network, an empty cache."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

# A virtual machine may announce AMX and forbid it: bfloat16 products then kill the process.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# A background job of a shell starts with Ctrl-C ignored, and so would what the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run: a red suite means a change in the code, and a slow machine is
# not a failure. `--hypothesis-profile=default` searches at random.
settings.register_profile("nnpu", deadline=None, derandomize=True)
settings.load_profile("nnpu")

_HERE = {"", "localhost", "127.0.0.1", "::1", "0.0.0.0", None}
_ADDRESS_AT = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
}


class NetworkOffError(RuntimeError):
    """Something reached for another machine. Not an OSError: no retry may swallow it."""


def refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Stop every connection and every look-up of a name, but for this machine's own.

    An audit hook sees them all, whatever library makes them, and cannot be taken off again.
    Sockets of this machine (loopback, AF_UNIX, whose address is a path) are let through.
    """
    if event not in _ADDRESS_AT:
        return
    address = arguments[_ADDRESS_AT[event]]
    host = address[0] if isinstance(address, tuple) else address
    of_a_path = event in ("socket.connect", "socket.sendto") and not isinstance(address, tuple)
    if not of_a_path and host not in _HERE:
        raise NetworkOffError(f"{event} {address}: the tests run without a network")


sys.addaudithook(refuse_network)


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


@pytest.fixture(scope="module", name="client")
def dask_client() -> Iterator[Any]:
    """A cluster of Dask with two processes; what a test does to it lasts to the end of its file."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def start_browser(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path | None], Any]:
    """Start a Chromium without a window; `downloads` is where it puts files."""

    def start(downloads: Path | None = None) -> Any:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        driver = shutil.which("chromedriver")
        if not (chromium and driver):
            pytest.skip("no chromium and chromedriver: see CONTRIBUTING.md")
        webdriver = pytest.importorskip("selenium.webdriver", reason="pip install .[dev]")
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (
            "headless=new",
            "no-sandbox",
            "disable-gpu",
            "disable-dev-shm-usage",
            "no-first-run",
            "disable-background-networking",
            "disable-component-update",
            "disable-sync",
            f"user-data-dir={tmp_path_factory.mktemp('profile')}",
        ):
            options.add_argument(f"--{flag}")
        if downloads is not None:
            place: dict[str, Any] = {"download.default_directory": str(downloads)}
            options.add_experimental_option(
                "prefs", place | {"download.prompt_for_download": False}
            )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        return webdriver.Chrome(options=options, service=Service(driver))

    return start
