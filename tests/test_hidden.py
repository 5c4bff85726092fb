"""Hidden positives: identities, closed forms, and how often the ranges hold."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score

from nnpu import hidden as law_module
from nnpu.hidden import (
    TYPICAL,
    Answers,
    Estimate,
    HiddenPositives,
    KnownShare,
    LabelLaw,
    _bounded,
    _Curves,
    audited_hidden,
    check_label_bias,
    hidden_positives,
    hidden_share,
    unlabelled_probability,
)
from nnpu.parameters import InputError, ParameterError

FIGURES = ("share", "precision", "recall", "auc")


def sample(seed=0, n=2000, share=0.25, labelled=0.5, gap=1.5):
    """One sample with labels at random: true classes, PU labels, scores."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    s = (y & (rng.random(n) < labelled)).astype(np.int8)
    return y, s, rng.normal(gap * y)


def given(share):
    return KnownShare(share, share, share, bound=share)


def width(estimate):
    return estimate.high - estimate.low


def fixed_law(likeness):
    """A law without any spread: every draw has the same λ."""
    return LabelLaw(likeness, 0.0, 0.1, 0.05, 0.2, 0.5, 1.0, 0.0, random=0.0)


@pytest.fixture
def cuts_at_powers_of_two(monkeypatch):
    """With 1,024 unlabelled rows the curves are kept at 1, 2, 4, …, 1,024 rows."""
    monkeypatch.setattr(law_module, "_GRID", 11)
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [200, 1024]).astype(np.int8)
    return s, np.r_[rng.normal(1.2, 1, 200), rng.normal(0, 1, 1024)]


# --- labels at random ------------------------------------------------------------------------


def test_a_label_bias_of_one_is_labels_at_random():
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, KnownShare(0.14, 0.1, 0.2, 0.25), label_bias=1)
    for name in FIGURES:
        assert getattr(found, name) == getattr(found.at_random, name)
    assert found.top(50) == found.at_random.top(50)
    assert found.found(50) == found.at_random.found(50)


def test_what_holds_at_random_does_not_depend_on_the_label_bias():
    _, s, scores = sample()
    known = KnownShare(0.14, 0.1, 0.2, 0.25)
    kinds = [hidden_positives(s, scores, 1.0, known, label_bias=b) for b in ("typical", 1, 3.0)]
    for name in FIGURES:
        assert len({getattr(each.at_random, name) for each in kinds}) == 1


def test_ranges_at_random_hold_where_labels_are_drawn_at_random(monkeypatch):
    """The share is given: recall, precision of the first rows and AUC must hold in 90 %."""
    monkeypatch.setattr(law_module, "_DRAWS", 300)
    held = {"recall": 0, "top": 0, "auc": 0, "precision": 0}
    for seed in range(200):
        y, s, scores = sample(seed, n=1200)
        y, u = y[s == 0], scores[s == 0]
        found = hidden_positives(s, scores, 1.0, given(y.mean())).at_random
        assert found.share == (y.mean(),) * 3
        first = np.argsort(-u)[:40]
        truth = {
            "recall": (found.recall, np.mean(u[y] > 1.0)),
            "top": (found.top(40), y[first].mean()),
            "auc": (found.auc, roc_auc_score(y, u)),
            "precision": (found.precision, y[u > 1.0].mean()),
        }
        for name, (estimate, true) in truth.items():
            held[name] += estimate.low <= true <= estimate.high
    assert min(held.values()) >= 0.85 * 200, held


def test_the_share_of_hidden_positives_above_a_cut_is_that_of_the_labelled_ones():
    """Without sampling noise worth the name, at_random.found(n) is the labelled recall."""
    _, s, scores = sample(n=40_000)
    found = hidden_positives(s, scores, 1.0, given(0.14)).at_random
    u = np.sort(scores[s == 0])[::-1]
    for n in (200, 1_000, 5_000):
        labelled = np.mean(scores[s == 1] > u[n])
        assert found.found(n).value == pytest.approx(labelled, abs=0.01)


def test_a_recall_of_twelve_in_twelve_is_no_recall_of_one():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [12, 400]).astype(np.int8)
    scores = np.r_[np.full(12, 5.0), rng.normal(size=400)]
    at_random = hidden_positives(s, scores, 2.0, given(0.02)).at_random
    assert at_random.found(8).low < 1
    assert at_random.recall.low < 1


# --- the law ---------------------------------------------------------------------------------


