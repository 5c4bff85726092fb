"""Runs a setting: every method on every sampling, each run to a file of its own.

A run is a pure function of its setting, method, sampling and seed. A finished run is never run
again; one that was killed goes on from its last checkpoint, with the same result to the last bit.
Several runs can be under way at once, each in a process of its own.
"""

from __future__ import annotations

import csv
import hashlib
import json
import multiprocessing
import os
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from nnpu import models
from nnpu.data import ChosenRows, as_rows, negative_count, sample_pu
from nnpu.losses import LOSSES
from nnpu.parameters import InputError
from nnpu.training import (
    Objective,
    Training,
    TrainingSample,
    checkpoints_beside,
    derive_seed,
    evaluate,
    predict_scores,
    seeded,
    train,
)
from nnpu_paper.datasets import load
from nnpu_paper.memory import keep_freed_memory
from nnpu_paper.newsgroups import load_glove
from nnpu_paper.results import read_results, write_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from nnpu.data import Dataset
    from nnpu_paper.experiments import Method, Setting
    from nnpu_paper.results import Row

__all__ = ["NETWORKS", "ExperimentRun", "at_hand", "run_all", "run_one"]


def _n_features(data: Dataset) -> int:
    return int(data.x_train[0].size)


def _word_average(dimension: int) -> Callable[[Dataset], nn.Module]:
    def make(data: Dataset) -> nn.Module:
        return models.word_average(torch.from_numpy(load_glove(data.vocabulary, dimension).vectors))

    return make


NETWORKS: dict[str, Callable[[Dataset], nn.Module]] = {
    "linear": lambda data: models.linear(_n_features(data)),
    "mlp-100": lambda data: models.mlp(_n_features(data), (100,), batch_norm=False),
    "mlp-relu": lambda data: models.mlp(_n_features(data)),
    "mlp-softsign": lambda data: models.mlp(_n_features(data), activation="softsign"),
    **{f"word-average-{size}": _word_average(size) for size in (300, 200, 100, 50)},
    "all-convolutional": lambda data: models.all_convolutional(),
}


_CURVES = (
    "train_risk",
    "train_zero_one",
    "train_positive",
    "train_negative",
    "test_risk",
    "test_zero_one",
    "corrected",
)


#: Fields younger than the first runs: at these values they leave the runs' names as they were.
_ADDED = {"n_test": None, "precision": "float32"}


