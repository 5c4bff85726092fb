"""The runner: curves by an independent count, the same bits each time, finished runs kept."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from nnpu.data import load
from nnpu.parameters import InputError, ParameterError
from nnpu_paper import runs as runner
from nnpu_paper.experiments import (
    DEMO,
    FIGURE_1,
    FIGURE_2,
    FIGURE_3,
    NNPU,
    PN,
    PRIOR_FACTORS,
    REDUCED,
    UPU,
    Method,
)
from nnpu_paper.results import read_results, write_results
from nnpu_paper.runs import NETWORKS, ExperimentRun, at_hand, run_all, run_one

SHORT = DEMO.shortened(epochs=2)
CURVES = {
    *(f"train_{name}" for name in ("risk", "zero_one", "positive", "negative")),
    "test_risk",
    "test_zero_one",
    "corrected",
}


def value(rows, curve, epoch):
    (found,) = [row["value"] for row in rows if (row["curve"], row["epoch"]) == (curve, epoch)]
    return found


def test_a_run_gives_every_curve_at_every_epoch():
    rows = run_one(ExperimentRun(SHORT, NNPU, 0, 0))
    assert {(row["curve"], row["epoch"]) for row in rows} == {
        (c, e) for c in CURVES for e in (1, 2)
    }
    assert len(rows) == 2 * len(CURVES)
    assert {(row["setting"], row["method"], row["sampling"]) for row in rows} == {
        ("digits", "nnPU", 0)
    }


def test_the_curves_are_those_of_the_model_as_it_is_after_the_epoch(monkeypatch):
    """Training and test errors counted by hand from the scores of a model that is kept."""
    kept = {}
    real = runner.train

    def train(model, sample, objective, **settings):
        kept.update(sample=sample, prior=objective.prior)
        kept["model"], history = real(model, sample, objective, **settings)
        return kept["model"], history

    monkeypatch.setattr(runner, "train", train)
    rows = run_one(ExperimentRun(SHORT, UPU, 0, 0))
    model, sample = kept["model"].eval(), kept["sample"]
    data = load("digits")
    import torch

    with torch.no_grad():
        test = model(torch.tensor(data.x_test).float())[:, 0].numpy()
        train_scores = model(sample.rows.take(torch.arange(len(sample))))[:, 0].numpy()
    assert value(rows, "test_zero_one", 2) == pytest.approx(
        np.mean((test > 0) != (data.y_test > 0))
    )
    assert value(rows, "test_risk", 2) == pytest.approx(
        np.mean(1 / (1 + np.exp(test.astype(float) * data.y_test))), rel=1e-5
    )
    p, u = (train_scores[sample.s.numpy() == label] for label in (1, 0))
    expected = kept["prior"] * np.mean(p < 0) + np.mean(u > 0) - kept["prior"] * np.mean(p > 0)
    assert value(rows, "train_zero_one", 2) == pytest.approx(expected, abs=1e-6)


def test_the_same_run_gives_the_same_bits_and_another_sampling_or_seed_others():
    first = run_one(ExperimentRun(SHORT, NNPU, 0, 0))
    assert run_one(ExperimentRun(SHORT, NNPU, 0, 0)) == first
    assert run_one(ExperimentRun(SHORT, NNPU, 1, 0)) != first
    assert run_one(ExperimentRun(SHORT, NNPU, 0, 1)) != first


def test_all_methods_see_one_sampling_and_start_from_the_same_weights(monkeypatch):
    seen = []

    def train(model, sample, objective, **settings):
        weights = [p.detach().clone() for p in model.parameters()]
        seen.append((weights, sample, objective, settings["seed"]))
        return model, []

    monkeypatch.setattr(runner, "train", train)
    for method in (PN, UPU, NNPU):
        run_one(ExperimentRun(SHORT, method, 0, 0))
    (w_pn, pn, _, seed_pn), (w_u, upu, _, seed_u), (w_nn, nnpu, _, _) = seen
    assert all((a == b).all() and (a == c).all() for a, b, c in zip(w_pn, w_u, w_nn, strict=True))
    assert seed_pn == seed_u
    index = [sample.rows.index[sample.s == 1].tolist() for sample in (pn, upu, nnpu)]
    assert index[0] == index[1] == index[2]
    assert len(index[0]) == 100
    assert [int((sample.s == label).sum()) for sample, label in ((pn, -1), (upu, 0))] == [50, 1247]
    y = load("digits").y_train
    assert set(y[index[0]]) == {1}
    assert set(y[pn.rows.index[pn.s == -1]]) == {-1}
    assert set(index[0]).isdisjoint(upu.rows.index[upu.s == 0].tolist())  # as in Figure 1


def test_a_wrong_prior_is_told_to_the_method_but_not_to_the_judge(monkeypatch):
    priors, judged = [], []
    real_train, real_evaluate = runner.train, runner.evaluate

    def train(model, sample, objective, **settings):
        priors.append(objective.prior)
        return real_train(model, sample, objective, **settings)

    def evaluate(objective, *args):
        judged.append(objective.prior)
        return real_evaluate(objective, *args)

    monkeypatch.setattr(runner, "train", train)
    monkeypatch.setattr(runner, "evaluate", evaluate)
    for factor in (1.0, 1.2):
        run_one(ExperimentRun(DEMO.shortened(epochs=1), Method("m", "nnpu", factor), 0, 0))
    assert priors[1] == pytest.approx(1.2 * priors[0])
    assert judged[0] == judged[1] == priors[0]


def test_a_finished_run_is_read_and_not_run_again(tmp_path, monkeypatch):
    setting = dataclasses.replace(SHORT, methods=(PN, NNPU), samplings=2, epochs=1)
    rows = run_all([setting], tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    next(tmp_path.glob("*nnPU-1*")).unlink()
    done = []

    def noted(run, **options):
        done.append(run)
        return run_one(run, **options)

    monkeypatch.setattr(runner, "run_one", noted)
    assert run_all([setting], tmp_path) == rows  # through CSV and back, and in the same order
    assert [(run.method, run.sampling) for run in done] == [(NNPU, 1)]


def test_several_processes_write_the_same_tables_as_one(tmp_path):
    setting = dataclasses.replace(SHORT, methods=(PN, NNPU), samplings=2, epochs=1)
    with threadpool_limits(1):  # the pool's processes have one each
        alone = run_all([setting], tmp_path / "one")
        together = run_all([setting], tmp_path / "two", jobs=2)
    assert together == alone
    assert file_contents(tmp_path / "two") == file_contents(tmp_path / "one")


def test_an_error_in_a_process_is_raised_and_ends_the_others(tmp_path):
    settings = [dataclasses.replace(SHORT, dataset="nothing"), SHORT]
    with pytest.raises(ParameterError, match="nothing"):
        run_all(settings, tmp_path, jobs=2)


def test_settings_without_their_data_are_told_with_the_reason(monkeypatch):
    def absent(name):
        if name == "mnist":
            raise InputError("mnist is not here")
        return load(name)

    monkeypatch.setattr(runner, "_loaded", {})
    monkeypatch.setattr(runner, "load", absent)
    found, missing = at_hand([FIGURE_2[0], DEMO])
    assert found == [DEMO]
    assert missing == {"mnist": "mnist is not here"}
    with pytest.raises(InputError, match="mnist is not here"):
        at_hand([FIGURE_2[0]])


def test_figure_3_at_the_true_prior_shares_its_runs_with_figure_2():
    names = [
        {ExperimentRun(setting, method, 0, 0).file_name for method in setting.methods}
        for setting in (FIGURE_2[0], FIGURE_3[0])
    ]
    assert len(names[0] & names[1]) == 1


def test_a_run_that_fails_leaves_no_file(tmp_path, monkeypatch):
    def fail(run, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_one", fail)
    with pytest.raises(KeyboardInterrupt):
        run_all([SHORT], tmp_path)
    assert list(tmp_path.iterdir()) == []


def file_contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_that_was_interrupted_goes_on_and_its_table_is_equal_byte_for_byte(
    tmp_path, monkeypatch
):
    """Interrupted at the end of every epoch but the last; no epoch is trained twice."""
    setting = dataclasses.replace(SHORT, methods=(UPU, NNPU), samplings=1, epochs=4)
    run_all([setting], tmp_path / "whole")
    epochs = []

    def evaluate(*arguments):
        epochs.append(1)
        if len(epochs) in (1, 3, 5):
            raise KeyboardInterrupt
        return real(*arguments)

    real = runner.evaluate
    monkeypatch.setattr(runner, "evaluate", evaluate)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_all([setting], tmp_path / "parts")
        assert len(list((tmp_path / "parts").glob("*.csv.partial"))) == 1
    run_all([setting], tmp_path / "parts")
    assert file_contents(tmp_path / "parts") == file_contents(tmp_path / "whole")
    assert len(epochs) == 2 * 4 + 3  # a callback that was interrupted is called again


@pytest.mark.slow
def test_a_process_killed_in_the_middle_of_runs_goes_on_to_the_same_tables(tmp_path):
    code = """
        import dataclasses, functools, sys
        from pathlib import Path
        from nnpu_paper import runs as runner
        from nnpu_paper.experiments import DEMO
        from nnpu.training.checkpoint import CheckpointFolder

        def told(self, state, save=CheckpointFolder.save):
            print("writes", flush=True)
            save(self, state)

        CheckpointFolder.save = told
        runner.Training = functools.partial(runner.Training, checkpoint_every=3)
        setting = dataclasses.replace(DEMO, methods=DEMO.methods[1:], samplings=1, epochs=20)
        runner.run_all([setting], Path(sys.argv[1]))
        print("end", flush=True)
    """
    rng = np.random.default_rng(0)

    def run(folder, writes=10**6):
        """Kill the process in its write of that number; return whether it came to its end."""
        command = [sys.executable, "-c", textwrap.dedent(code), str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            lines = []
            for line in child.stdout:
                lines.append(line)
                if len(lines) == writes:
                    child.kill()
            return lines[-1] == "end\n"

    assert run(tmp_path / "whole")
    kills = 0
    while not run(tmp_path / "parts", rng.integers(8, 30)):
        kills += 1
    assert kills >= 2
    assert file_contents(tmp_path / "parts") == file_contents(tmp_path / "whole")


def test_whatever_changes_the_result_changes_the_file_name():
    base = ExperimentRun(DEMO, NNPU, 0, 0)
    others = [
        dataclasses.replace(base, sampling=1),
        dataclasses.replace(base, seed=1),
        dataclasses.replace(base, method=UPU),
        dataclasses.replace(base, method=Method("nnPU", "nnpu", 0.8)),
    ]
    others += [
        dataclasses.replace(base, setting=dataclasses.replace(DEMO, **change))
        for change in (
            {"lr": 1e-2},
            {"epochs": 3},
            {"n_p": 50},
            {"n_u": 500},
            {"model": "linear"},
            {"disjoint": False},
            {"batch_size": 10},
            {"weight_decay": 0.1},
            {"optimizer": "sgd"},
            {"n_test": 100},
            {"precision": "bfloat16"},
        )
    ]
    assert len({run.file_name for run in [base, *others]}) == len(others) + 1
    fewer = dataclasses.replace(DEMO, samplings=7, methods=(NNPU,))
    assert dataclasses.replace(base, setting=fewer).file_name == base.file_name


def test_the_settings_are_those_of_the_paper():
    assert [setting.dataset for setting in FIGURE_2] == ["mnist", "epsilon", "20news", "cifar10"]
    assert {(s.n_p, s.n_n, s.disjoint) for s in FIGURE_1} == {(100, 50, True)}
    assert {(s.n_p, s.n_n, s.samplings, s.epochs) for s in FIGURE_2} == {(1000, None, 10, 100)}
    assert [s.lr for s in FIGURE_2 if s.dataset in ("mnist", "cifar10")] == [1e-3, 1e-5]
    assert [s.batch_size for s in FIGURE_2 if s.dataset in ("mnist", "cifar10")] == [30_500, 500]
    assert {s.weight_decay for s in FIGURE_2 if s.dataset != "20news"} == {0.005}
    factors = [[method.prior_factor for method in s.methods] for s in FIGURE_3]
    assert factors == [list(PRIOR_FACTORS)] * 4 == [[0.8, 0.9, 1.0, 1.1, 1.2]] * 4
    assert {method.risk for s in FIGURE_3 for method in s.methods} == {"nnpu"}
    assert {s.model for s in (*FIGURE_1, *FIGURE_2, DEMO)} <= set(NETWORKS)


def test_the_reduced_design_keeps_net_losses_optimizer_and_l2_and_has_a_name_of_its_own():
    (paper,) = [setting for setting in FIGURE_2 if setting.name in REDUCED]
    reduced = dataclasses.replace(paper, **REDUCED["cifar10"])
    kept = ("dataset", "model", "optimizer", "weight_decay", "methods", "n_n", "disjoint")
    assert [getattr(reduced, name) for name in kept] == [getattr(paper, name) for name in kept]
    assert "reduced" in reduced.name
    assert "reduced" in reduced.title
    assert reduced.lr > paper.lr


def test_fewer_test_rows_are_the_first_ones(monkeypatch):
    """The error on the first 100 of 450 rows, counted by hand from the kept model's scores."""
    kept = {}
    real = runner.train

    def train(model, *arguments, **settings):
        kept["model"], history = real(model, *arguments, **settings)
        kept["options"] = settings["options"]
        return kept["model"], history

    monkeypatch.setattr(runner, "train", train)
    setting = dataclasses.replace(SHORT, n_test=100, precision="bfloat16")
    rows = run_one(ExperimentRun(setting, NNPU, 0, 0))
    assert kept["options"].precision == "bfloat16"
    data = load("digits")
    import torch

    with torch.no_grad():
        scores = kept["model"].eval()(torch.tensor(data.x_test[:100]).float())[:, 0].numpy()
    assert value(rows, "test_zero_one", 2) == pytest.approx(
        np.mean((scores > 0) != (data.y_test[:100] > 0))
    )


def test_a_table_comes_back_as_it_was_written(tmp_path):
    rows = [
        {"method": "nnPU at 0.8π", "epoch": 1, "value": 0.1 + 0.2},
        {"method": 'a "quoted", one', "epoch": 2, "value": -1e-300},
    ]
    path = write_results(tmp_path / "new" / "table.csv", rows)
    assert read_results(path) == rows
