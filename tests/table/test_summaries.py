"""Summaries of cells: the same plan, however the rows are cut into batches and come in."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from nnpu.data.streams import Batch, Faults
from nnpu.parameters import InputError
from nnpu.table.columns import fit_columns, numbers
from nnpu.table.columns.column_kinds import CellSummary
from nnpu.table.columns.column_plan import TableSummary, TrainingSummary
from nnpu.table.columns.drift import TrainingRows
from nnpu.table.columns.summaries import (
    Numbers,
    RowSample,
    Texts,
    text_hashes,
    weighted_median,
    weighted_quantiles,
)

N = 600
LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "far from zero": lambda rng, n: 1e9 + rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=n),
    "counts": lambda rng, n: rng.geometric(1e-4, size=n).astype(float),
    "mostly equal": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),
}


def summary(kind, pieces, *more):
    found = kind(*more)
    for piece in pieces:
        found.add(*piece if isinstance(piece, tuple) else (piece,))
    return found


@pytest.mark.parametrize("law", LAWS)
def test_quantiles_are_numpys_to_the_bit_while_there_are_few_distinct_numbers(law):
    values = LAWS[law](np.random.default_rng(0), 5_000)
    found = summary(Numbers, np.array_split(values, 7))
    shares = np.arange(0, 21) / 20
    assert found.exact
    assert found.median == np.median(values)
    assert found.quantiles(shares).tolist() == np.quantile(values, shares).tolist()
    low, high = np.quantile(values, [0.1, 0.9])
    inside = values.clip(low, high)
    mean, spread = found.moments(low, high)
    assert mean == pytest.approx(inside.mean(), rel=1e-12)
    assert spread == pytest.approx(inside.std(), rel=1e-6, abs=1e-12)  # 1e9 + x loses digits
    assert found.outside(low, high) == ((values < low) | (values > high)).sum()


@pytest.mark.parametrize("law", LAWS)
def test_beyond_the_bound_a_quantile_is_off_by_at_most_a_cell(law):
    """A cell's ends differ by the fraction 2^−bits; every rank is exact."""
    values = LAWS[law](np.random.default_rng(1), 60_000)
    found = summary(Numbers, np.array_split(values, 7), 4096)
    assert len(found.counts) <= 4096
    assert found.count == values.size
    assert (found.low, found.high) == (values.min(), values.max())
    # The largest number of digits: with one more there would be too many cells.
    if not found.exact:
        finer = np.unique(values).view(np.int64) >> (52 - found.bits - 1)
        assert len(np.unique(finer)) > 4096
    shares = np.arange(1, 100) / 100
    exact = np.quantile(values, shares, method="nearest")
    off = np.abs(weighted_quantiles(found.values, found.counts, shares) - exact)
    gaps = np.quantile(values, shares, method="higher") - np.quantile(
        values, shares, method="lower"
    )
    assert (off <= 2.0**-found.bits * np.abs(exact) * 1.01 + gaps).all()


@pytest.mark.parametrize("seed", range(4))
def test_numbers_do_not_depend_on_the_way_in_which_they_are_added_up(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([LAWS[law](rng, 9_000) for law in LAWS] + [[np.nan] * 10])
    whole = summary(Numbers, [values], 4096)
    pieces = np.array_split(rng.permutation(values), rng.integers(2, 40))
    parts = [summary(Numbers, [piece], 4096) for piece in pieces]
    while len(parts) > 1:  # a tree of merges, at random
        one, other = rng.choice(len(parts), 2, replace=False)
        parts[one].merge(parts[other])
        del parts[other]
    for name in ("least", "greatest", "counts"):
        np.testing.assert_array_equal(getattr(parts[0], name), getattr(whole, name))
    assert (parts[0].bits, parts[0].gaps) == (whole.bits, whole.gaps) == (whole.bits, 10)


def test_integers_stay_integers_beyond_the_bound():
    values = np.append(np.full(100_000, 7.0), 1e6 + np.arange(20_000) * 1.37)
    found = summary(Numbers, [values], 4096)
    assert not found.exact
    assert found.median == 7.0


def test_texts_count_and_beyond_the_bound_the_kept_counts_are_exact():
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in rng.geometric(1e-3, size=20_000)]
    cells, truth = pa.array(words), {}
    for row, word in enumerate(words):
        first, count = truth.get(word, (row, 0))
        truth[word] = (first, count + 1)
    for most in (100, 1 << 16):
        parts = [
            summary(Texts, [(cells[first : first + 700], first)], most)
            for first in range(0, len(cells), 700)
        ]
        rng.shuffle(parts)
        found = parts[0]
        for part in parts[1:]:
            found.merge(part)
        kept = found.values.to_pylist()
        assert len(kept) == min(most, len(truth))
        assert [truth[word] for word in kept] == list(
            zip(found.rows.tolist(), found.counts.tolist(), strict=True)
        )
        assert found.rows.tolist() == sorted(found.rows.tolist())
        assert found.count == len(cells)
        assert found.distinct == pytest.approx(len(truth), rel=0.4 if most == 100 else 0)
        whole = summary(Texts, [(cells, 0)], most)
        assert whole.values.equals(found.values)