@dataclass(frozen=True)
class ExperimentRun:
    """One method on one sampling of a setting."""

    setting: Setting
    method: Method
    sampling: int
    seed: int

    @property
    def file_name(self) -> str:
        """A name that changes with anything that could change the result."""
        facts = asdict(replace(self.setting, methods=(), samplings=0)) | asdict(self.method)
        for name, default in _ADDED.items():
            if facts[name] == default:
                del facts[name]
        text = json.dumps(facts | {"seed": self.seed, "sampling": self.sampling}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        return f"{self.setting.name}-{self.method.name}-{self.sampling}-{digest}.csv"


def run_all(
    settings: Sequence[Setting], folder: Path, *, seed: int = 0, jobs: int = 1, verbose: int = 0
) -> list[Row]:
    """Run what is not finished yet and return the rows of all runs, in a fixed order.

    Parameters
    ----------
    settings : sequence of Setting
        What to run.
    folder : Path
        Holds a file per finished run.
    seed : int
        From which the samplings, the weights and the batches come.
    jobs : int
        Runs under way at once, each in a process with its share of the threads. The last bits of
        a result depend on the number of threads.
    verbose : int
        1 says which run is under way and, one at a time, shows its progress.
    """
    runs = list(_runs(settings, seed))
    todo = [run for run in runs if not (folder / run.file_name).exists()]
    for run in set(runs).difference(todo):
        _finished_rows(run, folder)  # a foreign file is refused before any work
    if jobs > 1:
        _run_in_processes(todo, folder, jobs, verbose)
    for number, run in enumerate(runs, start=1):
        if verbose and run in todo and jobs == 1:
            _say(f"run {number} of {len(runs)}", run)
        _finish(run, folder, verbose)
    return [row for run in runs for row in _finished_rows(run, folder)]


def _finished_rows(run: ExperimentRun, folder: Path) -> list[Row]:
    """Read a finished run; `InputError` if the file is not that run."""
    path = folder / run.file_name
    try:
        rows = read_results(path)
        told = {(row["setting"], row["method"], row["sampling"]) for row in rows}
        epochs_and_curves = [(row["epoch"], row["curve"]) for row in rows]
    except (KeyError, csv.Error, UnicodeDecodeError):
        told, epochs_and_curves = set(), []
    wanted = [(epoch, curve) for epoch in range(1, run.setting.epochs + 1) for curve in _CURVES]
    if told != {(run.setting.name, run.method.name, run.sampling)} or epochs_and_curves != wanted:
        raise InputError(
            f"{path} is not the run that its name promises: move it away, or choose another --out."
        )
    return rows


def _finish(run: ExperimentRun, folder: Path, verbose: int = 0) -> None:
    """Make the file of a run, unless it is there; remove what is left of its checkpoints."""
    path = folder / run.file_name
    # The paper shuffles the whole sample, also where a block shuffle would be quicker.
    with checkpoints_beside(path, Training(block_rows=None)) as training:
        if not path.exists():
            write_results(path, run_one(run, training=training, verbose=verbose))


def _run_in_processes(runs: Sequence[ExperimentRun], folder: Path, jobs: int, verbose: int) -> None:
    """Finish the runs, `jobs` at a time; an interruption ends them all, each with a checkpoint."""
    threads = max(1, torch.get_num_threads() // jobs)
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_enter_pool, initargs=(threads,)
    )
    under_way = {pool.submit(_finish_in_pool, run, folder): run for run in runs}
    try:
        for number, done in enumerate(as_completed(under_way), start=1):
            done.result()
            if verbose:
                _say(f"finished {number} of {len(runs)}", under_way[done])
    finally:
        pool.shutdown(cancel_futures=True)


def _enter_pool(threads: int) -> None:
    keep_freed_memory()
    torch.set_num_threads(threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process with the one that started it, whose successor wants the run's folder."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _finish_in_pool(run: ExperimentRun, folder: Path) -> None:
    try:
        _finish(run, folder)
    except KeyboardInterrupt:  # the checkpoint is written; no other run is to begin here
        os._exit(130)


def _runs(settings: Sequence[Setting], seed: int) -> Iterator[ExperimentRun]:
    for setting in settings:
        for sampling in range(setting.samplings):
            for method in setting.methods:
                yield ExperimentRun(setting, method, sampling, seed)


def _say(progress: str, run: ExperimentRun) -> None:
    what = f"{run.setting.title}, {run.method.name}, sampling {run.sampling + 1}"
    print(f"{progress}: {what}", file=sys.stderr, flush=True)


_loaded: dict[str, Dataset] = {}


def _load(name: str) -> Dataset:
    """Keep the last data set, which the next run most likely wants again."""
    if name not in _loaded:
        _loaded.clear()
        _loaded[name] = load(name)
    return _loaded[name]


def at_hand(settings: Sequence[Setting]) -> tuple[list[Setting], dict[str, str]]:
    """Return the settings whose data can be had, and for each of the others, by name, why not.

    Parameters
    ----------
    settings : sequence of Setting
        What is to be run. If nothing of it can be, that is an error.
    """
    found, missing = [], {}
    for setting in settings:
        try:
            NETWORKS[setting.model](_load(setting.dataset))  # word vectors are data too
        except InputError as error:
            missing[setting.name] = str(error)
        else:
            found.append(setting)
    if not found:
        raise InputError(next(iter(missing.values())))
    return found, missing


def run_one(
    run: ExperimentRun,
    *,
    training: Training | None = None,
    data: Dataset | None = None,
    verbose: int = 0,
) -> list[Row]:
    """Train one method on one sampling and return its curves, one row per epoch and curve.

    Parameters
    ----------
    run : ExperimentRun
        What to train.
    training : Training, optional
        Options such as where to keep checkpoints.
    data : Dataset, optional
        What to train on; by default the setting's data set is loaded.
    verbose : int
        1 shows progress.
    """
    setting, method = run.setting, run.method
    data = data or _load(setting.dataset)
    n_n = negative_count(data.prior, setting.n_p) if setting.n_n is None else setting.n_n
    drawn = sample_pu(
        data,
        setting.n_p,
        setting.n_u,
        n_n=n_n,
        disjoint=setting.disjoint,
        random_state=run.seed,
        index=run.sampling,
    )
    other = (drawn.index_n, -1) if method.risk == "pn" else (drawn.index_u, 0)
    sample = _sample(as_rows(data.x_train), drawn.index_p, *other)
    objective = Objective(drawn.prior * method.prior_factor, risk=method.risk)
    judge = Objective(drawn.prior, risk=method.risk)
    seed = derive_seed(run.seed, run.sampling)
    with seeded(seed):  # every method starts from the same weights
        model = NETWORKS[setting.model](data)
    test = as_rows(data.x_test[: setting.n_test]), torch.from_numpy(data.y_test[: setting.n_test])
    options = training or Training(block_rows=None)

    def measure(row: dict[str, float], current: nn.Module) -> None:
        """Put the risks at the epoch's end in place of those along its steps."""
        risks = evaluate(judge, predict_scores(current, sample.rows), sample.s)
        row |= {f"train_{name}": value for name, value in risks.items()}
        row |= _test_risks(current, *test)

    _, history = train(
        model,
        sample,
        objective,
        epochs=setting.epochs,
        batch_size=setting.batch_size,
        optimizer=setting.optimizer,
        lr=setting.lr,
        weight_decay=setting.weight_decay,
        seed=seed,
        options=replace(options, precision=setting.precision, on_epoch_end=measure),
        verbose=verbose,
    )
    return [
        {
            "setting": setting.name,
            "method": method.name,
            "prior_factor": method.prior_factor,
            "sampling": run.sampling,
            "epoch": epoch,
            "curve": curve,
            "value": row[curve],
        }
        for epoch, row in enumerate(history, start=1)
        for curve in _CURVES
    ]


def _sample(rows: Any, index_p: Any, index_rest: Any, label: int) -> TrainingSample:
    """P and the rest as one sample; a row that is in both is there twice."""
    index = torch.from_numpy(np.concatenate([index_p, index_rest]))
    s = torch.full((len(index),), label, dtype=torch.int8)
    s[: len(index_p)] = 1
    return TrainingSample(ChosenRows(rows, index), s)


def _test_risks(model: nn.Module, rows: Any, y: Tensor) -> dict[str, float]:
    """R̂_pn on the test data, Eq. (1), with the share of positives that the test data have."""
    margin = predict_scores(model, rows) * y
    return {
        "test_risk": LOSSES["sigmoid"](margin).mean().item(),
        "test_zero_one": LOSSES["zero_one"](margin).mean().item(),
    }
