"""The training sample: its groups, its shares, and what is held out of it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nnpu.data.rows import as_rows
from nnpu.training import TrainingSample

labels = st.lists(st.sampled_from([1, 0, -1]), min_size=1, max_size=80)


def make_sample(s):
    return TrainingSample(as_rows(torch.zeros(len(s), 1)), torch.tensor(s))


def test_groups_are_the_rows_of_each_label_in_order():
    p, u, n = make_sample([0, 1, -1, 1, 0]).groups
    assert (p.tolist(), u.tolist(), n.tolist()) == ([1, 3], [0, 4], [2])


def test_shares_are_those_of_the_rows_in_use():
    sample = make_sample([1, 0, 0, -1])
    assert sample.shares == (0.25, 0.5, 0.25)
    part = TrainingSample(sample.rows, sample.s, torch.tensor([0, 1]))
    assert part.shares == (0.5, 0.5, 0.0)
    assert len(part) == 2


@given(labels, st.floats(0.01, 0.99), st.integers(0, 2**31))
def test_a_split_parts_every_group_and_keeps_a_row_on_either_side(s, fraction, seed):
    sample = make_sample(s)
    kept, held = sample.split(fraction, seed)
    together = torch.cat([kept.index, held.index])
    assert sorted(together.tolist()) == list(range(len(s)))
    for whole, left, right in zip(sample.groups, kept.groups, held.groups, strict=True):
        assert len(left) + len(right) == len(whole)
        if len(whole) >= 2:
            assert abs(len(right) - fraction * len(whole)) <= 1
            assert min(len(left), len(right)) >= 1
        else:
            assert len(right) == 0  # a single row is trained on


@pytest.mark.parametrize("fraction", [0.25, 0.5])
def test_the_same_seed_holds_out_the_same_rows_and_another_seed_others(fraction):
    sample = make_sample([1] * 40 + [0] * 60)
    first, again, other = (sample.split(fraction, seed)[1].index for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len(first) == fraction * 100
