"""Numbers as people pass them (lists, frames' columns, tensors of any type) as checked arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_array", "as_floats", "as_vector"]

_LARGEST = 1e100  # squares of larger numbers overflow


def as_array(x: Any) -> Any:
    """Return a torch tensor as a NumPy array, without importing torch; anything else as it is.

    NumPy has no bfloat16, so that half types become float32.
    """
    if not hasattr(x, "detach"):
        return x
    if getattr(x, "is_meta", False):
        raise InputError("A tensor on the meta device holds no numbers; put it on another device.")
    tensor = x.detach().cpu()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()
    return tensor.numpy()


def as_floats(values: Any, name: str, owner: str) -> NDArray[np.float64]:
    """Return numbers in an array of any shape as float64, or say that they are none.

    >>> as_floats([["a"]], "scores", "pu_roc_auc")
    Traceback (most recent call last):
    nnpu.parameters.InputError: pu_roc_auc: scores must be a list of numbers (values of type <U1).
    """
    try:
        array = np.asarray(as_array(values))
        if array.dtype.kind not in "biufO":
            raise TypeError(f"values of type {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{owner}: {name} must be a list of numbers ({error}).") from error


def as_vector(values: Any, name: str, owner: str) -> NDArray[np.float64]:
    """Return one finite number per row, or say what is wrong with them.

    Parameters
    ----------
    values : array-like or tensor of shape (n,) or (n, 1)
        Numbers or truth values.
    name, owner : str
        What they are and who asks, for messages.

    Raises
    ------
    InputError
        If there are none, or they are not numbers, not finite, or beyond ±1e100.

    Examples
    --------
    >>> as_vector([True, 2], "scores", "pu_roc_auc")
    array([1., 2.])
    >>> as_vector([1.0, None], "scores", "pu_roc_auc")
    Traceback (most recent call last):
    nnpu.parameters.InputError: pu_roc_auc: scores holds NaN or infinite values; remove those rows.
    """
    vector = as_floats(values, name, owner)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.size == 0:
        raise InputError(f"{owner}: {name} has 0 rows.")
    if vector.ndim != 1:
        raise InputError(f"{owner}: {name} must be a list of numbers; its shape is {vector.shape}.")
    if not np.isfinite(vector).all():
        raise InputError(f"{owner}: {name} holds NaN or infinite values; remove those rows.")
    if np.abs(vector).max() > _LARGEST:
        raise InputError(f"{owner}: {name} holds values beyond 1e100; divide them by a number.")
    return vector
