"""`PULoss` against Algorithm 1 written out in plain Python and differentiated numerically."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from nnpu.losses import LOSSES, Loss
from nnpu.objective import Objective, PULoss, flat_scores
from nnpu.parameters import SAMPLINGS, InputError, ParameterError
from nnpu.risk import RISKS, ImbalancedRisk, NonNegativePNURisk, PNURisk, nnpu_risk, upu_risk

# The oracle: Table 1 and Algorithm 1 on Python floats, from the formulas alone.

ELL = {
    "zero_one": lambda z: (1 - ((z > 0) - (z < 0))) / 2,
    "ramp": lambda z: max(0.0, min(1.0, (1 - z) / 2)),
    "squared": lambda z: (z - 1) ** 2 / 4,
    "logistic": lambda z: math.log1p(math.exp(-z)),
    "hinge": lambda z: max(0.0, 1 - z),
    "double_hinge": lambda z: max(0.0, (1 - z) / 2, -z),
    "sigmoid": lambda z: 1 / (1 + math.exp(z)),
}
ETA = 0.5  # PNU's default mixture
TARGET = 0.5  # imbalanced nnPU's default π′


def mean(values) -> float:
    """The mean, and 0 for a sample without rows."""
    values = list(values)
    return math.fsum(values) / len(values) if values else 0.0


@dataclass
class Oracle:
    """Algorithm 1 for one mini-batch, by the formulas of the paper and of the risks' authors."""

    risk: str
    loss: str
    sampling: str
    prior: float
    s: list[int]

    def parts(self, g: list[float]) -> tuple[float, float]:
        """Return the positive part and the part that estimates π_n R_n⁻."""
        ell, prior = ELL[self.loss], self.prior
        rows = list(zip(g, self.s, strict=True))
        p = [x for x, mark in rows if mark == 1]
        n = [x for x, mark in rows if mark == -1 or (self.risk == "pn" and mark == 0)]
        u = [x for x, mark in rows if mark == 0]
        population = g if self.sampling == "one-sample" else u  # P ∪ U (∪ N), or U alone
        positive = prior * mean(map(ell, p))
        negative = (1 - prior) * mean(ell(-x) for x in n)
        r = mean(ell(-x) for x in population) - prior * mean(ell(-x) for x in p)
        if self.risk == "pn":
            return positive, negative
        if self.risk == "kl":  # a loss of its own, whatever is asked for
            likelihood = mean(ELL["logistic"](x) for x in p)
            return prior * likelihood, mean(ELL["sigmoid"](-x) for x in population)
        if self.risk == "imbalanced":
            return TARGET / prior * positive, (1 - TARGET) / (1 - prior) * r
        if self.risk == "pnu":
            return positive, (1 - ETA) * negative + ETA * r
        if self.risk == "nnpnu":
            t = self.weight_of_negatives(len(p), len(u), len(n))
            return positive, t * negative + (1 - t) * r
        return positive, r

    def weight_of_negatives(self, n_p: int, n_u: int, n_n: int) -> float:
        """Weigh two estimates by the inverse of their variances; one without rows has none."""
        precision_n = n_n / (1 - self.prior) ** 2
        precision_r = 1 / (self.prior**2 / n_p + 1 / n_u) if n_p and n_u else 0.0
        return precision_n / (precision_n + precision_r) if n_n else 0.0

    def reported(self, g: list[float]) -> float:
        """Eq. (6), and for the other risks their definition."""
        positive, negative = self.parts(g)
        if self.risk in ("nnpu", "imbalanced", "nnpnu"):
            return positive + max(0.0, negative)
        return positive + (abs(negative) if self.risk == "abs" else negative)

    def tested(self, g: list[float]) -> float:
        """Return what Algorithm 1 compares with −β: r, also where the risk weighs it."""
        negative = self.parts(g)[1]
        return negative * (1 - self.prior) / (1 - TARGET) if self.risk == "imbalanced" else negative

    def gradient(self, g: list[float], beta: float, gamma: float) -> list[float]:
        """Differentiate the branch that Algorithm 1 takes at g, by five-point differences."""
        corrects = self.risk in ("nnpu", "imbalanced", "nnpnu")
        if corrects and self.tested(g) < -beta:

            def descend(x):
                return -gamma * self.parts(x)[1]

        elif self.risk == "abs":
            descend = self.reported
        else:

            def descend(x):
                return sum(self.parts(x))

        return [five_point_difference(descend, g, i) for i in range(len(g))]


