"""Files as people have them: separators, encodings, packed text, JSON, Feather, Excel."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from datetime import datetime

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest

from nnpu.data.streams import read_rows, read_table
from nnpu.parameters import InputError, ParameterError


@pytest.mark.parametrize(("quote", "mark"), [("", "x"), ("", "x y "), ('"', "x"), ('"', "x\n")])
@pytest.mark.parametrize("length", [160_000, 600_000])
def test_a_cell_may_be_longer_than_a_block_anywhere_in_the_file(tmp_path, quote, mark, length):
    """160,000 characters are more than the csv module's limit, 600,000 more than a block."""
    cell = (mark * length)[:length].strip(" ")
    short = "".join(f"{number},b\n" for number in range(20_000))
    text = f"a,b\n{short}-1,{quote}{cell}{quote}\n{short}"
    (tmp_path / "t.csv").write_text(text, newline="")
    batch = read_rows(tmp_path / "t.csv")
    numbers = [str(number) for number in range(20_000)]
    assert batch.columns["a"].to_pylist() == [*numbers, "-1", *numbers]
    assert batch.columns["b"][20_000].as_py() == cell


def test_the_limit_of_the_csv_module_is_left_as_it_was(tmp_path):
    before = csv.field_size_limit()
    (tmp_path / "t.csv").write_text('a,b\n1,"two\n\nlines"\n3,4\n')
    read_rows(tmp_path / "t.csv")
    assert csv.field_size_limit() == before


TABLE = [["näme", "s", "x"], ["Zoë", "1", "1,5"], ["a;b|c", "0", "2,5"]]


def written(sep, encoding="utf-8"):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows(TABLE)
    return text.getvalue().encode(encoding)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_separator_encoding_and_gzip_are_detected(tmp_path, sep, encoding, packed):
    path = tmp_path / "t.csv"
    path.write_bytes(packed(written(sep, encoding)))
    batch = read_rows(path)
    assert {name: cells.to_pylist() for name, cells in batch.columns.items()} == {
        name: [row[place] for row in TABLE[1:]] for place, name in enumerate(TABLE[0])
    }
    assert batch.read_as.startswith("" if sep == "," else f"separator {sep!r}")
    assert ("encoding" in batch.read_as) == (not encoding.startswith("utf-8"))


def test_what_is_given_is_not_detected(tmp_path):
    (tmp_path / "t.csv").write_bytes("a;b,c\n1;2,ß\n".encode("cp850"))
    batch = read_rows(tmp_path / "t.csv", sep=";", encoding="cp850", decimal=",")
    assert batch.columns["b,c"].to_pylist() == ["2,ß"]
    assert batch.decimal == ","
    with pytest.raises(ParameterError, match="'encoding' parameter must be the name of"):
        read_rows(tmp_path / "t.csv", encoding="klingon")
    with pytest.raises(ParameterError, match="'sep' parameter must be one character"):
        read_rows(tmp_path / "t.csv", sep=";;")
    with pytest.raises(ParameterError, match="'decimal' parameter of"):
        read_rows(tmp_path / "t.csv", decimal="'")
    with pytest.raises(InputError, match="is not utf-16 text"):
        read_rows(tmp_path / "t.csv", encoding="utf-16")


def test_the_first_line_of_a_spreadsheet_may_name_the_separator(tmp_path):
    (tmp_path / "t.csv").write_text("sep=|\na|b\n1,5|2;5\n")
    assert read_rows(tmp_path / "t.csv").columns["a"].to_pylist() == ["1,5"]
    (tmp_path / "t.csv").write_text("sep=|\na|b\n1|2\n3\n")
    with pytest.raises(InputError, match="line 4: 1 cell instead of 2"):
        read_rows(tmp_path / "t.csv")


