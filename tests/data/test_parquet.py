"""Parquet files and folders as rows: any order, few row groups in memory, clear errors."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from nnpu.data import ParquetRows, read_table
from nnpu.data.disk_rows import check_parquet
from nnpu.data.streams import read_rows, stream_rows
from nnpu.parameters import InputError, ParameterError

X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
S = (np.arange(50) % 4 == 0).astype(np.int8)


def write(folder, name, columns, **options):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name, **options)


def columns(part):
    return {"a": X[part, 0], "b": X[part, 1], "s": S[part], "c": X[part, 2]}


@pytest.fixture
def folder(tmp_path):
    """Files of 20, 0 and 30 rows, in row groups of 7, the last with its columns turned around."""
    path = tmp_path / "parts"
    write(path, "part-0.parquet", columns(slice(0, 20)), row_group_size=7)
    write(path, "part-1.parquet", columns(slice(0, 0)))
    last = columns(slice(20, 50))
    write(path, "part-2.parquet", {name: last[name] for name in "scba"}, row_group_size=7)
    (path / "_SUCCESS").touch()
    return path


@pytest.mark.parametrize("cache_bytes", [None, 1, 100])
def test_rows_are_those_of_the_files_one_after_another(folder, cache_bytes):
    rows = ParquetRows(folder, label="s", cache_bytes=cache_bytes)
    order = torch.from_numpy(np.random.default_rng(1).integers(0, 50, 200))
    assert rows.shape == (50, 3)
    assert rows.columns == ("a", "b", "c")
    assert torch.equal(rows.take(torch.arange(50)), torch.from_numpy(X))
    assert torch.equal(rows.take(order), torch.from_numpy(X)[order])
    assert rows.read_column("s").tolist() == S.tolist()


def test_the_features_come_in_the_order_that_was_asked_for(folder):
    rows = ParquetRows(folder, ["c", "a"])
    assert torch.equal(rows.take(torch.tensor([49, 0])), torch.from_numpy(X)[[49, 0]][:, [2, 0]])


def test_a_row_group_is_decoded_once_while_it_is_kept(folder, monkeypatch):
    """7 rows of 3 features are 84 bytes: 168 hold two groups, and rows 0, 7, 14 are in three."""
    rows = ParquetRows(folder, label="s", cache_bytes=168)
    decoded, decode = [], rows._decode
    monkeypatch.setattr(rows, "_decode", lambda *group: decoded.append(group) or decode(*group))
    for row in (0, 7, 1, 8, 14, 9, 0):
        rows.take(torch.tensor([row]))
    assert decoded == [(0, 0), (0, 1), (0, 2), (0, 0)]  # the third pushed the first out
    assert sum(group.nbytes for group in rows._cache._held.values()) <= 168


def test_every_kind_of_number_becomes_float32_and_an_empty_cell_nan(tmp_path):
    table = {
        "bool": pa.array([True, None]),
        "int": pa.array([7, None], pa.int64()),
        "half": pa.array(np.array([0.5, 2], np.float16)),
        "double": pa.array([1 / 3, None]),
    }
    write(tmp_path, "a.parquet", table)
    got = ParquetRows(tmp_path / "a.parquet").take(torch.tensor([0, 1]))
    assert got.dtype == torch.float32
    assert got[0].tolist() == [1, 7, 0.5, np.float32(1 / 3)]
    assert got[1].isnan().tolist() == [True, True, False, True]


BAD = {
    "a missing column": ({"a": [1.0], "s": [0]}, r"b\.parquet has no column 'b', which a\.parquet"),
    "another type": (
        {"a": [1.0], "b": ["x"], "s": [0]},
        r"b\.parquet: column 'b' is string, and double in a\.parquet",
    ),
    "another width": (
        {"a": [1.0], "b": np.float32([2]), "s": [0]},
        r"column 'b' is float, and double in a\.parquet",
    ),
    "a column more": (
        {"a": [1.0], "b": [1.0], "s": [0], "z": [1]},
        r"b\.parquet has a column 'z', which a\.parquet does not have",
    ),
}
READERS = {
    "rows": ParquetRows,
    "stream": lambda path: next(stream_rows(path)),
    "table": read_table,
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("reader", READERS)
def test_files_that_differ_are_told_apart_by_name_before_any_row_is_read(tmp_path, case, reader):
    other, message = BAD[case]
    write(tmp_path, "a.parquet", {"a": [1.0], "b": [2.0], "s": [1]})
    write(tmp_path, "b.parquet", other)
    with pytest.raises(InputError, match=message):
        READERS[reader](tmp_path)


def test_what_is_no_number_no_column_no_parquet_or_nothing_is_an_error(tmp_path):
    write(tmp_path / "text", "a.parquet", {"town": ["Ulm"], "age": [3]})
    with pytest.raises(InputError, match=r"column 'town' is string, not a number; name the feat"):
        ParquetRows(tmp_path / "text")
    assert ParquetRows(tmp_path / "text", ["age"]).shape == (1, 1)
    with pytest.raises(InputError, match="has no column 'height'"):
        ParquetRows(tmp_path / "text", ["height"])
    with pytest.raises(InputError, match="has no column 'label'"):
        ParquetRows(tmp_path / "text", ["age"], label="label")
    with pytest.raises(InputError, match="no column to learn from"):
        ParquetRows(tmp_path / "text", [])
    with pytest.raises(InputError, match=r"nowhere\.parquet does not exist"):
        ParquetRows(tmp_path / "nowhere.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no file whose name ends in \.parquet"):
        ParquetRows(tmp_path / "empty")
    (tmp_path / "empty" / "a.parquet").write_bytes(b"PAR1 but nothing else PAR1")
    with pytest.raises(InputError, match=r"a\.parquet is not a Parquet file, or is damaged"):
        ParquetRows(tmp_path / "empty")
    write(tmp_path / "none", "a.parquet", {"a": pa.array([], pa.float32())})
    with pytest.raises(InputError, match="has no rows"):
        ParquetRows(tmp_path / "none")
    with pytest.raises(ParameterError, match="'cache_bytes' parameter of ParquetRows"):
        ParquetRows(tmp_path / "text", ["age"], cache_bytes=0)


def test_a_folder_is_streamed_and_read_like_one_table(folder):
    streamed = list(stream_rows(folder))
    assert [batch.first for batch in streamed] == [0, 20]
    for name, values in {"a": X[:, 0], "s": S}.items():
        parts = [batch.columns[name].to_numpy() for batch in streamed]
        assert np.concatenate(parts).tolist() == values.tolist()
        assert read_rows(folder).columns[name].to_pylist() == values.tolist()
        assert read_table(folder).columns[name].tolist() == values.tolist()


def test_columns_of_wide_files_are_compared_in_a_moment(tmp_path):
    """10,000 columns took 25 s when every name was looked for in a list."""
    wide = pa.table({f"x{j}": [0.0] for j in range(10_000)})
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(wide, tmp_path / name)
    start = time.process_time()
    assert len(check_parquet(tmp_path)) == 2
    assert time.process_time() - start < 5
