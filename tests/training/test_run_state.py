"""Optimisers by name or class, the discounted step, the schedule."""

from __future__ import annotations

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from nnpu.data.rows import as_rows
from nnpu.parameters import ParameterError
from nnpu.training import TrainingSample
from nnpu.training.run_state import (
    OPTIMIZERS,
    check_optimizer,
    discounted_step,
    make_optimizer,
    set_schedule,
)


def parameter(value=1.0, gradient=0.5):
    weight = nn.Parameter(torch.tensor([value]))
    weight.grad = torch.tensor([gradient])
    return weight


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_named_optimiser_steps_against_the_gradient(name):
    weight = parameter()
    make_optimizer(name, [weight], lr=0.1, weight_decay=0.0).step()
    assert weight.item() < 1


def test_weight_decay_is_added_to_the_gradient():
    """θ ← θ − η (g + λ θ) = 1 − 0.1 (0.5 + 0.2 · 1) = 0.93."""
    weight = parameter()
    make_optimizer("sgd", [weight], lr=0.1, weight_decay=0.2).step()
    assert weight.item() == pytest.approx(0.93)


def test_adam_is_coupled_and_adamw_is_not():
    """Adam's first step is η sign(g + λθ); AdamW's is η sign(g) after θ ← (1 − ηλ) θ."""
    coupled, decoupled = parameter(gradient=-0.1), parameter(gradient=-0.1)
    make_optimizer("adam", [coupled], lr=0.1, weight_decay=0.5).step()
    make_optimizer("adamw", [decoupled], lr=0.1, weight_decay=0.5).step()
    assert coupled.item() == pytest.approx(0.9, abs=1e-5)  # −0.1 + 0.5 > 0: downwards
    assert decoupled.item() == pytest.approx(0.95 + 0.1, abs=1e-5)


@pytest.mark.parametrize(
    "own", [torch.optim.NAdam, functools.partial(torch.optim.SGD, momentum=0.9)]
)
def test_any_class_or_callable_makes_the_optimiser(own):
    assert check_optimizer(own, "X") is own
    assert isinstance(
        make_optimizer(own, [parameter()], lr=0.1, weight_decay=0.0), torch.optim.Optimizer
    )


@pytest.mark.parametrize("bad", ["adm", 3, None])
def test_an_unknown_optimiser_is_refused_with_the_valid_names(bad):
    with pytest.raises(ParameterError, match=r"'optimizer' parameter of PUClassifier .*'adam'"):
        check_optimizer(bad, "PUClassifier")


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("factor", [0.0, 0.25, 1.0])
def test_a_discounted_step_is_the_step_of_a_smaller_step_size(name, factor):
    """Both groups, after a first step that gives the optimiser a state."""
    ends = []
    for discount in (True, False):
        first, second = parameter(), parameter()
        groups = [{"params": [first], "lr": 0.1}, {"params": [second], "lr": 0.2}]
        optimizer = OPTIMIZERS[name](groups, weight_decay=0.01)
        optimizer.step()
        if discount:
            discounted_step(optimizer, torch.tensor(factor))
        else:
            for group in optimizer.param_groups:
                group["lr"] *= factor
            optimizer.step()
        ends.append((first.item(), second.item()))
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


@pytest.mark.parametrize(
    ("progress", "share"), [(0.0, 1.0), (1 / 3, 0.75), (0.5, 0.5), (2 / 3, 0.25)]
)
def test_the_cosine_schedule_falls_from_one_to_zero(progress, share):
    """(1 + cos πt)/2 at t = 0, 1/3, 1/2, 2/3 is 1, 3/4, 1/2, 1/4."""
    optimizer = torch.optim.SGD([parameter()], lr=7.0)
    set_schedule(optimizer, 0.2, "cosine", progress)
    assert math.isclose(optimizer.param_groups[0]["lr"], 0.2 * share)


def test_the_constant_schedule_stays():
    optimizer = torch.optim.SGD([parameter()], lr=7.0)
    set_schedule(optimizer, 0.2, "constant", 0.9)
    assert optimizer.param_groups[0]["lr"] == 0.2


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
