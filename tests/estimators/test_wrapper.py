"""`PUWrapper`: the posterior correction around scikit-learn's classifiers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from nnpu import PUWrapper
from nnpu.calibration import posterior
from nnpu.data import PUStratifiedKFold
from nnpu.parameters import InputError, ParameterError


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([PUWrapper(LogisticRegression(), prior=0.2)])
def test_a_wrapped_logistic_regression_passes_every_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:No unlabelled row looks like a positive")
@parametrize_with_checks([PUWrapper(LogisticRegression(), random_state=0)])
def test_a_wrapper_that_estimates_the_prior_passes_every_check(estimator, check):
    check(estimator)


@pytest.fixture
def two_gaussians(make_sample):
    """N(±0.7, 1): log-odds are 1.4 x + logit π, and the posterior is known exactly."""
    return make_sample(20_000, 40_000, d=1, prior=0.3, gap=0.7)


def test_log_odds_are_those_of_the_true_posterior(two_gaussians):
    """An estimator that knows σ/(1 − σ) = b/(1 − b) · p(x | +)/p(x) exactly must lead to them."""
    sample = two_gaussians

    class Truth(GaussianNB):
        def predict_proba(self, X):
            x = np.asarray(X)[:, 0]
            ratio = np.exp(-((x - 0.7) ** 2) / 2) / (
                0.3 * np.exp(-((x - 0.7) ** 2) / 2) + 0.7 * np.exp(-((x + 0.7) ** 2) / 2)
            )
            sigma = 20_000 * ratio / (20_000 * ratio + 40_000)
            return np.column_stack([1 - sigma, sigma])

    clf = PUWrapper(Truth(), prior=0.3).fit(sample.x, sample.s)
    at = np.linspace(-3, 3, 25)[:, None]
    assert np.allclose(clf.decision_function(at), 1.4 * at[:, 0] + logit(0.3), atol=1e-3)


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_probabilities_are_the_corrected_ones_of_the_estimator(sample, sampling):
    clf = PUWrapper(LogisticRegression(), prior=0.4, sampling=sampling).fit(sample.x, sample.s)
    alone = LogisticRegression().fit(sample.x, sample.s).predict_proba(sample.x)[:, 1]
    expected = posterior(alone, prior=0.4, labelled_share=float(sample.s.mean()), sampling=sampling)
    assert np.allclose(clf.predict_proba(sample.x)[:, 1], expected, atol=2e-6)


def test_scores_go_on_rising_where_the_posterior_is_cut_off_at_one(make_sample):
    sample = make_sample(500, 1_000, d=1, prior=0.3, gap=2.0)
    clf = PUWrapper(LogisticRegression(), prior=0.9).fit(sample.x, sample.s)  # a wrong prior
    at = np.linspace(2, 5, 50)[:, None]
    assert np.all(clf.predict_proba(at)[:, 1] > 1 - 2e-6)
    assert np.all(np.diff(clf.decision_function(at)) > 0)


def test_certain_trees_have_finite_scores(sample):
    forest = RandomForestClassifier(10, random_state=0)
    clf = PUWrapper(forest, prior=0.4).fit(sample.x, sample.s)
    certain = clf.estimator_.predict_proba(sample.x)
    assert {0.0, 1.0} <= set(certain[:, 1])
    assert np.isfinite(clf.decision_function(sample.x)).all()


def test_boosted_trees_learn_from_one_sample(make_sample):
    """Half of the positives are labelled: without the correction nearly none are predicted."""
    sample = make_sample(0, 4_000, d=2, prior=0.4, gap=1.5)
    s = ((sample.y == 1) & (np.random.default_rng(0).random(4_000) < 0.4)).astype(int)
    trees = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=4, random_state=0)
    clf = PUWrapper(trees, prior=0.4, sampling="one-sample").fit(sample.x[::2], s[::2])
    fresh, y = sample.x[1::2], sample.y[1::2]
    alone = trees.fit(sample.x[::2], s[::2]).predict(fresh)
    assert np.mean(clf.predict(fresh) == (y == 1)) > 0.95
    assert np.mean(alone == (y == 1)) < 0.85


def test_probabilities_of_the_training_rows_are_too_low(make_sample):
    """The documented trap, with a forest that knows its rows by heart."""
    sample = make_sample(400, 1_000, d=2, prior=0.4, gap=0.7)
    fresh = make_sample(1, 1_000, d=2, prior=0.4, gap=0.7, seed=1)
    clf = PUWrapper(RandomForestClassifier(50, random_state=0), prior=0.4)
    clf.fit(sample.x, sample.s)
    seen = clf.predict_proba(sample.x[sample.s == 0])[:, 1].mean()
    unseen = clf.predict_proba(fresh.x[fresh.s == 0])[:, 1].mean()
    assert seen < 0.75 * unseen


def test_the_prior_is_estimated_with_scores_of_the_estimator(make_sample):
    sample = make_sample(400, 1_200, d=2, prior=0.3, gap=2.0)
    clf = PUWrapper(LogisticRegression(), random_state=0).fit(sample.x, sample.s)
    assert clf.prior_ == pytest.approx(0.3, abs=0.05)
    assert clf.prior_estimate_.value == clf.prior_
    for x in (pd.DataFrame(sample.x), sp.csr_array(sample.x), sample.x.tolist()):
        again = PUWrapper(LogisticRegression(), random_state=0).fit(x, sample.s)
        assert again.prior_ == pytest.approx(clf.prior_, abs=0.01)


def test_the_prior_of_rows_that_only_the_estimator_can_read_is_estimated():
    """Texts, four of them over and over, and columns with missing values: 40 % of U are like P."""
    rng = np.random.default_rng(0)
    good, bad = np.array(["good film", "good play"]), np.array(["bad film", "poor play"])
    texts = [*rng.choice(good, 300), *rng.choice(good, 400), *rng.choice(bad, 600)]
    s = np.repeat([1, 0], [300, 1_000])
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    by_words = PUWrapper(pipeline, random_state=0)
    assert by_words.fit(texts, s).prior_ == pytest.approx(0.4, abs=0.05)
    columns = pd.DataFrame({"a": [text[0] == "g" for text in texts], "b": rng.random(1_300)})
    columns["b"] = columns["b"].where(columns["b"] > 0.1)  # missing values
    trees = HistGradientBoostingClassifier(max_iter=10)
    by_columns = PUWrapper(trees, random_state=0).fit(columns, s)
    assert by_columns.prior_ == pytest.approx(0.4, abs=0.05)


def test_a_positive_that_is_also_unlabelled_is_not_recognised_out_of_fold(make_sample):
    """P inside U, as in the paper: a memoriser would otherwise score these rows of U as P."""
    sample = make_sample(0, 900, d=3, prior=0.4, gap=2.0)
    p = np.flatnonzero(sample.y == 1)[:200]
    x, s = np.concatenate([sample.x[p], sample.x]), np.repeat([1, 0], [200, 900])
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    assert PUWrapper(forest, random_state=0).fit(x, s).prior_ == pytest.approx(0.4, abs=0.08)


def test_one_labelled_row_cannot_tell_the_prior(sample):
    s = np.zeros_like(sample.s)
    s[np.argmax(sample.s)] = 1
    with pytest.raises(InputError, match="two labelled and two unlabelled"):
        PUWrapper(LogisticRegression()).fit(sample.x, s)


def test_frames_and_sparse_matrices_reach_the_estimator(sample):
    dense = PUWrapper(LogisticRegression(), prior=0.4).fit(sample.x, sample.s)
    frame = pd.DataFrame(sample.x, columns=list("abcd"))
    named = PUWrapper(LogisticRegression(), prior=0.4).fit(frame, sample.s)
    assert named.estimator_.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(named.predict(frame), dense.predict(sample.x))
    sparse = PUWrapper(LogisticRegression(), prior=0.4).fit(sp.coo_array(sample.x), sample.s)
    assert np.array_equal(sparse.predict(sp.csr_array(sample.x)), dense.predict(sample.x))


def test_texts_go_through_a_pipeline():
    texts = ["good film", "good play", "bad film", "bad play"] * 10
    s = [1, 1, 0, 0] * 10
    clf = PUWrapper(make_pipeline(CountVectorizer(), LogisticRegression()), prior=0.3)
    assert clf.fit(texts, s).predict(["good film", "bad play"]).tolist() == [1, 0]


def test_missing_values_are_for_the_estimator_to_take(sample):
    holes = np.where(np.random.default_rng(0).random(sample.x.shape) < 0.1, np.nan, sample.x)
    trees = PUWrapper(HistGradientBoostingClassifier(max_iter=5), prior=0.4)
    assert np.isfinite(trees.fit(holes, sample.s).decision_function(holes)).all()
    with pytest.raises(ValueError, match="NaN"):
        PUWrapper(LogisticRegression(), prior=0.4).fit(holes, sample.s)


def test_known_negatives_are_left_out_of_two_samples_with_a_warning(sample):
    s = sample.s.copy()
    s[np.flatnonzero((s == 0) & (sample.y == -1))[:20]] = -1
    with pytest.warns(UserWarning, match=r"20 known negatives are not used by PUWrapper"):
        clf = PUWrapper(LogisticRegression(), prior=0.4).fit(sample.x, s)
    kept = s >= 0
    expected = LogisticRegression().fit(sample.x[kept], s[kept])
    assert np.allclose(clf.estimator_.coef_, expected.coef_)
    assert clf.labelled_share_ == s[kept].mean()
    assert clf.classes_.tolist() == [-1, 1]


def test_known_negatives_are_unlabelled_rows_of_one_sample(sample):
    s = sample.s.copy()
    s[np.flatnonzero((s == 0) & (sample.y == -1))[:20]] = -1
    clf = PUWrapper(LogisticRegression(), prior=0.4, sampling="one-sample").fit(sample.x, s)
    assert clf.labelled_share_ == np.mean(s == 1)


def test_cuts_and_calibration_are_those_of_every_classifier(make_sample):
    sample = make_sample(500, 2_000, d=2, prior=0.3, gap=1.0)
    clf = PUWrapper(LogisticRegression(), prior=0.3).fit(sample.x[::2], sample.s[::2])
    x, s = sample.x[1::2], sample.s[1::2]
    clf.calibrate(x, s).choose_threshold(x, s, at="prior")
    assert clf.predict(x[s == 0]).mean() == pytest.approx(0.3, abs=0.01)
    p = expit(clf.calibration_.slope * clf.decision_function(x) + clf.calibration_.intercept)
    assert np.allclose(clf.predict_proba(x)[:, 1], p, atol=1e-6)


def test_the_wrapped_estimators_parameters_can_be_searched(make_sample):
    """C=1e-6 shrinks every coefficient to nothing, so that all rows get the same score."""
    sample = make_sample(200, 600, d=2, prior=0.4, gap=1.0)
    search = GridSearchCV(
        PUWrapper(LogisticRegression(), prior=0.4),
        {"estimator__C": [1e-6, 1.0]},
        cv=PUStratifiedKFold(3, random_state=0),
    ).fit(sample.x, sample.s)
    assert search.best_params_ == {"estimator__C": 1.0}


@pytest.mark.parametrize("estimator", [LinearSVC(), LogisticRegression, 3], ids=repr)
def test_an_estimator_without_probabilities_is_refused(sample, estimator):
    with pytest.raises(ParameterError, match="'estimator' parameter of PUWrapper"):
        PUWrapper(estimator, prior=0.4).fit(sample.x, sample.s)


def test_a_wrapper_is_not_saved_as_a_folder(sample, tmp_path):
    clf = PUWrapper(LogisticRegression(), prior=0.4).fit(sample.x, sample.s)
    with pytest.raises(InputError, match="pickle"):
        clf.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
