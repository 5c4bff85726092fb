"""epsilon: 400,000 + 100,000 rows of 2,000 numbers, as memory-mapped arrays."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.dataset import Dataset
from nnpu.files import write_text
from nnpu.paper.datasets.cache import cache_folder, sha256_of, writing
from nnpu.paper.datasets.libsvm import convert
from nnpu.paper.datasets.manifest import BUNDLES
from nnpu.paper.datasets.sources import locate
from nnpu.parameters import ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu.paper.datasets.manifest import Bundle

__all__ = ["EpsilonSpec", "load_epsilon"]


@dataclass(frozen=True)
class EpsilonSpec:
    """Sizes that the files must have."""

    n_train: int = 400_000
    n_test: int = 100_000
    n_features: int = 2_000


def load_epsilon(
    positive: Iterable[Any] | None = None,
    *,
    spec: EpsilonSpec | None = None,
    bundles: Sequence[Bundle] = BUNDLES["epsilon"],
    **where: Any,
) -> Dataset:
    """epsilon with its own labels; converted once, then mapped from the cache, read-only."""
    if positive is not None:
        raise ParameterError(
            f"The 'positive' parameter of load must be None for epsilon, which has two classes. "
            f"Got {shown(positive)} instead."
        )
    spec = spec or EpsilonSpec()
    parts = _converted(spec)
    if parts is None:
        _, paths = locate("epsilon", bundles, **where)
        _convert(paths, spec)
        parts = _converted(spec)
    assert parts is not None
    (x_train, y_train), (x_test, y_test) = parts
    return Dataset(
        "epsilon",
        x_train,
        y_train,
        x_test,
        y_test,
        "epsilon (Pascal Large Scale Learning Challenge, 2008), normalised, with its own labels.",
    )


def _places(part: str) -> tuple[Path, Path]:
    folder = cache_folder() / "epsilon"
    return folder / f"{part}_x.npy", folder / f"{part}_y.npy"


def _receipt() -> Path:
    return cache_folder() / "epsilon" / "converted.json"


def _convert(paths: Sequence[Path], spec: EpsilonSpec) -> None:
    """Convert both files, then say so in a receipt: without it, they are made again."""
    with writing(_receipt()):
        _receipt().unlink(missing_ok=True)
    for part, path, rows in zip(("train", "test"), paths, (spec.n_train, spec.n_test), strict=True):
        convert(path, *_places(part), (rows, spec.n_features))
    receipt = {"spec": asdict(spec), "sources": {path.name: sha256_of(path) for path in paths}}
    with writing(_receipt()):
        write_text(_receipt(), json.dumps(receipt, indent=1) + "\n")


def _converted(
    spec: EpsilonSpec,
) -> list[tuple[NDArray[np.float32], NDArray[np.int8]]] | None:
    """Mapped arrays of an earlier conversion, or None."""
    try:
        if json.loads(_receipt().read_text(encoding="utf-8"))["spec"] != asdict(spec):
            return None
        parts = []
        for part, rows in (("train", spec.n_train), ("test", spec.n_test)):
            x_path, y_path = _places(part)
            x = np.load(x_path, mmap_mode="r", allow_pickle=False)
            y = np.load(y_path, allow_pickle=False)
            if x.shape != (rows, spec.n_features) or y.shape != (rows,):
                return None
            parts.append((x, y))
    except (OSError, ValueError, KeyError):
        return None  # absent or damaged: converted again
    return parts