@pytest.mark.parametrize("likeness", [0.0, 0.3, 0.7, 1.0])
def test_the_law_moves_the_normal_score_of_the_recall(cuts_at_powers_of_two, likeness):
    """Φ⁻¹(r) = (1 − λ) Φ⁻¹(q) + λ Φ⁻¹(a), for medians and ends: r grows with a."""
    s, scores = cuts_at_powers_of_two
    found = hidden_positives(s, scores, 1.0, given(0.05), law=fixed_law(likeness))
    for n in (16, 64, 256):
        labelled = found.at_random.found(n)
        for r, a in zip(HiddenPositives.found(found, n), labelled, strict=True):
            z = (1 - likeness) * norm.ppf(n / 1024) + likeness * norm.ppf(a)
            assert r == pytest.approx(norm.cdf(z), abs=2e-4)


def test_hidden_positives_that_rank_like_any_row_are_found_at_the_base_rate():
    _, s, scores = sample(n=8000)
    found = hidden_positives(s, scores, 1.0, given(0.2), law=fixed_law(0.0))
    assert found.auc.value == pytest.approx(0.5, abs=0.002)
    assert found.top(1000).value == pytest.approx(0.2, abs=0.005)
    assert found.found(1000).value == pytest.approx(1000 / found.rows, abs=1e-6)


def test_the_chance_of_random_labels_mixes_the_law_with_them():
    """With random = 1 every draw is one of labels at random, but for what is not possible."""
    _, s, scores = sample()
    always = LabelLaw(**{**vars(TYPICAL), "random": 1.0})
    found = hidden_positives(s, scores, 1.0, KnownShare(0.14, 0.1, 0.2, 0.25), law=always)
    assert found.share == found.at_random.share
    assert found.found(100) == pytest.approx(found.at_random.found(100), abs=0.02)


@pytest.mark.parametrize("sampling", ["one-sample", "two-sample"])
@pytest.mark.parametrize("bias", ["typical", 2.0, 10.0])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_recalls_are_possible_and_grow_with_the_list(sampling, bias, share):
    """0 to 1, never falling, no more positives above a cut than rows, nor negatives below it."""
    _, s, scores = sample()
    known = KnownShare(share, share / 2, (1 + share) / 2, (1 + share) / 2)
    found = hidden_positives(s, scores, 1.0, known, sampling=sampling, label_bias=bias)
    for curves in (found._middle, *found._ends):
        q, h, r = curves.cuts, curves.share[:, None], curves.recall
        assert np.all(r[:, 0] == 0)
        np.testing.assert_allclose(r[:, -1], 1)
        assert np.all(np.diff(r, axis=1) >= -1e-12)
        assert np.all(h * r <= q + 1e-9)
        assert np.all(h * (1 - r) <= 1 - q + 1e-9)
    for n in (1, 20, found.rows // 2, found.rows):
        for each in (found.top(n), found.found(n)):
            assert 0 <= each.low <= each.value <= each.high <= 1
    assert found.found(found.rows) == (1, 1, 1)


def test_top_times_rows_is_found_times_positives():
    """top(n) · n = found(n) · h · rows: both count the positives among the first n."""
    _, s, scores = sample(n=20_000)
    found = hidden_positives(s, scores, 1.0, given(0.15))
    for n in (2_000, 5_000, 10_000):
        positives = found.found(n).value * 0.15 * found.rows
        assert found.top(n).value * n == pytest.approx(positives, rel=0.02)


def test_the_whole_list_holds_the_share():
    _, s, scores = sample(n=20_000)
    found = hidden_positives(s, scores, 1.0, given(0.15))
    assert found.top(found.rows).value == pytest.approx(0.15, abs=0.002)


def test_the_median_of_the_law_stands_out_less_than_random_labels():
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, given(0.14))
    assert found.recall.value < found.at_random.recall.value
    assert found.auc.value < found.at_random.auc.value
    assert found.top(50).value < found.at_random.top(50).value
    unknown = hidden_positives(s, scores, 1.0, KnownShare(0.14, 0.08, 0.22, bound=0.3))
    assert width(unknown.top(50)) > width(unknown.at_random.top(50))


@pytest.mark.parametrize(("share", "beyond"), [(0.05, -1), (0.1, 0), (0.2, 1), (0.9, 2 / 1.6449)])
def test_a_share_that_is_known_tells_of_the_likeness(cuts_at_powers_of_two, share, beyond):
    """The law has 5 % at .05, half at .1 and 95 % at .2; no share counts as more than 2 sd off.

    With a correlation of −1 and an sd of .1 the likeness of a share is .5 − .1 × 1.6449 × beyond.
    """
    s, scores = cuts_at_powers_of_two
    law = LabelLaw(0.5, 0.1, 0.1, 0.05, 0.2, 0.5, 1.0, -1.0, random=0.0)
    found = hidden_positives(s, scores, 1.0, given(share), law=law)
    same = fixed_law(0.5 - 0.1 * 1.6449 * beyond)
    expected = hidden_positives(s, scores, 1.0, given(share), law=same)
    for n in (16, 64, 256):
        assert tuple(found.found(n)) == pytest.approx(tuple(expected.found(n)), abs=2e-4)


