"""Numbers as people write them, and what only looks like one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from nnpu.data.streams import Batch
from nnpu.parameters import InputError
from nnpu.table.columns import ColumnPlan, fit_columns
from nnpu.table.columns.column_kinds import fit_column
from nnpu.table.columns.numbers import decimal_mark, spelled_numbers
from nnpu.table.reading import as_batch


def column(cells, name="c", **options):
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    return fit_column(name, cells, np.arange(len(cells)), **options)


def values(fitted, cells):
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    return fitted.raw(fitted.read(cells).values)[:, 0]


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("$90,000.00", ".", 90000),
        ("-$5.25", ".", -5.25),
        ("$-5.25", ".", -5.25),
        ("US$ 1,234", ".", 1234),
        ("1234,56 €", ",", 1234.56),
        ("1.234.567,8 EUR", ",", 1234567.8),
        ("€ 12", ".", 12),
        ("CHF 1'234.50", ".", 1234.5),
        ("1\u2019234\u2019567", ".", 1234567),
        ("1 234 567,5", ",", 1234567.5),
        ("1\u202f234,5", ",", 1234.5),
        ("1\u00a0234", ".", 1234),
        ("1\u2009234.5", ".", 1234.5),
        ("12,34,567", ".", 1234567),  # India's grouping
        ("45 %", ".", 45),
        ("45%", ".", 45),
        ("3,5 %", ",", 3.5),
        ("(1,234.50)", ".", -1234.5),
        ("($12)", ".", -12),
        ("12-", ".", -12),
        ("\u22125", ".", -5),
        ("- 5", ".", -5),
        ("+7", ".", 7),
        (".5", ".", 0.5),
        (",5", ",", 0.5),
        ("1.", ".", 1),
        ("1e3", ".", 1000),
        ("1,5E-2", ",", 0.015),
        ("100 kr", ".", 100),
    ],
)
def test_a_number_is_read_as_it_is_meant(text, decimal, number):
    assert spelled_numbers(pa.array([text]), decimal)[0] == pytest.approx(number)


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize(
    "text",
    ["", "abc", "1 2", "1,23,4", "12:30", "2024-01-03", "1.2.3", "--", "$", "%", "12a", "a12",
     "1/2", "3-4", "0x10", "1 2345", "01.02.2024", "+", "e5", "1_000"],
)  # fmt: skip
def test_what_is_not_quite_a_number_is_none(text, decimal):
    assert np.isnan(spelled_numbers(pa.array([text]), decimal)[0])


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1,5", "2,25"], ","),
        (["0,123", "0,456"], ","),
        (["1,234", "5,678"], "."),
        (["1,234.5", "5"], "."),
        (["1.234,5", "5"], ","),
        (["1.234.567", "5.000"], ","),
        (["1.5", "2.25"], "."),
        (["7", "8"], "."),
    ],
)
def test_the_decimal_mark_is_that_of_the_whole_column(cells, mark):
    assert decimal_mark(pa.array(cells)) == mark


def test_a_decimal_mark_that_is_given_is_used():
    assert values(column(["1,234", "5,678"], decimal=","), ["1,234"])[0] == 1.234
    fitted = column(["1,234", "5,678"])
    assert values(fitted, ["1,234"])[0] == 1234
    assert "',' is read as the thousands separator" in fitted.description()


def test_points_between_thousands_are_known_by_the_numbers_below_a_thousand():
    cells = [f"{number:,}".replace(",", ".") for number in range(850, 1400, 7)]
    assert "1.235" in cells
    assert values(column(cells), ["850", "1.235"]).tolist() == [850, 1235]
    decimals = [f"{number / 1000:.3f}" for number in range(1001, 1400, 7)]
    assert values(column(decimals), ["1.235"]).tolist() == [1.235]


@pytest.mark.parametrize(("given", "name"), [(",", "point"), (".", "comma")])
@pytest.mark.parametrize(("copies", "fate"), [(8, "40 categories"), (1, "excluded (its numbers")])
def test_numbers_with_the_other_decimal_mark_are_named(given, name, copies, fate):
    """Few values would be categories, many a column whose every row has a value of its own."""
    cells = [f"{number / 7:.4f}" for number in range(1, 320 // copies + 1)] * copies
    if given == ".":
        cells = [cell.replace(".", ",") for cell in cells]
    found = column(cells, decimal=given).description()
    assert f"its numbers have a decimal {name}, and decimal={given!r} was given" in found
    assert found.startswith(fate)
    assert column(cells).kind == "number"
    codes = [f"x{cell}y" for cell in cells]
    assert "decimal" not in column(codes, decimal=given).description()


def test_three_decimals_that_may_be_thousands_are_stated():
    remark = "'.' is read as the decimal mark; if it separates thousands, use --decimal ,"
    salaries = ["45.000", "52.500", "61.000"]
    assert values(column(salaries), ["45.000"]).tolist() == [45]
    assert remark in column(salaries).description()
    assert remark in column([*salaries, "850"]).description()  # too few to decide by
    assert values(column([*salaries, "1.250.000"]), ["45.000"]).tolist() == [45_000]
    assert values(column(salaries, decimal=","), ["45.000"]).tolist() == [45_000]
    for proof in ("0.450", "45.5", "4500.125"):
        assert "decimal mark" not in column([*salaries, proof]).description()
    assert "decimal mark" not in column(salaries, decimal=".").description()


def test_a_share_and_its_percent_are_one_number():
    shares = column(["45.0%", "0.450", "12 %", "0.33"])
    assert "are taken for shares: '45.0%' is read as 0.45" in shares.description()
    found = values(shares, ["45.0%", "0.450", "12 percent", "(5%)", ".5"])
    np.testing.assert_allclose(found, [0.45, 0.45, 0.12, -0.05, 0.5])
    percent = column(["45.0%", "45", "12 %", "33.5"])
    assert "are taken for percent: '45.0%' is read as 45" in percent.description()
    assert values(percent, ["45.0%", "45"]).tolist() == [45, 45]
    signed = column(["45.0%", "0.5%"])
    assert values(signed, ["45.0%", "0.5%"]).tolist() == [45, 0.5]
    assert "percent" not in signed.description()
    assert values(column(pa.array([0.1, 0.9])), ["45%"]).tolist() == [0.45]


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.date32(), pa.time64("us")])
def test_dates_in_a_column_of_numbers_are_refused_in_one_line(kind):
    cells = pa.array([1, 2], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    with pytest.raises(InputError, match=r"^Column 'c' holds .* cells, not numbers\.$"):
        column(["1.5", "2.5"]).read(cells)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_duration_is_its_seconds(unit):
    scale = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    cells = pa.array([1_234_567_891, 7, None], pa.duration(unit))
    found = values(column(cells), cells)
    np.testing.assert_allclose(found, [1_234_567_891 / scale, 7 / scale, np.nan])


def test_strings_stored_as_views_are_strings():
    text = ["1.5", "2.5", "7", "x", "8"] * 9
    view = as_batch(pa.table({"a": pa.array(text).cast(pa.string_view())}))
    plain = as_batch(pa.table({"a": pa.array(text)}))
    found = [fit_columns(batch, np.arange(45)).transform(batch) for batch in (view, plain)]
    np.testing.assert_array_equal(*found)


def test_the_missing_cells_of_a_database_dump_are_missing():
    fitted = column(["7", "\\N", "9"])
    assert fitted.kind == "number"
    assert "read as missing" not in fitted.description()
    assert np.isnan(values(fitted, ["\\N"])[0])
    assert "\\N" not in column(["Ulm", "\\N", "Bonn", "Ulm"]).description()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "feather", "frame"])
def test_the_decimal_mark_is_that_of_every_format(tmp_path, kind):
    path, table = tmp_path / f"t.{kind}", pa.table({"x": ["7,400", "8,125"], "y": ["1", "2"]})
    if kind == "csv":
        path.write_text('x,y\n"7,400",1\n"8,125",2\n')
    elif kind == "parquet":
        pq.write_table(table, path)
    elif kind == "jsonl":
        path.write_text('{"x": "7,400", "y": "1"}\n{"x": "8,125", "y": "2"}\n')
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    batch = as_batch(table if kind == "frame" else path, decimal=",")
    plan = fit_columns(batch, np.arange(2))
    assert plan.raw(batch)[:, 0].tolist() == [7.4, 8.125]


def test_money_is_a_number_in_fit_and_in_predict():
    fitted = column([f"${number:,}.00" for number in range(50, 90_000, 999)])
    assert fitted.kind == "number"
    assert values(fitted, ["$90,000.00", "90000", ""]).tolist()[:2] == [90000, 90000]


@pytest.mark.parametrize("bad", ["unknown", "-", "n.a.", "old", "none"])
def test_one_bad_cell_among_numbers_is_missing_and_stated(bad):
    cells = [str(number) for number in range(3000)]
    cells[5] = bad
    fitted = column(cells)
    assert fitted.kind == "number"
    note = f"99.97 % of the cells are numbers; row 6 is {bad!r} (read as missing)"
    assert note in fitted.description() or bad == "none"
    raw = values(fitted, cells)
    assert np.isnan(raw[5])
    assert np.isnan(raw).sum() == 1


def test_words_that_say_not_known_never_make_numbers_categories():
    fitted = column(["unknown", "1", "unknown", "2", "3"])
    assert fitted.kind == "number"
    assert np.isnan(values(fitted, ["unknown"])[0])  # one row at predict, too


def test_none_is_a_value_among_categories_and_missing_among_numbers():
    category = column(["none", "none", "mild", "mild", "severe", "severe"])
    assert "none" in category.values
    assert not category.missing
    number = column(["none", "1", "2"])
    assert number.kind == "number"
    assert number.missing


def test_too_many_bad_cells_at_predict_are_refused_with_row_and_cell():
    fitted = column([str(number) for number in range(100)])
    with pytest.raises(InputError, match=r"Column 'c', row 12: 'old' is not a number"):
        ColumnPlan((fitted,)).raw(Batch({"c": pa.array(["1", "old", "2"])}, {}, 3, 10, "t.csv"))
    reading = fitted.read(pa.array(["1"] * 99 + ["old"]), first=10)
    assert (reading.unreadable, int(np.isnan(reading.values).sum()), reading.example) == (
        1,
        1,
        "row 110 is 'old'",
    )


@pytest.mark.parametrize("typed", [False, True])
def test_long_numbers_are_ids_and_never_numbers(typed):
    ids = [100_000_000_000_000_000 + 7919 * number for number in range(300)]
    cells = pa.array(ids if typed else [str(number) for number in ids])
    fitted = column(cells, "account")
    assert fitted.description() == "excluded (nearly every row has a value of its own)"
    repeated = column(cells.take(pa.array(np.arange(300) % 20)), "account")
    assert repeated.kind == "category"
    assert column(cells, "created_at_ns").kind == "number"


def test_codes_with_leading_zeros_are_categories():
    assert column(["01234", "01234", "98765", "98765"], "zip").kind == "category"
    assert column(["0", "1", "10", "2"]).kind == "number"
    assert column(["0.5", "01.5", "2"]).kind == "number"


def test_a_few_gigantic_values_are_clipped_in_the_dense_view_and_stated():
    rng = np.random.default_rng(0)
    usual = rng.normal(50, 10, 3000)
    cells = np.append(usual, [1e30, -1e30, 1e30])
    fitted = column(pa.array(cells))
    assert "3 extreme values are clipped to" in fitted.description()
    dense = fitted.transform(pa.array(usual))[:, 0]
    assert np.corrcoef(dense, usual)[0, 1] > 0.999
    assert dense.std() > 0.02  # without clipping it would be 1e-27
    assert np.abs(fitted.transform(pa.array(cells))).max() < 100
    assert values(fitted, pa.array(cells)).tolist() == cells.tolist()  # trees need no clipping


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", ["lognormal", "exponential", "poisson"])
def test_ordinary_columns_are_not_clipped(seed, draw):
    rng = np.random.default_rng(seed)
    cells = {
        "lognormal": rng.lognormal(0, 1, 5000),
        "exponential": rng.exponential(1000, 5000) * (rng.random(5000) < 0.2),
        "poisson": rng.poisson(0.1, 5000).astype(float),
    }[draw]
    assert column(pa.array(cells)).clipped == 0


def test_plain_numbers_are_read_quickly_as_they_are_read_slowly():
    """One cell with a currency sends all of them the slow way."""
    plain = ["1", "-2.5", "007", "1e3", "-.5", "3.", "1E-7", "12345678901234567890", "0"]
    slow = spelled_numbers(pa.array([*plain, "$1"]), ".")[:-1]
    assert spelled_numbers(pa.array(plain), ".").tolist() == slow.tolist()
    assert np.isnan(spelled_numbers(pa.array(["1", "inf", "nan"]), ".")).tolist() == [0, 1, 1]


@pytest.mark.parametrize("cell", ["{} kg", "{}.5g"])
def test_numbers_with_a_unit_are_words_and_that_is_said(cell):
    """Up to now it was not said why such a column is a category."""
    told = column([cell.format(number % 50) for number in range(200)]).description()
    assert f"taken for words: cells hold more than digits, such as {cell.format(0)!r}" in told


@pytest.mark.parametrize("cell", ["{:05}", "{}A", "{} Main St", "flat {}"])
def test_codes_and_addresses_are_no_numbers_with_units(cell):
    assert "digits" not in column([cell.format(number % 50) for number in range(200)]).description()
