"""Which rows make an estimate: all, or 20,000 of P and of U, drawn by the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import ParameterError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_ROWS", "check_random_state", "seed_of", "some_rows"]

#: At most so many rows of P, and of U, make an estimate; more would say hardly anything new.
MOST_ROWS = 20_000


def some_rows(
    x: Any, random_state: Any, groups: Any = None, name: str = "x"
) -> tuple[Any, NDArray[Any] | None]:
    """Return at most `MOST_ROWS` rows, drawn at random, and their groups."""
    from sklearn.utils import resample

    n = np.shape(x)[0] if np.ndim(x) else 0
    if groups is not None and np.shape(groups) != (n,):
        raise ParameterError(
            f"The 'groups' parameter of estimate_prior must have one value per row of {name}, "
            f"{n} in all. Got an array of shape {np.shape(groups)} instead."
        )
    if n <= MOST_ROWS:
        return x, groups
    kind = {"replace": False, "n_samples": MOST_ROWS, "random_state": seed_of(random_state)}
    return tuple(resample(x, groups, **kind)) if groups is not None else (resample(x, **kind), None)


def check_random_state(random_state: Any) -> Any:
    """Return the generator that a seed stands for, or raise `ParameterError`."""
    from sklearn.utils import check_random_state as as_random_state

    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return as_random_state(random_state)
    except ValueError as error:
        raise ParameterError(
            "The 'random_state' parameter of estimate_prior must be an int in the range "
            f"[0, 2**32), a RandomState, a Generator or None. Got {shown(random_state)} instead."
        ) from error


def seed_of(random_state: Any) -> int:
    """Return a number that the seed stands for; a generator draws the next."""
    generator = check_random_state(random_state)
    if isinstance(generator, np.random.Generator):
        return int(generator.integers(2**31))
    return int(generator.randint(2**31))
