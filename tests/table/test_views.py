"""The two views of a plan: dense for networks, raw for trees."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from nnpu.data.streams import Batch
from nnpu.parameters import InputError
from nnpu.table.columns import fit_columns
from nnpu.table.columns.column_kinds import fit_column
from nnpu.table.columns.column_plan import plan_from_json
from nnpu.table.columns.drift import count_cells


def batch(first=0, **columns):
    cells = {
        name: values if isinstance(values, pa.Array) else pa.array(values)
        for name, values in columns.items()
    }
    return Batch(cells, {}, len(next(iter(cells.values()))), first, "table.csv")


TOPICS = {
    "parcel": "the parcel is late and the courier never called",
    "refund": "please refund my money to the same credit card",
}


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.choice(list(TOPICS), n)
    return batch(
        id=[f"r{number}" for number in range(n)],
        age=[None if number % 9 == 0 else str(number % 71) for number in range(n)],
        town=rng.choice(["Ulm", "Bonn", "Kiel"], n).tolist(),
        member=rng.choice(["yes", "no", ""], n).tolist(),
        signup=[f"2024-{1 + number % 12:02d}-{1 + number % 28:02d}" for number in range(n)],
        note=[f"{TOPICS[topic]} case {number}" for number, topic in enumerate(topics)],
    ), topics


def test_the_raw_view_has_a_name_for_each_feature_and_knows_its_categories():
    rows, _ = mixed()
    plan = fit_columns(rows, np.arange(300))
    raw = plan.raw(rows)
    assert raw.shape == (300, len(plan.raw_names))
    assert raw.dtype == np.float64
    assert plan.raw_names[:7] == [
        "age", "town", "member", "signup (days)", "signup (weekday)", "signup (month)",
        "note (topic 1)",
    ]  # fmt: skip
    assert plan.raw_categories == [1]
    assert np.isnan(raw[0, 0])
    assert raw[1, 0] == 1


def test_numbers_reach_trees_in_full_precision():
    """1e15 + x has its information below float32's last bit."""
    x = 1e15 + np.arange(50)
    rows = batch(x=x)
    raw = fit_columns(rows, np.arange(50)).raw(rows)
    assert raw[:, 0].tolist() == x.tolist()


def test_codes_are_the_places_of_the_categories_and_gaps_and_strangers_nan():
    fitted = fit_column("c", pa.array(["a", "a", "a", "b", "b"]), np.arange(5))
    reading = fitted.read(pa.array(["b", "a", None, "never"]))
    assert np.array_equal(fitted.raw(reading.values)[:, 0], [1, 0, np.nan, np.nan], equal_nan=True)
    assert count_cells(fitted, reading.values)[:2] == (1, 1)
    rare = fit_column("c", pa.array(["a", "a", "b", "b", "once"]), np.arange(5))
    assert rare.raw(rare.read(pa.array(["never", "once"])).values)[:, 0].tolist() == [2, 2]


def test_many_categories_keep_their_own_code_and_share_a_dense_feature():
    cells = pa.array([f"v{number % 400:03d}" for number in range(4000)])
    fitted = fit_column("c", cells, np.arange(4000))
    codes = fitted.raw(fitted.read(cells).values)[:, 0]
    assert np.unique(codes).size == 400
    assert fitted.width == 51
    assert fitted.description() == "400 categories, rare ones merged"


def test_text_is_reduced_to_directions_that_tell_topics_apart():
    rows, topics = mixed()
    plan = fit_columns(rows, np.arange(200))
    notes = [number for number, name in enumerate(plan.raw_names) if name.startswith("note")]
    raw = plan.raw(rows)[:, notes]
    centres = np.stack([raw[:200][topics[:200] == topic].mean(axis=0) for topic in TOPICS])
    near = np.argmin(((raw[200:, None] - centres) ** 2).sum(axis=2), axis=1)
    assert (np.array(list(TOPICS))[near] == topics[200:]).all()  # rows not seen in fit
    again = fit_columns(rows, np.arange(200)).raw(rows)
    assert np.array_equal(plan.raw(rows), again, equal_nan=True)


def test_a_missing_text_is_a_gap_and_unknown_words_are_zeros():
    rows, _ = mixed()
    fitted = fit_column("note", rows.columns["note"], np.arange(300))
    raw = fitted.raw(fitted.read(pa.array([None, "zyx wvu", TOPICS["parcel"]])).values)
    assert np.isnan(raw[0]).all()
    assert (raw[1] == 0).all()
    assert 0.1 < np.linalg.norm(raw[2]) <= 1.0001