def five_point_difference(f, g: list[float], i: int, h: float = 1e-3) -> float:
    """(f(−2h) − 8 f(−h) + 8 f(h) − f(2h)) / 12h along coordinate i: exact to O(h⁴)."""

    def at(step):
        moved = list(g)
        moved[i] += step
        return f(moved)

    return (at(-2 * h) - 8 * at(-h) + 8 * at(h) - at(2 * h)) / (12 * h)


# Scores well away from the kinks at −1, 0 and 1. In the first batch positives score low and
# unlabelled rows high, so r ≥ 0; in the second it is the other way round, so r < 0.
PRIOR = 0.6
UP = {1: [-0.4, 0.7], 0: [0.3, 1.8, -0.6, 2.5, 0.2, -1.4], -1: [-0.5]}
DOWN = {1: [3.1, 0.9], 0: [-1.7, -2.2, -0.8, -2.4, -1.9, -0.9], -1: [-2.3]}
KNOWS_NEGATIVES = {"pn", "pnu", "nnpnu"}


def batch(pool: dict[int, list[float]], labels: tuple[int, ...]) -> tuple[list[float], list[int]]:
    """Return scores and labels with the samples interleaved, not one after the other."""
    rows = [(x, label) for label in labels for x in pool[label]]
    rows = rows[::2] + rows[1::2]
    return [x for x, _ in rows], [mark for _, mark in rows]


CASES = ("r >= 0", "-beta < r < 0", "r < -beta, gamma < 1", "no positives", "no unlabelled")


def make_case(case: str, risk: str, loss: str, sampling: str):
    """Return an oracle, its scores, β and γ, and make sure that the case is what it says."""
    labels = (1, 0, -1) if risk in KNOWS_NEGATIVES else (1, 0)
    if case == "no positives":
        labels = tuple(label for label in labels if label != 1)
    if case == "no unlabelled":
        labels = tuple(label for label in labels if label != 0)
    negative = case.startswith(("-beta", "r <"))
    g, s = batch(DOWN if negative else UP, labels)
    oracle = Oracle(risk, loss, sampling, PRIOR, s)
    tested = oracle.tested(g)
    beta, gamma = 0.0, 1.0
    if negative and risk not in ("pn", "kl"):
        assert tested < 0
        beta, gamma = (1.5 * -tested, 0.3) if case.startswith("-beta") else (0.5 * -tested, 0.3)
    if case == "r >= 0":
        assert tested >= 0
    return oracle, g, beta, gamma


def value_and_gradient(loss: PULoss, g, s, dtype=torch.float64):
    scores = torch.tensor(g, dtype=dtype, requires_grad=True)
    value = loss(scores, torch.tensor(s))
    value.backward()
    return value.item(), scores.grad


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_gradient_are_those_of_algorithm_1(loss, risk, sampling, case):
    oracle, g, beta, gamma = make_case(case, risk, loss, sampling)
    module = PULoss(PRIOR, risk=risk, loss=loss, beta=beta, gamma=gamma, sampling=sampling)
    value, gradient = value_and_gradient(module, g, oracle.s)
    assert value == pytest.approx(oracle.reported(g), rel=1e-12, abs=1e-14)
    expected = oracle.gradient(g, beta, gamma)
    assert gradient.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-10)
    if loss == "zero_one" and risk != "kl":
        assert gradient.tolist() == [0.0] * len(g)


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "zero_one"])
def test_the_oracle_tells_the_two_branches_apart(loss):
    """Were the cases so mild that both branches agreed, the test above would prove little."""
    oracle, g, beta, gamma = make_case("r < -beta, gamma < 1", "nnpu", loss, "two-sample")
    other = oracle.gradient(g, math.inf, gamma)
    ours = oracle.gradient(g, beta, gamma)
    assert max(abs(a - b) for a, b in zip(ours, other, strict=True)) > 1e-3


