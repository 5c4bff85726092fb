"""`estimate_prior` where classes overlap: two shapes that it assumes, few rows, leaks, groups."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from nnpu.prior import PriorEstimate, estimate_prior, out_of_fold_scores
from nnpu.prior.curve import MOST_ROWS, seed_of, some_rows
from nnpu.prior.mixture import CLOSE, FAR, _log_before, mixture_posterior
from nnpu.prior.scores import default_model, scores_and_separation


def normal(prior, n_p, n_u, distance, seed=0):
    """Scores of P and U; positives at `distance` from negatives, unit spread."""
    rng = np.random.default_rng(seed)
    return rng.normal(distance, 1, n_p), rng.normal(size=n_u) + distance * (rng.random(n_u) < prior)


def beta(prior, n_p, n_u, concentration, seed=0):
    """Scores that are posteriors with a beta law: positives have one success more."""
    rng = np.random.default_rng(seed)
    a, b = prior * concentration, (1 - prior) * concentration
    return rng.beta(a + 1, b, n_p), rng.beta(a, b, n_u)


def table(prior, n_p, n_u, distance=1.0, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n_u) < prior
    return rng.normal(distance, 1, (n_p, d)), rng.normal(size=(n_u, d)) + distance * y[:, None]


def even_digits(labelled):
    """Images: some even digits, all others, and the share of even ones among these."""
    x, digit = load_digits(return_X_y=True)
    even = np.random.default_rng(0).permutation(np.flatnonzero(digit % 2 == 0))[:labelled]
    rest = np.setdiff1d(np.arange(digit.size), even)
    return x[even], x[rest], np.mean(digit[rest] % 2 == 0)


@pytest.mark.parametrize(
    "sample", [normal(0.3, 2000, 6000, 1.5), beta(0.3, 2000, 6000, 1.5)], ids=["normal", "beta"]
)
def test_share_is_found_under_each_assumed_shape_though_no_score_is_pure(sample):
    """At these distances best bin estimation, which needs pure positives, is off by .1 or so."""
    estimate = estimate_prior(*sample, random_state=0)
    assert estimate.value == pytest.approx(0.3, abs=0.06)
    assert estimate.low < 0.3 < estimate.high
    assert estimate.upper_bound > 0.35


def test_posterior_ignores_monotone_maps_of_the_scores():
    scores_p, scores_u = normal(0.3, 500, 2000, 1.0)
    one = mixture_posterior(scores_p, scores_u)
    other = mixture_posterior(np.exp(scores_p), np.exp(scores_u))
    np.testing.assert_allclose(one.weights, other.weights)
    assert one.weights.sum() == pytest.approx(1)


def test_posterior_of_one_sample_leans_towards_fewer_hidden_positives():
    """Nearly flat in the labelling frequency is far from flat in the share: few are likelier."""
    scores_p, scores_u = normal(0.1, 30, 3000, 0.7)
    apart = mixture_posterior(scores_p, scores_u)
    together = mixture_posterior(scores_p, scores_u, 30 / 3030)
    assert together.mean < apart.mean


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3])
def test_before_the_rows_are_seen_few_labels_are_likelier_than_many(share):
    """P(c ≤ x) = 1 − (1 − x)^1.6, for c between the labelled share and 1."""
    shares = mixture_posterior(*normal(0.3, 50, 200, 1.0)).shares
    weights = np.exp(_log_before(share))
    part = share / (share + (1 - share) * shares)
    for x in (0.35, 0.5, 0.8):
        below = weights[part <= x].sum() / weights.sum()
        assert below == pytest.approx(1 - ((1 - x) / (1 - share)) ** 1.6, abs=0.03)


def test_limits_lie_in_order_and_the_bound_is_not_below_the_value():
    for prior in (0.05, 0.3, 0.7):
        for distance in (0.5, 1, 3):
            found = estimate_prior(*normal(prior, 300, 1000, distance), random_state=0)
            assert 0 <= found.low <= found.value <= found.high <= 1
            assert found.value <= found.upper_bound <= 1


@pytest.mark.parametrize("n_p", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_few_positives_give_a_wide_interval_and_no_error(n_p, sampling):
    x_p, x_u = table(0.3, n_p, 200)
    found = estimate_prior(x_p, x_u, sampling=sampling, random_state=0)
    assert found.high - found.low > 0.15
    assert not found.identified


def test_column_that_gives_the_label_away_is_never_identified():
    x_p, x_u = table(0.4, 400, 1200, distance=2.0)
    x_p = np.column_stack([x_p, np.ones(400)])
    x_u = np.column_stack([x_u, np.zeros(1200)])
    with pytest.warns(UserWarning, match="No unlabelled row looks like a positive"):
        found = estimate_prior(x_p, x_u, random_state=0)
    assert not found.identified
    assert "gives the label away" in found.message


def test_column_that_gives_some_labels_away_is_never_identified():
    """A third of the labelled rows carry a note that no unlabelled row has."""
    x_p, x_u = table(0.4, 600, 2000, distance=2.0)
    note = (np.arange(600) % 3 == 0).astype(float)
    with pytest.warns(UserWarning, match="No unlabelled row looks like a positive"):
        found = estimate_prior(
            np.column_stack([x_p, note]), np.column_stack([x_u, np.zeros(2000)]), random_state=0
        )
    assert not found.identified


@pytest.mark.parametrize(("distance", "seed"), [(1.0, 0), (2.0, 0), (2.0, 3), (2.0, 6)])
def test_column_that_gives_a_third_of_the_labels_away_is_noticed_though_some_others_have_it(
    distance, seed
):
    """The highest scores contradict what all scores say: no estimate is both."""
    x_p, x_u = table(0.4, 600, 2000, distance)
    note_p, note_u = np.arange(600) % 3 == 0, np.arange(2000) % 50 == 0
    found = estimate_prior(
        np.column_stack([x_p, note_p]), np.column_stack([x_u, note_u]), random_state=seed
    )
    assert not found.identified
    assert "a column may give the label away" in found.message
    assert found.low <= found.value <= found.high


def test_missing_values_are_allowed():
    x_p, x_u = table(0.3, 300, 900)
    x_p[::7, 0], x_u[::7, 0] = np.nan, np.nan
    found = estimate_prior(x_p, x_u, random_state=0)
    assert found.low < 0.3 < found.high


def test_large_samples_are_cut_to_one_number_of_rows():
    x_p, x_u = np.zeros(10), np.arange(3.0 * MOST_ROWS)
    assert some_rows(x_p, 0)[0] is x_p
    chosen, groups = some_rows(x_u, 0, np.arange(x_u.size))
    assert chosen.size == MOST_ROWS
    np.testing.assert_array_equal(chosen, groups)


def test_labelled_share_is_that_of_all_rows_however_many_are_used():
    """10 of 30,010 rows are labelled: the prior is hardly above the share in U."""
    scores_p, scores_u = normal(0.2, 10, 3 * MOST_ROWS // 2, 3.0)
    found = estimate_prior(scores_p, scores_u, sampling="one-sample", random_state=0)
    assert 10 / (10 + scores_u.size) <= found.low <= found.value < 0.5


def test_groups_share_a_fold():
    """Rows repeat with a tiny change. A model that saw the labelled twin knows the other one."""
    rng = np.random.default_rng(0)
    x_p, x_u = rng.normal(size=(150, 3)), rng.normal(size=(300, 3))
    x_u[:150] = x_p + 1e-4  # beyond the precision in which rows count as equal
    names = np.arange(150), np.r_[np.arange(150), np.arange(1000, 1150)]
    model = KNeighborsClassifier(3)
    apart, together = (
        out_of_fold_scores(x_p, x_u, model=model, groups=groups, random_state=0)
        for groups in (None, names)
    )
    gap = [scores_u[:150].mean() - scores_u[150:].mean() for _, scores_u in (apart, together)]
    assert gap[0] > 0.1
    assert abs(gap[1]) < 0.05


@pytest.mark.parametrize("groups", [3, (np.arange(5), np.arange(5)), [np.arange(5)]])
def test_groups_of_another_shape_are_refused(groups):
    x_p, x_u = table(0.3, 5, 20)
    with pytest.raises(ValueError, match="'groups' parameter of estimate_prior"):
        estimate_prior(x_p, x_u, groups=groups)


def test_equal_rows_are_people_where_most_rows_of_u_have_a_twin():
    """In a table of a few categories, rows that are equal are no copies of each other."""
    rng = np.random.default_rng(0)
    x_p, x_u = rng.integers(3, size=(100, 2)) * 1.0, rng.integers(3, size=(400, 2)) * 1.0
    scores_p, scores_u = out_of_fold_scores(x_p, x_u, random_state=0)
    same = (x_u == x_u[0]).all(axis=1)
    assert np.unique(scores_u[same]).size > 1  # twins are in several folds
    assert np.isfinite(scores_p).all()


def test_estimate_goes_on_without_lightgbm(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.warns(UserWarning, match="LightGBM cannot be loaded"):
        model = default_model(np.zeros((100, 2)))
    assert [name for name, _ in model.estimators] == ["splines"]


def test_wide_rows_are_scored_by_a_kernel_too():
    model = default_model(np.random.default_rng(0).normal(size=(100, 60)), random_state=0)
    assert [name for name, _ in model.estimators] == ["boosted", "random", "kernel"]


def test_classes_of_images_and_words_are_expected_to_lie_apart():
    x_p, x_u, _ = even_digits(100)
    assert scores_and_separation(x_p, x_u, None, 0, None)[2] is FAR
    words = scipy.sparse.random(200, 600, 0.05, format="csr", random_state=0)
    assert scores_and_separation(words[:60], words[60:], None, 0, None)[2] is FAR


@pytest.mark.parametrize("columns", [5, 60])
def test_classes_of_a_table_are_expected_to_overlap_however_wide_it_is(columns):
    """One column tells something, the others nothing: trees find it, distances drown it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, columns))
    x[:300, 0] += 1.5
    assert scores_and_separation(x[:300], x[300:], None, 0, None)[2] is CLOSE
    message = estimate_prior(x[:300], x[300:], random_state=0).message
    assert "may overlap those of positives" in message


