"""Users' files, right and wrong in the ways that users' files are."""

from __future__ import annotations

import bz2
import gzip
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nnpu.data import read_table
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, content: bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_csv_gives_typed_columns(tmp_path: Path) -> None:
    text = 'id,age,name,ok\n1,2.5,"a, b",true\n2,,"line\nbreak",false\n'
    table = read_table(write(tmp_path, text.encode()))
    assert list(table.columns) == ["id", "age", "name", "ok"]
    assert table.n_rows == 2
    assert table.columns["id"].tolist() == [1, 2]
    assert np.array_equal(table.columns["age"], [2.5, np.nan], equal_nan=True)
    assert table.columns["name"].tolist() == ["a, b", "line\nbreak"]
    assert table.columns["ok"].tolist() == [True, False]


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.csv.gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_gzip_case_and_a_byte_order_mark_do_not_matter(
    tmp_path: Path, name: str, mark: bytes
) -> None:
    text = mark + "größe,s\n1,0\n".encode()
    path = write(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name)
    assert list(read_table(path).columns) == ["größe", "s"]


def test_columns_named_by_number_as_pandas_does_are_names(tmp_path: Path) -> None:
    assert list(read_table(write(tmp_path, b"0,1,2\n5,6,7\n")).columns) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "has no rows"),
        (b"1,2.5\n3,4\n", "first line holds numbers; add a header"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cell instead of 2"),
        (b"a,b\n1,2\n\n3,4\n", "line 3 is blank; remove it"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote .* is opened and not closed"),
        (b"a,b\n1,2\n3,4,5\n", "line 3: 3 cells instead of 2"),
        (b"a,b,a\n1,2,3\n", "two columns are named 'a'"),
        (b"a,b\n\x00\x01\x02\n", "is a binary file"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is a binary file"),
    ],
)
def test_a_wrong_csv_file_is_told_why(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"table\.csv.*{message}"):
        read_table(write(tmp_path, content))


def test_another_encoding_and_ragged_rows_are_found_far_into_the_file(tmp_path: Path) -> None:
    body = b"a,b\n" + b"1,x\n" * 50_000
    path = write(tmp_path, body + b"1,caf\xe9\n")
    assert read_table(path).columns["b"][-1] == "café"
    with pytest.raises(InputError, match="line 50002: not UTF-8"):
        read_table(path, encoding="utf-8")
    with pytest.raises(InputError, match="line 50002: 1 cell instead of 2"):
        read_table(write(tmp_path, body + b"1\n"))


def test_a_character_cut_by_the_look_at_the_beginning_is_no_error(tmp_path: Path) -> None:
    for shift in range(4):
        body = b"a\n" + b"x" * shift + "é€😀".encode() * 10_000 + b"\n"
        assert read_table(write(tmp_path, body)).n_rows == 1


def test_a_header_of_thousands_of_names_is_read_whole(tmp_path: Path) -> None:
    """Cut at any place but its end, the header would seem to name some column twice."""
    names = ",".join(f"column_{number}" for number in range(20_000))
    values = ",".join("1" for _ in range(20_000))
    assert len(read_table(write(tmp_path, f"{names}\n{values}\n".encode())).columns) == 20_000
    doubled = f"{names},column_7\n{values},1\n".encode()
    with pytest.raises(InputError, match="two columns are named 'column_7'"):
        read_table(write(tmp_path, doubled))


def test_a_truncated_gzip_file_is_named(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 10**9, 20_000)
    packed = gzip.compress(b"a\n" + b"".join(b"%d\n" % row for row in rows))
    with pytest.raises(InputError, match=r"t\.csv\.gz is damaged or incomplete"):
        read_table(write(tmp_path, packed[:-1000], "t.csv.gz"))
    assert read_table(write(tmp_path, b"a,b\n1,2\n", "t.csv.gz")).n_rows == 1  # it is not packed


def test_parquet_gives_the_same_columns_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"id": [1, 2], "age": [2.5, None], "name": ["x", "y"]}), path)
    columns = read_table(path).columns
    same = read_table(write(tmp_path, b"id,age,name\n1,2.5,x\n2,,y\n")).columns
    assert list(columns) == list(same)
    assert np.array_equal(columns["age"], same["age"], equal_nan=True)
    assert columns["name"].tolist() == same["name"].tolist()


def test_a_damaged_parquet_file_and_repeated_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(InputError, match="two columns are named 'a'"):
        read_table(path)
    with pytest.raises(InputError, match="not a Parquet file"):
        read_table(write(tmp_path, path.read_bytes()[:-10], "cut.parquet"))


def test_numpy_files_give_their_arrays(tmp_path: Path) -> None:
    x, s = np.arange(6.0).reshape(3, 2), np.array([1, 0, 0])
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "both.npz", x=x, s=s)
    assert np.array_equal(read_table(tmp_path / "x.npy").columns["x"], x)
    both = read_table(tmp_path / "both.npz")
    assert np.array_equal(both.columns["x"], x)
    assert np.array_equal(both.columns["s"], s)
    assert both.n_rows == 3


class Bomb:
    """Leaves a trace if it is ever unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


def test_no_pickle_is_ever_loaded(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    objects = np.array([Bomb(trace)], dtype=object)
    np.save(tmp_path / "x.npy", objects)
    np.savez(tmp_path / "x.npz", x=objects)
    write(tmp_path, pickle.dumps(Bomb(trace)), "plain.npy")
    write(tmp_path, pickle.dumps(Bomb(trace)), "plain.npz")
    for name in ("x.npy", "x.npz", "plain.npy", "plain.npz"):
        with pytest.raises(InputError, match=name):
            read_table(tmp_path / name)
    assert not trace.exists()


def test_arrays_of_different_lengths_or_none_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 2)), s=np.zeros(2))
    with pytest.raises(InputError, match=r"one row per example \(x: \(3, 2\), s: \(2,\)\)"):
        read_table(tmp_path / "a.npz")
    np.save(tmp_path / "a.npy", np.float64(1))
    with pytest.raises(InputError, match="one row per example"):
        read_table(tmp_path / "a.npy")
    np.savez(tmp_path / "empty.npz")
    with pytest.raises(InputError, match="has no columns"):
        read_table(tmp_path / "empty.npz")


@pytest.mark.parametrize("name", ["t.svm", "t.libsvm", "t.svmlight", "t.svm.bz2", "t.svm.gz"])
def test_svmlight_gives_sparse_rows_and_labels(tmp_path: Path, name: str) -> None:
    text = b"1 1:0.5 3:2\n-1 2:1 # a comment\n"
    packed = {"bz2": bz2.compress, "gz": gzip.compress}.get(name.rsplit(".", 1)[1], bytes)(text)
    columns = read_table(write(tmp_path, packed, name)).columns
    assert columns["x"].toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert columns["y"].tolist() == [1, -1]
    with pytest.raises(InputError, match="not SVMlight text"):
        read_table(write(tmp_path, b"1 a:b\n", "wrong.svm"))


def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table\.xls: .* must end in one of \.csv, \.tsv"):
        read_table(write(tmp_path, b"x", "table.xls"))


def test_a_missing_file_or_a_folder_without_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"nothing\.csv does not exist, or is not a file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match=r"folder holds no file whose name ends in \.parquet"):
        read_table(tmp_path / "folder")
