"""What a data set is: features with true labels, split into training and test data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nnpu.parameters import ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Features: TypeAlias = NDArray[np.float32] | csr_array

__all__ = ["Dataset", "binary_labels"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A binary data set with its true labels.

    Parameters
    ----------
    name : str
        As given to `load`.
    x_train, x_test : ndarray of float32 or scipy.sparse.csr_array
        Features, one row (or image) per example.
    y_train, y_test : ndarray of int8
        True classes, +1 and −1.
    description : str
        What it is and how P and N were made.
    vocabulary : tuple of str
        For word counts: the word of each column; empty otherwise.

    Examples
    --------
    >>> from nnpu.data import load
    >>> digits = load("digits")
    >>> digits.x_train.shape, digits.x_test.shape, round(digits.prior, 3)
    ((1347, 64), (450, 64), 0.497)
    """

    name: str
    x_train: Features
    y_train: NDArray[np.int8]
    x_test: Features
    y_test: NDArray[np.int8]
    description: str
    vocabulary: tuple[str, ...] = ()

    @property
    def prior(self) -> float:
        """π_p: the share of positives in the training data."""
        return float(np.mean(self.y_train == 1))


def binary_labels(
    codes: NDArray[Any],
    classes: Sequence[Any],
    positive: Iterable[Any] | None,
    default: Iterable[Any],
) -> NDArray[np.int8]:
    """Labels +1 for the classes in `positive` (`default` if None) and −1 for the others.

    Parameters
    ----------
    codes : ndarray of int
        Position in `classes` of each example's class.
    classes : sequence
        Names of all classes.
    positive, default : iterable
        Names of the classes that make up P.

    Examples
    --------
    >>> binary_labels(np.array([0, 1, 2]), ["cat", "dog", "ship"], None, ["ship"])
    array([-1, -1,  1], dtype=int8)
    """
    try:
        chosen = set(default if positive is None else positive)
    except TypeError:  # no iterable, or of lists
        chosen = set()
    if not chosen or not chosen < set(classes):
        raise ParameterError(
            f"The 'positive' parameter of load must be some but not all of {list(classes)}. "
            f"Got {shown(positive)} instead."
        )
    signs = [1 if name in chosen else -1 for name in classes]
    labels: NDArray[np.int8] = np.array(signs, dtype=np.int8)[codes]
    return labels
