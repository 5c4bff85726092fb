"""`EnsemblePU`: what it takes, what it learns, what it says, and that a folder holds all of it."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from nnpu import EnsemblePU, load
from nnpu.estimators import threads as module
from nnpu.estimators.ensemble.inputs import fit_dense, fit_expansion
from nnpu.estimators.ensemble.member_scorers import View
from nnpu.estimators.ensemble.members import MEMBERS, PIXELS, down_sampled, excluded
from nnpu.estimators.ensemble.sparse_members import soft_ridge
from nnpu.estimators.ensemble.task import MANY_COLUMNS, Task
from nnpu.estimators.ensemble.trials import make_folds
from nnpu.estimators.ensemble.weights import find_weights
from nnpu.parameters import InputError, ParameterError
from nnpu.prior import PriorEstimate
from nnpu.prior.scores import WIDE, WORDS

QUICK = ["products", "small-trees"]


def draw(n_p=150, n_u=600, prior=0.4, d=3, seed=0, shift=1.5):
    """Two normal classes: P, U, and test rows with their classes."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(n_p), np.where(rng.random(n_u + 1000) < prior, 1, -1)]
    x = rng.normal(0, 1, (len(y), d))
    x[:, 0] += shift * y / 2
    x[:, 1] *= np.where(y == 1, 0.5, 1.5)
    n = n_p + n_u
    return x[:n], np.repeat([1, 0], [n_p, n_u]), x[n:], y[n:]


@pytest.fixture(scope="module")
def fitted():
    x, s, test, y = draw()
    return EnsemblePU(0.4, random_state=0, n_jobs=1).fit(x, s), x, s, test, y


def quick(prior=0.4, **options):
    return EnsemblePU(prior, members=QUICK, n_folds=2, random_state=0, n_jobs=1, **options)


# What it learns.


def test_it_is_near_the_best_rule_and_says_who_carries_the_answer(fitted):
    clf, _, _, test, y = fitted
    # The log-odds of the two classes, by hand: a line in x0 and a square of x1.
    best = 1.5 * test[:, 0] + test[:, 1] ** 2 * (1 / 1.5**2 - 1 / 0.5**2) / 2
    auc, limit = (roc_auc_score(y, scores) for scores in (clf.decision_function(test), best))
    assert auc > limit - 0.02
    assert np.mean((clf.predict(test) == 1) == (y == 1)) > 0.78
    used = [row for row in clf.members_ if not row["reason"]]
    assert len(used) >= 5
    assert sum(row["weight"] for row in used) == pytest.approx(1)
    assert all(0.5 < row["auc"] < 1 and clf.seconds_[row["name"]] > 0 for row in used)
    assert [row["name"] for row in clf.members_] == list(MEMBERS)


def test_probabilities_are_posteriors_and_the_cut_is_at_one_half(fitted):
    clf, _, _, test, y = fitted
    p = clf.predict_proba(test)[:, 1]
    assert abs(p.mean() - 0.4) < 0.06
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        within = (p >= low) & (p < high)
        if within.sum() > 60:
            assert abs(p[within].mean() - np.mean(y[within] == 1)) < 0.2  # cautious at the ends
    np.testing.assert_array_equal(clf.predict(test) == 1, p > 0.5)


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_both_samplings_find_the_share_of_positives(sampling):
    rng = np.random.default_rng(1)
    y = rng.random(3000) < 0.3
    x = rng.normal(y[:, None] * 2.5, 1, (3000, 2))
    if sampling == "one-sample":
        s = (y & (rng.random(3000) < 0.5)).astype(int)
    else:
        x, s = np.r_[rng.normal(2.5, 1, (400, 2)), x], np.repeat([1, 0], [400, 3000])
    clf = quick(0.3, sampling=sampling).fit(x, s)
    test = rng.random(3000) < 0.3
    rows = rng.normal(test[:, None] * 2.5, 1, (3000, 2))
    assert abs(clf.predict_proba(rows)[:, 1].mean() - 0.3) < 0.04
    assert np.mean((clf.predict(rows) == 1) == test) > 0.92


