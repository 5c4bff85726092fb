"""Files in batches: every row arrives once and in order, or the file is refused."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nnpu.data.streams import prefetched, read_rows, stream_rows
from nnpu.parameters import InputError


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_rows_of_a_long_csv_come_in_order_and_in_several_batches(tmp_path, name, monkeypatch):
    monkeypatch.setattr("nnpu.data.text_files._BLOCK", 1 << 18)
    text = "a,b\n" + "".join(f'{number},"x,{number}"\n' for number in range(60_000))
    packed = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    (tmp_path / name).write_bytes(packed)
    batches = list(stream_rows(tmp_path / name))
    assert len(batches) > 2
    assert [batch.first for batch in batches[:2]] == [0, batches[0].n_rows]
    cells = [cell for batch in batches for cell in batch.columns["a"].to_pylist()]
    assert cells == [str(number) for number in range(60_000)]
    assert read_rows(tmp_path / name).columns["b"][59_999].as_py() == "x,59999"


def test_a_column_may_change_its_look_far_into_the_file(tmp_path):
    """Types guessed from the first block would make the last cell an error."""
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 200_000 + "one\n")
    assert read_rows(tmp_path / "t.csv").columns["a"][-1].as_py() == "one"


def test_parquet_comes_in_batches_too(tmp_path):
    pq.write_table(pa.table({"a": np.arange(40_000)}), tmp_path / "t.parquet")
    batches = list(stream_rows(tmp_path / "t.parquet"))
    assert len(batches) > 1
    assert np.concatenate([batch.columns["a"] for batch in batches]).tolist() == [*range(40_000)]


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n1,"two\n\nlines"\n3,4\n',  # a blank line inside a cell is text
        "a,b\n1,2\n3,4\n\n\n",  # after the last row nothing can be lost
        'a,b\n1,2" pipe\n3,4\n',  # an inch sign
        'a,b\n1,"say ""hi"""\n3,4\n',
        "a,b\r\n1,2\r\n3,4\r\n",
    ],
)
def test_what_only_looks_like_a_lost_row_is_read(tmp_path, text):
    (tmp_path / "t.csv").write_bytes(text.encode())
    batch = read_rows(tmp_path / "t.csv")
    assert batch.columns["a"].to_pylist() == ["1", "3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\r\n1,2\r\n\r\n3,4\r\n", "line 3 is blank"),
        ("a\n1\n\n2\n", "line 3 is blank"),
        ('a,b\n1,2\n3,"4\n5,6\n7,8\n', "line 3: a quote"),
        ('a,b\n1,2\n3,"4\n5,"6"\n7,8\n', "line 3: a quote"),
        ('a,b\n1,"' + "x\n" * 600_000, "line 2: a quote"),
    ],
)
def test_a_row_that_would_be_lost_is_an_error_with_its_line(tmp_path, text, message):
    (tmp_path / "t.csv").write_bytes(text.encode())
    with pytest.raises(InputError, match=message):
        list(stream_rows(tmp_path / "t.csv"))


def test_long_rows_at_the_beginning_make_longer_batches(tmp_path):
    names = ",".join(f"column_{number}" for number in range(30_000))
    row = ",".join("1" for _ in range(30_000))
    (tmp_path / "t.csv").write_text(f"{names}\n{row}\n{row}\n")
    assert read_rows(tmp_path / "t.csv").n_rows == 2


def test_a_file_is_never_in_memory_whole(tmp_path):
    """Fifty-one megabytes: pyarrow's pool and Python's peak together stay below half of them."""
    (tmp_path / "t.csv").write_text("a,b\n" + "12345,some words\n" * 3_000_000)
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    pool = max(pa.total_allocated_bytes() - before for _ in stream_rows(tmp_path / "t.csv"))
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pool + python < (tmp_path / "t.csv").stat().st_size / 2


def test_arrays_of_an_npz_file_are_columns_or_matrices_by_their_shape(tmp_path):
    x, s = np.ones((3, 2)), np.array([1.0, np.nan, 0.0])
    np.savez(tmp_path / "t.npz", x=x, s=s)
    batch = read_rows(tmp_path / "t.npz")
    assert batch.matrices["x"].shape == (3, 2)
    assert batch.columns["s"].to_pylist() == [1.0, None, 0.0]


def test_items_made_ahead_keep_their_order_and_their_errors():
    def items():
        yield 1
        yield 2
        raise InputError("row 3 is odd")

    seen = []
    with pytest.raises(InputError, match="row 3 is odd"):
        seen.extend(prefetched(items()))
    assert list(itertools.islice(prefetched(itertools.count(1)), 3)) == [1, 2, 3]
