"""Metrics against supervised truth, by hand, by simulation; intervals; scorers; bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn import metrics as supervised
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from nnpu import metrics

CUT, DISTANCE = 0.75, 1.5
SAMPLINGS = ("two-sample", "one-sample")


def draw(n, prior, sampling, seed):
    """Scores from unit Gaussians, PU labels, true classes; in one sample c = 0.4 are labelled."""
    rng = np.random.default_rng(seed)
    n_p = n // 4 if sampling == "two-sample" else 0
    y = np.concatenate([np.ones(n_p, bool), rng.random(n) < prior])
    x = rng.normal(size=y.size) + DISTANCE * y
    if sampling == "two-sample":
        return x, np.repeat([1, 0], [n_p, n]), y
    return x, (y & (rng.random(n) < 0.4)).astype(int), y


def truth(prior):
    """The metrics of the population at the cut, from the Gaussians' tails."""
    tpr, fpr = norm.sf(CUT - DISTANCE), norm.sf(CUT)
    tp, fp, fn = prior * tpr, (1 - prior) * fpr, prior * (1 - tpr)
    return {
        "pu_zero_one_risk": fp + fn,
        "pu_accuracy": 1 - fp - fn,
        "pu_precision": tp / (tp + fp),
        "pu_recall": tpr,
        "pu_f1": 2 * tp / (2 * tp + fp + fn),
        "lee_liu_score": tp / (tp + fp) * tpr / prior,
        "pu_roc_auc": norm.cdf(DISTANCE / np.sqrt(2)),
    }


