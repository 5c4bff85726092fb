"""Mini-batches: every row in every epoch, even shares, a pure function of (seed, epoch, step)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nnpu.data.rows import as_rows
from nnpu.training.batches import BatchPlan, automatic_blocks, derive_seed


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