def test_the_number_of_distinct_texts_is_estimated_to_a_hundredth():
    found = summary(Texts, [(pa.array(np.arange(200_000).astype(str)), 0)], 20_000)
    assert found.distinct == pytest.approx(200_000, rel=0.03)  # four standard errors
    assert found.unique


def test_hashes_are_spread_evenly_and_tell_texts_apart():
    texts = pa.array([f"{a}{b}" for a in ("", "x" * 9, "ü") for b in range(30_000)])
    hashes = text_hashes(texts)
    assert len(np.unique(hashes)) == len(texts)
    counts = np.bincount((hashes >> np.uint64(60)).astype(int), minlength=16)
    assert (np.abs(counts - len(texts) / 16) < 5 * np.sqrt(len(texts) / 16)).all()
    np.testing.assert_array_equal(text_hashes(texts[100:200]), hashes[100:200])


def test_a_sample_of_rows_is_the_same_in_any_order_and_shows_what_is_frequent():
    rng = np.random.default_rng(0)
    words = np.where(rng.random(5_000) < 0.3, "often", np.arange(5_000).astype(str))
    text, rows = pa.array(words), np.arange(5_000)
    whole, parts = RowSample(500), RowSample(500)
    whole.add(text, rows)
    for piece in np.array_split(rng.permutation(rows), 9):
        part = RowSample(500)
        part.add(text.take(pa.array(piece)), piece)
        parts.merge(part)
    assert parts.texts.equals(whole.texts)
    share = np.mean(np.array(whole.texts.to_pylist()) == "often")
    assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 / 500))


def test_weighted_median_of_even_counts_is_the_middle_of_two():
    assert weighted_median(np.array([1.0, 3.0, 8.0]), np.array([1, 2, 1])) == 3.0


