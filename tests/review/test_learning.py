"""What answers are good for: agreement, labels at random, recalibration, costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import cohen_kappa_score

from nnpu.parameters import InputError, ParameterError
from nnpu.review import agreement, audit, draw, known_rows, least_cost, recalibrate, scar_check


def population(seed=0, n=3000, spread=2.0):
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(-0.7, spread, size=n))
    return p, (rng.random(n) < p).astype(float), rng


def test_kappa_is_cohens():
    rng = np.random.default_rng(0)
    first = (rng.random(80) < 0.4) * 1.0
    second = np.where(rng.random(80) < 0.15, 1 - first, first)
    found = agreement(first, second)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(first, second))
    assert found.agreed == (first == second).sum()


def test_the_interval_of_kappa_covers_and_keeps_a_width():
    """κ of two raters who each err with chance .15 on a share of .4, by 300 samples of 100."""
    rng = np.random.default_rng(1)

    def raters(n):
        y = rng.random(n) < 0.4
        return [np.where(rng.random(n) < 0.15, ~y, y) * 1.0 for _ in range(2)]

    exact = cohen_kappa_score(*raters(400_000))
    kappas = [agreement(*raters(100)).kappa for _ in range(300)]
    assert 0.86 < np.mean([k.low <= exact <= k.high for k in kappas]) < 0.96
    alike = agreement([1.0, 0.0] * 10, [1.0, 0.0] * 10).kappa
    assert alike.value == pytest.approx(1)
    assert alike.low < 0.9


def test_where_reviewers_differ_the_merged_answer_is_dont_know():
    nan = np.nan
    found = agreement([1, 1, 0, nan, nan, 0], [1, 0, 0, 1, nan, nan])
    np.testing.assert_array_equal(found.merged, [1, nan, 0, 1, nan, 0])
    assert found.rows == 3
    p, y, _ = population()
    drawn = draw(p, 100, random_state=0)
    other = np.where(np.arange(100) % 9 == 0, 1 - y[drawn.rows], y[drawn.rows])
    merged = audit(p, drawn, agreement(y[drawn.rows], other).merged).prior
    for answers in (y[drawn.rows], other):
        assert merged.low <= audit(p, drawn, answers).prior.value <= merged.high


def test_bad_reviewers_are_refused():
    with pytest.raises(InputError, match="answers of one length"):
        agreement([1, 0], [1])
    with pytest.raises(InputError, match="must be 1"):
        agreement([1, 3], [1, 0])


def test_labels_at_random_pass_and_others_do_not():
    """Twenty draws each: random labels are called broken at most thrice, easy ones always."""
    p, y, rng = population(spread=1.2)
    random = rng.choice(p[y == 1], 200, replace=False)
    easy = rng.choice(p[(y == 1) & (p > 0.6)], 200, replace=False)
    broken = {"random": 0, "easy": 0}
    for seed in range(20):
        drawn = draw(p, 150, random_state=seed)
        for name, labelled in (("random", random), ("easy", easy)):
            found = scar_check(p, drawn, y[drawn.rows], labelled_probability=labelled)
            broken[name] += found.broken
    assert broken["random"] <= 3
    assert broken["easy"] == 20
    assert "easier cases" in found.message


def test_known_rows_are_the_labelled_ones_of_one_sample():
    p, y, rng = population(spread=1.2)
    s = (y == 1) & (p > 0.5) & (rng.random(p.size) < 0.5)
    drawn = draw(p, 200, exclude=s, random_state=0)
    found = scar_check(p, drawn, y[drawn.rows], known=np.where(s, 1.0, np.nan))
    assert found.labelled.value == pytest.approx(p[s].mean())
    exact = p[(y == 1) & ~s].mean()
    assert found.unlabelled.low <= exact <= found.unlabelled.high
    assert found.broken
    with pytest.raises(InputError, match="at least two labelled positives"):
        scar_check(p, drawn, y[drawn.rows])


def test_few_positives_are_too_few_to_judge():
    p = np.full(500, 0.01)
    drawn = draw(p, 50, random_state=0)
    found = scar_check(p, drawn, np.zeros(50), labelled_probability=[0.5, 0.6])
    assert not found.broken
    assert "too few" in found.message


def test_weights_are_inverse_chances_capped_with_mean_one():
    p, y, _ = population()
    drawn = draw(p, 100, random_state=0)
    answers = y[drawn.rows].copy()
    answers[:7] = np.nan
    known = known_rows(p, drawn, answers)
    assert set(known.rows) == set(drawn.rows[7:])
    np.testing.assert_array_equal(known.y, y[known.rows])
    assert known.weight.mean() == pytest.approx(1)
    chance = drawn.chances(p)[known.rows]
    assert (np.diff(known.weight[np.argsort(chance)]) <= 1e-12).all()
    assert known.weight.max() <= 5 + 1e-9


@pytest.mark.parametrize("shift", [-1.5, 1.5])
def test_recalibration_finds_a_shift(shift):
    truth, y, _ = population()
    p = expit(logit(truth) + shift)
    wrong = np.mean((p > 0.5) != y)
    drawn = draw(p, 300, random_state=0)
    moved = recalibrate(p, drawn, y[drawn.rows])
    assert moved.shift == pytest.approx(-shift, abs=0.5)
    assert np.mean((moved(p) > 0.5) != y) < wrong
    np.testing.assert_array_equal(moved(p) > 0.5, p > moved.threshold())


def test_a_right_model_is_hardly_moved_and_no_answers_move_nothing():
    p, y, _ = population()
    drawn = draw(p, 300, random_state=0)
    moved = recalibrate(p, drawn, y[drawn.rows])
    assert abs(moved.shift) < 0.4
    assert abs(moved.slope - 1) < 0.4
    nothing = recalibrate(p, drawn, np.full(300, np.nan))
    assert (nothing.shift, nothing.slope, nothing.rows) == (0, 1, 0)


def test_the_cut_without_answers_is_the_ratio_of_costs():
    p, _, _ = population()
    cut = least_cost(p, cost_fp=1, cost_fn=3)
    assert cut.threshold == 0.25
    costs = [np.where(p > t, 1 - p, 3 * p).mean() for t in (0.2, 0.25, 0.3)]
    assert cut.cost.value == pytest.approx(costs[1])
    assert costs[1] == min(costs)


def test_the_cost_of_a_cut_is_covered_and_the_best_cut_is_within_its_limits():
    """40 draws of a model that is off: the interval of the cost covers its truth in 33 or more."""
    truth, y, _ = population()
    p = expit(logit(truth) + 1)
    grid = np.linspace(0.02, 0.98, 97)
    costs = np.array([np.where(p > t, 1 - y, 4 * y).mean() for t in grid])
    best = grid[costs.argmin()]
    covered = within = 0
    for seed in range(40):
        drawn = draw(p, 150, random_state=seed)
        cut = least_cost(p, drawn, y[drawn.rows], cost_fp=1, cost_fn=4)
        exact = np.where(p > cut.threshold, 1 - y, 4 * y).mean()
        covered += cut.cost.low <= exact <= cut.cost.high
        within += cut.low <= best <= cut.high
        assert cut.low <= cut.threshold <= cut.high
    assert covered >= 33
    assert within >= 33


def test_a_cost_must_be_positive():
    with pytest.raises(ParameterError, match="'cost_fp' parameter of least_cost"):
        least_cost([0.1, 0.2], cost_fp=0)