@pytest.mark.parametrize("share", [0.04, 0.08, 0.14, 0.25])
def test_whoever_knows_the_share_gets_no_wider_ranges(share):
    _, s, scores = sample(n=4000)
    vague = hidden_positives(s, scores, 1.0, KnownShare(share, share / 2, 2 * share, 2 * share))
    limits = {"least": 0.8 * share, "most": 1.25 * share}
    known = KnownShare(share, 0.8 * share, 1.25 * share, 2 * share, **limits)
    for sure in (given(share), known):
        found = hidden_positives(s, scores, 1.0, sure)
        assert width(found.recall) <= width(vague.recall) + 0.03  # of few positives, more by chance
        for n in (20, 50, 200, 500):
            assert width(found.top(n)) <= width(vague.top(n))


def test_two_samples_hold_positives_of_the_kind_that_gets_labelled(cuts_at_powers_of_two):
    """r₂ = c a + (1 − c) r with c uniform; with λ = 0, r = q and the median has c = 1/2."""
    s, scores = cuts_at_powers_of_two
    found = hidden_positives(s, scores, 1.0, given(0.05), sampling="two-sample", law=fixed_law(0.0))
    for n in (64, 256):
        a, q = found.at_random.found(n).value, n / 1024
        expected = [q + c * (a - q) for c in (0.5, 0.05, 0.95)]
        np.testing.assert_allclose(HiddenPositives.found(found, n), expected, atol=0.02)


# --- up to random labels ---------------------------------------------------------------------


def test_the_range_of_the_first_rows_reaches_up_to_random_labels():
    """Labels were drawn at random and all of the first rows are positive: the range allows it."""
    y, s, scores = sample(n=4000, share=0.3, labelled=0.3, gap=3.5)
    ranked = y[s == 0][np.argsort(-scores[s == 0])]
    known = KnownShare(0.2, 0.1, 0.3, bound=0.3)
    found = hidden_positives(s, scores, 1.0, known)
    for n in (20, 50, 200):
        assert found.top(n).high >= min(found.at_random.top(n).high, found.top(n).low + 0.9)
        assert found.top(n).low <= ranked[:n].mean() <= found.top(n).high
    assert ranked[:20].all()
    assert found.top(20).high == 1


def test_labels_that_cannot_be_random_do_not_widen_the_range():
    _, s, scores = sample(n=4000, share=0.3, labelled=0.3, gap=3.5)
    found = hidden_positives(s, scores, 1.0, KnownShare(0.2, 0.1, 0.3, bound=0.3))
    sure = replace(found, contradicted="They were not.")
    law = HiddenPositives(*(getattr(found, name) for name in HiddenPositives.__dataclass_fields__))
    assert sure.top(50) == law.top(50)
    assert (sure.recall, sure.auc, sure.found(50)) == (law.recall, law.auc, law.found(50))
    assert found.top(50).high > law.top(50).high
    bounded = hidden_positives(s, scores, 1.0, given(0.2), label_bias=2.0)
    assert bounded.top(50) == HiddenPositives.top(bounded, 50)


def test_recall_and_auc_reach_up_to_random_labels():
    """Labels were drawn at random, so both are those of the labelled rows."""
    y, s, scores = sample(seed=1, n=4000, share=0.3, labelled=0.3, gap=2.0)
    found = hidden_positives(s, scores, 1.0, KnownShare(0.2, 0.1, 0.3, bound=0.3))
    hidden, u = y[s == 0].astype(bool), scores[s == 0]
    first = np.argsort(-u)[: found.flagged]
    assert found.recall.low <= hidden[first].sum() / hidden.sum() <= found.recall.high
    assert found.auc.low <= roc_auc_score(hidden, u) <= found.auc.high
    for name in ("recall", "auc"):
        ours, random = getattr(found, name), getattr(found.at_random, name)
        assert ours.value < random.value <= random.high <= ours.high


