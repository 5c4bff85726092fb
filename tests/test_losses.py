"""Table 1, column by column: where a property is claimed it holds, where it is not it fails."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from nnpu.losses import LOSSES, Loss, get_loss
from nnpu.objective import PULoss
from nnpu.parameters import ParameterError
from nnpu.risk import nnpu_risk, pn_risk, upu_risk, upu_risk_symmetric

NAMES = ("zero_one", "ramp", "squared", "logistic", "hinge", "double_hinge", "sigmoid")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# The check marks of Table 1, copied from the paper: Eq. (3), Eq. (5), bounded, Lipschitz.
TABLE_1 = {
    "zero_one": (True, False, True, False),
    "ramp": (True, False, True, True),
    "squared": (False, True, False, False),
    "logistic": (False, True, False, True),
    "hinge": (False, False, False, True),
    "double_hinge": (False, True, False, True),
    "sigmoid": (True, False, True, True),
}
SYMMETRIC = [name for name in NAMES if TABLE_1[name][0]]
LINEAR_ODD = [name for name in NAMES if TABLE_1[name][1]]
BOUNDED = [name for name in NAMES if TABLE_1[name][2]]
LIPSCHITZ = [name for name in NAMES if TABLE_1[name][3]]
UNBOUNDED = [name for name in NAMES if name not in BOUNDED]

margins = st.floats(min_value=-300, max_value=300)
losses = st.sampled_from(NAMES)


def exact(name: str, z: float | Decimal) -> Decimal:
    """Return the loss by the table's definition, in 60-digit decimal arithmetic."""
    with localcontext() as context:
        context.prec = 60
        d = Decimal(z)
        # Beyond ±10⁴ exp(d) leaves every float type; Decimal itself would overflow far later.
        power = max(min(d, Decimal(10**4)), Decimal(-(10**4))).exp()
        definitions = {
            "zero_one": lambda: Decimal(1 - ((d > 0) - (d < 0))) / 2,
            "ramp": lambda: max(Decimal(0), min(Decimal(1), (1 - d) / 2)),
            "squared": lambda: (d - 1) ** 2 / 4,
            "logistic": lambda: -d if d < -(10**4) else _log1p(1 / power),
            "hinge": lambda: max(Decimal(0), 1 - d),
            "double_hinge": lambda: max(Decimal(0), (1 - d) / 2, -d),
            "sigmoid": lambda: 1 / (1 + power),
        }
        return definitions[name]()


def _log1p(x: Decimal) -> Decimal:
    return x if x < Decimal("1e-40") else (1 + x).ln()  # ln(1 + x) = x − x²/2 + …


def value(name: str, z: float) -> float:
    return LOSSES[name](torch.tensor(z, dtype=torch.float64)).item()


def slope(name: str, z: float, dtype: torch.dtype = torch.float64) -> float:
    margin = torch.tensor(z, dtype=dtype, requires_grad=True)
    LOSSES[name](margin).backward()
    assert margin.grad is not None
    return margin.grad.item()


def extremes(dtype: torch.dtype) -> list[float]:
    """Return the corners of a float type, both signs: zeros, subnormals, the largest number."""
    info = torch.finfo(dtype)
    tiny = info.smallest_normal
    sizes = [0.0, tiny * info.eps, tiny / 2, tiny, info.eps, 0.5, 1 - info.eps / 2, 1.0]
    sizes += [1 + info.eps, 2.0, 15.0, 16.7, 87.0, 89.0, 104.0, 710.0, 746.0, 1e4, info.max**0.5]
    sizes += [info.max / 4, info.max]
    return [sign * size for size in sizes if size <= info.max for sign in (1, -1)]


def representable(number: Decimal, dtype: torch.dtype) -> bool:
    return number <= Decimal(torch.finfo(dtype).max)


