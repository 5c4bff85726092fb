"""Samples have the sizes, the classes and the independence that their definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from nnpu.data import Dataset, load, negative_count, sample_censored, sample_pu
from nnpu.parameters import InputError, ParameterError

Y = np.where(np.arange(1000) % 5 < 2, 1, -1)  # prior 0.4
X = np.arange(1000, dtype=np.float32)[:, None]


def members(sample: Any) -> list[list[int]]:
    return [rows.tolist() for rows in (sample.index_p, sample.index_u, sample.index_n)]


def test_figure_1_splits_the_training_data() -> None:
    sample = sample_pu((X, Y), 100, n_n=50, disjoint=True)
    assert len(sample.index_p) == 100
    assert len(sample.index_n) == 50
    assert sorted([*sample.index_p, *sample.index_u]) == list(range(1000))
    assert (Y[sample.index_p] == 1).all()
    assert (Y[sample.index_n] == -1).all()
    assert sample.prior == pytest.approx(300 / 900)  # 400 positives, 100 taken


def test_section_5_keeps_p_inside_u() -> None:
    sample = sample_pu((X, Y), 100)
    assert np.array_equal(sample.index_u, np.arange(1000))
    assert len(np.unique(sample.index_p)) == 100
    assert len(sample.index_n) == 0
    assert sample.prior == pytest.approx(0.4)


def test_the_features_are_the_rows_of_the_indices() -> None:
    sample = sample_pu((X, Y), 10, 20, n_n=5)
    assert np.array_equal(sample.x_p.ravel(), sample.index_p)
    assert np.array_equal(sample.x_u.ravel(), sample.index_u)
    assert np.array_equal(sample.x_n.ravel(), sample.index_n)
    assert np.array_equal(X[sample.index][sample.s == 1], sample.x_p)
    assert np.array_equal(X[sample.index][sample.s == 0], sample.x_u)


def test_sparse_rows_and_data_sets_are_sampled_too() -> None:
    sample = sample_pu((csr_array(X), Y), 10)
    assert np.array_equal(sample.x_p.toarray().ravel(), sample.index_p)
    data = Dataset("toy", X, Y.astype(np.int8), X[:0], Y[:0].astype(np.int8), "")
    assert members(sample_pu(data, 10)) == members(sample)


@pytest.mark.parametrize(
    ("prior", "n_p", "n_n"),
    [
        (0.5, 1000, 250),  # (.5 / 1)² · 1000
        (0.4, 1000, 562),  # (.6 / .8)² · 1000 = 562.5, to the even number
        (0.2, 100, 400),  # (.8 / .4)² · 100
    ],
)
def test_the_number_of_negatives_follows_section_5(prior: float, n_p: int, n_n: int) -> None:
    assert negative_count(prior, n_p) == n_n


def test_a_sampling_is_a_function_of_seed_and_index() -> None:
    def draw(seed: int, index: int) -> list[list[int]]:
        return members(sample_pu((X, Y), 30, 200, n_n=20, random_state=seed, index=index))

    drawn = [draw(seed, index) for seed in (0, 1) for index in range(10)]
    assert drawn == [draw(seed, index) for seed in (0, 1) for index in range(10)]
    assert len({str(one) for one in drawn}) == 20


def test_p_and_n_do_not_depend_on_how_many_unlabelled_are_drawn() -> None:
    few = sample_pu((X, Y), 30, 10, n_n=20, index=3)
    many = sample_pu((X, Y), 30, 500, n_n=20, index=3, disjoint=True)
    assert np.array_equal(few.index_p, many.index_p)
    assert np.array_equal(few.index_n, many.index_n)


def test_a_generator_gives_a_new_sampling_each_time() -> None:
    rng = np.random.default_rng(0)
    first, second = (sample_pu((X, Y), 30, random_state=rng) for _ in range(2))
    assert not np.array_equal(first.index_p, second.index_p)
    again = sample_pu((X, Y), 30, random_state=np.random.default_rng(0))
    assert np.array_equal(first.index_p, again.index_p)
    with pytest.raises(ParameterError, match="'index' parameter of sample_pu must be 0"):
        sample_pu((X, Y), 30, random_state=rng, index=1)


def test_every_positive_is_drawn_equally_often() -> None:
    """Chi-squared over 400 positives, 20 of them in each of 1,000 samplings.

    Draws without replacement vary less than multinomial ones, by 1 − 20/400, so that the
    statistic divided by .95 has 399 degrees of freedom.
    """
    counts = np.zeros(1000)
    for index in range(1000):
        counts[sample_pu((X, Y), 20, 1, index=index).index_p] += 1
    drawn = counts[Y == 1]
    statistic = ((drawn - 50) ** 2 / 50).sum() / 0.95
    assert 0.001 < stats.chi2(399).cdf(statistic) < 0.999


@given(n_u=st.integers(1, 300), prior=st.floats(0.01, 0.99), disjoint=st.booleans())
def test_u_has_the_prior_that_is_asked_for(n_u: int, prior: float, disjoint: bool) -> None:
    sample = sample_pu((X, Y), 50, n_u, prior=prior, disjoint=disjoint)
    assert len(np.unique(sample.index_u)) == n_u
    assert abs((Y[sample.index_u] == 1).sum() - prior * n_u) <= 0.5
    assert not disjoint or not np.isin(sample.index_p, sample.index_u).any()


def test_a_prior_without_a_size_takes_what_there_is() -> None:
    """400 positives, 600 negatives. At .2 the negatives run out: 600 / .8 = 750 rows, 150 of them
    positive. At .8 the positives do: 400 / .8 = 500.
    """
    assert len(sample_pu((X, Y), 50, prior=0.2).index_u) == 750
    assert len(sample_pu((X, Y), 50, prior=0.8).index_u) == 500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_p": 401}, "n_p is 401, but there are only 400 positives"),
        ({"n_p": 1, "n_n": 601}, "n_n is 601, but there are only 600 negatives"),
        ({"n_p": 100, "n_u": 901, "disjoint": True}, "n_u is 901, but there are only 900"),
        ({"n_p": 1, "n_u": 600, "prior": 0.8}, "need 480 positives and 120 negatives"),
    ],
)
def test_too_few_rows_are_an_input_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sample_pu((X, Y), **arguments)


def test_a_censored_sample_labels_only_positives() -> None:
    sample = sample_censored((X, Y), 100)
    assert np.array_equal(sample.index, np.arange(1000))
    assert sample.s.sum() == 100
    assert (Y[sample.index[sample.s == 1]] == 1).all()
    assert sample.prior == pytest.approx(0.4)  # of P ∪ U, not of U


def test_a_censored_sample_can_be_a_part() -> None:
    sample = sample_censored((X, Y), 50, 300, index=2)
    again = sample_censored((X, Y), 50, 300, index=2)
    assert len(np.unique(sample.index)) == len(sample.s) == 300
    assert sample.s.sum() == 50
    assert np.array_equal(sample.index, again.index)
    assert np.array_equal(sample.s, again.s)
    assert sample.prior == (Y[sample.index] == 1).mean()


def test_one_positive_must_stay_unlabelled() -> None:
    assert sample_censored((X, Y), 399).s.sum() == 399
    with pytest.raises(InputError, match="only 399 positives to label"):
        sample_censored((X, Y), 400)


def test_labels_do_not_depend_on_the_features() -> None:
    """SCAR: each positive of the digits is labelled with the same chance, whichever it is.

    100 of 669 positives in each of 200 samplings; the share of a row has the standard error
    √(p(1−p)/200) ≈ .025, so that none of 669 lies 5 of them off.
    """
    digits = load("digits")
    shares = np.zeros(len(digits.y_train))
    for index in range(200):
        shares += sample_censored(digits, 100, index=index).s / 200
    p = 100 / (digits.y_train == 1).sum()
    error = np.sqrt(p * (1 - p) / 200)
    assert np.abs(shares[digits.y_train == 1] - p).max() < 5 * error
    assert (shares[digits.y_train == -1] == 0).all()