def test_single_quotes_are_detected_and_apostrophes_are_not_quotes(tmp_path):
    (tmp_path / "t.csv").write_text("'a','b'\n'1','x,y'\n")
    assert read_rows(tmp_path / "t.csv").columns["b"].to_pylist() == ["x,y"]
    (tmp_path / "t.csv").write_text("a,b\n1,don't\n2,'tis\n")
    assert read_rows(tmp_path / "t.csv").columns["b"].to_pylist() == ["don't", "'tis"]


@pytest.mark.parametrize("name", ["t.tsv", "t.tab", "t.txt", "t.tsv.gz"])
def test_other_names_of_text_are_known(tmp_path, name):
    content = b"a\tb\n1,5\t2\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert read_rows(tmp_path / name).columns["a"].to_pylist() == ["1,5"]


def test_a_file_of_headers_only_has_no_rows(tmp_path):
    for text in ("a,b\n", "a,b", "a\n\n"):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(InputError, match="has no rows"):
            read_rows(tmp_path / "t.csv")


PLAIN = pa.table(
    {"n": [1.5, None, 3.0], "w": ["a", None, "c"], "d": pa.array([1, 2, None], "date32")}
)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson"])
def test_json_lines_and_lists_of_objects_are_tables(tmp_path, name, packed):
    records = PLAIN.drop_columns("d").to_pylist()
    for text in ("\n".join(json.dumps(record) for record in records), json.dumps(records)):
        (tmp_path / name).write_bytes(packed(text.encode()))
        batch = read_rows(tmp_path / name)
        assert batch.columns["n"].to_pylist() == [1.5, None, 3.0]
        assert batch.columns["w"].to_pylist() == ["a", None, "c"]


def test_a_json_column_of_several_types_is_one_of_strings(tmp_path):
    (tmp_path / "t.json").write_text('{"a": 1}\n{"a": "x"}\n{"b": true}\n')
    batch = read_rows(tmp_path / "t.json")
    assert batch.columns["a"].to_pylist() == ["1", "x", None]
    assert batch.columns["b"].to_pylist() == [None, None, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ('{"a": 1}\n{"a"\n', "line 2: not JSON"), ("[1, 2]", "a row is an object")],
)
def test_what_is_no_json_table_is_named(tmp_path, text, message):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_rows(tmp_path / "t.json")


@pytest.mark.parametrize("form", ["feather", "file", "stream"])
def test_feather_and_arrow_files_are_tables(tmp_path, form):
    path = tmp_path / ("t.feather" if form == "feather" else "t.arrow")
    if form == "feather":
        pyarrow.feather.write_feather(PLAIN, str(path))
    else:
        kind = pyarrow.ipc.new_file if form == "file" else pyarrow.ipc.new_stream
        with kind(str(path), PLAIN.schema) as writer:
            writer.write_table(PLAIN)
    batch = read_rows(path)
    assert {name: cells.to_pylist() for name, cells in batch.columns.items()} == PLAIN.to_pydict()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged"):
        read_rows(path)


@pytest.mark.parametrize(("name", "text"), [("t.json", "["), ("t.jsonl", '{"a":')])
def test_json_that_is_nested_too_deeply_is_refused_in_one_line(tmp_path, name, text):
    (tmp_path / name).write_text(text * 100_000)
    with pytest.raises(InputError, match=r"line 1: not JSON \("):
        read_rows(tmp_path / name)


def test_a_sheet_of_a_workbook_is_a_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    day = datetime(2024, 1, 3)
    for row in [["age", "name", "when", None], [31, "a", day, None], [None, 7, day, None], [2.5]]:
        book.active.append(row)
    book.create_sheet("empty")
    book.save(tmp_path / "t.xlsx")
    batch = read_rows(tmp_path / "t.xlsx")
    assert batch.columns["age"].to_pylist() == [31, None, 2.5]
    assert batch.columns["name"].to_pylist() == ["a", "7", None]
    assert batch.columns["when"].to_pylist() == [day, day, None]
    assert batch.names == ["age", "name", "when"]
    (tmp_path / "t.xlsx").write_bytes(b"PK not really")
    with pytest.raises(InputError, match=r"is not an \.xlsx workbook"):
        read_rows(tmp_path / "t.xlsx")


