"""MNIST, CIFAR-10 and the embedded digits."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.dataset import Dataset, binary_labels
from nnpu.paper.datasets.archives import gunzip, tar_members
from nnpu.paper.datasets.manifest import BUNDLES
from nnpu.paper.datasets.sources import locate
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["CIFAR10_CLASSES", "load_cifar10", "load_digits", "load_mnist"]

CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
_VEHICLES = ("airplane", "automobile", "ship", "truck")
_DIGITS = tuple(range(10))
_EVEN = (0, 2, 4, 6, 8)
_DIGITS_TEST = 450
_RECORD = 1 + 3 * 32 * 32  # bytes of an image of CIFAR-10: label, red, green, blue


def load_digits(positive: Iterable[Any] | None = None, **_: Any) -> Dataset:
    """scikit-learn's 1,797 digits of 8 × 8 pixels, split by class with a fixed seed."""
    from sklearn.datasets import load_digits as embedded
    from sklearn.model_selection import train_test_split

    x, codes = embedded(return_X_y=True)
    # Pixels are whole numbers from 0 to 16.
    parts = train_test_split(
        (x / 16).astype(np.float32), codes, test_size=_DIGITS_TEST, stratify=codes, random_state=0
    )
    x_train, x_test, codes_train, codes_test = parts
    return Dataset(
        "digits",
        x_train,
        binary_labels(codes_train, _DIGITS, positive, _EVEN),
        x_test,
        binary_labels(codes_test, _DIGITS, positive, _EVEN),
        "Handwritten digits of 8 x 8 pixels (scikit-learn); even digits are P, odd ones N.",
    )


def load_mnist(positive: Iterable[Any] | None = None, **where: Any) -> Dataset:
    """MNIST as 784 numbers in [0, 1]: pixels divided by 255."""
    bundle, paths = locate("mnist", BUNDLES["mnist"], **where)
    sizes = [file.size or 0 for file in BUNDLES["mnist"][1].files]
    images, codes, test_images, test_codes = (
        _read_idx(path, gunzip(path, limit=size) if bundle.form == "idx.gz" else path.read_bytes())
        for path, size in zip(paths, sizes, strict=True)
    )
    return Dataset(
        "mnist",
        _unit(images.reshape(len(images), -1)),
        binary_labels(codes, _DIGITS, positive, _EVEN),
        _unit(test_images.reshape(len(test_images), -1)),
        binary_labels(test_codes, _DIGITS, positive, _EVEN),
        "MNIST handwritten digits of 28 x 28 pixels; even digits are P, odd ones N (Section 5).",
    )


def load_cifar10(positive: Iterable[Any] | None = None, **where: Any) -> Dataset:
    """CIFAR-10 as (n, 3, 32, 32) numbers in [0, 1]: pixels divided by 255."""
    bundle, paths = locate("cifar10", BUNDLES["cifar10"], **where)
    contents = (
        _cifar10_from_tar(paths[0])
        if bundle.form == "tar"
        else [path.read_bytes() for path in paths]
    )
    records = np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, _RECORD)
    n_test = len(contents[-1]) // _RECORD
    train, test = records[:-n_test], records[-n_test:]
    return Dataset(
        "cifar10",
        _unit(train[:, 1:].reshape(-1, 3, 32, 32)),
        binary_labels(train[:, 0], CIFAR10_CLASSES, positive, _VEHICLES),
        _unit(test[:, 1:].reshape(-1, 3, 32, 32)),
        binary_labels(test[:, 0], CIFAR10_CLASSES, positive, _VEHICLES),
        "CIFAR-10 colour images of 32 x 32 pixels; vehicles are P, animals N (Section 5).",
    )


def _unit(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.divide(pixels, np.float32(255), dtype=np.float32)


def _read_idx(path: Path, content: bytes) -> NDArray[np.uint8]:
    """Array of an idx file: two zero bytes, the type (8: uint8), the rank, the shape, the data."""
    rank = content[3] if len(content) > 3 else 0
    start = 4 + 4 * rank
    if content[:3] == b"\0\0\x08" and len(content) >= start:
        shape = struct.unpack(f">{rank}I", content[4:start])
        if len(content) - start == math.prod(shape):
            return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
    raise InputError(f"{path} is not an idx file of bytes: delete it and run again.")


def _cifar10_from_tar(path: Path) -> list[bytes]:
    wanted = {f"cifar-10-batches-bin/{file.name}": file for file in BUNDLES["cifar10"][0].files}

    def limit(name: str) -> int:
        return (wanted[name].size or 0) if name in wanted else 0

    members = dict(tar_members(path, limit, total=200_000_000))
    if len(members) != len(wanted):
        raise InputError(f"{path} lacks some of CIFAR-10's files: delete it and run again.")
    return [members[name] for name in wanted]