def test_a_table_of_nothing_but_text_keeps_its_words():
    rows, _ = mixed()
    notes = pa.array([None, *rows.columns["note"].to_pylist()[1:]])
    alone = batch(id=rows.columns["id"], note=notes)
    plan = fit_columns(alone, np.arange(300))
    raw = plan.raw(alone)
    assert raw.shape == (300, len(plan.raw_names))
    assert {"note (parcel)", "note (refund)"} <= set(plan.raw_names)
    lengths = np.sqrt(raw.multiply(raw).sum(axis=1))
    assert lengths[0] == 0  # missing: no words
    np.testing.assert_allclose(lengths[1:], 1, rtol=1e-6)
    again = plan_from_json(json.loads(json.dumps(plan.to_json())), plan.arrays())
    assert (again.raw(alone) != raw).nnz == 0


def test_a_plan_with_text_survives_json_and_arrays():
    rows, _ = mixed()
    plan = fit_columns(rows, np.arange(200))
    plain, arrays = json.loads(json.dumps(plan.to_json())), plan.arrays()
    assert len(json.dumps(plain)) < 5000
    assert sum(array.nbytes for array in arrays.values()) < 5_000_000
    again = plan_from_json(plain, arrays)
    assert again == plan
    assert np.array_equal(again.raw(rows), plan.raw(rows), equal_nan=True)
    assert (again.transform(rows) != plan.transform(rows)).nnz == 0
    bare = plan_from_json(plain)
    assert (bare.transform(rows) != plan.transform(rows)).nnz == 0
    with pytest.raises(InputError, match="stored without its directions"):
        bare.raw(rows)


def test_damaged_arrays_are_refused():
    rows, _ = mixed()
    plan = fit_columns(rows, np.arange(200))
    arrays = plan.arrays()
    key = next(name for name in arrays if name.endswith("weights"))
    for damage in (arrays[key][:-1], np.full_like(arrays[key], np.nan)):
        with pytest.raises(InputError, match="stored columns cannot be understood"):
            plan_from_json(plan.to_json(), arrays | {key: damage})


def test_a_plan_of_version_0_1_0_has_a_raw_view_too():
    plan = plan_from_json(
        [
            {"kind": "number", "name": "a", "median": 1, "centre": 1, "scale": 1, "missing": False},
            {"kind": "category", "name": "b", "values": ["x"], "other": False, "missing": True},
            {"kind": "boolean", "name": "c", "missing": False},
        ]
    )
    rows = batch(a=["3", None], b=["x", "none"], c=["yes", "0"])
    assert np.array_equal(plan.raw(rows), [[3, 0, 1], [np.nan, np.nan, 0]], equal_nan=True)
    assert plan.transform(rows).tolist() == [[2, 1, 0, 1], [0, 0, 1, 0]]


YES_NO = [
    ["1", "0", ""], ["Ja", "Nein", ""], ["TRUE", "FALSE", "NA"], ["wahr", "falsch", ""],
    ["oui", "non", ""], ["Sí", "no", ""], ["si", "no", "none"], ["on", "off", "unknown"],
    ["1.0", "0.0", ""], [True, False, None], [1, 0, None], [1.0, 0.0, None],
]  # fmt: skip


@pytest.mark.parametrize("cells", YES_NO)
def test_yes_and_no_are_known_in_every_usual_spelling(cells):
    fitted = fit_column("member", pa.array(["yes", "no", "no"]), np.arange(3))
    raw = fitted.raw(fitted.read(pa.array(cells)).values)[:, 0]
    assert np.array_equal(raw, [1, 0, np.nan], equal_nan=True)


@pytest.mark.parametrize(("cells", "shown"), [(["yes", "maybe"], "maybe"), ([1, 2], "2")])
def test_what_is_neither_yes_nor_no_is_refused(cells, shown):
    fitted = fit_column("member", pa.array(["yes", "no", "no"]), np.arange(3))
    message = rf"Column 'member', row 12: '{shown}' is neither yes nor no"
    with pytest.raises(InputError, match=message):
        fitted.read(pa.array(cells), first=10)


def test_the_plan_of_forty_thousand_columns_can_be_saved():
    """A fit of 20,000 columns once ended with a model that was too large to save."""
    from nnpu.estimators.loading import CONFIG, LARGEST
    from nnpu.table.columns.drift import TrainingRows

    rows = batch(gene_12345=[f"{value:.3f}" for value in np.random.default_rng(0).random(200)])
    plan, training = fit_columns(rows, np.arange(200)), TrainingRows(np.arange(200))
    plan.raw(rows, training)
    size = len(json.dumps(plan.with_seen(training.seen).to_json(), indent=1))
    assert 40_000 * size < LARGEST[CONFIG]


def test_the_dense_view_keeps_differences_that_float32_loses():
    seconds = 1.7e9 + np.arange(100.0)
    assert np.unique(seconds.astype(np.float32)).size == 2
    rows = batch(seconds=seconds)
    dense = fit_columns(rows, np.arange(100)).transform(rows)
    assert dense.dtype == np.float32
    assert np.all(np.diff(dense[:, 0]) > 0)
    assert np.allclose(dense.std(axis=0), 1)