def test_the_table_has_exactly_the_seven_losses_in_its_order():
    assert tuple(LOSSES) == NAMES
    assert all(LOSSES[name].name == name for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_the_marks_of_the_table(name):
    loss = LOSSES[name]
    marks = (loss.symmetric, loss.linear_odd, loss.bounded, math.isfinite(loss.lipschitz))
    assert marks == TABLE_1[name]


@given(losses, margins)
def test_values_agree_with_sixty_digit_arithmetic(name, z):
    assert value(name, z) == pytest.approx(float(exact(name, z)), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("z", [50.0, -50.0, 700.0, -700.0, -800.0, 36.8, -36.8, 1e-300, 1 - 1e-9])
def test_values_in_the_tails_agree_with_sixty_digit_arithmetic(name, z):
    assert value(name, z) == pytest.approx(float(exact(name, z)), rel=1e-12, abs=0)


def test_hand_derived_values():
    """From the definitions.

    At z = 0: sign 0 = 0 gives 1/2; (1−0)/2 = 1/2; 1/4; ln 2; 1; max{0, 1/2, 0} = 1/2; 1/2.
    At z = 3: 0; 0; (3−1)²/4 = 1; ln(1+e⁻³); 0; max{0, −1, −3} = 0; 1/(1+e³).
    At z = −3: 1; 1; 16/4 = 4; 3 + ln(1+e⁻³); 4; max{0, 2, 3} = 3; 1/(1+e⁻³).
    """
    tail = math.log1p(math.exp(-3))
    by_hand = {
        0.0: [0.5, 0.5, 0.25, math.log(2), 1.0, 0.5, 0.5],
        3.0: [0.0, 0.0, 1.0, tail, 0.0, 0.0, 1 / (1 + math.exp(3))],
        -3.0: [1.0, 1.0, 4.0, 3 + tail, 4.0, 3.0, 1 / (1 + math.exp(-3))],
    }
    for z, expected in by_hand.items():
        assert [value(name, z) for name in NAMES] == pytest.approx(expected, rel=1e-15)


# Column 1: Eq. (3), ℓ(z) + ℓ(−z) = 1.


@given(st.sampled_from(SYMMETRIC), st.floats(allow_nan=False, allow_infinity=False))
def test_symmetric_losses_satisfy_equation_3(name, z):
    assert value(name, z) + value(name, -z) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SYMMETRIC])
def test_other_losses_violate_equation_3(name):
    """At z = 2 the sums are 1/4 + 9/4, 2 + 2 ln(1+e⁻²), 0 + 3 and 0 + 2."""
    assert value(name, 2.0) + value(name, -2.0) >= 2


# Column 2: Eq. (5), ℓ(z) − ℓ(−z) = −z.


@given(st.sampled_from(LINEAR_ODD), margins)
def test_linear_odd_losses_satisfy_equation_5(name, z):
    scale = max(1.0, z * z)  # the squared loss subtracts numbers of this size
    assert value(name, z) - value(name, -z) == pytest.approx(-z, rel=1e-12, abs=1e-15 * scale)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LINEAR_ODD])
def test_other_losses_violate_equation_5(name):
    """At z = 3 the differences are −1, −1, 0 − 4 = −4 and −(e³−1)/(e³+1) > −1, never −3."""
    assert abs(value(name, 3.0) - value(name, -3.0) + 3) >= 1 - 1e-12


def test_the_squared_loss_without_its_quarter_would_violate_equation_5():
    def unscaled(z):
        return (z - 1) ** 2

    z = torch.tensor(1.5, dtype=torch.float64)
    assert (unscaled(z) - unscaled(-z)).item() == -4 * z.item()
    assert (LOSSES["squared"](z) - LOSSES["squared"](-z)).item() == -z.item()


# Column 3: bounded.


@given(st.sampled_from(BOUNDED), st.floats(allow_nan=False, allow_infinity=False))
def test_the_supremum_is_never_exceeded(name, z):
    assert 0 <= value(name, z) <= LOSSES[name].supremum


@pytest.mark.parametrize("name", BOUNDED)
def test_the_supremum_is_attained_or_approached(name):
    assert value(name, -30.0) == pytest.approx(LOSSES[name].supremum, rel=1e-12)


@pytest.mark.parametrize("bound", [10.0, 1e6, 1e300])
@pytest.mark.parametrize("name", UNBOUNDED)
def test_losses_without_a_supremum_pass_every_bound(name, bound):
    z = -4 * math.sqrt(bound) if name == "squared" else -2 * bound
    assert math.isinf(LOSSES[name].supremum)
    assert bound < value(name, z) < math.inf


@given(losses, st.floats(allow_nan=False, allow_infinity=False))
def test_no_loss_is_negative(name, z):
    assert value(name, z) >= 0


# Column 4: Lipschitz.


@given(st.sampled_from(LIPSCHITZ), margins, margins)
def test_no_difference_quotient_exceeds_the_lipschitz_constant(name, a, b):
    rounding = 4e-16 * (1 + abs(a) + abs(b))
    rise = abs(value(name, a) - value(name, b))
    assert rise <= LOSSES[name].lipschitz * abs(a - b) + rounding


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("ramp", -1.0, 1.0),
        ("logistic", -60.0, -50.0),
        ("hinge", -5.0, 1.0),
        ("double_hinge", -5.0, -1.0),
        ("sigmoid", -1e-4, 1e-4),
    ],
)
def test_the_lipschitz_constant_is_the_least_one(name, a, b):
    quotient = abs(value(name, a) - value(name, b)) / (b - a)
    assert quotient == pytest.approx(LOSSES[name].lipschitz, rel=1e-8)


