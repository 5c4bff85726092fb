"""PUStratifiedKFold: partitions, shares, groups."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from nnpu.data.folds import PUStratifiedKFold, equal_rows, row_keys
from nnpu.metrics import make_pu_scorer


@given(n_p=st.integers(3, 40), n_u=st.integers(3, 90), k=st.integers(2, 3), seed=st.integers(0, 9))
def test_folds_partition_the_rows_and_share_labels_evenly(n_p, n_u, k, seed):
    s = np.random.default_rng(seed).permutation(np.repeat([1, 0], [n_p, n_u]))
    held_out = [test for _, test in PUStratifiedKFold(k, random_state=seed).split(s, s)]
    assert np.array_equal(np.sort(np.concatenate(held_out)), np.arange(s.size))
    for label in (0, 1):
        counts = [int((s[test] == label).sum()) for test in held_out]
        assert max(counts) - min(counts) <= 1


def test_train_and_test_rows_are_complements():
    s = np.repeat([1, 0], [10, 30])
    for train, test in PUStratifiedKFold(4, random_state=0).split(s, s):
        assert np.array_equal(np.union1d(train, test), np.arange(40))
        assert np.intersect1d(train, test).size == 0


def test_groups_stay_whole_and_labels_stay_near_even():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 200, size=2000)
    s = (rng.random(2000) < 0.2).astype(int)
    fold = PUStratifiedKFold(5, random_state=0).assign(s, groups)
    assert all(np.unique(fold[groups == group]).size == 1 for group in range(200))
    counts = np.bincount(fold, weights=s, minlength=5)
    assert counts.max() - counts.min() <= 0.1 * counts.mean()


def test_seed_decides_the_folds():
    s = np.repeat([1, 0], [20, 80])
    first, again, other = (PUStratifiedKFold(5, random_state=seed).assign(s) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.filterwarnings("ignore:scoring=")  # few rows: an AUC of 1.01 is within the error
def test_folds_work_in_cross_val_score_with_groups():
    x = np.r_[np.linspace(2, 4, 40), np.linspace(-3, 4, 160)][:, None]
    s = np.repeat([1, 0], [40, 160])
    scores = cross_val_score(
        LogisticRegression(),
        x,
        s,
        groups=np.arange(200) // 2,
        cv=PUStratifiedKFold(4, random_state=0),
        scoring=make_pu_scorer("pu_roc_auc", prior=0.3),
    )
    assert scores.shape == (4,)
    assert np.isfinite(scores).all()


def test_equal_rows_have_equal_keys_and_others_do_not():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (5000, 5)).astype(np.float64)
    _, expected = np.unique(x, axis=0, return_inverse=True)
    _, found = np.unique(row_keys(x), return_inverse=True)
    pairs = np.unique(np.column_stack([expected.ravel(), found]), axis=0)
    assert len(pairs) == len(np.unique(expected)) == len(np.unique(found))


@pytest.mark.parametrize("binary", [True, False])
def test_a_hundred_thousand_different_rows_do_not_collide(binary):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (100_000, 40)) if binary else rng.normal(size=(100_000, 3))
    assert np.unique(row_keys(x)).size == 100_000


def test_missing_values_are_equal_and_so_are_both_zeros():
    other_nan = np.array([0x7FC00001], dtype=np.uint32).view(np.float32)[0]
    x = np.array([[np.nan, 0.0], [other_nan, -0.0], [0.0, np.nan]], dtype=np.float32)
    keys = row_keys(x)
    assert keys[0] == keys[1] != keys[2]


def test_columns_are_not_interchangeable():
    keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert keys[0] != keys[1]


def test_numbers_count_as_they_are_in_single_precision():
    x = np.array([[1.1, 7.0], [1e6 + 0.3, -3.0]])
    np.testing.assert_array_equal(row_keys(x), row_keys(x.astype(np.float32)))
    np.testing.assert_array_equal(row_keys(np.array([[1, 7]])), row_keys(np.array([[1.0, 7.0]])))


def test_large_integers_that_single_precision_does_not_hold_are_told_apart():
    x = np.array([[2.0**24 + 1], [2.0**24 + 2], [1.7e18], [1.7e18 + 256]])
    assert len(set(row_keys(x).tolist())) == 4
    assert len(set(row_keys(sp.csr_array(x)).tolist())) == 4


def test_keys_do_not_depend_on_the_rows_around_them():
    x = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_array_equal(row_keys(x)[10:20], row_keys(x[10:20]))
    sparse = sp.csr_array(x * (np.abs(x) > 1))
    np.testing.assert_array_equal(row_keys(sparse)[10:20], row_keys(sparse[10:20]))


def test_a_sparse_row_has_one_key_however_it_is_stored():
    """Unsorted columns, parts of a sum, zeros that are written down, wider numbers."""
    plain = sp.csr_array(np.array([[0.0, 2.0, 3.0]], dtype=np.float32))
    shape = (1, 3)
    ends = np.array([0, 2])
    unsorted = sp.csr_array((np.float32([3, 2]), np.array([2, 1]), ends), shape=shape)
    summed = sp.csr_array(
        (np.float32([1, 3, 1]), np.array([1, 2, 1]), np.array([0, 3])), shape=shape
    )
    zeros = sp.csr_array((np.float32([0, 2, 3]), np.arange(3), np.array([0, 3])), shape=shape)
    wide = sp.csr_array(
        (np.float64([2, 3]), np.array([1, 2], np.int64), ends.astype(np.int64)), shape=shape
    )
    others = [unsorted, summed, zeros, wide, plain.tocsc(), plain.tocoo()]
    for other in others:
        assert row_keys(other)[0] == row_keys(plain)[0]
    assert unsorted.indices.tolist() == [2, 1]  # and the matrix is not changed
    assert zeros.nnz == 3
    assert row_keys(sp.csr_array(np.array([[2.0, 0.0, 3.0]])))[0] != row_keys(plain)[0]


def test_equal_rows_are_numbered_alike():
    x = np.array([[1.0], [2.0], [1.0], [3.0]])
    groups = equal_rows(x)
    assert groups[0] == groups[2]
    assert np.unique(groups).size == 3
    assert equal_rows(np.arange(4.0)[:, None]) is None
    assert equal_rows(sp.csr_array(np.eye(4))) is None
    assert equal_rows(sp.csr_array(np.vstack([np.eye(4), np.eye(4)]))) is not None


def test_keys_are_the_same_in_every_process():
    code = (
        "import numpy as np, scipy.sparse as sp; from nnpu.data.folds import row_keys; "
        "x = np.eye(3) * 1.5; print(row_keys(x).tolist(), row_keys(sp.csr_array(x)).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    x = np.eye(3) * 1.5
    here = f"{row_keys(x).tolist()} {row_keys(sp.csr_array(x)).tolist()}"
    assert run.stdout.strip() == here