@pytest.mark.parametrize("gap", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("value", [0.02, 0.1, 0.3])
def test_reaching_up_keeps_the_value_and_cuts_only_below_it(gap, value):
    """The range is at most .9 wide by it, and no list holds more than there are positives."""
    _, s, scores = sample(gap=gap)
    known = KnownShare(value, value / 3, min(3 * value, 0.4), bound=0.4)
    found = hidden_positives(s, scores, 1.0, known)
    for n in (20, 50, 100, 400, found.rows):
        law, now = HiddenPositives.top(found, n), found.top(n)
        assert law.low <= now.low <= now.value == law.value
        assert now.high >= law.high
        assert width(now) <= max(0.9 + 1e-9, width(law))
        assert now.high * n <= max(found.share.high * found.rows, law.high * n) + 1e-9


# --- labels of bounded bias ------------------------------------------------------------------


def curve_of(a):
    """Curves with one draw whose labelled recall is `a`, at cuts that never bind."""
    a = np.concatenate([[0.0], a, [1.0]])
    return _Curves(np.linspace(0, 1, len(a)), np.array([1e-9]), a[None, :])


@pytest.mark.parametrize("g", [1.5, 3.0, 10.0])
def test_bounded_recalls_are_reached_by_a_density_of_two_blocks(g):
    """Labelled density 1 on (0, 1): g below a score t and 1/g above it integrate to 1."""
    a = np.linspace(0.02, 0.98, 49)  # labelled rows above each cut
    low, high = (each.recall[0, 1:-1] for each in _bounded(curve_of(a), given(1e-9), g))
    above = g / (1 + g)  # a/g + g(1 − a) = 1
    least = np.minimum(a, above) / g + np.maximum(a - above, 0) * g
    above = 1 / (1 + g)  # g a + (1 − a)/g = 1
    most = np.minimum(a, above) * g + np.maximum(a - above, 0) / g
    np.testing.assert_allclose(low, least, atol=1e-12)
    np.testing.assert_allclose(high, most, atol=1e-12)


@pytest.mark.parametrize("g", [1.5, 3.0, 10.0])
def test_no_density_ratio_within_the_bounds_goes_further(g):
    """Linear programming over all ratios in [1/g, g] on 20 cells of equal labelled mass."""
    mass = np.full(20, 1 / 20)
    a = np.cumsum(mass)[:-1]
    low, high = (each.recall[0, 1:-1] for each in _bounded(curve_of(a), given(1e-9), g))
    for k in range(1, 20, 3):
        above = np.where(np.arange(20) < k, mass, 0)
        ends = []
        for sign in (1, -1):
            how = {"A_eq": mass[None, :], "b_eq": [1.0], "bounds": (1 / g, g)}
            ends.append(sign * linprog(sign * above, **how).fun)
        assert low[k - 1] <= ends[0] + 1e-9  # cells of finite size reach a little less
        assert high[k - 1] >= ends[1] - 1e-9
        assert low[k - 1] == pytest.approx(ends[0], abs=1e-6)
        assert high[k - 1] == pytest.approx(ends[1], abs=1e-6)


def test_a_bounded_bias_moves_the_share_by_its_factor_and_keeps_one_that_is_given():
    _, s, scores = sample()
    known = KnownShare(0.14, 0.12, 0.16, 0.2)
    found = hidden_positives(s, scores, 1.0, known, label_bias=2.0)
    assert found.share.low == pytest.approx(found.at_random.share.low / 2)
    assert found.share.high == pytest.approx(found.at_random.share.high * 2)
    assert hidden_positives(s, scores, 1.0, given(0.14), label_bias=2.0).share == (0.14,) * 3


def test_ranges_widen_with_the_bias_that_is_allowed():
    _, s, scores = sample()
    kinds = [hidden_positives(s, scores, 1.0, given(0.14), label_bias=g) for g in (1, 1.5, 3, 9)]
    for one, other in pairwise(kinds):
        for name in ("recall", "auc", "precision"):
            less, more = getattr(one, name), getattr(other, name)
            assert more.low <= less.low
            assert more.high >= less.high


# --- the share -------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", ["typical", 1, 3.0])
def test_a_share_that_is_given_has_no_width(bias):
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, given(0.14), label_bias=bias)
    assert found.share == (0.14, 0.14, 0.14)
    assert found.identified


@pytest.mark.parametrize("bias", ["typical", 1, 3.0])
@pytest.mark.parametrize("limits", [(0.1, 0.2), (0.0, 0.05), (0.5, 0.6), (0.0, 0.9)])
def test_hard_limits_are_kept(bias, limits):
    _, s, scores = sample()
    middle = float(np.clip(0.14, *limits))
    known = KnownShare(middle, *limits, 0.3, *limits)
    found = hidden_positives(s, scores, 1.0, known, label_bias=bias)
    for curves in (found._middle, *found._ends):
        assert curves.share.min() >= limits[0] - 1e-9
        assert curves.share.max() <= limits[1] + 1e-9
    assert limits[0] <= found.share.low <= found.share.value <= found.share.high <= limits[1]


@pytest.mark.parametrize("limits", [(0.5, 0.6), (0.5, 0.95)])
def test_limits_far_from_the_law_are_the_range_and_not_its_nearer_end(limits):
    """Who is sure of 50 % to 95 % must not read that 50 % to 51 % is meant."""
    _, s, scores = sample()
    known = KnownShare(limits[0], limits[0], limits[0] + 1e-3, 0.2, *limits)
    found = hidden_positives(s, scores, 1.0, known)
    assert found.share.high - found.share.low > 0.85 * (limits[1] - limits[0])
    assert limits[0] <= found.share.low < found.share.high <= limits[1]


