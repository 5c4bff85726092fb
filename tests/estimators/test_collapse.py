"""A network that collapsed is noticed, trained again, and said."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from nnpu import PUClassifier, TablePU
from nnpu.estimators.network import collapse, collapse_message


class Dead(nn.Module):
    """Calls everything negative, whatever is trained."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return (x @ self.weight * 0 - 5.0)[:, None]


class DeadAtFirst(nn.Module):
    """The first one that is made is dead; those after it are linear."""

    made = 0

    def __init__(self):
        super().__init__()
        type(self).made += 1
        self.alive = float(type(self).made > 1)
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.alive * self.layer(x) - 5 * (1 - self.alive)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(1.5, 1, (60, 2)), rng.normal(-1, 1, (140, 2))]
    return x, np.repeat([1, 0], [40, 160])


def test_each_kind_of_collapse_has_its_words():
    """By hand: two rows of P against two of U."""
    assert collapse(np.array([2.0, 1.0]), np.array([-1.0, 0.5])) == ""
    assert "same score" in collapse(np.zeros(2), np.zeros(2))
    assert "not finite" in collapse(np.array([np.nan, 1.0]), np.zeros(2))
    assert "no higher" in collapse(np.array([1.0, 2.0]), np.array([1.0, 2.0]))  # ties: AUC 1/2
    assert "no labelled row" in collapse(np.array([-1.0, -0.1]), np.array([-3.0, -2.0]))
    assert collapse(np.zeros(0), np.ones(3)) == ""  # nothing to judge by


def test_a_network_that_stays_dead_is_said(rows):
    with pytest.warns(UserWarning, match="The network collapsed: all rows have the same score"):
        PUClassifier(0.3, module=Dead, epochs=20, batch_size=32, random_state=0).fit(*rows)


def test_another_training_replaces_a_dead_network(rows):
    DeadAtFirst.made = 0
    clf = PUClassifier(0.3, module=DeadAtFirst, epochs=20, batch_size=32, lr=0.1, random_state=0)
    with pytest.warns(UserWarning, match="smaller step size worked"):
        clf.fit(*rows)
    x, s = rows
    assert DeadAtFirst.made == 2
    assert clf.decision_function(x)[s == 1].mean() > clf.decision_function(x)[s == 0].mean()


def test_a_table_with_a_dead_network_is_said_too(rows):
    x, s = rows
    model = PUClassifier(module=Dead, epochs=20, batch_size=32)
    with pytest.warns(UserWarning, match="The network collapsed"):
        TablePU(0.3, model=model, sampling="two-sample").fit(x, s)


def test_a_sound_fit_says_nothing_and_is_trained_once(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = PUClassifier(0.3, epochs=10, random_state=0).fit(*rows)
    assert len(one.history_) == 10


def test_a_try_out_of_a_few_steps_is_left_alone(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PUClassifier(0.3, module=Dead, epochs=1, random_state=0).fit(*rows)


def test_the_message_says_what_to_do():
    assert "choose_threshold" in collapse_message("it is dead", "it is dead")
    assert "its network is used" in collapse_message("it is dead", "")


def test_with_few_positives_the_default_network_is_linear():
    """A linear score has no interaction: g(a) + g(d) = g(b) + g(c) at the corners of a square."""
    rng = np.random.default_rng(0)
    x, corners = rng.normal(0, 1, (400, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]
    x[:60] += 1
    for n_p, linear in ((60, True), (150, False)):
        s = np.repeat([1, 0], [n_p, 400 - n_p])
        g = PUClassifier(0.3, random_state=0, epochs=60).fit(x, s).decision_function(corners)
        assert (abs(g[0] + g[3] - g[1] - g[2]) < 1e-4) == linear
