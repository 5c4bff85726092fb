"""Dates and times in the spellings that people use, against Python's own datetime."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import numpy as np
import pyarrow as pa
import pytest

from nnpu.data.streams import Batch
from nnpu.parameters import InputError
from nnpu.table.columns import ColumnPlan
from nnpu.table.columns.column_kinds import fit_column
from nnpu.table.columns.column_plan import kind_named
from nnpu.table.columns.dates import Date, spelled_dates


def column(cells, name="when"):
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    return fit_column(name, cells, np.arange(len(cells)))


def seconds(text, first_is_day=None):
    return spelled_dates(pa.array([text], pa.large_string()), first_is_day)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-03", (2024, 1, 3)),
        ("2024/1/3", (2024, 1, 3)),
        ("20240103", (2024, 1, 3)),
        ("03 Jan 2024", (2024, 1, 3)),
        ("15JAN2023", (2023, 1, 15)),
        ("3mrz24", (2024, 3, 3)),
        ("15JAN2023:10:11:12", (2023, 1, 15, 10, 11, 12)),
        ("3 January 2024", (2024, 1, 3)),
        ("Jan 3, 2024", (2024, 1, 3)),
        ("Wed, 03 Jan 2024 10:11:12 GMT", (2024, 1, 3, 10, 11, 12)),
        ("Wednesday, January 3rd, 2024", (2024, 1, 3)),
        ("3-Jan-24", (2024, 1, 3)),
        ("3. März 2024", (2024, 3, 3)),
        ("3 de enero de 2024", (2024, 1, 3)),
        ("14 juillet 1989", (1989, 7, 14)),
        ("03.01.24", (2024, 1, 3)),
        ("3.1.1999", (1999, 1, 3)),
        ("31/1/2024", (2024, 1, 31)),
        ("1/31/2024", (2024, 1, 31)),
        ("2024-01", (2024, 1, 1)),
        ("Jan 2024", (2024, 1, 1)),
        ("01/2024", (2024, 1, 1)),
        ("2024-01-03T10:11:12", (2024, 1, 3, 10, 11, 12)),
        ("2024-01-03 10:11", (2024, 1, 3, 10, 11)),
        ("2024-01-03T10:11:12.500Z", (2024, 1, 3, 10, 11, 12, 500_000)),
        ("2024-01-03T10:11:12+02:00", (2024, 1, 3, 8, 11, 12)),
        ("2024-01-03T10:11:12-0530", (2024, 1, 3, 15, 41, 12)),
        ("2024-01-03 10:11 CET", (2024, 1, 3, 9, 11)),
        ("20240103T101112", (2024, 1, 3, 10, 11, 12)),
        ("1/31/2024 1:05 PM", (2024, 1, 31, 13, 5)),
        ("1/31/2024 12:05 am", (2024, 1, 31, 0, 5)),
        ("2000-02-29", (2000, 2, 29)),
        ("1900-03-01", (1900, 3, 1)),
    ],
)
def test_a_date_is_read_as_datetime_has_it(text, expected):
    assert seconds(text) == pytest.approx(datetime(*expected, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    "text",
    ["2023-02-29", "2024-13-01", "31.4.2024", "32 Jan 2024", "3 Foo 2024", "20241301", "soon",
     "2024-01-03 25:70", "1.2.3", "2024-01-03 10:11 XYZ", "13/13/2024", "", "1/2/2024 13:00 pm"],
)  # fmt: skip
def test_what_the_calendar_does_not_have_is_no_date(text):
    assert np.isnan(seconds(text))


def test_a_date_that_can_be_read_in_two_ways_needs_the_column_to_decide():
    assert np.isnan(seconds("3/4/2024"))
    assert seconds("3/4/2024", True) == datetime(2024, 4, 3, tzinfo=UTC).timestamp()
    assert seconds("3/4/2024", False) == datetime(2024, 3, 4, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("cells", "first_is_day", "words"),
    [
        (["1/2/2024", "1/31/2024", "3/4/2024"], False, "month before day"),
        (["1/2/2024", "31/1/2024", "3/4/2024"], True, "day before month"),
        (["1/2/2024", "3/4/2024"], False, r"month before day \(assumed: no cell shows it\)"),
        (["1.2.2024", "3.4.2024"], True, r"day before month \(assumed: no cell shows it\)"),
        (["2024-02-01", "2024-04-03"], None, "date: days, weekday, month$"),
    ],
)
def test_the_order_of_day_and_month_is_that_of_the_whole_column_and_is_stated(
    cells, first_is_day, words
):
    fitted = column(cells)
    assert isinstance(fitted, Date)
    assert fitted.first_is_day is first_is_day
    assert np.array(
        [match is not None for match in [__import__("re").search(words, fitted.description())]]
    )


def test_the_parts_of_a_date_are_those_of_the_calendar():
    """3 January 2024 was a Wednesday; 19,725 days after 1 January 1970."""
    fitted = column(["2024-01-03 06:30", "2024-02-04 12:00", None])
    assert fitted.parts == ["days", "hour", "weekday", "month"]
    assert fitted.raw_names == ["when (days)", "when (hour)", "when (weekday)", "when (month)"]
    raw = fitted.raw(fitted.read(pa.array(["2024-01-03 06:30", "unknown", None])).values)
    assert raw[0].tolist() == [(date(2024, 1, 3) - date(1970, 1, 1)).days, 6.5, 2, 1]
    assert np.isnan(raw[1:]).all()


def test_only_parts_that_vary_are_features():
    assert column(["2024-01-03", "2024-01-10"]).parts == ["days"]
    assert column(["2024-01-03", "2024-01-04"]).parts == ["days", "weekday"]
    assert column(["08:15", "17:30"]).parts == ["hour"]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([date(2024, 1, 3), date(2024, 2, 4), None]),
        pa.array([datetime(2024, 1, 3), datetime(2024, 2, 4), None], pa.timestamp("ns")),
        pa.array([datetime(2024, 1, 3), datetime(2024, 2, 4), None], pa.timestamp("s", "UTC")),
        pa.array([datetime(2024, 1, 3), datetime(2024, 2, 4), None], pa.date64()),
        pa.array(["03.01.24", "04.02.24", "?"]),
        pa.array([20240103, 20240204, None, 20240204, 20240103, 20240305]),
    ],
)
def test_every_way_of_storing_a_date_gives_the_same_numbers(cells):
    fitted = column(cells)
    assert fitted.kind == "date"
    raw = fitted.raw(fitted.read(cells).values)
    assert raw[:2, 0].tolist() == [19725, 19757]
    assert np.isnan(raw[2]).all()


def test_times_of_day_stored_as_such_are_hours():
    fitted = column(pa.array([time(6, 30), time(12, 0)]))
    assert fitted.raw(fitted.read(pa.array([time(18, 45)])).values).tolist() == [[18.75]]


def test_a_cell_that_is_no_date_is_missing_and_stated():
    fitted = column([f"2024-01-{day:02d}" for day in range(1, 29)] * 4 + ["soon", "unknown"])
    assert (
        "98 % of the cells are dates; row 113 is 'soon' (read as missing)" in fitted.description()
    )
    reading = fitted.read(pa.array(["2024-01-01"] * 40 + ["later"]), first=100)
    assert (int(np.isnan(reading.values).sum()), reading.unreadable, reading.example) == (
        1,
        1,
        "row 141 is 'later'",
    )
    with pytest.raises(InputError, match=r"Column 'when', row 1: 'later' is not a date"):
        ColumnPlan((fitted,)).raw(Batch({"when": pa.array(["later"])}, {}, 1, 0, "t.csv"))


def test_dates_in_an_order_that_the_training_did_not_have_are_refused():
    fitted = column(["2024-01-31", "2024-02-01"])
    with pytest.raises(InputError, match=r"'3/4/2024' is not a date that can be read in one way"):
        ColumnPlan((fitted,)).raw(Batch({"when": pa.array(["3/4/2024"])}, {}, 1, 0, "t.csv"))


@pytest.mark.parametrize("cells", [[20240103, 20249999, 20240105, 5], [19991231, 7, 8, 9]])
def test_numbers_that_only_look_like_dates_stay_numbers(cells):
    assert column(pa.array(cells)).kind == "number"
    assert column([str(cell) for cell in cells]).kind == "number"


def test_the_dense_view_has_no_gaps_and_a_circle_for_months():
    cells = ["2024-01-03", "2024-07-04", None]
    fitted = column(cells)
    block = fitted.transform(pa.array(cells))
    assert block.shape == (3, fitted.width)
    assert np.isfinite(block).all()
    sine, cosine = block[:2, -3], block[:2, -2]
    np.testing.assert_allclose(sine, [0.5, -0.5], atol=1e-6)  # 30° and 210°
    np.testing.assert_allclose(cosine, [np.sqrt(0.75), -np.sqrt(0.75)], atol=1e-6)
    assert block[2].tolist() == [0] * (fitted.width - 1) + [1]
    assert kind_named("date") is Date