@given(
    st.sampled_from(["ramp", "squared", "logistic", "hinge", "double_hinge", "sigmoid"]),
    st.sampled_from(list(RISKS)),
    st.sampled_from(SAMPLINGS),
    st.lists(
        st.tuples(st.floats(min_value=-4, max_value=4), st.sampled_from([1, 0, -1])),
        min_size=1,
        max_size=9,
    ),
    st.floats(min_value=0.05, max_value=0.95),
    st.floats(min_value=0, max_value=2),
    st.floats(min_value=0, max_value=1),
)
def test_any_batch_has_the_value_and_gradient_of_algorithm_1(
    loss, risk, sampling, rows, prior, beta, gamma
):
    if risk not in KNOWS_NEGATIVES:
        rows = [(x, max(0, mark)) for x, mark in rows]
    g, s = [x for x, _ in rows], [mark for _, mark in rows]
    assume(all(abs(abs(x) - 1) > 3e-3 for x in g))
    oracle = Oracle(risk, loss, sampling, prior, s)
    assume(abs(oracle.tested(g) + beta) > 1e-6)
    assume(risk != "abs" or abs(oracle.tested(g)) > 1e-2)
    module = PULoss(prior, risk=risk, loss=loss, beta=beta, gamma=gamma, sampling=sampling)
    value, gradient = value_and_gradient(module, g, s)
    assert value == pytest.approx(oracle.reported(g), rel=1e-12, abs=1e-13)
    assert gradient.tolist() == pytest.approx(oracle.gradient(g, beta, gamma), rel=1e-6, abs=1e-9)


# Traps of other ports. Zero-one-like numbers by hand: double hinge, P = {2}, U = {−2}, π = ½.
# ℓ(2) = 0, ℓ(−2) = 2, ℓ′(2) = 0, ℓ′(−2) = −1, so R_p⁺ = 0, R_p⁻ = 2, R_u⁻ = 0, r = −1.


def test_the_correction_ascends_on_r_and_leaves_the_positive_risk_out():
    """−r = ½ ℓ(−g_p) − ℓ(−g_u) at g_p = 2, g_u = −½, logistic: slopes by hand.

    With σ(x) = 1/(1 + e⁻ˣ): d/dg ℓ(−g) = σ(g). So d(−r)/dg_p = ½ σ(2), d(−r)/dg_u = −σ(−½).
    Differentiating max{0, r} gives 0 on U; adding π R_p⁺ subtracts ½ σ(−2) on P.
    """
    r = math.log1p(math.exp(-0.5)) - 0.5 * math.log1p(math.exp(2))
    assert r < 0
    value, gradient = value_and_gradient(PULoss(0.5, loss="logistic"), [2.0, -0.5], [1, 0])
    by_hand = [0.5 / (1 + math.exp(-2)), -1 / (1 + math.exp(0.5))]
    assert gradient.tolist() == pytest.approx(by_hand, rel=1e-12)
    assert value == pytest.approx(0.5 * math.log1p(math.exp(-2)), rel=1e-12)


def test_the_branch_is_chosen_by_r_and_not_by_the_total():
    """Squared loss, P = {4}, U = {−1}, π = ½: R_p⁺ = 9/4, R_p⁻ = 25/4, R_u⁻ = ℓ(1) = 0.

    r = −25/8 < 0. Take P = {4, −9} instead: R_p⁺ = (9/4 + 25)/2, R_p⁻ = (25/4 + 16)/2 = 89/8,
    r = −89/16 < 0 while the total 109/16 − 89/16 = 5/4 > 0. The branch is −r all the same:
    d(−r)/dg_p = ½·½·(g + 1)/2 = (g + 1)/8, that is 5/8 and −1; on U −(g + 1)/2 = 0.
    """
    value, gradient = value_and_gradient(PULoss(0.5, loss="squared"), [4.0, -9.0, -1.0], [1, 1, 0])
    assert gradient.tolist() == pytest.approx([5 / 8, -1.0, 0.0])
    assert value == pytest.approx(109 / 16)


def test_the_tolerance_lies_below_zero_and_not_above():
    """Double hinge, P = {2}, U = {2}, π = ½: r = 2 − 1 = 1. Without the minus, β = 3 would correct.

    R̂_pu = ½·0 − ½·g_p + g_u on these pieces: gradient (−½, 1).
    """
    _, gradient = value_and_gradient(PULoss(0.5, loss="double_hinge", beta=3), [2, 2], [1, 0])
    assert gradient.tolist() == [-0.5, 1.0]


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.3, 0.45, 5.0])
def test_the_reported_value_does_not_depend_on_beta(beta):
    """P = {ln 3}, U = {−ln 3}, π = 0.8, sigmoid: π R_p⁺ = .2 and r = −.35; never .2 − β."""
    g = [math.log(3), -math.log(3)]
    value, _ = value_and_gradient(PULoss(0.8, beta=beta), g, [1, 0])
    assert value == pytest.approx(0.2, rel=1e-12)