@pytest.mark.parametrize(
    ("known", "identified"),
    [
        (KnownShare(0.3, 0.2, 0.4, 0.5), True),
        (KnownShare(0.3, 0.15, 0.45, 0.5), False),  # .3 wide, ends within 3 times
        (KnownShare(0.04, 0.02, 0.09, 0.1), False),  # .07 wide, ends further apart than 3 times
    ],
)
def test_an_identified_share_is_narrow_and_its_ends_are_close(known, identified):
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, known, label_bias=1)
    assert found.share.low == pytest.approx(known.low, rel=0.05)
    assert found.share.high == pytest.approx(known.high, rel=0.05)
    assert found.identified == identified


def test_a_share_that_is_contradicted_is_not_identified():
    from dataclasses import replace

    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, given(0.14))
    assert found.identified
    assert not replace(found, contradicted="p = 1e-9").identified


def test_the_share_may_reach_down_to_nearly_complete_labels_and_beyond_the_interval():
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, KnownShare(0.14, 0.12, 0.16, 0.3))
    assert found.share.low < 0.05
    assert found.share.high > 0.3
    assert not found.identified


def test_the_range_of_the_share_holds_the_estimate_under_random_labels():
    _, s, scores = sample(share=0.7)
    found = hidden_positives(s, scores, 1.0, KnownShare(0.6, 0.5, 0.66, 0.65))
    assert found.share.low < found.at_random.share.value <= found.share.high + 1e-3
    assert found.share == hidden_share(KnownShare(0.6, 0.5, 0.66, 0.65))[0]


# --- single rows and odd inputs --------------------------------------------------------------


def test_nothing_is_found_where_nothing_is_predicted_positive():
    _, s, scores = sample()
    found = hidden_positives(s, scores, scores.max(), given(0.14))
    assert found.flagged == 0
    assert found.recall == (0, 0, 0)
    assert np.isnan(found.precision).all()


def test_precision_is_that_of_the_rows_that_are_predicted_positive():
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, given(0.14))
    assert found.flagged == np.sum(scores[s == 0] > 1.0)
    assert found.precision == found.top(found.flagged)


def test_known_negatives_are_no_part_of_the_unlabelled_rows():
    _, s, scores = sample()
    more = np.r_[s, np.full(100, -1)].astype(np.int8), np.r_[scores, np.full(100, 9.0)]
    one, other = (hidden_positives(*each, 1.0, given(0.14)) for each in ((s, scores), more))
    assert one.rows == other.rows == np.sum(s == 0)
    assert one.recall == other.recall
    assert one.top(20) == other.top(20)


def test_a_monotone_change_of_the_scores_changes_nothing():
    _, s, scores = sample()
    one = hidden_positives(s, scores, 1.0, given(0.14))
    other = hidden_positives(s, np.exp(scores), np.exp(1.0), given(0.14))
    assert one.recall == other.recall
    assert one.auc == other.auc
    assert one.top(50) == other.top(50)


def test_equal_scores_find_positives_at_the_base_rate():
    """Ties count half: labelled and unlabelled rows that all score alike have an AUC of .5."""
    s = np.repeat([1, 0], [300, 2000]).astype(np.int8)
    found = hidden_positives(s, np.zeros(2300), 1.0, given(0.2)).at_random
    assert found.auc.value == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("n_p", "n_u"), [(1, 1), (1, 5), (3, 2)])
def test_a_handful_of_rows_gives_ranges_and_no_error(n_p, n_u):
    s = np.repeat([1, 0], [n_p, n_u]).astype(np.int8)
    found = hidden_positives(s, np.arange(n_p + n_u, dtype=float), 1.5, given(0.3))
    for each in (found.auc, found.top(1), found.found(1), found.recall):
        assert 0 <= each.low <= each.value <= each.high <= 1


def test_rows_that_are_not_there_are_refused():
    _, s, scores = sample()
    found = hidden_positives(s, scores, 1.0, given(0.14))
    with pytest.raises(InputError, match=r"top\(9,999\): there are only 1,7\d\d unlabelled rows"):
        found.top(9_999)
    with pytest.raises(ParameterError, match="'n' parameter of top"):
        found.top(0)
    with pytest.raises(ParameterError, match="'n' parameter of found"):
        found.found(2.5)
    assert found.found(9_999) == (1, 1, 1)
    for only in (s == 0, s == 1):
        with pytest.raises(InputError, match="labelled and unlabelled rows"):
            hidden_positives(s[only], scores[only], 1.0, given(0.14))


