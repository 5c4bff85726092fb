"""Cells as text and as codes: a category has one code, whoever reads it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nnpu.data.cells import as_cells, codes_of, frame_columns, plain_text
from nnpu.data.streams import Batch
from nnpu.estimators.ensemble.inputs import check_matrix, levels_of
from nnpu.estimators.ensemble.stored import _levels
from nnpu.table.columns import fit_columns

WORDS = ["Ulm", "Bonn", "Bonn", None, " Ulm ", "Aach", "?", "Bonn", "Aach", "7", "7.0"] * 3
FLAGS = [True, None, False, True, True, False, True, True, False, True, True] * 3
HALVES = np.tile([0.5, np.nan, 7, 1, 2, 3, 4, 5, 6, 8, 9], 3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_has_the_codes_that_its_table_has(frame):
    """`EnsemblePU` of a frame and `TablePU` of the same rows share one encoder."""
    X = frame({"town": WORDS, "half": HALVES, "flag": FLAGS})
    batch = Batch(frame_columns(X), {}, len(HALVES), 0, "the table")
    plan = fit_columns(batch, np.arange(batch.n_rows))
    assert [column.kind for column in plan.columns] == ["category", "number", "boolean"]
    levels = levels_of(X)
    assert levels == {0: ["Bonn", "Aach", "Ulm", "7", "7.0"]}  # by count, then alphabet
    np.testing.assert_array_equal(check_matrix(X, levels, "EnsemblePU"), plan.raw(batch))


def test_a_word_for_missing_is_a_category_if_it_was_one_in_fit():
    """Version 0.2.0 took "?" in a frame for a value like others."""
    cells = pa.array(["?", "a", "", "b"])
    assert codes_of(cells, ["?", "a"]).tolist() == [0, 1, -1, 2]
    assert codes_of(cells, ["a"]).tolist() == [-1, 0, -1, 1]


def test_none_was_a_missing_cell_in_0_1_0():
    cells = pa.array(["none", "a", "b"])
    assert codes_of(cells, ["a"], none_is_missing=True).tolist() == [-1, 0, 1]
    assert codes_of(cells, ["a"]).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "levels",
    [["DE", "FR"], [" Private", " State-gov"], [False, True], [1, 2, 30], [0.5, 2.0], [1, "x"], []],
)
def test_levels_of_0_2_0_keep_their_codes(levels):
    """They were stored as they came: with blanks, as truth values, as numbers."""
    read = _levels(levels)
    assert codes_of(as_cells(levels), read).tolist() == list(range(len(levels)))


def test_python_objects_of_polars_are_cells_like_others():
    frame = pl.DataFrame({"word": pl.Series(["a", None, 3], dtype=pl.Object)})
    assert frame.schema["word"] == pl.Object
    assert plain_text(frame_columns(frame)["word"]).to_pylist() == ["a", None, "3"]


def test_numbers_and_dates_of_frames_keep_all_digits():
    times = pd.to_datetime(["2024-01-03 00:00:00.000000001", None]).as_unit("ns")
    frame = pd.DataFrame(
        {
            "time": times,
            "span": pd.to_timedelta([5, None], unit="s").as_unit("ms"),
            "count": pd.array([1 << 60, None], dtype="Int64"),
            "half": pd.array([0.5, None], dtype="Float32"),
            "small": np.float16([0.1, np.nan]),
            "flag": pd.array([True, None], dtype="boolean"),
        }
    )
    matrix = check_matrix(frame, levels_of(frame), "EnsemblePU")
    expected = [float(times[0].value), 5000.0, float(1 << 60), 0.5, float(np.float16(0.1)), 1.0]
    assert matrix[0].tolist() == expected
    assert np.isnan(matrix[1]).all()
