"""History: the PU risks by hand, and what an epoch's steps add up to."""

from __future__ import annotations

import math

import pytest
import torch

from nnpu.objective import Objective
from nnpu.parameters import InputError
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
