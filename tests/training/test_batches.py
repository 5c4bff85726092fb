"""Mini-batches: every row in every epoch, even shares, a pure function of (seed, epoch, step)."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nnpu.training.batches import BatchPlan, derive_seed


def make_plan(sizes, batch_size, *, seed=0, least=1):
    """Return a plan over groups of these sizes, numbered through, and the groups."""
    groups = list(torch.arange(sum(sizes)).split(list(sizes)))
    return BatchPlan(groups, batch_size, seed, least), groups


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
    plan, (p, u) = make_plan([20, 40], 60)
    other, _ = make_plan([20, 40], 60, seed=1)
    orders = [plan.epoch(0)[0], plan.epoch(1)[0], other.epoch(0)[0]]
    for group in (p, u):
        own = [tuple(order[torch.isin(order, group)].tolist()) for order in orders]
        assert len(set(own)) == 3


def test_positives_and_unlabelled_rows_are_not_shuffled_by_the_same_permutation():
    plan, _ = make_plan([30, 30], 60)
    order = plan.epoch(0)[0]
    assert not torch.equal(order[:30] + 30, order[30:])


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
