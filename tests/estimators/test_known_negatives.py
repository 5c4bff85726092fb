"""A little supervision: known negatives beside P and U, against PN on the same labels alone.

"Much worse" means 2 points of accuracy, on average over the seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from nnpu import PUClassifier, data, models
from nnpu.risk import PNURisk
from nnpu.training import Training

MUCH = 0.02


def accuracy(risk, parts, x_test, y_test, **settings):
    """Fit to {label: rows} and return the share of right predictions."""
    x = np.concatenate(list(parts.values()))
    s = np.repeat(list(parts), [len(rows) for rows in parts.values()])
    model = PUClassifier(risk=risk, **settings).fit(x, s)
    return float(np.mean((model.predict(x_test) == 1) == (y_test == 1)))


def gaussians(seed, n_negative):
    """100 P, that many N, 1,000 U and 4,000 test rows of N(±0.5, 1) in ten dimensions, π = 0.4."""
    rng = np.random.default_rng(seed)

    def draw(y):
        return rng.normal(0.5 * y[:, None], 1, (len(y), 10))

    y_u, y_test = (np.where(rng.random(n) < 0.4, 1, -1) for n in (1_000, 4_000))
    parts = {1: draw(np.ones(100)), -1: draw(-np.ones(n_negative)), 0: draw(y_u)}
    return parts, draw(y_test), y_test, 0.4


def digits(seed, n_negative):
    """Even against odd: 100 P, 1,247 U, negatives from among U's, 450 test rows."""
    d = data.load("digits")
    x, y = np.concatenate([d.x_train, d.x_test]), np.concatenate([d.y_train, d.y_test])
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[:450], order[450:]
    sample = data.sample_pu(
        (x[train], y[train]), 100, n_n=n_negative, disjoint=True, random_state=seed
    )
    parts = {1: sample.x_p, -1: sample.x_n, 0: sample.x_u}
    return parts, x[test], y[test], sample.prior


def mean_gain(draw, n_negative, seeds, **settings):
    """Accuracy of nnPNU on P, N and U minus that of PN on the same P and N."""
    gains = []
    for seed in range(seeds):
        parts, x_test, y_test, prior = draw(seed, n_negative)
        labelled = {label: parts[label] for label in (1, -1)}
        settings |= {"prior": prior, "random_state": seed}
        gains.append(
            accuracy("nnpnu", parts, x_test, y_test, **settings)
            - accuracy("pn", labelled, x_test, y_test, **settings)
        )
    return np.mean(gains)


LINEAR = {
    "module": models.linear,
    "epochs": 12,
    "batch_size": 100,
    "lr": 0.03,
    "training": Training(schedule="cosine"),
}


@pytest.mark.parametrize("n_negative", [5, 50, 500])
def test_unlabelled_rows_never_cost_much_on_gaussians(n_negative):
    assert mean_gain(gaussians, n_negative, seeds=2, **LINEAR) > -MUCH


def test_with_five_negatives_unlabelled_rows_are_a_gain():
    assert mean_gain(gaussians, 5, seeds=2, **LINEAR) > 0.005


@pytest.mark.slow
@pytest.mark.parametrize("n_negative", [5, 20, 80, 320, 600])
def test_unlabelled_rows_never_cost_much_on_digits(n_negative):
    assert mean_gain(digits, n_negative, seeds=3, epochs=20, batch_size=128) > -MUCH


@pytest.mark.slow
def test_known_negatives_help_on_digits():
    """320 negatives, 100 P and 1,247 U against the same P and U without the negatives."""
    gains = []
    for seed in range(3):
        parts, x_test, y_test, prior = digits(seed, 320)
        unlabelled = {label: parts[label] for label in (1, 0)}
        settings = {"prior": prior, "random_state": seed, "epochs": 20, "batch_size": 128}
        gains.append(
            accuracy("nnpnu", parts, x_test, y_test, **settings)
            - accuracy("nnpu", unlabelled, x_test, y_test, **settings)
        )
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize(("eta", "ignored"), [(0.0, 0), (1.0, -1)])
def test_pnu_at_its_ends_does_not_read_one_of_the_samples(eta, ignored):
    """η = 0 is PN, which U cannot change; η = 1 is PU, which N cannot change."""
    parts, x_test, _, prior = gaussians(0, 50)
    changed = parts | {ignored: parts[ignored] + 3.0}
    settings = LINEAR | {"prior": prior, "random_state": 0, "epochs": 2}
    scores = []
    for version in (parts, changed):
        x = np.concatenate(list(version.values()))
        s = np.repeat(list(version), [len(rows) for rows in version.values()])
        model = PUClassifier(risk=PNURisk(eta), **settings).fit(x, s)
        scores.append(model.decision_function(x_test))
    assert np.array_equal(*scores)
