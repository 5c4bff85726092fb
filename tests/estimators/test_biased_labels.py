"""`BiasedLabelPU`: who is positive and who gets labelled, told apart; metrics by propensities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import nnpu
from nnpu import BiasedLabelPU, PUWrapper, estimate_prior
from nnpu.estimators import biased_labels as propensity_prior
from nnpu.estimators import labelling_model
from nnpu.estimators.biased_labels import biased_share, weighted_share
from nnpu.estimators.labelling_model import _Product, expected_class, losses, shift_to, split
from nnpu.metrics import propensity_metrics, propensity_weights
from nnpu.parameters import InputError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:Without a known prior, how labels depend")


def sample(n=3000, slope=2.0, seed=0, prior=0.4):
    """Column 0 tells the class, column 1 drives the labelling, and the class a little."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    x = rng.normal(size=(n, 3)) + np.c_[2.5 * y, -0.5 * y, np.zeros(n)]
    chance = expit(-1 + slope * x[:, 1])
    return x, y, y & (rng.random(n) < chance), chance


@pytest.fixture(scope="module")
def biased():
    return sample()


def fitted(data, **changes):
    x, _, s, _ = data
    how = {"prior": 0.4, "propensity": [1], "random_state": 0} | changes
    return BiasedLabelPU(LogisticRegression(), **how).fit(x, s)


