"""The judges of Figures 2 and 3: a verdict follows from the curves, and changes with them."""

from __future__ import annotations

import pytest

from nnpu_paper.figures import Curves, judge_figure_2, judge_figure_3

EPOCHS = 20  # the end is the last ten


def rows(method, curve, *samplings):
    """Rows of a curve: per sampling a value for the first half of the epochs, one for the rest."""
    return [
        {
            "setting": "s",
            "method": method,
            "sampling": number,
            "epoch": epoch,
            "curve": curve,
            "value": first if epoch <= EPOCHS // 2 else last,
        }
        for number, (first, last) in enumerate(samplings)
        for epoch in range(1, EPOCHS + 1)
    ]


def figure_2(*, pn, nnpu, upu=((0.2, 0.4), (0.2, 0.4)), upu_training=-0.1, better=True):
    """Whether each of the three claims held, from the errors at the end of each sampling."""
    found = rows("uPU", "test_zero_one", *upu)
    found += rows("uPU", "train_risk", *[(0.3, upu_training)] * 2)
    for method, ends in (("PN", pn), ("nnPU", nnpu)):
        found += rows(method, "test_zero_one", *[(0.4, end) for end in ends])
    claims = judge_figure_2(Curves(found, "s"), "T", better_than_pn=better)
    return [claim.held for claim in claims]


def test_the_paper_s_picture_holds():
    assert figure_2(pn=(0.2, 0.2), nnpu=(0.1, 0.1)) == [True, True, True]


@pytest.mark.parametrize(
    "change",
    [{"upu_training": 0.01}, {"upu": ((0.4, 0.2), (0.4, 0.2))}],
    ids=["the training risk stays positive", "the test error only falls"],
)
def test_upu_overfits_only_below_zero_in_training_and_above_its_best_in_test(change):
    assert figure_2(pn=(0.2, 0.2), nnpu=(0.1, 0.1), **change)[0] is False


def test_nnpu_fixes_nothing_if_it_ends_where_upu_ends():
    assert figure_2(pn=(0.5, 0.5), nnpu=(0.4, 0.4)) == [True, False, True]


@pytest.mark.parametrize(
    ("pn", "nnpu", "comparable"),
    [
        ((0.200, 0.200), (0.191, 0.191), True),  # nine thousandths: within a point
        ((0.200, 0.200), (0.188, 0.188), False),  # twelve, and no spread
        # Differences −.10 and +.04: mean −.03, standard error .07 (half their distance).
        ((0.20, 0.20), (0.10, 0.24), True),
        # Differences −.11 and −.09: mean −.10, standard error .01.
        ((0.20, 0.20), (0.09, 0.11), False),
        ((0.10, 0.10), (0.20, 0.20), False),  # far apart, the other way
    ],
)
def test_better_takes_more_than_a_point_and_two_standard_errors(pn, nnpu, comparable):
    assert figure_2(pn=pn, nnpu=nnpu, better=False)[2] is comparable
    better = not comparable and sum(nnpu) < sum(pn)
    assert figure_2(pn=pn, nnpu=nnpu, better=True)[2] is better


FACTORS = {0.8: "a", 0.9: "b", 1.0: "c", 1.1: "d", 1.2: "e"}


def figure_3(dataset, *best):
    found = [
        row
        for method, error in zip(FACTORS.values(), best, strict=True)
        for row in rows(method, "test_zero_one", (error, error + 0.1))
    ]
    return [c.held for c in judge_figure_3(Curves(found, "s"), FACTORS, dataset, "T")]


@pytest.mark.parametrize(
    ("dataset", "best", "held"),
    [
        ("mnist", (0.5, 0.3, 0.1, 0.2, 0.4), [True, True]),
        ("mnist", (0.5, 0.3, 0.2, 0.1, 0.4), [True, False]),  # 1.1π is the best
        ("mnist", (0.4, 0.2, 0.1, 0.3, 0.5), [False, True]),  # more harm above π
        ("epsilon", (0.5, 0.4, 0.3, 0.1, 0.2), [True, True]),
        ("epsilon", (0.5, 0.4, 0.1, 0.2, 0.3), [True, False]),
        ("20news", (0.5, 0.4, 0.2, 0.1, 0.3), [True, True]),
        ("20news", (0.5, 0.4, 0.1, 0.2, 0.3), [True, False]),
        ("cifar10", (0.5, 0.4, 0.3, 0.2, 0.1), [True, True]),
        ("cifar10", (0.5, 0.4, 0.3, 0.1, 0.2), [True, False]),
    ],
)
def test_figure_3_is_judged_by_the_best_epoch_of_each_curve(dataset, best, held):
    assert figure_3(dataset, *best) == held
