"""Which columns of a table matter, and why a row has its score."""

import csv
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from nnpu import TablePU, load
from nnpu.parameters import InputError
from nnpu.table import write_predictions
from nnpu.table.folder import _compared, _explained
from nnpu.table.predictions import write_top
from nnpu.table.table_explain import reasons_of


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.random(900) < 0.3
    return pa.table(
        {
            "id": [f"r{i}" for i in range(900)],
            "noise": rng.normal(size=900),
            "amount": rng.normal(np.where(y, 3, 0), 1),
            "town": np.where(rng.random(900) < 0.3 + 0.4 * y, "Ulm", "Bonn"),
            "known": np.where(y & (rng.random(900) < 0.5), "yes", ""),
        }
    )


@pytest.fixture(scope="module", params=["linear", "trees"])
def model(request, table):
    return TablePU(0.3, model=request.param).fit(table, "known")


def test_the_column_that_decides_comes_first_and_noise_is_near_zero(model):
    found = {name: (value, low) for name, value, low, _ in model.explained_.importance}
    assert next(iter(found)) == "amount"
    assert found["amount"][1] > 0.1
    assert abs(found["noise"][0]) < 0.05
    assert set(found) == {"noise", "amount", "town"}  # a column, however many features it has


def test_rows_to_look_at_say_which_columns_put_them_there(model):
    top = model.holdout_.ranking.top[0].name
    assert re.match(r"amount = [\d.]+ \(\+[\d.]+\); ", model.explained_.why[top])  # its cells
    # Lines break between columns, not before a number.
    shown = model.explained_.why[top].replace(" (-", "\u00a0(\u2212").replace(" (+", "\u00a0(+")
    shown = shown.replace(" = ", "\u00a0=\u00a0")
    assert shown in model.report()._repr_html_()


def test_explanations_survive_a_folder(model, tmp_path):
    assert load(model.save(tmp_path / "m")).explained_ == model.explained_


@pytest.mark.parametrize("plain", [5, [[["a", 1]], {}], [[["a", "x", 1, 2]], {}], [[], 7]])
def test_a_folder_with_nonsense_for_explanations_is_refused(plain):
    with pytest.raises(InputError, match="cannot be understood"):
        _explained(plain)


def test_explained_predictions_add_up_to_the_score(model, table, tmp_path):
    pa.csv.write_csv(table, tmp_path / "t.csv")
    write_predictions(model, tmp_path / "t.csv", tmp_path / "p.csv", explain=True)
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    names = ["why_base", "why_noise", "why_amount", "why_town", "why_out_of_fold"]
    assert list(rows[0]) == ["id", "score", "probability", "prediction", "rank", *names]
    sums = [sum(float(row[name]) for name in names) for row in rows]
    assert np.allclose(sums, [float(row["score"]) for row in rows], atol=1e-4)
    assert len({row["why_base"] for row in rows}) == 1
    write_predictions(model, tmp_path / "t.csv", tmp_path / "plain.csv")
    plain = list(csv.DictReader((tmp_path / "plain.csv").read_text().splitlines()))
    assert [row["score"] for row in plain] == [row["score"] for row in rows]


def test_a_row_has_the_same_reasons_in_the_report_and_in_every_list(model, table, tmp_path):
    """Whatever file it stands in, and after the model was stored."""
    model = load(model.save(tmp_path / "m"))
    why = {name: line for name, line in model.explained_.why.items() if line}
    mixed = table.take(np.random.default_rng(1).permutation(900)[:700])
    new = model.evaluate(mixed, "known")
    found = reasons_of(model, new)
    assert sum(name in why for name in found) >= 10
    assert all(why.get(name, line) == line for name, line in found.items())
    for name, part in (("all", table), ("some", mixed.drop_columns("known"))):
        pa.csv.write_csv(part, tmp_path / f"{name}.csv")
        write_top(model, tmp_path / f"{name}.csv", tmp_path / f"{name}-top.csv", 200)
        listed = pyarrow.csv.read_csv(tmp_path / f"{name}-top.csv").to_pylist()
        known = [row for row in listed if row["id"] in why]
        assert len(known) >= 5
        assert all(row["why"] == why[row["id"]] for row in known)


def test_reasons_are_the_numbers_of_explained_predictions(model, table, tmp_path):
    """What `predict --top` rounds in words is what `predict --explain` writes in columns."""
    pa.csv.write_csv(table, tmp_path / "t.csv")
    write_predictions(model, tmp_path / "t.csv", tmp_path / "p.csv", explain=True)
    every = {row["id"]: row for row in pyarrow.csv.read_csv(tmp_path / "p.csv").to_pylist()}
    explained = model.explain(table.slice(0, 1).drop_columns("known"))
    first = [every["r0"][f"why_{name}"] for name in explained.columns]
    assert np.allclose(first, explained.values[0], atol=1e-6)
    write_top(model, tmp_path / "t.csv", tmp_path / "top.csv", 20)
    for row in pyarrow.csv.read_csv(tmp_path / "top.csv").to_pylist():
        for name, number in re.findall(r"(\w+) = \S+ \(([+-][\d.]+)\)", row["why"]):
            assert abs(every[row["id"]][f"why_{name}"] - float(number)) <= 0.00501


def test_a_folder_with_forged_rows_to_compare_with_is_refused():
    rows = {"compared": np.ones(2), "compared.gaps": np.zeros(2, bool)}
    rows |= {"compared.columns": np.int32([0, 7]), "compared.ends": np.int32([0, 1, 2])}
    assert _compared(rows, 8, beside=False).shape == (2, 8)
    for forged in ({"compared.columns": np.int32([0, 8])}, {"compared.ends": np.int32([0, 3, 2])}):
        with pytest.raises(InputError, match="cannot be understood"):
            _compared(rows | forged, 8, beside=False)


def test_explained_new_rows_add_up_without_a_rest(model, table, tmp_path):
    pa.csv.write_csv(table.drop_columns("known"), tmp_path / "t.csv")
    write_predictions(model, tmp_path / "t.csv", tmp_path / "p.csv", explain=True)
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    names = ["why_base", "why_noise", "why_amount", "why_town"]
    assert list(rows[0])[5:] == names
    sums = [sum(float(row[name]) for name in names) for row in rows]
    assert np.allclose(sums, [float(row["score"]) for row in rows], atol=1e-4)