def test_a_small_difference_means_many_positives_where_classes_lie_apart():
    """Nine of ten rows of U are positives: scores alone take that for classes that overlap."""
    scores_p, scores_u = normal(0.9, 500, 2000, 3.0)
    table, images = (
        mixture_posterior(scores_p, scores_u, separation=each) for each in (CLOSE, FAR)
    )
    assert abs(images.mean - 0.9) < abs(table.mean - 0.9)


def test_boosted_trees_are_left_out_where_whole_rows_say_more():
    x_p, x_u, _ = even_digits(100)
    x_p, x_u = x_p[:60], x_u[:400]
    every = default_model(np.concatenate([x_p, x_u]), random_state=seed_of(0))
    of_all = out_of_fold_scores(x_p, x_u, model=every, random_state=0)
    without = every.set_params(boosted="drop")
    of_two = out_of_fold_scores(x_p, x_u, model=without, random_state=0)
    found = out_of_fold_scores(x_p, x_u, random_state=0)
    assert np.allclose(np.concatenate(found), np.concatenate(of_two))
    assert not np.allclose(np.concatenate(found), np.concatenate(of_all))


def test_estimate_of_images_says_what_is_assumed_of_them():
    x_p, x_u, prior = even_digits(200)
    found = estimate_prior(x_p, x_u, random_state=0)
    assert "hardly overlap those of positives, as in text and images" in found.message
    assert abs(found.value - prior) < 0.05


