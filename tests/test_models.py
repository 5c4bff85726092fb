"""The networks: Table 2's shapes and parameter counts, the default net, dense equals sparse."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from nnpu import models
from nnpu.data.rows import as_rows
from nnpu.estimators.network import feature_scale

EVERY = torch.arange


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def sparse_table(n=40, d=6):
    dense = np.random.default_rng(0).normal(1, 2, (n, d)) * (
        np.random.default_rng(1).random((n, d)) < 0.4
    )
    return dense.astype(np.float32)


def test_the_linear_model_is_one_weight_per_feature_and_a_bias():
    model = models.linear(5)
    x = torch.randn(3, 5)
    weight, bias = model.parameters()
    assert torch.allclose(model(x), x @ weight.T + bias)
    assert bias.item() == 0


def test_the_six_layer_perceptron_has_the_parameters_of_its_plan():
    """784·300 + 3·300² weights without bias, 4 batch norms of 2·300, 300 + 1 at the end."""
    model = models.mlp(784)
    assert count(model) == 784 * 300 + 3 * 300**2 + 4 * 2 * 300 + 301
    assert [m.eps for m in model if isinstance(m, nn.BatchNorm1d)] == [2e-5] * 4


def test_a_layer_without_batch_norm_has_a_bias():
    assert count(models.mlp(10, (7,), batch_norm=False)) == 10 * 7 + 7 + 7 + 1


def test_the_all_convolutional_net_has_nine_convolutions_and_three_linear_layers():
    """Counted from the plan of Section 5: k² i o weights, o biases, 2 o of batch norm each."""
    model = models.all_convolutional()
    plan = [(3, 96, 3), (96, 96, 3), (96, 96, 3), (96, 192, 3), (192, 192, 3), (192, 192, 3)]
    plan += [(192, 192, 3), (192, 192, 1), (192, 10, 1)]
    convolutions = sum(i * o * k * k + o + 2 * o for i, o, k in plan)
    head = (640 * 1000 + 1000) + (1000 * 1000 + 1000) + (1000 + 1)
    assert count(model) == convolutions + head


def test_weights_are_lecun_normal():
    torch.manual_seed(0)
    layer = models.mlp(400, (500,), batch_norm=False)[1]
    assert layer.weight.std().item() == pytest.approx(1 / math.sqrt(400), rel=0.02)
    assert layer.weight.mean().item() == pytest.approx(0, abs=1e-3)
    assert torch.all(layer.bias == 0)


def test_word_average_is_the_mean_of_the_vectors_of_a_documents_words():
    """Word 0 twice and word 2 once: (2 v_0 + v_2) / 3; no word: the zero vector."""
    vectors = torch.tensor([[3.0, 0.0], [9.0, 9.0], [0.0, 6.0]])
    counts = np.array([[2.0, 0, 1], [0, 0, 0]], dtype=np.float32)
    model = models.WordAverage(vectors)
    expected = torch.tensor([[2.0, 2.0], [0.0, 0.0]])
    assert torch.allclose(model(torch.tensor(counts)), expected)
    batch = as_rows(sparse.csr_array(counts)).take(EVERY(2))
    assert torch.allclose(model(batch), expected)


def test_word_vectors_are_learned_only_if_asked():
    fixed, learned = (models.WordAverage(torch.ones(3, 2), trainable=t) for t in (False, True))
    assert [fixed.embeddings.requires_grad, learned.embeddings.requires_grad] == [False, True]


def test_a_document_batch_without_any_word_is_scored():
    model = models.word_average(torch.randn(5, 4), (3,)).eval()
    batch = as_rows(sparse.csr_array((2, 5), dtype=np.float32)).take(EVERY(2))
    assert model(batch).shape == (2, 1)
    assert model.accepts_sparse


def test_feature_scale_is_the_mean_and_the_standard_deviation():
    x = np.random.default_rng(0).normal([3, -1e4, 0], [2, 5, 1e-3], (9_000, 3))
    mean, scale = feature_scale(as_rows(x))
    single = x.astype(np.float32).astype(np.float64)
    assert np.allclose(mean, single.mean(axis=0), rtol=1e-5, atol=1e-6)
    assert np.allclose(scale, single.std(axis=0), rtol=1e-4)


def test_a_constant_feature_has_scale_one_whatever_its_value():
    """Sums of equal numbers round, so that their variance comes out as a little more than 0."""
    values = np.r_[0.0, 1e-20, -7e6, np.random.default_rng(0).normal(size=200)]
    _, scale = feature_scale(as_rows(np.tile(values, (997, 1))))
    assert torch.all(scale == 1)


def test_sparse_features_are_scaled_by_their_root_mean_square_and_not_centred():
    x = sparse_table()
    mean, scale = feature_scale(as_rows(sparse.csr_array(x)))
    assert torch.all(mean == 0)
    assert np.allclose(scale, np.sqrt((x.astype(float) ** 2).mean(axis=0)), rtol=1e-5)


def test_standardise_gives_mean_zero_and_scale_one_before_the_cut():
    x = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)) * 4 + 9
    z = models.Standardise(*feature_scale(as_rows(x)), limit=float("inf"))(x)
    assert torch.allclose(z.mean(dim=0), torch.zeros(3), atol=1e-4)
    assert torch.allclose(z.std(dim=0, correction=0), torch.ones(3), atol=1e-4)


def test_standardise_cuts_at_three_deviations_dense_and_sparse():
    one = torch.ones(1)
    dense = models.Standardise(one, 2 * one)(torch.tensor([[1.0], [8.0], [-8.0], [2.0]]))
    assert dense.flatten().tolist() == [0, 3, -3, 0.5]
    rows = as_rows(sparse.csr_array(np.array([[10.0], [0.0], [4.0]])))
    scaled = models.Standardise(0 * one, 2 * one)(rows.take(torch.arange(3)))
    assert scaled.values.tolist() == [3, 2]


def test_fast_dropout_drops_its_share_keeps_the_mean_and_follows_torchs_seed():
    x = torch.ones(400, 250, requires_grad=True)
    layer = models.FastDropout(0.3)
    torch.manual_seed(1)
    first = layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    assert not torch.equal(layer(x), first)
    dropped = (first == 0).double().mean().item()
    assert abs(dropped - 77 / 256) < 5 * (0.3 * 0.7 / x.numel()) ** 0.5
    assert abs(first.mean().item() - 1) < 0.01
    first.sum().backward()
    assert torch.equal(x.grad, first.detach())  # the same mask, the same scale
    assert layer.eval()(x) is x


def test_fast_dropout_draws_on_the_device_of_its_input(monkeypatch):
    """The meta device stands for any other; a draw in main memory would have to be copied."""
    monkeypatch.setattr(np.random, "SFC64", lambda seed: pytest.fail("drawn in main memory"))
    drawn = []
    draw = torch.randint_like

    def watched(x, *arguments, **keywords):
        drawn.append(draw(x, *arguments, **keywords))
        return drawn[-1]

    monkeypatch.setattr(torch, "randint_like", watched)
    y = models.FastDropout(0.3)(torch.ones(400, 250, device="meta"))
    assert (y.device.type, y.shape, y.dtype) == ("meta", (400, 250), torch.float32)
    assert [noise.device.type for noise in drawn] == ["meta"]
    noise = draw(torch.ones(400, 250), 256, dtype=torch.uint8)
    assert abs((noise < 77).double().mean().item() - 77 / 256) < 0.01


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("batch_norm", [True, False])
def test_the_default_net_scores_a_sparse_batch_as_the_same_dense_one(skip, batch_norm):
    x = sparse_table()
    rows = as_rows(sparse.csr_array(x))
    torch.manual_seed(0)
    model = models.TabularNet(*feature_scale(rows), skip=skip, batch_norm=batch_norm).eval()
    if skip:
        nn.init.normal_(model.skip.weight)
    compressed = model(rows.take(EVERY(40)))
    assert compressed.shape == (40, 1)
    assert torch.allclose(compressed, model(torch.tensor(x)), atol=1e-5)


def test_the_default_net_does_not_see_the_units_of_a_feature():
    """Standardised inside: x and 1000 x − 5, each with its own statistics, give one score."""
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    scores = []
    for table in (x, 1000 * x - 5):
        torch.manual_seed(0)
        scores.append(models.TabularNet(*feature_scale(as_rows(table)))(table))
    assert torch.allclose(*scores, atol=1e-3)


def test_relu_in_place_changes_no_gradient():
    """The oracle is the same network with layers that overwrite nothing."""
    torch.manual_seed(0)
    x = torch.randn(20, 5)
    model = models.mlp(5, (6, 6))
    plain = copy.deepcopy(model)
    for name, layer in plain.named_children():
        if isinstance(layer, nn.ReLU):
            setattr(plain, name, nn.ReLU())
    for network in (model, plain):
        network(x).square().sum().backward()
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad)
