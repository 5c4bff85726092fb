"""Tables on disk as rows for a model: Parquet, decoded where it is asked for, and CSR arrays.

Sparse tables are folders of the three arrays of a CSR matrix, read as memory maps.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from scipy import sparse

from nnpu.data.packed import check_unpacked
from nnpu.data.rows import Rows
from nnpu.data.text_files import check_unique
from nnpu.files import atomic_path, write_text
from nnpu.parameters import InputError, check_choice, check_count

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

__all__ = [
    "ParquetRows",
    "check_parquet",
    "open_parquet",
    "parquet_files",
    "read_csr",
    "write_csr",
]

_WHOLE = 1 << 30  # bytes: a table that takes no more is kept decoded
_PART = 3 << 27  # bytes of a larger one that are: three windows of its shuffle


def parquet_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the Parquet file at `path`, or those in the folder, in the order of their names.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.parquet", "a.parquet", "_SUCCESS"):
    ...     (folder / name).touch()
    >>> [file.name for file in parquet_files(folder)]
    ['a.parquet', 'b.parquet']
    """
    source = Path(path)
    if not source.is_dir():
        return [source]
    files = sorted(file for file in source.iterdir() if file.name.endswith(".parquet"))
    if not files:
        raise InputError(f"{source} holds no file whose name ends in .parquet.")
    return files


def check_parquet(path: str | os.PathLike[str]) -> list[Path]:
    """Return the Parquet files of `path` if all have the same columns of the same types.

    Parameters
    ----------
    path : path-like
        A file or a folder; only the ends of the files, where their columns are listed, are read.

    Raises
    ------
    InputError
        If a file is not Parquet, lacks a column, or has an extra one or one of another type.
    """
    files = parquet_files(path)
    _same_columns(files, [_read_footer(file) for file in files])
    return files


def _same_columns(files: Sequence[Path], footers: Sequence[Any]) -> Any:
    """Return the columns of the first file if those of the others are the same, in any order."""
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    types = [dict(zip(schema.names, schema.types, strict=True)) for schema in schemas]
    first, name_of_first = types[0], files[0].name
    for file, other in zip(files[1:], types[1:], strict=True):
        for name, mine in first.items():
            if name not in other:
                raise InputError(f"{file} has no column {name!r}, which {name_of_first} has.")
            if mine != other[name]:
                raise InputError(
                    f"{file}: column {name!r} is {other[name]}, and {mine} in {name_of_first}; "
                    "write all files of a folder with the same types."
                )
        extra = [name for name in other if name not in first]
        if extra:
            raise InputError(
                f"{file} has a column {extra[0]!r}, which {name_of_first} does not have."
            )
    return schemas[0]