def test_between_minus_beta_and_zero_value_and_gradient_differ_on_purpose():
    """The same batch with β = .4 > .35: the value is Eq. (6), the gradient that of Eq. (2).

    ℓ′(±ln 3) = −3/16, so ∂R̂_pu/∂g_p = .8·2·(−3/16) = −.3 and ∂R̂_pu/∂g_u = 3/16.
    """
    g = [math.log(3), -math.log(3)]
    value, gradient = value_and_gradient(PULoss(0.8, beta=0.4), g, [1, 0])
    assert value == pytest.approx(0.2, rel=1e-12)
    assert gradient.tolist() == pytest.approx([-0.3, 3 / 16], rel=1e-12)
    _, corrected = value_and_gradient(PULoss(0.8, beta=0.3), g, [1, 0])
    assert corrected.tolist() == pytest.approx([0.15, -3 / 16], rel=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 0, 0], [], [1], [0]])
def test_no_batch_gives_nan(risk, sampling, labels):
    scores = torch.linspace(-1, 2, len(labels), requires_grad=True)
    value = PULoss(0.3, risk=risk, sampling=sampling)(scores, torch.tensor(labels))
    value.backward()
    assert math.isfinite(value.item())
    assert scores.grad.isfinite().all()


def test_a_batch_without_positives_descends_on_the_unlabelled_rows():
    """R_p⁺ = R_p⁻ = 0: the risk is R_u⁻. Sigmoid at g = 0: ½ each, slope ¼ each, over two rows."""
    value, gradient = value_and_gradient(PULoss(0.3), [0.0, 0.0], [0, 0])
    assert value == 0.5
    assert gradient.tolist() == [0.125, 0.125]


def test_a_batch_without_unlabelled_rows_is_corrected():
    """r = −π R_p⁻ < 0: the value is π R_p⁺ = .15, the gradient that of π R_p⁻: .3·¼/2 a row."""
    value, gradient = value_and_gradient(PULoss(0.3), [0.0, 0.0], [1, 1])
    assert value == pytest.approx(0.15)
    assert gradient.tolist() == pytest.approx([0.0375, 0.0375])


# β and γ.


@pytest.mark.parametrize("risk", ["nnpu", "imbalanced"])
@pytest.mark.parametrize("loss", ["ramp", "sigmoid"])
@pytest.mark.parametrize("factor", [1.0, 1.5, math.inf])
def test_from_prior_times_supremum_on_the_gradient_never_takes_the_other_branch(risk, loss, factor):
    """Scores of ±200 make r = −π, the very edge; where r is weighed, rounding can cross it."""
    g, s = torch.tensor([200.0, 200, 200, -200, -200]), torch.tensor([1, 1, 1, 0, 0])
    for prior in (i / 97 for i in range(1, 97)):
        module = PULoss(prior, risk=risk, loss=loss, beta=prior * factor)
        assert not module.objective.terms(g, s).corrected


def test_beta_is_a_tolerance_on_r_also_where_the_risk_weighs_r():
    """Imbalanced nnPU, π = .9, so r has weight .5/.1 = 5; P = {ln 3}, U = {−ln 3}, sigmoid.

    r = 1/4 − .9·3/4 = −.425: tolerated with β = .43, corrected with β = .42.
    """
    g, s = torch.tensor([math.log(3), -math.log(3)]), torch.tensor([1, 0])
    for beta, corrected in ((0.43, False), (0.42, True)):
        terms = PULoss(0.9, risk="imbalanced", beta=beta).objective.terms(g, s)
        assert terms.corrected.item() is corrected


@given(
    st.sampled_from(["ramp", "sigmoid", "zero_one"]),
    st.lists(st.tuples(st.floats(-60, 60), st.sampled_from([1, 0])), min_size=1, max_size=9),
    st.floats(min_value=0.01, max_value=0.99),
    st.floats(min_value=1, max_value=3),
    st.sampled_from(SAMPLINGS),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_from_prior_times_supremum_on_the_gradient_is_upu_bit_for_bit(
    loss, rows, prior, factor, sampling, dtype
):
    g, s = [x for x, _ in rows], [mark for _, mark in rows]
    tolerant = PULoss(prior, loss=loss, beta=prior * factor, gamma=0.0, sampling=sampling)
    unbiased = PULoss(prior, loss=loss, risk="upu", sampling=sampling)
    _, ours = value_and_gradient(tolerant, g, s, dtype)
    _, theirs = value_and_gradient(unbiased, g, s, dtype)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "double_hinge"])
