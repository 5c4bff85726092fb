"""Two processes do what one does with the same mini-batches, and no fault of one hangs the other.

`ranks.py` holds the runs: each is made once here, in one process, and once in two.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

import nnpu
from nnpu import models
from nnpu.data import load
from nnpu.losses import get_loss
from nnpu.objective import Objective
from nnpu.parameters import ParameterError
from nnpu.training import BatchPlan, Training
from nnpu.training.distributed import SharedBatchNorm, World, joined

SCRIPT = Path(__file__).with_name("ranks.py")
spec = importlib.util.spec_from_file_location("ranks", SCRIPT)
ranks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ranks)

EQUAL = {  # case: norm of the difference of all weights relative to that of the weights
    "perceptron": 1e-5,
    "perceptron_in_float64": 1e-10,
    "one_positive_in_a_batch": 1e-10,
    "one_row_in_a_batch": 1e-10,
    "convolutions_and_unused_weights": 1e-10,
    "everything_at_once": 1e-10,
    "sparse_rows": 1e-5,
}
DIFFERENT = {
    "other_data": "the data differs between them",
    "other_length": "the data differs between them",
    "other_shape": "the data and the model differ between them",
    "other_seed": "the seed differs between them",
    "checkpoint_in_one_process": "the checkpoint option differs between them",
}
OTHERS = (
    "local",
    "bounds",
    "counter_example",
    "callers_group",
    "callbacks",
    "another_runs_folder",
    "a_full_disk",
    "undisturbed",
    "rank_0_raises",
    "rank_1_raises",
    "rank_1_gets_ctrl_c",
    "classifier",
    "command_line",
    "other_command",
)


class Pair:
    """What both processes of a torchrun made of the cases of `ranks.py`."""

    def __init__(self, folder, cases):
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        command += ["--max-restarts", "1"]
        done = subprocess.run(
            [*command, SCRIPT, folder, *cases],
            env={**os.environ, "OMP_NUM_THREADS": "1", "NNPU_TIMEOUT": "60"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.folder, self.printed, self.errors = folder, done.stdout, done.stderr

    def __getitem__(self, case):
        files = [self.folder / f"{case}-{rank}.pt" for rank in (0, 1)]
        return [torch.load(file, weights_only=False) for file in files]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return Pair(tmp_path_factory.mktemp("pair"), [*EQUAL, *DIFFERENT, *OTHERS])


@functools.cache
def alone(case):
    """What one process makes of a case."""
    return getattr(ranks, case)()


def difference(found, expected):
    """Return the norm of the difference of all weights and buffers relative to their own."""
    assert list(found) == list(expected)
    a, b = (
        torch.cat([value.flatten().double() for value in weights.values()])
        for weights in (found, expected)
    )
    return (torch.linalg.vector_norm(a - b) / torch.linalg.vector_norm(b)).item()


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


# The global mode: equal to one process.


@pytest.mark.parametrize("case", EQUAL)
def test_two_processes_end_where_one_does_by_the_same_branches(pair, case):
    expected = alone(case)
    first, second = pair[case]
    assert same(first, second)
    assert torch.equal(first["branches"], expected["branches"])
    assert difference(first["weights"], expected["weights"]) < EQUAL[case]
    assert len(first["history"]) == len(expected["history"])
    for row, one in zip(first["history"], expected["history"], strict=True):
        assert row == pytest.approx(one, rel=1e-4, abs=1e-6)


def test_the_runs_above_take_both_branches():
    for case in set(EQUAL) - {"one_row_in_a_batch"}:
        assert 0 < alone(case)["branches"].double().mean() < 1


@pytest.mark.slow
def test_a_deep_network_differs_no_more_than_when_one_process_adds_in_another_order(
    tmp_path, monkeypatch
):
    found = Pair(tmp_path, ["deep", "deep_in_float64"])
    expected = {case: alone(case) for case in ("deep", "deep_in_float64")}
    epoch = BatchPlan.epoch
    monkeypatch.setattr(
        BatchPlan,
        "epoch",
        lambda self, number: [torch.cat([b[0::2], b[1::2]]) for b in epoch(self, number)],
    )
    reordered = difference(ranks.deep()["weights"], expected["deep"]["weights"])
    shared = {
        case: difference(found[case][0]["weights"], expected[case]["weights"]) for case in expected
    }
    print(f"{shared}, one process in another order: {reordered}")
    assert shared["deep_in_float64"] < 1e-10
    assert 1e-6 < shared["deep"] < 30 * reordered
    for case, one in expected.items():
        assert torch.equal(found[case][0]["branches"], one["branches"])


def test_processes_share_every_batch_without_overlap():
    groups = [torch.arange(10), torch.arange(10, 47)]
    whole = BatchPlan(groups, batch_size=9, seed=3)
    parts = [BatchPlan(groups, 9, 3, rank=rank, size=3) for rank in range(3)]
    for number, batch in enumerate(whole.epoch(5)):
        shares = [part.epoch(5)[number] for part in parts]
        assert sorted(torch.cat(shares).tolist()) == sorted(batch.tolist())
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


# The local mode.


def test_in_the_local_mode_each_process_corrects_its_own_share(pair):
    """An independent loop over both shares of every batch.

    With global counts n_p, n_u and W = 2 shares, r_k = W (Σ_U ℓ(−g)/n_u − π Σ_P ℓ(−g)/n_p); a
    share descends W π Σ_P ℓ(g)/n_p + r_k, or −γ r_k where r_k < 0; the step follows their mean.
    """
    prior, gamma, sample = 0.7, 0.5, ranks.make_sample()
    model = ranks.seeded(lambda: models.linear(20).double())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss = get_loss("sigmoid")
    plan = BatchPlan(sample.groups, 40, 0)
    branches = []
    for rows in (rows for epoch in range(2) for rows in plan.epoch(epoch)):
        n_p, n_u = (sample.s[rows] == 1).sum(), (sample.s[rows] == 0).sum()
        goals, signs = [], []
        for share in (rows[0::2], rows[1::2]):
            g, s = model(sample.rows.take(share).double())[:, 0], sample.s[share]
            up, down = loss(g[s == 1]).sum() / n_p, loss(-g[s == 1]).sum() / n_p
            r = 2 * (loss(-g[s == 0]).sum() / n_u - prior * down)
            signs.append(bool(r < 0))
            goals.append(-gamma * r if r < 0 else 2 * prior * up + r)
        optimizer.zero_grad()
        (sum(goals) / 2).backward()
        optimizer.step()
        branches.append(signs)
    first, second = pair["local"]
    assert same(first["weights"], second["weights"])
    assert difference(first["weights"], model.state_dict()) < 1e-10
    found = torch.stack([first["branches"], second["branches"]], dim=1).tolist()
    assert found == branches
    assert [True, False] in branches or [False, True] in branches  # the processes disagree
    expected = sum(map(sum, branches[10:])) / 20  # 10 steps an epoch
    assert first["history"][1]["corrected"] == pytest.approx(expected)


def test_the_mean_risk_of_the_parts_bounds_the_risk_of_the_whole_from_above(pair):
    whole, total, mean = pair["bounds"][0].unbind(dim=1)
    assert torch.allclose(total, whole, rtol=1e-12)
    assert (mean >= whole - 1e-12).all()
    assert (mean > whole + 1e-3).any()


def test_parts_with_counts_of_their_own_would_fall_below_the_whole(pair):
    """U losses 1/2; P losses {1} and {0, 0, 0}; π = 0.9. The whole: 1/2 − 0.9/4 = 0.275.

    By own counts: max{0, 1/2 − 0.9} = 0 and 1/2, mean 0.25. By global counts: the parts are
    2 (1/4 − 0.9/4) = 0.05 and 2 (1/4) = 0.5, mean 0.275.
    """
    assert pair["counter_example"][0] == pytest.approx([0.25, 0.275, 0.275])


def test_alone_the_local_mode_is_the_global_one():
    sample, model = ranks.make_sample(), lambda: ranks.seeded(lambda: nn.Linear(20, 1))
    found = [ranks.run(model(), sample, options=Training(parallel=p)) for p in ("global", "local")]
    assert same(*found)


# One process acts for all, and all must agree.


def test_a_process_group_of_the_callers_gives_the_same_bits(pair):
    for mine, expected in zip(pair["callers_group"], pair["everything_at_once"], strict=True):
        assert same(mine, expected)


def test_the_first_process_is_asked_after_an_epoch_and_speaks_for_all(pair):
    first, second = pair["callbacks"]
    assert (first["calls"], second["calls"]) == ([0, 1], [])
    assert first["history"] == second["history"]
    assert [row["rank"] for row in first["history"]] == [0, 0]


@pytest.mark.parametrize("case", DIFFERENT)
def test_processes_that_were_given_different_things_all_say_so(pair, case):
    first, second = pair[case]
    assert first == second
    assert first.startswith("InputError: The 2 processes do not train the same model")
    assert DIFFERENT[case] in first


def test_an_error_with_the_checkpoints_is_raised_in_every_process(pair):
    first, second = pair["another_runs_folder"]
    assert first == second
    assert "holds a checkpoint of another run: the epochs differs" in first
    assert pair["a_full_disk"] == ["OSError: [Errno 28] No space left on device"] * 2


def test_a_fitted_classifier_is_saved_once_and_loads_in_one_process(pair, tmp_path, monkeypatch):
    monkeypatch.setattr(ranks, "SCRATCH", tmp_path, raising=False)
    expected = ranks.classifier()
    first, second = pair["classifier"]
    assert same(first, second)
    assert difference(first["weights"], expected["weights"]) < 1e-5
    loaded = nnpu.load(pair.folder / "model", module=ranks.small)
    assert same(dict(loaded.module_.state_dict()), dict(first["weights"]))


def test_the_command_line_fits_in_two_processes_and_prints_once(pair):
    assert pair.printed.count("Sampling: one-sample.") == 1
    assert pair.printed.count("Model: ") == 1
    assert pair.errors.count("epoch 2/2") == 1
    folder = pair.folder / "from-the-command-line"
    assert len(nnpu.load(folder).classifier_.history_) == 2
    written = (folder / "run.toml").read_text()
    assert 'parallel = "local"' in written
    assert written.startswith("# torchrun --nproc-per-node 2 -m nnpu fit ")
    assert not folder.with_name("from-the-command-line.partial").exists()


def test_other_commands_are_not_run_twice(pair):
    assert pair["other_command"] == [2, 2]
    assert "nnpu predict is not shared between processes: start it without torchrun." in pair.errors


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_a_time_out_that_is_no_time_is_an_error(monkeypatch, text):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "test")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("NNPU_TIMEOUT", text)
    with (
        pytest.raises(ParameterError, match="'NNPU_TIMEOUT' parameter of the environment"),
        joined(),
    ):
        pass


# Faults.


@pytest.mark.parametrize("case", ["rank_0_raises", "rank_1_raises"])
def test_a_run_goes_on_after_a_fault_of_either_process_and_ends_in_the_same_bits(pair, case):
    whole, found = pair["undisturbed"], pair[case]
    raised = int(case[5])
    assert found[raised]["ended"] == "fault"
    assert "Another process of this training has ended" in found[1 - raised]["ended"]
    for mine, expected in zip(found, whole, strict=True):
        assert same(mine["weights"], expected["weights"])
        assert mine["history"] == expected["history"]
        done = len(expected["branches"]) - len(mine["branches"])  # before the fault
        assert done > 0
        assert torch.equal(mine["branches"], expected["branches"][done:])


def test_ctrl_c_in_one_process_stops_all_after_the_same_step_with_a_checkpoint(pair):
    """At step 9 (counted from 0), with a checkpoint due after steps 2, 4, 6 and 8."""
    for mine, expected in zip(pair["rank_1_gets_ctrl_c"], pair["undisturbed"], strict=True):
        assert mine["ended"] == "interrupted"
        assert len(mine["branches"]) == len(expected["branches"]) - 10
        assert same(mine["weights"], expected["weights"])
        assert mine["history"] == expected["history"]


@pytest.mark.slow
def test_torchrun_starts_a_killed_process_again_and_the_run_ends_in_the_same_bits(tmp_path):
    pair = Pair(tmp_path, ["undisturbed", "rank_1_is_killed"])
    whole, found = pair["undisturbed"], pair["rank_1_is_killed"]
    assert [mine["attempt"] for mine in found] == ["1", "1"]
    for mine, expected in zip(found, whole, strict=True):
        assert same(mine["weights"], expected["weights"])
        assert mine["history"] == expected["history"]
        assert len(mine["branches"]) == len(expected["branches"]) - 12  # checkpoint every 2 steps


def by_hand(case, folder, timeout):
    """Start both processes without a launcher, which would end the one that is left."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shared = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TORCHELASTIC_RUN_ID": "by-hand",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "NNPU_TIMEOUT": str(timeout),
    }
    return [
        subprocess.Popen([sys.executable, SCRIPT, folder, case], env=shared | {"RANK": str(rank)})
        for rank in (0, 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "says"),
    [("rank_1_dies", "has ended"), ("rank_1_freezes", "does not answer in time")],
)
def test_when_a_process_is_lost_the_other_says_so_within_the_time_out(tmp_path, case, says):
    first, second = by_hand(case, tmp_path, 10)
    try:
        assert first.wait(200) == 0
        found = torch.load(tmp_path / f"{case}-0.pt", weights_only=False)
    finally:
        second.kill()
        second.wait()
    assert found.startswith(f"ConnectionError: Another process of this training {says}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_torchrun_recovers_from_every_fault_of_every_process():
    script = SCRIPT.parents[2] / "benchmarks" / "torture_ranks.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["faults"] == 18
    assert [result[name] for name in ("failed", "different", "late")] == [0, 0, 0]


# Batch norm.


@pytest.mark.parametrize("shape", [(7, 3), (5, 3, 4), (4, 3, 2, 5)])
@pytest.mark.parametrize("weighed", [True, False])
def test_shared_batch_norm_of_one_process_is_torchs(shape, weighed):
    torch.manual_seed(0)
    x = (3 + torch.randn(shape, dtype=torch.float64)).requires_grad_()
    goal = torch.randn(shape, dtype=torch.float64)
    found = []
    for context in (SharedBatchNorm(torch.clone), World().normalising()):
        layer = nn.BatchNorm1d(3, momentum=0.3, affine=weighed).double()
        layer._check_input_dim = lambda _: None  # any number of axes
        with context:
            y = layer(x)
        gradients = torch.autograd.grad((y * goal).sum(), [x, *layer.parameters()])
        found.append([y, *gradients, *layer.state_dict().values()])
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-12)


