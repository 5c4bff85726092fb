"""Frames of other libraries: one table, whoever holds it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nnpu import TablePU
from nnpu.parameters import InputError
from nnpu.table import as_batch

RNG = np.random.default_rng(0)
X = RNG.normal(size=200)
TABLE = pa.table(
    {
        "x": X,
        "n": pa.array([None if i % 7 == 0 else i % 5 for i in range(200)], pa.int64()),
        "town": pa.array(["Ulm", "Bonn"])
        .take(pa.array(np.arange(200) % 2))
        .cast(pa.large_string()),
        "day": pa.array(np.datetime64("2024-01-01") + np.arange(200)),
        "known": ((X > 0.5) & (RNG.random(200) < 0.5)).astype(int),
    }
)


class OnlyAStream:
    """What has nothing but the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": lambda: TABLE.to_pandas(),
    "pandas with Arrow types": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(TABLE),
    "polars, lazy": lambda: pl.from_arrow(TABLE).lazy().filter(pl.col("x") > -100),
    "pyarrow": lambda: TABLE,
    "pyarrow in chunks": lambda: pa.concat_tables([TABLE[:77], TABLE[77:]]),
    "a reader of batches": lambda: TABLE.to_reader(max_chunksize=33),
    "a stream": OnlyAStream,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_holds_the_same_rows(kind):
    found = as_batch(FRAMES[kind]())
    assert found.names == TABLE.column_names
    for name in TABLE.column_names:
        cells = pa.array(found.columns[name].to_pylist())
        expected = pa.array(TABLE.column(name).to_pylist())
        if pa.types.is_timestamp(cells.type):  # pandas has no days
            cells = cells.cast(pa.date32())
        np.testing.assert_array_equal(
            cells.cast(expected.type).to_pylist(), expected.to_pylist(), err_msg=name
        )


@pytest.mark.parametrize("kind", ["polars, lazy", "a stream", "pandas"])
def test_a_model_gives_the_same_scores_whoever_holds_the_rows(kind):
    def scores(fitted_to, judged):
        model = TablePU(0.3, model="linear", random_state=0).fit(fitted_to, "known")
        return model.predict_proba(judged)[:, 1]

    expected = scores(TABLE, TABLE)
    np.testing.assert_array_equal(scores(FRAMES[kind](), FRAMES[kind]()), expected)


def test_a_stream_that_is_no_table_is_an_error():
    with pytest.raises(InputError, match="gives no table of columns as an Arrow stream"):
        as_batch(pa.chunked_array([[1, 2], [3]]))


def test_repeated_names_in_a_stream_are_an_error():
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(InputError, match="two columns of the same name"):
        as_batch(twice)
