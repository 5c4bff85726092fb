"""Where rows look like the other kind of sampling, it is said, in both directions."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from nnpu import TablePU
from nnpu.cli import main


def rows(n, seed, share=0.3):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    return {"size": rng.normal(3.0 * y, 1), "age": rng.integers(20, 90, n)}, y


def remarks(job):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        job()
    return [str(one.message) for one in said if "sampling=" in str(one.message)]


@pytest.mark.parametrize("sampling", ["one-sample", "two-sample"])
def test_labelled_rows_that_stand_in_the_list_again_are_no_single_sample(sampling):
    """The list of all customers, and below it the positives once more."""
    cells, y = rows(400, 0)
    again = np.flatnonzero(y)[:80]
    table = pa.table({name: np.r_[column, column[again]] for name, column in cells.items()})
    s = np.repeat([0, 1], [400, 80])
    found = remarks(lambda: TablePU(0.3, model="linear", sampling=sampling).fit(table, s))
    assert len(found) == 1
    if sampling == "one-sample":
        assert "80 unlabelled rows are equal to one of the 80 labelled rows" in found[0]
    else:
        assert "80 of the 400 unlabelled rows are labelled positives too" in found[0]


def test_rows_that_are_equal_by_chance_are_no_sign():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.4
    table = pa.table({"a": rng.integers(0, 4, 600) + y, "b": rng.integers(0, 3, 600)})
    s = (y & (rng.random(600) < 0.5)).astype(int)
    assert remarks(lambda: TablePU(0.4, model="linear").fit(table, s)) == []


@pytest.mark.parametrize("prefix", [None, "s"])
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("sampling", ["one-sample", "two-sample"])
def test_labelled_rows_inside_the_range_of_ids_are_one_list(inside, sampling, prefix):
    cells, y = rows(500, 1)
    s = (y & (np.random.default_rng(2).random(500) < 0.5)).astype(int)
    order = np.arange(500) if inside else np.argsort(s, kind="stable").argsort()
    ids = order if prefix is None else [f"{prefix}{number:05d}" for number in order]
    table = pa.table(cells | {"row_id": ids})
    found = remarks(lambda: TablePU(0.3, model="linear", sampling=sampling).fit(table, s))
    if inside and sampling == "two-sample":
        assert len(found) == 1
        assert "('row_id') of labelled and unlabelled rows come from one list" in found[0]
    else:
        assert found == []  # another range is said of one sample, in words of its own


def test_rows_in_both_tables_are_noticed_whatever_their_ids_are():
    cells, y = rows(300, 3)
    p = {name: column[y][:40] for name, column in cells.items()}
    u = pa.table(cells | {"row_id": np.arange(300)})
    with pytest.warns(
        UserWarning, match="40 of the 300 unlabelled rows are labelled positives too"
    ):
        TablePU(0.3, model="linear").fit_two(pa.table(p | {"row_id": np.arange(900, 940)}), u)


def test_where_equal_rows_have_equal_ids_other_equal_rows_are_chance():
    """Three customers are like labelled ones in every cell but the id: they stay."""
    cells, y = rows(300, 3)
    labelled = np.flatnonzero(y)[:40]
    again = np.r_[np.arange(300), labelled[:3]]
    u = pa.table({n: c[again] for n, c in cells.items()} | {"row_id": np.arange(303)})
    p = pa.table({n: c[labelled] for n, c in cells.items()} | {"row_id": labelled})
    with pytest.warns(UserWarning, match="40 of the 303 unlabelled rows are labelled"):
        model = TablePU(0.3, model="linear").fit_two(p, u)
    assert model.n_unlabelled_ == 263


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory):
    """Positives, a list that holds them too, the model of both, and its folder."""
    folder = tmp_path_factory.mktemp("two")
    cells, y = rows(300, 3)
    labelled = np.flatnonzero(y)[:40]
    u = pa.table(cells | {"row_id": np.arange(300)})
    with pytest.warns(UserWarning, match="labelled positives too"):
        model = TablePU(0.3, model="linear").fit_two(u.take(labelled), u)
    model.save(folder / "model")
    pa.csv.write_csv(u, folder / "all.csv")
    return labelled, u, model, folder


def test_labelled_rows_of_two_tables_are_not_in_the_list(two_tables, capsys):
    """No file has their labels: they are known by their cells."""
    labelled, u, model, folder = two_tables
    job = ["predict", str(folder / "model"), str(folder / "all.csv"), "--out"]
    main([*job, str(folder / "next.csv"), "--top", "60"])
    assert "the list (40 labelled rows of the fit left out)" in capsys.readouterr().out
    first = pa.csv.read_csv(folder / "next.csv")["row_id"].to_numpy()
    assert len(first) == 60
    assert not np.isin(first, labelled).any()
    main([*job, str(folder / "p.csv")])
    found = pa.csv.read_csv(folder / "p.csv")
    rank = found["rank"].to_numpy()
    assert np.flatnonzero(np.isnan(rank)).tolist() == labelled.tolist()
    assert np.argsort(rank)[:60].tolist() == first.tolist()
    assert np.allclose(found["score"].to_numpy(), model.decision_function(u))


def test_rows_of_a_fit_to_two_tables_have_the_scores_that_judged_them(two_tables):
    labelled, u, model, _ = two_tables
    rest = np.setdiff1d(np.arange(300), labelled)
    judged = model.holdout_.scores[model.holdout_.s == 0]
    assert np.array_equal(model.decision_function(u.take(rest)), judged)
    other = pa.table({"size": [3.0], "age": [41], "row_id": [999]})
    assert np.isfinite(model.decision_function(other)).all()


def test_rows_that_equal_those_of_another_list_by_chance_stay_in_the_list(tmp_path):
    """In whole sizes and decades many customers are alike, those of two lists too."""
    u, other = (
        pa.table({"size": cells["size"].round(), "decade": cells["age"] // 10})
        for cells, _ in (rows(303, 3), rows(40, 4, share=1))
    )
    TablePU(0.3, model="linear").fit_two(other, u).save(tmp_path / "m")
    pa.csv.write_csv(u, tmp_path / "all.csv")
    out = tmp_path / "p.csv"
    main(["predict", str(tmp_path / "m"), str(tmp_path / "all.csv"), "--out", str(out)])
    assert np.sort(pa.csv.read_csv(out)["rank"].to_numpy()).tolist() == list(range(1, 304))


def test_nobody_is_asked_about_labelled_rows_of_two_tables(two_tables):
    labelled, u, model, _ = two_tables
    review = model.review(u)
    assert not np.isin(review.next(100), labelled).any()
