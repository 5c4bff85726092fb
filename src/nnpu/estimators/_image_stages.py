"""The stages of `ImagePU`: nnPU, then a network that learns from soft labels.

The first network is fitted by Algorithm 1. Its scores of U become soft labels whose mean is the
share of positives, and a new network is fitted to them. A tenth of the images is kept out of both,
for the calibration. If the prior is to be estimated, networks on halves of the data come first.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nnpu.calibration.soft_labels import soft_labels
from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators._image_network import refresh
from nnpu.estimators._image_rows import equal_images
from nnpu.objective import Objective
from nnpu.parameters import InputError, check_count
from nnpu.risk import Terms
from nnpu.training import Training, TrainingSample, predict_scores, train
from nnpu.training.batches import BatchPlan, derive_seed
from nnpu.training.checkpoint import CheckpointFolder
from nnpu.training.seeds import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import nn

    from nnpu.data.rows import Rows
    from nnpu.estimators.labels import Labels
    from nnpu.losses import Loss
    from nnpu.training._run import History

__all__ = [
    "RUNS",
    "STAGES",
    "TIMED",
    "Folds",
    "HeldOut",
    "Plan",
    "Stages",
    "budget",
    "read_plan",
    "seconds_an_image",
    "timed_budget",
]

STAGES = ("apart", "half", "first", "second")
TIMED = "plan.json"  # of a fit that was given minutes, beside its checkpoints
RUNS = ("apart-0", "apart-1", "half-0", "half-1", "first", "second")  # a network each
_BATCH = 256
_LR, _DECAY = 3e-3, 5e-4
_POSITIVES = 64  # labelled images that every batch of the first stage holds, if there are as many
_STATISTICS = 20  # batches that batch norm is measured on anew
_FOLDS = 10
_PAUSE = 5.0  # seconds between two lines of progress
_LEAST = 4
_TRIED = 3  # steps that tell what one costs
_WORTH = 16  # passes that the residual network needs to be better than the small one
_SPARE = 0.85  # of the time is for passes; scoring takes the rest


class Plan(NamedTuple):
    """Images per batch, and passes over the data of each kind of network."""

    batch_size: int
    apart: int
    first: int
    second: int

    def passes(self, *, auto: bool) -> float:
        """All passes of a fit: a tenth is held out, and two networks on halves make one."""
        return (1 - 1 / _FOLDS) * (self.first + self.second) + auto * (self.apart + self.first)


def budget(n_rows: int, epochs: int | str) -> Plan:
    """Return the plan for so many images: at least some hundred steps for every network.

    >>> budget(61_000, "auto"), budget(1_347, "auto").first, budget(1_347, 3).first
    (Plan(batch_size=256, apart=3, first=8, second=5), 44, 3)
    """
    batch_size = min(_BATCH, max(32, n_rows // 16))
    if not isinstance(epochs, str):
        return Plan(batch_size, epochs, epochs, epochs)
    steps = -(-n_rows // batch_size)
    first = min(max(8, 750 // steps), 100)
    return Plan(batch_size, max(3, first // 3), first, max(5, 5 * first // 8))


def timed_budget(
    n_rows: int, seconds: float, costs: tuple[float, float], *, auto: bool
) -> tuple[Plan, bool]:
    """Return a plan that takes about so many seconds, and whether the network is the residual one.

    Parameters
    ----------
    n_rows : int
        Images.
    seconds : float
        For the whole fit.
    costs : (float, float)
        Seconds that an image costs in a pass of the small and of the residual network.
    auto : bool
        Whether the prior is estimated, which takes networks of its own.

    Examples
    --------
    >>> timed_budget(50_000, 3600, (3.4e-4, 1.2e-3), auto=False)
    (Plan(batch_size=256, apart=9, first=28, second=28), True)
    >>> timed_budget(50_000, 300, (3.4e-4, 1.2e-3), auto=False)
    (Plan(batch_size=256, apart=2, first=8, second=8), False)
    """
    batch_size = budget(n_rows, 1).batch_size

    def plan(epochs: int) -> Plan:
        return Plan(batch_size, max(1, epochs // 3), epochs, epochs)

    def most(cost: float) -> int:
        passes = _SPARE * seconds / (cost * n_rows)
        return max(1, min(100, int(passes / plan(300).passes(auto=auto) * 300)))

    small, residual = costs
    enough = plan(most(residual)).passes(auto=False) >= _WORTH
    return plan(most(residual if enough else small)), enough


def read_plan(path: Path) -> tuple[Plan, bool]:
    """Read the plan of a fit that is resumed."""
    try:
        stored = json.loads(path.read_text())
        residual = stored.pop("residual")
        plan = Plan(**{name: check_count(name, n, "the plan") for name, n in stored.items()})
        if not isinstance(residual, bool):
            raise TypeError("'residual' is neither true nor false")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{path} is damaged ({error}): choose another folder for the checkpoints."
        ) from error
    return plan, residual


def seconds_an_image(network: nn.Module, rows: Rows, batch_size: int) -> float:
    """Measure what an image costs in training: the quickest of a few steps."""
    images = rows.take(torch.arange(min(batch_size, len(rows))))
    network.train()
    took = []
    for _ in range(1 + _TRIED):
        begin = time.perf_counter()
        network(images).sum().backward()
        took.append(time.perf_counter() - begin)
    return min(took) / len(images)


class Folds:
    """Which images a network learns from.

    Equal images fall into the same fold, so that a positive that is also in U is not recognised.
    Fold 0 is held out of the networks that count. Of two networks for the prior each leaves out
    one half of U and a fifth of P.
    """

    def __init__(self, rows: Rows, codes: Labels, seed: int) -> None:
        least = min(int((codes == 1).sum()), int((codes == 0).sum()))
        if least < _LEAST:
            raise InputError(
                f"ImagePU needs at least {_LEAST} labelled and {_LEAST} unlabelled images. Got "
                f"{least} of one kind; features of a trained network with LinearPU need fewer."
            )
        equal = equal_images(rows)
        counts = [int((codes == code).sum()) for code in (1, 0, -1) if (codes == code).any()]
        distinct = int(equal.max()) + 1
        if distinct < 2:
            raise InputError("ImagePU needs images that differ. Got copies of a single one.")
        self.codes, self.n_folds = codes, max(2, min(_FOLDS, distinct, *counts))
        folds = PUStratifiedKFold(self.n_folds, random_state=seed)
        self.fold = folds.assign(codes, None if distinct == len(codes) else equal)

    def halves(self) -> list[NDArray[np.bool_]]:
        """Which images each of two networks scores and does not learn from."""
        half, fifth = self.n_folds // 2, max(1, self.n_folds // 5)
        return [
            (self.fold >= first) & (self.fold < np.where(self.codes == 1, first + fifth, last))
            for first, last in ((0, half), (half, self.n_folds))
        ]

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """The images that only the calibration sees."""
        out: NDArray[np.bool_] = self.fold == 0
        return out


class HeldOut(NamedTuple):
    """Scores of images by networks that were not fitted to them."""

    scores: NDArray[np.float32]
    codes: Labels

    @property
    def samples(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Those of P and of U."""
        return self.scores[self.codes == 1], self.scores[self.codes == 0]


