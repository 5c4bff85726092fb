"""The LIBSVM converter against scikit-learn's reader, and against files that are wrong."""

from __future__ import annotations

import bz2
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from nnpu.parameters import InputError
from nnpu_paper.epsilon import convert, parse_block

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PACKERS = {"": bytes, ".bz2": bz2.compress}


def dense_text(n: int, d: int, seed: int = 0) -> bytes:
    """Rows as in epsilon: every index, six significant digits, a blank at the end of the line."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    labels = rng.choice(["1", "-1"], size=n)
    lines = (
        f"{label} " + " ".join(f"{j}:{value:.6g}" for j, value in enumerate(row, start=1)) + " \n"
        for label, row in zip(labels, rows, strict=True)
    )
    return "".join(lines).encode()


def converted(folder: Path, path: Path, shape: tuple[int, int], **options: Any) -> Any:
    convert(path, folder / "x.npy", folder / "y.npy", shape, **options)
    return np.load(folder / "x.npy", mmap_mode="r"), np.load(folder / "y.npy")


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("block", [1, 1000, 1 << 24])
def test_conversion_agrees_with_scikit_learn(tmp_path: Path, suffix: str, block: int) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix](dense_text(50, 20)))
    x, y = converted(tmp_path, path, (50, 20), block=block)
    plain = tmp_path / "plain"
    plain.write_bytes(dense_text(50, 20))
    expected_x, expected_y = load_svmlight_file(str(plain), dtype=np.float32)
    assert isinstance(x, np.memmap)
    assert x.dtype == np.float32
    assert np.array_equal(x, expected_x.toarray())
    assert np.array_equal(y, expected_y)


def test_a_bz2_file_of_several_streams_is_read_to_its_end(tmp_path: Path) -> None:
    """As parallel compressors write it; the streams need not end where lines do."""
    text = dense_text(50, 20)
    path = tmp_path / "text.bz2"
    path.write_bytes(b"".join(bz2.compress(text[i : i + 999]) for i in range(0, len(text), 999)))
    x, _ = converted(tmp_path, path, (50, 20))
    assert np.array_equal(x, parse_block(text, 20)[0])


rows = st.lists(
    st.dictionaries(st.integers(1, 5), st.floats(-1e6, 1e6, allow_nan=False, width=32), max_size=5),
    min_size=1,
    max_size=8,
)


@given(rows=rows, end=st.sampled_from(["\n", " \n", "\r\n"]), last=st.booleans())
def test_any_rows_are_read_back(rows: list[dict[int, float]], end: str, last: bool) -> None:
    """repr of a float32 value is read back as the same value, present or absent, in any row."""
    lines = ["+1 " + " ".join(f"{j}:{v!r}" for j, v in sorted(row.items())) for row in rows]
    text = end.join(lines) + (end if last else "")
    x, y = parse_block(text.encode(), 5)
    expected = [[row.get(j, 0.0) for j in range(1, 6)] for row in rows]
    assert np.array_equal(x, np.array(expected, dtype=np.float32))
    assert y.tolist() == [1] * len(rows)


def test_rows_out_of_step_are_not_taken_for_dense_ones() -> None:
    """As many colons as two dense rows have, but an index too many in one, too few in the other."""
    with pytest.raises(InputError, match="lines 1 to 2: not LIBSVM text"):
        parse_block(b"1 1:5 2:6 3:7\n-1 1:8\n", 2)
    x, _ = parse_block(b"1 1:5 2:6 3:7\n-1 1:8\n", 3)
    assert x.tolist() == [[5, 6, 7], [8, 0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 1:1\n0 1:1\n", "line 8: a label is not"),
        (b"1 1:1\n1 1:nan\n", "line 8: .*NaN"),
        (b"1 1:1\n1 1:x\n", "lines 7 to 8: not LIBSVM text"),
        (b"1 0:1\n", "lines 7 to 7: not LIBSVM text"),
        (b"<html>\n", "lines 7 to 7: not LIBSVM text"),
    ],
)
def test_wrong_text_is_named_with_its_lines(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"file\.bz2, {message}"):
        parse_block(text, 1, name="file.bz2", line=7)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((51, 20), "has 50 rows instead of 51"), ((49, 20), "has more rows instead of 49")],
)
def test_another_number_of_rows_leaves_nothing(
    tmp_path: Path,
    files_below: Callable[[Path], list[str]],
    shape: tuple[int, int],
    message: str,
) -> None:
    (tmp_path / "text").write_bytes(dense_text(50, 20))
    with pytest.raises(InputError, match=message):
        converted(tmp_path, tmp_path / "text", shape)
    assert files_below(tmp_path) == ["text"]


def test_a_truncated_file_leaves_nothing(
    tmp_path: Path, files_below: Callable[[Path], list[str]]
) -> None:
    path = tmp_path / "text.bz2"
    packed = bz2.compress(dense_text(50, 20))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="is damaged or incomplete"):
        converted(tmp_path, path, (50, 20))
    assert files_below(tmp_path) == [path.name]


def test_a_full_disk_leaves_nothing(
    tmp_path: Path, files_below: Callable[[Path], list[str]], full_disk: Callable[[int], Any]
) -> None:
    (tmp_path / "text").write_bytes(dense_text(500, 20))
    with full_disk(10_000), pytest.raises(InputError, match=r"x\.npy cannot be written"):
        converted(tmp_path, tmp_path / "text", (500, 20))
    assert files_below(tmp_path) == ["text"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Four times the rows, the same peak (within a fifth): only a block is in memory."""
    peaks = []
    for n in (2_000, 8_000):
        path = tmp_path / f"text{n}"
        path.write_bytes(dense_text(200, 100) * (n // 200))
        tracemalloc.start()
        converted(tmp_path, path, (n, 100), block=1 << 18)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
