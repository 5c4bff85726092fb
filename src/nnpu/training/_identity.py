"""Which run a checkpoint belongs to: digests of everything that decides the result."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import torch

from nnpu.data.rows import SparseBatch
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from nnpu.objective import Objective
    from nnpu.training._options import Training
    from nnpu.training._sample import TrainingSample
    from nnpu.training.distributed import World

__all__ = ["Identity", "check_same", "data_digest", "difference", "model_digest", "run_identity"]

Identity = dict[str, str]

_NOT_IN_THE_RESULT = {"checkpoint", "checkpoint_every", "keep_checkpoint", "on_epoch_end"}


def run_identity(
    model: nn.Module,
    sample: TrainingSample,
    objective: Objective,
    options: Training,
    **settings: Any,
) -> Identity:
    """Return what makes this run this run, under the names that an error would use.

    Functions count by their name only. The thread count and the versions of libraries are not
    part of it, though they can change the last bits.
    """
    return {
        "data": data_digest(sample),
        "model": model_digest(model),
        "objective": _stable(vars(objective)),
        "options": _stable(
            {
                field.name: getattr(options, field.name)
                for field in fields(options)
                if field.name not in _NOT_IN_THE_RESULT
            }
            | {"on_epoch_end": options.on_epoch_end is not None}
        ),
        **{name: _stable(value) for name, value in settings.items()},
    }


def difference(mine: Identity, theirs: Identity) -> list[str]:
    """Return the names of what differs between two runs.

    >>> difference({"data": "a", "seed": "0"}, {"data": "a", "seed": "1"})
    ['seed']
    """
    return [name for name in mine if mine[name] != theirs.get(name)]


def check_same(mine: Identity, world: World) -> None:
    """Raise `InputError`, in every process, unless all have the same run before them."""
    everyones = world.gather(mine)
    other = [name for name in mine if any(one[name] != mine[name] for one in everyones)]
    if other:
        raise InputError(
            f"The {world.size} processes do not train the same model: the "
            f"{' and the '.join(other)} differ{'s' if len(other) == 1 else ''} between them. "
            "Give every process the same data and the same parameters, with an int as "
            "random_state; each takes its own share of every mini-batch by itself."
        )


def data_digest(sample: TrainingSample, *, chunk: int = 4096) -> str:
    """Return a SHA-256 over the rows, as the loop sees them, and their labels."""
    digest = hashlib.sha256(f"{len(sample)}".encode())
    _update(digest, sample.s[sample.index])
    for index in sample.index.split(chunk):
        batch = sample.rows.take(index)
        parts = batch[:3] if isinstance(batch, SparseBatch) else (batch,)
        for part in parts:
            _update(digest, part)
    return digest.hexdigest()


def model_digest(model: nn.Module) -> str:
    """Return a SHA-256 over a model's layers, its weights and the kind of its device."""
    digest = hashlib.sha256(_stable(model).encode())
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        if isinstance(value, torch.Tensor):  # a module may keep anything as its extra state
            _update(digest, value)
    digest.update(next(model.parameters()).device.type.encode())
    return digest.hexdigest()


def _update(digest: Any, tensor: Tensor) -> None:
    flat = tensor.detach().cpu().contiguous()
    digest.update(f"{flat.dtype}{tuple(flat.shape)}".encode())
    digest.update(flat.flatten().view(torch.uint8).numpy())


def _stable(value: Any) -> str:
    """The representation without addresses, which are others in every process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
