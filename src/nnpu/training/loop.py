"""Algorithm 1: large-scale PU learning by stochastic optimisation."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from nnpu.data.rows import SparseBatch
from nnpu.objective import flat_scores
from nnpu.parameters import InputError
from nnpu.training.batches import BatchPlan, derive_seed
from nnpu.training.history import EpochRecord, evaluate
from nnpu.training.optimizers import discounted, make_optimizer, set_schedule
from nnpu.training.options import Training
from nnpu.training.progress import progress_bar
from nnpu.training.seeds import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.optim import Optimizer

    from nnpu.data.rows import Rows
    from nnpu.objective import Objective
    from nnpu.risk import Terms
    from nnpu.training.sample import TrainingSample

__all__ = ["forward", "predict_scores", "train", "train_step"]

History = list[dict[str, float]]


def train(
    model: nn.Module,
    sample: TrainingSample,
    objective: Objective,
    *,
    epochs: int,
    batch_size: int,
    optimizer: str | Callable[..., Optimizer] = "adam",
    lr: float = 1e-3,
    weight_decay: float = 0.0,
    seed: int = 0,
    options: Training | None = None,
    verbose: int = 0,
) -> tuple[nn.Module, History]:
    """Train a model by Algorithm 1 and return it with its history.

    Parameters
    ----------
    model : torch.nn.Module
        g(x; θ), on the device to train on; it is changed in place.
    sample : TrainingSample
        P and U (and N).
    objective : Objective
        The prior, the risk, the loss, β and γ.
    epochs, batch_size, optimizer, lr, weight_decay
        N mini-batches of that size per epoch, and 𝒜 with its step size η.
    seed : int
        Decides the mini-batches and what the model itself draws, such as dropout.
    options : Training, optional
        Schedule, averaging, validation and early stopping.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    model : torch.nn.Module
        The model with its final weights: the last, the best or the averaged ones.
    history : list of dict
        One row per epoch.
    """
    options = options or Training()
    objective = objective.with_shares(objective.shares or sample.shares)
    sample, held_out = _set_aside(sample, options, seed)
    plan = BatchPlan(sample.groups, batch_size, seed, options.least_per_batch)
    algorithm = make_optimizer(  # Algorithm 1, line 1
        optimizer, model.parameters(), lr=lr, weight_decay=weight_decay
    )
    averaged = _average_of(model, options.averaging)
    warm_up = objective.with_loss("logistic")
    history: History = []
    best = _Best(options)
    with seeded(seed), progress_bar(epochs, shown=verbose > 0) as bar:
        for epoch in range(epochs):  # line 2
            _seed_torch(derive_seed(seed, epoch))
            record = EpochRecord()
            for step, rows in enumerate(plan.epoch(epoch)):  # lines 3 and 4
                progress = (epoch + step / len(plan)) / epochs
                set_schedule(algorithm, lr, options.schedule, progress)
                aim = warm_up if progress < options.warm_up else objective
                record.add(*train_step(model, sample, rows, aim, algorithm))
                if averaged:
                    averaged.update_parameters(model)
            current = averaged.module if averaged else model
            history.append({"epoch": epoch, **record.summary(objective, epoch)})
            history[-1] |= _validate(current, held_out, objective)
            bar.update(history[-1])
            if best.should_stop(history[-1], current):
                break
    return best.restored(averaged.module if averaged else model), history


def train_step(
    model: nn.Module,
    sample: TrainingSample,
    rows: Tensor,
    objective: Objective,
    optimizer: Optimizer,
) -> tuple[Tensor, Tensor, Terms]:
    """Lines 5 to 10 of Algorithm 1 on one mini-batch, P and U in one forward pass.

    The branch is chosen on the device. Only a discount γ < 1 needs to know it here.
    """
    model.train()
    scores = forward(model, sample.rows.take(rows))
    s = sample.s[rows].to(scores.device)
    terms = objective.terms(scores, s)  # line 5: r ≥ −β or not
    optimizer.zero_grad(set_to_none=True)
    terms.objective.backward()  # lines 6 and 9
    if objective.gamma < 1 and terms.corrected.item():
        with discounted(optimizer, objective.gamma):  # line 10
            optimizer.step()
    else:
        optimizer.step()  # line 7
    return scores, s, terms


def forward(model: nn.Module, batch: Tensor | SparseBatch) -> Tensor:
    """Return g(x) of shape (n,) for a mini-batch, moved to the model's device and type.

    A sparse batch is made dense unless the module says that it ``accepts_sparse``.
    """
    weight = next(model.parameters())
    n = len(batch.offsets) if isinstance(batch, SparseBatch) else len(batch)
    if not isinstance(batch, SparseBatch):
        batch = batch.to(weight)
    elif getattr(model, "accepts_sparse", False):
        batch = batch.to(weight.device)
    else:
        batch = batch.to_dense().to(weight)
    scores = flat_scores(model(batch))
    if len(scores) != n:
        raise InputError(
            f"The module's output must have shape (n,) or (n, 1), one score per row. Got "
            f"{len(scores)} scores for a batch of {n} rows instead."
        )
    return scores


def predict_scores(
    model: nn.Module, rows: Rows, *, index: Tensor | None = None, batch_size: int = 2048
) -> Tensor:
    """Return g(x) of the rows of `index` (default all), in order, as a tensor in main memory."""
    model.eval()
    index = torch.arange(len(rows)) if index is None else index
    with torch.inference_mode():
        batches = (rows.take(part) for part in index.split(batch_size))
        parts = [forward(model, batch).float().cpu() for batch in batches]
    return torch.cat(parts) if parts else torch.empty(0)


def _seed_torch(seed: int) -> None:
    """Seed what a model draws from; `torch.manual_seed` costs more than a small step."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def _set_aside(
    sample: TrainingSample, options: Training, seed: int
) -> tuple[TrainingSample, TrainingSample | None]:
    if options.validation_fraction == 0:
        return sample, None
    return sample.split(options.validation_fraction, seed)


def _average_of(model: nn.Module, decay: float) -> Any:
    """Keep an exponential moving average of weights and buffers, if one is wanted."""
    if decay == 0:
        return None
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)


def _validate(
    model: nn.Module, held_out: TrainingSample | None, objective: Objective
) -> dict[str, float]:
    if held_out is None:
        return {}
    scores = predict_scores(model, held_out.rows, index=held_out.index)
    values = evaluate(objective, scores, held_out.s[held_out.index])
    return {f"valid_{name}": value for name, value in values.items()}


class _Best:
    """Early stopping: the best weights so far and how long ago they were seen."""

    def __init__(self, options: Training) -> None:
        self.options = options
        self.value, self.epoch = float("inf"), 0
        self.weights: dict[str, Any] | None = None

    def should_stop(self, row: dict[str, float], model: nn.Module) -> bool:
        """Take note of an epoch; return whether it was the last."""
        asked = self.options.on_epoch_end is not None and self.options.on_epoch_end(row, model)
        if self.options.patience is None:
            return bool(asked)
        value, epoch = row[f"valid_{self.options.monitor}"], int(row["epoch"])
        if value < self.value:
            self.value, self.epoch = value, epoch
            self.weights = copy.deepcopy(model.state_dict())
        return bool(asked) or epoch - self.epoch >= self.options.patience

    def restored(self, model: nn.Module) -> nn.Module:
        """Return the model with its best weights if they were kept."""
        if self.weights is not None:
            model.load_state_dict(self.weights)
        return model
