"""Small data sets to try things on: features with true labels, and a table with few of them.

`load` gives the embedded one. The paper's data sets are loaded by `nnpu_paper.load`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nnpu.parameters import InputError, ParameterError, check_choice, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Features: TypeAlias = NDArray[np.float32] | csr_array

__all__ = [
    "Dataset",
    "binary_labels",
    "example_table",
    "load",
]

_DIGITS = tuple(range(10))
_EVEN = (0, 2, 4, 6, 8)
_N_TEST = 450  # a quarter of the 1,797 digits
_OF_THE_PAPER = ("mnist", "epsilon", "20news", "cifar10")


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
    """Return labels +1 for the classes in `positive` (`default` if None) and −1 for the others.

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


def load(name: str = "digits", *, positive: Iterable[Any] | None = None) -> Dataset:
    """Load the embedded digits, with true labels.

    scikit-learn's 1,797 handwritten digits of 8 × 8 pixels, split into 1,347 training and 450 test
    digits by class with a fixed seed. Even digits are positive, odd ones negative.

    Parameters
    ----------
    name : {"digits"}
        The data set. Those of the paper (``mnist``, ``epsilon``, ``20news``, ``cifar10``) are
        loaded by `nnpu_paper.load`, from the distribution ``nnpu-paper``.
    positive : iterable, optional
        The digits that make up P, the others being N.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        For a data set of the paper; the message says where it is.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.y_train[:5]
    array([...], dtype=int8)
    >>> load("digits", positive=[0, 1, 2, 3, 4]).prior > 0.5
    True
    """
    if isinstance(name, str) and name in _OF_THE_PAPER:
        raise InputError(
            f"{name} is a data set of the paper, which nnpu.data no longer loads: install "
            f"nnpu-paper and call nnpu_paper.load({name!r})."
        )
    check_choice("name", name, "load", ("digits",))
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    x, codes = load_digits(return_X_y=True)
    # Pixels are whole numbers from 0 to 16.
    parts = train_test_split(
        (x / 16).astype(np.float32), codes, test_size=_N_TEST, stratify=codes, random_state=0
    )
    x_train, x_test, codes_train, codes_test = parts
    return Dataset(
        "digits",
        x_train,
        binary_labels(codes_train, _DIGITS, positive, _EVEN),
        x_test,
        binary_labels(codes_test, _DIGITS, positive, _EVEN),
        "Handwritten digits of 8 x 8 pixels (scikit-learn); even digits are P, odd ones N.",
    )


_SHARE, _SEED = 0.5, 0  # of the malignant tumours that keep their label, and which


def example_table() -> Any:
    """Return a real table with labelled positives and unlabelled rows.

    569 breast tumours, measured under the microscope: scikit-learn's embedded copy of the
    Wisconsin diagnostic data (Wolberg, Street and Mangasarian, 1995; CC BY 4.0). 212 are malignant.
    96 of those, drawn at random with a fixed seed, are labelled in the column ``known``; all
    other cells of ``known`` are empty. The truth is in scikit-learn, in the same order of rows:
    ``load_breast_cancer().target == 0`` is malignant.

    Returns
    -------
    pyarrow.Table
        ``id``, 30 measurements, and ``known``: 1 or missing.

    Examples
    --------
    >>> table = example_table()
    >>> table.num_rows, table.num_columns, table["known"].null_count
    (569, 32, 473)
    """
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    malignant = data.target == 0
    known = malignant & (np.random.default_rng(_SEED).random(len(malignant)) < _SHARE)
    columns: dict[str, Any] = {"id": [f"T{row:03d}" for row in range(len(malignant))]}
    for name, values in zip(data.feature_names, data.data.T, strict=True):
        columns[name.replace(" ", "_")] = values
    columns["known"] = pa.array(np.where(known, 1, 0), mask=~known)
    return pa.table(columns)