class ParquetRows(Rows):
    """The numbers of a Parquet file, or of a folder of Parquet files, as rows of float32.

    Row groups are decoded when a row of them is taken. A table of up to 1 GiB (as float32) is kept
    decoded; of a larger one the row groups used last are, 384 MiB of them. The training reads such
    a table in blocks (see ``block_rows`` of `nnpu.training.Training`), which is quick where a row
    group is no larger than a block: write with ``row_group_size=block_rows``.

    Parameters
    ----------
    path : path-like
        The file, or the folder, whose files follow each other in the order of their names. Every
        file must have the same columns of the same types.
    columns : sequence of str, optional
        The features, in this order; default all columns of the first file but the label.
    label : str, optional
        The column of the PU labels; see `read_column`.
    cache_bytes : int, optional
        Of decoded rows that are kept.

    Raises
    ------
    InputError
        If files differ in their columns or types, or a feature is not a number.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = Path(tempfile.mkdtemp())
    >>> pq.write_table(pa.table({"age": [31, 45], "s": [1, 0]}), folder / "a.parquet")
    >>> pq.write_table(pa.table({"age": [58], "s": [0]}), folder / "b.parquet")
    >>> rows = ParquetRows(folder, label="s")
    >>> import torch
    >>> rows.take(torch.tensor([2, 0]))
    tensor([[58.],
            [31.]])
    >>> rows.read_column("s")
    array([1, 0, 0])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        *,
        label: str | None = None,
        cache_bytes: int | None = None,
    ) -> None:
        self.files = parquet_files(path)
        self._metadata = [_read_footer(file) for file in self.files]
        self._schema = _same_columns(self.files, self._metadata)
        chosen = [name for name in self._schema.names if name != label]
        self.columns = tuple(chosen if columns is None else columns)
        for name in (*self.columns, *([] if label is None else [label])):
            self._check_column(name)
        _check_numbers(self._schema, self.columns, self.files[0])
        groups = [
            (file, group, metadata.row_group(group).num_rows)
            for file, metadata in enumerate(self._metadata)
            for group in range(metadata.num_row_groups)
        ]
        self._groups = [(file, group) for file, group, _ in groups]
        self._starts = np.cumsum([0, *(length for _, _, length in groups)])
        if len(self) == 0:
            raise InputError(f"{path} has no rows.")
        default = _WHOLE if self.nbytes <= _WHOLE else _PART
        limit = default if cache_bytes is None else cache_bytes
        self._cache = _Cache(check_count("cache_bytes", limit, "ParquetRows"))

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of features."""
        return (len(self), len(self.columns))

    @property
    def on_disk(self) -> bool:
        """True: row groups are decoded when they are needed."""
        return True

    def take(self, indices: Tensor) -> Tensor:
        """Gather the rows, decoding the row groups that are not kept."""
        wanted = indices.numpy()
        group_of = np.searchsorted(self._starts, wanted, side="right") - 1
        out = np.empty((len(wanted), len(self.columns)), dtype=np.float32)
        for group in np.unique(group_of):
            here = group_of == group
            out[here] = self._decoded(int(group))[wanted[here] - self._starts[group]]
        import torch

        return torch.from_numpy(out)

    def read_column(self, name: str) -> NDArray[Any]:
        """Return all values of one column, such as the labels, in memory."""
        import pyarrow as pa

        self._check_column(name)
        parts = [self._open(file).read(columns=[name]).column(0) for file in range(len(self.files))]
        chunks = [chunk for part in parts for chunk in part.chunks]
        return np.asarray(pa.chunked_array(chunks, type=self._schema.field(name).type))

    def _check_column(self, name: str) -> None:
        if name not in self._schema.names:
            raise InputError(f"{self.files[0]} has no column {name!r}.")

    def _open(self, file: int) -> Any:
        import pyarrow.parquet

        path = self.files[file]
        return pyarrow.parquet.ParquetFile(path, metadata=self._metadata[file], memory_map=True)

    def _decoded(self, number: int) -> NDArray[np.float32]:
        found = self._cache.get(number)
        if found is None:
            found = self._decode(*self._groups[number])
            self._cache.put(number, found)
        return found

    def _decode(self, file: int, group: int) -> NDArray[np.float32]:
        import pyarrow as pa

        try:
            table = self._open(file).read_row_group(group, columns=list(self.columns))
            table = table.select(self.columns)
            if any(kind != pa.float32() for kind in table.schema.types):
                numbers = pa.schema([(name, pa.float32()) for name in self.columns])
                table = table.cast(numbers, safe=False)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.files[file]} is damaged ({error}).") from error
        [batch] = table.combine_chunks().to_batches()
        rows: NDArray[np.float32] = batch.to_tensor(null_to_nan=True).to_numpy()
        return rows


class _Cache:
    """The arrays used last, up to so many bytes, but at least one; for several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: OrderedDict[int, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: int) -> NDArray[np.float32] | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: int, value: NDArray[np.float32]) -> None:
        with self._lock:
            self._held[key] = value
            size = sum(held.nbytes for held in self._held.values())
            while size > self.limit and len(self._held) > 1:
                size -= self._held.popitem(last=False)[1].nbytes


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Yield a pyarrow ParquetFile; a damaged one, or one made to fill the memory, is refused."""
    import pyarrow.parquet

    if not path.is_file():
        raise InputError(f"{path} does not exist, or is not a file.")
    try:
        # One file, as it is: no reading of folder names as columns.
        with pyarrow.parquet.ParquetFile(path) as file:
            check_unique(path, file.schema_arrow.names)
            _check_claims(path, file.metadata)
            yield file
    except InputError:
        raise
    except Exception as error:  # of Arrow, of the system, of names that are not text
        raise InputError(f"{path} is not a Parquet file, or is damaged ({error}).") from error


def _check_claims(path: Path, metadata: Any) -> None:
    """Compare the numbers of rows that a Parquet file claims with each other and with its size."""
    parts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    if min(parts, default=0) < 0 or sum(parts) != metadata.num_rows:
        raise InputError(
            f"{path} is damaged: its parts claim {sum(parts):,} rows and the whole "
            f"{metadata.num_rows:,}."
        )
    check_unpacked(path, metadata.num_rows * metadata.num_columns)  # a byte for each cell


def _read_footer(path: Path) -> Any:
    with open_parquet(path) as file:
        return file.metadata


def _check_numbers(schema: Any, columns: Sequence[str], file: Path) -> None:
    import pyarrow.types as types

    if not columns:
        raise InputError(f"{file} has no column to learn from.")
    for name in columns:
        kind = schema.field(name).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise InputError(
                f"{file}: column {name!r} is {kind}, not a number; name the features with "
                "columns=[...], or turn it into numbers first."
            )


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
                raise InputError(f"A block has {rows.shape[1]} columns, those before it {width}.")
            if data.length + rows.nnz > np.iinfo(kind).max:
                raise InputError("2³¹ non-zeros or more need write_csr(..., index_dtype='int64').")
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
        If the folder is not such a table, or its parts do not fit together.
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
            f"({found}); write it again."
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
