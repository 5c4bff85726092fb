"""What is kept of every epoch: the risks, their parts, and how often the gradient was corrected."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from nnpu.losses import LOSSES
from nnpu.parameters import InputError
from nnpu.training.distributed import ALONE

if TYPE_CHECKING:
    from torch import Tensor

    from nnpu.objective import Objective
    from nnpu.risk import Terms
    from nnpu.training.distributed import World

__all__ = ["EpochRecord", "evaluate"]

_CHUNK = 1 << 18  # values


def evaluate(objective: Objective, scores: Tensor, s: Tensor) -> dict[str, float]:
    """Return the PU risk of scores under the objective's own loss and under the zero-one loss.

    ``risk`` and ``zero_one`` are the reported values, ``positive`` and ``negative`` the two parts
    of the first: for nnPU π R̂_p⁺ and r.
    """
    surrogate = objective.terms(scores, s)
    zero_one = objective.terms(scores, s, loss=LOSSES["zero_one"])
    return {
        "risk": surrogate.risk.item(),
        "zero_one": zero_one.risk.item(),
        "positive": surrogate.positive.item(),
        "negative": surrogate.negative.item(),
    }


class _Tape:
    """Values of many steps, one after another in few large tensors.

    A small tensor of every step would lie between the large ones that the next step takes again,
    and split them: memory would grow from step to step.
    """

    def __init__(self, *parts: Tensor) -> None:
        self._parts, self._used = list(parts), sum(len(part) for part in parts[-1:])

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts[:-1]) + self._used

    def add(self, values: Tensor) -> None:
        """Copy values of shape (n,) to the end."""
        end = self._used + len(values)
        if not self._parts or end > len(self._parts[-1]):
            if self._parts:
                self._parts[-1] = self._parts[-1][: self._used]
            self._parts.append(values.new_empty(max(len(values), _CHUNK)))
            self._used, end = 0, len(values)
        self._parts[-1][self._used : end] = values
        self._used = end

    def values(self) -> Tensor:
        """Return all of them as one tensor."""
        return torch.cat([*self._parts[:-1], self._parts[-1][: self._used]])


class EpochRecord:
    """Collects the scores of an epoch's steps, on their device; nothing waits until its end."""

    def __init__(self) -> None:
        self._scores, self._s, self._corrected = _Tape(), _Tape(), _Tape()

    def add(self, scores: Tensor, s: Tensor, terms: Terms) -> None:
        """Keep what a step computed anyway."""
        self._scores.add(scores.detach())
        self._s.add(s)
        self._corrected.add(terms.corrected.view(1))

    def state(self) -> dict[str, Tensor]:
        """Return what was added so far as three tensors."""
        if not len(self._scores):
            return {}
        return {
            "scores": self._scores.values(),
            "s": self._s.values(),
            "corrected": self._corrected.values(),
        }

    @classmethod
    def restored(cls, state: dict[str, Tensor], device: torch.device) -> EpochRecord:
        """Return the record of which `state` is the state."""
        record = cls()
        if state:
            record._scores = _Tape(state["scores"].to(device))
            record._s = _Tape(state["s"].to(device))
            record._corrected = _Tape(state["corrected"].to(device))
        return record

    def summary(self, objective: Objective, epoch: int, world: World = ALONE) -> dict[str, float]:
        """Return the row of history: training risks over all rows as they were scored."""
        values = evaluate(objective, self._scores.values(), self._s.values())
        if not math.isfinite(values["risk"]):
            raise InputError(
                f"The training risk became {values['risk']} in epoch {epoch}: the run diverged. "
                "Lower 'lr', or scale the features if the module is your own."
            )
        corrected = world.mean(self._corrected.values().double().mean().item())
        return {f"train_{name}": value for name, value in values.items()} | {"corrected": corrected}
