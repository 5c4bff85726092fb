"""The two stages of `ImagePU`: nnPU on halves of U, then soft labels for all of it.

Two networks are fitted by Algorithm 1, each to one half of U and three quarters of P. Each scores
the half that it has not seen. Those scores, calibrated, become soft labels whose mean over U is the
prior's share of positives, and a third network is fitted to them: it sees every image, with labels
that no network learned by heart.
"""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import expit, logit
from torch import Tensor

from nnpu.data.folds import PUStratifiedKFold
from nnpu.estimators._image_network import refresh
from nnpu.estimators._image_rows import equal_images
from nnpu.objective import Objective
from nnpu.parameters import InputError
from nnpu.risk import Terms
from nnpu.training import Training, TrainingSample, predict_scores, train
from nnpu.training.batches import BatchPlan, derive_seed
from nnpu.training.seeds import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import nn

    from nnpu.data.rows import Rows
    from nnpu.estimators.labels import Labels
    from nnpu.losses import Loss
    from nnpu.training._run import History

__all__ = ["Folds", "HeldOut", "Plan", "Stages", "budget", "positive_share", "soft_labels"]

_BATCH = 512
_LR, _DECAY = 3e-3, 5e-4
_POSITIVES = 64  # labelled images that every batch of the first stage holds, if there are as many
_STATISTICS = 20  # batches that batch norm is measured on anew
_QUARTERS = 4


class Plan(NamedTuple):
    """Images per batch and passes over the data: of P against U, of nnPU, of the last network."""

    batch_size: int
    apart: int
    first: int
    second: int


