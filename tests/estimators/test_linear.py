"""LinearPU: the global optimum behind scikit-learn's interface."""

from __future__ import annotations

import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import nnpu
from nnpu import LinearPU
from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators import loading as storage
from nnpu.parameters import InputError, ParameterError

LOSSES = ["double_hinge", "logistic", "squared"]
BASES = [None, "gaussian", "rff"]


@parametrize_with_checks(
    [
        LinearPU(prior=0.2),
        LinearPU(prior=0.2, loss="squared"),
        LinearPU(prior=0.2, basis="gaussian", loss="squared"),
        LinearPU(prior=0.2, basis="rff"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:No unlabelled row looks like a positive")
@pytest.mark.parametrize("classifier", [LinearPU(), LinearPU(0.2, loss="double_hinge")], ids=str)
def test_every_check_passes_for_an_estimated_prior_and_for_the_double_hinge(classifier):
    results = check_estimator(classifier, on_fail=None)
    assert len(results) >= 56
    bad = [r["check_name"] for r in results if r["status"] != "passed"]
    assert bad in ([], ["check_array_api_input"])


# What is fitted.


def risk_of(clf, x, s, loss, sampling="two-sample"):
    """R̂_pu of the fitted weights on X as it stands, Eq. (2) written out in float64."""
    x = np.asarray(x, np.float32).astype(np.float64)
    g = x @ clf.coef_[0] + clf.intercept_[0]
    population = s == 0 if sampling == "two-sample" else s >= 0
    value = {
        "squared": lambda z: (z - 1) ** 2 / 4,
        "logistic": lambda z: np.logaddexp(0, -z),
        "double_hinge": lambda z: np.maximum(np.maximum(0, (1 - z) / 2), -z),
    }[loss]
    positive = clf.prior_ * (value(g[s == 1]).mean() - value(-g[s == 1]).mean())
    return positive + value(-g[population]).mean()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_objective_is_eq_2_of_the_weights_in_the_units_of_x(loss, sampling, sample):
    """Penalised are the weights of standardised features: coef_ · standard deviation."""
    clf = LinearPU(0.4, loss=loss, alpha=0.1, sampling=sampling).fit(sample.x, sample.s)
    w = clf.coef_[0] * sample.x.std(axis=0)
    expected = risk_of(clf, sample.x, sample.s, loss, sampling) + 0.1 / 2 * w @ w
    assert clf.objective_ == pytest.approx(expected, abs=1e-6)
    scores = sample.x @ clf.coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(clf.decision_function(sample.x), scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("basis", BASES)
def test_the_certificate_holds_and_the_classes_are_told_apart(loss, basis, sample):
    clf = LinearPU(0.4, loss=loss, basis=basis, alpha=0.03, random_state=0)
    clf.fit(sample.x, sample.s)
    assert clf.certificate_.reached
    assert 0 <= clf.certificate_.gap <= clf.tol
    assert clf.n_iter_ == clf.certificate_.iterations >= 1
    assert np.mean(clf.predict(sample.x) == (sample.y == 1)) > 0.93


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("basis", BASES)
def test_scale_and_offset_of_the_features_do_not_matter(loss, basis, sample):
    clf = LinearPU(0.4, loss=loss, basis=basis, tol=1e-9, random_state=0)
    scores = clf.fit(sample.x, sample.s).decision_function(sample.x)
    moved = sample.x * [100, 0.01, 1, 7] + [3, 0, -2, 0]
    np.testing.assert_allclose(clf.fit(moved, sample.s).decision_function(moved), scores, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("basis", [None, "gaussian"])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows_give_the_scores_of_dense_rows(loss, basis, intercept, sample):
    x = np.where(np.abs(sample.x) < 0.7, 0, sample.x)
    clf = LinearPU(0.4, loss=loss, basis=basis, fit_intercept=intercept, tol=1e-10, random_state=0)
    dense = clf.fit(x, sample.s).decision_function(x)
    thin = clf.fit(sparse.csr_array(x), sample.s).decision_function(sparse.csr_array(x))
    np.testing.assert_allclose(thin, dense, atol=5e-4)


def test_sparse_rows_are_never_made_dense(sample, monkeypatch):
    x = sparse.csr_matrix(sample.x)

    def refuse(*args, **kwargs):
        raise AssertionError("a sparse matrix was made dense")

    for kind in (sparse.csr_matrix, sparse.csr_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    LinearPU(0.4).fit(x, sample.s).predict(x)


def test_one_sample_data_put_the_positives_into_the_population_too(sample):
    """The same as two-sample data whose U is P ∪ U: P once labelled, once more unlabelled."""
    x_p = sample.x[sample.s == 1]
    one = LinearPU(0.6, loss="squared", alpha=1e-7, sampling="one-sample")
    one.fit(sample.x, sample.s)
    two = LinearPU(0.6, loss="squared", alpha=1e-7)
    two.fit(np.r_[sample.x, x_p], np.r_[np.zeros(len(sample.x)), np.ones(len(x_p))])
    # The scales differ, since P counts twice; with hardly any penalty that is of no account.
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-5)
    assert one.objective_ == pytest.approx(two.objective_, abs=1e-6)


def test_known_negatives_of_two_sample_data_leave_no_trace(sample):
    extra = np.full((5, 4), 50.0)
    with pytest.warns(UserWarning, match="5 known negatives are not used"):
        clf = LinearPU(0.4).fit(np.r_[sample.x, extra], np.r_[sample.s, np.full(5, -1)])
    assert clf.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(clf.coef_, LinearPU(0.4).fit(sample.x, sample.s).coef_)


def test_logistic_scores_are_log_odds(make_sample):
    """Unit Gaussians at ±1/2 in each of two features: the log-odds are x₁ + x₂ + ln(π/(1 − π))."""
    big = make_sample(n_p=40_000, n_u=80_000, d=2, prior=0.3, gap=0.5)
    clf = LinearPU(0.3, alpha=1e-8).fit(big.x, big.s)
    assert clf.coef_[0] == pytest.approx([1, 1], abs=0.05)
    assert clf.intercept_[0] == pytest.approx(np.log(0.3 / 0.7), abs=0.05)
    probabilities = clf.predict_proba(big.x[:50])[:, 1]
    np.testing.assert_allclose(probabilities, expit(clf.decision_function(big.x[:50])), rtol=1e-6)


def test_a_basis_separates_what_no_line_can():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    y = np.linalg.norm(x, axis=1) < 1  # a disc
    labelled = np.flatnonzero(y)[:200]
    s = np.isin(np.arange(1500), labelled).astype(int)
    prior = y[s == 0].mean()
    accuracy = {
        basis: np.mean(
            LinearPU(prior, basis=basis, gamma=1.0, alpha=1e-3, random_state=0).fit(x, s).predict(x)
            == y
        )
        for basis in BASES
    }
    assert accuracy["gaussian"] > 0.93
    assert accuracy["rff"] > 0.93
    assert accuracy[None] < 0.75


@pytest.mark.parametrize("basis", ["gaussian", "rff"])
def test_the_seed_decides_the_basis(basis, sample):
    def fit(seed):
        return LinearPU(0.4, basis=basis, n_components=20, random_state=seed).fit(
            sample.x, sample.s
        )

    np.testing.assert_array_equal(fit(0).coef_, fit(0).coef_)
    assert not np.array_equal(fit(0).coef_, fit(1).coef_)


def test_centres_are_unlabelled_rows_and_no_more_than_there_are(sample):
    clf = LinearPU(0.4, basis="gaussian", n_components=1000).fit(sample.x, sample.s)
    assert clf.coef_.shape == (1, 200)
    x_u = (sample.x[sample.s == 0] - clf.features_.mean) / clf.features_.scale
    order = np.lexsort(x_u.T), np.lexsort(clf.features_.points.T)
    np.testing.assert_allclose(clf.features_.points[order[1]], x_u[order[0]], atol=1e-5)


def test_too_few_steps_give_a_warning_that_says_what_to_do(sample):
    with pytest.warns(ConvergenceWarning, match=r"gap is .* after 1 steps.*Increase max_iter"):
        clf = LinearPU(0.4, max_iter=1, tol=1e-12).fit(sample.x, sample.s)
    assert not clf.certificate_.reached


def test_frames_and_text_labels_are_taken(sample):
    frame = pd.DataFrame(sample.x, columns=list("abcd"))
    with pytest.warns(UserWarning, match="'yes' is taken as labelled positive"):
        clf = LinearPU(0.4).fit(frame, np.where(sample.s == 1, "yes", "maybe"))
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert set(clf.predict(frame)) == {"maybe", "yes"}


# The regularisation path.


@pytest.mark.parametrize("loss", LOSSES)
def test_the_path_holds_the_objectives_and_the_held_out_risks_of_single_fits(loss, sample):
    clf = LinearPU(0.4, loss=loss, tol=1e-9, random_state=0)
    path = clf.regularisation_path(sample.x, sample.s, [0.01, 1.0, 0.1], n_splits=3)
    assert [row["alpha"] for row in path] == [0.01, 1.0, 0.1]
    for row in path:
        single = clone(clf).set_params(alpha=row["alpha"])
        assert row["objective"] == pytest.approx(
            single.fit(sample.x, sample.s).objective_, abs=1e-8
        )
        seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
        risks = []
        for train, test in PUStratifiedKFold(3, random_state=seed).split(sample.x, sample.s):
            single.fit(sample.x[train], sample.s[train])
            zero_one = 1 - single.score(sample.x[test], sample.s[test])
            risks.append((risk_of(single, sample.x[test], sample.s[test], loss), zero_one))
        assert (row["risk"], row["zero_one"]) == pytest.approx(
            tuple(np.mean(risks, axis=0)), abs=1e-4
        )
    assert not hasattr(clf, "coef_")


def test_the_path_of_objectives_grows_with_alpha(sample):
    path = LinearPU(0.4).regularisation_path(sample.x, sample.s, np.geomspace(1e-4, 10, 6))
    assert np.all(np.diff([row["objective"] for row in path]) > 0)


# Bad input.

X = np.random.default_rng(0).normal(size=(20, 3))
S = np.repeat([1, 0], [8, 12])


@pytest.mark.parametrize("loss", ["sigmoid", "ramp", "hinge", "zero_one"])
def test_a_loss_that_is_not_linear_odd_is_refused_with_the_reason(loss):
    with pytest.raises(ParameterError, match=r"convex only if .* Eq\. \(5\); PUClassifier.* Got '"):
        LinearPU(0.5, loss=loss).fit(X, S)


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_rows_and_single_rows_do_no_harm(loss):
    """One positive, one unlabelled row, both the same: g = ln(π/(1 − π)) by the logistic loss."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = LinearPU(0.3, loss=loss).fit(np.ones((2, 2)), [1, 0])
    assert np.isfinite(clf.decision_function(np.ones((1, 2)))).all()
    if loss == "logistic":
        assert clf.decision_function(np.ones((1, 2))) == pytest.approx(np.log(3 / 7), abs=1e-4)
    assert clf.predict(np.ones((1, 2))) == [0]


# Model folders.


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_loaded_classifier_is_the_one_that_was_saved(basis, kind, sample, tmp_path):
    x = kind(sample.x)
    clf = LinearPU(0.4, basis=basis, loss="squared", random_state=0).fit(x, sample.s)
    loaded = nnpu.load(clf.save(tmp_path / "model"))
    assert type(loaded) is LinearPU
    assert loaded.get_params() == clf.get_params()
    np.testing.assert_array_equal(loaded.decision_function(x), clf.decision_function(x))
    np.testing.assert_array_equal(loaded.coef_, clf.coef_)
    assert dataclasses.asdict(loaded.certificate_) == dataclasses.asdict(clf.certificate_)
    assert loaded.objective_ == clf.objective_
    assert loaded.score(x, sample.s) == clf.score(x, sample.s)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["fitted"].update(basis="rff"),
        lambda config: config["fitted"].update(basis="polynomial"),
        lambda config: config["fitted"].update(n_features=7),
        lambda config: config["fitted"].update(certificate={"gap": 0}),
        lambda config: config["fitted"].pop("objective"),
        lambda config: config.update(estimator="BoostedPU"),
    ],
)
def test_a_forged_folder_is_refused(change, sample, tmp_path):
    folder = LinearPU(0.4).fit(sample.x, sample.s).save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "SHA256SUMS").write_text(storage._sums(folder))
    with pytest.raises(InputError):
        nnpu.load(folder)


def test_there_are_at_most_16_parameters_and_they_share_names_with_the_network():
    from nnpu import PUClassifier

    names = LinearPU().get_params()
    assert len(names) <= 16
    assert {"prior", "loss", "sampling", "random_state"} <= set(names) & set(
        PUClassifier().get_params()
    )
