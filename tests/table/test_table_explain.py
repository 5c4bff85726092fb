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
from nnpu.table.folder import _explained


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


def test_explained_new_rows_add_up_without_a_rest(model, table, tmp_path):
    pa.csv.write_csv(table.drop_columns("known"), tmp_path / "t.csv")
    write_predictions(model, tmp_path / "t.csv", tmp_path / "p.csv", explain=True)
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    names = ["why_base", "why_noise", "why_amount", "why_town"]
    assert list(rows[0])[5:] == names
    sums = [sum(float(row[name]) for name in names) for row in rows]
    assert np.allclose(sums, [float(row["score"]) for row in rows], atol=1e-4)