class _Targets(Objective):
    """The mean of y ℓ(g) + (1 − y) ℓ(−g) with soft labels y, weighted by |2y − 1|.

    A label near one half says nothing, so that the surer images decide.
    """

    def terms(self, scores: Tensor, s: Tensor, *, loss: Loss | None = None) -> Terms:
        loss = loss or self.loss
        weight = (2 * s - 1).abs()
        weight = weight / weight.sum().clamp(min=1e-6)
        positive = (weight * s * loss(scores)).sum()
        negative = (weight * (1 - s) * loss(-scores)).sum()
        total = positive + negative
        return Terms(positive, negative, total, total, torch.zeros_like(total).bool())


class _TargetSample(TrainingSample):
    """Images with soft labels, all of them one sample."""

    @property
    def groups(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.index, self.index[:0], self.index[:0]


@dataclass
class Stages:
    """Fits networks to images, one after another, and tells how far it has come.

    Parameters
    ----------
    rows : Rows
        All images.
    codes : ndarray
        Their PU labels.
    make : callable
        Makes a new network.
    plan : Plan
        Batch size and epochs.
    sampling, seed
        As in `ImagePU`.
    checkpoint : path-like or None
        A folder with one folder of checkpoints for each network.
    passes : float
        All epochs of the whole fit, each counted by the share of images in it; 0 tells nothing.
    """

    rows: Rows
    codes: Labels
    make: Callable[[], nn.Module]
    plan: Plan
    sampling: str
    seed: int
    checkpoint: Any = None
    passes: float = 0
    history: History = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folds = Folds(self.rows, self.codes, self.seed)
        self._started, self._passed, self._due = time.monotonic(), 0.0, 0.0

    def apart(self) -> HeldOut:
        """Tell P from U, for a first idea of the prior."""
        return self._crossed("apart", Objective(0.5, risk="pn", loss="logistic"), self.plan.apart)

    def halves(self, prior: float) -> HeldOut:
        """Algorithm 1 on two halves, for an estimate of the prior."""
        return self._crossed("half", Objective(prior, sampling=self.sampling), self.plan.first)

    def first(self, prior: float) -> nn.Module:
        """Algorithm 1 on all images but the held-out ones."""
        sample = TrainingSample(self.rows, torch.from_numpy(self.codes), self._kept)
        objective = Objective(prior, sampling=self.sampling)
        return self._network("first", sample, objective, self.plan.first)

    def second(self, network: nn.Module, share: float) -> nn.Module:
        """A new network, from the soft labels that another one gives to U."""
        unlabelled = np.flatnonzero(self.codes == 0)
        index = torch.from_numpy(unlabelled)
        scores = predict_scores(network, self.rows, index=index).numpy()
        labels = (self.codes == 1).astype(np.float32)
        labels[unlabelled] = soft_labels(scores, share)
        sample = _TargetSample(self.rows, torch.from_numpy(labels), self._kept)
        objective = _Targets(0.5, loss="logistic")  # the labels know the prior
        return self._network("second", sample, objective, self.plan.second)

    def held_out(self, network: nn.Module) -> HeldOut:
        """Score the images that were kept out."""
        return self._score(network, self.folds.held_out)

    def finish(self) -> None:
        """Remove the checkpoints, and the folder if nothing else is in it."""
        if self.checkpoint is None or not Path(self.checkpoint).is_dir():
            return
        for run in RUNS:
            if (Path(self.checkpoint) / run).is_dir():
                with CheckpointFolder(Path(self.checkpoint) / run) as folder:
                    folder.remove()
        (Path(self.checkpoint) / TIMED).unlink(missing_ok=True)
        with suppress(OSError):
            Path(self.checkpoint).rmdir()

    @property
    def _kept(self) -> Tensor:
        return torch.from_numpy(np.flatnonzero(~self.folds.held_out))

    def _score(self, network: nn.Module, chosen: NDArray[np.bool_]) -> HeldOut:
        index = torch.from_numpy(np.flatnonzero(chosen))
        scores = predict_scores(network, self.rows, index=index).numpy()
        return HeldOut(scores, self.codes[chosen])

    def _crossed(self, name: str, objective: Objective, epochs: int) -> HeldOut:
        s, parts = torch.from_numpy(self.codes), []
        for number, left_out in enumerate(self.folds.halves()):
            index = torch.from_numpy(np.flatnonzero(~left_out))
            sample = TrainingSample(self.rows, s, index)
            network = self._network(f"{name}-{number}", sample, objective, epochs)
            parts.append(self._score(network, left_out))
        return HeldOut(*(np.concatenate(both) for both in zip(*parts, strict=True)))

    def _network(
        self, name: str, sample: TrainingSample, objective: Objective, epochs: int
    ) -> nn.Module:
        kind, _, number = name.partition("-")
        stage = STAGES.index(kind)
        seed = derive_seed(self.seed, stage, int(number or 0))
        steps = epochs * -(-len(sample) // self.plan.batch_size)
        share = len(sample) / len(self.rows)
        options = Training(
            schedule="one-cycle",
            warm_up=0.2,
            averaging=float(np.clip(1 - 10 / steps, 0.5, 0.99)),  # a tenth of the run
            least_per_batch=min(_POSITIVES, max(1, self.plan.batch_size // 4)),
            on_epoch_end=lambda row, _: self._tell(row, name, epochs, share),
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint) / name,
            keep_checkpoint=True,
        )
        with seeded(seed):
            network = self.make()
        network, history = train(
            network,
            sample,
            objective,
            epochs=epochs,
            batch_size=self.plan.batch_size,
            optimizer="adamw",
            lr=_LR,
            weight_decay=_DECAY,
            seed=seed,
            options=options,
        )
        self._refresh(network, sample, seed, options.least_per_batch)
        done = len(self.history)
        self.history += [
            row | {"epoch": done + place, "stage": stage, "network": int(number or 0)}
            for place, row in enumerate(history)
        ]
        return network

    def _refresh(self, network: nn.Module, sample: TrainingSample, seed: int, least: int) -> None:
        plan = BatchPlan(sample.groups, self.plan.batch_size, seed, least)
        batches = (sample.rows.take(rows) for rows in plan.epoch(0)[:_STATISTICS])
        with seeded(seed):
            refresh(network, (batch for batch in batches if isinstance(batch, Tensor)))

    def _tell(self, row: dict[str, float], name: str, epochs: int, share: float) -> None:
        self._passed += share
        last = int(row["epoch"]) + 1 == epochs
        if not self.passes or (time.monotonic() < self._due and not last):
            return
        self._due = time.monotonic() + _PAUSE
        seconds = (time.monotonic() - self._started) / self._passed
        left = max(self.passes - self._passed, 0) * seconds
        print(
            f"{name}: epoch {int(row['epoch']) + 1}/{epochs}, risk {row['train_risk']:.4f}; "
            f"{seconds:.1f} s a pass over all images, about {_duration(left)} left",
            file=sys.stderr,
            flush=True,
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