def accuracy(clf, data):
    return np.mean(clf.predict(data[0]).astype(bool) == data[1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:No unlabelled row looks like a positive")
@pytest.mark.slow
@parametrize_with_checks([BiasedLabelPU(LogisticRegression(), random_state=0)])
def test_it_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("by_score", [False, True])
def test_the_gradient_is_that_of_the_likelihood(by_score):
    rng = np.random.default_rng(0)
    design = np.c_[np.ones(40), rng.normal(size=(40, 2))]
    drivers = design[:, :1] if by_score else design[:, :2]
    product = _Product(design, drivers, rng.random(40) < 0.3, 0.4, by_score=by_score)
    theta = rng.normal(size=3 + drivers.shape[1] + by_score)
    error = check_grad(lambda t: product(t)[0], lambda t: product(t)[1], theta)
    assert error < 1e-3 * np.linalg.norm(product(theta)[1])


def test_both_models_are_recovered_where_both_are_logistic():
    """f has the log-odds 1 + 2 x₀, e has −0.5 + 2 x₁; many rows leave little to chance."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50_000, 2))
    class_odds, label_odds = 1 + 2 * x[:, 0], -0.5 + 2 * x[:, 1]
    s = (rng.random(len(x)) < expit(class_odds)) & (rng.random(len(x)) < expit(label_odds))
    found = split(x, x[:, 1:], s, float(expit(class_odds).mean()))
    assert found.varies
    assert np.abs(expit(found.log_odds) - expit(class_odds)).mean() < 0.02
    assert np.abs(found.chance - expit(label_odds)).mean() < 0.02


def test_labels_by_a_column_are_corrected(biased):
    plain = PUWrapper(LogisticRegression(), 0.4, sampling="one-sample").fit(biased[0], biased[2])
    clf = fitted(biased)
    assert clf.labels_vary_
    assert accuracy(clf, biased) > accuracy(plain, biased) + 0.05
    assert np.abs(clf.chance(biased[0]) - biased[3]).mean() < 0.1


def test_random_labels_are_found_random_and_cost_nothing():
    data = sample(slope=0.0)
    plain = PUWrapper(LogisticRegression(), 0.4, sampling="one-sample").fit(data[0], data[2])
    clf = fitted(data)
    assert not clf.labels_vary_
    assert clf.labelling_ is None
    assert np.unique(clf.chance(data[0])).size == 1
    assert clf.chance(data[0])[0] == pytest.approx(data[2].mean() / 0.4)
    assert accuracy(clf, data) > accuracy(plain, data) - 0.005


def test_the_share_is_found_although_labels_hide_it():
    """An estimate that takes labels as random is far below the truth, and its interval too."""
    for seed in range(3):
        x, y, s, _ = sample(slope=1.0, seed=seed)
        plain = estimate_prior(x[s], x[~s], sampling="one-sample", random_state=0)
        found = biased_share(x, s, [1], None, seed=0)
        assert plain.high < y.mean() - 0.05
        assert abs(found.value - y.mean()) < 0.5 * abs(plain.value - y.mean())
        assert s.mean() < found.low < y.mean() < found.high < 1
        assert found.sampling == "one-sample"


def test_rare_positives_are_not_taken_for_many():
    """One row in a hundred: labels count for what they are, however many rows have none."""
    x, y, s, _ = sample(n=20_000, slope=1.0, prior=0.01)
    found = biased_share(x, s, [1], None, seed=0)
    assert found.low < y.mean() < found.high
    assert found.value < 0.05


def test_weights_by_the_true_propensities_give_the_share():
    for slope in (0.0, 1.0):
        x, y, s, chance = sample(slope=slope)
        value, low, high = propensity_prior._by_weights(x, s, chance, None, seed=0)
        assert value == pytest.approx(y.mean(), abs=0.05)
        assert low < y.mean() < high


def test_rows_of_a_group_share_a_fold_where_the_prior_is_estimated(monkeypatch):
    x, _, s, chance = sample(n=300)
    groups, seen = np.arange(300) // 3, []

    def watched(x_p, x_u, *, groups, **how):
        seen.append(groups)
        return estimate_prior(x_p[:, 0], x_u[:, 0], random_state=0)

    monkeypatch.setattr(propensity_prior, "estimate_prior", watched)
    propensity_prior._by_weights(x, s, chance, groups, seed=0)
    for labelled, everyone in seen:
        assert np.array_equal(everyone, groups)
        assert set(labelled) <= set(groups[s])


def test_the_likelihood_is_best_near_the_true_share_where_both_are_logistic():
    """f has the log-odds −0.5 + 2 x₀ + x₁, e has −1 + 2 x₁: the column drives both."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 2))
    f, e = expit(-0.5 + 2 * x[:, 0] + x[:, 1]), expit(-1 + 2 * x[:, 1])
    s = rng.random(len(x)) < f * e
    shares = np.array([0.8, 0.7, 0.6, 0.5, f.mean(), 0.35, 0.3, 0.25])
    found = losses(x, x[:, 1:], s, shares)
    assert shares[found.argmin()] == f.mean()
    assert np.diff(np.sign(np.diff(found))).tolist().count(2.0) == 1  # one minimum


def test_a_maximum_that_is_far_from_the_plain_start_is_followed_down():
    """Labels go up with x₁, the class goes down with it: at small shares the two nearly cancel."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6000, 2))
    f, e = expit(1.5 * x[:, 0] - 1.5 * x[:, 1]), expit(-2 + 3 * x[:, 1])
    s = rng.random(len(x)) < f * e
    found = split(x, x[:, 1:], s, 0.3)
    assert found.varies
    assert np.corrcoef(logit(found.chance), x[:, 1])[0, 1] > 0.99
    assert np.corrcoef(found.log_odds, x[:, 1])[0, 1] < 0


def test_many_rows_are_split_by_some_of_them(monkeypatch):
    x, y, s, chance = sample(n=6000)
    monkeypatch.setattr(labelling_model, "MOST_ROWS", 3000)
    few, all_rows = split(x, x[:, 1:2], s, 0.4), labelling_model._rows_to_fit(s)
    assert few.chance.shape == few.log_odds.shape == s.shape
    assert np.abs(few.chance - chance).mean() < 0.1
    assert all_rows.size == 6000  # too few of 3000 would be labelled
    monkeypatch.setattr(labelling_model, "_FEW", 100)
    assert labelling_model._rows_to_fit(s).size == 3000
    some = split(x, x[:, 1:2], s, 0.4)
    assert some.chance.shape == some.log_odds.shape == s.shape
    assert np.abs(some.chance - few.chance).mean() < 0.05
    known = split(x, None, s, 0.4, known=chance)
    assert np.mean((known.log_odds > 0) == y) > 0.85
    part = losses(x, x[:, 1:2], s, [0.6, 0.4])
    monkeypatch.setattr(labelling_model, "MOST_ROWS", 6000)
    whole = losses(x, x[:, 1:2], s, [0.6, 0.4])
    assert part == pytest.approx(whole, rel=0.1)
    assert part[0] - part[1] == pytest.approx(whole[0] - whole[1], rel=0.3)


def test_an_estimated_prior_comes_near_the_truth_although_labels_are_biased():
    data = sample(slope=1.0)
    with pytest.warns(UserWarning, match="would settle it"):
        clf = fitted(data, prior="auto")
    assert clf.labels_vary_
    assert clf.prior_ == pytest.approx(data[1].mean(), abs=0.1)
    assert clf.prior_estimate_.value == clf.prior_
    assert not clf.prior_estimate_.identified
    assert "a review of 100" in clf.prior_estimate_.message


def test_random_labels_and_an_estimated_prior_make_it_the_plain_model():
    data = sample(slope=0.0)
    x, _, s, _ = data
    plain = PUWrapper(LogisticRegression(), sampling="one-sample", random_state=0).fit(x, s)
    clf = fitted(data, prior="auto")
    assert not clf.labels_vary_
    assert clf.prior_ == plain.prior_
    assert clf.prior_estimate_ == plain.prior_estimate_
    assert clf.decision_function(x) == pytest.approx(plain.decision_function(x), abs=1e-3)
    assert clf.chance(x)[0] == pytest.approx(s.mean() / plain.prior_)


def test_a_class_that_bends_is_not_taken_for_biased_labels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    log_odds = 2 * x[:, 0] - 1.5 * x[:, 0] ** 2
    y = rng.random(4000) < 1 / (1 + np.exp(-log_odds))
    s = y & (rng.random(4000) < 0.4)
    clf = BiasedLabelPU(prior=float(y.mean()), propensity=[0], random_state=0).fit(x, s)
    assert not clf.labels_vary_
    assert np.mean(clf.predict(x) == y) > np.mean((log_odds > 0) == y) - 0.02


def test_columns_may_have_names(biased):
    frame = pd.DataFrame(biased[0], columns=["test", "age", "noise"])
    clf = fitted((frame, *biased[1:]), propensity="age")
    assert np.array_equal(
        clf.decision_function(frame), fitted(biased, propensity=1).decision_function(biased[0])
    )


def test_known_propensities_give_the_prior_and_the_class(biased):
    x, _, s, chance = biased
    clf = BiasedLabelPU(LogisticRegression(), random_state=0).fit(x, s, chance=chance)
    assert clf.prior_ == pytest.approx(np.mean(s / chance))
    assert clf.prior_estimate_.low <= 0.4 <= clf.prior_estimate_.high
    assert accuracy(clf, biased) > accuracy(fitted(biased), biased) - 0.02
    assert clf.score(x, s, chance=chance) == pytest.approx(accuracy(clf, biased), abs=0.05)
    with pytest.raises(InputError, match="no model of them"):
        clf.chance(x)


def test_the_default_trees_are_saved_and_loaded(biased, tmp_path):
    x, _, s, _ = biased
    for prior, propensity in ((0.4, [1]), (0.4, "all"), ("auto", "all")):
        clf = BiasedLabelPU(prior=prior, propensity=propensity, random_state=0)
        clf.fit(x[:800], s[:800])
        loaded = nnpu.load(clf.save(tmp_path / "model"))
        assert type(loaded) is BiasedLabelPU
        assert np.array_equal(loaded.decision_function(x), clf.decision_function(x))
        assert np.array_equal(loaded.chance(x), clf.chance(x))
    with pytest.raises(InputError, match="joblib"):
        fitted(biased).save(tmp_path / "other")


def test_same_seed_same_bits(biased):
    x, _, s, _ = biased
    clf = BiasedLabelPU(prior=0.4, propensity=[1], random_state=3)
    first, second = (clone(clf).fit(x[:500], s[:500]).decision_function(x) for _ in range(2))
    assert np.array_equal(first, second)


def test_what_takes_labels_as_random_is_refused(biased):
    clf = fitted(biased)
    with pytest.raises(InputError, match="calibrate assumes that labels were given at random"):
        clf.calibrate(biased[0], biased[2])
    with pytest.raises(
        InputError, match="choose_threshold assumes that labels were given at random"
    ):
        clf.choose_threshold(biased[0], biased[2], at="half")


def test_an_unknown_prior_and_labels_by_the_score_give_a_warning(biased):
    with pytest.warns(UserWarning, match="labels are taken as given at random"):
        clf = fitted(biased, prior="auto", propensity="all")
    assert not clf.labels_vary_
    assert fitted(biased, propensity="all").labels_vary_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propensity": [7]}, "numbers from 0 to 2"),
        ({"propensity": ["age"]}, "'propensity' parameter"),
        ({"propensity": []}, "'propensity' parameter"),
        ({"propensity": None}, "'propensity' parameter"),
        ({"propensity": [True]}, "'propensity' parameter"),
        ({"prior": 0.05}, "'prior' parameter"),
        ({"prior": "some"}, "'prior' parameter"),
    ],
)
def test_bad_parameters_are_refused(biased, changes, message):
    with pytest.raises(ParameterError, match=message):
        fitted(biased, **changes)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression, KNeighborsClassifier(), make_pipeline(LogisticRegression()), "trees"],
)
def test_a_classifier_without_weights_is_refused(biased, estimator):
    with pytest.raises(ParameterError, match="whose fit takes sample_weight"):
        BiasedLabelPU(estimator, 0.4).fit(biased[0], biased[2])


def test_bad_rows_and_propensities_are_refused(biased):
    x, _, s, chance = biased
    clf = BiasedLabelPU(LogisticRegression(), 0.4)
    with pytest.raises(InputError, match="toarray"):
        clf.fit(sp.csr_matrix(x), s)
    with pytest.raises(InputError, match="one value per row"):
        clf.fit(x, s, chance=chance[:-1])
    with pytest.raises(InputError, match=r"\(0, 1\]"):
        clf.fit(x, s, chance=np.zeros(len(s)))
    with pytest.raises(ParameterError, match="numbers in the range"):
        clf.fit(x, s, chance=["a"] * len(s))
    with pytest.raises(InputError, match="more positives than rows"):
        weighted_share(s, np.full(len(s), 0.01))


def test_the_e_step_is_bayes_rule():
    """P(y = 1 | unlabelled) with f = e = 1/2 is (1/4) / (3/4)."""
    target = expected_class(np.zeros(3), np.array([0.5, 0.5, 1.0]), np.array([1, 0, 0], dtype=bool))
    assert target == pytest.approx([1, 1 / 3, 0])


def test_a_shift_reaches_the_prior():
    log_odds = logit(np.array([0.1, 0.5, 0.99]))
    assert expit(log_odds + shift_to(0.2, log_odds)).mean() == pytest.approx(0.2)


def test_metrics_under_propensities_are_those_of_the_true_classes():
    rng = np.random.default_rng(0)
    y = rng.random(400_000) < 0.3
    called = np.where(y, rng.random(y.size) < 0.7, rng.random(y.size) < 0.2)
    chance = rng.uniform(0.1, 0.9, y.size) * np.where(called, 1.0, 0.5)  # and they are related
    found = propensity_metrics(y & (rng.random(y.size) < chance), called, chance=chance)
    truth = (y.mean(), np.mean(called == y), y[called].mean(), called[y].mean())
    assert found == pytest.approx(truth, abs=0.01)


def test_weights_are_the_class_itself_if_every_positive_is_labelled():
    y = np.array([1, 0, 0, 1])
    positive, negative = propensity_weights(y, np.ones(4))
    assert np.array_equal(positive, y)
    assert np.array_equal(negative, 1 - y)


def test_bad_arguments_of_the_metrics_are_refused():
    for s, called, chance, message in [
        ([1, 0], [1, 0], [0.5], "one value per row"),
        ([1, 2], [1, 0], [0.5, 0.5], "1 \\(labelled\\) or 0"),
        ([1, 0], [1, 0], [0.5, 0.0], "range \\(0, 1\\]"),
        ([1, 0], [1, 0.5], [0.5, 0.5], "predictions must be"),
    ]:
        with pytest.raises(InputError, match=message):
            propensity_metrics(s, called, chance=chance)
    assert np.isnan(propensity_metrics([0, 0], [0, 0], chance=[0.5, 0.5]).precision)
