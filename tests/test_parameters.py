"""One mistake, one message: scikit-learn's wording, before any work is done."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnpu.parameters import (
    SAMPLINGS,
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_number,
    check_prior,
    check_sampling,
)

NOT_NUMBERS = ["abc", "0.5", None, True, False, [0.5], (0.5,), {}, 1j, object(), np.array([0.5])]


def test_a_parameter_error_is_caught_as_value_error_and_as_type_error():
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TypeError)
    assert issubclass(InputError, ValueError)
    assert not issubclass(InputError, ParameterError)


@given(st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True))
def test_every_number_strictly_between_0_and_1_is_a_prior(prior):
    assert check_prior(prior, "X") == prior


@pytest.mark.parametrize("prior", [0, 1, 0.0, 1.0, -0.1, 1.1, math.nan, math.inf, *NOT_NUMBERS])
def test_anything_else_is_no_prior(prior):
    with pytest.raises(ParameterError) as error:
        check_prior(prior, "PULoss")
    assert str(error.value) == (
        "The 'prior' parameter of PULoss must be a float in the range (0, 1). "
        f"Got {prior!r} instead."
    )


def test_the_prior_can_go_by_another_name():
    with pytest.raises(ParameterError, match="The 'assumed_prior' parameter of X must be"):
        check_prior(2, "X", name="assumed_prior")


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), Fraction(1, 2), 0.5])
def test_every_kind_of_real_number_becomes_a_float(number):
    checked = check_number("x", number, "X")
    assert type(checked) is float
    assert checked == 0.5


@pytest.mark.parametrize("number", [1, np.int64(1), np.uint8(1)])
def test_integers_are_numbers_too(number):
    assert type(check_number("x", number, "X", low=0, high=1)) is float


@pytest.mark.parametrize(
    ("closed_low", "closed_high", "interval", "accepted"),
    [
        (True, True, "[0, 1]", {0, 0.5, 1}),
        (True, False, "[0, 1)", {0, 0.5}),
        (False, True, "(0, 1]", {0.5, 1}),
        (False, False, "(0, 1)", {0.5}),
    ],
)
def test_the_interval_in_the_message_is_the_interval_that_is_checked(
    closed_low, closed_high, interval, accepted
):
    for number in (-0.1, 0, 0.5, 1, 1.1):
        limits = {"low": 0, "high": 1, "include_low": closed_low, "include_high": closed_high}
        if number in accepted:
            assert check_number("x", number, "X", **limits) == number
        else:
            with pytest.raises(ParameterError) as error:
                check_number("x", number, "X", **limits)
            assert f"in the range {interval}. Got {number} instead." in str(error.value)


@pytest.mark.parametrize("value", [math.nan, *NOT_NUMBERS])
def test_what_is_no_number_is_refused_even_in_an_unlimited_range(value):
    with pytest.raises(ParameterError, match="The 'x' parameter of X must be a float"):
        check_number("x", value, "X")


@pytest.mark.parametrize("count", [1, 7, np.int32(3)])
def test_whole_numbers_from_the_lower_limit_on_are_counts(count):
    assert type(check_count("epochs", count, "X")) is int
    assert check_count("epochs", count, "X") == count


@pytest.mark.parametrize("count", [0, -1, 1.0, 2.5, math.nan, *NOT_NUMBERS])
def test_anything_else_is_no_count(count):
    with pytest.raises(ParameterError) as error:
        check_count("epochs", count, "X")
    assert "must be an int in the range [1, inf). Got " in str(error.value)


@pytest.mark.parametrize("value", [10**5000, -(10**5000), "x" * 10**6], ids=["+", "-", "text"])
def test_what_is_too_long_to_be_shown_is_cut_short(value):
    for check in (check_count, check_number):
        with pytest.raises(ParameterError) as error:
            check("epochs", value, "X", low=1, **({"high": 9} if check is check_number else {}))
        assert len(str(error.value)) < 400


def test_a_count_may_start_elsewhere():
    assert check_count("workers", 0, "X", low=0) == 0
    with pytest.raises(ParameterError, match=r"range \[2, inf\)"):
        check_count("folds", 1, "X", low=2)


def test_an_unknown_choice_lists_all_and_guesses_what_was_meant():
    with pytest.raises(ParameterError) as error:
        check_choice("risk", "nnup", "PULoss", ["upu", "nnpu", "pn"], also="a Risk")
    assert str(error.value) == (
        "The 'risk' parameter of PULoss must be a str among {'nnpu', 'pn', 'upu'} or a Risk. "
        "Got 'nnup' instead. Did you mean 'nnpu'?"
    )


@pytest.mark.parametrize("value", ["qqqq", "", None, 3, ["pn"], b"pn"])
def test_no_guess_is_made_where_nothing_is_near(value):
    with pytest.raises(ParameterError) as error:
        check_choice("risk", value, "X", ["nnpu", "pn"])
    assert str(error.value).endswith(f"Got {value!r} instead.")


def test_there_are_two_samplings():
    assert SAMPLINGS == ("two-sample", "one-sample")
    assert [check_sampling(name, "X") for name in SAMPLINGS] == list(SAMPLINGS)
    with pytest.raises(ParameterError) as error:
        check_sampling("one_sample", "X")
    assert "among {'one-sample', 'two-sample'}" in str(error.value)
    assert "Did you mean 'one-sample'?" in str(error.value)