def mixed():
    """A column of each kind, with gaps, marks, and cells that cannot be read."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    days = np.datetime64("2024-01-01") + np.arange(N) % 400
    german = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in 3000 * rng.random(N)]
    cells = {
        "id": [f"r{i}" for i in range(N)],
        "plain": [None if i % 9 == 0 else f"{v:.4f}" for i, v in enumerate(x)],
        "dirty": ["soon" if i in (3, 400) else f"{v:.2f}" for i, v in enumerate(x)],
        "german": german,
        "share": [f"{v:.0%}" if i % 2 else f"{v:.2f}" for i, v in enumerate(rng.random(N))],
        "float": np.where(x > 2, np.nan, x),
        "whole": rng.integers(0, 9, N),
        "yes": ["yes" if v > 0 else "no" if v > -1 else "" for v in x],
        "bool": x > 0,
        "day": [f"{d.astype(object):%d/%m/%Y}" if i % 11 else "" for i, d in enumerate(days)],
        "stamp": days.astype("datetime64[s]") + rng.integers(0, 86400, N).astype("timedelta64[s]"),
        "digits": [f"{d.astype(object):%Y%m%d}" for d in days],
        "town": rng.choice(["Ulm", "Bonn", "?", "Kiel"], N, p=[0.5, 0.3, 0.1, 0.1]),
        "postcode": [f"{v:05d}" for v in rng.integers(0, 40, N)],
        "kg": [f"{v} kg" for v in rng.integers(10, 40, N)],
        "note": [f"the {a} of {b} was seen at {a + b}" for a, b in rng.integers(0, 30, (N, 2))],
        "key": [f"{i:08x}-aa" for i in rng.permutation(N)],
        "empty": [""] * N,
        "same": ["7"] * N,
        "s": (x > 1).astype(int),
    }
    columns = {name: pa.array(values) for name, values in cells.items()}
    columns["word"] = pa.array(rng.choice(["a", "b"], N)).dictionary_encode()
    return Batch(columns, {}, N, 0, "t.csv"), np.flatnonzero(rng.random(N) < 0.7)


def cut(table, training, places):
    """Return a table as batches, each with the places of its training rows."""
    edges = [0, *places, table.n_rows]
    found = []
    for first, last in pairwise(edges):
        cells = {name: c[first:last] for name, c in table.columns.items()}
        inside = training[(training >= first) & (training < last)] - first
        batch = Batch(cells, {}, last - first, first, "t.csv", faults=Faults())
        found.append((batch, inside))
    return found


def added_up(found, rng):
    """Return the sum of summaries, two at a time in any order, as they travel between processes."""
    found = [pickle.loads(pickle.dumps(one)) for one in found]
    while len(found) > 1:
        one, other = rng.choice(len(found), 2, replace=False)
        found[one].merge(found[other])
        del found[other]
    return found[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_plan_of_a_table_is_that_of_its_batches_in_any_order_and_grouping(seed):
    rng = np.random.default_rng(seed)
    table, training = mixed()
    whole = fit_columns(table, training, label="s", drop=["same"])
    places = np.sort(rng.choice(np.arange(N + 1), 8)).tolist()  # a batch may be empty
    parts = cut(table, training, places)
    tables = []
    for batch, _ in parts:
        tables.append(TableSummary(skip=["s", "same"]))
        tables[-1].add(batch)
    treatments = added_up(tables, rng).treatments({"same": "as requested"})
    halves = []
    for batch, rows in parts:
        halves.append(TrainingSummary(treatments))
        halves[-1].add(batch, rows)
    plan = added_up(halves, rng).plan()
    assert plan.lines(None) == whole.lines(None)
    assert plan.to_json() == whole.to_json()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(plan.arrays()[name], array)
    kinds = {column.kind for column in plan.columns}
    assert kinds == {"id", "number", "boolean", "date", "category", "text", "dropped"}

    notes = TrainingRows(training)
    whole.raw(table, notes)
    others = []
    for batch, rows in parts:
        others.append(TrainingRows(rows))
        if batch.n_rows:
            whole.raw(batch, others[-1])
    seen = added_up(others, rng).seen
    for name in seen.keys() - {"note"}:  # of texts, some in each batch are looked at
        assert seen[name] == notes.seen[name]


def test_a_note_names_the_first_cell_that_cannot_be_read_in_whichever_batch_it_is():
    table, training = mixed()
    by_name = {c.name: c for c in fit_columns(table, training, label="s").columns}
    assert by_name["dirty"].note == (
        "99.67 % of the cells are numbers; row 4 is 'soon' (read as missing)"
    )


def test_batches_with_other_columns_or_types_are_an_error():
    one, other = TableSummary(), TableSummary()
    one.add(Batch({"a": pa.array([1])}, {}, 1, 0, "one"))
    other.add(Batch({"b": pa.array([1])}, {}, 1, 1, "other"))
    with pytest.raises(InputError, match="its columns are not those of the rows before: 'a', 'b'"):
        one.merge(other)
    typed = CellSummary("a")
    typed.add(pa.array([1]))
    typed.add(pa.array([2.5]))  # a whole number may stand among fractions
    typed.add(pa.nulls(3))
    with pytest.raises(InputError, match="of two types: boolean and number"):
        typed.add(pa.array([True]))


def test_a_column_of_a_csv_is_cast_once(monkeypatch):
    table, training = mixed()
    table = Batch({n: table.columns[n] for n in ("plain", "s")}, {}, N, 0, "t.csv")
    cast, quick = [], numbers._quick
    monkeypatch.setattr(numbers, "_quick", lambda cells: (cast.append(len(cells)), quick(cells))[1])
    plan = fit_columns(table, training, label="s")
    probes = sum(cast) - N  # distinct values, at most 5,000
    assert probes <= N
    plan.raw(table)
    plan.transform(table)
    plan.raw(table.take(training))
    assert sum(cast) == N + probes


def test_cells_that_replace_others_are_read_anew():
    table, training = mixed()
    plan = fit_columns(Batch({"plain": table.columns["plain"]}, {}, N, 0, "t"), training)
    rows = Batch({"plain": pa.array(["1", "2"])}, {}, 2, 0, "t")
    assert plan.raw(rows)[:, 0].tolist() == [1, 2]
    rows.columns["plain"] = pa.array(["3", "4"])
    assert plan.raw(rows)[:, 0].tolist() == [3, 4]
    assert plan.raw(rows.take(np.array([1])))[:, 0].tolist() == [4]