@pytest.mark.parametrize("value", ["typical", 1, 1.0, 3, np.float64(2.5), np.int64(4)])
def test_a_label_bias_is_typical_or_a_number_of_at_least_one(value):
    assert check_label_bias(value, "TablePU") == value


@pytest.mark.parametrize(
    "value",
    ["random", 0.5, 0, -1, float("nan"), float("inf"), True, None, [1], (1, 3), 10**400],
    ids=lambda value: str(value)[:9],
)
def test_any_other_label_bias_is_refused(value):
    with pytest.raises(ParameterError, match=r"'label_bias' parameter of TablePU .* at least 1"):
        check_label_bias(value, "TablePU")


def test_the_probability_of_an_unlabelled_row_is_bayess():
    """Label 60 % of the positives at random and count positives among the rows left."""
    rng = np.random.default_rng(0)
    f = rng.choice([0.1, 0.5, 0.9], 300_000)
    y = rng.random(len(f)) < f
    unlabelled = ~(y & (rng.random(len(f)) < 0.6))
    for value in (0.1, 0.5, 0.9):
        rows = unlabelled & (f == value)
        expected = unlabelled_probability(np.array([value]), 0.6)[0]
        assert y[rows].mean() == pytest.approx(expected, abs=0.006)


def test_the_probability_of_an_unlabelled_row_at_the_ends():
    f = np.array([0.0, 0.3, 1.0])
    np.testing.assert_array_equal(unlabelled_probability(f, 0.0), f)
    np.testing.assert_allclose(unlabelled_probability(f, 0.5)[[0, 2]], [0, 1])
    assert unlabelled_probability(f, 0.999)[1] < 0.001


