"""A file is complete or it is not there, whatever happens while it is written."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from nnpu.files import TEMPORARY_PREFIX, atomic_path, sync, write_text
from nnpu.parameters import InputError


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_the_file_appears_when_the_body_ends_and_not_before(tmp_path):
    target = tmp_path / "table.csv"
    with atomic_path(target) as temporary:
        temporary.write_text("a,b")
        assert not target.exists()
    assert target.read_text() == "a,b"
    assert names(tmp_path) == ["table.csv"]


def test_missing_folders_are_made(tmp_path):
    assert write_text(tmp_path / "a" / "b" / "x.txt", "π").read_bytes() == "π".encode()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_after_an_error_the_old_file_is_as_it_was(tmp_path, error):
    target = write_text(tmp_path / "x.json", "old")

    def write_half():
        with atomic_path(target) as temporary:
            temporary.write_text("half of the ne")
            raise error

    with pytest.raises(error):
        write_half()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["x.json"]


def test_a_body_that_writes_nothing_leaves_the_old_file_as_it_was(tmp_path):
    target = write_text(tmp_path / "x.json", "old")
    with atomic_path(target):
        pass
    assert target.read_text() == "old"
    assert names(tmp_path) == ["x.json"]


def test_a_body_that_writes_nothing_makes_no_file(tmp_path):
    with atomic_path(tmp_path / "x.json"):
        pass
    assert names(tmp_path) == []


def test_an_empty_file_can_be_written(tmp_path):
    assert write_text(tmp_path / "empty.txt", "").read_bytes() == b""


def test_the_temporary_file_is_beside_the_target_and_keeps_its_suffixes(tmp_path):
    with atomic_path(tmp_path / "x.tar.gz") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(TEMPORARY_PREFIX)
        assert temporary.name.endswith(".tar.gz")


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        path = write_text(tmp_path / "x.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_killed_writer_leaves_the_old_file_whole(tmp_path):
    target = write_text(tmp_path / "x.txt", "old")
    code = """
        import os, signal, sys
        from nnpu.files import atomic_path
        with atomic_path(sys.argv[1]) as temporary:
            temporary.write_text("half of the ne")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(target)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert target.read_text() == "old"
    # What is left behind can be told by its name.
    assert all(name.startswith(TEMPORARY_PREFIX) for name in names(tmp_path) if name != "x.txt")
    (tmp_path / "x.txt.d").mkdir()
    assert len(names(tmp_path)) == 3
    write_text(tmp_path / "y.txt", "of another name")
    with atomic_path(target) as living:
        living.write_text("in work")
        write_text(target, "new")  # removes what the killed writer left, not what is in work
        assert living.exists()
    assert names(tmp_path) == ["x.txt", "x.txt.d", "y.txt"]


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path):
    target = tmp_path / "x.txt"
    texts = [letter * 50_000 for letter in "abcdefgh"]
    writers = [threading.Thread(target=write_text, args=(target, text)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert target.read_text() in texts
    assert names(tmp_path) == ["x.txt"]


def test_the_data_is_on_the_disk_before_its_name_is(tmp_path, monkeypatch):
    """Renaming first could leave an empty file under the target's name after a power cut."""
    target = tmp_path / "x.txt"
    seen = []
    fsync = os.fsync

    def record(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append((kind, target.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    write_text(target, "x")
    assert seen == [("file", False), ("folder", True)]


def test_a_folder_in_the_way_is_an_error_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "x.txt").mkdir()
    with pytest.raises(OSError, match=r"x\.txt"):
        write_text(tmp_path / "x.txt", "x")
    assert names(tmp_path) == ["x.txt"]


# Other systems, as far as one can see from here.


@pytest.fixture
def windows(monkeypatch):
    """Folders cannot be opened, files are synced only if open for writing, POSIX is not there."""
    opened, synced = os.open, os.fsync
    writable = set()

    def refusing_open(path, flags, *arguments, **keywords):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        descriptor = opened(path, flags, *arguments, **keywords)
        (writable.add if flags & (os.O_RDWR | os.O_WRONLY) else writable.discard)(descriptor)
        return descriptor

    def refusing_sync(descriptor):
        if descriptor not in writable:
            raise OSError(9, "Bad file descriptor")
        synced(descriptor)

    monkeypatch.setattr(os, "open", refusing_open)
    monkeypatch.setattr(os, "fsync", refusing_sync)
    for name in ("O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, name)


def test_where_folders_cannot_be_opened_files_are_written_all_the_same(windows, tmp_path):
    write_text(tmp_path / "x.json", "old")
    assert write_text(tmp_path / "x.json", "new").read_text() == "new"
    assert names(tmp_path) == ["x.json"]


def test_where_folders_cannot_be_opened_models_are_saved_and_loaded(windows, tmp_path):
    import numpy as np

    from nnpu import LinearPU, load

    X, s = np.array([[2.0], [2.5], [2.2], [-1.0], [-2.0]]), [1, 1, 0, 0, 0]
    clf = LinearPU(prior=0.4).fit(X, s)
    for _ in range(2):  # the second replaces the first
        same = load(clf.save(tmp_path / "model"))
    assert np.array_equal(same.decision_function(X), clf.decision_function(X))
    weights = tmp_path / "model" / "model.safetensors"
    weights.rename(tmp_path / "elsewhere")
    weights.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"has no file model\.safetensors"):
        load(tmp_path / "model")


@pytest.mark.parametrize(("number", "raised"), [(22, False), (95, False), (5, True), (28, True)])
def test_a_folder_that_a_file_system_does_not_sync_is_no_error_but_a_broken_disk_is(
    monkeypatch, tmp_path, number, raised
):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    if raised:
        with pytest.raises(OSError, match=os.strerror(number)):
            sync(tmp_path)
    else:
        sync(tmp_path)
    (tmp_path / "x").touch()
    with pytest.raises(OSError, match=os.strerror(number)):
        sync(tmp_path / "x")


def test_nothing_imports_what_only_posix_has():
    code = """
        import sys
        sys.modules["fcntl"] = sys.modules["resource"] = sys.modules["pwd"] = None
        import nnpu.files, nnpu.estimators.loading, nnpu.training, nnpu.cli
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