def test_the_prior_is_estimated_from_out_of_fold_scores():
    x, s, test, y = draw(n_p=300, n_u=1500, shift=4)
    clf = quick("auto").fit(x, s)
    assert clf.prior_estimate_ is not None
    assert abs(clf.prior_ - 0.4) < 0.12
    assert np.mean((clf.predict(test) == 1) == (y == 1)) > 0.9


def test_the_ensemble_and_estimate_prior_agree_on_what_may_be_pixels_and_words():
    assert (PIXELS, MANY_COLUMNS) == (WIDE, WORDS)


def test_the_prior_of_what_may_be_pixels_is_that_of_estimate_prior():
    x, digit = load_digits(return_X_y=True)
    s = ((digit % 2 == 0) & (np.random.default_rng(0).random(digit.size) < 0.2)).astype(int)
    clf = EnsemblePU(sampling="one-sample", random_state=0).fit(x, s)
    assert clf.prior_estimate_ is not None
    assert "as in text and images" in clf.prior_estimate_.message
    assert abs(clf.prior_ - 0.5) < 0.05


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_interval_of_the_prior_moves_the_cut_of_one_sample_alone(sampling, monkeypatch):
    x, s, test, _ = draw(n_p=300, n_u=1500, shift=2)
    found = PriorEstimate(0.3, 0.2, 0.7, "auto", identified=False, message="", sampling=sampling)
    monkeypatch.setattr("nnpu.estimators.base.estimate_prior", lambda *_, **__: found)
    clf = quick("auto", sampling=sampling).fit(x, s)
    flagged, likely = clf.predict(test) == 1, clf.predict_proba(test)[:, 1] > 0.5
    assert np.array_equal(flagged, likely) == (sampling == "two-sample")
    assert np.array_equal(flagged, clf.decision_function(test) > 0)


# What it takes.


def test_infinite_values_of_both_signs_are_refused_without_a_warning():
    x, s, _, _ = draw(n_p=20, n_u=60)
    x[3, :2] = np.inf, -np.inf
    with np.errstate(all="raise"), pytest.raises(ValueError, match="X contains infinity"):
        quick(0.3).fit(x, s)


def test_numbers_far_from_zero_keep_what_tells_rows_apart():
    x, s, test, y = draw(shift=3)
    plain = roc_auc_score(y, quick().fit(x, s).decision_function(test))
    for offset, scale in ((1e8, 1.0), (1.7e18, 1e9), (0.0, 1e-30), (0.0, 1e30)):
        clf = quick().fit(offset + scale * x, s)
        assert roc_auc_score(y, clf.decision_function(offset + scale * test)) > plain - 0.01


def test_one_wild_value_does_no_harm():
    x, s, test, y = draw(shift=3)
    plain = roc_auc_score(y, quick().fit(x, s).decision_function(test))
    x[-1, 0], x[-2, 2] = 1e30, -1e300
    test[0, 1] = 1e308
    scores = quick().fit(x, s).decision_function(test)
    assert np.all(np.isfinite(scores))
    assert roc_auc_score(y, scores) > plain - 0.02


def test_gaps_tell_something_and_new_gaps_do_no_harm():
    x, s, test, _y = draw(shift=0.2)
    rng = np.random.default_rng(2)
    n_p = int(s.sum())
    x[:n_p, 2][rng.random(n_p) < 0.9] = np.nan
    x[n_p:, 2][rng.random(len(x) - n_p) < 0.3] = np.nan
    clf = quick().fit(x, s)
    gap, none = test.copy(), test.copy()
    gap[:, 2] = np.nan
    assert np.mean(clf.decision_function(gap) > clf.decision_function(none)) > 0.9
    everything = np.full((2, 3), np.nan)
    assert np.all(np.isfinite(clf.decision_function(everything)))