def test_the_same_numbers_come_twice_and_in_another_process():
    code = (
        "import json, numpy as np; from nnpu.hidden import *; "
        "rng = np.random.default_rng(3); y = rng.random(900) < 0.3; "
        "s = (y & (rng.random(900) < 0.5)).astype(np.int8); "
        "found = hidden_positives(s, rng.normal(y), 1.0, KnownShare(0.2, 0.1, 0.3, 0.4)); "
        "print(json.dumps([found.share, found.recall, found.auc, found.top(50), found.found(9)]))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    rng = np.random.default_rng(3)
    y = rng.random(900) < 0.3
    s = (y & (rng.random(900) < 0.5)).astype(np.int8)
    found = hidden_positives(s, rng.normal(y), 1.0, KnownShare(0.2, 0.1, 0.3, 0.4))
    here = [found.share, found.recall, found.auc, found.top(50), found.found(9)]
    assert json.loads(runs[0].stdout) == [list(each) for each in here]
    assert found.top(50) == found.top(50)


# --- answers ---------------------------------------------------------------------------------


def answered(n=300, seed=0, weight=None, size=3000):
    """A sample, and answers to some of its unlabelled rows, drawn with equal chances."""
    y, s, scores = sample(seed, n=size)
    rows = np.random.default_rng(seed).choice(np.flatnonzero(s == 0), n, replace=False)
    weight = np.ones(n) if weight is None else weight
    share = Estimate(0.14, 0.11, 0.17)
    return y, s, scores, Answers(rows, y[rows].astype(float), weight, share)


def exact(y):
    """Clopper and Pearson's interval."""
    found = binomtest(int(np.sum(y)), len(y)).proportion_ci(0.9, method="exact")
    return np.mean(y), found.low, found.high


def test_audited_figures_are_the_shares_among_answers_of_equal_weight():
    _, s, scores, answers = answered()
    found = audited_hidden(s, scores, 1.0, answers)
    u = np.sort(scores[s == 0])[::-1]
    assert found.share == answers.share
    for n in (200, 800):
        inside = scores[answers.rows] >= u[n - 1]
        np.testing.assert_allclose(found.top(n), exact(answers.y[inside]))
        np.testing.assert_allclose(found.found(n), exact(inside[answers.y == 1]))
    above = scores[answers.rows] > 1.0
    np.testing.assert_allclose(found.recall, exact(above[answers.y == 1]))
    np.testing.assert_allclose(found.precision, exact(answers.y[above]))


@pytest.mark.parametrize("n", [8, 50, 200, 800])
def test_what_the_first_rows_find_agrees_with_how_many_they_hold(n):
    """No more than n positives of the fewest there may be; what the values give is inside."""
    _, s, scores, answers = answered()
    found = audited_hidden(s, scores, 1.0, answers)
    top, share, one = found.top(n), found.share, found.found(n)
    least, value, most = (
        part * n / (whole * found.rows)
        for part, whole in zip(
            (top.low, top.value, top.high), (share.high, share.value, share.low), strict=True
        )
    )
    assert least - 1e-9 <= one.low <= value + 1e-9
    assert value - 1e-9 <= one.high <= min(most, 1) + 1e-9
    assert one.low <= one.value <= one.high


def test_weights_count_answers_as_often_as_they_say():
    """A row of weight 2 counts as two rows; so does the effective size."""
    weight = np.where(np.arange(300) % 2, 1.0, 2.0)
    _, s, scores, answers = answered(weight=weight)
    found = audited_hidden(s, scores, 1.0, answers).top(800)
    inside = scores[answers.rows] >= np.sort(scores[s == 0])[::-1][799]
    w, y = weight[inside], answers.y[inside]
    assert found.value == pytest.approx(np.average(y, weights=w))
    n = w.sum() ** 2 / (w**2).sum()
    assert found.high - found.low > exact(y)[2] - exact(y)[1]
    assert found.high - found.low == pytest.approx(
        2 * norm.ppf(0.95) * np.sqrt(found.value * (1 - found.value) / n), rel=0.15
    )


def test_the_audited_auc_is_that_of_the_answered_rows():
    y, s, scores, answers = answered()
    found = audited_hidden(s, scores, 1.0, answers).auc
    assert found.value == pytest.approx(roc_auc_score(answers.y, scores[answers.rows]))
    assert found.low < roc_auc_score(y[s == 0], scores[s == 0]) < found.high


def test_audited_figures_hold_whatever_the_labels_were(monkeypatch):
    """Only the best-ranked positives are labelled; answers are right about the others."""
    monkeypatch.setattr(law_module, "_DRAWS", 200)
    held = np.zeros(2)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = rng.random(1500) < 0.3
        scores = rng.normal(1.5 * y)
        s = (y & (scores > 1.8)).astype(np.int8)
        unlabelled = np.flatnonzero(s == 0)
        rows = rng.choice(unlabelled, 150, replace=False)
        share = Estimate(*exact(y[rows]))
        found = audited_hidden(
            s, scores, 1.0, Answers(rows, y[rows].astype(float), np.ones(150), share)
        )
        first = unlabelled[np.argsort(-scores[unlabelled])[:400]]
        truth = y[first].mean(), np.mean(scores[unlabelled][y[unlabelled]] > 1.0)
        each = found.top(400), found.recall
        held += [e.low <= t <= e.high for e, t in zip(each, truth, strict=True)]
    assert held.min() >= 88


def test_figures_that_fewer_than_five_answers_carry_are_those_of_the_law():
    _, s, scores, answers = answered()
    found = audited_hidden(s, scores, 1.0, answers)
    four = Answers(*(each[:4] for each in answers[:3]), answers.share)
    few = audited_hidden(s, scores, 1.0, four)
    known = KnownShare(*answers.share, bound=1.0, audited=True)
    law = hidden_positives(s, scores, 1.0, known)
    for n in (20, 300):
        assert few.top(n) == law.top(n)
        assert few.found(n) == law.found(n)
    assert found.top(300) != law.top(300)
    no = answers._replace(y=np.zeros(300))
    none = audited_hidden(s, scores, 1.0, no)
    for name in ("auc",):
        assert getattr(none, name) == getattr(law, name)
    assert none.found(300) == law.found(300)


def down_the_list(yes, ranks, gap=0.5):
    """Return what answers to some ranks of the list say, all of them yes or all of them no."""
    _, s, scores = sample(gap=gap)
    order = np.flatnonzero(s == 0)[np.argsort(-scores[s == 0], kind="stable")]
    n = len(ranks)
    answers = Answers(order[ranks], np.full(n, float(yes)), np.ones(n), Estimate(0.2, 0.1, 0.4))
    return audited_hidden(s, scores, 1.0, answers)


@pytest.mark.parametrize("gap", [0.0, 1.5])
def test_a_short_list_has_no_more_negatives_than_a_longer_one_may_have(gap):
    """24 of 24 yes among the first 100: with 95 % at most 100 (1 − .05^(1/24)) = 11.7 are not."""
    found = down_the_list(True, np.arange(22, 94, 3), gap)
    misses = 100 * (1 - 0.05 ** (1 / 24))
    assert found.top(100).low == pytest.approx(1 - misses / 100)
    law = hidden_positives(*sample(gap=gap)[1:], 1.0, KnownShare(0.2, 0.1, 0.4, 1.0, audited=True))
    assert law.top(20).low < 1 - misses / 20 == pytest.approx(0.413, abs=1e-3)
    assert found.top(20).low >= 1 - misses / 20
    assert found.top(20).low <= found.top(20).value <= found.top(20).high


@pytest.mark.parametrize("gap", [0.0, 1.5])
def test_a_short_list_has_no_more_positives_than_a_longer_one_may_have(gap):
    found = down_the_list(False, np.arange(22, 94, 3), gap)
    positives = 100 * (1 - 0.05 ** (1 / 24))
    assert found.top(100).high == pytest.approx(positives / 100)
    assert found.top(20).high <= positives / 20 == pytest.approx(0.587, abs=1e-3)
    assert found.top(20).low <= found.top(20).value <= found.top(20).high


def test_no_list_contradicts_a_longer_one_and_all_ranges_hold(monkeypatch):
    """A fifth of the first 100 rows and a tenth of the next 100 are answered at random."""
    monkeypatch.setattr(law_module, "_DRAWS", 200)
    lengths = (20, 50, 100, 200)
    held = np.zeros(len(lengths))
    for seed in range(100):
        y, s, scores = sample(seed, gap=(0.5, 1.5, 3.0)[seed % 3])
        order = np.flatnonzero(s == 0)[np.argsort(-scores[s == 0], kind="stable")]
        rng = np.random.default_rng(seed)
        ranks = np.r_[rng.choice(100, 20, replace=False), 100 + rng.choice(100, 10, replace=False)]
        weight = np.repeat([5.0, 10.0], [20, 10])
        share = Estimate(*(np.clip(y[s == 0].mean() + end, 0, 1) for end in (0, -0.05, 0.05)))
        answers = Answers(order[ranks], y[order[ranks]].astype(float), weight, share)
        found = audited_hidden(s, scores, 1.0, answers)
        tops = [found.top(n) for n in lengths]
        for i, (n, short) in enumerate(zip(lengths, tops, strict=True)):
            for m, long in zip(lengths[i + 1 :], tops[i + 1 :], strict=True):
                assert n * (1 - short.high) <= m * (1 - long.low) + 1e-9
                assert n * (1 - short.low) <= m * (1 - long.low) + 1e-9
                assert n * short.high <= m * long.high + 1e-9
            held[i] += short.low <= y[order[:n]].mean() <= short.high
    assert held.min() >= 88


def test_the_range_of_the_share_rests_on_no_score():
    known = KnownShare(0.14, 0.1, 0.2, 0.25)
    by_law, at_random = hidden_share(known)
    for seed in range(3):
        found = hidden_positives(*sample(seed)[1:], 1.0, known)
        assert (found.share, found.at_random.share) == (by_law, at_random)
    np.testing.assert_allclose(at_random, (0.14, 0.1, 0.2), rtol=1e-3)


def test_an_audited_share_is_not_moved_by_the_law():
    _, s, scores, answers = answered()
    for bias in ("typical", 3.0):
        found = audited_hidden(s, scores, 1.0, answers, label_bias=bias)
        for curves in (found._middle, *found._ends):
            np.testing.assert_array_equal(curves.share, found.at_random._middle.share)


def test_answers_come_back_from_plain_values():
    *_, answers = answered(n=20)
    back = Answers.from_json(json.loads(json.dumps(answers.to_json())), 3000)
    for one, other in zip(back, answers, strict=True):
        np.testing.assert_array_equal(one, other)
    assert back.rows.dtype == np.intp


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [5, 10**9]},
        {"rows": [-1, 2]},
        {"rows": [1]},
        {"rows": [[1, 2]]},
        {"rows": "ab"},
        {"y": [1, 2]},
        {"y": [1, None]},
        {"weight": [1, 0]},
        {"weight": [1, float("nan")]},
        {"weight": [1, float("inf")]},
        {"share": [0.1, 0.2]},
        {"share": [0.5, 0.2, 0.1]},
        {"share": [float("nan"), 0.2, 0.3]},
        {"share": [1.5, 0.2, 2.0]},
        {"share": None},
    ],
    ids=str,
)
def test_stored_answers_that_cannot_be_are_refused(change):
    plain = {"rows": [3, 4], "y": [1, 0], "weight": [1, 1], "share": [0.1, 0.05, 0.2]}
    Answers.from_json(plain, 10)
    with pytest.raises(InputError, match="stored answers cannot be understood"):
        Answers.from_json(plain | change, 10)
    del plain["y"]
    with pytest.raises(InputError, match="stored answers cannot be understood"):
        Answers.from_json(plain, 10)


def test_a_top_without_a_labelled_row_is_not_ruled_out():
    """None of 60 labelled rows among the first 20 of 2,000, a fifth of which are positive.

    None in 60 leaves a recall of up to 5 % (Clopper and Pearson), which is 20 of 400 positives. So
    the range of the first 20 must not end at 0.
    """
    rng = np.random.default_rng(0)
    unlabelled = rng.normal(size=2000)
    labelled = rng.uniform(-1, np.sort(unlabelled)[-40], 60)
    s = np.repeat([1, 0], [60, 2000]).astype(np.int8)
    found = hidden_positives(s, np.concatenate([labelled, unlabelled]), 1.0, given(0.2))
    assert 0.2 < found.at_random.top(20).high <= 1
    assert found.top(20).high > 0.1
