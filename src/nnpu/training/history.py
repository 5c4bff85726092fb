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


class EpochRecord:
    """Collects the scores of an epoch's steps, on their device; nothing waits until its end."""

    def __init__(self) -> None:
        self._scores: list[Tensor] = []
        self._s: list[Tensor] = []
        self._corrected: list[Tensor] = []

    def add(self, scores: Tensor, s: Tensor, terms: Terms) -> None:
        """Keep what a step computed anyway."""
        self._scores.append(scores.detach())
        self._s.append(s)
        self._corrected.append(terms.corrected)

    def state(self) -> dict[str, Tensor]:
        """Return what was added so far as three tensors."""
        if not self._scores:
            return {}
        return {
            "scores": torch.cat(self._scores),
            "s": torch.cat(self._s),
            "corrected": torch.stack(self._corrected),
        }

    @classmethod
    def restored(cls, state: dict[str, Tensor], device: torch.device) -> EpochRecord:
        """Return the record of which `state` is the state."""
        record = cls()
        if state:
            record._scores = [state["scores"].to(device)]
            record._s = [state["s"].to(device)]
            record._corrected = list(state["corrected"].to(device).unbind())
        return record

    def summary(self, objective: Objective, epoch: int, world: World = ALONE) -> dict[str, float]:
        """Return the row of history: training risks over all rows as they were scored."""
        values = evaluate(objective, torch.cat(self._scores), torch.cat(self._s))
        if not math.isfinite(values["risk"]):
            raise InputError(
                f"The training risk became {values['risk']} in epoch {epoch}: the run diverged. "
                "Lower 'lr', or scale the features if the module is your own."
            )
        corrected = world.mean(torch.stack(self._corrected).double().mean().item())
        return {f"train_{name}": value for name, value in values.items()} | {"corrected": corrected}