@pytest.mark.parametrize("bound", [10.0, 1e6, 1e12])
def test_losses_without_a_lipschitz_constant_have_quotients_beyond_every_bound(bound):
    """Zero-one jumps by 1 within 1/bound of 0; squared rises with slope (z − 1)/2."""
    step = 1 / bound
    assert (value("zero_one", -step / 4) - value("zero_one", step / 4)) / (step / 2) >= bound
    assert (value("squared", 8 * bound) - value("squared", 4 * bound)) / (4 * bound) >= bound
    assert math.isinf(LOSSES["zero_one"].lipschitz)
    assert math.isinf(LOSSES["squared"].lipschitz)


# Column 5: where ℓ′(z) ≠ 0.


@given(losses, st.floats(min_value=-14, max_value=14))
def test_the_slope_is_nonzero_inside_its_support_and_zero_outside(name, z):
    low, high = LOSSES[name].slope_support
    if low < z < high and not (name == "squared" and z == 1):
        assert slope(name, z) != 0
    elif not low <= z <= high:
        assert slope(name, z) == 0


def test_the_supports_are_those_of_the_table():
    inf = math.inf
    assert {name: LOSSES[name].slope_support for name in NAMES} == {
        "zero_one": (0.0, 0.0),
        "ramp": (-1.0, 1.0),
        "squared": (-inf, inf),
        "logistic": (-inf, inf),
        "hinge": (-inf, 1.0),
        "double_hinge": (-inf, 1.0),
        "sigmoid": (-inf, inf),
    }


def test_the_squared_loss_is_flat_at_one_although_the_table_says_everywhere_sloped():
    assert slope("squared", 1.0) == 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_zero_one_loss_has_no_gradient(z):
    assert slope("zero_one", z) == 0


def test_the_zero_one_loss_tells_subnormal_margins_from_zero():
    least = 2.0**-1074
    assert [value("zero_one", z) for z in (-least, -0.0, 0.0, least)] == [1, 0.5, 0.5, 0]


@given(losses, st.floats(min_value=-14, max_value=14))
def test_slopes_agree_with_sixty_digit_difference_quotients(name, z):
    """A central difference with step 1e-20 in 60 digits: exact to float64 off the kinks.

    Where the sigmoid's value rounds towards 1 its slope loses digits; 1e-9 leaves room for that.
    """
    kinks = {"zero_one": (0,), "ramp": (-1, 1), "hinge": (1,), "double_hinge": (-1, 1)}
    with localcontext() as context:
        context.prec = 60
        d, h = Decimal(z), Decimal("1e-20")
        assume(all(abs(d - kink) > h for kink in kinks.get(name, ())))
        quotient = (exact(name, d + h) - exact(name, d - h)) / (2 * h)
    assert slope(name, z) == pytest.approx(float(quotient), rel=1e-9, abs=0)


# Every finite margin of every float type.


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes_at_the_corners_of_a_float_type(name, dtype):
    """Right to a few roundings where the exact value is representable, and the slope finite."""
    info = torch.finfo(dtype)
    for z in extremes(dtype):
        margin = torch.tensor(z, dtype=dtype, requires_grad=True)
        loss = LOSSES[name](margin)
        loss.backward()
        expected = exact(name, margin.item())
        if representable(expected, dtype):
            near = pytest.approx(float(expected), rel=8 * info.eps, abs=info.smallest_normal)
            assert loss.item() == near, z
        assert math.isfinite(margin.grad.item()), z