def test_shared_batch_norm_keeps_the_digits_of_values_far_from_zero():
    """In float32, mean 1e4 and variance 1: sums of squares would be off by all digits."""
    torch.manual_seed(0)
    x = 1e4 + torch.randn(1000, 2)
    exact = functional.batch_norm(x.double(), None, None, training=True)
    torchs = functional.batch_norm(x, None, None, training=True)
    with SharedBatchNorm(torch.clone):
        y = functional.batch_norm(x, None, None, training=True)
    assert (y - exact).abs().max() < 2 * (torchs - exact).abs().max() < 0.05


def test_one_row_in_all_processes_is_refused_as_by_torch():
    layer = nn.BatchNorm1d(3)
    for context in (SharedBatchNorm(torch.clone), World().normalising()):
        with context, pytest.raises(ValueError, match=r"more than (one row|1 value)"):
            layer(torch.zeros(1, 3))


def test_in_evaluation_batch_norm_uses_its_running_statistics():
    layer = nn.BatchNorm1d(3).eval()
    x = torch.randn(5, 3)
    with SharedBatchNorm(lambda _: pytest.fail("nothing to exchange")):
        found = layer(x)
    assert torch.equal(found, layer(x))


def test_halves_of_a_batch_that_are_normalised_apart_have_another_gradient():
    """What shared batch norm is for: of 100 digits the gradient is off by .43, of 1,000 by .1."""
    digits = load("digits")
    x, y = torch.from_numpy(digits.x_train), torch.from_numpy(digits.y_train)
    objective = Objective(0.5)

    def gradient(rows, parts):
        torch.manual_seed(0)
        model = models.mlp(64)
        scores = torch.cat([model(x[part])[:, 0] for part in rows.view(-1, parts).T])
        s = torch.cat([(y[part] == 1).int() for part in rows.view(-1, parts).T])
        objective.terms(scores, s).objective.backward()
        return torch.cat([weight.grad.flatten() for weight in model.parameters()])

    off = []
    for n in (100, 1000):
        rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:n]
        whole = gradient(rows, 1)
        off.append(float((gradient(rows, 2) - whole).norm() / whole.norm()))
    assert off == pytest.approx([0.43, 0.1], abs=0.05)
