"""epsilon: 400,000 + 100,000 rows of 2,000 numbers, as memory-mapped arrays.

Its files are LIBSVM text (``label index:value …``); they become dense float32 files once, with
bounded memory.
"""

from __future__ import annotations

import bz2
import io
import json
import warnings
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from nnpu.data import Dataset
from nnpu.files import atomic_path, write_text
from nnpu.parameters import InputError, ParameterError, shown
from nnpu_paper.archives import damaged
from nnpu_paper.manifest import BUNDLES
from nnpu_paper.sources import cache_folder, locate, sha256_of, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nnpu_paper.manifest import Bundle

__all__ = ["EpsilonSpec", "convert", "load_epsilon", "parse_block"]


_RECEIPT = "converted.json"
_DESCRIPTION = (
    "epsilon (Pascal Large Scale Learning Challenge, 2008), normalised, with its own labels."
)


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
    name: str = "epsilon",
    cache: Path | None = None,
    **where: Any,
) -> Dataset:
    """epsilon with its own labels; converted once, then mapped from the cache, read-only.

    `name`, `spec`, `bundles` and `cache` are for other files of the same format.
    """
    if positive is not None:
        raise ParameterError(
            f"The 'positive' parameter of load must be None for epsilon, which has two classes. "
            f"Got {shown(positive)} instead."
        )
    spec = spec or EpsilonSpec()
    place = (cache or cache_folder()) / name
    parts = _converted(place, spec)
    if parts is None:
        _, paths = locate(name, bundles, **where)
        _convert(paths, place, spec)
        parts = _converted(place, spec)
    assert parts is not None
    (x_train, y_train), (x_test, y_test) = parts
    return Dataset(
        name,
        x_train,
        y_train,
        x_test,
        y_test,
        _DESCRIPTION if name == "epsilon" else f"{name}: LIBSVM text with its own labels.",
    )


def _places(place: Path, part: str) -> tuple[Path, Path]:
    return place / f"{part}_x.npy", place / f"{part}_y.npy"


def _convert(paths: Sequence[Path], place: Path, spec: EpsilonSpec) -> None:
    """Convert both files, then say so in a receipt: without it, they are made again."""
    receipt = place / _RECEIPT
    with writing(receipt):
        receipt.unlink(missing_ok=True)
    for part, path, rows in zip(("train", "test"), paths, (spec.n_train, spec.n_test), strict=True):
        convert(path, *_places(place, part), (rows, spec.n_features))
    facts = {"spec": asdict(spec), "sources": {path.name: sha256_of(path) for path in paths}}
    with writing(receipt):
        write_text(receipt, json.dumps(facts, indent=1) + "\n")


def _converted(
    place: Path,
    spec: EpsilonSpec,
) -> list[tuple[NDArray[np.float32], NDArray[np.int8]]] | None:
    """Mapped arrays of an earlier conversion, or None."""
    try:
        if json.loads((place / _RECEIPT).read_text(encoding="utf-8"))["spec"] != asdict(spec):
            return None
        parts = []
        for part, rows in (("train", spec.n_train), ("test", spec.n_test)):
            x_path, y_path = _places(place, part)
            x = np.load(x_path, mmap_mode="r", allow_pickle=False)
            y = np.load(y_path, allow_pickle=False)
            if x.shape != (rows, spec.n_features) or y.shape != (rows,):
                return None
            parts.append((x, y))
    except (OSError, ValueError, KeyError):
        return None  # absent or damaged: converted again
    return parts


_BLOCK = 1 << 24  # bytes of text at a time
_SEPARATORS = bytes.maketrans(b":\n\r\t", b"    ")


