"""What tests/training/test_distributed.py trains, in one process and in two.

Each case is a function without arguments that returns something torch can save. The test calls it
itself, for the result of one process. Started by torchrun this file runs all cases named on the
command line, in both processes, and saves what each of them returned or raised:

    torchrun --nproc-per-node 2 tests/training/ranks.py FOLDER CASE...
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from scipy import sparse
from torch import nn

from nnpu import models
from nnpu.data.rows import as_rows
from nnpu.objective import Objective
from nnpu.terminal import is_first
from nnpu.training import Training, TrainingSample, loop, train
from nnpu.training.checkpoint import CheckpointFolder
from nnpu.training.distributed import joined

RANK = int(os.environ.get("RANK", "0"))


def make_sample(n_p=100, n_u=300, n_n=0, d=20, as_sparse=False, seed=0):
    """P around +1, U half of each kind, N around −1."""
    rng = np.random.default_rng(seed)
    half = n_u // 2
    centres = np.r_[np.ones(n_p + half), -np.ones(n_u - half + n_n)]
    x = rng.normal(centres[:, None], 1.5, (n_p + n_u + n_n, d)).astype(np.float32)
    s = torch.tensor([1] * n_p + [0] * n_u + [-1] * n_n, dtype=torch.int8)
    return TrainingSample(as_rows(sparse.csr_array(x) if as_sparse else x), s)


def seeded(make):
    torch.manual_seed(0)
    return make()


def run(model, sample, objective=None, *, options=None, **settings):
    """Train for 50 steps unless told otherwise; return weights, history and every branch."""
    branches = []
    step = loop.train_step

    def watched(*arguments):
        result = step(*arguments)
        branches.append(result[2].corrected.clone())
        return result

    loop.train_step = watched
    try:
        model, history = train(
            model,
            sample,
            objective or Objective(0.8),
            **({"epochs": 5, "batch_size": 40, "lr": 1e-2} | settings),
            options=options,
        )
    finally:
        loop.train_step = step
    return {
        "weights": {name: value.clone() for name, value in model.state_dict().items()},
        "history": history,
        "branches": torch.stack(branches),
    }


# Equal to one process.


def perceptron():
    return run(seeded(lambda: models.mlp(20, (16, 16, 16, 16))), make_sample())


def perceptron_in_float64():
    return run(seeded(lambda: models.mlp(20, (16, 16, 16, 16)).double()), make_sample())


def one_positive_in_a_batch():
    """It comes first in its batch, and so to rank 0: rank 1 has none."""
    return run(seeded(lambda: models.mlp(20, (16,)).double()), make_sample(n_p=10, n_u=390))


def one_row_in_a_batch():
    """Rank 1 has nothing at all."""
    sample = make_sample(n_p=0, n_u=50)
    return run(seeded(lambda: models.linear(20).double()), sample, epochs=1, batch_size=1)


class Pictures(nn.Module):
    """Two kinds of batch norm, one of them with a cumulative average, and no weights of its own."""

    def __init__(self):
        super().__init__()
        self.seen = nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.BatchNorm2d(4, momentum=None),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * 2 * 3, 6),
            nn.BatchNorm1d(6, affine=False),
            nn.Softsign(),
            nn.Linear(6, 1),
        )
        self.unused = nn.Linear(3, 3)
        self.bare = nn.BatchNorm1d(1, track_running_stats=False)

    def forward(self, x):
        return self.bare(self.seen(x.view(len(x), 1, 4, 5)))


def convolutions_and_unused_weights():
    return run(seeded(lambda: Pictures().double()), make_sample(), weight_decay=0.1)


def everything_at_once():
    """A discount, a tolerance, a schedule, a warm-up, averages, early stopping, known negatives."""
    return run(
        seeded(lambda: models.mlp(20, (16,)).double()),
        make_sample(n_n=40),
        Objective(0.7, risk="nnpnu", sampling="one-sample", beta=0.01, gamma=0.3),
        lr=0.05,
        options=Training(
            schedule="cosine",
            averaging=0.9,
            warm_up=0.2,
            validation_fraction=0.2,
            patience=2,
            monitor="risk",
        ),
    )


def sparse_rows():
    net = seeded(lambda: models.TabularNet(torch.zeros(20), torch.ones(20), (8, 8), dropout=0))
    return run(net, make_sample(as_sparse=True))


def deep(kind=torch.float32):
    """The 6-layer perceptron at MNIST's width, whose rounding errors Adam magnifies."""
    sample = make_sample(n_p=500, n_u=4500, d=784)
    sample.rows.x += 20 * torch.randn(
        sample.rows.x.shape, generator=torch.Generator().manual_seed(1)
    )
    sample.rows.x /= 20
    net = seeded(lambda: models.mlp(784).to(kind))
    return run(net, sample, Objective(0.6), epochs=10, batch_size=1000, lr=1e-3)


