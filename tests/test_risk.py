"""The estimators of the paper: hand-derived values, identities, and the traps of other ports."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from nnpu.losses import LOSSES, get_loss
from nnpu.parameters import ParameterError
from nnpu.risk import (
    RISKS,
    AbsoluteRisk,
    ImbalancedRisk,
    NonNegativePNURisk,
    NonNegativeRisk,
    PNURisk,
    get_risk,
    nnpu_risk,
    partial_risks,
    pn_risk,
    upu_risk,
    upu_risk_symmetric,
)

ESTIMATORS = (pn_risk, upu_risk, nnpu_risk)
SYMMETRIC = [name for name, loss in LOSSES.items() if loss.symmetric]
LINEAR_ODD_CONVEX = ["squared", "logistic", "double_hinge"]

losses = st.sampled_from(list(LOSSES))
priors = st.floats(min_value=0.01, max_value=0.99)
scores = st.lists(st.floats(min_value=-20, max_value=20), min_size=1, max_size=8)


def tensor(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def close(number: float, scale: float = 1.0):
    """Equal up to the rounding of sums whose terms are about as large as `scale`."""
    return pytest.approx(number, rel=1e-12, abs=1e-13 * max(1.0, scale))


def part_scale(p, u, loss) -> float:
    everything = torch.cat([p, u, -p, -u])
    return LOSSES[loss](everything).max().item()


def r(p: torch.Tensor, u: torch.Tensor, prior: float, loss: str) -> float:
    """R̂_u⁻ − π R̂_p⁻, written out."""
    ell = LOSSES[loss]
    minus_u = sum(ell(-x).item() for x in u) / len(u)
    minus_p = sum(ell(-x).item() for x in p) / len(p)
    return minus_u - prior * minus_p


# Values by hand.


def test_hand_derived_zero_one_risks():
    """P = {1, 1, −1, 1}, U = {−1, 1}, N = {−1, −1, 1}, π = 0.4, zero-one loss.

    R_p⁺ = 1/4, R_p⁻ = 3/4, R_u⁻ = 1/2, R_n⁻ = 1/3.
    Eq. (1): 0.4·1/4 + 0.6·1/3 = 0.3.
    Eq. (2): 0.1 − 0.4·3/4 + 1/2 = 0.3. Eq. (4): 2·0.1 + 1/2 − 0.4 = 0.3.
    r = 1/2 − 0.3 = 0.2 ≥ 0, so Eq. (6) is 0.1 + 0.2 = 0.3 too.
    """
    p, u, n = tensor([1, 1, -1, 1]), tensor([-1, 1]), tensor([-1, -1, 1])
    assert pn_risk(p, n, 0.4, "zero_one").item() == pytest.approx(0.3, rel=1e-15)
    assert upu_risk(p, u, 0.4, "zero_one").item() == pytest.approx(0.3, rel=1e-15)
    assert upu_risk_symmetric(p, u, 0.4, "zero_one").item() == pytest.approx(0.3, rel=1e-15)
    assert nnpu_risk(p, u, 0.4, "zero_one").item() == pytest.approx(0.3, rel=1e-15)


def test_hand_derived_squared_risks_where_r_is_negative():
    """P = {3}, U = {−1, −3}, π = 1/2, squared loss (z − 1)²/4.

    R_p⁺ = ℓ(3) = 1, R_p⁻ = ℓ(−3) = 4, R_u⁻ = (ℓ(1) + ℓ(3))/2 = (0 + 1)/2 = 1/2.
    r = 1/2 − 2 = −3/2. Eq. (2): 1/2 − 3/2 = −1. Eq. (6): 1/2 + 0 = 1/2.
    """
    p, u = tensor([3]), tensor([-1, -3])
    assert upu_risk(p, u, 0.5, "squared").item() == -1
    assert nnpu_risk(p, u, 0.5, "squared").item() == 0.5


def test_hand_derived_logistic_risks():
    """P = {ln 3}, U = {0, ln 3}, N = {−ln 3}, π = 1/4, logistic loss ln(1 + e⁻ᶻ).

    ℓ(ln 3) = ln(4/3), ℓ(−ln 3) = ln 4, ℓ(0) = ln 2.
    R_p⁺ = ln 4 − ln 3, R_p⁻ = ln 4, R_u⁻ = (ln 2 + ln 4)/2 = 1.5 ln 2, R_n⁻ = ln 4 − ln 3.
    Eq. (1): ln(4/3). Eq. (2): ¼(ln 4 − ln 3) − ¼ ln 4 + 1.5 ln 2 = 1.5 ln 2 − ¼ ln 3.
    r = 1.5 ln 2 − ½ ln 2 = ln 2 ≥ 0.
    """
    p, u, n = tensor([math.log(3)]), tensor([0, math.log(3)]), tensor([-math.log(3)])
    by_hand = 1.5 * math.log(2) - math.log(3) / 4
    assert pn_risk(p, n, 0.25, "logistic").item() == pytest.approx(math.log(4 / 3), rel=1e-14)
    assert upu_risk(p, u, 0.25, "logistic").item() == pytest.approx(by_hand, rel=1e-14)
    assert nnpu_risk(p, u, 0.25, "logistic").item() == pytest.approx(by_hand, rel=1e-14)


def test_hand_derived_sigmoid_risk_is_the_default():
    """P = {ln 3}, U = {−ln 3}, π = 0.8, sigmoid loss: ℓ(ln 3) = 1/4, ℓ(−ln 3) = 3/4.

    R_p⁺ = 1/4, R_p⁻ = 3/4, R_u⁻ = 1/4; r = 1/4 − 0.6 = −0.35.
    Eq. (2): 0.2 − 0.35 = −0.15. Eq. (6): 0.2.
    """
    p, u = tensor([math.log(3)]), tensor([-math.log(3)])
    assert upu_risk(p, u, 0.8).item() == pytest.approx(-0.15, rel=1e-14)
    assert upu_risk_symmetric(p, u, 0.8).item() == pytest.approx(-0.15, rel=1e-14)
    assert nnpu_risk(p, u, 0.8).item() == pytest.approx(0.2, rel=1e-14)


# Identities.


@given(st.sampled_from(SYMMETRIC), scores, scores, priors)
def test_symmetric_losses_make_equation_4_equal_to_equation_2(loss, p, u, prior):
    p, u = tensor(p), tensor(u)
    assert upu_risk_symmetric(p, u, prior, loss).item() == close(upu_risk(p, u, prior, loss).item())


@pytest.mark.parametrize("loss", [name for name in LOSSES if name not in SYMMETRIC])
def test_equation_4_refuses_losses_that_violate_equation_3_and_would_be_wrong(loss):
    """At P = {2}, U = {0}, π = 1/2 the two equations differ by π(1 − ℓ(2) − ℓ(−2)) ≠ 0."""
    p, u = tensor([2]), tensor([0])
    with pytest.raises(ParameterError, match=rf"must satisfy Eq\. \(3\).*{loss}.*use upu_risk"):
        upu_risk_symmetric(p, u, 0.5, loss)
    unchecked = upu_risk_symmetric(p, u, 0.5, LOSSES[loss].function).item()
    assert abs(unchecked - upu_risk(p, u, 0.5, loss).item()) > 0.4


@given(st.sampled_from(LINEAR_ODD_CONVEX), scores, scores, priors)
def test_linear_odd_losses_leave_only_the_scores_of_the_positives(loss, p, u, prior):
    """Eq. (5) in Eq. (2): π mean_P[ℓ(g) − ℓ(−g)] = −π mean_P g."""
    p, u = tensor(p), tensor(u)
    expected = LOSSES[loss](-u).mean().item() - prior * p.mean().item()
    assert upu_risk(p, u, prior, loss).item() == close(expected, part_scale(p, u, loss))


@given(losses, scores, scores, priors)
def test_nnpu_is_never_below_upu(loss, p, u, prior):
    p, u = tensor(p), tensor(u)
    slack = 1e-13 * max(1.0, part_scale(p, u, loss))
    assert nnpu_risk(p, u, prior, loss).item() >= upu_risk(p, u, prior, loss).item() - slack


@given(losses, scores, scores, priors)
def test_nnpu_equals_upu_where_r_is_nonnegative_and_else_exceeds_it_by_minus_r(loss, p, u, prior):
    p, u = tensor(p), tensor(u)
    excess = max(0.0, -r(p, u, prior, loss))
    expected = upu_risk(p, u, prior, loss).item() + excess
    assert nnpu_risk(p, u, prior, loss).item() == close(expected, part_scale(p, u, loss))


@given(losses, scores, scores, priors)
def test_nnpu_is_never_negative(loss, p, u, prior):
    assert nnpu_risk(tensor(p), tensor(u), prior, loss).item() >= 0


@given(losses, st.permutations(range(6)), st.permutations(range(5)), priors)
def test_the_order_of_the_rows_changes_nothing(loss, order_p, order_u, prior):
    p, u = tensor([0.3, -1.7, 2.2, 0.9, -0.4, 5.0]), tensor([-2.0, 0.1, 1.3, -0.6, 3.1])
    for estimator in ESTIMATORS:
        shuffled = estimator(p[list(order_p)], u[list(order_u)], prior, loss).item()
        assert shuffled == pytest.approx(estimator(p, u, prior, loss).item(), rel=1e-14, abs=1e-14)


@given(losses, scores, scores, priors)
def test_repeating_every_row_changes_nothing(loss, p, u, prior):
    p, u = tensor(p), tensor(u)
    for estimator in ESTIMATORS:
        once, twice = estimator(p, u, prior, loss), estimator(p.repeat(2), u.repeat(2), prior, loss)
        assert twice.item() == close(once.item(), part_scale(p, u, loss))


@given(losses, scores, scores, priors)
def test_unlabelled_data_that_is_an_exact_mixture_makes_upu_equal_to_pn(loss, p, n, prior):
    """If R_u⁻ = π R_p⁻ + (1 − π) R_n⁻ then Eq. (2) is Eq. (1): the reason for the estimator.

    With k copies of P beside m copies of N, U has the share k n_p / (k n_p + m n_n).
    """
    p, n = tensor(p), tensor(n)
    u = torch.cat([p.repeat(3), n.repeat(2)])
    share = 3 * len(p) / len(u)
    scale = part_scale(p, n, loss)
    expected = pn_risk(p, n, share, loss).item()
    assert upu_risk(p, u, share, loss).item() == close(expected, scale)
    assert nnpu_risk(p, u, share, loss).item() == close(expected, scale)


# Convexity along lines of a linear model g(x) = w·x.

rows = st.lists(st.tuples(*[st.floats(-3, 3)] * 2), min_size=1, max_size=5)
weights = st.tuples(*[st.floats(-4, 4)] * 2)


@given(
    st.sampled_from(LINEAR_ODD_CONVEX), rows, rows, weights, weights, priors, st.floats(0.05, 0.95)
)
def test_linear_odd_convex_losses_make_upu_and_nnpu_convex_in_a_linear_model(
    loss, x_p, x_u, a, b, prior, t
):
    x_p, x_u, a, b = tensor(x_p), tensor(x_u), tensor(a), tensor(b)
    for estimator in (upu_risk, nnpu_risk):

        def at(w, estimator=estimator):
            return estimator(x_p @ w, x_u @ w, prior, loss).item()

        chord = (1 - t) * at(a) + t * at(b)
        assert at((1 - t) * a + t * b) <= chord + 1e-11 * (1 + abs(at(a)) + abs(at(b)))


def test_abs_pu_is_not_convex_in_a_linear_model():
    """One feature, P = {2}, U = {1, −1}, double hinge, π = 1/2, g = w x.

    For 1/2 ≤ w ≤ 1: ℓ(2w) = 0, ℓ(−2w) = 2w, R_u⁻ = ((1 + w)/2 + (1 − w)/2)/2 = 1/2, so
    r = 1/2 − w and the risk is |r| = w − 1/2.
    For w ≥ 1: R_u⁻ = (w + 0)/2, so r = w/2 − w and the risk is w/2.
    The slope falls from 1 to 1/2 at w = 1: at w = .8, 1, 1.2 the risk is .3, .5, .6, and the
    middle of the chord is .45 < .5.
    """

    def at(w):
        s = torch.tensor([1, 0, 0])
        partial = partial_risks(tensor([2 * w, w, -w]), s, get_loss("double_hinge"))
        return AbsoluteRisk().terms(partial, 0.5).risk.item()

    assert [at(w) for w in (0.8, 1.0, 1.2)] == pytest.approx([0.3, 0.5, 0.6])
    assert at(1.0) > (at(0.8) + at(1.2)) / 2 + 0.04


def test_symmetric_losses_do_not_make_upu_convex():
    """P = {1}, U = {0}, ramp, π = 1/2: Eq. (4) is ℓ(w) + 1/2 − 1/2 = ℓ(w), flat, falling, flat."""

    def at(w):
        return upu_risk(tensor([w]), tensor([0.0]), 0.5, "ramp").item()

    assert [at(w) for w in (-2.0, -1.0, 0.0)] == pytest.approx([1, 1, 0.5])
    assert at(-1.0) > (at(-2.0) + at(0.0)) / 2


# Gradients of the pure functions.


@given(losses, scores, scores, priors)
def test_the_risks_differentiate_to_the_weighted_slopes_of_the_loss(loss, p, u, prior):
    """∂/∂g of Eq. (2): π(ℓ′(g) + ℓ′(−g))/n_p on P, −ℓ′(−g)/n_u on U."""
    p, u = tensor(p).requires_grad_(), tensor(u).requires_grad_()

    def slopes(x):
        x = x.detach().clone().requires_grad_()
        LOSSES[loss](x).sum().backward()
        return x.grad

    upu_risk(p, u, prior, loss).backward()
    on_p = prior * (slopes(p) + slopes(-p)) / len(p)
    torch.testing.assert_close(p.grad, on_p, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(u.grad, -slopes(-u) / len(u), rtol=1e-12, atol=1e-14)


def test_below_zero_the_maximum_itself_has_no_gradient_on_the_unlabelled_data():
    """What `PULoss` must not do, and why `nnpu_risk` says to train with `PULoss`."""
    p, u = tensor([3.0]).requires_grad_(), tensor([-3.0]).requires_grad_()
    nnpu_risk(p, u, 0.5).backward()
    assert u.grad.item() == 0
    assert p.grad.item() == pytest.approx(-0.5 * math.exp(3) / (1 + math.exp(3)) ** 2)


# Samples without rows.


@pytest.mark.parametrize("loss", LOSSES)
def test_an_empty_sample_counts_as_zero_and_is_never_nan(loss):
    empty, some = tensor([]), tensor([0.7, -1.2])
    ell = LOSSES[loss]
    plus, minus = ell(some).mean().item(), ell(-some).mean().item()
    assert pn_risk(empty, some, 0.25, loss).item() == pytest.approx(0.75 * minus)
    assert pn_risk(some, empty, 0.25, loss).item() == pytest.approx(0.25 * plus)
    assert upu_risk(empty, some, 0.25, loss).item() == pytest.approx(minus)
    assert nnpu_risk(empty, some, 0.25, loss).item() == pytest.approx(minus)
    assert upu_risk(some, empty, 0.25, loss).item() == pytest.approx(0.25 * (plus - minus))
    assert nnpu_risk(some, empty, 0.25, loss).item() == pytest.approx(0.25 * plus)
    if ell.symmetric:
        assert upu_risk_symmetric(empty, some, 0.25, loss).item() == pytest.approx(minus)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, upu_risk_symmetric])
def test_the_shape_of_the_scores_does_not_matter(estimator):
    p, u = tensor([0.5, -1, 2]), tensor([1.5, -0.5])
    column = estimator(p[:, None], u[:, None], 0.3)
    assert column.shape == ()
    assert column.item() == estimator(p, u, 0.3).item()


@pytest.mark.parametrize("estimator", [*ESTIMATORS, upu_risk_symmetric])
@pytest.mark.parametrize("prior", [0, 1, -0.1, 1.1, math.nan, "abc", None, True])
def test_a_bad_prior_is_refused_in_the_function_s_own_name(estimator, prior):
    message = (
        rf"The 'prior' parameter of {estimator.__name__} must be a float in the range \(0, 1\)"
    )
    with pytest.raises(ParameterError, match=message):
        estimator(tensor([1]), tensor([1]), prior)


# Partial risks and the other risks.


@given(
    losses,
    st.lists(
        st.tuples(st.floats(min_value=-20, max_value=20), st.sampled_from([1, 0, -1])),
        min_size=1,
        max_size=12,
    ),
)
def test_partial_risks_are_the_means_over_each_sample(loss, batch):
    ell = LOSSES[loss]
    g, s = tensor([row[0] for row in batch]), torch.tensor([row[1] for row in batch])
    partial = partial_risks(g, s, ell)
    for label, letter in ((1, "p"), (0, "u"), (-1, "n")):
        own = [x for x, mark in batch if mark == label]
        assert getattr(partial, f"n_{letter}").item() == len(own)
        for sign, word in ((1, "plus"), (-1, "minus")):
            mean = sum(ell(sign * tensor(x)).item() for x in own) / max(1, len(own))
            assert getattr(partial, f"risk_{letter}_{word}").item() == pytest.approx(mean, 1e-12)


@given(losses, scores, scores)
def test_one_sample_partial_risks_take_the_unlabelled_mean_over_all_rows(loss, p, u):
    ell = LOSSES[loss]
    g = tensor([*p, *u])
    s = torch.tensor([1] * len(p) + [0] * len(u))
    partial = partial_risks(g, s, ell, sampling="one-sample")
    assert partial.risk_u_minus.item() == pytest.approx(ell(-g).mean().item(), rel=1e-12)
    assert partial.risk_u_plus.item() == pytest.approx(ell(g).mean().item(), rel=1e-12)


def test_shares_replace_those_of_a_stratified_batch():
    """Zero-one, P = {1} as N: 1; U = {−1} as N: 0. With shares .1 and .9 the mean is 0.1."""
    g, s = tensor([1, -1]), torch.tensor([1, 0])
    partial = partial_risks(g, s, LOSSES["zero_one"], sampling="one-sample", shares=(0.1, 0.9, 0.0))
    assert partial.risk_u_minus.item() == pytest.approx(0.1)


def evaluate(risk, g, s, prior, loss="zero_one", beta=0.0):
    risk = get_risk(risk)
    partial = partial_risks(tensor(g), risk.labels(torch.tensor(s)), LOSSES[loss])
    return risk.terms(partial, prior, beta)


def test_hand_derived_values_of_the_other_risks():
    """Zero-one, π = 0.8, P = {1, 1, 1, −1}, U = {−1, −1, −1, 1}, N = {−1, 1}.

    R_p⁺ = 1/4, R_p⁻ = 3/4, R_u⁺ = 3/4, R_u⁻ = 1/4, R_n⁺ = R_n⁻ = 1/2; r = .25 − .6 = −.35.
    nnpu: .2. upu: .2 − .35 = −.15. abs: .2 + .35 = .55.
    pn: the rows of U count as negatives, so R_n⁻ = 2/6 and the risk is .2 + .2/3.
    imbalanced, π′ = ½: ½·¼ + 0 = .125.
    pnu, η = ½: positive .2; negative ½·.1 + ½·(−.35) = −.125; sum .075.
    pnu, η = −½: positive ½·.2 + ½(.75 − .2·½) = .425; negative .1; sum .525.
    nnpnu, t = ¾: n = ¾·.1 + ¼·(−.35) = −.0125 → .2. t = .9: n = .09 − .035 = .055 → .255.
    """
    g, s = [1, 1, 1, -1, -1, -1, -1, 1, -1, 1], [1] * 4 + [0] * 4 + [-1] * 2
    by_hand = {
        "nnpu": 0.2,
        "upu": -0.15,
        "abs": 0.55,
        "pn": 0.2 + 0.2 / 3,
        "imbalanced": 0.125,
        PNURisk(0.5): 0.075,
        PNURisk(-0.5): 0.525,
        NonNegativePNURisk(0.75): 0.2,
        NonNegativePNURisk(0.9): 0.255,
    }
    for risk, expected in by_hand.items():
        assert evaluate(risk, g, s, 0.8).risk.item() == pytest.approx(expected), risk


def test_hand_derived_imbalanced_risk_where_r_is_positive():
    """π = 0.2, π′ = ½, P = {−1}, U = {1, −1}: R_p⁺ = 1, R_p⁻ = 0, r = ½; ½ + .5/.8·½ = .8125."""
    assert evaluate("imbalanced", [-1, 1, -1], [1, 0, 0], 0.2).risk.item() == 0.8125
    unchanged = evaluate(ImbalancedRisk(0.2), [-1, 1, -1], [1, 0, 0], 0.2).risk.item()
    assert unchanged == pytest.approx(evaluate("nnpu", [-1, 1, -1], [1, 0, 0], 0.2).risk.item())


def test_hand_derived_automatic_weight_of_the_known_negatives():
    """π = ½, n_p = 1, n_u = 4, n_n = 1: 1/(¼/1) = 4 against 1/(¼/1 + 1/4) = 2, so t = 4/6.

    P = {−1}, U = {1, 1, 1, 1}, N = {−1}, zero-one: R_p⁺ = 1, R_p⁻ = 0, R_u⁻ = 1, R_n⁻ = 0, r = 1;
    n = ⅔·½·0 + ⅓·1 = ⅓ and the risk is ½ + ⅓.
    """
    terms = evaluate("nnpnu", [-1, 1, 1, 1, 1, -1], [1, 0, 0, 0, 0, -1], 0.5)
    assert terms.risk.item() == pytest.approx(5 / 6)


@given(scores, scores, scores, priors, losses)
def test_the_mixtures_end_at_the_risks_they_mix(p, u, n, prior, loss):
    g = [*p, *u, *n]
    s = [1] * len(p) + [0] * len(u) + [-1] * len(n)
    scale = part_scale(tensor(g), tensor(g), loss)
    pn = pn_risk(tensor(p), tensor(n), prior, loss).item()
    upu = upu_risk(tensor(p), tensor(u), prior, loss).item()
    nu = upu_risk(-tensor(n), -tensor(u), 1 - prior, loss).item()  # the classes exchanged
    assert evaluate(PNURisk(0.0), g, s, prior, loss).risk.item() == close(pn, scale)
    assert evaluate(PNURisk(1.0), g, s, prior, loss).risk.item() == close(upu, scale)
    assert evaluate(PNURisk(-1.0), g, s, prior, loss).risk.item() == close(nu, scale)
    assert evaluate(NonNegativePNURisk(1.0), g, s, prior, loss).risk.item() == close(pn, scale)
    nnpu = nnpu_risk(tensor(p), tensor(u), prior, loss).item()
    assert evaluate(NonNegativePNURisk(0.0), g, s, prior, loss).risk.item() == close(nnpu, scale)


@given(scores, scores, priors, losses)
def test_abs_pu_lies_as_far_above_nnpu_as_nnpu_above_upu(p, u, prior, loss):
    g, s = [*p, *u], [1] * len(p) + [0] * len(u)
    upu, nnpu, absolute = (
        evaluate(name, g, s, prior, loss).risk.item() for name in ("upu", "nnpu", "abs")
    )
    assert absolute - nnpu == close(nnpu - upu, part_scale(tensor(g), tensor(g), loss))


@given(scores, scores, scores, priors, losses)
def test_the_pn_risk_counts_every_row_that_is_not_positive_as_negative(p, u, n, prior, loss):
    g, s = [*p, *u, *n], [1] * len(p) + [0] * len(u) + [-1] * len(n)
    expected = pn_risk(tensor(p), tensor([*u, *n]), prior, loss).item()
    scale = part_scale(tensor(g), tensor(g), loss)
    assert evaluate("pn", g, s, prior, loss).risk.item() == close(expected, scale)


@given(losses, scores, scores, priors, st.floats(0, 3))
def test_the_report_is_equation_6_whatever_beta_is(loss, p, u, prior, beta):
    g, s = [*p, *u], [1] * len(p) + [0] * len(u)
    terms = evaluate("nnpu", g, s, prior, loss, beta)
    expected = nnpu_risk(tensor(p), tensor(u), prior, loss).item()
    assert terms.risk.item() == close(expected, part_scale(tensor(g), tensor(g), loss))


@given(losses, scores, scores, priors, st.floats(0, 3))
def test_the_other_branch_is_taken_exactly_where_r_is_below_minus_beta(loss, p, u, prior, beta):
    value = r(tensor(p), tensor(u), prior, loss)
    assume(abs(value + beta) > 1e-9)
    g, s = [*p, *u], [1] * len(p) + [0] * len(u)
    assert evaluate("nnpu", g, s, prior, loss, beta).corrected.item() == (value < -beta)


def test_r_equal_to_minus_beta_is_tolerated():
    """Algorithm 1, line 5, says ≥. Zero-one, P = {1}, U = {−1}, π = ½ gives r = −½ exactly."""
    assert not evaluate("nnpu", [1, -1], [1, 0], 0.5, beta=0.5).corrected
    assert evaluate("nnpu", [1, -1], [1, 0], 0.5, beta=0.4999).corrected
    assert not evaluate("nnpu", [-1, -1], [1, 0], 0.5, beta=0.0).corrected  # r = 0


@pytest.mark.parametrize("risk", ["upu", "pn", "pnu", "abs"])
def test_risks_that_are_differentiated_as_they_stand_never_take_the_other_branch(risk):
    terms = evaluate(risk, [3, -3, -3], [1, 0, -1], 0.9)
    assert not terms.corrected
    assert terms.objective.item() == terms.risk.item()


# Finding risks.


def test_every_risk_is_found_by_its_name_and_an_object_is_left_alone():
    assert set(RISKS) == {"nnpu", "upu", "pn", "abs", "imbalanced", "pnu", "nnpnu", "kl"}
    assert all(RISKS[name].name == name for name in RISKS)
    assert isinstance(get_risk("nnpu"), NonNegativeRisk)
    mine = ImbalancedRisk(0.3)
    assert get_risk(mine) is mine


@pytest.mark.parametrize("risk", ["nnup", None, 3, NonNegativeRisk])
def test_an_unknown_risk_gives_the_valid_names(risk):
    with pytest.raises(ParameterError) as error:
        get_risk(risk, owner="PULoss")
    assert "The 'risk' parameter of PULoss must be" in str(error.value)
    assert all(repr(name) in str(error.value) for name in RISKS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ImbalancedRisk(0), "'target_prior' parameter of ImbalancedRisk"),
        (lambda: ImbalancedRisk(math.nan), "'target_prior' parameter of ImbalancedRisk"),
        (lambda: PNURisk(1.1), r"'eta' parameter of PNURisk .* \[-1, 1\]"),
        (lambda: PNURisk("auto"), "'eta' parameter of PNURisk"),
        (lambda: NonNegativePNURisk(-0.1), r"'negative_weight' parameter .* \[0, 1\]"),
        (lambda: NonNegativePNURisk(None), "'negative_weight' parameter"),
    ],
)
def test_a_risk_checks_its_own_parameters(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