def convert(
    source: Path, x_path: Path, y_path: Path, shape: tuple[int, int], *, block: int = _BLOCK
) -> None:
    """Write the features as a float32 .npy file and the labels as an int8 one.

    The rows are written block by block, so memory does not grow with the file, and a full
    disk is an error rather than a crash (as it is when a memory map is written). Both files are
    complete or absent.

    Parameters
    ----------
    source : Path
        LIBSVM text with labels +1 and −1, plain or as .bz2.
    x_path, y_path : Path
        The files to write.
    shape : tuple of int
        Rows and columns that the file must have.
    block : int
        Bytes of text that are read at a time.

    Raises
    ------
    InputError
        If the text is not of that form or shape, or the files cannot be written.
    """
    labels = []
    with writing(x_path), atomic_path(x_path) as temporary, temporary.open("wb") as out:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(out, header)
        for x, y in _blocks(source, shape, block):
            out.write(np.ascontiguousarray(x, dtype="<f4").data)
            labels.append(y)
    with writing(y_path), atomic_path(y_path) as temporary:
        np.save(temporary, np.concatenate(labels))


def _blocks(
    source: Path, shape: tuple[int, int], block: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int8]]]:
    done = 0
    with tqdm(total=shape[0], unit="row", desc=source.name, disable=None) as bar:
        for text in _lines(source, block):
            x, y = parse_block(text, shape[1], name=str(source), line=done + 1)
            done += len(y)
            if done > shape[0]:
                break
            bar.update(len(y))
            yield x, y
    if done != shape[0]:
        found = f"{done:,}" if done < shape[0] else "more"
        raise InputError(f"{source} has {found} rows instead of {shape[0]:,}: delete it.")


def _open(source: Path) -> IO[bytes]:
    return bz2.open(source, "rb") if source.suffix == ".bz2" else source.open("rb")


def _lines(source: Path, block: int) -> Iterator[bytes]:
    """Yield whole lines, about `block` bytes of them at a time."""
    with damaged(source), _open(source) as stream:
        while text := stream.read(block) + stream.readline():
            yield text


def parse_block(
    text: bytes, n_features: int, *, name: str = "text", line: int = 1
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    r"""Parse whole lines into dense features and labels.

    Parameters
    ----------
    text : bytes
        Lines ``label index:value …`` with indices from 1.
    n_features : int
        Number of columns.
    name, line : str, int
        Name of the file and number of its first line here, for messages.

    Examples
    --------
    >>> x, y = parse_block(b"+1 1:0.5 2:-0.25\n-1 2:1\n", 2)
    >>> x
    array([[ 0.5 , -0.25],
           [ 0.  ,  1.  ]], dtype=float32)
    >>> y
    array([ 1, -1], dtype=int8)
    """
    parsed = _parse_dense(text, n_features)
    if parsed is None:
        parsed = _parse_sparse(text, n_features, name, line)
    x, y = parsed
    if not np.isin(y, (-1.0, 1.0)).all() or not np.isfinite(x).all():
        row = int(np.argmin(np.isin(y, (-1.0, 1.0)) & np.isfinite(x).all(axis=1)))
        raise InputError(f"{name}, line {line + row}: a label is not +1 or -1, or a value is NaN.")
    return x, y.astype(np.int8)


def _parse_dense(
    text: bytes, n_features: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]] | None:
    """Fast path for rows with every index in order, as in epsilon; None for any other text."""
    rows = text.count(b"\n") + (not text.endswith(b"\n"))
    if text.count(b":") != rows * n_features:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # what older NumPy says of no number
            numbers = np.fromstring(text.translate(_SEPARATORS), dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    if numbers.size != rows * (2 * n_features + 1):
        return None
    table = numbers.reshape(rows, 2 * n_features + 1)
    if not (table[:, 1::2] == np.arange(1, n_features + 1)).all():
        return None
    return table[:, 2::2].astype(np.float32), table[:, 0]


def _parse_sparse(
    text: bytes, n_features: int, name: str, line: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    from sklearn.datasets import load_svmlight_file

    try:
        x, y = load_svmlight_file(
            io.BytesIO(text), n_features=n_features, dtype=np.float32, zero_based=False
        )
    except ValueError as error:
        last = line + text.count(b"\n") - text.endswith(b"\n")
        raise InputError(f"{name}, lines {line} to {last}: not LIBSVM text ({error}).") from error
    return x.toarray(), y
