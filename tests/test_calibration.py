"""Posteriors, calibration and cuts against the truth of Gaussians."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from nnpu.calibration import (
    ScoreCalibration,
    fit_calibration,
    least_regret_cut,
    posterior,
    shift_prior,
    shift_threshold,
    threshold_at_prior,
    threshold_for,
)
from nnpu.parameters import InputError


def draw(n_p, n_u, prior, distance=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n_u) < prior
    return rng.normal(distance, 1, n_p), rng.normal(size=n_u) + distance * y, y


def one_sample(n, prior, c, distance=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    x = rng.normal(size=n) + distance * y
    s = y & (rng.random(n) < c)
    return x[s], x[~s], y


def true_posterior(x, prior, distance=2.0):
    """π φ(x − d) / (π φ(x − d) + (1 − π) φ(x)) = σ(d x − d²/2 + logit π)."""
    return expit(distance * x - distance**2 / 2 + np.log(prior / (1 - prior)))


def test_two_sample_posterior_of_the_exact_labelled_probability_is_exact():
    """σ = b p_p / (b p_p + (1 − b) p_u), so σ/(1 − σ) · (1 − b)/b = p_p/p_u = P(y|x)/π."""
    x, prior, b = np.linspace(-3, 5, 50), 0.3, 0.2
    truth = true_posterior(x, prior)
    density_ratio = truth / prior
    sigma = b * density_ratio / (b * density_ratio + 1 - b)
    assert posterior(sigma, prior=prior, labelled_share=b) == pytest.approx(truth)


def test_one_sample_posterior_of_the_exact_labelled_probability_is_exact():
    """σ = c P(y|x) with c = b/π."""
    x, prior, c = np.linspace(-3, 5, 50), 0.3, 0.4
    truth = true_posterior(x, prior)
    found = posterior(c * truth, prior=prior, labelled_share=c * prior, sampling="one-sample")
    assert found == pytest.approx(truth)


def test_posterior_never_exceeds_one():
    for sampling in ("two-sample", "one-sample"):
        found = posterior([0.0, 0.9, 1.0], prior=0.5, labelled_share=0.2, sampling=sampling)
        assert found[0] == 0
        assert found[2] == 1
        assert (found <= 1).all()


def test_corrected_logistic_regression_has_the_posteriors_of_the_truth():
    """In the two-sample setting P(labelled | x) is not logistic in x; a quadratic comes close."""
    x_p, x_u, _ = draw(20_000, 40_000, 0.3)
    x, s = np.concatenate([x_p, x_u]), np.repeat([1, 0], [x_p.size, x_u.size])
    features = np.vander(x, 5)
    model = LogisticRegression(C=100, max_iter=2000).fit(features, s)
    found = posterior(model.predict_proba(features)[:, 1], prior=0.3, labelled_share=1 / 3)
    error = np.abs(found - true_posterior(x, 0.3))[s == 0]
    assert error.mean() < 0.03


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
@pytest.mark.parametrize("prior", [0.2, 0.5, 0.8])
def test_calibration_recovers_the_log_odds_of_gaussians(prior, sampling):
    """Scores 3x + 1 of Gaussians at distance 2 have log-odds 2x − 2 + logit π."""
    if sampling == "two-sample":
        x_p, x_u, _ = draw(20_000, 40_000, prior)
    else:
        x_p, x_u, _ = one_sample(60_000, prior, 0.5)
    calibration = fit_calibration(
        3 * x_p + 1, 3 * x_u + 1, prior=prior, sampling=sampling, ridge=1e-6
    )
    x = np.linspace(-2, 4, 50)
    assert np.abs(calibration(3 * x + 1) - true_posterior(x, prior)).max() < 0.05


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_calibrated_probabilities_of_the_population_average_to_the_prior(sampling):
    """The risk's derivative by the intercept vanishes: mean_Q σ(z) = π."""
    x_p, x_u, _ = one_sample(2000, 0.4, 0.3)
    calibration = fit_calibration(x_p, x_u, prior=0.4, sampling=sampling)
    population = x_u if sampling == "two-sample" else np.concatenate([x_p, x_u])
    assert calibration(population).mean() == pytest.approx(0.4, abs=1e-8)


def test_misleading_scores_give_everyone_the_prior():
    x_p, x_u, _ = draw(500, 1000, 0.3)
    calibration = fit_calibration(-x_p, -x_u, prior=0.3)
    assert calibration([-5.0, 5.0]) == pytest.approx([0.3, 0.3])


def test_separated_scores_have_a_finite_slope():
    calibration = fit_calibration(np.full(5, 9.0), np.repeat([9.0, 0.0], [3, 7]), prior=0.3)
    assert np.isfinite(calibration.slope)
    assert calibration([9.0, 0.0]) == pytest.approx([1.0, 0.0], abs=0.2)  # five rows of P


