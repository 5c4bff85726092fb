"""Options of the training loop are checked when they are stated."""

from __future__ import annotations

import dataclasses

import pytest

from nnpu.training import Training


def test_options_cannot_be_changed_behind_their_checks():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Training().schedule = "linear"


def test_the_default_is_plain_algorithm_1():
    plain = Training()
    assert plain.schedule == "constant"
    assert plain.averaging == plain.warm_up == plain.validation_fraction == 0
    assert plain.patience is None
    assert plain.on_epoch_end is None
