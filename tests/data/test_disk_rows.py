"""Sparse tables on disk: what is written block by block is read as one matrix, as a map."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from nnpu.data import disk_rows as csr
from nnpu.data import read_csr, write_csr
from nnpu.data.disk_rows import _describe
from nnpu.data.rows import as_rows, is_mapped
from nnpu.parameters import InputError, ParameterError

TABLE = sparse.csr_array(np.random.default_rng(0).binomial(3, 0.07, (40, 9)) / 3)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_blocks_become_one_matrix_whose_arrays_stay_on_disk(tmp_path, index_dtype):
    blocks = [TABLE[:7], TABLE[7:7], sparse.coo_array(TABLE[7:39]), TABLE[39:].toarray()]
    folder = write_csr(tmp_path / "table", blocks, index_dtype=index_dtype)
    back = read_csr(folder)
    assert back.shape == (40, 9)
    assert back.dtype == np.float32
    assert is_mapped(back.data)
    assert is_mapped(back.indices)
    assert not back.data.flags.writeable
    assert np.array_equal(back.toarray(), TABLE.toarray().astype(np.float32))
    assert as_rows(back).on_disk
    assert np.load(folder / "indptr.npy").dtype == index_dtype


def test_a_table_is_replaced_as_a_whole(tmp_path):
    write_csr(tmp_path, TABLE)
    write_csr(tmp_path, TABLE[:3])
    assert np.array_equal(read_csr(tmp_path).toarray(), TABLE[:3].toarray().astype(np.float32))


def test_an_interrupted_writer_leaves_the_old_table_or_none(tmp_path, monkeypatch):
    def blocks():
        yield TABLE
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_csr(tmp_path, blocks())
    with pytest.raises(InputError, match="or its writing was interrupted"):
        read_csr(tmp_path)
    write_csr(tmp_path, TABLE)
    with pytest.raises(KeyboardInterrupt):
        write_csr(tmp_path, blocks())
    assert (read_csr(tmp_path) != TABLE.astype(np.float32)).nnz == 0
    monkeypatch.setattr(csr, "_describe", lambda *_: _describe(tmp_path, None))  # as if killed
    write_csr(tmp_path, TABLE)
    with pytest.raises(InputError, match="or its writing was interrupted"):
        read_csr(tmp_path)
    monkeypatch.undo()
    write_csr(tmp_path, TABLE)
    assert (read_csr(tmp_path) != TABLE.astype(np.float32)).nnz == 0


def test_what_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(InputError, match="A block has 4 columns, those before it 9"):
        write_csr(tmp_path, [TABLE, TABLE[:, :4]])
    with pytest.raises(InputError, match="no rows to write"):
        write_csr(tmp_path, [])
    with pytest.raises(ParameterError, match="'index_dtype' parameter of write_csr"):
        write_csr(tmp_path, TABLE, index_dtype="int16")


def damage(folder, part):
    if part == "csr.json":
        (folder / part).write_text(json.dumps({"format": "nnpu-csr-1", "shape": [41, 9]}))
    elif part == "indptr.npy":
        np.save(folder / part, np.zeros((41, 1), np.int32))
    elif part == "data.npy":
        np.save(folder / part, np.load(folder / part).astype(np.float64))
    else:
        np.save(folder / part, np.load(folder / part)[:-1])


@pytest.mark.parametrize("part", ["csr.json", "indptr.npy", "data.npy", "indices.npy"])
def test_parts_that_do_not_fit_together_are_named(tmp_path, part):
    write_csr(tmp_path, TABLE)
    damage(tmp_path, part)
    with pytest.raises(InputError, match=r"not those of a CSR matrix of shape .*indptr: int32"):
        read_csr(tmp_path)


def test_a_missing_part_is_named(tmp_path):
    write_csr(tmp_path, TABLE)
    (tmp_path / "indices.npy").unlink()
    with pytest.raises(InputError, match=r"indices\.npy is missing or damaged"):
        read_csr(tmp_path)
