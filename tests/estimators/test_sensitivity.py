"""`sensitivity`: what an assumed prior changes, against what is known of the simulated truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from nnpu import PUWrapper, metrics, sensitivity
from nnpu.parameters import InputError, ParameterError
from nnpu.report import save_figure, sensitivity_panels


def wrapped(prior=0.4, **changes):
    return PUWrapper(LogisticRegression(), prior=prior, **changes)


@pytest.fixture
def large(make_sample):
    return make_sample(1_000, 4_000, d=2, prior=0.4, gap=0.8)


def test_a_greater_assumed_prior_flags_more_rows(large):
    rows = sensitivity(wrapped(), large.x, large.s, random_state=0)
    assert [row["assumed_prior"] / 0.4 for row in rows] == pytest.approx([0.8, 0.9, 1, 1.1, 1.2])
    shares = [row["share_flagged"] for row in rows]
    assert shares == sorted(shares)
    recalls = [row["recall"] for row in rows]
    assert recalls == sorted(recalls)
    assert rows[2]["agreement"] == 1.0
    assert rows[0]["agreement"] < rows[1]["agreement"] < 1.0
    assert rows[4]["agreement"] < rows[3]["agreement"] < 1.0


def test_at_the_true_prior_the_estimates_hold_the_truth(large):
    """Recall and accuracy over U by true labels; the folds' predictions are recomputed here."""
    [row] = sensitivity(wrapped(), large.x, large.s, priors=[0.4], random_state=0)
    clf = wrapped().fit(large.x, large.s)
    u = large.s == 0
    right = np.mean((clf.predict(large.x) == 1)[u] == (large.y == 1)[u])
    assert row["accuracy_low"] - 0.01 < right < row["accuracy_high"] + 0.01
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]


def test_precision_is_assumed_prior_times_recall_over_share_flagged(large):
    for row in sensitivity(wrapped(), large.x, large.s, random_state=0):
        expected = row["assumed_prior"] * row["recall"] / row["share_flagged"]
        assert row["precision"] == pytest.approx(expected)


def test_rows_are_predicted_by_classifiers_that_did_not_see_them(make_sample):
    """A memoriser finds none of the held-out positives; in-sample its recall would be 1."""
    from sklearn.neighbors import KNeighborsClassifier

    sample = make_sample(100, 300, d=20, prior=0.4, gap=0.0)
    memory = PUWrapper(KNeighborsClassifier(1), prior=0.4)
    [row] = sensitivity(memory, sample.x, sample.s, priors=[0.4], random_state=0)
    fitted = memory.fit(sample.x, sample.s)
    assert metrics.pu_recall(sample.s, fitted.predict(sample.x), prior=0.4) == 1.0
    assert row["recall"] < 0.5


def test_one_sample_shares_are_of_all_rows(make_sample):
    sample = make_sample(0, 2_000, d=2, prior=0.4, gap=0.8)
    s = ((sample.y == 1) & (np.random.default_rng(0).random(2_000) < 0.5)).astype(int)
    rows = sensitivity(wrapped(sampling="one-sample"), sample.x, s, random_state=0)
    assert len(rows) == 5
    for row in rows:
        accuracy = 2 * row["assumed_prior"] * row["recall"] + 1 - row["share_flagged"]
        assert row["accuracy"] == pytest.approx(accuracy - row["assumed_prior"])


def test_impossible_default_priors_are_left_out(make_sample):
    sample = make_sample(200, 400, d=2, prior=0.9, gap=1.0)
    rows = sensitivity(wrapped(0.9), sample.x, sample.s, random_state=0)
    assert [row["assumed_prior"] / 0.9 for row in rows] == pytest.approx([0.8, 0.9, 1.0, 1.1])


def test_a_fitted_classifier_brings_its_prior(large):
    fitted = wrapped("auto", random_state=0).fit(large.x, large.s)
    rows = sensitivity(fitted, large.x, large.s, priors=[0.3], random_state=0)
    assert [row["assumed_prior"] for row in rows] == sorted([0.3, fitted.prior_])
    assert fitted.prior == "auto"  # and is not changed


def test_frames_tensors_and_networks_are_taken(sample, quick):
    import torch

    expected = sensitivity(quick(), sample.x.astype(np.float32), sample.s, random_state=0)
    for x in (pd.DataFrame(sample.x.astype(np.float32)), torch.from_numpy(sample.x).float()):
        assert sensitivity(quick(), x, sample.s, random_state=0) == expected


@pytest.mark.parametrize("priors", [[0.0], [0.4, 1.0], ["0.4"]], ids=str)
def test_a_prior_outside_0_and_1_is_refused(sample, priors):
    with pytest.raises(ParameterError, match="'priors' parameter of sensitivity"):
        sensitivity(wrapped(), sample.x, sample.s, priors=priors)


def test_one_sample_needs_priors_above_the_labelled_share(sample):
    with pytest.raises(ParameterError, match="greater than the share of labelled"):
        sensitivity(wrapped(sampling="one-sample"), sample.x, sample.s, priors=[0.1])


def test_a_classifier_without_a_prior_is_refused(sample):
    with pytest.raises(ParameterError, match="with a 'prior' parameter"):
        sensitivity(LogisticRegression(), sample.x, sample.s)


def test_the_table_is_drawn(sample, tmp_path):
    rows = sensitivity(wrapped(), sample.x, sample.s, random_state=0)
    panels = sensitivity_panels(rows)
    recall = next(curve for curve in panels[0].curves if curve.label == "recall")
    assert np.allclose(recall.y, [row["recall"] for row in rows])
    assert np.allclose(recall.y - recall.spread, [row["recall_low"] for row in rows])
    assert all(path.stat().st_size > 0 for path in save_figure(panels, tmp_path / "figure"))
    with pytest.raises(InputError, match="there are none"):
        sensitivity_panels([])
