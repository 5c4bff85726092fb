"""`scar_test`: what random labels cannot do, and what the test says of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from nnpu import PriorEstimate, scar_test
from nnpu.parameters import InputError, ParameterError
from nnpu.prior.scar import REGIONS, _smallest


def labelled(slope, n=3000, seed=0):
    """One sample, three in ten positive; column 0 tells the class, and drives the labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    x = rng.normal(size=(n, 3))
    x[:, 0] += 2.5 * y
    odds = np.exp(-1 + slope * (x[:, 0] - 2.5))
    s = y & (rng.random(n) < odds / (1 + odds))
    return x[s], x[~s]


def run(samples, prior=0.3, **changes):
    how = {"sampling": "one-sample", "random_state": 0} | changes
    return scar_test(*samples, prior=prior, **how)


def test_the_pvalue_is_the_binomial_one_of_the_worst_region():
    """Ten rows of 100 have the highest score, nine of them labelled; 20 positives, 10 labelled.

    Each row is labelled with a chance of at most 1/2, so that the top tenth has
    P(Bin(10, 1/2) ≥ 9), times five regions.
    """
    scores_p = np.r_[np.full(9, 1.0), 0.0]
    scores_u = np.r_[1.0, np.zeros(89)]
    pvalue, top = _smallest(scores_p, scores_u, share=10 / 90)
    assert pvalue == pytest.approx(len(REGIONS) * binom.sf(8, 10, 0.5))
    assert top.sum() == 10


def test_random_labels_pass_and_labels_of_clear_cases_do_not():
    assert run(labelled(0.0)).pvalue > 0.05
    found = run(labelled(2.0))
    assert found.pvalue < 1e-3
    assert found.columns == (0,)
    assert "differ from others in: 0" in found.message


def test_a_prior_that_is_too_large_is_contradicted_and_a_smaller_one_is_not():
    """Six in seven rows beyond 3 are positive, a quarter of them labelled: π ≤ b / 0.2 = 0.37."""
    samples = labelled(0.0)
    assert run(samples, 0.9).pvalue < 1e-3
    assert "or the prior is too large" in run(samples, 0.9).message
    assert run(samples, 0.2).pvalue > 0.05


def test_columns_have_their_names():
    x_p, x_u = (pd.DataFrame(x, columns=["score", "a", "b"]) for x in labelled(2.0))
    assert run((x_p, x_u)).columns == ("score",)


def test_an_estimate_counts_at_its_low_end_and_the_message_says_what_it_is_worth():
    """The larger the prior, the more rows of a region may go unlabelled: the low end is mildest."""
    samples = labelled(1.0)
    estimate = PriorEstimate(0.4, 0.3, 0.5, "auto", True, "", "one-sample")
    found = run(samples, estimate)
    assert found.pvalue == run(samples, 0.3).pvalue >= run(samples, 0.4).pvalue
    assert "almost no power" in found.message
    assert "almost no power" not in run(samples, 0.3).message


def test_a_low_end_at_the_labelled_share_contradicts_nothing():
    x_p, x_u = labelled(2.0)
    least = len(x_p) / (len(x_p) + len(x_u))
    estimate = PriorEstimate(0.3, least, 0.5, "auto", False, "", "one-sample")
    assert run((x_p, x_u), estimate).pvalue == 1.0


def test_two_samples_are_tested_too():
    rng = np.random.default_rng(0)
    x_u = np.r_[rng.normal(2.5, 1, (900, 2)), rng.normal(0, 1, (2100, 2))]
    fair, clear = rng.normal(2.5, 1, (500, 2)), rng.normal(4.0, 0.5, (500, 2))
    assert run((fair, x_u), sampling="two-sample").pvalue > 0.05
    assert run((clear, x_u), sampling="two-sample").pvalue < 1e-3


def test_bad_arguments_are_refused():
    samples = labelled(0.0)
    with pytest.raises(ParameterError, match="greater than the labelled share"):
        run(samples, 0.01)
    with pytest.raises(ParameterError, match="'prior' parameter of scar_test"):
        run(samples, 1.5)
    with pytest.raises(ParameterError, match="'sampling' parameter of scar_test"):
        run(samples, sampling="three-sample")
    with pytest.raises(InputError):
        run((samples[0], samples[1][:, :2]))
