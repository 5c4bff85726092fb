"""NaN and infinity are found wherever they are, and named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from nnpu.data import ParquetRows, read_csr, write_csr
from nnpu.data import vectors as finite
from nnpu.data.rows import as_rows
from nnpu.data.vectors import check_finite
from nnpu.parameters import InputError

N, D = 40, 5


def memory_map(x, path, dtype=np.float32):
    np.save(path / "x.npy", x.astype(dtype))
    return as_rows(np.load(path / "x.npy", mmap_mode="r"))


def parquet(x, path):
    names = [f"x{number}" for number in range(x.shape[1])]
    pq.write_table(pa.table(list(x.T.copy()), names=names), path / "x.parquet", row_group_size=3)
    return ParquetRows(path / "x.parquet")


FORMS = {
    "array": lambda x, path: as_rows(x.astype(np.float32)),
    "memory map": memory_map,
    "float64 memory map": lambda x, path: memory_map(x, path, np.float64),
    "sparse": lambda x, path: as_rows(sparse.csr_array(x.astype(np.float32))),
    "sparse on disk": lambda x, path: as_rows(read_csr(write_csr(path, sparse.csr_array(x)))),
    "parquet": parquet,
}


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows instead of a few million."""
    monkeypatch.setattr(finite, "_BLOCK", 3 * 4 * D)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("row", "column", "value", "what"),
    [(0, 0, np.nan, "NaN"), (17, 4, -np.inf, "infinity"), (N - 1, 2, np.nan, "NaN")],
)
def test_the_first_bad_value_is_named_by_row_and_column(
    tmp_path, small_blocks, form, row, column, value, what
):
    x = np.random.default_rng(0).normal(size=(N, D)) * (np.arange(D) % 2)  # some zeros
    x[row, column] = value
    x[row + 1 :, 3] = np.nan  # later ones do not matter
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(
            InputError, match=rf"Input X contains {what}.*: row {row}, column {column} \(counted"
        ),
    ):
        check_finite(FORMS[form](x, tmp_path))


def test_what_float32_cannot_hold_is_found_on_disk(tmp_path):
    x = np.zeros((N, D))
    x[N - 1, 1] = 1e300
    with pytest.raises(InputError, match=rf"a value too large for .*: row {N - 1}, column 1"):
        check_finite(memory_map(x, tmp_path, np.float64))


def test_an_image_is_named_by_its_place():
    x = np.zeros((3, 2, 4, 4), np.float32)
    x[2, 1, 0, 3] = np.nan
    with pytest.raises(InputError, match=r"row 2, place \(1, 0, 3\)"):
        check_finite(as_rows(x))


@pytest.mark.parametrize("form", FORMS)
def test_large_numbers_whose_sum_overflows_are_fine(tmp_path, form):
    check_finite(FORMS[form](np.full((N, D), 3e38), tmp_path))