def test_an_unbounded_loss_is_upu_only_with_infinite_tolerance(loss):
    g, s = [30.0, -1.5], [1, 0]
    _, upu = value_and_gradient(PULoss(0.5, loss=loss, risk="upu"), g, s)
    _, infinite = value_and_gradient(PULoss(0.5, loss=loss, beta=math.inf), g, s)
    _, finite = value_and_gradient(PULoss(0.5, loss=loss, beta=5.0), g, s)
    assert torch.equal(infinite, upu)
    assert not torch.equal(finite, upu)


def test_a_loss_of_one_s_own_can_say_what_its_supremum_is():
    doubled = Loss("doubled", lambda z: 2 * torch.sigmoid(-z), supremum=2.0)
    g, s = torch.tensor([40.0, -40.0]), torch.tensor([1, 0])
    assert not PULoss(0.3, loss=doubled, beta=0.6).objective.terms(g, s).corrected
    assert PULoss(0.3, loss=doubled, beta=0.59).objective.terms(g, s).corrected


@pytest.mark.parametrize("gamma", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("risk", ["nnpu", "imbalanced", "nnpnu"])
def test_gamma_scales_the_correction_and_nothing_else(risk, gamma):
    low, s = batch(DOWN, (1, 0))
    high, _ = batch(UP, (1, 0))
    value, gradient = value_and_gradient(PULoss(PRIOR, risk=risk, gamma=gamma), low, s)
    full_value, full = value_and_gradient(PULoss(PRIOR, risk=risk), low, s)
    assert value == full_value
    torch.testing.assert_close(gradient, gamma * full, rtol=1e-12, atol=0)
    _, scaled = value_and_gradient(PULoss(PRIOR, risk=risk, gamma=gamma), high, s)
    _, unscaled = value_and_gradient(PULoss(PRIOR, risk=risk), high, s)
    assert torch.equal(scaled, unscaled)


@pytest.mark.parametrize("risk", ["upu", "pn", "abs", "pnu"])
def test_beta_and_gamma_do_not_touch_risks_without_a_correction(risk):
    g, s = batch(DOWN, (1, 0))
    plain = value_and_gradient(PULoss(PRIOR, risk=risk), g, s)
    turned = value_and_gradient(PULoss(PRIOR, risk=risk, beta=0.1, gamma=0.3), g, s)
    assert turned[0] == plain[0]
    assert torch.equal(turned[1], plain[1])


def test_the_parameters_of_a_risk_object_are_used():
    """Zero-one, π = ½, P = {−1}, U = {1}, N = {1}: R_p⁺ = 1, R_p⁻ = 0, R_u⁻ = R_n⁻ = 1, r = 1.

    Imbalanced with π′ = .8: .8 + .2/.5 = 1.2. PNU with η = −1: R_u⁺ = R_n⁺ = 0, so 0 + ½.
    nnPNU with t = 1: ½ + ½.
    """
    g, s = torch.tensor([-1.0, 1.0, 1.0]), torch.tensor([1, 0, -1])
    risks = {PNURisk(-1.0): 0.5, NonNegativePNURisk(1.0): 1.0}
    for risk, by_hand in risks.items():
        assert PULoss(0.5, risk=risk, loss="zero_one")(g, s).item() == pytest.approx(by_hand)
    module = PULoss(0.5, risk=ImbalancedRisk(0.8), loss="zero_one")
    assert module(g[:2], s[:2]).item() == pytest.approx(1.2)


# Samplings.

pu_rows = st.lists(
    st.tuples(st.floats(min_value=-9, max_value=9), st.sampled_from([1, 0])),
    min_size=2,
    max_size=12,
).filter(lambda rows: len({mark for _, mark in rows}) == 2)


@given(pu_rows, st.floats(min_value=0.05, max_value=0.95), st.sampled_from(list(LOSSES)))
def test_one_sample_is_two_sample_with_all_rows_in_the_unlabelled_term(rows, prior, loss):
    g = torch.tensor([x for x, _ in rows], dtype=torch.float64)
    s = torch.tensor([mark for _, mark in rows])
    for risk in ("nnpu", "upu"):
        one = PULoss(prior, risk=risk, loss=loss, sampling="one-sample")(g, s).item()
        estimator = nnpu_risk if risk == "nnpu" else upu_risk
        expected = estimator(g[s == 1], g, prior, loss).item()
        assert one == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(pu_rows, st.floats(min_value=0.05, max_value=0.95), st.sampled_from(list(ELL)))
def test_one_sample_is_the_form_with_the_labelling_rate(rows, prior, loss):
    """c = n_p/(π n): π mean_P[ℓ(g) − (1 − c) ℓ(−g)] + (1 − cπ) mean_U ℓ(−g)."""
    ell = ELL[loss]
    p = [x for x, mark in rows if mark == 1]
    u = [x for x, mark in rows if mark == 0]
    c = len(p) / (prior * len(rows))
    expected = prior * mean(ell(x) - (1 - c) * ell(-x) for x in p)
    expected += (1 - c * prior) * mean(ell(-x) for x in u)
    module = PULoss(prior, risk="upu", loss=loss, sampling="one-sample")
    value, _ = value_and_gradient(module, [x for x, _ in rows], [mark for _, mark in rows])
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_two_sample_and_one_sample_differ_on_the_same_batch():
    """Zero-one, P = {1}, U = {−1, −1, −1, 1}, π = .4: R_u⁻ is 1/4 over U and 2/5 over P ∪ U."""
    g, s = torch.tensor([1.0, -1, -1, -1, 1]), torch.tensor([1, 0, 0, 0, 0])
    values = {
        sampling: PULoss(0.4, risk="upu", loss="zero_one", sampling=sampling)(g, s).item()
        for sampling in SAMPLINGS
    }
    assert values == pytest.approx({"two-sample": 0.25 - 0.4, "one-sample": 0.4 - 0.4})


def test_the_pn_risk_does_not_depend_on_the_sampling():
    g, s = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1, 0, 0])
    one, two = (PULoss(0.4, risk="pn", sampling=name)(g, s) for name in SAMPLINGS)
    assert one.item() == two.item()


