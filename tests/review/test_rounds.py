"""A review in rounds: sheets out, answers in, and everything that can go wrong between."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nnpu.parameters import InputError
from nnpu.review import Review, audit, draw
from nnpu.review.audits import FIGURES
from nnpu.review.sheets import COLUMNS, Stamp, parse_answer, read_sheets, sheet_text

RNG = np.random.default_rng(0)
N = 600
P = RNG.beta(0.6, 1.2, size=N)
Y = (RNG.random(N) < P).astype(float)
IDS = [f"case-{i}" for i in RNG.permutation(N)]
AT = {name: i for i, name in enumerate(IDS)}


def sheet(path, n=40, review=None, purpose="estimate", **options):
    review = review or Review(P, ids=IDS, model="m1")
    review.draw(n, purpose=purpose, random_state=0)
    review.write(path, **options)
    return review


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def save(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def fill(path, how=lambda i, row: {1.0: "yes", 0.0: "no"}[Y[AT[row["id"]]]]):
    rows = rows_of(path)
    for i, row in enumerate(rows):
        row["answer"] = how(i, row)
    save(path, rows)
    return rows


def fresh():
    return Review(P, ids=IDS, model="m1")


def check_same(found, expected):
    """The chances of a sheet have twelve digits, so figures differ in the last ones."""
    for name in FIGURES:
        figure, wanted = getattr(found, name), getattr(expected, name)
        assert tuple(figure) == pytest.approx(tuple(wanted), rel=1e-9)
    assert (found.answered, found.notes) == (expected.answered, expected.notes)


def test_a_sheet_holds_what_a_reviewer_needs(tmp_path):
    table = pd.DataFrame({"amount": np.arange(N), "answer": ["=1+1"] * N})
    reasons = [f"because {i}" for i in range(N)]
    sheet(tmp_path / "review.csv", table=table, reasons=reasons)
    rows = rows_of(tmp_path / "review.csv")
    assert list(rows[0]) == [*COLUMNS, "amount", "answer (table)"]
    assert len(rows) == 40
    for row in rows:
        i = AT[row["id"]]
        assert row["answer"] == ""
        assert (row["amount"], row["reasons"]) == (str(i), f"because {i}")
        assert float(row["probability"]) == pytest.approx(P[i], rel=1e-11)
        assert 0 < float(row["chance"]) <= 1
        assert max(len(row[name].lstrip("0.")) for name in ("probability", "chance")) <= 12


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict"])
def test_any_table_gives_the_same_sheet(tmp_path, kind):
    columns = {"a": list(range(N)), "b": [None if i % 7 else "x" for i in range(N)]}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "dict": dict}
    sheet(tmp_path / "one.csv", table=table[kind](columns))
    sheet(tmp_path / "two.csv", table=columns)
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()


def test_answers_come_back_as_the_audit_of_the_draw(tmp_path):
    path = tmp_path / "review.csv"
    drawn = sheet(path).draws[0]
    rows = fill(path)
    save(path, rows[::-1])  # sorted otherwise by a spreadsheet
    found = fresh().read(path)
    check_same(found.audit(threshold=0.4), audit(P, drawn, Y[drawn.rows], threshold=0.4))
    assert found.notes == []


def test_a_sheet_with_all_digits_is_read_as_it_was_written(tmp_path):
    """Sheets of before had 17 digits: 0.15000000000000005, which is 0.15 now."""
    path = tmp_path / "review.csv"
    drawn = Review(np.full(20, 0.5)).draw(3, random_state=0)
    noisy = replace(drawn, chance=np.full(3, 0.15000000000000005))
    text = sheet_text(noisy, Stamp(1, "estimate", 3, 20, 20, 10.0, "", ""), IDS, {}, None)
    assert [line.split(",")[4] for line in text.splitlines()] == ["chance", *["0.15"] * 3]
    drawn = sheet(path).draws[0]
    rows = fill(path)
    for row, p, chance in zip(rows, drawn.probability, drawn.chance, strict=True):
        row["probability"], row["chance"] = repr(float(p)), repr(float(chance))
    save(path, rows)
    assert fresh().read(path).audit() == audit(P, drawn, Y[drawn.rows])


def test_rounds_add_up_and_never_ask_twice(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    sheet(one)
    fill(one)
    sheet(two, 30, fresh().read(one))
    fill(two)
    found = fresh().read(two, one)
    assert not set(found.draws[0].rows) & set(found.draws[1].rows)
    by_hand = draw(P, 30, exclude=found.draws[0].rows, random_state=0)
    np.testing.assert_array_equal(found.draws[1].rows, by_hand.rows)
    expected = audit(P, found.draws, [Y[d.rows] for d in found.draws])
    check_same(found.audit(), expected)
    both = tmp_path / "both.csv"
    both.write_text(one.read_text() + two.read_text())  # one sheet below the other
    check_same(fresh().read(both).audit(), expected)


def test_labelled_rows_are_never_drawn(tmp_path):
    known = np.where((Y == 1) & (np.arange(N) % 3 == 0), 1.0, np.nan)
    review = Review(P, known=known)
    drawn = review.draw(50, random_state=0)
    assert np.isnan(known[drawn.rows]).all()
    found = review.answer(Y[drawn.rows]).audit()
    assert found.precision_unlabelled is not None
    assert found == audit(P, drawn, Y[drawn.rows], known=known)


@pytest.mark.parametrize("purpose", ["learning", "finding", {"finding": 0.25, "estimate": 0.75}])
def test_every_purpose_survives_the_sheet(tmp_path, purpose):
    path = tmp_path / "review.csv"
    drawn = sheet(path, purpose=purpose).draws[0]
    fill(path)
    back = fresh().read(path).draws[0]
    assert back.purpose == purpose
    np.testing.assert_array_equal(back.rows, drawn.rows)
    np.testing.assert_allclose(back.chance, drawn.chance)


def test_a_sheet_answered_to_some_row_is_a_smaller_draw(tmp_path):
    path = tmp_path / "review.csv"
    drawn = sheet(path).draws[0]
    answer = {1.0: "y", 0.0: "n"}
    rows = fill(path, lambda i, row: answer[Y[AT[row["id"]]]] if i < 25 else "")
    save(path, rows[::-1])  # the place in the draw counts, not that in the file
    found = fresh().read(path)
    part = drawn.first(25)
    check_same(found.audit(), audit(P, part, Y[part.rows]))
    assert "the last 15 rows are blank: draw 1 counts as one of 25 rows" in found.notes[0]


def test_blanks_between_answers_count_as_dont_know(tmp_path):
    path = tmp_path / "review.csv"
    drawn = sheet(path).draws[0]
    fill(path, lambda i, row: "" if i in (3, 8) else "?" if i == 5 else "1" if i % 2 else "0")
    found = fresh().read(path)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found.answers[0])), [3, 5, 8])
    assert found.audit().dont_know == 3
    assert "2 rows between answered ones are blank" in found.notes[0]
    assert len(found.draws[0]) == len(drawn)


def test_a_sheet_sorted_and_answered_from_its_top_is_no_smaller_draw(tmp_path):
    path = tmp_path / "review.csv"
    sheet(path)
    save(path, sorted(rows_of(path), key=lambda row: float(row["probability"])))
    fill(path, lambda i, row: "no" if i < 25 else "")
    found = fresh().read(path)
    assert len(found.draws[0]) == 40
    assert found.audit().dont_know == 15


def test_two_reviewers_are_merged_and_their_agreement_kept(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    sheet(one)
    two.write_text(one.read_text())
    fill(one)
    fill(two, lambda i, row: "no" if i < 6 else {1.0: "yes", 0.0: "no"}[Y[AT[row["id"]]]])
    found = fresh().read(one, second=two)
    differ = int((Y[found.draws[0].rows][:6] == 1).sum())
    assert differ > 0
    assert found.agreement.rows - found.agreement.agreed == differ
    assert found.audit().dont_know == differ
    assert f"differ on {differ} of 40 rows" in found.notes[0]


def test_a_spreadsheet_runs_no_cell_of_a_sheet_and_ids_come_back(tmp_path):
    path, ids = tmp_path / "review.csv", [f"=cmd|{i}" for i in range(N)]
    review = Review(P, ids=ids)
    review.draw(20, random_state=0)
    review.write(path, table={"a": ["@SUM(1)"] * N, "b": ["-3.5"] * N, "c": ["-x"] * N})
    rows = rows_of(path)
    assert {(row["id"][:2], row["a"], row["b"], row["c"]) for row in rows} == {
        ("'=", "'@SUM(1)", "-3.5", "'-x")
    }
    for row in rows:
        row["answer"] = "no"
    save(path, rows)
    back = Review(P, ids=ids).read(path)
    np.testing.assert_array_equal(back.draws[0].rows, review.draws[0].rows)


def test_spreadsheets_may_change_delimiter_and_mark(tmp_path):
    path = tmp_path / "review.csv"
    sheet(path)
    rows = fill(path)
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    assert fresh().read(path).audit().answered == 40


def change(**cells):
    return lambda rows: [{**row, **cells} if i == 2 else row for i, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change(id="case-none"), "ids that are not in the data: 1, such as 'case-none'"),
        (change(answer="maybe"), r"line 4: the answer 'maybe' is not understood"),
        (change(chance="0.9"), "column chance was changed"),
        (change(chance="much"), "must stay as they were"),
        (change(review="1"), "must stay as they were"),
        (change(probability="0.123"), "drawn with other probabilities"),
        (lambda rows: rows[:-3], "had 40 rows, and 37 are here"),
        (lambda rows: [*rows, {**rows[0], "answer": "?"}], "has a second, different answer"),
        (lambda rows: [{**row, "answer": ""} for row in rows], "no row of draw 1 is answered"),
        (lambda rows: [{"id": row["id"]} for row in rows], "has no column answer"),
    ],
)
def test_a_sheet_that_was_spoilt_is_refused(tmp_path, edit, message):
    path = tmp_path / "review.csv"
    sheet(path)
    save(path, edit(fill(path)))
    review = fresh()
    with pytest.raises(InputError, match=message):
        review.read(path)
    assert review.draws == []  # nothing half read


def test_a_copied_line_is_left_out_and_said(tmp_path):
    path = tmp_path / "review.csv"
    sheet(path)
    rows = fill(path)
    save(path, [*rows, rows[5]])
    found = fresh().read(path)
    assert "a second copy of" in found.notes[0]
    assert found.audit().answered == 40


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (Review(P, ids=IDS, model="m2"), r"another model \(m1, not m2\)"),
        (Review(P, ids=[*IDS[:-1], "new"], model="m2"), r"another model \(m1, not m2\)"),
        (Review(1 - P, ids=IDS), "drawn with other probabilities"),
        (Review(P, ids=[*IDS[:-1], "new"]), "not in the data|the data changed"),
        (Review(np.append(P, 0.5), ids=[*IDS, "more"]), "the data changed since the draw"),
        (Review(P), "not in the data"),
        (
            Review(P, ids=IDS, known=np.where(np.arange(N) < 300, Y, np.nan)),
            "other rows were known",
        ),
    ],
)
def test_other_data_and_models_are_refused(tmp_path, review, message):
    path = tmp_path / "review.csv"
    sheet(path)
    fill(path)
    with pytest.raises(InputError, match=message):
        review.read(path)


def test_rounds_must_be_complete_and_different(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    sheet(one)
    fill(one)
    sheet(two, 30, fresh().read(one))
    fill(two)
    with pytest.raises(InputError, match="is draw 2, and draw 1 is missing"):
        fresh().read(two)
    with pytest.raises(InputError, match="draw 1 was read twice"):
        fresh().read(one, one)
    with pytest.raises(InputError, match="is not a second copy"):
        fresh().read(one, second=two)


def test_a_round_waits_for_its_answers():
    review = Review(P)
    with pytest.raises(InputError, match="no answers yet"):
        review.audit()
    with pytest.raises(InputError, match="call draw first"):
        review.write("review.csv")
    review.draw(10)
    with pytest.raises(InputError, match="read its sheet first"):
        review.draw(10)


def test_ids_must_be_different():
    with pytest.raises(InputError, match="the id 'a' occurs twice"):
        Review([0.1, 0.2, 0.3], ids=["a", "b", "a"])
    with pytest.raises(InputError, match="2 ids were given for 3 rows"):
        Review([0.1, 0.2, 0.3], ids=["a", "b"])


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"a,b\n1,2\n"])
def test_a_file_that_is_no_sheet_is_refused(tmp_path, content):
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_sheets(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_sheets(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("cell", "value"), [("YES ", 1), ("y", 1), ("1", 1), ("1.0", 1), ("No", 0), ("n", 0), ("0", 0)]
)
def test_answers_are_read_as_people_write_them(cell, value):
    assert parse_answer(cell) == value
    assert np.isnan(parse_answer("don\N{RIGHT SINGLE QUOTATION MARK}t know"))
    assert parse_answer("  ") is None
