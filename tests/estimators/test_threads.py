"""Threads of the matrix products: limited for a while, and then as before."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from nnpu import EnsemblePU
from nnpu.estimators.threads import count_jobs, one_blas_thread


def blas():
    """Return the threads that each BLAS library takes."""
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _three():
    with threadpool_limits(3, "blas"):
        yield


def test_products_take_one_thread_inside_and_as_many_as_before_outside():
    with one_blas_thread():
        assert blas() == {1}
    assert blas() == {3}


def test_a_fit_of_the_ensemble_takes_one_thread(monkeypatch):
    seen = []
    monkeypatch.setattr(EnsemblePU, "_find_prior", lambda *_: seen.append(blas()) or 0.4)
    x, s = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3 == 0
    EnsemblePU(members=["splines"], n_folds=2).fit(x + s[:, None], s)
    assert seen == [{1}]
    assert blas() == {3}


def test_a_fit_that_fails_leaves_what_was_before():
    with pytest.raises(ValueError, match="at least 2 labelled"):
        EnsemblePU(0.4).fit(np.zeros((5, 2)), [1, 0, 0, 0, 0])
    assert blas() == {3}


def test_threads_are_the_processors_that_are_really_free(monkeypatch):
    """100,000 rows took 255 s in as many threads as processors beside a load of 3, 57 s in one."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for busy, free in ((0, 8), (3, 5), (8, 1), (40, 1)):
        monkeypatch.setattr("nnpu.estimators.threads._busy_elsewhere", lambda busy=busy: busy)
        assert count_jobs(None) == count_jobs(-1) == free
        assert count_jobs(6) == 6  # as was asked
    monkeypatch.setattr("nnpu.estimators.threads._busy_elsewhere", lambda: 3)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)  # what affinity and quota leave
    assert count_jobs(None) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert count_jobs(None) == 1