@given(st.permutations(range(9)), st.sampled_from(list(RISKS)), st.sampled_from(SAMPLINGS))
def test_the_order_of_the_rows_changes_nothing(order, risk, sampling):
    order = list(order)
    pool, s = batch(UP, (1, 0, -1) if risk in KNOWS_NEGATIVES else (1, 0))
    order = [i for i in order if i < len(s)]
    module = PULoss(PRIOR, risk=risk, sampling=sampling)
    value, gradient = value_and_gradient(module, pool, s)
    shuffled = value_and_gradient(module, [pool[i] for i in order], [s[i] for i in order])
    assert shuffled[0] == pytest.approx(value, rel=1e-13)
    assert shuffled[1].tolist() == pytest.approx(gradient[order].tolist(), rel=1e-12)


# Shapes, types, precision.


def test_a_column_of_scores_is_as_good_as_a_row():
    g, s = batch(UP, (1, 0))
    row = torch.tensor(g, requires_grad=True)
    column = torch.tensor(g)[:, None].requires_grad_()
    module, labels = PULoss(PRIOR), torch.tensor(s)
    values = module(row, labels), module(column, labels)
    for value in values:
        assert value.shape == ()
        value.backward()
    assert values[0].item() == values[1].item()
    assert torch.equal(row.grad, column.grad[:, 0])


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.int8, torch.int32, torch.float16, torch.float32, torch.float64],
    ids=str,
)
def test_labels_of_every_type_mean_the_same(risk, dtype):
    g, s = batch(UP, (1, 0))
    expected = PULoss(PRIOR, risk=risk)(torch.tensor(g), torch.tensor(s)).item()
    assert (
        PULoss(PRIOR, risk=risk)(torch.tensor(g), torch.tensor(s, dtype=dtype)).item() == expected
    )


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("loss", ["hinge", "sigmoid", "squared"])
def test_half_precision_does_not_overflow_with_many_rows(loss, dtype, sampling):
    """70,000 rows: more than float16 can count, let alone add up."""
    generator = torch.Generator().manual_seed(0)
    g = (3 * torch.randn(70_000, generator=generator)).to(dtype)
    s = (torch.rand(70_000, generator=generator) < 0.2).long()
    value = PULoss(0.4, loss=loss, sampling=sampling)(g.requires_grad_(), s)
    value.backward()
    precise = PULoss(0.4, loss=loss, sampling=sampling)(g.detach().double(), s)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(precise.item(), rel=1e-5)
    assert g.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_scores_do_not_round_the_loss_itself(dtype):
    """At margin −9 a half-precision sigmoid loss is 1 and its slope 0; the true slope is 1.2e-4."""
    _, gradient = value_and_gradient(PULoss(0.5, risk="pn"), [-9.0], [1], dtype)
    slope = -0.5 * math.exp(-9) / (1 + math.exp(-9)) ** 2
    assert gradient.item() == pytest.approx(slope, rel=2 * torch.finfo(dtype).eps)


