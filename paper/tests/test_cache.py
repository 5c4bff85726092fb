"""Where files are looked for, and that a wrong one is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from nnpu.parameters import InputError
from nnpu_paper.manifest import BUNDLES, Bundle, DataFile, glove_bundles
from nnpu_paper.sources import cache_folder, data_folder, find, locate, verify

CONTENT = b"what was published"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BUNDLE = Bundle("set", "plain", (DataFile("a.bin", SHA256, len(CONTENT)),))


def put(folder: Path, content: bytes = CONTENT, name: str = "set/a.bin") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_cache_follows_nnpu_cache_then_xdg_then_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNPU_CACHE", "/a/b")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/a/b")
    monkeypatch.delenv("NNPU_CACHE")
    assert cache_folder() == Path("/xdg/nnpu")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, by the specification
    assert cache_folder() == Path("/home/me/.cache/nnpu")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("/home/me/.cache/nnpu")


def test_the_argument_beats_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNPU_DATA", str(tmp_path / "nowhere"))
    assert data_folder(tmp_path) == tmp_path
    with pytest.raises(InputError, match=r"NNPU_DATA, .*nowhere, is not there"):
        data_folder()


def test_a_file_is_found_in_its_folder_or_beside_it(tmp_path: Path) -> None:
    assert find(BUNDLE, tmp_path) is None
    flat = put(tmp_path, name="a.bin")
    assert find(BUNDLE, tmp_path) == [flat]
    inside = put(tmp_path)
    assert find(BUNDLE, tmp_path) == [inside]


def test_the_data_folder_comes_before_the_cache(tmp_path: Path, cache: Path) -> None:
    cached = put(cache)
    assert locate("set", [BUNDLE], download=False) == (BUNDLE, [cached])
    own = put(tmp_path / "mine")
    assert locate("set", [BUNDLE], folder=tmp_path / "mine") == (BUNDLE, [own])


def test_missing_data_without_download_say_what_to_do(cache: Path) -> None:
    with pytest.raises(InputError, match=r"set: a.bin not found in .*cache.*NNPU_DATA"):
        locate("set", [BUNDLE], download=False)
    assert not cache.exists()


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, CONTENT[:-3])
    with pytest.raises(InputError, match=r"a\.bin has 15 bytes instead of 18 .*delete it"):
        locate("set", [BUNDLE], folder=tmp_path)
    assert path.exists()


def test_a_flipped_bit_is_a_wrong_checksum(tmp_path: Path) -> None:
    put(tmp_path, bytes([CONTENT[0] ^ 1]) + CONTENT[1:])
    with pytest.raises(InputError, match=rf"a\.bin is damaged .* instead of {SHA256}. Delete it"):
        locate("set", [BUNDLE], folder=tmp_path)


def test_a_file_without_a_published_checksum_may_not_change(tmp_path: Path, cache: Path) -> None:
    bundle = Bundle("set", "plain", (DataFile("a.bin", None),))
    path = put(tmp_path)
    locate("set", [bundle], folder=tmp_path)
    record = cache / "set" / "a.bin.sha256"
    assert record.read_text() == f"{SHA256}  a.bin\n"  # the format of sha256sum
    locate("set", [bundle], folder=tmp_path)
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"Delete it and .*a\.bin\.sha256 and run again"):
        locate("set", [bundle], folder=tmp_path)


def test_a_published_checksum_is_not_replaced_by_a_record(tmp_path: Path, cache: Path) -> None:
    path = put(tmp_path, b"something else....")
    put(cache, f"{hashlib.sha256(path.read_bytes()).hexdigest()}  a.bin\n".encode(), "record")
    with pytest.raises(InputError, match="SHA-256"):
        verify(path, BUNDLE.files[0], record=cache / "record")


def test_every_downloadable_file_has_a_checksum() -> None:
    bundles = [bundle for group in BUNDLES.values() for bundle in group]
    bundles += [bundle for dimension in (50, 100, 200, 300) for bundle in glove_bundles(dimension)]
    for file in (file for bundle in bundles for file in bundle.files):
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
        assert file.sha256 or not file.urls
        assert (file.source == "none recorded") == (file.sha256 is None)
