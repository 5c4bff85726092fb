"""Scores of the rows of a fit by models that were not fitted to them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from nnpu import BoostedPU, EnsemblePU, LinearPU
from nnpu.estimators import out_of_fold as module
from nnpu.estimators.ensemble import classifier as ensemble_module
from nnpu.estimators.out_of_fold import align, out_of_fold

QUICK = {"members": ["products", "boosted-kl"], "random_state": 0, "sampling": "one-sample"}


def two_classes(n=400, seed=0, gap=1.5):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    X = rng.normal(gap * y[:, None], 1, (n, 3)).astype(np.float32)
    return X, (y & (rng.random(n) < 0.5)).astype(np.int8), y


def folded(n=300, seed=0):
    rng = np.random.default_rng(seed)
    scores, fold = rng.normal(size=n), rng.integers(0, 3, n)
    return scores, fold, (rng.random(n) < 0.3).astype(np.int8)


# --- one scale for all folds -----------------------------------------------------------------


def test_the_order_within_a_fold_stays():
    scores, fold, s = folded()
    found = align(scores, fold, s, np.random.default_rng(1).exponential(size=90))
    for number in range(3):
        rows = fold == number
        np.testing.assert_array_equal(np.argsort(scores[rows]), np.argsort(found[rows]))


def test_the_scale_of_one_fold_does_not_matter():
    """Scores of one fold, ten times as large and moved, come out as they did."""
    scores, fold, s = folded()
    scale = scores[s == 0]
    moved = np.where(fold == 1, 10 * scores - 7, scores)
    np.testing.assert_allclose(align(moved, fold, s, scale), align(scores, fold, s, scale))


def test_unlabelled_rows_of_each_fold_are_spread_like_the_scale():
    scores, fold, s = folded(n=6000)
    scale = np.random.default_rng(1).exponential(size=500)
    found = align(scores + 5 * fold, fold, s, scale)
    for number in range(3):
        part = found[(fold == number) & (s == 0)]
        np.testing.assert_allclose(
            np.quantile(part, [0.1, 0.5, 0.9]), np.quantile(scale, [0.1, 0.5, 0.9]), rtol=0.05
        )


def test_one_fold_on_its_own_scale_stays_as_it_is():
    scores, _, s = folded()
    found = align(scores, np.zeros(300, int), s, scores[s == 0])
    np.testing.assert_allclose(found[s == 0], scores[s == 0], atol=1e-12)
    inside = (scores >= scores[s == 0].min()) & (scores <= scores[s == 0].max())
    np.testing.assert_allclose(found[inside], scores[inside], atol=0.2)


def test_scores_above_all_of_the_unlabelled_rows_keep_their_distances():
    scores, s = np.array([0.0, 1.0, 2.0, 5.0, 9.0]), np.int8([0, 0, 0, 1, 1])
    found = align(scores, np.zeros(5, int), s, 2 * scores[:3])
    assert found[4] > found[3] > found[2]
    assert found[4] - found[3] == pytest.approx(2 * 4)


def test_equal_scores_stay_equal():
    scores, fold, s = folded()
    scores = scores.round(1)
    found = align(scores, fold, s, scores[s == 0])
    for number in range(3):
        rows = fold == number
        _, places = np.unique(scores[rows], return_inverse=True)
        for k in range(places.max() + 1):
            assert np.ptp(found[rows][places == k]) < 1e-12


def test_a_fold_of_labelled_rows_alone_is_placed_among_all():
    scores, s = np.array([0.0, 1.0, 2.0, 1.5]), np.int8([0, 0, 0, 1])
    found = align(scores, np.array([0, 0, 0, 1]), s, scores[:3])
    assert found[1] < found[3] < found[2]


# --- the ensemble's own ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Out of fold, labelled rows score no higher")
def test_noise_is_not_learned_out_of_fold_as_it_is_in_sample():
    """Labels have nothing to do with the columns: an honest AUC of P against U is about .5."""
    rng = np.random.default_rng(0)
    honest, in_sample = [], []
    for _ in range(3):
        X, s = rng.normal(size=(400, 10)), (rng.random(400) < 0.3).astype(np.int8)
        clf = EnsemblePU(0.5, **QUICK).fit(X, s)
        honest.append(roc_auc_score(s, clf.out_of_fold_.scores))
        in_sample.append(roc_auc_score(s, clf.decision_function(X)))
    assert np.mean(honest) == pytest.approx(0.5, abs=0.05)
    assert np.mean(in_sample) > 0.7


def test_the_ensemble_scores_every_row_once_on_its_own_scale():
    X, s, y = two_classes()
    clf = EnsemblePU(0.4, **QUICK).fit(X, s)
    found = clf.out_of_fold_
    assert np.isfinite(found.scores).all()
    assert np.unique(found.fold).tolist() == [0, 1, 2, 3, 4]
    assert roc_auc_score(y, found.scores) > 0.85
    final = clf.decision_function(X)
    assert np.corrcoef(found.scores, final)[0, 1] > 0.9
    assert np.median(found.scores[s == 0]) == pytest.approx(np.median(final[s == 0]), abs=1)


def test_the_model_of_the_first_fold_has_not_seen_it():
    X, s, _ = two_classes()
    found = EnsemblePU(0.4, **QUICK).fit(X, s).out_of_fold_
    first = found.fold == 0
    scores = found.first.decision_function(X[first])
    np.testing.assert_array_equal(
        np.argsort(scores[s[first] == 0]), np.argsort(found.scores[first & (s == 0)])
    )


@pytest.mark.parametrize("kind", [EnsemblePU, LinearPU])
def test_groups_are_in_one_fold(kind):
    X, s, _ = two_classes()
    groups = np.arange(400) // 8
    how = QUICK if kind is EnsemblePU else {"sampling": "one-sample"}
    clf = kind(0.4, **how).fit(X, s, groups=groups)
    found = out_of_fold(clf, X, s, groups)
    assert all(np.unique(found.fold[groups == group]).size == 1 for group in range(50))


@pytest.mark.parametrize("kind", [EnsemblePU, LinearPU])
@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_equal_rows_are_in_one_fold(kind, as_matrix):
    """A labelled row that also stands in U would be scored by a model that learned it."""
    X, s, _ = two_classes(200)
    X, s = as_matrix(np.vstack([X, X])), np.r_[s, np.zeros(200, np.int8)]
    how = QUICK if kind is EnsemblePU else {"sampling": "one-sample"}
    found = out_of_fold(kind(0.4, **how).fit(X, s), X, s)
    np.testing.assert_array_equal(found.fold[:200], found.fold[200:])
    assert np.unique(found.fold).size == 5


def test_the_ensemble_keeps_no_scores_of_a_large_table(monkeypatch):
    X, s, _ = two_classes()
    monkeypatch.setattr(ensemble_module, "MOST_ROWS", 399)
    assert EnsemblePU(0.4, **QUICK).fit(X, s).out_of_fold_ is None


def test_known_negatives_have_a_score_in_one_sample_and_none_in_two():
    X, s, y = two_classes()
    s[np.flatnonzero(~y)[:30]] = -1
    one = EnsemblePU(0.4, **QUICK).fit(X, s).out_of_fold_
    assert np.isfinite(one.scores).all()
    with pytest.warns(UserWarning, match="known negatives are not used"):
        two = EnsemblePU(0.4, **QUICK | {"sampling": "two-sample"}).fit(X, s).out_of_fold_
    np.testing.assert_array_equal(np.isnan(two.scores), s == -1)
    np.testing.assert_array_equal(two.fold == -1, s == -1)


# --- any other classifier --------------------------------------------------------------------


def test_other_classifiers_are_fitted_again_without_each_fold():
    """Fold by fold the ranks are those of a classifier fitted to the other rows."""
    X, s, y = two_classes()
    clf = LinearPU(0.4, sampling="one-sample").fit(X, s)
    found = out_of_fold(clf, X, s, seed=3)
    assert np.unique(found.fold).tolist() == [0, 1, 2, 3, 4]
    for number in range(5):
        rest = found.fold == number
        own = LinearPU(0.4, sampling="one-sample").fit(X[~rest], s[~rest])
        order = np.argsort(own.decision_function(X[rest]), kind="stable")
        assert np.all(np.diff(found.scores[rest][order]) >= -1e-9)
    assert roc_auc_score(y, found.scores) > 0.85


def test_the_classifier_itself_is_left_alone():
    X, s, _ = two_classes()
    clf = BoostedPU(0.4, sampling="one-sample", random_state=0).fit(X, s)
    before = clf.decision_function(X)
    first = out_of_fold(clf, X, s).first
    np.testing.assert_array_equal(clf.decision_function(X), before)
    assert first is not clf
    assert first.prior_ == clf.prior_


def test_parts_take_the_prior_that_was_found(monkeypatch):
    X, s, _ = two_classes()
    clf = LinearPU(sampling="one-sample", random_state=0).fit(X, s)
    assert clf.prior_estimate_ is not None
    monkeypatch.setattr("nnpu.estimators.base.estimate_prior", lambda *_, **__: 1 / 0)
    assert out_of_fold(clf, X, s).first.prior_ == clf.prior_


def test_a_prior_next_to_the_labelled_share_can_be_judged():
    """A part may have a little more labelled rows than the whole, and than the prior."""
    X, s, _ = two_classes(401)
    clf = LinearPU(s.mean() + 1e-5, sampling="one-sample").fit(X, s)
    assert np.isfinite(out_of_fold(clf, X, s).scores).all()


def test_there_are_no_more_folds_than_labelled_rows_or_groups():
    X, s, _ = two_classes()
    few = s.copy()
    few[np.flatnonzero(s)[3:]] = 0
    clf = LinearPU(0.4, sampling="one-sample").fit(X, few)
    assert out_of_fold(clf, X, few).fold.max() == 2
    clf = LinearPU(0.4, sampling="one-sample").fit(X, s)
    assert out_of_fold(clf, X, s, np.arange(400) % 3).fold.max() == 2


def test_rows_that_no_model_can_do_without_have_no_score():
    """All labelled rows are one group: no fold can be fitted, so that nothing is judged."""
    X, s, _ = two_classes()
    clf = LinearPU(0.4, sampling="one-sample").fit(X, s)
    found = out_of_fold(clf, X, s, np.where(s == 1, 0, np.arange(400)))
    assert (found.fold[s == 1] == -1).all()
    assert np.isnan(found.scores[s == 1]).all()
    np.testing.assert_array_equal(found.fold >= 0, np.isfinite(found.scores))
    alone = out_of_fold(clf, X, s, np.zeros(400, int))
    assert (alone.fold == -1).all()
    assert np.isnan(alone.scores).all()


def test_the_same_seed_gives_the_same_folds():
    X, s, _ = two_classes()
    clf = LinearPU(0.4, sampling="one-sample").fit(X, s)
    one, same, other = (out_of_fold(clf, X, s, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.scores, same.scores)
    assert (one.fold != other.fold).any()
    assert module.MOST_ROWS == 30_000
