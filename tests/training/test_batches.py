"""Mini-batches: every row in every epoch, even shares, a pure function of (seed, epoch, step)."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch import nn

from nnpu import models
from nnpu.data.rows import DenseRows, Rows, as_rows
from nnpu.objective import Objective
from nnpu.training import Training, TrainingSample, loop, train
from nnpu.training.batches import BatchPlan, SingleBatch, automatic_blocks, derive_seed, prefetched


def make_plan(sizes, batch_size, *, seed=0, least=1, **options):
    """Return a plan over groups of these sizes, numbered through, and the groups."""
    groups = list(torch.arange(sum(sizes)).split(list(sizes)))
    return BatchPlan(groups, batch_size, seed, least, **options), groups


plans = st.builds(
    lambda sizes, batch_size, seed, least: make_plan(sizes, batch_size, seed=seed, least=least),
    st.lists(st.integers(1, 60), min_size=1, max_size=3),
    st.integers(1, 70),
    st.integers(0, 2**31),
    st.integers(1, 4),
)


@given(plans, st.integers(0, 50))
def test_every_row_is_used_in_every_epoch_and_equally_often_within_its_sample(drawn, epoch):
    plan, groups = drawn
    uses = Counter(torch.cat(plan.epoch(epoch)).tolist())
    for group in groups:
        times = {uses[row] for row in group.tolist()}
        assert len(times) == 1
        assert times.pop() >= 1
    assert set(uses) == set(torch.cat(groups).tolist())


@given(plans, st.integers(0, 50))
def test_every_batch_has_its_share_of_every_sample_and_at_least_the_least(drawn, epoch):
    plan, groups = drawn
    batches = plan.epoch(epoch)
    assert len(batches) == len(plan)
    for group in groups:
        counts = [int(torch.isin(batch, group).sum()) for batch in batches]
        assert max(counts) - min(counts) <= 1
        assert min(counts) >= min(plan.least, len(group))


@given(plans, st.integers(0, 50))
def test_a_batch_depends_on_seed_epoch_and_step_alone(drawn, epoch):
    plan, groups = drawn
    used = BatchPlan(groups, plan.batch_size, plan.seed, plan.least)
    for earlier in range(3):  # what was drawn before does not matter
        used.epoch(earlier)
    torch.manual_seed(0)
    assert all(map(torch.equal, used.epoch(epoch), plan.epoch(epoch)))


def test_a_large_enough_sample_is_used_exactly_once():
    plan, _ = make_plan([11, 90], 10)
    rows = torch.cat(plan.epoch(3))
    assert sorted(rows.tolist()) == list(range(101))


def test_no_batch_is_larger_than_asked_for_by_more_than_one_row_of_each_sample():
    plan, _ = make_plan([100, 950], 100)
    sizes = [len(batch) for batch in plan.epoch(0)]
    assert len(sizes) == 11
    assert max(sizes) <= 100


def test_the_orders_of_all_samples_change_with_epoch_and_seed():
    plan, (p, u) = make_plan([20, 40], 30)
    other, _ = make_plan([20, 40], 30, seed=1)
    orders = [plan.epoch(0)[0], plan.epoch(1)[0], other.epoch(0)[0]]
    for group in (p, u):
        own = [tuple(order[torch.isin(order, group)].tolist()) for order in orders]
        assert len(set(own)) == 3


def test_positives_and_unlabelled_rows_are_not_shuffled_by_the_same_permutation():
    plan, _ = make_plan([60, 60], 60)
    order = plan.epoch(0)[0]
    assert not torch.equal(order[:30] + 60, order[30:])


@pytest.mark.parametrize("block_rows", [None, 7])
def test_a_batch_of_all_rows_is_one_tensor_in_their_order(block_rows):
    plan, _ = make_plan([11, 90], 101, block_rows=block_rows)
    [first], [second] = plan.epoch(0), plan.epoch(1)
    assert first is second
    assert first.tolist() == list(range(101))
    shares = [make_plan([11, 90], 500, rank=rank, size=2)[0].epoch(3)[0] for rank in (0, 1)]
    assert [share.tolist() for share in shares] == [list(range(0, 101, 2)), list(range(1, 101, 2))]


def test_a_positive_meets_different_unlabelled_rows_from_epoch_to_epoch():
    """One positive, 100 U in 10 batches: which batch a given U row is in must vary."""
    plan, _ = make_plan([1, 100], 11)
    places = {
        next(step for step, batch in enumerate(plan.epoch(epoch)) if 50 in batch.tolist())
        for epoch in range(40)
    }
    assert len(places) > 5


def test_recycled_rows_are_reshuffled_each_time_they_are_dealt():
    """2 positives over 64 batches: without reshuffling they would alternate strictly."""
    plan, _ = make_plan([2, 64], 1)
    first = [int(batch[0]) for batch in plan.epoch(0)]
    pairs = [tuple(first[i : i + 2]) for i in range(0, len(first), 2)]
    assert {(0, 1), (1, 0)} == set(pairs)


def test_an_empty_sample_is_left_out():
    groups = [torch.arange(4), torch.arange(0), torch.arange(4, 12)]
    batches = BatchPlan(groups, 3, 0).epoch(0)
    assert [len(batch) for batch in batches] == [3, 3, 3, 3]
    assert sorted(torch.cat(batches).tolist()) == list(range(12))


def test_derived_seeds_are_nonnegative_distinct_and_fit_torch():
    seeds = [derive_seed(a, b) for a in range(30) for b in range(30)]
    assert len(set(seeds)) == 900
    assert all(0 <= seed < 2**63 for seed in seeds)
    torch.Generator().manual_seed(max(seeds))


@pytest.mark.parametrize("key", [(0,), (0, 0), (0, 0, 0)])
def test_a_derived_seed_is_the_same_every_time(key):
    assert derive_seed(*key) == derive_seed(*key)


# Blocks: reads stay near each other, and all the rest still holds.


@given(plans, st.integers(1, 9), st.integers(0, 50))
def test_blocks_keep_every_promise_of_a_whole_shuffle(drawn, block_rows, epoch):
    plan, groups = drawn
    blocks = BatchPlan(groups, plan.batch_size, plan.seed, plan.least, block_rows=block_rows)
    batches = blocks.epoch(epoch)
    assert all(map(torch.equal, batches, blocks.epoch(epoch)))
    assert all(torch.equal(batch, batch.sort().values) for batch in batches)
    for group in groups:
        counts = [int(torch.isin(batch, group).sum()) for batch in batches]
        uses = Counter(torch.cat(batches)[torch.isin(torch.cat(batches), group)].tolist())
        assert max(counts) - min(counts) <= 1
        assert min(counts) >= min(plan.least, len(group))
        assert len(set(uses.values())) == 1
        assert set(uses) == set(group.tolist())


@pytest.mark.parametrize("positives", ["scattered", "first"])
def test_a_block_is_read_in_one_short_stretch_of_the_epoch(positives):
    """8,000 rows in blocks of 20, windows of 8 blocks: 160 rows, 4 of 200 batches of 40.

    A window may begin and end within a batch: 5 batches for a block at the most. Scattered
    positives are a tenth of every block, so that they are read together with U.
    """
    p = torch.arange(0, 8_000, 10) if positives == "scattered" else torch.arange(800)
    u = torch.arange(8_000)[~torch.isin(torch.arange(8_000), p)]
    batches = BatchPlan([p, u], 40, 0, block_rows=20).epoch(0)
    assert len(batches) == 200
    for block in range(400):
        used = [step for step, batch in enumerate(batches) if (batch // 20 == block).any()]
        if positives == "scattered" or block >= 40:
            assert max(used) - min(used) <= 5


def test_rows_of_eight_blocks_are_mixed_and_the_blocks_come_in_a_new_order_each_epoch():
    plan = BatchPlan([torch.arange(8_000)], 40, 0, block_rows=20)
    first, second = plan.epoch(0), plan.epoch(1)
    assert min(len((batch // 20).unique()) for batch in first) >= 6
    assert not torch.equal(first[0], second[0])
    order = [int(batch[0]) // 20 for batch in first]
    assert order != sorted(order)
    assert not torch.equal(
        first[0], BatchPlan([torch.arange(8_000)], 40, 1, block_rows=20).epoch(0)[0]
    )


def test_only_the_size_of_a_table_decides_whether_there_are_blocks(tmp_path):
    """1 GiB of float32 is 2²⁸ numbers: 2²⁷ + 1 rows of two are more, and blocks are 16 MiB."""
    few, many = torch.zeros(1, 2).expand(2**27, 2), torch.zeros(1, 2).expand(2**27 + 1, 2)
    assert automatic_blocks(as_rows(few)) is None
    assert automatic_blocks(as_rows(many)) == 2**21
    file = np.memmap(tmp_path / "x", np.float64, "w+", shape=(2**27 + 1, 2))  # sparse: no disk
    assert automatic_blocks(as_rows(file)) == 2**21


SIX = torch.arange(12.0).view(6, 2)


class Counted:
    """Rows that count how often they are gathered."""

    def __init__(self, rows, monkeypatch):
        self.times = 0
        real = rows.take

        def take(indices):
            self.times += 1
            return real(indices)

        monkeypatch.setattr(rows, "take", take)


@pytest.mark.parametrize("x", [SIX, sparse.csr_array(SIX.numpy())], ids=["dense", "sparse"])
def test_the_same_rows_are_gathered_once_and_others_anew(x, monkeypatch):
    rows = as_rows(x)
    counted, kept = Counted(rows, monkeypatch), SingleBatch(rows)
    indices = torch.tensor([4, 1])
    assert kept.take(indices) is kept.take(indices)
    assert counted.times == 1
    other = kept.take(torch.tensor([0]))
    assert len(other.offsets if hasattr(other, "offsets") else other) == 1
    assert counted.times == 2


def test_rows_that_were_written_to_are_gathered_anew():
    kept, indices = SingleBatch(as_rows(SIX.clone())), torch.arange(6)
    kept.take(indices).zero_()
    assert torch.equal(kept.take(indices), SIX)


class Spoiling(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(2, 1)

    def forward(self, x):
        return self.last(x.sub_(5.5).div_(3.5))


def test_a_module_that_works_in_place_changes_neither_the_data_nor_later_epochs():
    x, s = SIX.clone(), torch.tensor([1, 1, 0, 0, 0, 0], dtype=torch.int8)
    results = []
    for batch_size in (6, 100):
        torch.manual_seed(0)
        model, history = train(
            Spoiling(),
            TrainingSample(as_rows(x), s),
            Objective(0.4),
            epochs=4,
            batch_size=batch_size,
        )
        results.append((history, model.last.weight.tolist()))
    assert torch.equal(x, SIX)
    assert results[0] == results[1]
    expected = train(
        nn.Sequential(Shifted(), seeded_linear()),
        TrainingSample(as_rows(x), s),
        Objective(0.4),
        epochs=4,
        batch_size=6,
    )[1]
    assert results[0][0] == expected


class Shifted(nn.Module):
    def forward(self, x):
        return (x - 5.5) / 3.5


def seeded_linear():
    torch.manual_seed(0)
    return nn.Linear(2, 1)


def test_a_table_on_disk_is_read_once(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", SIX.numpy())
    rows = as_rows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    counted = Counted(rows, monkeypatch)
    s = torch.tensor([1, 1, 0, 0, 0, 0], dtype=torch.int8)
    train(nn.Linear(2, 1), TrainingSample(rows, s), Objective(0.4), epochs=5, batch_size=6)
    assert counted.times <= 2  # one of them ahead


X = torch.arange(30.0).reshape(10, 3)


class SlowRows(Rows):
    """Rows that say they are on disk and note which thread took what."""

    on_disk = True
    shape = (10, 3)

    def __init__(self):
        self.taken = []

    def __len__(self):
        return 10

    def take(self, indices):
        self.taken.append((indices.tolist(), threading.current_thread().name))
        if 9 in indices.tolist():
            raise OSError("the disk is gone")
        return X[indices]


BATCHES = [torch.tensor([3, 1]), torch.tensor([0]), torch.tensor([2, 2])]


def test_what_is_expected_is_taken_in_the_background_and_in_order():
    table = SlowRows()
    with prefetched(table) as rows:
        assert rows.shape == (10, 3)
        assert len(rows) == 10
        assert rows.nbytes == 120
        for batch in rows.expect(BATCHES):
            assert torch.equal(rows.take(batch), X[batch])
    assert [batch for batch, _ in table.taken] == [[3, 1], [0], [2, 2]]
    assert all(name.startswith("nnpu-prefetch") for _, name in table.taken)


def test_the_next_batch_is_under_way_before_it_is_asked_for():
    table, begun = SlowRows(), threading.Event()
    take = table.take
    table.take = lambda indices: (begun.set() if indices is BATCHES[1] else None, take(indices))[1]
    with prefetched(table) as rows:
        rows.expect(BATCHES)
        rows.take(BATCHES[0])
        assert begun.wait(30)


def test_what_was_not_expected_is_taken_all_the_same():
    with prefetched(SlowRows()) as rows:
        rows.expect(BATCHES)
        other = torch.tensor([7, 8])
        assert torch.equal(rows.take(other), X[other])
        assert torch.equal(rows.take(BATCHES[0]), X[BATCHES[0]])
        rows.expect([other])  # another epoch
        assert torch.equal(rows.take(other), X[other])
        assert torch.equal(rows.take(BATCHES[1]), X[BATCHES[1]])


def test_an_error_in_the_background_is_raised_where_the_batch_is_taken():
    with prefetched(SlowRows()) as rows:
        first, bad = rows.expect([torch.tensor([1]), torch.tensor([9])])
        rows.take(first)
        with pytest.raises(OSError, match="the disk is gone"):
            rows.take(bad)


def test_no_thread_is_left_when_a_run_ends_or_fails():
    def fail():
        with prefetched(SlowRows()) as rows:
            rows.expect(BATCHES)
            raise RuntimeError

    before = threading.active_count()
    with pytest.raises(RuntimeError):
        fail()
    assert threading.active_count() == before


def test_only_what_is_on_disk_is_read_ahead(tmp_path):
    np.save(tmp_path / "x.npy", X.numpy())
    mapped = as_rows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    in_memory = DenseRows(X)
    with prefetched(in_memory) as rows:
        assert rows is in_memory
        assert rows.expect(BATCHES) is BATCHES
    with prefetched(mapped) as rows:
        assert rows is not mapped


def test_a_run_that_was_stopped_within_an_epoch_goes_on_from_disk_in_the_same_bits(
    tmp_path, monkeypatch
):
    """12 steps from a memory map, stopped before the sixth, while the seventh batch is read."""
    x = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    sample = TrainingSample(
        as_rows(np.load(tmp_path / "x.npy", mmap_mode="r")), torch.tensor([1] * 30 + [0] * 90)
    )

    def run(**options):
        torch.manual_seed(0)
        return train(
            models.mlp(4, (5,)),
            sample,
            Objective(0.4),
            epochs=3,
            batch_size=30,
            options=Training(block_rows=4, **options),
        )

    whole, history = run()
    step, counter = loop.train_step, iter(range(100))

    def stopped(*arguments):
        if next(counter) == 5:
            raise RuntimeError("stopped")
        return step(*arguments)

    monkeypatch.setattr(loop, "train_step", stopped)
    checkpoint = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(RuntimeError, match="stopped"):
        run(**checkpoint)
    monkeypatch.setattr(loop, "train_step", step)
    resumed, resumed_history = run(**checkpoint)
    assert resumed_history == history
    for mine, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)
