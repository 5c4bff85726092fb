"""Choosing a model without a true label: searches, groups, early stopping."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from nnpu import PUClassifier, data, metrics
from nnpu.data import PUStratifiedKFold
from nnpu.training import Training


def test_a_search_by_score_takes_the_classifier_that_learned(make_sample, quick):
    """A step size of 1e-9 leaves the random weights that a classifier starts from."""
    sample = make_sample(200, 600)
    search = GridSearchCV(
        quick(epochs=10), {"lr": [1e-9, 0.03]}, cv=PUStratifiedKFold(3, random_state=0)
    ).fit(sample.x, sample.s)
    assert search.best_params_ == {"lr": 0.03}
    assert np.mean((search.predict(sample.x) == 1) == (sample.y == 1)) > 0.95


def test_the_default_score_is_the_pu_accuracy_scorer(sample, quick):
    folds = PUStratifiedKFold(3, random_state=0)
    by_default, by_name = (
        cross_val_score(quick(), sample.x, sample.s, cv=folds, scoring=scoring)
        for scoring in (None, metrics.SCORERS["pu_accuracy"])
    )
    assert by_default.tolist() == by_name.tolist()


def test_groups_stay_together_in_a_search(sample, quick):
    """Every row twice, in one group: no row of a held-out fold was seen in training."""
    x, s = np.repeat(sample.x, 2, axis=0), np.repeat(sample.s, 2)
    groups = np.repeat(np.arange(len(sample.s)), 2)
    folds = PUStratifiedKFold(2, random_state=0)
    seen = [
        np.intersect1d(groups[train], groups[test]).size
        for train, test in folds.split(x, s, groups)
    ]
    assert seen == [0, 0]
    search = GridSearchCV(quick(), {"lr": [0.03]}, cv=folds).fit(x, s, groups=groups)
    assert np.isfinite(search.best_score_)


def test_the_score_follows_the_chosen_cut(sample, quick):
    clf = quick(epochs=10).fit(sample.x, sample.s)
    before = clf.score(sample.x, sample.s)
    clf.threshold_ = float(clf.decision_function(sample.x).max())  # nothing is positive
    assert clf.score(sample.x, sample.s) == pytest.approx(1 - 0.4)
    assert before > 0.7


@pytest.mark.slow
def test_early_stopping_by_the_pu_risk_saves_an_overfitting_upu_run():
    """Digits, 100 P, 1,247 U, four seeds: uPU to the end against uPU stopped without negatives."""
    digits = data.load("digits")
    gains = []
    for seed in range(4):
        sample = data.sample_pu(digits, 100, disjoint=True, random_state=seed)
        accuracies = []
        for options in (Training(), Training(validation_fraction=0.2, patience=4)):
            clf = PUClassifier(
                sample.prior,
                risk="upu",
                weight_decay=0.0,
                epochs=40,
                training=options,
                random_state=seed,
            ).fit(sample.x[sample.index], sample.s)
            accuracies.append(np.mean((clf.predict(digits.x_test) == 1) == (digits.y_test == 1)))
        gains.append(accuracies[1] - accuracies[0])
    assert np.mean(gains) > 0.02