def test_words_are_scored_one_by_one_and_by_what_they_stand_beside():
    """The mean of a model of the words and of one of the directions, made here by hand."""
    rng = np.random.default_rng(0)
    topic = np.repeat([1, 0, 1], [60, 100, 40])
    words = rng.random((200, 600)) < np.where(np.arange(600) < 300, 1, 3)[None] * 0.02
    words[topic == 1, :300] |= rng.random((100, 300)) < 0.05
    x = scipy.sparse.csr_matrix(words.astype(float))
    found = np.concatenate(out_of_fold_scores(x[:60], x[60:], random_state=3))
    directions = normalize(TruncatedSVD(100, random_state=seed_of(3)).fit_transform(x))
    model = LogisticRegression(class_weight="balanced")
    by_hand = [
        np.concatenate(out_of_fold_scores(rows[:60], rows[60:], model=model, random_state=3))
        for rows in (x, directions)
    ]
    np.testing.assert_allclose(found, np.mean(by_hand, axis=0), atol=1e-6)


def test_estimate_stored_before_there_was_an_upper_bound_loads():
    stored = PriorEstimate(0.3, 0.2, 0.4, "bbe", True, "About 30 %.").stored()
    del stored["upper_bound"]
    assert PriorEstimate.from_stored(stored).upper_bound == 0.3
    assert PriorEstimate.from_stored({**stored, "method": "km"}).upper_bound == 1.0


def test_stored_estimate_keeps_its_upper_bound():
    estimate = estimate_prior(*normal(0.3, 200, 600, 2.0), random_state=0)
    assert PriorEstimate.from_stored(estimate.stored()) == estimate


@pytest.mark.parametrize("change", [{"upper_bound": 2}, {"value": 0.9}, {"identified": "yes"}])
def test_stored_estimate_that_is_not_valid_is_refused(change):
    stored = PriorEstimate(0.3, 0.2, 0.4, "bbe", True, "About 30 %.").stored()
    with pytest.raises(ValueError):  # noqa: PT011
        PriorEstimate.from_stored({**stored, **change})


def test_infinite_values_of_both_signs_are_refused_without_a_warning():
    x_p, x_u = table(0.3, 30, 90)
    x_u[4, :2] = np.inf, -np.inf
    with np.errstate(all="raise"), pytest.raises(ValueError, match="x_u contains infinity"):
        estimate_prior(x_p, x_u)


@pytest.mark.parametrize(
    ("labels", "share", "distance"),
    [(10, 0.02, 3.0), (20, 0.3, 3.0), (40, 0.02, 1.5), (40, 0.02, 3.0), (80, 0.05, 1.5)],
)
def test_few_labels_or_rare_positives_are_not_identified(labels, share, distance):
    """Intervals such as .03 to .21 were called identified, and missed .02."""
    rng = np.random.default_rng([0, int(share * 1000), int(distance * 10), labels])
    y = rng.random(3000) < share
    x = rng.normal(size=(3000, 5))
    x[:, 0] += distance * y
    s = np.zeros(3000, dtype=bool)
    s[rng.choice(np.flatnonzero(y), min(labels, y.sum() - 5), replace=False)] = True
    found = estimate_prior(x[s], x[~s], sampling="one-sample", random_state=0)
    assert not found.identified
    assert "Not identified" in found.message
