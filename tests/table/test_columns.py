"""Columns to features: what each kind makes of cells, inferred, stored and applied again."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from nnpu.data.streams import Batch
from nnpu.parameters import InputError
from nnpu.table.columns import fit_columns, read_label_cells
from nnpu.table.columns.categories import Category
from nnpu.table.columns.column_kinds import fit_column
from nnpu.table.columns.column_plan import plan_from_json
from nnpu.table.columns.numbers import Number


def column(cells, name="c", rows=None):
    cells = cells if isinstance(cells, pa.Array) else pa.array(cells)
    return fit_column(name, cells, np.arange(len(cells)) if rows is None else np.array(rows))


def batch(first=0, **columns):
    cells = {name: pa.array(values) for name, values in columns.items()}
    return Batch(cells, {}, len(next(iter(cells.values()))), first, "table.csv")


def test_numbers_are_standardised_and_gaps_get_the_median_and_an_indicator():
    """1, 2, 6: median 2, mean 3, variance (4 + 1 + 9)/3 = 14/3."""
    fitted = column(["1", "2", "6", "NA"])
    block = fitted.transform(pa.array(["6", ""]))
    scale = np.sqrt(14 / 3)
    np.testing.assert_allclose(block, [[3 / scale, 0], [-1 / scale, 1]], rtol=1e-6)


def test_a_gap_where_training_had_none_becomes_the_median_alone():
    fitted = column(["1", "2", "6"])
    assert fitted.width == 1
    assert fitted.transform(pa.array([""]))[0, 0] == pytest.approx(-1 / np.sqrt(14 / 3))


def test_only_the_training_rows_are_measured():
    fitted = column(["1", "2", "6", "1000"], rows=[0, 1, 2])
    assert isinstance(fitted, Number)
    assert (fitted.median, fitted.centre) == (2, 3)


def test_the_kind_is_chosen_by_all_rows():
    """The training rows alone are numbers, and "x" would then be an error."""
    assert column(["1", "1", "2", "2", "x"], rows=[0, 1, 2, 3]).kind == "category"


def test_categories_have_a_feature_each_and_rare_ones_share_one():
    fitted = column(["a", "a", "a", "b", "b", "c", None])
    assert isinstance(fitted, Category)
    assert (fitted.values, fitted.other, fitted.missing) == (["a", "b"], True, True)
    block = fitted.transform(pa.array(["b", "a", "c", "never seen", "?"]))
    assert block.tolist() == [
        [0, 1, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_an_unseen_category_is_all_zero_where_no_rare_one_was_seen():
    fitted = column(["a", "a", "b", "b"])
    assert fitted.transform(pa.array(["z", None, "a"])).tolist() == [[0, 0], [0, 0], [1, 0]]


def test_at_most_fifty_categories_are_kept_the_most_frequent_ones():
    cells = [f"v{number:02d}" for number in range(60) for _ in range(2 + (number >= 55))]
    fitted = column(cells)
    assert len(fitted.values) == 50
    assert fitted.values[:5] == ["v55", "v56", "v57", "v58", "v59"]
    assert fitted.other


@pytest.mark.parametrize("cells", [["yes", "no", ""], ["True", "False", "NA"], [True, False, None]])
def test_truth_is_one_zero_and_an_indicator(cells):
    fitted = column(cells)
    assert fitted.kind == "boolean"
    assert fitted.transform(pa.array(cells)).tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e2", "+4"], "number"),
        (pa.array([1, 2, None]), "number"),
        (pa.array(["a", "b", "a", "b"]).dictionary_encode(), "category"),
        (pa.array([1, 2, 1, 2]).dictionary_encode(), "category"),  # pandas' categories
        (["", "NA", None], "dropped"),
        (pa.array([None, None], pa.float64()), "dropped"),
        (["same", "same"], "dropped"),
        (pa.array([7, 7]), "dropped"),
        ([f"code{number}" for number in range(100)], "dropped"),
        ([f"she said {number} words" for number in range(100)], "text"),
        (["01.02.03", "a", "a", "b", "b"], "category"),
    ],
)
def test_the_kind_of_a_column_is_inferred(cells, kind):
    assert column(cells).kind == kind


def test_a_script_without_spaces_is_text_by_its_characters():
    sentences = [f"今天天气很好我们去公园散步{number}号" for number in range(100)]
    assert column(sentences).analyzer == "char_wb"


def test_text_becomes_sparse_rows_of_unit_length_that_share_words():
    sentences = [f"the parcel number {number} is late" for number in range(100)]
    fitted = column([*sentences, None])
    block = fitted.transform(pa.array([sentences[0], sentences[1], None]))
    assert block.shape == (3, fitted.buckets)
    norms = np.sqrt((block.toarray() ** 2).sum(axis=1))
    np.testing.assert_allclose(norms, [1, 1, 0], rtol=1e-5)
    assert 0.3 < (block[[0]] @ block[[1]].T).toarray()[0, 0] < 1


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("id", ["7", "8", "9"], "id"),
        ("customer_id", ["a", "b", "c"], "id"),
        ("patientid", ["7", "8", "9"], "id"),
        ("PID", ["7", "8", "9"], "id"),
        ("paid", ["7", "8", "9"], "number"),
        ("", ["0", "1", "2"], "id"),  # the index that pandas writes
        ("id", ["7", "8", "8"], "number"),
        ("valid", ["7", "8", "9"], "number"),
    ],
)
def test_an_id_is_known_by_its_name_and_by_unique_values(name, values, kind):
    plan = fit_columns(batch(x=["1", "2", "4"], **{name: values}), np.arange(3))
    assert {entry.name: entry.kind for entry in plan.columns}[name] == kind


def test_a_second_id_is_left_out_and_a_named_one_goes_first():
    rows = batch(id=["a", "b"], user_id=["c", "d"], x=["1", "2"])
    assert fit_columns(rows, np.arange(2)).id_name == "id"
    plan = fit_columns(rows, np.arange(2), id_name="user_id")
    assert [entry.kind for entry in plan.columns] == ["dropped", "id", "number"]
    assert plan.ids(rows).to_pylist() == ["c", "d"]


def test_a_plan_survives_json_and_does_the_same_to_new_rows():
    rng = np.random.default_rng(0)
    rows = batch(
        id=[str(number) for number in range(200)],
        age=[str(value) for value in rng.normal(size=200)],
        town=rng.choice(["Ulm", "Bonn", ""], 200).tolist(),
        note=[f"he wrote note number {number}" for number in range(200)],
        s=["1", ""] * 100,
    )
    plan = fit_columns(rows, np.arange(150), label="s")
    again = plan_from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    new = batch(town=["Oz", "Ulm"], note=["a b c", ""], extra=["1", "2"], age=["", "3"])
    assert (plan.transform(new) != again.transform(new)).nnz == 0
    assert plan.transform(new).shape == (2, plan.width)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        [{"kind": "number"}],
        [{"kind": "number", "name": "a", "median": 0, "centre": 0, "scale": 0, "missing": False}],
        [{"kind": "category", "name": "a", "values": [1], "other": False, "missing": False}],
        [{"kind": "text", "name": "a", "analyzer": "word", "buckets": 10**12}],
        [{"kind": "__import__", "name": "a"}],
        [{"kind": "id", "name": "a", "code": "print()"}],
        [{"kind": "id", "name": 3}],
    ],
)
def test_a_plan_from_a_stranger_is_checked(plain):
    with pytest.raises(InputError, match="stored columns cannot be understood"):
        plan_from_json(plain)


def test_a_message_about_a_cell_counts_the_rows_of_the_whole_file():
    plan = fit_columns(batch(age=["1", "2"]), np.arange(2))
    with pytest.raises(InputError, match=r"table\.csv: Column 'age', row 1003: 'old' is not"):
        plan.transform(batch(first=1000, age=["1", "2", "old"]))


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (["1", "", "0", "-1"], [1, 0, 0, -1]),
        (["YES", "no", None, "?"], [1, 0, 0, 0]),
        (["true", "False", "t", "n"], [1, 0, 1, 0]),
        (["1.0", "0.0", "-1.0", "+1"], [1, 0, -1, 1]),
        ([True, False, None], [1, 0, 0]),
        ([1, 0, -1, None], [1, 0, -1, 0]),
        ([1.0, 0.0, None], [1, 0, 0]),
    ],
)
def test_label_cells_are_read_in_every_spelling(cells, codes):
    assert read_label_cells(pa.array(cells), "s", "t.csv").codes.tolist() == codes