def test_half_precision_scores_do_not_overflow_a_loss_that_is_representable():
    """Squared loss at margin −1,000: 250,500.25, beyond float16 but not beyond the result."""
    value, gradient = value_and_gradient(
        PULoss(0.5, loss="squared", risk="pn"), [-1000.0], [1], torch.float16
    )
    assert value == pytest.approx(0.5 * 1001**2 / 4, rel=1e-6)
    assert gradient.item() == pytest.approx(-0.5 * 1001 / 2, rel=1e-3)


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "squared"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_greatest_scores_give_finite_values_and_gradients(loss, sampling):
    greatest = torch.finfo(torch.float32).max
    for sign in (1, -1):
        g, s = [sign * greatest, -sign * greatest, 0.0], [1, 0, 0]
        value, gradient = value_and_gradient(
            PULoss(0.3, loss=loss, sampling=sampling), g, s, torch.float32
        )
        assert math.isfinite(value)
        assert gradient.isfinite().all()


# In somebody's training loop.


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("risk", RISKS)
def test_autocast_changes_the_model_and_not_the_risk(risk, sampling):
    g, s = batch(UP, (1, 0))
    scores, labels = torch.tensor(g), torch.tensor(s)
    module = PULoss(PRIOR, risk=risk, sampling=sampling)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = module(scores, labels)
    assert inside.dtype == torch.float32
    assert inside.item() == module(scores, labels).item()


def test_a_network_with_batch_norm_trains_under_autocast():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    x, s = torch.randn(40, 3), torch.tensor([1] * 10 + [0] * 30)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = PULoss(0.3)(model(x), s)
    value.backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())
    assert any(weight.grad.abs().max() > 0 for weight in model.parameters())