def deep_in_float64():
    return deep(torch.float64)


# The local mode.


def local():
    return run(
        seeded(lambda: models.linear(20).double()),
        make_sample(),
        Objective(0.7, gamma=0.5),
        options=Training(parallel="local"),
        optimizer="sgd",
        epochs=2,
        lr=0.05,
    )


def bounds():
    """Risks of random scores, shared out unevenly: of the total, and the mean over the parts."""
    found = []
    generator = torch.Generator().manual_seed(0)
    with joined("local") as world:
        for _ in range(40):
            scores = torch.randn(60, generator=generator, dtype=torch.float64)
            s = (torch.rand(60, generator=generator) < 0.3).long()
            mine = (torch.rand(60, generator=generator) < 0.7) == (world.rank == 0)
            whole = Objective(0.8).terms(scores, s)
            total = Objective(0.8).with_pool(world.total).terms(scores[mine], s[mine])
            part = Objective(0.8).with_pool(world.part).terms(scores[mine], s[mine])
            mean = np.mean(world.gather(part.risk.item()))
            found.append([whole.risk.item(), total.risk.item(), mean])
    return torch.tensor(found, dtype=torch.float64)


def counter_example():
    """U losses 0.5, P losses {1} here and {0, 0, 0} there, π = 0.9, with ℓ(−g) = g."""
    with joined("local") as world:
        p = [1.0] if world.rank == 0 else [0.0, 0.0, 0.0]
        scores = torch.tensor([*p, 0.5, 0.5], dtype=torch.float64)
        s = torch.tensor([1] * len(p) + [0, 0])
        goal = Objective(0.9, loss=lambda z: -z)
        own, part, total = (
            goal.with_pool(pool).terms(scores, s) if pool else goal.terms(scores, s)
            for pool in (None, world.part, world.total)
        )
        means = [
            float(np.mean(world.gather(terms.negative.clamp(min=0).item())))
            for terms in (own, part)
        ]
        return [*means, total.negative.clamp(min=0).item()]


# What one process does for all, and what all must agree on.


def callers_group():
    """With a process group of the caller's, which is left as it is."""
    dist.init_process_group("gloo")
    try:
        result = everything_at_once()
        assert dist.is_initialized()
    finally:
        dist.destroy_process_group()
    return result


def callbacks():
    """Rank 0 is asked, and adds to the history; its answer ends the run everywhere."""
    calls = []

    def ask(row, model):
        calls.append(row["epoch"])
        row["rank"] = RANK
        return row["epoch"] == 1

    found = run(seeded(lambda: nn.Linear(20, 1)), make_sample(), options=Training(on_epoch_end=ask))
    return {"calls": calls, "history": found["history"]}


def other_data():
    return run(seeded(lambda: nn.Linear(20, 1)), make_sample(seed=RANK))


def other_shape():
    return run(seeded(lambda: models.mlp(20 + RANK)), make_sample(d=20 + RANK))


def other_length():
    return run(seeded(lambda: nn.Linear(20, 1)), make_sample(n_u=300 + RANK))


def other_seed():
    return run(seeded(lambda: nn.Linear(20, 1)), make_sample(), seed=RANK)


def checkpoint_in_one_process():
    options = Training(checkpoint=SCRATCH / "lonely" if RANK == 0 else None)
    return run(seeded(lambda: nn.Linear(20, 1)), make_sample(), options=options)


def another_runs_folder():
    with joined():
        run(
            seeded(lambda: nn.Linear(20, 1)),
            make_sample(),
            epochs=1,
            options=Training(checkpoint=SCRATCH / "kept", keep_checkpoint=True),
        )
        return run(
            seeded(lambda: nn.Linear(20, 1)),
            make_sample(),
            options=Training(checkpoint=SCRATCH / "kept"),
        )


