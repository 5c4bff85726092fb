"""Sparse tables on disk: a folder of the three arrays of a CSR matrix, read as memory maps."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from scipy import sparse

from nnpu.files import atomic_path, write_text
from nnpu.parameters import InputError, check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["read_csr", "write_csr"]

_PARTS = ("data", "indices", "indptr")
_FORMAT = "nnpu-csr-1"


def write_csr(folder: str | os.PathLike[str], blocks: Any, *, index_dtype: str = "int32") -> Path:
    """Write a sparse table that need not fit into memory.

    The folder gets ``data.npy`` (float32), ``indices.npy`` and ``indptr.npy`` as in
    `scipy.sparse.csr_array`, and ``csr.json`` with the shape, which is written last: without it
    the table is not complete.

    Parameters
    ----------
    folder : path-like
        A table of this kind that is there is replaced; arrays of another origin are refused.
    blocks : sparse matrix or iterable of sparse matrices
        The rows in order, any number at a time, all with the same number of columns.
    index_dtype : {"int32", "int64"}, default="int32"
        "int64" for 2³¹ non-zeros or more.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = write_csr(Path(tempfile.mkdtemp()) / "table", sparse.eye_array(3, format="csr"))
    >>> read_csr(folder).sum()
    np.float32(3.0)
    """
    target = Path(folder)
    kind = np.dtype(check_choice("index_dtype", index_dtype, "write_csr", ["int32", "int64"]))
    _check_replaceable(target)
    with ExitStack() as stack:
        data, indices, indptr = (
            stack.enter_context(_growing(target / f"{name}.npy", dtype))
            for name, dtype in zip(_PARTS, (np.dtype(np.float32), kind, kind), strict=True)
        )
        indptr.append(np.zeros(1, kind))
        width = None
        for block in [blocks] if sparse.issparse(blocks) else blocks:
            rows = sparse.csr_array(block)
            width = rows.shape[1] if width is None else width
            if rows.shape[1] != width:
                raise InputError(f"A block has {rows.shape[1]} columns, the ones before {width}.")
            if data.length + rows.nnz > np.iinfo(kind).max:
                raise InputError("2³¹ non-zeros or more: write_csr(..., index_dtype='int64').")
            indptr.append(rows.indptr[1:].astype(kind) + kind.type(data.length))
            data.append(rows.data)
            indices.append(rows.indices)
        if width is None:
            raise InputError(f"There are no rows to write to {target}.")
        shape = [indptr.length - 1, int(width)]
        _describe(target, None)  # the arrays change one after the other: until then no table
    _describe(target, shape)
    return target


def _describe(target: Path, shape: list[int] | None) -> None:
    write_text(target / "csr.json", json.dumps({"format": _FORMAT, "shape": shape}) + "\n")


def _check_replaceable(target: Path) -> None:
    """Raise `InputError` if arrays of these names are there that `write_csr` did not write."""
    there = [name for name in _PARTS if (target / f"{name}.npy").exists()]
    try:
        ours = json.loads((target / "csr.json").read_text(encoding="utf-8"))["format"] == _FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if there and not ours:
        raise InputError(
            f"{target} holds {there[0]}.npy and is not a table of write_csr; choose another folder."
        )


def read_csr(folder: str | os.PathLike[str]) -> Any:
    """Open a table of `write_csr` as a CSR matrix whose arrays stay on disk.

    Parameters
    ----------
    folder : path-like
        The table.

    Returns
    -------
    scipy.sparse.csr_array
        Read-only; rows are read when they are taken.

    Raises
    ------
    InputError
        If the folder is no such table, or its parts do not fit together.
    """
    source = Path(folder)
    try:
        about = json.loads((source / "csr.json").read_text(encoding="utf-8"))
        rows, width = about["shape"]
        known = about["format"] == _FORMAT
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{source} is not a table of write_csr, or its writing was interrupted ({error})."
        ) from error
    parts = [_map(source / f"{name}.npy") for name in _PARTS]
    data, indices, indptr = parts
    if (
        not known
        or any(part.ndim != 1 for part in parts)
        or data.dtype != np.float32
        or indices.dtype != indptr.dtype
        or indices.dtype not in (np.int32, np.int64)
        or len(indptr) != rows + 1
        or len(data) != len(indices)
        or indptr[0] != 0
        or indptr[-1] != len(data)
    ):
        found = ", ".join(
            f"{name}: {part.dtype} {part.shape}" for name, part in zip(_PARTS, parts, strict=True)
        )
        raise InputError(
            f"{source}: the arrays are not those of a CSR matrix of shape ({rows}, {width}) "
            f"({found}); write it anew."
        )
    return sparse.csr_array((data, indices, indptr), shape=(rows, width))


def _map(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is missing or damaged ({error}).") from error
    return array


@contextmanager
def _growing(path: Path, dtype: np.dtype[Any]) -> Iterator[_Growing]:
    """Yield an NPY file that takes its place when the body is done."""
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        array = _Growing(stream, dtype)
        yield array
        array.write_header()


class _Growing:
    """An NPY file of one dimension to which arrays are appended."""

    def __init__(self, stream: BinaryIO, dtype: np.dtype[Any]) -> None:
        self.stream, self.dtype, self.length = stream, dtype, 0
        self.write_header()

    def append(self, values: NDArray[Any]) -> None:
        """Write the values behind the others."""
        self.stream.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.length += len(values)

    def write_header(self) -> None:
        """Say how long the array is; NumPy leaves room for a longer first axis."""
        about = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        self.stream.seek(0)
        np.lib.format.write_array_header_1_0(self.stream, about)