@given(losses, st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_finite_float32_margin_has_a_finite_slope_and_value(name, z):
    margin = torch.tensor(z, dtype=torch.float32, requires_grad=True)
    loss = LOSSES[name](margin)
    loss.backward()
    if representable(exact(name, z), torch.float32):
        assert math.isfinite(loss.item())
    assert math.isfinite(margin.grad.item())


def test_only_the_squared_loss_can_overflow_and_only_where_its_value_does():
    """(z − 1)²/4 reaches the largest float32, 3.4e38, at |z| = 3.7e19."""
    edge = torch.tensor([3.6e19, 3.7e19, -3.6e19, -3.7e19])
    assert LOSSES["squared"](edge).isinf().tolist() == [False, True, False, True]
    greatest = torch.tensor([torch.finfo(torch.float32).max])
    for name in NAMES:
        if name != "squared":
            assert LOSSES[name](greatest).isfinite().all()
            assert LOSSES[name](-greatest).isfinite().all()


# The calling convention.


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_shape_and_dtype_are_kept(name, dtype):
    for shape in [(), (0,), (3,), (2, 1), (2, 3, 4)]:
        out = LOSSES[name](torch.zeros(shape, dtype=dtype))
        assert out.shape == shape
        assert out.dtype == dtype


@pytest.mark.parametrize("name", NAMES)
def test_the_margin_is_not_changed(name):
    margin = torch.linspace(-3, 3, 7)
    before = margin.clone()
    LOSSES[name](margin)
    assert torch.equal(margin, before)


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        LOSSES["mine"] = LOSSES["ramp"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        LOSSES["ramp"].supremum = 2.0  # type: ignore[misc]


def test_get_loss_returns_the_named_loss_and_leaves_a_loss_alone():
    mine = Loss("mine", torch.exp, supremum=7.0)
    assert get_loss("hinge") is LOSSES["hinge"]
    assert get_loss(mine) is mine


def test_nothing_is_assumed_of_a_callable():
    loss = get_loss(lambda z: torch.exp(-z))
    assert (loss.symmetric, loss.linear_odd, loss.supremum, loss.lipschitz) == (
        False,
        False,
        math.inf,
        math.inf,
    )


class Exponential:
    """A callable object without a name of its own."""

    def __call__(self, margin: torch.Tensor) -> torch.Tensor:
        return torch.exp(-margin)


@pytest.mark.parametrize("loss", [lambda z: torch.exp(-z), Exponential(), Loss("e", Exponential())])
def test_a_callable_works_wherever_a_name_does(loss):
    """With e⁻ᶻ, P = {0}, U = N = {ln 2}, π = 1/4.

    R_p⁺ = R_p⁻ = 1 and R_u⁻ = R_n⁻ = exp(ln 2) = 2. Eq. (1): 1/4 + 3/4·2 = 1.75. Eq. (2):
    1/4 − 1/4 + 2 = 2, and r = 7/4 ≥ 0 makes Eq. (6) the same. Eq. (4), unchecked:
    2/4 + 2 − 1/4 = 2.25.
    """
    p, u = torch.tensor([0.0]), torch.tensor([math.log(2)])
    assert pn_risk(p, u, 0.25, loss).item() == pytest.approx(1.75)
    assert upu_risk(p, u, 0.25, loss).item() == pytest.approx(2)
    assert nnpu_risk(p, u, 0.25, loss).item() == pytest.approx(2)
    objective = PULoss(0.25, loss=loss)
    assert objective(torch.cat([p, u]), torch.tensor([1, 0])).item() == pytest.approx(2)
    if not isinstance(loss, Loss):
        assert upu_risk_symmetric(p, u, 0.25, loss).item() == pytest.approx(2.25)


@pytest.mark.parametrize("name", NAMES)
def test_a_callable_gives_what_the_same_loss_gives_by_name(name):
    scores, s = torch.linspace(-2, 2, 8), torch.tensor([1, 0, 0, 1, 0, 0, 1, 0])
    named, called = PULoss(0.3, loss=name), PULoss(0.3, loss=LOSSES[name].function)
    assert named(scores, s).item() == called(scores, s).item()


def test_an_unknown_name_gives_the_valid_ones_and_a_guess():
    with pytest.raises(ParameterError) as error:
        get_loss("sigmod")
    assert all(repr(name) in str(error.value) for name in NAMES)
    assert "Did you mean 'sigmoid'?" in str(error.value)


@pytest.mark.parametrize("loss", [None, 3, 0.5, ["sigmoid"]])
def test_what_is_no_loss_is_refused(loss):
    with pytest.raises(ParameterError, match=r"The 'loss' parameter of PULoss must be .* Got"):
        PULoss(0.3, loss=loss)


def test_the_planner_has_the_same_losses_in_numpy():
    from nnpu.theory import planning as simulated

    margin = torch.linspace(-8, 8, 321, dtype=torch.float64)
    assert set(simulated._LOSSES) == set(LOSSES)
    for name, loss in simulated._LOSSES.items():
        values = torch.from_numpy(loss(margin.numpy()))
        assert torch.allclose(values, LOSSES[name](margin), rtol=0, atol=1e-12)
