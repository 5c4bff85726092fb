"""History: the PU risks by hand, and what an epoch's steps add up to."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from nnpu.objective import Objective
from nnpu.parameters import InputError
from nnpu.training import history
from nnpu.training.history import EpochRecord, evaluate

SCORES = torch.tensor([2.0, -1.0, 3.0, -2.0, -2.0])
S = torch.tensor([1, 1, 0, 0, 0])


def sigmoid_loss(z):
    return 1 / (1 + math.exp(z))


def test_both_risks_and_the_parts_are_those_of_the_formulas():
    """π = 0.4. Zero-one: R_p⁺ = 1/2, R_p⁻ = 1/2, R_u⁻ = 1/3, r = 1/3 − 0.2, risk 0.2 + r."""
    values = evaluate(Objective(0.4), SCORES, S)
    positive = 0.4 * (sigmoid_loss(2) + sigmoid_loss(-1)) / 2
    negative = (sigmoid_loss(-3) + 2 * sigmoid_loss(2)) / 3 - 0.4 * (
        sigmoid_loss(-2) + sigmoid_loss(1)
    ) / 2
    assert values["zero_one"] == pytest.approx(0.2 + 1 / 3 - 0.2)
    assert values["positive"] == pytest.approx(positive)
    assert values["negative"] == pytest.approx(negative)
    assert values["risk"] == pytest.approx(positive + max(negative, 0))


def test_a_negative_part_below_zero_is_shown_as_it_is_but_not_counted():
    scores, s = torch.tensor([5.0, -5.0]), torch.tensor([1, 0])
    values = evaluate(Objective(0.9), scores, s)
    assert values["negative"] < -0.8
    assert values["risk"] == pytest.approx(values["positive"])
    assert values["risk"] == pytest.approx(0.9 * sigmoid_loss(5))


def record_of(*steps, objective):
    record = EpochRecord()
    for scores, s in steps:
        record.add(scores, s, objective.terms(scores, s))
    return record


def test_an_epoch_is_summed_over_rows_not_over_steps():
    """One step has one U row, the other three: a mean of step means would weigh rows unevenly."""
    objective = Objective(0.4)
    steps = [(SCORES[[0, 2]], S[[0, 2]]), (SCORES[[1, 3, 4]], S[[1, 3, 4]])]
    row = record_of(*steps, objective=objective).summary(objective, 0)
    whole = evaluate(objective, SCORES, S)
    assert {name: row[f"train_{name}"] for name in whole} == pytest.approx(whole)


def test_the_share_of_corrected_steps_is_counted():
    objective = Objective(0.9)
    corrected = torch.tensor([5.0, -5.0]), torch.tensor([1, 0])  # r ≈ −0.9
    plain = torch.tensor([-5.0, 5.0]), torch.tensor([1, 0])  # r ≈ 1
    row = record_of(corrected, plain, plain, plain, objective=objective).summary(objective, 0)
    assert row["corrected"] == 0.25


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_risk_that_is_not_finite_says_what_to_do(bad):
    objective = Objective(0.4, loss="squared")
    scores, s = torch.tensor([bad, 1.0]), torch.tensor([1, 0])
    with pytest.raises(InputError, match=r"epoch 7: the run diverged. Lower 'lr'"):
        record_of((scores, s), objective=objective).summary(objective, 7)


def random_steps(n, size):
    generator = torch.Generator().manual_seed(0)
    for number in range(n):
        scores = torch.randn(size, generator=generator)
        yield scores, (scores > 1).to(torch.int8), torch.tensor(number % 3 == 0)


def add(record, step):
    scores, s, corrected = step
    record.add(scores, s, SimpleNamespace(corrected=corrected))


@pytest.mark.parametrize("size", [0, 1, 7, 16, 40])
def test_the_record_holds_what_was_added_in_its_order(monkeypatch, size):
    """Also of steps without rows, of more than there is room for, and after a restart."""
    monkeypatch.setattr(history, "_LEAST", 16)
    record, taken = EpochRecord(), list(random_steps(9, size))
    assert record.state() == {}
    for step in taken[:4]:
        add(record, step)
    record = EpochRecord.restored(record.state(), torch.device("cpu"))
    for step in taken[4:]:
        add(record, step)
    found = record.state()
    for name, parts in zip(found, zip(*taken, strict=True), strict=True):
        assert torch.equal(found[name], torch.cat([part.view(-1) for part in parts])), name
        assert found[name].dtype == parts[0].dtype


def test_a_thousand_steps_are_kept_in_one_tensor_that_seldom_moves():
    """Each small tensor of its own would split the memory that large ones are taken from."""
    record, places = EpochRecord(), set()
    for step in random_steps(1_000, 500):
        add(record, step)
        places.add(record._scores._room.data_ptr())
    assert len(places) <= 4
