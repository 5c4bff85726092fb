"""`estimate_prior`: hand-derived curves, Gaussians with known shares, real digits, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from nnpu.prior import METHODS, estimate_prior, out_of_fold_scores
from nnpu.prior.curve import ratio_curve
from nnpu.prior.methods import best_bin


def draw(prior, n_p, n_u, distance=4.0, seed=0, d=None):
    """P and U from unit Gaussians; the negatives at 0."""
    rng = np.random.default_rng(seed)
    shape = () if d is None else (d,)
    y = rng.random(n_u) < prior
    x_p = rng.normal(size=(n_p, *shape)) + distance
    x_u = rng.normal(size=(n_u, *shape)) + distance * y.reshape(-1, *[1] * len(shape))
    return x_p, x_u, y


def test_ratio_curve_of_four_rows_by_hand():
    """P = {1, 3}, U = {0, 1, 2, 4}. At 0, 1, 2, 3: q_p = 1, 1, ½, ½ and q_u = 1, ¾, ½, ¼.
    The threshold 4 is left out: no positive scores as much.
    """
    curve = ratio_curve(np.array([3.0, 1.0]), np.array([4.0, 0.0, 2.0, 1.0]))
    assert curve.thresholds.tolist() == [0, 1, 2, 3]
    assert curve.ratio.tolist() == [1, 0.75, 1, 0.5]


def test_best_bin_prefers_a_large_bin_to_a_lucky_small_one():
    """One positive scores 2, the other 99 score 1; of U 40 score 1 and 60 score 0. The bin of the
    single top positive has ratio 0 but an upper limit far above 0.4, the ratio of the bin at 1.
    """
    scores_p = np.r_[2.0, np.ones(99)]
    assert best_bin(scores_p, np.repeat([1.0, 0.0], [40, 60])) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("method", "prior"),
    [
        pytest.param(method, prior, marks=[pytest.mark.slow] if method == "km" else [])
        for method in sorted(METHODS)
        for prior in (0.2, 0.5, 0.8)
    ],
)
def test_every_method_finds_the_share_of_separated_gaussians(method, prior):
    x_p, x_u, _ = draw(prior, 1000, 3000, distance=5.0)
    estimate = estimate_prior(x_p, x_u, method=method, random_state=0)
    # KM2 sees 300 rows of each sample, in which the share alone varies by .03
    assert estimate.value == pytest.approx(prior, abs=0.12 if method == "km" else 0.08)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.method == method


@pytest.mark.parametrize("method", ["auto", "bbe"])
def test_one_sample_value_is_the_share_in_p_and_u_together(method):
    """Of 3,000 rows with prior 0.5, two positives in five are labelled: b ≈ .2, U's share is
    (.5 − .2)/(1 − .2) = .375. Reading it as the population's prior would be wrong by .125.
    """
    rng = np.random.default_rng(1)
    y = rng.random(6000) < 0.5
    scores = rng.normal(size=6000) + 5 * y
    labelled = y & (rng.random(6000) < 0.4)
    samples = scores[labelled], scores[~labelled]
    two = estimate_prior(*samples, method=method, random_state=0)
    one = estimate_prior(*samples, method=method, sampling="one-sample", random_state=0)
    assert two.value == pytest.approx(0.375, abs=0.03)
    assert one.value == pytest.approx(0.5, abs=0.03)
    b = labelled.mean()
    # the methods for overlap know more of a single sample before they see the rows
    assert one.value == pytest.approx(
        b + (1 - b) * two.value, abs=0.01 if method == "auto" else 1e-9
    )
    assert one.low < 0.5 < one.high
    assert "positives among all rows" in one.message


def test_one_sample_lower_limit_is_not_below_the_labelled_share():
    x_p, x_u, _ = draw(0.05, 900, 100, seed=3)
    assert estimate_prior(x_p, x_u, sampling="one-sample", random_state=0).low >= 0.9


def test_same_law_is_not_identified():
    found = [
        estimate_prior(*np.random.default_rng(seed).normal(size=(2, 1000)), random_state=0)
        for seed in range(20)
    ]
    assert not any(estimate.identified for estimate in found)
    assert "do not separate labelled from unlabelled" in found[0].message


def test_scores_of_unrelated_features_are_not_identified():
    x = np.random.default_rng(0).normal(size=(600, 5))
    assert not estimate_prior(x[:200], x[200:], random_state=0).identified


def test_ratio_that_falls_to_the_top_is_not_identified():
    """At distance 0.7 and prior 0.1 the ratio of densities is .1 + .9 exp(−.7 x + .245): about .40
    and .29 in the two halves of the top 15 % of P. No bin is pure, and the estimate is far off.
    """
    x_p, x_u, _ = draw(0.1, 20_000, 20_000, distance=0.7)
    estimate = estimate_prior(x_p, x_u, method="bbe", random_state=0)
    assert estimate.value > 0.2
    assert not estimate.identified
    assert "Even among the highest scores" in estimate.message


def test_message_says_what_was_assumed_and_what_the_bound_is():
    x_p, x_u, _ = draw(0.3, 1000, 5000)
    estimate = estimate_prior(x_p, x_u, random_state=0)
    assert estimate.identified
    assert "labels were given at random" in estimate.message
    assert f"the share would be {estimate.upper_bound:.3f}" in estimate.message
    assert "upper bound" in estimate_prior(x_p, x_u, method="bbe", random_state=0).message
    assert "most positives are unlabelled" not in estimate.message  # P was collected apart
    one = estimate_prior(x_p, x_u, sampling="one-sample", random_state=0)
    assert "among the positives, that most positives are unlabelled" in one.message


def test_wide_interval_is_not_identified():
    x_p, x_u, _ = draw(0.5, 40, 200, distance=2.0)
    estimate = estimate_prior(x_p, x_u, random_state=0)
    assert estimate.high - estimate.low > 0.25
    assert not estimate.identified
    assert "wider" in estimate.message


def test_other_method_that_contradicts_the_curve_is_not_identified():
    """Elkan-Noto overestimates where classes overlap; the ratio at the top scores shows it."""
    x_p, x_u, _ = draw(0.2, 1000, 10_000, distance=2.0)
    estimate = estimate_prior(x_p, x_u, method="elkan_noto", random_state=0)
    assert estimate.value > 0.3
    assert not estimate.identified
    assert "fewer are unlabelled than this share allows" in estimate.message


def test_same_seed_same_estimate():
    x_p, x_u, _ = draw(0.4, 60, 200, d=3)
    first, second = (estimate_prior(x_p, x_u, random_state=5) for _ in range(2))
    assert first == second


def test_ties_enter_together_and_the_estimate_ignores_monotone_maps():
    x_p, x_u, _ = draw(0.4, 500, 2000)
    x_p, x_u = x_p.round(), x_u.round()
    estimate = estimate_prior(x_p, x_u, random_state=0)
    assert estimate.value == pytest.approx(0.4, abs=0.05)
    assert estimate == estimate_prior(np.exp(x_p), np.exp(x_u), random_state=0)


def test_positives_that_are_also_rows_of_u_are_not_recognised():
    """The paper's setting: P ⊂ U. A model that has seen the labelled copy scores the unlabelled
    one high; trees then give shares far from the truth. With equal rows in one fold each copy
    gets the same score from a model that saw neither.
    """
    x_p, x_u, y = draw(0.4, 10, 800, d=4, distance=1.5)
    x_p = x_u[y][:150]
    scores_p, scores_u = out_of_fold_scores(x_p, x_u, random_state=0)
    assert np.array_equal(scores_p, scores_u[np.flatnonzero(y)[:150]])


def test_kinds_of_input_agree():
    pd = pytest.importorskip("pandas")
    x_p, x_u, _ = draw(0.4, 50, 150, d=2)
    expected = estimate_prior(x_p, x_u, random_state=0)
    assert expected == estimate_prior(pd.DataFrame(x_p), pd.DataFrame(x_u), random_state=0)


def test_tensors_and_arrays_agree():
    import torch

    x_p, x_u, _ = draw(0.4, 50, 150, d=2)
    expected = estimate_prior(x_p, x_u, random_state=0)
    assert expected == estimate_prior(torch.tensor(x_p), torch.tensor(x_u), random_state=0)


def test_sparse_and_dense_features_agree_under_one_model():
    x_p, x_u, _ = draw(0.4, 100, 300, d=3)
    model = LogisticRegression()
    dense = estimate_prior(x_p, x_u, model=model, random_state=0)
    sparse = estimate_prior(sp.csr_matrix(x_p), sp.csr_matrix(x_u), model=model, random_state=0)
    assert dense.value == pytest.approx(sparse.value, abs=1e-9)
    assert not hasattr(model, "coef_")  # the user's object is not fitted


def test_sparse_features_need_no_model():
    x_p, x_u, _ = draw(0.4, 300, 900, d=3)
    estimate = estimate_prior(sp.csr_matrix(x_p), sp.csr_matrix(x_u), random_state=0)
    assert estimate.value == pytest.approx(0.4, abs=0.08)


def test_estimate_of_zero_becomes_three_over_n_u_with_a_warning():
    with pytest.warns(UserWarning, match="3/n_u"):
        estimate = estimate_prior(np.arange(10, 20.0), np.arange(10.0), random_state=0)
    assert estimate.value == pytest.approx(0.3)


def test_estimate_is_below_one():
    scores = np.linspace(0, 1, 50)
    assert estimate_prior(scores, scores + 1, random_state=0).value < 1


def coverage(distance, prior, n_p, n_u, draws, method="bbe"):
    inside = 0
    for seed in range(draws):
        x_p, x_u, _ = draw(prior, n_p, n_u, distance, seed)
        estimate = estimate_prior(x_p, x_u, method=method, random_state=seed)
        inside += estimate.low <= prior <= estimate.high
    return inside / draws


@pytest.mark.parametrize("prior", [0.2, 0.8])
def test_interval_covers_the_hardest_gaussians(prior):
    assert coverage(2, prior, 500, 2000, draws=100) >= 0.85


@pytest.mark.parametrize("prior", [0.2, 0.5])
def test_interval_that_expects_overlap_covers_gaussians_that_overlap_little(prior):
    assert coverage(3, prior, 500, 2000, draws=20, method="auto") >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("distance", [2, 3, 4])
@pytest.mark.parametrize("prior", [0.2, 0.5, 0.8])
@pytest.mark.parametrize(("n_p", "n_u"), [(500, 2000), (1000, 10_000)])
def test_interval_covers_in_every_cell(distance, prior, n_p, n_u):
    assert coverage(distance, prior, n_p, n_u, draws=200) >= 0.85


@pytest.mark.slow
def test_digits_error_is_at_most_five_points():
    x, digit = load_digits(return_X_y=True)
    even = digit % 2 == 0
    errors = []
    for seed in range(5):
        x_train, _, y, _ = train_test_split(
            x, even, test_size=450, random_state=seed, stratify=even
        )
        labelled = np.random.default_rng(seed).permutation(np.flatnonzero(y))[:100]
        rest = np.setdiff1d(np.arange(y.size), labelled)
        estimate = estimate_prior(x_train[labelled], x_train[rest], random_state=seed)
        errors.append(abs(estimate.value - y[rest].mean()))
    assert np.mean(errors) <= 0.05