def values_for(name, x):
    return x if name == "pu_roc_auc" else x >= CUT


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("prior", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_metrics_are_within_four_standard_errors_of_the_supervised_truth(prior, sampling):
    x, s, _ = draw(100_000, prior, sampling, seed=7)
    for name, expected in truth(prior).items():
        given = {"prior": prior, "sampling": sampling}
        value = metrics.METRICS[name](s, values_for(name, x), **given)
        low, high = metrics.interval(name, s, values_for(name, x), **given)
        error = (high - low) / 2 / norm.ppf(0.95)
        assert abs(value - expected) < 4 * error, name
        assert error < 0.15 * (1 - prior) ** -0.5, name


def test_metrics_equal_the_supervised_ones_when_p_is_exactly_the_positives_of_u():
    """If P holds the same rows as the positives of U, every estimate is scikit-learn's figure."""
    x, _, y = draw(3000, 0.3, "one-sample", seed=0)
    s = np.repeat([1, 0], [y.sum(), y.size])
    scores = np.concatenate([x[y], x])
    given = {"prior": y.mean()}
    predictions = scores >= CUT
    truths = {
        "pu_accuracy": supervised.accuracy_score(y, x >= CUT),
        "pu_zero_one_risk": supervised.zero_one_loss(y, x >= CUT),
        "pu_precision": supervised.precision_score(y, x >= CUT),
        "pu_recall": supervised.recall_score(y, x >= CUT),
        "pu_f1": supervised.f1_score(y, x >= CUT),
    }
    for name, expected in truths.items():
        assert metrics.METRICS[name](s, predictions, **given) == pytest.approx(expected), name
    ties = scores.round(1)
    assert metrics.pu_roc_auc(s, ties, **given) == pytest.approx(
        supervised.roc_auc_score(y, x.round(1))
    )


def test_one_sample_auc_matches_the_formula_in_terms_of_p_against_u():
    """AUC = (b/2 + (1 − b) A − π/2)/(1 − π) with A the AUC of P against U alone: P against itself
    is 1/2.
    """
    x, s, _ = draw(2000, 0.5, "one-sample", seed=1)
    a, b = supervised.roc_auc_score(s, x), s.mean()
    assert metrics.pu_roc_auc(s, x, prior=0.5, sampling="one-sample") == pytest.approx(
        (b / 2 + (1 - b) * a - 0.25) / 0.5
    )


def test_two_sample_forms_are_wrong_on_one_sample_data():
    x, s, _ = draw(50_000, 0.5, "one-sample", seed=2)
    right = metrics.pu_precision(s, x >= CUT, prior=0.5, sampling="one-sample")
    wrong = metrics.pu_precision(s, x >= CUT, prior=0.5, sampling="two-sample")
    assert right == pytest.approx(truth(0.5)["pu_precision"], abs=0.02)
    assert wrong - right > 0.1


def test_impossible_value_is_clipped_only_on_request():
    """TPR = 1, Q = 1/4, π = 1/2: precision is 2."""
    s, predictions = [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]
    assert metrics.pu_precision(s, predictions, prior=0.5) == 2
    assert metrics.pu_precision(s, predictions, prior=0.5, clip=True) == 1
    assert metrics.interval("pu_precision", s, predictions, prior=0.5, clip=True)[1] == 1


def test_nothing_predicted_positive():
    """Accuracy 1 − π by the formula; precision and Lee-Liu 0 by convention."""
    s, nothing = [1, 1, 0, 0, 0, 0], [0] * 6
    assert metrics.pu_accuracy(s, nothing, prior=0.25) == 0.75
    assert metrics.pu_precision(s, nothing, prior=0.25) == 0
    assert metrics.lee_liu_score(s, nothing, prior=0.25) == 0
    assert metrics.lee_liu_score(s, [1, 0, 0, 0, 0, 0], prior=0.25) == np.inf


def test_known_negatives_are_not_part_of_u():
    s, predictions = [1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0]
    with_negatives = metrics.pu_accuracy([*s, -1, -1], [*predictions, 1, 1], prior=0.25)
    assert with_negatives == metrics.pu_accuracy(s, predictions, prior=0.25)


@pytest.mark.parametrize("name", sorted(metrics.METRICS))
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_weights_equal_repetition(name, sampling):
    x, s, _ = draw(300, 0.5, sampling, seed=3)
    values = values_for(name, x)
    weights = np.random.default_rng(0).integers(0, 3, size=s.size)
    given = {"prior": 0.5, "sampling": sampling}
    assert metrics.METRICS[name](s, values, sample_weight=weights, **given) == pytest.approx(
        metrics.METRICS[name](np.repeat(s, weights), np.repeat(values, weights), **given)
    )


def coverages(prior, sampling, draws):
    expected = truth(prior)
    inside = dict.fromkeys(expected, 0)
    for seed in range(draws):
        x, s, _ = draw(4000, prior, sampling, seed)
        for name, value in expected.items():
            low, high = metrics.interval(
                name, s, values_for(name, x), prior=prior, sampling=sampling
            )
            inside[name] += low <= value <= high
    return {name: count / draws for name, count in inside.items()}


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_interval_covers_about_nine_in_ten(sampling):
    """With 150 draws at 90 % the share varies by .024: .83 to .97 is three of these each way."""
    assert all(0.83 <= share <= 0.97 for share in coverages(0.5, sampling, 150).values())


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("prior", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_interval_covers_nine_in_ten(prior, sampling):
    found = coverages(prior, sampling, 500)
    assert all(0.86 <= share <= 0.94 for share in found.values()), found


def test_interval_of_a_perfect_recall_is_not_a_point():
    low, high = metrics.interval("pu_recall", [1] * 20 + [0] * 20, [1] * 20 + [0] * 20, prior=0.3)
    assert high - low > 0.05


@pytest.mark.parametrize("name", sorted(metrics.METRICS))
def test_scorers_choose_a_model_in_a_grid_without_true_labels(name):
    rng = np.random.default_rng(0)
    x, s, y = draw(1200, 0.4, "two-sample", seed=4)
    features = np.column_stack([x, rng.normal(size=x.size)])
    scorer = metrics.make_pu_scorer(name, prior=0.4)
    grid = GridSearchCV(
        LogisticRegression(class_weight="balanced"), {"C": [1e-9, 1.0]}, scoring=scorer, cv=3
    ).fit(features, s)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert supervised.roc_auc_score(y, grid.decision_function(features)) > 0.8


def test_scorer_negates_the_risk_and_reads_the_estimators_prior():
    x, s, _ = draw(400, 0.4, "two-sample", seed=5)
    model = LogisticRegression(class_weight="balanced").fit(x[:, None], s)
    model.prior_ = 0.4
    risk, accuracy = (
        metrics.SCORERS[name](model, x[:, None], s) for name in ("pu_zero_one_risk", "pu_accuracy")
    )
    assert risk == pytest.approx(accuracy - 1)
    expected = metrics.pu_accuracy(s, model.predict(x[:, None]), prior=0.4)
    assert accuracy == pytest.approx(expected)
    recoded = LogisticRegression(class_weight="balanced").fit(x[:, None], 2 * s - 1)
    scorer = metrics.make_pu_scorer(metrics.pu_accuracy, prior=0.4)
    assert scorer(recoded, x[:, None], 2 * s - 1) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:scoring=.*impossible")  # labels were not given at random
@pytest.mark.parametrize("name", sorted(metrics.METRICS))
def test_a_scorer_takes_a_fold_with_more_labels_than_the_estimators_prior_allows(name):
    """Half of the rows are labelled, prior_ is 0.3: the error named a parameter nobody gave."""
    x, s = np.linspace(-2, 2, 40)[:, None], np.repeat([0, 1], 20)
    model = LogisticRegression().fit(x, s)
    model.prior_, model.sampling = 0.3, "one-sample"
    found = metrics.SCORERS[name](model, x, s)
    model.prior_ = 21 / 40  # one hidden positive, the least that these labels allow
    assert found == metrics.SCORERS[name](model, x, s)
    with pytest.raises(ValueError, match="prior"):  # but a prior that was given is not changed
        metrics.make_pu_scorer(name, prior=0.3)(model, x, s)


@pytest.mark.parametrize(
    ("value", "shown"), [(1.3, "1.30"), (1.0037, "1.004"), (-0.00002, "-0.00002")]
)
def test_a_contradiction_shows_a_value_that_is_impossible(value, shown):
    """It said: a precision of 1.00 is impossible."""
    said = metrics.contradiction("pu_precision", value)
    assert said.startswith(f"A precision of {shown} is impossible: ")


def test_a_contradiction_never_names_a_bound_that_is_no_share():
    """It said: a precision of 1.77, read it as at least -1.20."""
    said = metrics.contradiction("pu_precision", 1.77, -1.2, 4.7)
    assert said == "A precision of 1.77 is impossible: so few rows say nothing about it."
    said = metrics.contradiction("pu_accuracy", -0.2, -0.9, 1.4)
    assert said == "An accuracy of -0.20 is impossible: so few rows say nothing about it."
    assert metrics.contradiction("pu_f1", 1.1, 0.8, 1.4).endswith("read it as at least 0.80.")
    assert metrics.contradiction("pu_f1", 1.1, 0.8, 1.4).startswith("An F1 of 1.10")
