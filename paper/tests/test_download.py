"""Downloads against a server of our own that can break in the ways that servers do."""

from __future__ import annotations

import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from nnpu.parameters import InputError
from nnpu_paper.manifest import Bundle, DataFile
from nnpu_paper.sources import UnreachableError, download, locate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Listing = Callable[[Path], list[str]]

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT at any path but /missing; `cuts` are the bytes after which it hangs up."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.cuts: list[int] = []
        self.ranges: list[str | None] = []
        self.honours_ranges = True

    def url(self, path: str = "file") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.ranges.append(self.headers.get("Range"))
        if self.path == "/missing":
            self.send_error(404)
            return
        body = b"x" * len(CONTENT) if self.path == "/wrong" else CONTENT
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(asked[1]) if asked and self.server.honours_ranges else 0
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts else len(body)
        self.wfile.write(body[start : start + cut])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def described(*urls: str) -> DataFile:
    return DataFile("file.bin", SHA256, len(CONTENT), urls)


def test_a_file_arrives_whole(server: Server, tmp_path: Path, files_below: Listing) -> None:
    download(described(server.url()), tmp_path / "new" / "file.bin")
    assert (tmp_path / "new" / "file.bin").read_bytes() == CONTENT
    assert files_below(tmp_path) == ["new/file.bin"]


def test_a_broken_connection_is_resumed_where_it_broke(server: Server, tmp_path: Path) -> None:
    server.cuts = [300_000, 200_000]
    download(described(server.url()), tmp_path / "file.bin")
    assert server.ranges == [None, "bytes=300000-", "bytes=500000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_later_call_goes_on_with_the_part(
    server: Server, tmp_path: Path, files_below: Listing
) -> None:
    server.cuts = [300_000, 0]
    with pytest.raises(UnreachableError, match="stopped after 300,000 of 1,048,576 bytes"):
        download(described(server.url()), tmp_path / "file.bin")
    assert files_below(tmp_path) == ["file.bin.part"]
    server.ranges.clear()
    download(described(server.url()), tmp_path / "file.bin")
    assert server.ranges == ["bytes=300000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert files_below(tmp_path) == ["file.bin"]


def test_a_server_that_ignores_ranges_sends_everything_again(
    server: Server, tmp_path: Path
) -> None:
    server.honours_ranges = False
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    download(described(server.url()), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
    download(described(server.url()), tmp_path / "file.bin")
    assert server.ranges == [f"bytes={len(CONTENT) + 4}-", None]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_complete_part_needs_no_server(tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    download(described("http://127.0.0.1:9/closed"), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(
    server: Server, tmp_path: Path, files_below: Listing
) -> None:
    with pytest.raises(UnreachableError, match="not the published file"):
        download(described(server.url("wrong")), tmp_path / "file.bin")
    assert files_below(tmp_path) == []


def test_the_next_mirror_is_tried(server: Server, tmp_path: Path) -> None:
    urls = (server.url("missing"), server.url("wrong"), server.url())
    download(described(*urls), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_every_reason_is_told(server: Server, tmp_path: Path, files_below: Listing) -> None:
    file = described(server.url("missing"), "http://127.0.0.1:9/closed")
    with pytest.raises(UnreachableError, match=r"missing: HTTP status 404; .*closed: .*refused"):
        download(file, tmp_path / "file.bin")
    assert files_below(tmp_path) == []


def test_a_full_disk_is_one_line_and_leaves_nothing(
    server: Server, tmp_path: Path, full_disk: Callable[[int], Any], files_below: Listing
) -> None:
    with full_disk(500_000), pytest.raises(InputError, match=r"file\.bin\.part cannot be written"):
        download(described(server.url()), tmp_path / "file.bin")
    assert files_below(tmp_path) == []


def test_a_cache_that_cannot_be_written_is_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_below: Listing
) -> None:
    (tmp_path / "occupied").write_text("")
    monkeypatch.setenv("NNPU_CACHE", str(tmp_path / "occupied"))  # a file: no folder can be made
    bundle = Bundle("set", "plain", (described(server.url()),))
    with pytest.raises(InputError, match=r"cannot be written .*set NNPU_CACHE"):
        locate("set", [bundle])
    assert files_below(tmp_path) == ["occupied"]


def test_what_was_downloaded_is_found_the_next_time(server: Server, cache: Path) -> None:
    bundle = Bundle("set", "plain", (described(server.url()),))
    first = locate("set", [bundle])
    second = locate("set", [bundle], download=False)
    assert first == second == (bundle, [cache / "set" / "file.bin"])
    assert server.ranges == [None]
