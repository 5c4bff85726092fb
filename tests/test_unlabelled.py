"""The risks that benchmarks/unlabelled.py compares: values derived by hand."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bench():
    path = ROOT / "benchmarks" / "unlabelled.py"
    spec = importlib.util.spec_from_file_location("unlabelled", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores_of(*probabilities):
    return torch.logit(torch.tensor(probabilities, dtype=torch.float64))


def test_vpu_is_log_mean_u_minus_mean_log_p(bench):
    """φ = ½, ¼ on P and ¼, ¾, ½ on U: ln ½ − (ln ½ + ln ¼)/2 = ½ ln 2."""
    value = bench.vpu(scores_of(0.5, 0.25), scores_of(0.25, 0.75, 0.5))
    assert float(value) == pytest.approx(math.log(2) / 2)


def test_vpu_does_not_change_where_phi_is_multiplied(bench):
    whole = bench.vpu(scores_of(0.8, 0.6), scores_of(0.2, 0.4))
    half = bench.vpu(scores_of(0.4, 0.3), scores_of(0.1, 0.2))
    assert float(whole) == pytest.approx(float(half))


def test_dist_pu_compares_mean_probabilities(bench):
    """π = .4: 2 · .4 · (1 − .7) + |.5 − .4| = .34; the entropy of (½, ½) is ln 2."""
    p, u = scores_of(0.9, 0.5), scores_of(0.5, 0.5)
    assert float(bench.dist_pu(p, u, 0.4)) == pytest.approx(0.34)
    assert float(bench.dist_pu(p, u, 0.4, 0.1)) == pytest.approx(0.34 + 0.1 * math.log(2))


def test_cvir_drops_the_prior_s_share_from_the_top(bench):
    kept = bench.kept_by_cvir(torch.tensor([3.0, -1.0, 0.0, 2.0, 1.0]), 0.4)
    assert kept.tolist() == [False, True, True, False, True]


def test_a_soft_label_of_one_half_counts_nothing(bench):
    """Labels 1, ½, ¼ with φ = ½ weigh 1, 0, ½: every loss is ln 2. A sure label counts twice."""
    y = torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64)
    assert float(bench.soft_risk(scores_of(0.5, 0.9, 0.5), y)) == pytest.approx(math.log(2))
    loss = (-math.log(0.8) + 0.5 * math.log(2)) / 1.5
    assert float(bench.soft_risk(scores_of(0.8, 0.9, 0.5), y)) == pytest.approx(loss)


def test_p_against_u_weighs_both_sides_the_same(bench):
    value = bench.balanced(scores_of(0.8), scores_of(0.5, 0.5, 0.5))
    assert float(value) == pytest.approx((-math.log(0.8) + math.log(2)) / 2)