def test_a_workbook_with_data_on_two_sheets_needs_the_name_of_one(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    for sheet, age in ((book.active, 31), (book.create_sheet("2024"), 45)):
        sheet.append(["age"])
        sheet.append([age])
    book.save(path)
    with pytest.raises(InputError, match=r"data on 2 sheets \('Sheet', '2024'\).*--sheet NAME"):
        read_rows(path)
    assert read_rows(path, sheet="2024").columns["age"].to_pylist() == [45]
    assert read_table(path, sheet="Sheet").columns["age"].tolist() == [31]
    with pytest.raises(InputError, match=r"no sheet 'old'; it has 'Sheet', '2024'"):
        read_rows(path, sheet="old")


def test_a_blank_row_between_others_of_a_sheet_is_a_row(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    for row in [[None], ["age", "town"], [31, "a"], [None, None], [45, " "], [None, "b"], [" "]]:
        book.active.append(row)
    book.save(path)
    batch = read_rows(path)
    assert batch.columns["age"].to_pylist() == [31, None, 45, None]
    assert batch.columns["town"].to_pylist() == ["a", None, None, "b"]
    assert batch.read_as == "1 blank row is a row without values"


def test_a_space_in_the_last_cell_of_a_sheet_takes_no_memory(tmp_path):
    """17 billion cells lie before it; a list of the rows alone took gigabytes."""
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    for row in [["age"], [31], [45]]:
        book.active.append(row)
    book.active["XFD1048576"] = " "
    book.save(path)
    tracemalloc.start()
    try:
        assert read_rows(path).columns["age"].to_pylist() == [31, 45]
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    book.active["XFD1048576"] = "x"
    book.save(path)
    with pytest.raises(InputError, match=r"1,048,572 rows before row 1,048,576 .* are blank"):
        read_rows(path)


def test_formulas_without_values_are_refused(tmp_path):
    """They read as empty cells, and the column was lost without a word."""
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    for row in (["a", "b"], [1, "=A2*2"], [2, "=A3*2"]):
        book.active.append(row)
    book.save(path)
    with pytest.raises(InputError, match=r"has 2 formulas and no value of any.*save it once"):
        read_rows(path)
    _put_value(path, b"<f>A3*2</f><v></v>", b"<f>A3*2</f><v>4</v>")  # as a spreadsheet saves it
    assert read_rows(path).columns["b"].to_pylist() == [None, 4]


def _put_value(path, old, new):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    members[name] = members[name].replace(b"<v />", b"<v></v>")
    assert old in members[name]
    members[name] = members[name].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"anything")
    with pytest.raises(ImportError, match=r"t\.xlsx needs the package 'openpyxl'.*nnpu\[excel\]"):
        read_rows(tmp_path / "t.xlsx")


LEAVE_EARLY = """
import sys
import torch  # makes the end of the interpreter long enough for a thread to be noticed
from nnpu.data.streams import stream_rows

def first(path):
    for batch in stream_rows(path):
        raise ValueError(batch.n_rows)

try:
    first(sys.argv[1])
except ValueError as error:
    kept = error
    sys.exit(2)
"""


def test_a_reader_that_is_left_early_does_not_abort_the_process(tmp_path):
    """An exception keeps the reader alive until the interpreter ends, as in a command.

    Reading through Python aborted in a third of the runs.
    """
    text = "a,b\n" + "12345,some words\n" * 200_000
    (tmp_path / "t.csv").write_bytes(gzip.compress(text.encode()))
    for _ in range(10):
        command = [sys.executable, "-c", LEAVE_EARLY, str(tmp_path / "t.csv")]
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (2, "")