def a_full_disk():
    """Only rank 0 writes, and only rank 0 meets the fault."""

    def save(self, state):
        raise OSError(28, "No space left on device")

    CheckpointFolder.save, kept = save, CheckpointFolder.save
    try:
        options = Training(checkpoint=SCRATCH / "full", checkpoint_every=3)
        return run(seeded(lambda: nn.Linear(20, 1)), make_sample(), options=options)
    finally:
        CheckpointFolder.save = kept


# Runs that go on.


class Fault(Exception):  # noqa: N818
    """Stands for anything that ends a process."""


def random_net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(20, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 1)
    )


def going_on(name, model=None):
    """A run with checkpoints, from the last one of them."""
    options = Training(
        checkpoint=SCRATCH / name, checkpoint_every=2, averaging=0.8, validation_fraction=0.2
    )
    return run(model or random_net(), make_sample(), options=options)


def meeting(model, rank, step, act):
    """Return a model in whose forward pass of that step a process acts."""
    steps = iter(range(10**6))

    def hook(module, inputs):
        if module.training and next(steps) == step and rank == RANK:
            act()

    model.register_forward_pre_hook(hook)
    return model


def fail():
    raise Fault


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def raised_and_went_on(rank, step, name):
    """A run in which a process raises, and the run that goes on from there."""
    try:
        going_on(name, meeting(random_net(), rank, step, fail))
    except Fault:
        ended = "fault"
    except ConnectionError as error:
        ended = str(error)
    return {"ended": ended, **going_on(name)}


def rank_1_gets_ctrl_c():
    try:
        going_on("keyboard", meeting(random_net(), 1, 9, press))
    except KeyboardInterrupt:
        ended = "interrupted"
    return {"ended": ended, **going_on("keyboard")}


def undisturbed():
    options = Training(averaging=0.8, validation_fraction=0.2)
    return run(random_net(), make_sample(), options=options)


def rank_0_raises():
    return raised_and_went_on(0, 17, "zero")


def rank_1_raises():
    return raised_and_went_on(1, 25, "one")


def small(n_features):
    return models.mlp(n_features, (16,))


def classifier():
    """Fit and save, as a user does, in every process."""
    from nnpu import PUClassifier

    sample = make_sample()
    x, s = sample.rows.x.numpy(), sample.s.numpy()
    fitted = PUClassifier(0.6, module=small, epochs=3, random_state=0).fit(x, s)
    fitted.save(SCRATCH / "model")
    return {"weights": fitted.module_.state_dict(), "history": fitted.history_}


def command_line():
    """``nnpu fit`` in every process; rank 0 prints."""
    from nnpu.cli import main

    sample = make_sample(n_p=60, n_u=240, d=3)
    table = np.c_[sample.s.numpy(), sample.rows.x.numpy()]
    lines = ["s,a,b,c", *(",".join(map(str, row)) for row in table.tolist())]
    data = SCRATCH / f"table-{RANK}.csv"
    data.write_text("\n".join(lines))
    out = ["--out", str(SCRATCH / "from-the-command-line"), "--prior", "0.6", "--epochs", "2"]
    main(["fit", str(data), "--label", "s", "--parallel", "local", *out])


def other_command():
    from nnpu.cli import main

    try:
        main(["predict", "model", "table.csv"])
    except SystemExit as error:
        return error.code


# Faults that end a process; the other one is watched.


def rank_1_dies():
    return run(meeting(random_net(), 1, 7, die), make_sample())


def rank_1_freezes():
    return run(meeting(random_net(), 1, 7, freeze), make_sample())


def rank_1_is_killed():
    """At the first attempt; torchrun then starts both processes again."""
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    model = meeting(random_net(), 1, 13, die) if attempt == "0" else random_net()
    return {"attempt": attempt, **going_on("killed", model)}


def main() -> None:
    """Run the cases that both processes have not finished in an attempt before this one."""
    for name in sys.argv[2:]:
        if all((SCRATCH / f"{name}-{rank}.pt").exists() for rank in (0, 1)):
            continue
        try:
            outcome = globals()[name]()
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        torch.save(outcome, SCRATCH / f"{name}-{RANK}.pt")
        assert is_first() == (RANK == 0)


if __name__ == "__main__":
    SCRATCH = Path(sys.argv[1])
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    main()
