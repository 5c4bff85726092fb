"""The weights of a module as arrays for a model folder, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import is_lazy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from torch import Tensor, nn

__all__ = ["arrays_of", "weights_for"]


def arrays_of(module: nn.Module) -> dict[str, NDArray[Any]]:
    """Return the weights of a module; NumPy has no bfloat16, of which it gets the bits.

    >>> arrays_of(torch.nn.Linear(1, 1).bfloat16())["bias"].dtype
    dtype('uint16')
    """
    return {name: _array(weight) for name, weight in module.state_dict().items()}


def _array(weight: Tensor) -> NDArray[Any]:
    weight = weight.detach().cpu()
    return (weight.view(torch.uint16) if weight.dtype == torch.bfloat16 else weight).numpy()


def weights_for(
    expected: Mapping[str, Tensor], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Tensor]:
    """Return stored arrays as the weights of a module, or raise a ValueError if they are not.

    Names, shapes and types must be those expected. A parameter of the module that is still lazy is
    as good as any.

    Examples
    --------
    >>> import numpy as np
    >>> weights_for({"w": torch.zeros(1).expand(3)}, {"w": np.zeros(2, np.float32)})
    Traceback (most recent call last):
    ValueError: the weights 'w' must be float32 of shape (3,), not float32 of shape (2,)
    """
    for name in sorted(arrays.keys() ^ expected.keys()):
        fault = "missing" if name in expected else "not the model's"
        raise ValueError(f"the weights {name[:50]!r} are {fault}")
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for name, wanted in expected.items():
        if (wanted.dtype, weights[name].dtype) == (torch.bfloat16, torch.uint16):
            weights[name] = weights[name].view(torch.bfloat16)
            if not weights[name].isfinite().all():
                raise ValueError(f"the weights {name!r} are not all finite")
        if not is_lazy(wanted) and _kind(weights[name]) != _kind(wanted):
            raise ValueError(
                f"the weights {name!r} must be {_kind(wanted)}, not {_kind(weights[name])}"
            )
    return weights


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"
