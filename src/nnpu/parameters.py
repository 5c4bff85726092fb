"""Checks of parameters: what was expected, what came, in scikit-learn's wording.

Every public entry checks its parameters here before it does any work, so one mistake
gives one message wherever it is made.
"""

from __future__ import annotations

import difflib
import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "SAMPLINGS",
    "InputError",
    "ParameterError",
    "Sampling",
    "check_choice",
    "check_count",
    "check_label_bias",
    "check_number",
    "check_prior",
    "check_prior_range",
    "check_sampling",
    "shown",
]

_MOST = 2**63  # what no count is, and no array can hold
Sampling = Literal["two-sample", "one-sample"]
SAMPLINGS: tuple[Sampling, ...] = ("two-sample", "one-sample")


class ParameterError(ValueError, TypeError):
    """A parameter has a value or a type that it cannot have."""


class InputError(ValueError):
    """Data, a file or a folder cannot be used as it is; the message says what to do."""


def shown(value: Any) -> str:
    """Return the repr of what came, truncated if it is very long.

    >>> shown("abc"), len(shown(list(range(10_000))))
    ("'abc'", 203)
    """
    try:
        text = repr(value)
    except Exception:  # a whole number of over 4,300 digits, an object that cannot be written
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an int beyond 1.8e308
        return math.inf if value > 0 else -math.inf


def check_number(
    name: str,
    value: Any,
    owner: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    include_low: bool = True,
    include_high: bool = True,
) -> float:
    """Return `value` as a float if it lies in the range, else raise `ParameterError`.

    >>> check_number("gamma", 0.5, "PULoss", low=0, high=1)
    0.5
    >>> check_number("gamma", 2, "PULoss", low=0, high=1)
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'gamma' parameter of PULoss must be a float in the range
    [0, 1]. Got 2 instead.
    """
    interval = f"{'[' if include_low else '('}{low}, {high}{']' if include_high else ')'}"
    if isinstance(value, Real) and not isinstance(value, bool):
        number = _as_float(value)
        above = number >= low if include_low else number > low
        below = number <= high if include_high else number < high
        if above and below:  # False for NaN
            return number
    raise ParameterError(
        f"The {name!r} parameter of {owner} must be a float in the range {interval}. "
        f"Got {shown(value)} instead."
    )


def check_count(name: str, value: Any, owner: str, *, low: int = 1) -> int:
    """Return `value` as an int if it is a whole number of at least `low`.

    >>> check_count("epochs", 10, "PUClassifier")
    10
    """
    most = "inf"
    if isinstance(value, Integral) and not isinstance(value, bool):
        count = int(value)
        if low <= count < _MOST:
            return count
        most = "inf" if count < low else "2**63"
    raise ParameterError(
        f"The {name!r} parameter of {owner} must be an int in the range [{low}, {most}). "
        f"Got {shown(value)} instead."
    )


def check_choice(
    name: str, value: Any, owner: str, choices: Iterable[str], *, also: str = "", why: str = ""
) -> str:
    """Return `value` if it is one of `choices`; the error lists them and guesses what was meant.

    The message also says what else is accepted, and why nothing else is, if that is given.

    >>> check_choice("loss", "sigmod", "PULoss", ["sigmoid", "logistic"])
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'loss' parameter of PULoss must be a str among {'logistic',
    'sigmoid'}. Got 'sigmod' instead. Did you mean 'sigmoid'?
    """
    names = sorted(choices)
    if isinstance(value, str) and value in names:
        return value
    near = difflib.get_close_matches(value, names, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(repr(choice) for choice in names)
    raise ParameterError(
        f"The {name!r} parameter of {owner} must be a str among {{{listed}}}"
        f"{f' or {also}' if also else ''}{f' ({why})' if why else ''}. Got {shown(value)} instead."
        f"{hint}"
    )


def check_label_bias(value: Any, owner: str, *, name: str = "label_bias") -> float | str:
    """Return how far labels may be from random: "typical" or a number of at least 1.

    >>> check_label_bias(3, "TablePU")
    3.0
    """
    if isinstance(value, str) and value == "typical":
        return value
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 1 <= _as_float(value) < math.inf:
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be 'typical' or a number of at least 1: 1 for "
            "labels at random, 3 if no kind of positive is more than three times rarer or "
            f"commoner among the hidden than among the labelled ones. Got {shown(value)} instead."
        )
    return _as_float(value)


def check_prior(value: Any, owner: str, *, name: str = "prior") -> float:
    """Return the class prior π_p as a float strictly between 0 and 1.

    >>> check_prior(1.0, "PULoss")
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'prior' parameter of PULoss must be a float in the range
    (0, 1). Got 1.0 instead.
    """
    return check_number(name, value, owner, low=0, high=1, include_low=False, include_high=False)


def check_prior_range(value: Any, owner: str, *, name: str = "prior") -> tuple[float, float]:
    """Return the lower and the upper limit of the class prior.

    >>> check_prior_range((0.1, 0.2), "TablePU")
    (0.1, 0.2)
    """
    if len(value) != 2:
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a number, 'auto' or a pair (low, high). "
            f"Got {shown(value)} instead."
        )
    low, high = (check_number(name, end, owner, low=0, high=1) for end in value)
    if not low < high:
        raise ParameterError(
            f"The {name!r} parameter of {owner} must have its lower limit first. "
            f"Got {shown(value)} instead."
        )
    return low, high


def check_sampling(value: Any, owner: str) -> Sampling:
    """Return the sampling, ``"two-sample"`` or ``"one-sample"``.

    >>> check_sampling("one-sample", "PULoss")
    'one-sample'
    """
    return cast("Sampling", check_choice("sampling", value, owner, SAMPLINGS))
