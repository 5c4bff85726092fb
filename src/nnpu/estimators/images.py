"""`ImagePU`: images in, scores out, with a convolutional network in two stages.

The first network is fitted by Algorithm 1. Its scores of U become soft labels whose mean is the
share of positives, and a new network is fitted to them. A tenth of the images is kept out of both,
for the calibration. If the prior is to be estimated, networks on halves of the data come first.
With an hour a larger network first learns which way up images are, and all others start from it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from nnpu.extras import needing

with needing("torch", extra="torch", owner="ImagePU"):
    import torch
    from torch import Tensor

from nnpu.calibration import positive_share, soft_labels
from nnpu.data.folds import PUStratifiedKFold
from nnpu.data.vectors import as_array
from nnpu.estimators import loading
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.estimators.image_network import (
    ConvNet,
    Upright,
    augmentation,
    channel_scale,
    moves,
    refresh,
)
from nnpu.estimators.image_rows import ImageFormat, equal_images, open_images
from nnpu.estimators.network import arrays_of, weights_for
from nnpu.files import write_text
from nnpu.objective import Objective
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_number,
    shown,
)
from nnpu.prior import estimate_prior
from nnpu.risk import Terms
from nnpu.storage import check_history
from nnpu.training import Training, TrainingSample, predict_scores, train
from nnpu.training.batches import BatchPlan, derive_seed
from nnpu.training.checkpoint import CheckpointFolder, check_checkpoints
from nnpu.training.run_state import seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import nn

    from nnpu.data.rows import Rows
    from nnpu.estimators.labels import Labels
    from nnpu.losses import Loss
    from nnpu.training.run_state import History

__all__ = [
    "RUNS",
    "STAGES",
    "TIMED",
    "HeldOut",
    "ImageFolds",
    "ImagePU",
    "Stages",
    "TrainingPlan",
    "budget",
    "read_plan",
    "seconds_an_image",
    "timed_budget",
]

STAGES = ("apart", "half", "first", "second", "pretext")
TIMED = "plan.json"  # of a fit that was given minutes, beside its checkpoints
RUNS = ("pretext", "apart-0", "apart-1", "half-0", "half-1", "first", "second")  # a network each
_BATCH = 256  # images, at most
_LR, _DECAY = 3e-3, 5e-4  # of AdamW at its peak
_LR_LATER = 1e-3  # of a network that starts from the weights of another
_POSITIVES = 64  # labelled images that every batch of the first stage holds, if there are as many
_MEASURED = 20  # batches that batch norm is measured on anew
_FOLDS = 10  # one of them calibrates
_PAUSE = 5.0  # seconds between two lines of progress
_LEAST = 4  # labelled, and unlabelled, images that a fit needs
_TRIED = 3  # steps that tell what one costs
_WORTH = 16  # passes that the residual network needs to be better than the small one
_SPARE = 0.85  # of the time is for passes; scoring takes the rest
_PRETEXT_COST = 0.6  # of a pass, as its images are smaller


class TrainingPlan(NamedTuple):
    """Images per batch, and passes over the data of each kind of network.

    Without a pretext networks start from random weights.
    """

    batch_size: int
    apart: int
    first: int
    second: int
    pretext: int = 0

    def passes(self, *, auto: bool) -> float:
        """All passes of a fit: a tenth is held out, and two networks on halves make one."""
        once = self.pretext * _PRETEXT_COST + self.first + self.second
        return (1 - 1 / _FOLDS) * once + auto * (self.apart + self.first)


def budget(n_rows: int, epochs: int | str) -> TrainingPlan:
    """Return the plan for so many images: at least some hundred steps for every network.

    >>> budget(61_000, "auto"), budget(1_347, "auto").first, budget(1_347, 3).first
    (TrainingPlan(batch_size=256, apart=3, first=8, second=5, pretext=0), 44, 3)
    """
    batch_size = min(_BATCH, max(32, n_rows // 16))
    if not isinstance(epochs, str):
        return TrainingPlan(batch_size, epochs, epochs, epochs)
    steps = -(-n_rows // batch_size)
    first = min(max(8, 750 // steps), 100)
    return TrainingPlan(batch_size, max(3, first // 3), first, max(5, 5 * first // 8))


def timed_budget(
    n_rows: int, seconds: float, costs: tuple[float, float], *, auto: bool
) -> tuple[TrainingPlan, bool]:
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
    (TrainingPlan(batch_size=256, apart=3, first=11, second=23, pretext=34), True)
    >>> timed_budget(50_000, 300, (3.4e-4, 1.2e-3), auto=False)
    (TrainingPlan(batch_size=256, apart=2, first=8, second=8, pretext=0), False)
    """
    batch_size = budget(n_rows, 1).batch_size

    def plan(epochs: int, *, residual: bool) -> TrainingPlan:
        if not residual:
            return TrainingPlan(batch_size, max(1, epochs // 3), epochs, epochs)
        first = max(1, epochs // 2)
        return TrainingPlan(
            batch_size, max(1, first // 3), first, epochs, pretext=max(1, 3 * epochs // 2)
        )

    def longest(*, residual: bool) -> TrainingPlan:
        passes = _SPARE * seconds / (costs[residual] * n_rows)
        share = passes / plan(600, residual=residual).passes(auto=auto)
        return plan(max(1, min(100, int(600 * share))), residual=residual)

    larger = longest(residual=True)
    enough = larger.passes(auto=False) >= _WORTH
    return larger if enough else longest(residual=False), enough


def read_plan(path: Path) -> tuple[TrainingPlan, bool]:
    """Read the plan of a fit that is resumed."""
    try:
        stored = json.loads(path.read_text())
        residual = stored.pop("residual")
        least = {"pretext": 0}
        plan = TrainingPlan(
            **{
                name: check_count(name, n, "the plan", low=least.get(name, 1))
                for name, n in stored.items()
            }
        )
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


class ImageFolds:
    """Which images a network learns from.

    Equal images fall into the same fold, so a positive that is also in U is not recognised.
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


class _Mean(Objective):
    """The mean of what the network returns, which is a loss for each image."""

    def terms(self, scores: Tensor, s: Tensor, *, loss: Loss | None = None) -> Terms:
        total = scores.mean()
        return Terms(total, torch.zeros_like(total), total, total, torch.zeros_like(total).bool())


class _Targets(Objective):
    """The mean of y ℓ(g) + (1 − y) ℓ(−g) with soft labels y, weighted by |2y − 1|.

    A label near one half says nothing, so the surer images decide.
    """

    def terms(self, scores: Tensor, s: Tensor, *, loss: Loss | None = None) -> Terms:
        loss = loss or self.loss
        weight = (2 * s - 1).abs()
        weight = weight / weight.sum().clamp(min=1e-6)
        positive = (weight * s * loss(scores)).sum()
        negative = (weight * (1 - s) * loss(-scores)).sum()
        total = positive + negative
        return Terms(positive, negative, total, total, torch.zeros_like(total).bool())


class _OneSample(TrainingSample):
    """Images that are one sample, whatever their labels."""

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
    plan : TrainingPlan
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
    make: Callable[[], ConvNet]
    plan: TrainingPlan
    sampling: str
    seed: int
    checkpoint: Any = None
    passes: float = 0
    history: History = field(default_factory=list)
    start: ConvNet | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.folds = ImageFolds(self.rows, self.codes, self.seed)
        self._started, self._passed, self._due = time.monotonic(), 0.0, 0.0

    def pretext(self) -> None:
        """Learn which way up images are, for a network that all others start from."""
        if not self.plan.pretext:
            return
        sample = _OneSample(self.rows, torch.from_numpy(self.codes), self._kept)
        objective = _Mean(0.5, loss="logistic")
        network = self._network("pretext", sample, objective, self.plan.pretext)
        assert isinstance(network, Upright)
        self.start = network.network

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
        sample = _OneSample(self.rows, torch.from_numpy(labels), self._kept)
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
            network: nn.Module = self._new(name)
        network, history = train(
            network,
            sample,
            objective,
            epochs=epochs,
            batch_size=self.plan.batch_size,
            optimizer="adamw",
            lr=_LR if name == "pretext" or self.start is None else _LR_LATER,
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

    def _new(self, name: str) -> nn.Module:
        network = self.make()
        if name == "pretext":
            return Upright(network)
        if self.start is not None:
            network.start_from(self.start)
        return network

    def _refresh(self, network: nn.Module, sample: TrainingSample, seed: int, least: int) -> None:
        plan = BatchPlan(sample.groups, self.plan.batch_size, seed, least)
        batches = (sample.rows.take(rows) for rows in plan.epoch(0)[:_MEASURED])
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


_OWNER = "ImagePU"
_DIRECTIONS = 32  # in which images are compared
_MOST_PIXELS = 2**26  # of an image that a model folder may ask for


class ImagePU(BasePUClassifier):
    """A classifier of images from labelled positives and unlabelled images.

    A small convolutional network is fitted by nnPU. Its scores become soft labels of the unlabelled
    images, with the prior as their mean, and a new network is fitted to those. No true label is
    needed for any of it.

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The class prior π_p: the share of positives among the unlabelled images (two-sample) or
        among all images (one-sample). "auto" estimates it from scores of networks on images they
        were not fitted to; see ``prior_estimate_``.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        "two-sample": the positives were collected separately from the unlabelled images.
        "one-sample": all images are one sample, and some of its positives got a label.
    augment : str, list of str, callable or None, default="auto"
        How images are changed at random in training. "auto" moves them by up to two pixels;
        "crop" by up to an eighth of their side; "flip" mirrors them left to right. Several names
        are applied in turn. A callable takes a batch, a float tensor of shape (n, c, h, w) on the
        scale of the images, and returns one of the same shape. None changes nothing. Where images
        are moved by name, the score of an image is the mean over five views of it.
    epochs : int or "auto", default="auto"
        Passes of each network over its images. "auto" takes eight for nnPU and five for the
        network after it, and more where there are fewer than 24,000 images.
    minutes : float or None, default=None
        About how long the fit may take, in place of `epochs`. A few steps are timed, and the fit
        takes as many passes as there is time for: of a larger, residual network if that can do at
        least sixteen. That one first learns from all images, without labels, which way up they
        are. The same seed gives the same bits only if the number of passes comes out the same;
        ``history_`` has a row for each.
    size : (int, int) or None, default=None
        Height and width to which image files are resized. None needs files of one size.
    checkpoint : path-like or None, default=None
        A folder for checkpoints. A fit that was stopped goes on from there when it is called again
        with the same images and parameters, and gives the same bits. It may hold nothing else, and
        disappears after the fit.
    random_state : int, RandomState or None, default=None
        The same seed on the same machine gives the same bits.
    verbose : int, default=0
        1 shows what an epoch costs and how long the rest will take, every few seconds.

    Attributes
    ----------
    classes_, sampling_, prior_, prior_estimate_, n_features_in_
        As in `BasePUClassifier`.
    module_ : torch.nn.Module
        The last network.
    image_shape_ : (channels, height, width)
        Of the images.
    calibration_, threshold_
        From scores to probabilities, by a tenth of the images that no network was fitted to; and
        the cut of `predict`: where as many unlabelled images are positive as the prior says, or
        where the probability is one half if the prior is an estimate: few images have such a
        probability, so a wrong estimate matters less. With a given prior, cut and probability
        may disagree; ``choose_threshold(at="half")`` makes them agree.
    history_ : list of dict
        One row per epoch: ``stage`` (0 positives against unlabelled images and 1 nnPU on halves,
        both for the prior; 2 nnPU; 3 soft labels; 4 which way up images are, whose risk is a
        cross-entropy), ``network``, and the training risk as in `PUClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import ImagePU
    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(0, 60, (240, 8, 8), dtype=np.uint8)
    >>> images[:120, 2:6, 3:5] += 150                       # a bar in the first 120
    >>> s = np.r_[np.ones(60), np.zeros(180)]               # 60 of them are labelled
    >>> clf = ImagePU(prior=1 / 3, epochs=20, random_state=0).fit(images, s)
    >>> clf.predict(images[[100, 200]])
    array([1., 0.])
    """

    _takes_images = True
    _trains_in_epochs = True
    _format: ImageFormat

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        sampling: str = "two-sample",
        augment: str | Sequence[str] | Callable[[Tensor], Tensor] | None = "auto",
        epochs: int | str = "auto",
        minutes: float | None = None,
        size: tuple[int, int] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.sampling = sampling
        self.augment = augment
        self.epochs = epochs
        self.minutes = minutes
        self.size = size
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def pixels(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return some images to look at, as bytes of shape (k, height, width, channels).

        Parameters
        ----------
        X : images
            As in `predict`.
        rows : ndarray of int
            Which of them.
        """
        images = self._validate(X).take(torch.tensor(rows.tolist()))
        assert isinstance(images, torch.Tensor)
        low, high = (0.0, 255.0) if self._format.kind == "bytes" else self._format.limits()
        shown = ((images - low) / (high - low) * 255).round().clamp(0, 255).to(torch.uint8)
        return np.ascontiguousarray(shown.permute(0, 2, 3, 1).numpy())

    def directions(self, X: Any) -> NDArray[np.float32]:
        """Return what the network sees of each image, in a few numbers.

        They are the first principal components of what its last layer is given, whose variances
        are 1 on the mean. Other images have other components: compare images of one call only.

        Parameters
        ----------
        X : images
            As in `predict`.

        Returns
        -------
        array of shape (n, k)
            k is 32, or less where there are fewer images.
        """
        check_is_fitted(self)
        rows, network, parts = self._validate(X), self.module_.eval(), []
        assert isinstance(network, ConvNet)
        weight = next(network.parameters())
        with torch.inference_mode():
            for index in torch.arange(len(rows)).split(2048):
                images = rows.take(index)
                assert isinstance(images, torch.Tensor)
                parts.append(network.features(images.to(weight)).cpu().numpy())
        seen = np.concatenate(parts)
        seen -= seen.mean(axis=0)
        k = min(_DIRECTIONS, *seen.shape)
        left, size, _ = randomized_svd(seen, k, random_state=0)
        scale = np.sqrt(len(seen) * k) / max(float(np.linalg.norm(size)), 1e-12)
        return np.asarray(left * (size * scale), dtype=np.float32)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        augmentation(self.augment, 8, 8, _OWNER)
        if isinstance(self.epochs, str):
            check_choice("epochs", self.epochs, _OWNER, ["auto"], also="an int")
        else:
            check_count("epochs", self.epochs, _OWNER)
        if self.minutes is not None:
            check_number("minutes", self.minutes, _OWNER, low=0, high=100_000, include_low=False)
            if self.epochs != "auto":
                raise ParameterError(
                    f"The 'epochs' parameter of {_OWNER} must be 'auto' if 'minutes' is given. Got "
                    f"{shown(self.epochs)} instead."
                )
        if not isinstance(self.verbose, bool):
            check_count("verbose", self.verbose, _OWNER, low=0)
        if self.size is not None:
            if not isinstance(self.size, tuple | list) or len(self.size) != 2:
                raise ParameterError(
                    f"The 'size' parameter of {_OWNER} must be (height, width) or None. Got "
                    f"{shown(self.size)} instead."
                )
            for side in self.size:
                check_count("size", side, _OWNER)
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise ParameterError(
                f"The 'checkpoint' parameter of {_OWNER} must be a path or None. Got "
                f"{shown(self.checkpoint)} instead."
            )

    def _validate(self, X: Any, s: Any = "no_validation") -> Any:
        """Open the images; those of a prediction must be like those of the fit."""
        size = None if self.size is None else (int(self.size[0]), int(self.size[1]))
        if isinstance(s, str):
            return open_images(X, _OWNER, size=size, fitted=self._format)[0]
        rows, self._format = open_images(X, _OWNER, size=size)
        s = validate_data(self, y=as_array(s))
        check_consistent_length(rows, s)
        self.n_features_in_, self.image_shape_ = self._format.size, self._format.shape
        return rows, s

    def _prepare(self, data: FitData) -> Stages:
        if data.groups is not None:
            raise ParameterError(
                f"The 'groups' parameter of {self._owner} must be None: images are not held out by "
                "groups."
            )
        if self.checkpoint is not None:
            check_checkpoints(self.checkpoint, RUNS, files=(TIMED,))
        _, height, width = self.image_shape_
        augment = augmentation(self.augment, height, width, _OWNER)
        shown_as = (self.image_shape_, *channel_scale(data.x), augment, moves(self.augment))
        plan, residual = self._plan(data.x, lambda larger: ConvNet(*shown_as, residual=larger))
        passes = plan.passes(auto=self.prior == "auto")
        work = Stages(
            data.x,
            data.codes,
            lambda: ConvNet(*shown_as, residual=residual),
            plan,
            self.sampling,
            data.seed,
            self.checkpoint,
            passes if self.verbose else 0,
        )
        work.pretext()
        return work

    def _plan(self, rows: Rows, make: Callable[[bool], nn.Module]) -> tuple[TrainingPlan, bool]:
        """Return how long the networks are trained, and whether they are residual ones."""
        plan = budget(len(rows), self.epochs)
        if self.minutes is None:
            return plan, False
        kept = None if self.checkpoint is None else Path(self.checkpoint) / TIMED
        if kept is not None and kept.is_file():
            return read_plan(kept)  # resumed: the machine may be busier now than it was then
        costs = [seconds_an_image(make(larger), rows, plan.batch_size) for larger in (False, True)]
        auto = self.prior == "auto"
        plan, residual = timed_budget(len(rows), 60 * self.minutes, (costs[0], costs[1]), auto=auto)
        if self.verbose:
            kind = "larger, residual" if residual else "small"
            passes = f"{plan.first} and {plan.second} passes"
            print(f"{self.minutes:g} minutes: {passes} of the {kind} network", file=sys.stderr)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_text(kept, json.dumps({**plan._asdict(), "residual": residual}) + "\n")
        return plan, residual

    def _prior_samples(
        self, data: FitData, work: Stages
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], None]:
        """Scores of P and U by networks of nnPU, under a prior from scores of P against U."""
        apart = work.apart()
        rough = estimate_prior(*apart.samples, sampling=self.sampling, random_state=data.seed)
        return *work.halves(float(np.clip(rough.value, 0.01, 0.99))).samples, None

    def _fit_scores(self, data: FitData, work: Stages) -> None:
        share = positive_share(self.prior_, data.codes, self.sampling)
        self.module_ = work.second(work.first(self.prior_), share)
        self.history_ = work.history
        self.threshold_ = self._cut(data.x, data.codes, share)
        held_out = work.held_out(self.module_)
        failed = "The held-out images could not calibrate the probabilities"
        calibrated = self._calibrate_on(held_out.scores, held_out.codes, failed)
        calibrated = calibrated and self.calibration_.slope > 0
        if calibrated and self.prior_estimate_ is not None:
            self.threshold_ = -self.calibration_.intercept / self.calibration_.slope
        work.finish()

    def _cut(self, rows: Rows, codes: Labels, share: float) -> float:
        """Return the cut above which a share of the unlabelled images scores.

        All of them are counted: the share among a tenth of them is another by chance.
        """
        index = torch.from_numpy(np.flatnonzero(codes == 0))
        scores = predict_scores(self.module_, rows, index=index).numpy()
        cut = np.quantile(scores, 1 - share, method="higher")
        return float(np.nextafter(cut, np.float32(-np.inf)))

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return predict_scores(self.module_, X).numpy()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        fitted["history"] = self.history_
        fitted["images"] = vars(self._format)
        fitted["averaged"] = bool(self.module_.averaged)
        fitted["residual"] = bool(self.module_.residual)
        return tensors | arrays_of(self.module_), fitted

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        self._format = _stored_format(fitted["images"])
        if self._format.size != self.n_features_in_:
            raise InputError("The number of features is not that of the images.")
        self.image_shape_ = self._format.shape
        residual = fitted.get("residual") is True  # False before 0.3.0
        with torch.device("meta"):  # sizes are compared before anything is allocated
            expected = ConvNet(self.image_shape_, residual=residual).state_dict()
        weights = weights_for(expected, tensors)
        averaged = fitted["averaged"] is True
        network: nn.Module = ConvNet(self.image_shape_, averaged=averaged, residual=residual)
        network.load_state_dict(weights)
        self.module_ = network.eval()
        self.history_ = check_history(fitted["history"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _stored_format(stored: Any) -> ImageFormat:
    """Return the format of a model folder if it is valid."""
    found = ImageFormat(**stored)
    for name in ("channels", "height", "width"):
        check_count(name, getattr(found, name), "the model folder")
    if found.size > _MOST_PIXELS or not isinstance(found.signed, bool):
        raise ValueError("the format of the images is not valid")
    check_choice("kind", found.kind, "the model folder", ["bytes", "floats"])
    loading.check_finite("low", found.low)
    loading.check_finite("high", found.high)
    check_number("negative", found.negative, "the model folder", low=0, high=1)
    return found
