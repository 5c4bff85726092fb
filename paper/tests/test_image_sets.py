"""Readers of MNIST and CIFAR-10 on small files of the same formats."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nnpu.parameters import InputError, ParameterError
from nnpu_paper import datasets as images
from nnpu_paper import load
from nnpu_paper.manifest import Bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, list[Path]], None]:
    """Let the loaders find these files, whatever their checksums."""

    def register(form: str, paths: list[Path]) -> None:
        monkeypatch.setattr(images, "locate", lambda *_, **__: (Bundle("folder", form, ()), paths))

    return register


def idx(array: np.ndarray[Any, Any]) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def mnist_files(folder: Path, suffix: str) -> list[Path]:
    arrays = []
    for n in (3, 2):
        arrays += [
            np.arange(n * 784, dtype=np.uint32).astype(np.uint8).reshape(n, 28, 28),
            np.arange(n, dtype=np.uint8) + 7,
        ]
    paths = [folder / f"{number}{suffix}" for number in range(4)]
    for path, array in zip(paths, arrays, strict=True):
        path.write_bytes(gzip.compress(idx(array)) if suffix else idx(array))
    return paths


@pytest.mark.parametrize(("form", "suffix"), [("idx.gz", ".gz"), ("idx", "")])
def test_mnist_is_pixels_over_255_with_even_digits_positive(
    tmp_path: Path, found: Callable[[str, list[Path]], None], form: str, suffix: str
) -> None:
    found(form, mnist_files(tmp_path, suffix))
    mnist = load("mnist")
    assert mnist.x_train.dtype == np.float32
    assert mnist.x_train.shape == (3, 784)
    # Pixel (0, 4) of image 1 is number 788 of the stream, 788 mod 256 = 20.
    assert mnist.x_train[1, 4] == np.float32(20) / np.float32(255)
    assert mnist.x_train.max() == 1
    assert mnist.y_train.tolist() == [-1, 1, -1]  # 7, 8, 9
    assert mnist.y_test.tolist() == [-1, 1]
    assert mnist.prior == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08\x03", idx(np.zeros((2, 3), np.uint8))[:-1], b"<html>nothing"]
)
def test_what_is_not_idx_is_named(
    tmp_path: Path, found: Callable[[str, list[Path]], None], content: bytes
) -> None:
    paths = mnist_files(tmp_path, "")
    paths[0].write_bytes(content)
    found("idx", paths)
    with pytest.raises(InputError, match=r"0 is not an idx file"):
        load("mnist")


def cifar_batches() -> list[bytes]:
    """Six batches of two images: class k and 9 − k; image i of batch k is all k, k + 10, k + 20."""
    return [
        b"".join(
            bytes([label]) + b"".join(bytes([k + 10 * colour]) * 1024 for colour in range(3))
            for label in (k, 9 - k)
        )
        for k in range(6)
    ]


def cifar_tar(path: Path, batches: list[bytes]) -> Path:
    names = [f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]
    members = [("readme.html", b"text"), *zip(names, batches, strict=False)]
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_cifar10_is_the_same_from_the_archive_and_from_its_files(
    tmp_path: Path, found: Callable[[str, list[Path]], None]
) -> None:
    found("tar", [cifar_tar(tmp_path / "a.tar.gz", cifar_batches())])
    packed = load("cifar10")
    paths = [tmp_path / f"{k}.bin" for k in range(6)]
    for path, content in zip(paths, cifar_batches(), strict=True):
        path.write_bytes(content)
    found("bin", paths)
    plain = load("cifar10")
    assert packed.x_train.shape == plain.x_train.shape == (10, 3, 32, 32)
    assert np.array_equal(packed.x_train, plain.x_train)
    assert np.array_equal(packed.x_test, plain.x_test)
    # Image 3 is the second of batch 1: red 1, green 11, blue 21.
    assert (packed.x_train[3] * 255).round()[:, 5, 5].tolist() == [1, 11, 21]
    # Classes 0 9, 1 8, 2 7, 3 6, 4 5: airplane truck, automobile ship, then animals; test 5, 4.
    assert packed.y_train.tolist() == [1, 1, 1, 1, -1, -1, -1, -1, -1, -1]
    assert packed.y_test.tolist() == [-1, -1]


def test_an_archive_without_all_batches_is_refused(
    tmp_path: Path, found: Callable[[str, list[Path]], None]
) -> None:
    found("tar", [cifar_tar(tmp_path / "a.tar.gz", cifar_batches()[:5])])
    with pytest.raises(InputError, match="lacks some"):
        load("cifar10")


def test_an_unknown_name_is_a_parameter_error() -> None:
    with pytest.raises(ParameterError, match=r"'name' parameter of load .* mean 'mnist'"):
        load("minst")
