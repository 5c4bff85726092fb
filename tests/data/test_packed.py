"""Archives that try to escape, to fill memory, or that are cut short."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nnpu.data import packed, read_table
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path


def bomb(path: Path) -> None:
    """Write a packed table of some 800 kB of zeros."""
    rows = b"0,0\n" * 200_000 if ".csv" in path.name else b"0 1:0\n" * 200_000
    if path.suffix == ".npz":
        np.savez_compressed(path, x=np.zeros((200_000, 1)))
    elif path.suffix == ".parquet":
        columns = {name: np.zeros(200_000, dtype=np.int8) for name in "abcdefgh"}
        pq.write_table(pa.table(columns), path)
    else:
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[path.suffix]
        path.write_bytes(pack(b"a,s\n" + rows if ".csv" in path.name else rows))


@pytest.mark.parametrize(
    "name", ["t.csv.gz", "t.svm.gz", "t.svm.bz2", "t.svm.xz", "t.npz", "t.parquet"]
)
def test_what_unpacks_to_far_more_than_its_size_is_refused(name, tmp_path, monkeypatch) -> None:
    """By default 256 MiB may come out of anything; here it is 64 KiB."""
    bomb(tmp_path / name)
    assert read_table(tmp_path / name).n_rows == 200_000
    monkeypatch.setattr(packed, "_SMALL", 1 << 16)
    with pytest.raises(InputError, match="unpacks to over 200 times its size"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.svm.gz", "t.svm.bz2", "t.svm.xz", "t.npz"])
def test_a_packed_file_with_a_flipped_bit_is_refused_wherever_the_bit_is(name, tmp_path) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 1))
    path = tmp_path / name
    if path.suffix == ".npz":
        np.savez_compressed(path, x=numbers)
    else:
        rows = [f"{x},0" if ".csv" in name else f"0 1:{x}" for x in numbers[:, 0]]
        text = "\n".join([*(["a,s"] if ".csv" in name else []), *rows]).encode()
        pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[path.suffix]
        path.write_bytes(pack(text))
    content = path.read_bytes()
    refused = 0
    for place in rng.integers(20, len(content), 40):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        try:
            read_table(path)
        except InputError:
            refused += 1
    assert refused >= 30  # a bit of a time stamp or of a name changes nothing that is read