def categories(seed=0, n=4000, levels=100):
    """Half of the levels, at random, are those of the positives."""
    rng = np.random.default_rng(seed)
    of_p = np.random.default_rng(99).permutation(levels)[: levels // 2]
    code = rng.integers(0, levels, n)
    y = np.isin(code, of_p) ^ (rng.random(n) < 0.1)
    return code, y, (y & (rng.random(n) < 0.5)).astype(int), rng.normal(0, 1, n)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_words_of_a_frame_reach_the_trees_as_categories(frame):
    code, _, s, noise = categories()
    words = np.array([f"level {c}" for c in code], dtype=object)
    words[::50] = None
    clf = quick(0.5, sampling="one-sample").fit(frame({"word": words, "noise": noise}), s)
    assert list(clf.feature_names_in_) == ["word", "noise"]
    assert clf.categories_ == (0,)
    test, y, _, more = categories(1)
    rows = frame({"word": [f"level {c}" for c in test], "noise": more})
    assert roc_auc_score(y, clf.decision_function(rows)) > 0.8
    unseen = frame({"word": ["never seen", None], "noise": [0.0, 0.0]})
    assert np.all(np.isfinite(clf.decision_function(unseen)))


def test_codes_are_categories_where_the_user_says_so():
    code, _, s, noise = categories()
    x = np.column_stack([noise, code])
    test, y, _, more = categories(1)
    rows = np.column_stack([more, test])
    scores = {
        choice: quick(0.5, sampling="one-sample", categories=choice).fit(x, s)
        for choice in ("auto", (1,))
    }
    aucs = {c: roc_auc_score(y, clf.decision_function(rows)) for c, clf in scores.items()}
    assert aucs[1,] > max(0.85, aucs["auto"])


@pytest.mark.parametrize("choice", ["none", [5], [0.5], [-1], 3])
def test_wrong_categories_are_refused(choice):
    x, s, _, _ = draw()
    with pytest.raises(ParameterError, match="'categories' parameter of EnsemblePU"):
        quick(categories=choice).fit(x, s)


def test_categories_that_are_no_codes_are_refused():
    x, s, _, _ = draw()
    with pytest.raises(InputError, match="category column 0"):
        quick(categories=[0]).fit(x, s)


def test_sparse_rows_are_learned_by_members_that_take_them():
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.4
    x = sp.random(1500, 300, 0.02, random_state=0, format="lil")
    x[np.flatnonzero(y), rng.integers(0, 10, y.sum())] = 1.0
    s = (y & (rng.random(1500) < 0.5)).astype(int)
    x = sp.csr_matrix(x)
    clf = EnsemblePU(0.4, sampling="one-sample", n_folds=2, random_state=0).fit(x, s)
    assert {row["name"] for row in clf.members_ if not row["reason"]} == {
        "linear",
        "small-trees",
        "boosted-kl",
    }
    assert roc_auc_score(y, clf.decision_function(x)) > 0.9
    np.testing.assert_array_equal(
        clf.decision_function(x[:50]), clf.decision_function(sp.csr_array(x))[:50]
    )


def test_the_weights_of_tf_idf_are_kept():
    """Thousands of rare words at the size of a frequent one would drown what tells P from N."""
    rng = np.random.default_rng(0)
    n, rare = 1200, 6000
    y = rng.random(n) < 0.4
    words = (rng.random((n, 40)) < np.where(y[:, None], 0.3, 0.15)).astype(float)
    words[:, 20:] = rng.random((n, 20)) < 0.2
    noise = sp.random(n, rare, 0.002, random_state=0, data_rvs=lambda size: np.full(size, 0.3))
    x = sp.csr_matrix(sp.hstack([sp.csr_matrix(words), noise]))
    s = (y & (rng.random(n) < 0.5)).astype(int)
    clf = EnsemblePU(0.4, sampling="one-sample", members=["linear"], n_folds=2, random_state=0)
    ours = roc_auc_score(y[800:], clf.fit(x[:800], s[:800]).decision_function(x[800:]))
    best = roc_auc_score(y[800:], words[800:, :20].sum(axis=1))  # the likelihood ratio
    assert ours > best - 0.06


def test_columns_of_sparse_data_may_be_of_very_different_sizes():
    """Either scale is among the settings: without its own, a small column would count nothing."""
    rng = np.random.default_rng(1)
    y = rng.random(1000) < 0.4
    x = np.where(y, 1.0, -1.0)[:, None] * (rng.random((1000, 1)) < 0.8)
    x = sp.csr_matrix(np.hstack([1e-5 * x, 1e9 * (rng.random((1000, 3)) < 0.5)]))
    s = (y & (rng.random(1000) < 0.5)).astype(int)
    clf = EnsemblePU(0.4, sampling="one-sample", members=["linear"], n_folds=2, random_state=0)
    assert roc_auc_score(y, clf.fit(x, s).decision_function(x)) > 0.9


def test_words_that_p_lacks_count_through_words_beside_them():
    """Four topics of 150 words each, of which a text holds few: P shares most with no other text.

    Directions put the words of a topic together; a weight for each word alone cannot.
    """
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 4, 1600)
    words = 150 * topic[:, None] + rng.integers(0, 150, (1600, 8))
    x = sp.csr_matrix((np.ones(words.size), (np.repeat(np.arange(1600), 8), words.ravel())))
    y = topic < 2
    s = (y & (np.cumsum(y) <= 60)).astype(int)  # 60 labelled
    options = {"sampling": "one-sample", "n_folds": 2, "random_state": 0}
    auc = {
        name: roc_auc_score(
            y[1000:], EnsemblePU(0.5, members=[name], **options).fit(x[:1000], s[:1000])
            .decision_function(x[1000:])
        )
        for name in ("linear", "topics")
    }  # fmt: skip
    assert auc["topics"] > 0.95
    assert auc["topics"] > auc["linear"]


