"""Tables of metrics: thresholds, scores and probabilities in bins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from nnpu import metrics
from nnpu.parameters import InputError, ParameterError

SAMPLINGS = ["two-sample", "one-sample"]


def drawn(sampling, n, seed=0, labelled=0.4, prior=0.3):
    """Two normal classes: s, y and scores; one sample, or P besides a sample of the population."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < prior, 1, -1)
    s = (y == 1) & (rng.random(n) < labelled)
    if sampling == "two-sample":
        n_p = int(labelled * prior * n)
        y = np.concatenate([y, np.ones(n_p)])
        s = np.repeat([0, 1], [n, n_p])
    return s.astype(int), y, rng.normal(y, 1.0)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_row_holds_what_the_metrics_say_of_the_predictions_at_its_threshold(sampling):
    s, _, scores = drawn(sampling, 400)
    s[:20] = np.where(s[:20] == 0, -1, s[:20])  # some known negatives
    how = {"prior": 0.35, "sampling": sampling}
    thresholds = [-2.0, 0.0, float(scores[7]), 1.5]
    for row in metrics.threshold_table(s, scores, thresholds, **how):
        predictions = scores > row["threshold"]
        for column in ("precision", "recall", "f1"):
            name = f"pu_{column}"
            value = metrics.METRICS[name](s, predictions, **how)
            limits = metrics.interval(name, s, predictions, **how)
            assert row[column] == pytest.approx(value, abs=1e-12)
            assert (row[f"{column}_low"], row[f"{column}_high"]) == pytest.approx(limits, abs=1e-12)
        counted = np.ones(len(s), bool) if sampling == "one-sample" else s == 0
        assert row["flagged"] == np.sum(predictions & counted)
        assert row["flagged_low"] < row["flagged"] < row["flagged_high"]


def test_the_interval_of_the_flagged_rows_covers_the_number_to_be_expected():
    """A third of 300 rows is flagged on average; 90 % of 400 intervals hold that, ± 4 errors."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [50, 300])
    covered = 0
    for _ in range(400):
        scores = np.concatenate([np.ones(50), rng.random(300)])
        (row,) = metrics.threshold_table(s, scores, [2 / 3], prior=0.2)
        covered += row["flagged_low"] <= 100 <= row["flagged_high"]
    assert abs(covered / 400 - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 400)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_where_nothing_or_everything_is_flagged_the_row_is_still_a_row(sampling):
    s, _, scores = drawn(sampling, 200)
    none, all_ = metrics.threshold_table(
        s, scores, [scores.max(), scores.min() - 1], prior=0.4, sampling=sampling
    )
    assert (none["flagged"], none["precision"], none["recall"]) == (0, 0, 0)
    assert (all_["precision"], all_["recall"]) == pytest.approx((0.4, 1))


def test_the_grid_follows_the_positives_even_if_they_are_few():
    """10 positives score above all others: half of the grid must lie among them."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [10, 10_000])
    scores = np.concatenate([np.linspace(10, 19, 10), rng.normal(0, 1, 10_000)])
    grid = metrics.threshold_grid(s, scores, also=0.123456789)
    assert np.all(np.diff(grid) > 0)
    assert 0.123456789 in grid
    assert len(grid) <= 101
    assert grid[-9:].tolist() == list(range(10, 19))  # above 19 there is no row
    assert [float(f"{value:.4g}") for value in grid if value != 0.123456789] == [
        value for value in grid if value != 0.123456789
    ]
    assert np.sum(scores > grid[-1]) >= 1


def test_a_prior_that_the_rows_cannot_have_is_moved_to_one_that_the_metrics_take():
    s, _, scores = drawn("one-sample", 100)
    for wanted in (0.001, 1.3):
        possible = metrics.possible_prior(wanted, s, sampling="one-sample")
        metrics.pu_accuracy(s, scores > 0, prior=possible, sampling="one-sample")
    assert metrics.possible_prior(0.5, s, sampling="one-sample") == 0.5
    with pytest.raises(ParameterError, match="'sampling' parameter of possible_prior"):
        metrics.possible_prior(0.5, s, sampling="sample")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_parts_of_a_bin_estimate_the_classes_in_it(sampling):
    """40,000 rows of known classes: each bin's estimate within five binomial errors."""
    s, y, scores = drawn(sampling, 40_000)
    of_population = np.ones(len(s), bool) if sampling == "one-sample" else s == 0
    rows = metrics.score_table(
        s, scores, prior=float(np.mean(y[of_population] == 1)), sampling=sampling, bins=12
    )
    hidden = scores[(s == 0) & (y == 1)]
    assert sum(row["labelled"] for row in rows) == np.sum(s == 1)
    assert sum(row["unlabelled"] for row in rows) == np.sum(s == 0)
    assert sum(row["positives"] for row in rows) == pytest.approx(len(hidden), rel=1e-9)
    scale = len(hidden) / np.sum(s == 1)
    for row in rows[1:-1]:
        true = np.sum((hidden >= row["low"]) & (hidden < row["high"]))
        error = np.sqrt(true + scale**2 * row["labelled"] + 1)
        assert abs(row["positives"] - true) < 5 * error
        assert row["positives"] + row["negatives"] == pytest.approx(row["unlabelled"])


def test_bins_grow_with_the_positives_and_the_outermost_hold_the_tails():
    s, _, scores = drawn("two-sample", 400)
    scores[0] = 1e6
    rows = metrics.score_table(s, scores, prior=0.3)
    assert len(rows) == 10
    assert rows[-1]["high"] < 10
    assert sum(row["unlabelled"] for row in rows) == 400
    assert len(metrics.score_table(*drawn("two-sample", 20_000)[::2], prior=0.3)) == 40
    assert len(metrics.score_table([1, 0], [2.0, 2.0], prior=0.3)) == 10  # all scores are equal


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_true_posteriors_lie_on_the_diagonal(sampling):
    """Of normal classes ±1 with prior π the posterior is the logistic of 2 x + logit π."""
    s, _, x = drawn(sampling, 40_000)
    posterior = 1 / (1 + np.exp(-(2 * x + np.log(0.3 / 0.7))))
    rows = metrics.reliability_table(s, posterior, prior=0.3, sampling=sampling)
    assert len(rows) == 10
    assert sum(row["rows"] for row in rows) == (40_000 if sampling == "two-sample" else len(s))
    for row in rows:
        error = (row["share_high"] - row["share_low"]) / 2 / norm.ppf(0.95)
        assert abs(row["share"] - row["probability"]) < 4 * error + 0.005


def test_probabilities_that_are_too_sure_lie_off_the_diagonal():
    s, _, x = drawn("two-sample", 40_000)
    too_sure = 1 / (1 + np.exp(-3 * (2 * x + np.log(0.3 / 0.7))))
    rows = metrics.reliability_table(s, too_sure, prior=0.3)
    assert any(not row["share_low"] <= row["probability"] <= row["share_high"] for row in rows)


def test_equal_probabilities_make_one_bin():
    (row,) = metrics.reliability_table([1, 1, 0, 0, 0], [0.5] * 5, prior=0.4)
    assert (row["rows"], row["probability"], row["share"]) == (3, 0.5, pytest.approx(0.4))


@pytest.mark.parametrize("table", [metrics.score_table, metrics.reliability_table])
def test_wrong_arguments_are_refused(table):
    with pytest.raises(InputError, match="needs labelled"):
        table([0, 0], [0.1, 0.2], prior=0.3)
    with pytest.raises(ParameterError, match="greater than the labelled share"):
        table([1, 0], [0.1, 0.2], prior=0.3, sampling="one-sample")
