"""epsilon's loader on a small file of the same format."""

from __future__ import annotations

import bz2
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nnpu.parameters import InputError, ParameterError
from nnpu_paper import load
from nnpu_paper.epsilon import EpsilonSpec, load_epsilon
from nnpu_paper.manifest import Bundle, DataFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nnpu.data import Dataset

SPEC = EpsilonSpec(n_train=30, n_test=10, n_features=4)
X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
Y = np.where(X.sum(axis=1) > 0, 1, -1)
BUNDLES = (
    Bundle(
        "epsilon",
        "libsvm",
        (DataFile("epsilon_normalized.bz2", None), DataFile("epsilon_normalized.t.bz2", None)),
    ),
)


def text(rows: slice) -> bytes:
    return "".join(
        f"{y} " + " ".join(f"{j}:{float(v)!r}" for j, v in enumerate(x, 1)) + "\n"
        for x, y in zip(X[rows], Y[rows], strict=True)
    ).encode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "epsilon"
    folder.mkdir(parents=True)
    (folder / "epsilon_normalized.bz2").write_bytes(bz2.compress(text(slice(30))))
    (folder / "epsilon_normalized.t.bz2").write_bytes(bz2.compress(text(slice(30, None))))
    return folder.parent


def small(folder: Path | None, **options: Any) -> Dataset:
    return load_epsilon(spec=SPEC, bundles=BUNDLES, folder=folder, download=False, **options)


def test_epsilon_is_mapped_with_its_own_labels(source: Path) -> None:
    epsilon = small(source)
    assert isinstance(epsilon.x_train, np.memmap)
    assert not epsilon.x_train.flags.writeable
    assert np.array_equal(epsilon.x_train, X[:30])
    assert np.array_equal(epsilon.x_test, X[30:])
    assert np.array_equal(epsilon.y_train, Y[:30])
    assert np.array_equal(epsilon.y_test, Y[30:])


def test_the_second_time_the_text_is_not_needed(source: Path) -> None:
    small(source)
    for path in (source / "epsilon").iterdir():
        path.unlink()
    assert np.array_equal(small(None).x_test, X[30:])


def test_without_its_receipt_or_with_a_damaged_array_it_is_converted_again(
    source: Path, cache: Path
) -> None:
    small(source)
    folder = cache / "epsilon"
    assert set(json.loads((folder / "converted.json").read_text())["sources"]) == {
        "epsilon_normalized.bz2",
        "epsilon_normalized.t.bz2",
    }
    (folder / "converted.json").unlink()
    assert np.array_equal(small(source).x_train, X[:30])
    array = folder / "train_x.npy"
    array.write_bytes(array.read_bytes()[:200])
    assert np.array_equal(small(source).x_train, X[:30])


def test_a_conversion_that_fails_leaves_no_receipt(
    source: Path, cache: Path, files_below: Callable[[Path], list[str]]
) -> None:
    path = source / "epsilon" / "epsilon_normalized.t.bz2"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"epsilon_normalized\.t\.bz2 is damaged or incomplete"):
        small(source)
    left = files_below(cache / "epsilon")
    assert "converted.json" not in left
    assert not [name for name in left if name.startswith((".nnpu-tmp", "test_"))]


def test_a_cache_that_cannot_be_written_is_one_line(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "occupied").write_text("")
    monkeypatch.setenv("NNPU_CACHE", str(tmp_path / "occupied"))  # a file: no folder can be made
    with pytest.raises(InputError, match=r"cannot be written .*set NNPU_CACHE"):
        small(source)


def test_missing_files_are_named() -> None:
    with pytest.raises(InputError, match=r"epsilon_normalized\.bz2 and 1 more or"):
        load("epsilon", download=False)


def test_epsilon_takes_no_other_classes() -> None:
    with pytest.raises(ParameterError, match="must be None for epsilon"):
        load("epsilon", positive=[1], download=False)
