"""Precision, compilation, and a step that never waits for its device."""

from __future__ import annotations

import shutil

import pytest
import torch
from scipy import sparse
from torch import nn

from nnpu import models
from nnpu.data.rows import as_rows
from nnpu.estimators.network import feature_scale
from nnpu.objective import Objective
from nnpu.parameters import ParameterError
from nnpu.training import Training, TrainingSample, predict_scores, train
from nnpu.training.history import EpochRecord
from nnpu.training.loop import train_step

X = torch.randn(120, 6, generator=torch.Generator().manual_seed(0))
X[:70] += 1
S = torch.tensor([1] * 30 + [0] * 90)


def net():
    torch.manual_seed(0)
    return models.mlp(6, (16, 16))


def fit(model, rows=None, **options):
    sample = TrainingSample(as_rows(X if rows is None else rows), S)
    return train(
        model, sample, Objective(0.4), epochs=5, batch_size=40, lr=0.02, options=Training(**options)
    )


def test_bfloat16_rounds_the_products_and_leaves_weights_and_risk_in_float32():
    seen = []
    half = net()
    half[1].register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    half, history = fit(half, precision="bfloat16")
    exact, exact_history = fit(net())
    assert set(seen) == {torch.bfloat16}
    assert {weight.dtype for weight in half.parameters()} == {torch.float32}
    assert history[-1]["train_risk"] == pytest.approx(exact_history[-1]["train_risk"], abs=0.03)
    assert history[-1]["train_risk"] != exact_history[-1]["train_risk"]
    scores = [predict_scores(model, as_rows(X)) for model in (half, exact)]
    assert torch.corrcoef(torch.stack(scores))[0, 1] > 0.98


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_after_a_validation_the_model_is_in_training_again(precision):
    """96 of 120 rows are trained on, in 3 batches, 5 times; each moves the running statistics."""
    model, _ = fit(net(), precision=precision, validation_fraction=0.2)
    assert model[2].num_batches_tracked == 15


def test_bfloat16_takes_sparse_batches_too():
    torch.manual_seed(0)
    table = sparse.csr_array(X.clamp(min=0).numpy())
    model = models.TabularNet(*feature_scale(as_rows(table)), hidden=(8, 8))
    _, history = fit(model, table, precision="bfloat16")
    assert history[-1]["train_risk"] < history[0]["train_risk"]


def test_where_nothing_compiles_the_option_is_refused_with_the_reason(monkeypatch):
    def fails(function):
        raise RuntimeError("no working C++ compiler\nand a long traceback")

    monkeypatch.setattr(torch, "compile", fails)
    with pytest.raises(
        ParameterError, match=r"'compile' parameter of Training must be False .*g\+\+.*no working"
    ):
        fit(net(), compile=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_compiled_run_learns_what_a_plain_one_learns(precision):
    compiled, history = fit(net(), compile=True, precision=precision)
    plain, plain_history = fit(net(), precision=precision)
    tolerance = 1e-3 if precision == "float32" else 0.03
    assert history[-1]["train_risk"] == pytest.approx(
        plain_history[-1]["train_risk"], abs=tolerance
    )
    assert isinstance(compiled, nn.Sequential)  # the model itself comes back, not a wrapper
    assert list(compiled.state_dict()) == list(plain.state_dict())


@pytest.mark.parametrize(
    "options",
    [{"precision": "float16"}, {"compile": "yes"}, {"block_rows": 0}, {"block_rows": "a"}],
)
def test_other_values_are_refused(options):
    with pytest.raises(ParameterError, match=f"'{next(iter(options))}' parameter of Training"):
        Training(**options)


@pytest.mark.parametrize("gamma", [1.0, 0.5])
@pytest.mark.parametrize("risk", ["nnpu", "upu", "abs", "imbalanced", "nnpnu"])
@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_a_step_asks_its_device_for_no_number(gamma, risk, sampling):
    """Tensors on the device "meta" have no values: `.item()`, `bool` and the like raise there."""
    model = net().to("meta")
    objective = Objective(0.4, risk=risk, gamma=gamma, sampling=sampling, shares=(0.25, 0.75, 0.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    record = EpochRecord()
    record.add(
        *train_step(model, TrainingSample(as_rows(X), S), torch.arange(120), objective, optimizer)
    )
    with pytest.raises(RuntimeError):
        record.summary(objective, 0)  # which does ask, once an epoch