def budget(n_rows: int, epochs: int | str) -> Plan:
    """Return the plan for so many images: at least some hundred steps for every network.

    >>> budget(61_000, "auto"), budget(1_347, "auto").first, budget(1_347, 3).first
    (Plan(batch_size=512, apart=3, first=8, second=6), 29, 3)
    """
    batch_size = min(_BATCH, max(32, n_rows // 16))
    if not isinstance(epochs, str):
        return Plan(batch_size, epochs, epochs, epochs)
    steps = -(-n_rows // batch_size)
    first = min(max(8, 500 // steps), 100)
    return Plan(batch_size, max(3, first // 3), first, max(6, 3 * first // 4))


class Folds:
    """Which images each of the two first networks learns from, and which it scores.

    All images fall into quarters; equal ones into the same, so that a positive that is also in U
    is not recognised. Network 0 leaves out U of the quarters 0 and 1 and P of quarter 0; network 1
    U of the quarters 2 and 3 and P of quarter 2.
    """

    def __init__(self, rows: Rows, codes: Labels, seed: int) -> None:
        least = min(int((codes == 1).sum()), int((codes == 0).sum()))
        if least < _QUARTERS:
            raise InputError(
                f"ImagePU needs at least {_QUARTERS} labelled and {_QUARTERS} unlabelled images. "
                f"Got {least} of one kind; features of a trained network with LinearPU need fewer."
            )
        quarters = PUStratifiedKFold(_QUARTERS, random_state=seed)
        self.codes, self.quarter = codes, quarters.assign(codes, equal_images(rows))

    def held_out(self, network: int) -> NDArray[np.intp]:
        """The images that a network scores."""
        first = 2 * network
        unlabelled = (self.codes != 1) & np.isin(self.quarter, (first, first + 1))
        return np.flatnonzero(unlabelled | ((self.codes == 1) & (self.quarter == first)))

    def kept(self, network: int) -> NDArray[np.intp]:
        """The images that it learns from."""
        return np.setdiff1d(np.arange(len(self.codes)), self.held_out(network))


class HeldOut(NamedTuple):
    """Scores of images by the network that was not fitted to them: all of U, half of P."""

    rows: NDArray[np.intp]
    scores: NDArray[np.float32]
    codes: Labels


class _Targets(Objective):
    """The mean of y ℓ(g) + (1 − y) ℓ(−g) with soft labels y in place of PU labels."""

    def terms(self, scores: Tensor, s: Tensor, *, loss: Loss | None = None) -> Terms:
        loss = loss or self.loss
        positive, negative = (s * loss(scores)).mean(), ((1 - s) * loss(-scores)).mean()
        total = positive + negative
        return Terms(positive, negative, total, total, torch.zeros_like(total).bool())


class _TargetSample(TrainingSample):
    """Images with soft labels, all of them one sample."""

    @property
    def groups(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.index, self.index[:0], self.index[:0]


def positive_share(prior: float, codes: Labels, sampling: str) -> float:
    """Return the share of positives among the unlabelled rows.

    >>> positive_share(0.5, np.array([1, 0, 0, 0, 0]), "one-sample")
    0.375
    """
    if sampling == "two-sample":
        return prior
    n_p, n_u = int((codes == 1).sum()), int((codes == 0).sum())
    # A prior hardly above the labelled share leaves next to none.
    return float(np.clip((prior * len(codes) - n_p) / n_u, 1e-6, 1 - 1e-6))


def soft_labels(scores: NDArray[Any], slope: float, share: float) -> NDArray[np.float32]:
    """Return σ(slope · score + b), with b such that their mean is `share`.

    Examples
    --------
    >>> labels = soft_labels(np.array([-3.0, 0.0, 1.0, 4.0]), slope=2.0, share=0.25)
    >>> labels.round(2), round(float(labels.mean()), 4)
    (array([0.  , 0.01, 0.04, 0.95], dtype=float32), 0.25)
    """
    z = slope * scores.astype(np.float64)
    z -= np.median(z)
    limit = float(np.abs(z).max() + abs(logit(share))) + 1.0
    b = brentq(lambda b: expit(z + b).mean() - share, -limit, limit)
    labels: NDArray[np.float32] = expit(z + b).astype(np.float32)
    return labels


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
    passes : int
        All epochs of the whole fit, each counted by the share of images in it; 0 tells nothing.
    """

    rows: Rows
    codes: Labels
    make: Callable[[], nn.Module]
    plan: Plan
    sampling: str
    seed: int
    checkpoint: Any = None
    passes: float = 0.0
    history: History = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folds = Folds(self.rows, self.codes, self.seed)
        self._started, self._passed = time.monotonic(), 0.0

    def apart(self) -> HeldOut:
        """Tell P from U, to have a first idea of the prior."""
        objective = Objective(0.5, risk="pn", loss="logistic")
        return self._crossed("apart", 0, objective, self.plan.apart)

    def first(self, prior: float) -> HeldOut:
        """Algorithm 1 on two halves."""
        return self._crossed("first", 1, Objective(prior, sampling=self.sampling), self.plan.first)

    def second(self, labels: NDArray[np.float32]) -> nn.Module:
        """The last network, from soft labels of all images."""
        sample = _TargetSample(self.rows, torch.from_numpy(labels))
        objective = _Targets(0.5, loss="logistic")  # of the prior the labels know
        return self._network("second", 2, sample, objective, self.plan.second)

    def finish(self) -> None:
        """Remove the checkpoints."""
        if self.checkpoint is not None:
            shutil.rmtree(self.checkpoint, ignore_errors=True)

    def _crossed(self, name: str, stage: int, objective: Objective, epochs: int) -> HeldOut:
        s = torch.from_numpy(self.codes)
        index, scores = [], []
        for number in (0, 1):
            sample = TrainingSample(self.rows, s, torch.from_numpy(self.folds.kept(number)))
            network = self._network(f"{name}-{number}", stage, sample, objective, epochs)
            held_out = self.folds.held_out(number)
            index.append(held_out)
            found = predict_scores(network, self.rows, index=torch.from_numpy(held_out))
            scores.append(found.numpy())
        rows = np.concatenate(index)
        return HeldOut(rows, np.concatenate(scores), self.codes[rows])

    def _network(
        self, name: str, stage: int, sample: TrainingSample, objective: Objective, epochs: int
    ) -> nn.Module:
        number = int(name.partition("-")[2] or 0)
        seed = derive_seed(self.seed, stage, number)
        steps = epochs * -(-len(sample) // self.plan.batch_size)
        share = len(sample) / len(self.rows)
        options = Training(
            schedule="one-cycle",
            warm_up=0.2,
            averaging=float(np.clip(1 - 10 / steps, 0.5, 0.99)),  # a tenth of the run
            least_per_batch=min(_POSITIVES, max(1, self.plan.batch_size // 8)) if stage < 2 else 1,
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
            row | {"epoch": done + place, "stage": stage, "network": number}
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
        if not self.passes:
            return
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
