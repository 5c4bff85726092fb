"""A run that was stopped anywhere goes on and ends in the bits of one that was not."""

from __future__ import annotations

import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from nnpu import PUClassifier, models
from nnpu.data.rows import as_rows
from nnpu.objective import Objective
from nnpu.parameters import InputError, ParameterError
from nnpu.training import Training, TrainingSample, checkpoints_beside, loop, train
from nnpu.training.checkpoint import CheckpointFolder

ROOT = Path(__file__).parents[2]
EPOCHS, STEPS = 2, 3  # 120 rows in batches of 40


def make_sample(seed=0, as_sparse=False):
    rng = np.random.default_rng(seed)
    centres = np.r_[np.ones(66), -np.ones(54)]
    x = rng.normal(centres[:, None], 1.0, (120, 3)).astype(np.float32)
    rows = as_rows(sparse.csr_array(x) if as_sparse else x)
    return TrainingSample(rows, torch.tensor([1] * 30 + [0] * 90))


def net(seed=0):
    """Weights, running statistics, and random numbers at every step."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 1)
    )


class Stop(Exception):  # noqa: N818  # not an error: the end
    """Stands for anything that ends a process."""


def stop_at(model, step):
    """Let the model raise in its forward pass of that step, counted from this start."""
    calls = iter(range(10**6))

    def hook(module, inputs):
        if module.training and next(calls) == step:
            raise Stop

    model.register_forward_pre_hook(hook)
    return model


def draw_once(row, model):
    """The generator's state at the end of an epoch shows in the history."""
    row["draw"] = torch.rand(()).item()


class Fit:
    """Runs `train` and keeps its optimiser."""

    def __init__(self, monkeypatch, **changes):
        self.objective = changes.pop("objective", Objective(0.4))
        self.options = {"on_epoch_end": draw_once, **changes.pop("options", {})}
        self.settings = {"epochs": EPOCHS, "batch_size": 40, "lr": 0.05, **changes}
        make = loop.make_optimizer

        def kept(*arguments, **keywords):
            self.optimizer = make(*arguments, **keywords)
            return self.optimizer

        monkeypatch.setattr(loop, "make_optimizer", kept)

    def __call__(self, model=None, sample=None, **options):
        model, history = train(
            model or net(),
            sample or make_sample(),
            self.objective,
            options=Training(**(self.options | options)),
            **self.settings,
        )
        return model.state_dict(), self.optimizer.state_dict(), history