def test_threshold_at_prior_predicts_the_right_number_and_equates_precision_and_recall():
    x_p, x_u, y = draw(1000, 20_000, 0.3)
    predicted = x_u >= threshold_at_prior(x_p, x_u, prior=y.mean())
    assert predicted.sum() == y.sum()
    assert y[predicted].mean() == pytest.approx(predicted[y].mean())


def test_threshold_at_prior_counts_labelled_rows_in_one_sample():
    x_p, x_u, _ = one_sample(20_000, 0.3, 0.5)
    cut = threshold_at_prior(x_p, x_u, prior=0.3, sampling="one-sample")
    assert (np.concatenate([x_p, x_u]) >= cut).mean() == pytest.approx(0.3, abs=1e-3)
    assert cut < threshold_at_prior(x_p, x_u, prior=0.15)  # U alone holds fewer positives


@pytest.mark.parametrize("wanted", [{"precision": 0.8}, {"recall": 0.8}])
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_threshold_reaches_what_is_asked_by_true_labels(wanted, sampling):
    if sampling == "two-sample":
        x_p, x_u, _ = draw(20_000, 40_000, 0.3)
    else:
        x_p, x_u, _ = one_sample(60_000, 0.3, 0.4)
    found = threshold_for(x_p, x_u, prior=0.3, sampling=sampling, **wanted)
    _, fresh, y = draw(10, 100_000, 0.3, seed=9)
    predicted = fresh >= found.value
    true = y[predicted].mean() if "precision" in wanted else predicted[y].mean()
    target = next(iter(wanted.values()))
    assert true == pytest.approx(target, abs=0.03)
    assert found.low < target < found.high
    assert found.estimate >= target - 1e-12


def test_precision_out_of_reach_is_an_error_with_the_best_value():
    """U's top rows are above every positive: precision is at most 0.1 · 1 / 1."""
    with pytest.raises(InputError, match=r"best estimate is 0\.100"):
        threshold_for([0.0, 0.1], [0.2, 0.0, 0.3, 0.4], prior=0.1, precision=0.99)


def test_shift_prior_equals_the_posterior_of_the_new_population_and_inverts():
    x = np.linspace(-3, 5, 20)
    moved = shift_prior(true_posterior(x, 0.3), 0.3, 0.7)
    assert moved == pytest.approx(true_posterior(x, 0.7))
    assert shift_prior(moved, 0.7, 0.3) == pytest.approx(true_posterior(x, 0.3))


def test_shift_threshold_makes_the_same_decisions():
    p = np.linspace(0.01, 0.99, 99)
    cut = shift_threshold(0.37, 0.3, 0.7)
    assert np.array_equal(p >= cut, shift_prior(p, 0.3, 0.7) >= 0.37)


def test_least_regret_cut_is_the_most_accurate_one_where_the_prior_is_known():
    scores = np.linspace(-4, 4, 8001)
    known = ScoreCalibration(2.0, -1.0)
    assert least_regret_cut(scores, known, known) == pytest.approx(0.5, abs=0.001)


def test_least_regret_cut_loses_least_on_the_mean():
    """By brute force over all cuts, from the accuracies that the calibrations imply."""
    scores = np.sort(np.random.default_rng(0).normal(0, 2, 500))
    under = ScoreCalibration(0.8, -1.5), ScoreCalibration(1.2, 1.0), ScoreCalibration(1.0, 0.5)

    def accuracy(calibration, cut):
        p = calibration(scores)
        return np.where(scores > cut, p, 1 - p).mean()

    cuts = np.r_[-99, (scores[1:] + scores[:-1]) / 2, 99]
    accuracies = np.array([[accuracy(each, cut) for cut in cuts] for each in under])
    regret = (accuracies.max(axis=1, keepdims=True) - accuracies).mean(axis=0)
    assert least_regret_cut(scores, *under) == pytest.approx(cuts[np.argmin(regret)])


@pytest.mark.parametrize("sign", [1, -1])
def test_least_regret_cut_calls_all_rows_the_more_likely_class_if_none_is_worth_more(sign):
    scores = np.linspace(-1, 1, 401)
    under = ScoreCalibration(1.0, -3.0 * sign), ScoreCalibration(1.0, -1.1 * sign)
    cut = least_regret_cut(scores, *under)
    assert ((scores > cut) == (sign < 0)).all()


def test_least_regret_cut_keeps_equal_scores_together():
    scores = np.repeat([0.0, 1.0], 50)
    cut = least_regret_cut(scores, ScoreCalibration(4.0, -2.5), ScoreCalibration(4.0, -1.5))
    assert cut == 0.5
