"""Importance and contributions: what they add up to, and that they find what matters."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from nnpu import BiasedLabelPU, BoostedPU, EnsemblePU, LinearPU, metrics
from nnpu.estimators.explain import contributions, importance
from nnpu.estimators.forest import Forest, along_paths
from nnpu.parameters import InputError, ParameterError


def draw(n=900, seed=0, sampling="two-sample"):
    """The class is in columns 1 and 2; column 0 is noise."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    x = rng.normal(0, 1, (n, 3))
    x[:, 1] += 2 * y
    x[:, 2] += 0.8 * y
    s = (y & (rng.random(n) < 0.5)).astype(int)
    return x.astype(np.float32), s


@pytest.fixture(scope="module")
def boosted():
    x, s = draw()
    return BoostedPU(0.4, sampling="one-sample", n_estimators=30, random_state=0).fit(x, s)


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_what_is_lost_is_the_difference_of_the_metric(sampling):
    """The same shuffle by hand, and the metric of `nnpu.metrics` before and after."""
    x, s = draw()
    clf = LinearPU(0.4, sampling=sampling).fit(x, s)
    found = {row.column: row for row in importance(clf, x, s, n_repeats=1)}
    rng = np.random.default_rng(0)
    for j in range(3):
        shuffled = x.copy()
        shuffled[:, j] = x[rng.permutation(len(x)), j]
        values = []
        for rows in (x, shuffled):
            scores = clf.decision_function(rows)
            values.append(metrics.pu_roc_auc(s, scores, prior=0.4, sampling=sampling))
        row = found[str(j)]
        assert row.value == pytest.approx(values[0] - values[1], abs=1e-9)
        assert row.low <= row.value <= row.high


def test_the_interval_covers_what_a_large_sample_loses():
    train, s = draw(2000, seed=9)
    clf = LinearPU(0.4, sampling="one-sample").fit(train, s)
    x, labels = draw(200_000, seed=10)
    truth = {row.column: row.value for row in importance(clf, x, labels, n_repeats=1)}
    inside = 0
    for seed in range(40):
        x, labels = draw(600, seed=100 + seed)
        row = next(r for r in importance(clf, x, labels, n_repeats=3) if r.column == "1")
        inside += row.low <= truth["1"] <= row.high
    assert 30 <= inside <= 40  # nominal 36


def test_what_matters_comes_first_whatever_the_classifier():
    x, s = draw()
    frame = pd.DataFrame(x, columns=["noise", "strong", "weak"])
    clf = EnsemblePU(
        0.4, sampling="one-sample", members=["splines", "boosted-kl"], n_folds=2, random_state=0
    ).fit(frame, s)
    rows = importance(clf, frame, s, n_repeats=2)
    assert [row.column for row in rows] == ["strong", "weak", "noise"]
    assert rows[0].low > 0.1
    why = contributions(clf, frame[:50], background=frame)
    assert why.columns == ["noise", "strong", "weak"]
    np.testing.assert_allclose(
        why.base + why.values.sum(axis=1), clf.decision_function(frame[:50]), atol=1e-5
    )
    size = np.abs(why.values).mean(axis=0)
    assert size[1] > size[2] > size[0]


def test_contributions_of_trees_add_up_exactly_with_gaps_and_categories(boosted):
    x, _ = draw(300, seed=3)
    x[::7, 1] = np.nan
    why = contributions(boosted, x)
    np.testing.assert_allclose(
        why.base + why.values.sum(axis=1), boosted.decision_function(x), rtol=1e-5, atol=1e-6
    )
    assert why.base == pytest.approx(float(boosted.decision_function(x).mean()), abs=1e-5)
    other, _ = draw(100, seed=4)
    why = contributions(boosted, x[:9], background=other[:1])  # few rows: nodes nobody reaches
    np.testing.assert_allclose(
        why.base + why.values.sum(axis=1), boosted.decision_function(x[:9]), rtol=1e-5, atol=1e-6
    )


@pytest.mark.filterwarnings("ignore:.*labels")
@pytest.mark.parametrize(("prior", "bent"), [(0.4, False), ("auto", True)])
def test_contributions_add_up_where_scores_are_those_of_a_forest_moved_or_bent(prior, bent):
    x, s = draw()
    clf = BiasedLabelPU(prior=prior, random_state=0).fit(x, s)
    assert clf._as_labelled == bent
    why = contributions(clf, x[:40], background=x[:200])
    np.testing.assert_allclose(
        why.base + why.values.sum(axis=1), clf.decision_function(x[:40]), atol=1e-5
    )


def test_contributions_of_a_single_comparison_by_hand():
    """One tree, x0 ≤ 0: −1, else +1; three of four background rows go left, so their mean is −½."""
    forest = Forest(
        np.int32([0]),
        np.int32([0, 0, 0]),
        np.zeros(3),
        np.int32([1, 1, 2]),
        np.int32([2, 1, 2]),
        np.zeros(3, bool),
        np.array([0.0, -1.0, 1.0]),
    )
    background = np.float32([[-1, 0], [-2, 0], [-3, 0], [1, 0]])
    base, values = along_paths(forest, np.float32([[5, 9], [-5, 9]]), background)
    assert base == -0.5
    assert values.tolist() == [[1.5, 0.0], [-0.5, 0.0]]


def test_sampled_contributions_of_a_linear_model_are_exact():
    """A linear score changes by w_j (x_j − z_j) in whatever order; z the mean of the drawn rows."""
    x, s = draw()
    clf = LinearPU(0.4, sampling="one-sample").fit(x, s)
    why = contributions(clf, x[:20], background=x[:1], n_orders=2)
    slopes = [
        float(clf.decision_function(np.eye(3)[[j]])[0] - clf.decision_function(np.zeros((1, 3)))[0])
        for j in range(3)
    ]
    np.testing.assert_allclose(why.values, (x[:20] - x[0]) * slopes, atol=1e-4)


def test_sampled_contributions_tend_to_shapley_values():
    """A product of three columns: the mean over all six orders, by hand."""
    from nnpu.estimators.explain import _sampled

    rows, start = np.array([[2.0, 3.0, 5.0]]), np.array([[1.0, 1.0, 1.0]])
    exact = np.zeros(3)
    for order in permutations(range(3)):
        mixed = start[0].copy()
        for j in order:
            before = mixed.prod()
            mixed[j] = rows[0, j]
            exact[j] += (mixed.prod() - before) / 6
    base, values = _sampled(lambda part: part.prod(axis=1), rows, start, 3000, 0)
    assert base == pytest.approx(1.0)
    assert values.sum() == pytest.approx(29)
    np.testing.assert_allclose(values[0], exact, rtol=0.03)


def test_sparse_rows_and_odd_parameters_are_refused(boosted):
    x, s = draw(100)
    with pytest.raises(InputError, match="dense table"):
        contributions(boosted, sp.csr_matrix(x))
    with pytest.raises(ParameterError, match="'n_repeats' parameter of importance"):
        importance(boosted, x, s, n_repeats=0)
    with pytest.raises(InputError, match="labelled and unlabelled"):
        importance(boosted, x[s == 1], s[s == 1] * 1)
