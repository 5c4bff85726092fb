"""Checks of arrays of parameters: a message names the assumption that is broken."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import ParameterError, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Floats", "check_array", "check_counts", "check_delta", "check_priors", "plain"]

Floats = float | np.ndarray[Any, np.dtype[np.float64]]


def check_array(
    name: str,
    value: ArrayLike,
    owner: str,
    because: str,
    *,
    low: float = -math.inf,
    high: float | NDArray[np.float64] = math.inf,
    include_low: bool = True,
    include_high: bool = True,
) -> NDArray[np.float64]:
    """Return `value` as an array of floats in the interval, else name the broken assumption.

    >>> check_array("alpha", 0.0, "bias_bound", "Theorem 2 assumes alpha > 0", low=0,
    ...             include_low=False)
    Traceback (most recent call last):
    nnpu.parameters.ParameterError: The 'alpha' parameter of bias_bound must be a float in the
    range (0, inf]: Theorem 2 assumes alpha > 0. Got 0.0 instead.
    """
    try:
        raw = np.asarray(value)
    except ValueError:  # rows of different length
        raw = np.array(None)
    if raw.dtype.kind in "iuf":
        array = raw.astype(np.float64)
        above = array >= low if include_low else array > low
        below = array <= high if include_high else array < high
        wrong = ~(above & below)  # True for NaN
        if not wrong.any():
            return array
        came: object = np.broadcast_to(array, wrong.shape)[wrong].flat[0].item()
    else:
        came = value
    interval = (
        f"{'[' if include_low else '('}{low:g}, {np.max(high):g}{']' if include_high else ')'}"
    )
    raise ParameterError(
        f"The {name!r} parameter of {owner} must be a float in the range {interval}: {because}. "
        f"Got {shown(came)} instead."
    )


def check_priors(value: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return class priors strictly between 0 and 1."""
    because = "every statement of Section 4 assumes that both classes occur"
    return check_array(
        "prior", value, owner, because, low=0, high=1, include_low=False, include_high=False
    )


def check_counts(name: str, value: ArrayLike, owner: str) -> NDArray[np.float64]:
    """Return sample sizes of at least 1; infinity stands for the limit."""
    because = "every statement of Section 4 assumes at least one draw in each sample"
    return check_array(name, value, owner, because, low=1)


def check_delta(value: ArrayLike, owner: str, theorem: str) -> NDArray[np.float64]:
    """Return values of δ strictly between 0 and 1."""
    because = f"{theorem} holds with probability 1 - delta, which says nothing outside it"
    return check_array(
        "delta", value, owner, because, low=0, high=1, include_low=False, include_high=False
    )


def plain(array: NDArray[np.float64]) -> Floats:
    """Return a float for a 0-d array: plain numbers in, a plain number out.

    >>> plain(np.asarray(0.5))
    0.5
    """
    return float(array) if np.ndim(array) == 0 else array
