"""Neighbours by rare words, and labels that are mixed with theirs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from nnpu import EnsemblePU
from nnpu.estimators.ensemble import sparse_members as sparse_fits
from nnpu.estimators.ensemble import sparse_members as sparse_neighbours
from nnpu.estimators.ensemble.sparse_members import nearest, smoothed


def dense_nearest(x, k):
    """All cosines at once, sorted row by row."""
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, 0)
    links = np.zeros_like(cosines)
    for row, values in enumerate(cosines):
        top = np.argsort(-values)[:k]
        links[row, top] = np.maximum(values[top], 0) ** 2
    return links / np.maximum(links.sum(axis=1, keepdims=True), 1e-300)


@pytest.mark.parametrize("block", [7, 1000])
def test_the_neighbours_are_those_of_a_dense_search(monkeypatch, block):
    monkeypatch.setattr(sparse_neighbours, "_BLOCK", block)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 30)) * (rng.random((60, 30)) < 0.2)
    x[5] = 0  # a row without words has no neighbours
    x[:, 3] = 0
    x[7, 3] = 9.0  # a word of one row: it counts for the length of the row alone
    links = nearest(sp.csr_array(x), 5)
    np.testing.assert_allclose(links.toarray(), dense_nearest(x, 5), atol=1e-6)
    assert links[[5]].nnz == 0


def test_frequent_columns_are_left_out_where_they_would_cost_too_much():
    """Pairs of rows share a word each (4 products a pair), and all share one (100 products)."""
    pairs = np.repeat(np.eye(5), 2, axis=0)
    x = sp.csr_array(np.hstack([pairs, 3 * np.ones((10, 1))]))
    partner = np.arange(10) ^ 1
    found = nearest(x, 9, products=50).toarray()
    np.testing.assert_allclose(found, np.eye(10)[partner])
    assert np.all((nearest(x, 9, products=120).toarray() > 0).sum(axis=1) == 9)
    assert nearest(x, 9, products=0).nnz == 0


def test_smoothed_labels_solve_a_linear_system():
    """q = (1 − 0.7) y + 0.7 W q in rows that have neighbours and are not known; q = y elsewhere."""
    rng = np.random.default_rng(1)
    links = nearest(sp.csr_array(rng.random((40, 20)) * (rng.random((40, 20)) < 0.1)), 3)
    y, known = rng.random(40), rng.random(40) < 0.3
    y[known] = 1
    free = 0.7 * (links.sum(axis=1) > 0) * ~known
    assert 0 < np.count_nonzero(free) < 40 - known.sum()  # some rows are alone
    solved = np.linalg.solve(np.eye(40) - free[:, None] * links.toarray(), (1 - free) * y)
    np.testing.assert_allclose(smoothed(y, known, links, steps=200), solved, atol=1e-12)
    np.testing.assert_allclose(smoothed(y, known, links, steps=5), solved, atol=0.7**5)
    assert np.all(smoothed(y, known, links)[known] == 1)


def test_threads_of_messages_teach_what_their_words_hardly_tell(monkeypatch):
    """Threads of six messages have two words of their own, and a topic in two words of ten.

    Where labels are not mixed within threads, many more pairs of U are in the wrong order.
    """
    rng = np.random.default_rng(0)
    thread = np.repeat(np.arange(200), 6)
    y = thread < 80
    words = rng.integers(0, 300, (1200, 10))
    words[:, :2] = rng.integers(0, 40, (1200, 2)) + 40 * y[:, None]
    words[:, 2:4] = 300 + 2 * thread[:, None] + [0, 1]
    x = sp.csr_matrix((np.ones(words.size), (np.repeat(np.arange(1200), 10), words.ravel())))
    s = (y & (rng.random(1200) < 0.25)).astype(int)
    options = {"sampling": "one-sample", "members": ["taught"], "n_folds": 2, "random_state": 0}

    def wrongly_ordered():
        clf = EnsemblePU(0.4, **options).fit(x, s)
        return 1 - roc_auc_score(y[s == 0], clf.decision_function(x)[s == 0])

    with_threads = wrongly_ordered()
    monkeypatch.setattr(sparse_fits, "smoothed", lambda labels, known, links: labels)
    assert with_threads < 0.02
    assert with_threads < 0.75 * wrongly_ordered()
