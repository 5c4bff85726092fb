"""Rows: whatever holds the table, a mini-batch is the same float32 rows, and no more is read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from nnpu.data.rows import ChosenRows, DenseRows, SparseBatch, SparseRows, as_rows

TABLE = np.random.default_rng(0).normal(size=(7, 5)).round(2)
TABLE[TABLE < 0] = 0  # some zeros for the sparse forms
WANTED = torch.tensor([6, 0, 0, 3])
EXPECTED = torch.tensor(TABLE[[6, 0, 0, 3]], dtype=torch.float32)


def memory_map(path):
    np.save(path, TABLE)
    return np.load(path, mmap_mode="r")


def read_only():
    table = TABLE.copy()
    table.flags.writeable = False
    return table


FORMS = {
    "float64": lambda: TABLE,
    "float32": lambda: TABLE.astype(np.float32),
    "list": lambda: TABLE.tolist(),
    "big-endian": lambda: TABLE.astype(">f8"),
    "big-endian read-only": lambda: np.frombuffer(
        TABLE.astype(">f8").tobytes(), dtype=">f8"
    ).reshape(TABLE.shape),
    "negative strides": lambda: np.ascontiguousarray(TABLE[::-1, ::-1])[::-1, ::-1],
    "column-major": lambda: np.asfortranarray(TABLE),
    "read-only": read_only,
    "tensor": lambda: torch.tensor(TABLE),
    "tensor with gradient": lambda: torch.tensor(TABLE, requires_grad=True),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_dense_form_gives_the_same_batch(form):
    batch = as_rows(FORMS[form]()).take(WANTED)
    assert batch.dtype == torch.float32
    assert not batch.requires_grad
    assert torch.equal(batch, EXPECTED)


@pytest.mark.parametrize("form", FORMS)
def test_a_block_is_the_rows_from_one_to_another(form):
    rows = as_rows(FORMS[form]())
    assert torch.equal(rows.block(2, 5), rows.take(torch.tensor([2, 3, 4])))


def test_a_block_of_a_memory_map_can_be_written_to_without_harm(tmp_path):
    rows = as_rows(memory_map(tmp_path / "table.npy"))
    rows.block(0, 2).zero_()
    assert torch.equal(rows.take(WANTED), EXPECTED)


def test_a_block_of_sparse_rows_stays_sparse():
    batch = as_rows(sparse.csr_matrix(TABLE)).block(2, 5)
    assert isinstance(batch, SparseBatch)
    assert torch.equal(batch.to_dense(), torch.tensor(TABLE[2:5], dtype=torch.float32))


def test_a_memory_map_is_read_where_it_is_asked_for(tmp_path):
    rows = as_rows(memory_map(tmp_path / "table.npy"))
    assert isinstance(rows.x, np.memmap)  # not loaded
    assert torch.equal(rows.take(WANTED), EXPECTED)


def test_a_float32_array_is_shared_and_not_copied():
    table = TABLE.astype(np.float32)
    rows = as_rows(table)
    table[0, 0] = 42
    assert rows.take(torch.tensor([0]))[0, 0] == 42


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "bsr"])
@pytest.mark.parametrize("container", ["matrix", "array"])
def test_every_sparse_form_gives_the_same_batch(kind, container):
    x = getattr(sparse, f"{kind}_{container}")(TABLE)
    rows = as_rows(x)
    batch = rows.take(WANTED)
    assert len(rows) == 7
    assert batch.values.dtype == torch.float32
    assert torch.equal(batch.to_dense(), EXPECTED)
    assert torch.equal(batch.to(torch.device("cpu")).to_dense(), EXPECTED)


def test_entries_that_occur_twice_are_added():
    x = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 3)
    )
    batch = SparseRows(x).take(torch.tensor([1, 0]))
    assert torch.equal(batch.to_dense(), torch.tensor([[0.0, 0, 0], [0, 3, 0]]))


def test_rows_without_entries_are_zero_wherever_they_stand():
    x = sparse.csr_array(np.array([[0.0, 0], [1, 0], [0, 0]]))
    batch = as_rows(x).take(torch.tensor([0, 1, 2]))
    assert batch.offsets.tolist() == [0, 0, 1]
    assert torch.equal(batch.to_dense(), torch.tensor([[0.0, 0], [1, 0], [0, 0]]))
    empty = as_rows(x).take(torch.tensor([0, 2]))
    assert torch.equal(empty.to_dense(), torch.zeros(2, 2))


def test_a_sparse_batch_holds_only_the_nonzeros_of_its_rows():
    batch = as_rows(sparse.csr_array(TABLE)).take(torch.tensor([1]))
    columns = np.flatnonzero(TABLE[1])
    assert isinstance(batch, SparseBatch)
    assert batch.indices.tolist() == columns.tolist()
    assert batch.values.tolist() == TABLE[1, columns].astype(np.float32).tolist()


def test_chosen_rows_may_repeat_and_chain():
    chosen = ChosenRows(as_rows(TABLE), torch.tensor([6, 3, 6]))
    again = ChosenRows(chosen, torch.tensor([2, 1]))
    assert len(chosen) == 3
    assert torch.equal(again.take(torch.tensor([0, 1])), torch.tensor(TABLE[[6, 3]]).float())


def test_images_keep_their_shape():
    images = np.arange(2 * 3 * 4 * 4, dtype=np.uint8).reshape(2, 3, 4, 4)
    batch = as_rows(images).take(torch.tensor([1]))
    assert batch.shape == (1, 3, 4, 4)
    assert torch.equal(batch[0], torch.tensor(images[1]).float())


def test_rows_are_wrapped_once():
    rows = DenseRows(torch.zeros(2, 2))
    assert as_rows(rows) is rows