def same(a, b):
    """Equality to the last bit, of types too."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


RUNS = {
    "adam": {},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.01},
    "adagrad": {"optimizer": "adagrad"},
    "rmsprop": {"optimizer": "rmsprop"},
    "sgd with momentum": {"optimizer": functools.partial(torch.optim.SGD, momentum=0.9)},
    "averaging": {"options": {"averaging": 0.8}},
    "cosine after a warm-up": {"options": {"schedule": "cosine", "warm_up": 0.4}},
    "early stopping": {"options": {"validation_fraction": 0.3, "patience": 1}, "lr": 1.0},
    "gamma": {"objective": Objective(0.6, gamma=0.3)},
    "all at once": {
        "objective": Objective(0.6, gamma=0.3, beta=0.01),
        "options": {"averaging": 0.8, "validation_fraction": 0.3, "patience": 1, "warm_up": 0.3},
    },
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_stopped_at_any_step_ends_in_the_same_bits(name, monkeypatch, tmp_path):
    fit = Fit(monkeypatch, **RUNS[name])
    expected = fit()
    for step in range(EPOCHS * STEPS):
        folder = tmp_path / str(step)
        with pytest.raises(Stop):
            fit(stop_at(net(), step), checkpoint=folder, checkpoint_every=1)
        assert folder.exists() == (step > 0)
        assert same(fit(checkpoint=folder), expected)
        assert not folder.exists()


@pytest.mark.parametrize("every", [2, 4, 5])
def test_a_run_that_goes_on_from_steps_before_the_stop_ends_in_the_same_bits(
    every, monkeypatch, tmp_path
):
    fit = Fit(monkeypatch, options={"averaging": 0.8})
    expected = fit()
    with pytest.raises(Stop):
        fit(stop_at(net(), 5), checkpoint=tmp_path / "run", checkpoint_every=every)
    counted = net()
    calls = []
    counted.register_forward_pre_hook(lambda module, _: calls.append(module.training))
    assert same(fit(counted, checkpoint=tmp_path / "run"), expected)
    assert len(calls) == EPOCHS * STEPS - 5 // every * every  # only what was not done before


def test_a_run_stopped_at_every_step_of_every_restart_gets_to_its_end(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()
    for _ in range(EPOCHS * STEPS - 1):
        with pytest.raises(Stop):
            fit(stop_at(net(), 1), checkpoint=tmp_path / "run", checkpoint_every=1)
    assert same(fit(checkpoint=tmp_path / "run"), expected)


def test_a_run_stopped_in_its_callback_calls_it_again(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()

    def stop(row, model):
        raise Stop

    for _ in range(2):
        with pytest.raises(Stop):
            fit(checkpoint=tmp_path / "run", checkpoint_every=1, on_epoch_end=stop)
    assert same(fit(checkpoint=tmp_path / "run"), expected)


def test_checkpoints_change_nothing_and_time_can_decide(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()
    saved = []
    save = CheckpointFolder.save
    monkeypatch.setattr(
        CheckpointFolder, "save", lambda self, state: (saved.append(1), save(self, state))
    )
    for every, times in ((timedelta(0), 6), (timedelta(hours=1), 0), (4, 1)):
        saved.clear()
        assert same(fit(checkpoint=tmp_path / "run", checkpoint_every=every), expected)
        assert len(saved) == times


def test_buffers_that_a_module_keeps_out_of_its_state_are_in_the_checkpoint(monkeypatch, tmp_path):
    class Counting(nn.Linear):
        """Scores that depend on how many steps were done."""

        def __init__(self):
            super().__init__(3, 1)
            self.register_buffer("calls", torch.zeros(()), persistent=False)

        def forward(self, x):
            self.calls += self.training
            return super().forward(x) * (1 + self.calls)

    def fresh():
        torch.manual_seed(0)
        return Counting()

    fit = Fit(monkeypatch)
    expected = fit(fresh())
    with pytest.raises(Stop):
        fit(stop_at(fresh(), 4), checkpoint=tmp_path / "run", checkpoint_every=1)
    assert same(fit(fresh(), checkpoint=tmp_path / "run"), expected)


def test_a_finished_run_that_is_kept_is_not_run_again(monkeypatch, tmp_path):
    fit = Fit(monkeypatch, options={"validation_fraction": 0.3, "patience": 1})
    kept = {"checkpoint": tmp_path / "run", "keep_checkpoint": True}
    expected = fit(**kept)
    assert same(fit(stop_at(net(), 0), **kept), expected)


# Interruptions by the keyboard.


def test_an_interruption_in_a_step_waits_for_its_end_and_is_not_lost(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()
    seen = []

    def press(module, inputs):
        seen.append(module.training)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    model = net()
    model.register_forward_pre_hook(press)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(model, checkpoint=tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before
    assert len(seen) == 2
    with CheckpointFolder(tmp_path / "run") as folder:
        state = folder.load()["run"]
    assert (state["epoch"], state["step"]) == (0, 2)
    assert same(fit(checkpoint=tmp_path / "run"), expected)


def test_a_second_interruption_does_not_wait_and_keeps_the_last_checkpoint(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()
    seen = []

    def press_twice(module, inputs):
        seen.append(module.training)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("the second interruption was held back")

    model = net()
    model.register_forward_pre_hook(press_twice)
    with pytest.raises(KeyboardInterrupt):
        fit(model, checkpoint=tmp_path / "run", checkpoint_every=1)
    assert same(fit(checkpoint=tmp_path / "run"), expected)


def test_an_interruption_between_epochs_writes_a_checkpoint(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()

    def interrupt(row, model):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(checkpoint=tmp_path / "run", on_epoch_end=interrupt)
    assert (tmp_path / "run").exists()
    assert same(fit(checkpoint=tmp_path / "run"), expected)


def test_an_interruption_after_the_last_step_keeps_the_finished_run(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    expected = fit()

    def press(row, model):
        draw_once(row, model)
        if row["epoch"] == EPOCHS - 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(checkpoint=tmp_path / "run", on_epoch_end=press)
    assert same(fit(stop_at(net(), 0), checkpoint=tmp_path / "run"), expected)


# Which run a folder belongs to.


@pytest.fixture
def begun(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    with pytest.raises(Stop):
        fit(stop_at(net(), 3), checkpoint=tmp_path / "run", checkpoint_every=1)
    return tmp_path / "run"


def other_dropout():
    model = net()
    model[3] = nn.Dropout(0.1)
    return model


@pytest.mark.parametrize(
    ("name", "changes", "call"),
    [
        ("data", {}, {"sample": make_sample(seed=1)}),
        ("model", {}, {"model": net(1)}),
        ("model", {}, {"model": other_dropout()}),
        ("objective", {"objective": Objective(0.5)}, {}),
        ("objective", {"objective": Objective(0.4, loss="logistic")}, {}),
        ("objective", {"objective": Objective(0.4, risk="upu")}, {}),
        ("options", {}, {"averaging": 0.5}),
        ("options", {}, {"on_epoch_end": None}),
        ("optimizer", {"optimizer": "sgd"}, {}),
        ("lr", {"lr": 0.06}, {}),
        ("seed", {"seed": 1}, {}),
        ("epochs", {"epochs": 3}, {}),
        ("batch_size", {"batch_size": 41}, {}),
        ("weight_decay", {"weight_decay": 1e-9}, {}),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_left_alone(
    begun, monkeypatch, name, changes, call
):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    with pytest.raises(InputError, match=f"of another run: the {name} differs.*remove this one"):
        Fit(monkeypatch, **changes)(checkpoint=begun, **call)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before


def test_one_changed_cell_or_label_makes_the_data_other_data(begun, monkeypatch):
    cell, label = make_sample(), make_sample()
    cell.rows.x[77, 1] += 1e-3
    label.s[77] = 1
    for sample in (cell, label, make_sample(as_sparse=True)):
        with pytest.raises(InputError, match=r"the data (differs|and the objective differ)"):
            Fit(monkeypatch)(checkpoint=begun, sample=sample)


def test_a_second_run_in_the_same_folder_is_refused_while_the_first_goes_on(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    refused = []

    def second(row, model):
        draw_once(row, model)
        with pytest.raises(InputError, match=r"is in use: another run writes to it"):
            CheckpointFolder(tmp_path / "run")
        refused.append(row["epoch"])

    expected = fit()
    assert same(fit(checkpoint=tmp_path / "run", on_epoch_end=second), expected)
    assert refused == [0, 1]


# What a write can meet.


@contextmanager
def largest_file(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def no_permission(folder):
    """Take the right to write away; the superuser has it anyway and becomes somebody else."""
    folder.chmod(0o555)
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.parametrize("fault", ["disk full", "read-only"])
def test_a_failed_write_is_an_error_and_the_checkpoint_before_stays(monkeypatch, fault):
    work = Path(tempfile.mkdtemp())
    work.chmod(0o755)  # somebody else must be able to come this far
    folder = work / "run"
    fit = Fit(monkeypatch)
    expected = fit()

    def meet_fault(row, model):
        draw_once(row, model)
        context = largest_file(2_000) if fault == "disk full" else no_permission(folder)
        context.__enter__()
        contexts.append(context)

    contexts = []
    try:
        with pytest.raises(OSError, match=r"File too large|Permission denied"):
            fit(checkpoint=folder, checkpoint_every=2, on_epoch_end=meet_fault)
    finally:
        contexts[0].__exit__(None, None, None)
    with CheckpointFolder(folder) as checkpoints:
        state = checkpoints.load()["run"]
    assert (state["epoch"], state["step"]) == (0, 2)
    assert same(fit(checkpoint=folder), expected)
    shutil.rmtree(work)


def test_a_folder_that_cannot_be_made_is_an_error_before_any_step(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="is not a folder"):
        Fit(monkeypatch)(stop_at(net(), 0), checkpoint=tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        Fit(monkeypatch)(stop_at(net(), 0), checkpoint=tmp_path / "file" / "run")


def test_a_folder_that_is_removed_in_mid_run_is_an_error(monkeypatch, tmp_path):
    def remove(row, model):
        shutil.rmtree(tmp_path / "run")

    with pytest.raises(InputError, match="was removed while the run was writing"):
        Fit(monkeypatch)(checkpoint=tmp_path / "run", checkpoint_every=1, on_epoch_end=remove)


def test_what_a_checkpoint_cannot_hold_is_an_error_that_says_so(monkeypatch, tmp_path):
    def add(row, model):
        row["when"] = object()

    with pytest.raises(InputError, match=r"cannot hold <object.*numbers, text and collections"):
        Fit(monkeypatch)(checkpoint=tmp_path / "run", checkpoint_every=1, on_epoch_end=add)


# Through the classifier, and beside a result.


def test_the_classifier_goes_on_from_a_checkpoint(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    s = (x[:, 0] > 0.5).astype(int)

    def classifier(stop=None, **options):
        def watch(row, model):
            if row["epoch"] == stop:
                raise Stop

        return PUClassifier(
            0.4,
            module=functools.partial(models.mlp, 3, (8,)),
            epochs=4,
            random_state=0,
            training=Training(on_epoch_end=watch, averaging=0.9, **options),
        )

    expected = classifier().fit(x, s)
    with pytest.raises(Stop):
        classifier(2, checkpoint=tmp_path / "run", checkpoint_every=1).fit(x, s)
    resumed = classifier(checkpoint=tmp_path / "run").fit(x, s)
    assert resumed.decision_function(x).tobytes() == expected.decision_function(x).tobytes()
    assert resumed.history_ == expected.history_
    assert not (tmp_path / "run").exists()


def test_checkpoints_beside_a_result_stay_until_it_is_stored(monkeypatch, tmp_path):
    fit = Fit(monkeypatch)
    target, partial = tmp_path / "model", tmp_path / "model.partial"

    def make(model, store):
        with checkpoints_beside(target) as training:
            assert (training.schedule, training.warm_up) == ("cosine", 0.2)  # the classifier's
            fit(model, checkpoint=training.checkpoint, keep_checkpoint=training.keep_checkpoint)
            store()

    def die():
        raise Stop

    with pytest.raises(Stop):  # after the training and before the result is stored
        make(net(), die)
    assert partial.exists()
    make(stop_at(net(), 0), lambda: target.write_text("stored"))
    assert target.exists()
    assert not partial.exists()


def test_options_of_another_type_are_refused():
    with pytest.raises(ParameterError, match=r"'checkpoint' parameter.*path of a folder or None"):
        Training(checkpoint=3)
    for bad in (0, 1.5, "30 s", True):
        with pytest.raises(ParameterError, match="'checkpoint_every' parameter"):
            Training(checkpoint_every=bad)


# SIGKILL.


def torture(kills, seed):
    command = [sys.executable, ROOT / "benchmarks" / "torture.py"]
    outcome = subprocess.run(
        [*command, "--kills", str(kills), "--seed", str(seed)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return json.loads(outcome.stdout)


def test_a_run_survives_sigkill_at_random_moments_and_while_it_writes():
    result = torture(kills=8, seed=1)
    assert result["kills"] == 8
    assert result["during_write"] >= 2
    assert result["finished"] >= 1
    assert [result[name] for name in ("unreadable", "lost", "failed", "different")] == [0] * 4


@pytest.mark.slow
def test_two_hundred_sigkills_lose_nothing():
    result = torture(kills=200, seed=2)
    assert result["kills"] == 200
    assert result["during_write"] >= 50
    assert [result[name] for name in ("unreadable", "lost", "failed", "different")] == [0] * 4
