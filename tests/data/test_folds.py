"""PUStratifiedKFold: partitions, shares, groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from nnpu.data.folds import PUStratifiedKFold
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
