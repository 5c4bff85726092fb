"""20 Newsgroups and GloVe on small files of the same formats, counted by hand."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nnpu.parameters import InputError, ParameterError
from nnpu_paper import load, load_glove, newsgroups
from nnpu_paper.manifest import Bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Register = Callable[[str, Path], None]

MESSAGES = {
    "20news-bydate-test/talk.politics.misc/12": "The apple, the pear: 3 x",
    "20news-bydate-train/comp.sys.mac.hardware/9": "apple Apple APPLE don't caf\xe9",
    "20news-bydate-train/comp.sys.mac.hardware/10": "pear2pear the only-once",
    "20news-bydate-train/sci.space/1": "don apple",
}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Let the loaders find this file, whatever its checksum."""

    def register(form: str, path: Path) -> None:
        monkeypatch.setattr(
            newsgroups, "locate", lambda *_, **__: (Bundle("folder", form, ()), [path])
        )

    return register


def archive(path: Path, messages: dict[str, str]) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, text in messages.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode("latin-1"))
            tar.addfile(info, io.BytesIO(text.encode("latin-1")))
    return path


def test_words_are_counted_as_documented(tmp_path: Path, found: Register) -> None:
    """Words of two letters or more that at least two messages use: apple (3), don (2), pear (2),
    the (2). Not: x, t (one letter), caf, politics (one message), 3, "only", "once".

    Training messages come first, by group and number: mac 9, mac 10, space 1; then the test.
    """
    found("tar", archive(tmp_path / "a.tar.xz", MESSAGES))
    news = load("20news")
    assert news.vocabulary == ("apple", "don", "pear", "the")
    assert news.x_train.toarray().tolist() == [[3, 1, 0, 0], [0, 0, 2, 1], [1, 1, 0, 0]]
    assert news.x_test.toarray().tolist() == [[1, 0, 1, 2]]
    assert news.x_train.dtype == np.float32
    assert news.y_train.tolist() == [1, 1, -1]  # comp, comp, sci
    assert news.y_test.tolist() == [-1]  # talk


def test_the_order_of_the_archive_does_not_matter(tmp_path: Path, found: Register) -> None:
    found("tar", archive(tmp_path / "a.tar.xz", MESSAGES))
    one = load("20news")
    found("tar", archive(tmp_path / "b.tar.xz", dict(reversed(MESSAGES.items()))))
    other = load("20news")
    assert np.array_equal(one.x_train.toarray(), other.x_train.toarray())
    assert np.array_equal(one.y_train, other.y_train)


def test_another_collection_is_refused(tmp_path: Path, found: Register) -> None:
    found("tar", archive(tmp_path / "a.tar.xz", {"20news-bydate-train/de.comp/1": "text"}))
    with pytest.raises(InputError, match=r"not 20 Newsgroups: .*de\.comp"):
        load("20news")


TEXT = b"the 0.5 -1 2\ncaf\xc3\xa9 1 1 1\npear 1e-3 0 4\n. 9 9 9\n"


def check_vectors(found: Register, form: str, path: Path) -> None:
    found(form, path)
    glove = load_glove(["apple", "pear", "the"], 3)
    assert glove.vectors.dtype == np.float32
    assert np.allclose(glove.vectors, [[0, 0, 0], [1e-3, 0, 4], [0.5, -1, 2]], rtol=1e-3)
    assert glove.known.tolist() == [False, True, True]
    assert glove.source == path.name


def test_vectors_are_read_from_text(
    tmp_path: Path, found: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newsgroups, "_GLOVE_WORDS", 4)
    path = tmp_path / "glove.6B.3d.txt"
    path.write_bytes(TEXT)
    check_vectors(found, "text", path)


def test_vectors_are_read_from_the_zip(
    tmp_path: Path, found: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newsgroups, "_GLOVE_WORDS", 4)
    path = tmp_path / "glove.6B.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("glove.6B.3d.txt", TEXT)
    check_vectors(found, "zip", path)


def test_vectors_are_read_from_the_compact_file(tmp_path: Path, found: Register) -> None:
    path = tmp_path / "glove.6B.3d.npz"
    words = np.frombuffer("the\ncafé\npear".encode(), dtype=np.uint8)
    vectors = np.array([[0.5, -1, 2], [1, 1, 1], [1e-3, 0, 4]], dtype=np.float16)
    np.savez(path, words=words, vectors=vectors)
    check_vectors(found, "npz", path)


def test_a_text_with_too_few_words_is_refused(tmp_path: Path, found: Register) -> None:
    path = tmp_path / "glove.6B.3d.txt"
    path.write_bytes(TEXT)
    found("text", path)
    with pytest.raises(InputError, match="has 4 words instead of 400,000"):
        load_glove(["the"], 3)


@pytest.mark.parametrize("line", [b"pear 1 2 3", b"pear 1", b"pear", b"pear 1 x"])
def test_a_line_of_another_form_is_refused(tmp_path: Path, found: Register, line: bytes) -> None:
    path = tmp_path / "glove.6B.2d.txt"
    path.write_bytes(b"the 1 2\n" + line + b"\n")
    found("text", path)
    with pytest.raises(InputError, match="line 2: expected 2 numbers after b'pear"):
        load_glove(["pear", "pear\n"], 2)


@pytest.mark.parametrize(
    "arrays",
    [
        {"words": np.zeros(3, np.uint8)},
        {"words": np.frombuffer(b"a\nb", np.uint8), "vectors": np.zeros((3, 3))},
        {"words": np.frombuffer(b"a\nb", np.uint8), "vectors": np.zeros((2, 4))},
        {"words": np.frombuffer(b"a", np.uint8), "vectors": np.array([{}], dtype=object)},
    ],
)
def test_a_compact_file_of_another_form_is_refused(
    tmp_path: Path, found: Register, arrays: dict[str, np.ndarray]
) -> None:
    path = tmp_path / "glove.npz"
    np.savez(path, **arrays)
    found("npz", path)
    with pytest.raises(InputError, match=r"glove\.npz"):
        load_glove(["a"], 3)


def test_a_dimension_is_a_whole_number() -> None:
    with pytest.raises(ParameterError, match="'dimension' parameter of load_glove"):
        load_glove(["a"], 0)


def test_missing_vectors_name_the_files() -> None:
    with pytest.raises(InputError, match=r"glove\.6B\.300d\.txt or glove\.6B\.zip or"):
        load_glove(["a"], download=False)
