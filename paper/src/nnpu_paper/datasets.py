"""The paper's data sets: official files, verified, with P and N made as in Section 5."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu import data
from nnpu.data import Dataset, binary_labels
from nnpu.parameters import InputError, check_choice
from nnpu_paper.archives import gunzip, tar_members
from nnpu_paper.epsilon import load_epsilon
from nnpu_paper.manifest import BUNDLES
from nnpu_paper.newsgroups import load_newsgroups
from nnpu_paper.sources import locate

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["CIFAR10_CLASSES", "DATASETS", "load"]

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
_RECORD = 1 + 3 * 32 * 32  # bytes of an image of CIFAR-10: label, red, green, blue


def load(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
    positive: Iterable[Any] | None = None,
) -> Dataset:
    """Load one of the paper's data sets, with true labels, P and N made as in Section 5.

    Its files are looked for in `folder` (or else the folder named by ``NNPU_DATA``), then in the
    cache (``NNPU_CACHE``, else ``nnpu`` in the user's cache), then downloaded into the cache.
    Every file is verified by SHA-256 before it is used, whatever its source.

    Parameters
    ----------
    name : {"mnist", "epsilon", "20news", "cifar10", "digits"}
        The data set. ``digits`` is `nnpu.data.load`'s, which needs no file.
    folder : path-like, optional
        Where to look first.
    download : bool, default=True
        Whether missing files are downloaded.
    positive : iterable, optional
        Classes that make up P, the others being N: digits 0 to 9, CIFAR-10's class names, or the
        first words of the newsgroups' names. By default those of Section 5.

    Returns
    -------
    nnpu.data.Dataset

    Raises
    ------
    InputError
        If the files are missing, damaged or cannot be stored; the message says what to do.

    References
    ----------
    Kiryo et al. (2017), Positive-Unlabeled Learning with Non-Negative Risk Estimator, Section 5.

    Examples
    --------
    >>> import nnpu_paper
    >>> nnpu_paper.load("digits", positive=[8]).prior < 0.2
    True
    """
    check_choice("name", name, "load", DATASETS)
    if name == "digits":
        return data.load(name, positive=positive)
    return _LOADERS[name](positive, folder=folder, download=download)


def _load_mnist(positive: Iterable[Any] | None = None, **where: Any) -> Dataset:
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


def _load_cifar10(positive: Iterable[Any] | None = None, **where: Any) -> Dataset:
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


_LOADERS: dict[str, Callable[..., Dataset]] = {
    "mnist": _load_mnist,
    "epsilon": load_epsilon,
    "20news": load_newsgroups,
    "cifar10": _load_cifar10,
}
DATASETS: tuple[str, ...] = (*_LOADERS, "digits")
