"""A fit gives the same answer whatever the program around it has set for torch."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.base import clone

import nnpu
from nnpu import BoostedPU, LinearPU, PUClassifier, models
from nnpu.training import Training


@contextmanager
def float64_by_default():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


AMBIENT = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "float64": float64_by_default,
}


class Drawing(torch.nn.Module):
    """A module of one's own, which makes tensors of the default type as it goes."""

    def __init__(self, n_features):
        super().__init__()
        self.linear = torch.nn.Linear(n_features, 1)

    def forward(self, x):
        return self.linear(x + torch.full((1,), 0.1))


CLASSIFIERS = {
    "the default network": lambda: PUClassifier(0.4, epochs=2, random_state=0),
    "a module of one's own": lambda: PUClassifier(0.4, module=Drawing, epochs=2, random_state=0),
    "an instance": lambda: PUClassifier(0.4, module=models.mlp(4, (8,)), epochs=2, random_state=0),
    "trees": lambda: BoostedPU(0.4, n_estimators=5, random_state=0),
    "linear": lambda: LinearPU(0.4, basis="gaussian", n_components=10, random_state=0),
}


@pytest.mark.parametrize("ambient", AMBIENT)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_set_around_a_fit_does_not_change_it(name, ambient, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(np.repeat([[1.0], [0.0]], [60, 140], axis=0), 1, (200, 4))
    s = np.repeat([1, 0], [60, 140])
    torch.manual_seed(0)
    make = CLASSIFIERS[name]
    expected = make()
    with AMBIENT[ambient]():
        torch.manual_seed(0)
        inside = clone(expected) if name == "an instance" else make()
    expected.fit(X, s)
    with AMBIENT[ambient]():
        dtype = torch.get_default_dtype()
        inside.fit(X, s)
        assert np.array_equal(inside.decision_function(X), expected.decision_function(X))
        module = Drawing if name == "a module of one's own" else inside.get_params().get("module")
        loaded = nnpu.load(inside.save(tmp_path / "model"), module=module)
        assert torch.get_default_dtype() == dtype
    assert np.array_equal(inside.decision_function(X), expected.decision_function(X))
    assert np.array_equal(loaded.decision_function(X), expected.decision_function(X))
    assert torch.get_default_dtype() == torch.float32


def test_a_module_that_was_made_in_inference_mode_can_be_trained():
    X = np.random.default_rng(0).normal(size=(60, 4))
    with torch.inference_mode():
        clf = PUClassifier(0.4, module=models.mlp(4, (8,)), epochs=1, random_state=0)
        clf.fit(X, np.arange(60) % 2)
    assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize(("features", "threads"), [(3, 1), (2000, 2)])
def test_small_steps_take_one_thread_and_the_programs_number_is_set_again(features, threads):
    """On a busy machine two threads wait for each other: 256 x 200 took four times as long."""
    seen, before = [], torch.get_num_threads()
    watched = Training(on_epoch_end=lambda *_: seen.append(torch.get_num_threads()))
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(400, features)), np.arange(400) % 2
    torch.set_num_threads(2)
    try:
        PUClassifier(0.6, epochs=1, batch_size=256, random_state=0, training=watched).fit(X, s)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [threads]