def test_one_joint_forward_pass_through_batch_norm_gives_algorithm_1_s_gradient():
    """The chain rule by hand: the Jacobian of the scores, transposed, times the oracle."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double()
    x, s = torch.randn(12, 3, dtype=torch.float64), [1, 0, 0] * 4
    scores = model(x)
    g = scores[:, 0].tolist()
    oracle = Oracle("nnpu", "sigmoid", "two-sample", 0.4, s)
    upstream = torch.tensor(oracle.gradient(g, 0.0, 1.0), dtype=torch.float64)[:, None]
    expected = torch.autograd.grad(scores, list(model.parameters()), upstream, retain_graph=True)
    ours = torch.autograd.grad(PULoss(0.4)(scores, torch.tensor(s)), list(model.parameters()))
    for got, wanted in zip(ours, expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-6, atol=1e-10)


def test_a_network_learns_with_it():
    """Two Gaussians at ±2 in the plane, π = .5: the best line errs on 0.2 % of the rows."""
    generator = torch.Generator().manual_seed(0)
    y = torch.rand(2000, generator=generator) < 0.5
    x = torch.randn(2000, 2, generator=generator) + torch.where(y, 2.0, -2.0)[:, None]
    s = (y & (torch.rand(2000, generator=generator) < 0.2)).long()
    model, loss = nn.Linear(2, 1), PULoss(0.5, sampling="one-sample")
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        loss(model(x), s).backward()
        optimiser.step()
    assert ((model(x)[:, 0] > 0) == y).float().mean().item() > 0.98


@pytest.mark.parametrize(
    ("risk", "sampling", "loss"),
    [
        *((risk, sampling, "sigmoid") for risk in RISKS for sampling in SAMPLINGS),
        *(("nnpu", "two-sample", loss) for loss in LOSSES if loss != "sigmoid"),
    ],
)
def test_the_risk_needs_no_number_back_from_the_device(loss, sampling, risk):
    """Tensors on the meta device have no data: any branch on a value would fail on them."""
    scores = torch.empty(6, device="meta", requires_grad=True)
    s = torch.empty(6, device="meta", dtype=torch.int64)
    objective = Objective(0.3, risk=risk, loss=loss, sampling=sampling)
    objective.terms(scores, s).objective.backward()
    assert scores.grad.shape == (6,)


def test_it_can_be_copied_pickled_and_saved():
    g, s = (torch.tensor(values) for values in batch(DOWN, (1, 0)))
    module = PULoss(0.35, risk=ImbalancedRisk(0.4), loss="logistic", beta=0.1, gamma=0.7)
    for twin in (copy.deepcopy(module), copy.copy(module), pickle.loads(pickle.dumps(module))):
        assert twin(g, s).item() == module(g, s).item()
        assert repr(twin) == repr(module)
    assert dict(module.state_dict()) == {}
    module.load_state_dict({})
    assert list(module.parameters()) == []


def test_its_text_names_its_parameters():
    text = repr(PULoss(0.3, risk="abs", loss="ramp", beta=0.1, gamma=0.5, sampling="one-sample"))
    for part in ("prior=0.3", "'abs'", "'ramp'", "beta=0.1", "gamma=0.5", "'one-sample'"):
        assert part in text


# Bad parameters and bad labels.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        *(({"prior": p}, r"'prior' .* range \(0, 1\)") for p in (0, 1, -0.1, 1.1, math.nan)),
        *(({"prior": p}, r"'prior' .* range \(0, 1\)") for p in ("abc", None, True)),
        *(({"beta": b}, r"'beta' .* range \[0, inf\]") for b in (-1, -1e-9, math.nan, "a", None)),
        *(({"gamma": c}, r"'gamma' .* range \[0, 1\]") for c in (-0.1, 1.1, math.nan, "a", None)),
        ({"loss": "sigmod"}, "'loss' .*'double_hinge', .* Did you mean 'sigmoid'"),
        ({"risk": "nnup"}, "'risk' .*'imbalanced', .* Did you mean 'nnpu'"),
        ({"sampling": "both"}, "'sampling' .* {'one-sample', 'two-sample'}"),
        ({"sampling": None}, "'sampling' .* Got None instead"),
    ],
)
def test_a_bad_parameter_is_named_with_what_it_must_be(parameters, message):
    with pytest.raises(ParameterError, match=message) as error:
        PULoss(**{"prior": 0.3, **parameters})
    (value,) = parameters.values()
    assert " of PULoss must be " in str(error.value)
    assert f"Got {value!r} instead." in str(error.value)


@pytest.mark.parametrize("shape", [(), (4, 2), (1, 4), (4, 1, 1), (0, 2)])
def test_scores_of_another_shape_are_refused_with_the_shape_that_came(shape):
    with pytest.raises(InputError) as error:
        PULoss(0.3)(torch.zeros(shape), torch.zeros(4))
    assert "must have shape (n,) or (n, 1)" in str(error.value)
    assert f"Got {tuple(shape)} instead" in str(error.value)


@pytest.mark.parametrize("shape", [(), (3,), (5,), (4, 1), (1, 4)])
def test_labels_of_another_shape_are_refused_and_not_broadcast(shape):
    for scores in (torch.zeros(4), torch.zeros(4, 1)):
        with pytest.raises(InputError) as error:
            PULoss(0.3)(scores, torch.zeros(shape))
        assert "s must have shape (4,)" in str(error.value)
        assert f"Got {tuple(shape)} instead" in str(error.value)


@pytest.mark.parametrize("label", [-1, 2, 0.5, math.nan, math.inf])
@pytest.mark.parametrize("risk", ["nnpu", "upu", "abs", "imbalanced"])
def test_a_label_that_the_risk_does_not_read_is_refused(risk, label):
    with pytest.raises(InputError) as error:
        PULoss(0.3, risk=risk)(torch.zeros(3), torch.tensor([1.0, 0.0, label]))
    assert f"must be among [0, 1] for risk={risk!r}" in str(error.value)
    assert f"[{float(label)}]" in str(error.value)


@pytest.mark.parametrize("risk", ["pn", "pnu", "nnpnu"])
def test_risks_that_know_negatives_take_minus_one_and_refuse_the_rest(risk):
    PULoss(0.3, risk=risk)(torch.zeros(3), torch.tensor([1, 0, -1]))
    for bad in (2, -2):
        with pytest.raises(InputError, match=r"among \[-1, 0, 1\]"):
            PULoss(0.3, risk=risk)(torch.zeros(3), torch.tensor([1, 0, bad]))


def test_flat_scores_keeps_the_graph():
    column = torch.zeros(3, 1, requires_grad=True)
    flat_scores(column).sum().backward()
    assert column.grad.shape == (3, 1)
