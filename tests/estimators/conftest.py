"""Small PU samples that a linear model can learn, and quick classifiers for them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest


def draw(n_p=60, n_u=200, d=4, prior=0.4, seed=0, gap=1.0):
    """Draw P around +gap, and U with a share `prior` of the same; the rest around −gap."""
    rng = np.random.default_rng(seed)
    n_pos = round(prior * n_u)
    y = np.r_[np.ones(n_p + n_pos), -np.ones(n_u - n_pos)].astype(int)
    x = rng.normal(gap * y[:, None], 1.0, (n_p + n_u, d))
    s = np.r_[np.ones(n_p), np.zeros(n_u)].astype(int)
    order = rng.permutation(n_p + n_u)
    return SimpleNamespace(x=x[order], s=s[order], y=y[order])


@pytest.fixture
def sample():
    return draw()


@pytest.fixture
def make_sample():
    return draw


@pytest.fixture
def quick():
    """Make a network that trains in a few milliseconds."""
    from nnpu import PUClassifier, models
    from nnpu.training import Training

    def make(**changes):
        settings = {
            "prior": 0.4,
            "module": models.linear,
            "epochs": 3,
            "batch_size": 64,
            "random_state": 0,
            "training": Training(),  # plain Algorithm 1
        }
        return PUClassifier(**(settings | changes))

    return make
