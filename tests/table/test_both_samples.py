"""Where rows look like the other kind of sampling, it is said, in both directions."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from nnpu import TablePU


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


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("sampling", ["one-sample", "two-sample"])
def test_labelled_rows_inside_the_range_of_ids_are_one_list(inside, sampling):
    cells, y = rows(500, 1)
    s = (y & (np.random.default_rng(2).random(500) < 0.5)).astype(int)
    order = np.arange(500) if inside else np.argsort(s, kind="stable").argsort()
    table = pa.table(cells | {"row_id": order})
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
