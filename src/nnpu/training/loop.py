"""Algorithm 1: large-scale PU learning by stochastic optimisation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from nnpu.data.rows import SparseBatch
from nnpu.objective import flat_scores
from nnpu.parameters import InputError
from nnpu.torch_settings import plain_torch
from nnpu.training.batches import BatchPlan, SingleBatch, automatic_blocks, derive_seed, prefetched
from nnpu.training.checkpoint import resumable, run_identity
from nnpu.training.distributed import ALONE, joined
from nnpu.training.history import evaluate
from nnpu.training.options import Training, progress_bar
from nnpu.training.run_state import (
    Run,
    TrainingSample,
    accelerated,
    discounted_step,
    make_optimizer,
    seeded,
    set_schedule,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.optim import Optimizer

    from nnpu.data.rows import Rows
    from nnpu.objective import Objective
    from nnpu.risk import Terms
    from nnpu.training.distributed import World
    from nnpu.training.run_state import History

__all__ = ["forward", "predict_scores", "train", "train_step"]


@plain_torch()
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

    The processes of a torchrun, or of a process group, share every mini-batch.

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
        Schedule, averaging, validation, early stopping, and checkpoints: with
        ``Training(checkpoint=folder)`` a run that was killed goes on where it was.
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
    identity = partial(
        run_identity,
        model,
        sample,
        objective,
        options,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=optimizer,
        lr=lr,
        weight_decay=weight_decay,
        seed=seed,
    )
    objective = objective.with_shares(objective.shares or sample.shares)
    sample, held_out = _set_aside(sample, options, seed)
    blocks = automatic_blocks(sample.rows) if options.block_rows == "auto" else options.block_rows
    algorithm = make_optimizer(  # Algorithm 1, line 1
        optimizer, model.parameters(), lr=lr, weight_decay=weight_decay
    )
    warm_up = objective.with_loss("logistic")
    with (
        joined(options.parallel) as world,
        prefetched(sample.rows) as table,
        seeded(seed),
        resumable(Run(model, algorithm, options, world), options, identity) as run,
        progress_bar(epochs, shown=verbose > 0 and world.rank == 0) as bar,
    ):
        plan = BatchPlan(
            sample.groups,
            batch_size,
            seed,
            options.least_per_batch,
            block_rows=blocks,
            rank=world.rank,
            size=world.size,
        )
        # What several processes exchange in a forward pass cannot be compiled.
        compiled = options.compile and world.size == 1
        network = accelerated(model, precision=options.precision, compiled=compiled)
        objective, warm_up = (aim.with_pool(world.total) for aim in (objective, warm_up))
        table = SingleBatch(table) if len(plan) == 1 else table
        sample = TrainingSample(table, sample.s, sample.index)
        while run.epoch < epochs and not run.stopped:  # line 2
            run.begin_epoch(derive_seed(seed, run.epoch, world.rank))
            network.train()
            batches = table.expect(plan.epoch(run.epoch)[run.step :])
            for rows in run.batches(batches):  # lines 3 and 4
                progress = (run.epoch + run.step / len(plan)) / epochs
                set_schedule(algorithm, lr, options.schedule, progress)
                aim = warm_up if progress < options.warm_up else objective
                run.record.add(*train_step(network, sample, rows, aim, algorithm, world))
                if run.averaged:
                    run.averaged.update_parameters(model)
            row = {"epoch": run.epoch, **run.record.summary(objective, run.epoch, world)}
            row |= _validate(run.current, held_out, objective, world)
            bar.update(row)
            run.end_epoch(row)
    return run.result(), run.history


def train_step(
    model: nn.Module,
    sample: TrainingSample,
    rows: Tensor,
    objective: Objective,
    optimizer: Optimizer,
    world: World = ALONE,
) -> tuple[Tensor, Tensor, Terms]:
    """Lines 5 to 10 of Algorithm 1 on one mini-batch, P and U in one forward pass.

    The branch is chosen on the device, and so is the discount γ < 1: nothing waits for it here.
    The model is in training mode. `rows` are those of this process; it returns their scores and
    labels.
    """
    with world.normalising():
        scores = forward(model, sample.rows.take(rows))
    s = sample.s[rows].to(scores.device)
    pool = world.part if world.local else world.total
    terms = objective.with_pool(pool).terms(scores, s)  # line 5: r ≥ −β or not
    optimizer.zero_grad(set_to_none=True)
    # Departs from the paper: with a branch in each process γ discounts its share of the gradient.
    aim = objective.discounted(terms) / world.size if world.local else terms.objective
    aim.backward()  # lines 6 and 9
    world.add_gradients(model.parameters())
    if objective.gamma < 1 and not world.local:
        discounted_step(optimizer, torch.where(terms.corrected, objective.gamma, 1.0))  # line 10
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


@plain_torch()
def predict_scores(
    model: nn.Module, rows: Rows, *, index: Tensor | None = None, batch_size: int = 2048
) -> Tensor:
    """Return g(x) of the rows of `index` (default all), in order, as a tensor in main memory.

    >>> from nnpu.data.rows import as_rows
    >>> model = nn.Linear(1, 1)
    >>> model.load_state_dict({"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])})
    <All keys matched successfully>
    >>> predict_scores(model, as_rows(torch.tensor([[3.0], [1.0]])))
    tensor([7., 3.])
    """
    model.eval()
    index = torch.arange(len(rows)) if index is None else index
    with torch.inference_mode(), prefetched(rows) as table:
        batches = (table.take(part) for part in table.expect(index.split(batch_size)))
        parts = [forward(model, batch).float().cpu() for batch in batches]
    return torch.cat(parts) if parts else torch.empty(0)


def _set_aside(
    sample: TrainingSample, options: Training, seed: int
) -> tuple[TrainingSample, TrainingSample | None]:
    if options.validation_fraction == 0:
        return sample, None
    return sample.split(options.validation_fraction, seed)


def _validate(
    model: nn.Module, held_out: TrainingSample | None, objective: Objective, world: World
) -> dict[str, float]:
    if held_out is None:
        return {}
    index = held_out.index[world.rank :: world.size]
    scores = predict_scores(model, held_out.rows, index=index)
    values = evaluate(objective, scores, held_out.s[index])
    return {f"valid_{name}": value for name, value in values.items()}
