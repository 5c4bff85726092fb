"""Ids of customers with several rows: no feature, and their rows stay together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nnpu import TablePU, load
from nnpu.cli import main
from nnpu.table.columns.repeated_ids import repeated_ids
from nnpu.table.reading import as_batch


def customers(seed=0, n=300, each=10):
    """Customers with some rows each; the labels are per customer, the columns say little."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    who = rng.permutation(np.repeat(np.arange(n), each))
    s = (y & (rng.random(n) < 0.4))[who].astype(int)
    x = rng.normal(0.15 * y[who][:, None], 1, (n * each, 2))
    return {"x0": x[:, 0], "x1": x[:, 1]}, s, who, rng


def names_found(columns, s):
    batch = as_batch(pa.table(columns))
    return [one.name for one in repeated_ids(batch, np.asarray(s, np.int8))]


@pytest.mark.parametrize("name", ["customer_id", "customerID", "customer"])
@pytest.mark.parametrize("numeric", [True, False])
def test_an_id_that_repeats_is_no_feature_and_keeps_its_rows_together(name, numeric, capsys):
    columns, s, who, rng = customers()
    ids = rng.permutation(300)[who] + 1000
    cells = ids if numeric else np.array([f"c{one}" for one in ids])
    table = pa.table(columns | {name: cells, "s": s})
    model = TablePU(0.3, model="linear", verbose=1).fit(table, "s")
    assert model.columns_.raw_names == ["x0", "x1"]
    assert model.groups_ == name
    fold = model.holdout_.fold
    assert all(len(set(fold[who == one])) == 1 for one in range(300))
    assert f"--keep {name}" in " ".join(capsys.readouterr().out.split())


def test_a_kept_id_is_a_feature_as_before(capsys):
    columns, s, who, _ = customers()
    table = pa.table(columns | {"customer_id": who, "s": s})
    with pytest.warns(UserWarning, match="'customer_id'.*almost separates"):  # but not in silence
        model = TablePU(0.3, model="linear", keep=["customer_id"], verbose=1).fit(table, "s")
    assert model.columns_.raw_names == ["x0", "x1", "customer_id"]
    assert model.groups_ is None
    assert "Repeated id" not in capsys.readouterr().out


def test_a_site_with_five_levels_is_a_feature_and_so_are_towns_and_ages():
    columns, s, _, rng = customers()
    n = len(s)
    columns |= {
        "site_id": rng.integers(5, size=n),
        "town": rng.integers(60, size=n).astype(str),
        "age": rng.integers(18, 90, size=n),
        "order_no": rng.permutation(n),
    }
    assert names_found(columns, s) == []


def test_an_age_that_decides_is_a_feature():
    """Every row above 60 is labelled: rows of one age agree, and so do those of the next one."""
    columns, s, _, rng = customers()
    age = rng.integers(18, 90, size=len(s))
    assert names_found(columns | {"age": age}, age > 60) == []
    assert names_found(columns | {"code": rng.permutation(100)[age]}, age > 60) == ["code"]


def test_a_table_three_times_has_no_repeated_ids():
    """Equal rows share all they have, amounts in cents as well."""
    rng = np.random.default_rng(0)
    columns = {"amount": np.tile(rng.integers(1_000_000, size=500), 3)}
    columns["x"] = np.tile(rng.normal(size=500), 3)
    assert names_found(columns, np.tile(rng.random(500) < 0.3, 3)) == []


def test_what_follows_from_an_id_is_a_feature_and_the_id_with_the_labels_comes_first():
    columns, s, who, rng = customers()
    columns |= {"product_id": rng.integers(200, size=len(s)), "customer_id": who}
    columns["income"] = rng.integers(100_000, size=300)[who]
    assert names_found(columns, s) == ["customer_id", "product_id"]


def test_rows_without_an_id_stand_alone():
    _, s, who, _ = customers()
    cells = pa.array(np.where(who < 250, who, -1)).to_pylist()
    batch = as_batch(pa.table({"customer_id": [None if c == -1 else c for c in cells]}))
    (found,) = repeated_ids(batch, s.astype(np.int8))
    assert len(np.unique(found.groups)) == 250 + int((who >= 250).sum())


def test_groups_that_were_given_stay_the_groups():
    columns, s, who, _ = customers()
    table = pa.table(columns | {"customer_id": who, "clinic": who // 10, "s": s})
    model = TablePU(0.3, model="linear", groups="clinic").fit(table, "s")
    assert model.groups_ == "clinic"
    assert model.columns_.raw_names == ["x0", "x1"]


def test_a_folder_remembers_what_was_kept_together(tmp_path, capsys):
    columns, s, who, _ = customers()
    import pyarrow.csv

    pyarrow.csv.write_csv(pa.table(columns | {"customer_id": who, "s": s}), tmp_path / "t.csv")
    where = ["--label", "s", "--prior", "0.3", "--model", "linear", "--out", str(tmp_path / "m")]
    main(["fit", str(tmp_path / "t.csv"), *where])
    assert "Repeated id: customer_id (300 values with about 10 rows each)" in (
        " ".join(capsys.readouterr().out.split())
    )
    assert load(tmp_path / "m").groups_ == "customer_id"
    main(["fit", str(tmp_path / "t.csv"), *where, "--keep", "customer_id"])
    model = load(tmp_path / "m")
    assert (model.groups_, list(model.keep)) == (None, ["customer_id"])
    with pytest.raises(SystemExit) as stopped:
        main(["fit", str(tmp_path / "t.csv"), *where, "--keep", "costumer_id"])
    assert stopped.value.code == 2
