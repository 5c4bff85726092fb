"""Archives that try to escape, to fill memory, or that are cut short."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from nnpu.parameters import InputError
from nnpu_paper.archives import gunzip, tar_members, zip_member

if TYPE_CHECKING:
    from pathlib import Path


def make_tar(path: Path, *members: tuple[str, bytes | None]) -> Path:
    """Write an archive; a member whose content is None becomes a link to /etc/passwd."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def read(path: Path, limit: int = 100, total: int = 1000) -> dict[str, bytes]:
    return dict(tar_members(path, lambda name: limit if name != "other" else 0, total=total))


def test_wanted_members_are_read_and_others_are_not(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a.tar.gz", ("d/one", b"1"), ("other", b"x" * 500), ("two", b"22"))
    assert read(path) == {"d/one": b"1", "two": b"22"}


@pytest.mark.parametrize("name", ["/etc/one", "../one", "a/../../one"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="leads out of it"):
        read(make_tar(tmp_path / "a.tar.gz", (name, b"1")))


def test_a_link_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'one' is not a file"):
        read(make_tar(tmp_path / "a.tar.gz", ("one", None)))


def test_a_member_over_its_limit_is_refused(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a.tar.gz", ("one", b"x" * 101))
    with pytest.raises(InputError, match="larger than expected"):
        read(path)
    assert len(read(path, limit=101)["one"]) == 101


def test_the_sum_of_all_members_has_a_limit(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a.tar.gz", ("one", b"1"), ("other", b"x" * 1000))
    with pytest.raises(InputError, match="larger than expected"):
        read(path)


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a.tar.gz", ("one", bytes(range(100))))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"a\.tar\.gz is damaged or incomplete .* delete it"):
        read(path)


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="is damaged"):
        read(path)


def test_a_zip_member_is_a_stream_with_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("words.txt", b"x" * 1000)
    with zip_member(path, "words.txt", limit=1000) as stream:
        assert stream.read() == b"x" * 1000
    with pytest.raises(InputError, match="larger"), zip_member(path, "words.txt", limit=999):
        pass
    with pytest.raises(InputError, match="no member 'b'"), zip_member(path, "b", limit=9):
        pass


def test_gunzip_stops_at_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"x" * 1000))
    assert gunzip(path, limit=1000) == b"x" * 1000
    with pytest.raises(InputError, match="more than 999 bytes"):
        gunzip(path, limit=999)


def test_a_truncated_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(range(256)))[:-10])
    with pytest.raises(InputError, match=r"a\.gz is damaged"):
        gunzip(path, limit=1000)
