"""Options of the training loop are checked when they are stated."""

from __future__ import annotations

import dataclasses

import pytest

from nnpu.parameters import ParameterError
from nnpu.training import Training

BAD = [
    ({"schedule": "linear"}, r"'schedule' parameter of Training must be a str among .*'cosine'"),
    ({"monitor": "accuracy"}, r"'monitor' parameter of Training must be a str among"),
    ({"averaging": 1.0}, r"'averaging' parameter of Training must be a float in .*\[0, 1\)"),
    ({"averaging": -0.1}, "'averaging' parameter"),
    ({"warm_up": 1.5}, r"'warm_up' parameter of Training must be .*\[0, 1\]"),
    ({"warm_up": float("nan")}, "'warm_up' parameter"),
    ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
    ({"validation_fraction": -0.5}, "'validation_fraction' parameter"),
    (
        {"patience": 0, "validation_fraction": 0.2},
        "'patience' parameter of Training must be an int",
    ),
    ({"patience": 3}, "validation_fraction"),
    ({"least_per_batch": 0}, "'least_per_batch' parameter"),
    ({"least_per_batch": 1.5}, "'least_per_batch' parameter"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_an_option_out_of_range_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Training(**options)


def test_options_cannot_be_changed_behind_their_checks():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Training().schedule = "linear"


def test_the_default_is_plain_algorithm_1():
    plain = Training()
    assert plain.schedule == "constant"
    assert plain.averaging == plain.warm_up == plain.validation_fraction == 0
    assert plain.patience is None
    assert plain.on_epoch_end is None