def test_soft_labels_of_u_teach_words_that_p_lacks():
    """P holds the even words of the first topic alone: its odd ones stand beside them in U.

    A weight for each word by P against U calls a text of odd words negative.
    """
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.5
    word = rng.integers(0, 300, (1500, 8)) + 300 * ~y[:, None]
    s = (y & (np.cumsum(y) <= 150)).astype(int)
    word[s == 1] -= word[s == 1] % 2
    x = sp.csr_matrix((np.ones(word.size), (np.repeat(np.arange(1500), 8), word.ravel())))
    odd = sp.csr_matrix(np.tile(np.arange(600) % 2, (2, 1)) * (np.arange(600) // 300 == [[0], [1]]))
    scores = {
        name: EnsemblePU(0.5, sampling="one-sample", members=[name], n_folds=2, random_state=0)
        .fit(x, s)
        .decision_function(odd)
        for name in ("linear", "taught")
    }
    assert scores["linear"][0] < scores["linear"][1] + 0.1
    assert scores["taught"][0] > 0 > scores["taught"][1]


def test_a_ridge_of_soft_labels_is_at_its_minimum():
    """Against Newton's method from the same formula, and hard labels against scikit-learn."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(80, 3)), rng.random(80)
    hard = (x[:, 0] + rng.normal(size=80) > 0).astype(float)
    found = soft_ridge(sp.csr_matrix(x), hard, weight, 0.5, np.zeros(4))
    oracle = LogisticRegression(C=2, tol=1e-10, max_iter=1000).fit(x, hard, sample_weight=weight)
    np.testing.assert_allclose(found[:3], oracle.coef_[0], atol=1e-3)
    soft = rng.random(80)
    w, design = np.zeros(4), np.column_stack([x, np.ones(80)])
    penalty = np.diag([0.5, 0.5, 0.5, 0.0])
    for _ in range(20):
        q = expit(design @ w)
        slope = design.T @ (weight * (q - soft)) + penalty @ w
        w -= np.linalg.solve((design.T * (weight * q * (1 - q))) @ design + penalty, slope)
    np.testing.assert_allclose(soft_ridge(x, soft, weight, 0.5, np.zeros(4)), w, atol=1e-3)


# Few positives.


@pytest.mark.parametrize("n_p", [2, 3, 5, 10, 30])
def test_from_two_positives_on_something_sensible_comes_out(n_p):
    aucs = []
    for seed in range(3):
        x, s, test, y = draw(n_p=n_p, n_u=500, shift=3, seed=seed)
        clf = EnsemblePU(0.4, random_state=0, n_jobs=1).fit(x, s)
        p = clf.predict_proba(test)[:, 1]
        assert abs(p.mean() - 0.4) < 0.15
        if n_p <= 3:
            assert p.max() < 0.97  # so few rows prove little
        aucs.append(roc_auc_score(y, p))
    assert np.mean(aucs) > (0.75 if n_p < 5 else 0.85)


def test_one_positive_is_refused():
    x, s, _, _ = draw()
    with pytest.raises(InputError, match="at least 2 labelled"):
        quick().fit(x[149:], s[149:])


def test_nothing_to_learn_is_said():
    rng = np.random.default_rng(4)
    x, s = rng.normal(0, 1, (400, 2)), np.repeat([1, 0], [80, 320])
    x[:80] *= -1
    x[80:] = np.r_[x[:80], x[:80], x[:80], x[:80]] + 1e-3  # each row of P, four times in U
    with pytest.warns(UserWarning, match="nothing was learned"):
        EnsemblePU(0.3, members=["products", "splines"], random_state=0).fit(x, s)


# Members that fail.


def test_a_member_that_collapses_is_tried_again_left_out_and_said(monkeypatch):
    seeds = []

    class Broken(type(MEMBERS["products"])):
        def fit(self, task):
            seeds.append(task.seed)
            raise np.linalg.LinAlgError("no inverse")

    monkeypatch.setitem(MEMBERS, "products", Broken())
    x, s, test, y = draw()
    with pytest.warns(UserWarning, match="'products' of EnsemblePU is not used: it failed"):
        clf = quick().fit(x, s)
    assert len(set(seeds)) == 2
    row = next(row for row in clf.members_ if row["name"] == "products")
    assert row["weight"] == 0
    assert "no inverse" in row["reason"]
    assert roc_auc_score(y, clf.decision_function(test)) > 0.7


def test_without_lightgbm_its_members_are_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    x, s, _, _ = draw()
    clf = EnsemblePU(0.4, members=["products", "small-trees"], random_state=0).fit(x, s)
    assert [row["reason"] for row in clf.members_ if row["name"] == "small-trees"] == [
        "LightGBM cannot be loaded here"
    ]


def test_rows_that_nothing_tells_apart_are_an_error_and_no_crash():
    with pytest.raises(InputError):
        quick().fit(np.ones((50, 2)), np.repeat([1, 0], 25))


def test_known_negatives_are_said_not_to_be_used():
    x, s, _, _ = draw()
    s = s.copy()
    s[-20:] = -1
    with pytest.warns(UserWarning, match="known negatives are not used by EnsemblePU"):
        quick().fit(x, s)


# Same bits, folders, torch.


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    x, s, test, _ = draw()
    first = EnsemblePU(0.4, random_state=3, n_folds=2).fit(x, s).decision_function(test)
    again = EnsemblePU(0.4, random_state=3, n_folds=2).fit(x, s).decision_function(test)
    other = EnsemblePU(0.4, random_state=4, n_folds=2).fit(x, s).decision_function(test)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_row_has_its_score_whatever_rows_are_beside_it(fitted, monkeypatch):
    clf, _, _, test, _ = fitted
    whole = clf.decision_function(test)
    monkeypatch.setattr(module, "_BLOCK", 64)
    for jobs in (1, 3):
        np.testing.assert_array_equal(clf.set_params(n_jobs=jobs).decision_function(test), whole)
    clf.set_params(n_jobs=1)
    np.testing.assert_allclose(clf.decision_function(test[:1]), whole[:1], rtol=1e-6)


def test_a_folder_holds_all_of_it(fitted, tmp_path):
    clf, _, _, test, _ = fitted
    same = load(clf.save(tmp_path / "model"))
    assert type(same) is EnsemblePU
    np.testing.assert_array_equal(same.decision_function(test), clf.decision_function(test))
    np.testing.assert_array_equal(same.predict_proba(test), clf.predict_proba(test))
    assert same.members_ == clf.members_
    assert same.get_params() == clf.get_params()
    again = load(same.save(tmp_path / "again"))
    np.testing.assert_array_equal(again.predict(test), clf.predict(test))


def test_a_folder_holds_the_levels_of_words(tmp_path):
    code, _, s, noise = categories(levels=8)
    frame = pd.DataFrame({"word": [f"level {c}" for c in code], "noise": noise})
    clf = quick(0.5, sampling="one-sample").fit(frame, s)
    same = load(clf.save(tmp_path / "model"))
    np.testing.assert_array_equal(same.decision_function(frame), clf.decision_function(frame))
    assert same.levels_ == clf.levels_
    with pytest.raises(ValueError, match="feature names"):
        same.predict(frame.rename(columns={"word": "other"}))


def test_a_damaged_folder_is_refused(fitted, tmp_path):
    """Whatever array is cut short, or turned about, is an `InputError` and no crash."""
    clf, _, _, test, _ = fitted
    tensors, plain = clf._state()
    for name, array in tensors.items():
        for broken in (array[:-1], array[..., None], array.astype(np.int8)):
            other = clone(clf)
            damaged = {**tensors, name: broken}
            try:
                other._restore(damaged, plain, None)
            except (ValueError, LookupError, TypeError):
                continue
            scores = other.decision_function(test[:3])  # an array that may have any length
            assert scores.shape == (3,)
    for key, broken in (
        ("members", [{}]),
        ("kinds", [["products", "pickle"]]),
        ("levels", [[9, []]]),
    ):
        with pytest.raises((ValueError, LookupError, TypeError)):
            clone(clf)._restore(tensors, {**plain, key: broken}, None)


def test_it_fits_saves_loads_and_predicts_without_torch(tmp_path):
    code = f"""
import sys
import numpy as np
from nnpu import EnsemblePU, load
rng = np.random.default_rng(0)
x, s = rng.normal(0, 1, (300, 2)), np.repeat([1, 0], [60, 240])
x[:100] += 2
clf = EnsemblePU(0.3, members={QUICK!r}, n_folds=2).fit(x, s)
folder = clf.save({str(tmp_path / "model")!r})
assert (load(folder).predict(x) == clf.predict(x)).all()
print("torch" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# Parameters.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("members", "best"),
        ("members", ["best"]),
        ("members", []),
        ("n_folds", 1),
        ("n_jobs", 0),
        ("verbose", -1),
        ("sampling", "three-sample"),
        ("prior", 1.0),
        ("prior", "guess"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(name, value):
    x, s, _, _ = draw()
    with pytest.raises(ParameterError, match=f"{name!r} parameter of EnsemblePU"):
        EnsemblePU(**{"prior": 0.4, name: value}).fit(x, s)


def test_verbose_says_what_each_member_does(capsys):
    x, s, _, _ = draw()
    quick(verbose=2).fit(x, s)
    said = capsys.readouterr().err
    assert "products: AUC of P against U" in said
    assert "small-trees: fitted to all rows" in said


# The parts.


def test_equal_rows_are_in_the_same_fold():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(0, 1, (60, 2)), 3, axis=0)
    s = np.tile([1, 0, 0], 60).astype(np.int8)
    for fitted_rows, rest in make_folds(x, s, 0).parts:
        assert not set(map(bytes, x[fitted_rows])) & set(map(bytes, x[rest]))
        assert 0 < s[rest].sum() < len(rest)


def test_a_hold_out_of_many_rows_has_a_thousand_labelled_ones():
    """Of 250,000 rows 5,000 are labelled: 50,000 rows are enough. With 4,900 there are folds."""
    x = np.arange(250_000.0, dtype=np.float32)[:, None]
    s = np.zeros(len(x), dtype=np.int8)
    s[::50] = 1
    ((fitted_rows, rest),) = make_folds(x, s, 0).parts
    assert s[rest].sum() >= 990  # a draw of 50,000 rows, a fiftieth of them labelled
    assert len(rest) == 50_000
    assert not set(fitted_rows) & set(rest)
    s[245_000:] = 0
    assert len(make_folds(x, s, 0).parts) == 3


def test_more_than_30_000_rows_have_one_hold_out_of_a_third():
    x = np.arange(30_003.0, dtype=np.float32)[:, None]
    s = (np.arange(len(x)) % 5 == 0).astype(np.int8)
    ((fitted_rows, rest),) = make_folds(x, s, 0).parts
    assert sorted([*fitted_rows, *rest]) == list(range(30_003))
    assert len(rest) == 10_001
    assert len(make_folds(x[:30_000], s[:30_000], 0).parts) == 5
    assert len(make_folds(x, s, 0, 4).parts) == 4
    assert len(make_folds(x, np.where(np.arange(len(s)) < 24_000, s, 0), 0).parts) == 3
    with pytest.raises(InputError, match="too many are equal"):
        make_folds(np.zeros_like(x), s, 0)


def test_trees_that_draw_as_many_of_u_as_of_p_know_no_shares():
    """Noise: the mean share of P in the leaves is one half, though P is one row in fifty."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (2040, 3)).astype(np.float32)
    s = np.repeat([1, 0], [40, 2000]).astype(np.int8)
    task = Task(View(x, None), s, (), "two-sample", 0, 1, 40)
    forest = down_sampled(task, 50, leaf=5, splitter="best")
    assert forest.scores(rng.normal(0, 1, (500, 3)).astype(np.float32)).mean() == pytest.approx(
        0.5, abs=0.06
    )
    again = down_sampled(replace(task, n_jobs=2), 50, leaf=5, splitter="best")
    np.testing.assert_array_equal(forest.scores(x), again.scores(x))


def test_answered_rows_are_drawn_by_their_weight():
    """One row of U was answered yes and counts half of P: trees give its place more than half."""
    x = np.repeat([0.0, 1.0, 2.0], [10, 100, 1])[:, None].astype(np.float32)
    s = np.repeat([1, 0], [10, 101]).astype(np.int8)
    answers = np.zeros(111)
    answers[[10, 110]] = -1.0, 1.0
    task = Task(View(x, None), s, (), "two-sample", 0, 1, 10, answers=answers, eta=0.5)
    known = down_sampled(task, 100, leaf=1, splitter="best").scores(x[-1:])
    assert known[0] > 0.9
    plain = down_sampled(replace(task, eta=0.0), 100, leaf=1, splitter="best").scores(x[-1:])
    assert plain[0] < 0.5


def test_few_positives_leave_the_members_their_shares():
    """With 20 positives the weights keep 20² / (20² + 200²) < 1 % of what the data say."""
    s = np.repeat([1, 0], [20, 200]).astype(np.int8)
    z = np.random.default_rng(0).normal(0, 1, (2, 220))
    shares = np.array([3.0, 1.0])
    found = find_weights(z, s, shares, 0.3, "two-sample")
    np.testing.assert_allclose(found, [0.75, 0.25], atol=0.01)


def test_the_members_scores_make_the_ensembles(fitted):
    clf, _, _, test, _ = fitted
    each = clf.member_scores(test)
    weights = {row["name"]: row["weight"] for row in clf.members_}
    mean = sum(weights[name] / (1 + np.exp(-log_odds)) for name, log_odds in each.items())
    above_cut = np.log(mean / (1 - mean)) - clf.decision_function(test)
    np.testing.assert_allclose(above_cut, above_cut[0], atol=1e-4)  # scores are 0 at the cut


def test_the_weights_are_the_least_of_the_risk_on_a_fine_grid():
    """Two members: the objective of the docstring on a thousand weights, before the shrinkage."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [400, 1600]).astype(np.int8)
    z = np.array([rng.normal(1.2 * s - 1, 1), rng.normal(0.8 * s - 1, 1)])
    q, prior = 1 / (1 + np.exp(-z)), 0.3
    grid = np.linspace(0, 1, 1001)
    mixed = grid[:, None] * q[0] + (1 - grid[:, None]) * q[1]
    risk = mixed[:, s == 0].mean(axis=1) - prior * np.log(mixed[:, s == 1]).mean(axis=1)
    found = find_weights(z, s, np.ones(2), prior, "two-sample")
    share = 400**2 / (400**2 + 200**2)
    assert found[0] == pytest.approx(share * grid[risk.argmin()] + (1 - share) / 2, abs=2e-3)
    assert found.sum() == pytest.approx(1)


def test_members_of_no_weight_are_not_scored(fitted):
    """Nor do their scores count, while `member_scores` still has them."""
    clf, x, *_ = fitted
    asked = []

    class Watched:
        def __init__(self, one):
            self.one = one

        def scores(self, view):
            asked.append(self.one)
            return self.one.scores(view)

    clf = copy.deepcopy(clf)
    weights = clf._mixture.weights.copy()
    weights[1] = 0.0
    clf._mixture = replace(clf._mixture, weights=weights / weights.sum())
    by_member = np.array(list(clf.member_scores(x).values()))
    before = clf._mixture.log_odds(by_member) - clf._cut
    kept = [one for one, weight in zip(clf.scorers_, weights, strict=True) if weight]
    clf.scorers_ = [Watched(one) for one in clf.scorers_]
    np.testing.assert_array_equal(clf.decision_function(x), before.astype(np.float32))
    assert {id(one) for one in asked} == {id(one) for one in kept}


def test_a_weight_of_less_than_a_hundredth_is_none():
    """A member that adds nothing to another gets less than that of many positives."""
    s = np.repeat([1, 0], [5000, 5000]).astype(np.int8)
    good, bad = np.where(s == 1, 2.0, -2.0), np.zeros(10_000)
    assert find_weights(np.array([good, bad]), s, np.ones(2), 0.3, "two-sample").tolist() == [1, 0]


def test_the_dense_design_by_hand():
    """Two numbers, one with a gap, and a category with a rare level of no column of its own."""
    x = np.array([[0, 1, 0], [2, np.nan, 1], [4, 3, 0], [2, 2, 1]], dtype=np.float32)
    design = fit_dense(x, np.int32([2]))
    dense = design.transform(x)
    assert dense.shape == (4, 5)
    np.testing.assert_allclose(dense[:, 0], np.array([-1, 0, 1, 0]) * np.sqrt(2), rtol=1e-6)
    assert dense[1, 1] == 0
    assert dense[:, 2].tolist() == [0, 1, 0, 0]
    assert dense[:, 3:].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    far = design.transform(np.array([[1e30, -1e30, 7]], dtype=np.float32))
    assert np.all(np.abs(far) < 3)
    products = fit_expansion(dense, 2, kind="products").raw(dense)
    np.testing.assert_allclose(
        products[:, 5:8].T, [dense[:, 0] ** 2, dense[:, 0] * dense[:, 1], dense[:, 1] ** 2]
    )


def test_on_thousands_of_columns_only_forests_are_worth_their_time():
    """A round of boosting on 20,000 columns took most of a second, and there are hundreds."""
    x, s, test, _ = draw(n_p=40, n_u=100, d=6000, shift=6)
    clf = EnsemblePU(0.4, n_folds=2, random_state=0, n_jobs=1).fit(x, s)
    why = {row["name"]: row["reason"] for row in clf.members_}
    assert why["extra-trees"] == ""
    assert why["boosted-kl"] == "more than 5,000 columns"
    assert clf.decision_function(test[:5]).shape == (5,)


@pytest.mark.parametrize("kind", ["plain", "products", "splines"])
@pytest.mark.parametrize("n_numeric", [3, 30])
def test_a_sum_over_expanded_columns_needs_no_expanded_columns(kind, n_numeric):
    """With 30 numbers there are squares alone."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(200, n_numeric + 4)).astype(np.float32)
    expansion = fit_expansion(dense, n_numeric, kind=kind)
    columns = expansion.transform(dense).astype(np.float64)
    weights = rng.normal(size=columns.shape[1])
    np.testing.assert_allclose(expansion.dot(dense, weights), columns @ weights, atol=2e-5)


# scikit-learn's checks.


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Out of fold, labelled rows score no higher")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@parametrize_with_checks([EnsemblePU(prior=0.2, members=["products", "linear"], n_folds=2)])
def test_a_small_ensemble_passes_every_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classifier", [EnsemblePU(prior=0.2), EnsemblePU()], ids=str)
def test_the_constructors_of_the_contract_pass_every_check(classifier):
    results = check_estimator(classifier, on_fail=None)
    assert len(results) >= 55
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []


def test_many_rows_leave_out_the_kernel_unless_it_is_asked_for():
    x = np.zeros((200_001, 1), np.float32)
    s = np.zeros(len(x), np.int8)
    s[:3000] = 1
    task = Task(View(x, None), s, (), "one-sample", 0, 1, 3000)
    assert excluded(task, None)["kernel"] == "more than 200,000 rows"
    assert "kernel" not in excluded(task, ["kernel"])
    assert "kernel" not in excluded(replace(task, view=View(x[:-1], None), s=s[:-1]), None)


def test_a_small_weight_is_none():
    """A member that the data give a thirtieth is not scored; the others share its part."""
    s = np.repeat([1, 0], [20, 200]).astype(np.int8)
    z = np.random.default_rng(0).normal(0, 1, (3, 220))
    found = find_weights(z, s, np.array([20.0, 9.0, 1.0]), 0.3, "two-sample")
    assert found[2] == 0
    np.testing.assert_allclose(found[:2], [20 / 29, 9 / 29], atol=0.01)
