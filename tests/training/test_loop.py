"""Algorithm 1's loop: the step by hand in all its branches, and what surrounds it."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

from nnpu.data.rows import as_rows
from nnpu.objective import Objective, PULoss
from nnpu.parameters import InputError
from nnpu.training import Training, TrainingSample, predict_scores, train
from nnpu.training.loop import forward, train_step

ALL = torch.arange


def make_sample(n_p=30, n_u=90, d=3, seed=0):
    """P around +1, and U of which 40 % are like P and the rest around −1."""
    rng = np.random.default_rng(seed)
    positive = int(0.4 * n_u)
    centres = np.r_[np.ones(n_p + positive), -np.ones(n_u - positive)]
    x = rng.normal(centres[:, None], 1.0, (n_p + n_u, d))
    s = torch.tensor([1] * n_p + [0] * n_u)
    return TrainingSample(as_rows(x), s)


def linear(d=3, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(d, 1)


def small_net(d=3, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(d, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 1)
    )


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.state_dict().values()])


def fit(model, sample, objective=None, **changes):
    settings = {"epochs": 3, "batch_size": 40, "lr": 0.05}
    return train(model, sample, objective or Objective(0.4), **(settings | changes))


# One step, by hand: g(x) = w x with ℓ(z) = 1 / (1 + e^z), ℓ′ = −ℓ(1 − ℓ).


def slope(z):
    value = 1 / (1 + math.exp(z))
    return -value * (1 - value)


def hand_gradients(w, x_p, x_u, prior):
    """Return r, ∇R̂_pu and ∇(−r) of w ↦ w x.

    r = mean_u ℓ(−wx) − π mean_p ℓ(−wx), so ∇r = mean_u(−x ℓ′(−wx)) − π mean_p(−x ℓ′(−wx)),
    and ∇R̂_pu = π mean_p(x ℓ′(wx)) + ∇r.
    """
    loss = [1 / (1 + math.exp(-w * x)) for x in (*x_p, *x_u)]
    n = len(x_p)
    r = sum(loss[n:]) / len(x_u) - prior * sum(loss[:n]) / n
    down_u = sum(-x * slope(-w * x) for x in x_u) / len(x_u)
    down_p = sum(-x * slope(-w * x) for x in x_p) / n
    gradient_r = down_u - prior * down_p
    up_p = sum(x * slope(w * x) for x in x_p) / n
    return r, prior * up_p + gradient_r, -gradient_r


def one_step(x_p, x_u, *, w=1.0, optimizer=None, lr=0.5, **parameters):
    """Return the weight after one step of Algorithm 1 on all rows."""
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(model.weight, w)
    x = torch.tensor([*x_p, *x_u], dtype=torch.float64)[:, None]
    s = torch.tensor([1] * len(x_p) + [0] * len(x_u))
    algorithm = (optimizer or torch.optim.SGD)(model.parameters(), lr=lr)
    _, _, terms = train_step(
        model, TrainingSample(as_rows(x), s), ALL(len(s)), Objective(**parameters), algorithm
    )
    return model.weight.item(), bool(terms.corrected)


X_P, X_U_ABOVE, X_U_BELOW = [2.0, 1.0], [1.5, -0.5, 1.0], [-1.0, -2.0, -1.5]


def test_a_step_with_r_at_least_zero_descends_the_unbiased_risk():
    r, gradient, _ = hand_gradients(1.0, X_P, X_U_ABOVE, 0.4)
    weight, corrected = one_step(X_P, X_U_ABOVE, prior=0.4)
    assert r > 0
    assert not corrected
    assert weight == pytest.approx(1 - 0.5 * gradient, rel=1e-7)


def test_a_step_with_r_below_minus_beta_ascends_r():
    r, _, ascent = hand_gradients(1.0, X_P, X_U_BELOW, 0.6)
    weight, corrected = one_step(X_P, X_U_BELOW, prior=0.6, beta=0.05)
    assert r < -0.05
    assert corrected
    assert weight == pytest.approx(1 - 0.5 * ascent, rel=1e-7)


def test_a_step_with_r_between_minus_beta_and_zero_descends_the_unbiased_risk():
    r, gradient, _ = hand_gradients(1.0, X_P, X_U_BELOW, 0.6)
    weight, corrected = one_step(X_P, X_U_BELOW, prior=0.6, beta=-r + 0.01, gamma=0.5)
    assert -0.6 < r < 0
    assert not corrected
    assert weight == pytest.approx(1 - 0.5 * gradient, rel=1e-7)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_gamma_discounts_the_step_of_the_correction(gamma):
    _, _, ascent = hand_gradients(1.0, X_P, X_U_BELOW, 0.6)
    weight, _ = one_step(X_P, X_U_BELOW, prior=0.6, gamma=gamma)
    assert weight == pytest.approx(1 - gamma * 0.5 * ascent, rel=1e-7)


def test_gamma_does_not_discount_an_uncorrected_step():
    _, gradient, _ = hand_gradients(1.0, X_P, X_U_ABOVE, 0.4)
    weight, _ = one_step(X_P, X_U_ABOVE, prior=0.4, gamma=0.1)
    assert weight == pytest.approx(1 - 0.5 * gradient, rel=1e-7)


def test_under_plain_sgd_the_discounted_step_is_pulosss_scaled_gradient():
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(model.weight, 1.0)
    x = torch.tensor([*X_P, *X_U_BELOW], dtype=torch.float64)[:, None]
    PULoss(0.6, gamma=0.3)(model(x), torch.tensor([1, 1, 0, 0, 0])).backward()
    torch.optim.SGD(model.parameters(), lr=0.5).step()
    weight, corrected = one_step(X_P, X_U_BELOW, prior=0.6, gamma=0.3)
    assert corrected
    assert weight == pytest.approx(model.weight.item(), rel=1e-7)


def test_under_adam_the_step_is_discounted_where_a_scaled_gradient_would_not_be():
    """Adam's first step is η sign(g) whatever |g|: γ η here, η for a gradient scaled by γ."""
    _, _, ascent = hand_gradients(1.0, X_P, X_U_BELOW, 0.6)
    weight, _ = one_step(X_P, X_U_BELOW, prior=0.6, gamma=0.25, optimizer=torch.optim.Adam, lr=0.1)
    assert weight == pytest.approx(1 - 0.25 * 0.1 * math.copysign(1, ascent), abs=1e-6)


def test_a_gradient_left_over_from_before_does_not_count():
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(model.weight, 1.0)
    model.weight.grad = torch.full((1, 1), 100.0, dtype=torch.float64)
    x = torch.tensor([*X_P, *X_U_ABOVE], dtype=torch.float64)[:, None]
    sample = TrainingSample(as_rows(x), torch.tensor([1, 1, 0, 0, 0]))
    train_step(model, sample, ALL(5), Objective(0.4), torch.optim.SGD(model.parameters(), lr=0.5))
    _, gradient, _ = hand_gradients(1.0, X_P, X_U_ABOVE, 0.4)
    assert model.weight.item() == pytest.approx(1 - 0.5 * gradient, rel=1e-7)


@pytest.mark.parametrize("present", [1, 0])
def test_a_batch_of_one_sample_only_leaves_the_weights_finite(present):
    sample = make_sample()
    rows = ALL(120)[sample.s == present]
    model = linear()
    before = weights(model)
    train_step(model, sample, rows, Objective(0.4), torch.optim.SGD(model.parameters(), lr=0.5))
    assert torch.isfinite(weights(model)).all()
    assert not torch.equal(weights(model), before)


def test_training_without_any_unlabelled_or_any_positive_row_is_no_nan():
    for label in (1, 0):
        sample = make_sample()
        only = TrainingSample(sample.rows, sample.s, ALL(120)[sample.s == label])
        model, history = fit(linear(), only)
        assert torch.isfinite(weights(model)).all()
        assert all(math.isfinite(value) for row in history for value in row.values())


# The loop.


class Recorder(nn.Module):
    """A linear model that notes the batches it is called with."""

    def __init__(self, d=3):
        super().__init__()
        self.layer = nn.Linear(d, 1)
        self.calls = []

    def forward(self, x):
        self.calls.append((self.training, x.detach().clone()))
        return self.layer(x)


def test_positives_and_unlabelled_rows_pass_the_model_together():
    """120 rows in batches of 40: three passes an epoch, each with 10 P and 30 U."""
    sample = make_sample()
    model = Recorder()
    fit(model, sample, epochs=2)
    assert [(training, len(x)) for training, x in model.calls] == [(True, 40)] * 6
    table = sample.rows.take(ALL(120))
    for _, x in model.calls:
        index = [int((table == row).all(dim=1).nonzero()) for row in x]
        assert int(sample.s[index].sum()) == 10


def test_every_row_is_seen_in_every_epoch():
    sample = make_sample()
    model = Recorder()
    fit(model, sample, epochs=2)
    table = sample.rows.take(ALL(120))
    for epoch in (model.calls[:3], model.calls[3:]):
        seen = torch.cat([x for _, x in epoch])
        assert sorted(seen.tolist()) == sorted(table.tolist())


def test_the_loop_is_its_steps_one_after_another():
    sample, objective = make_sample(), Objective(0.4, beta=0.01, gamma=0.5)
    model, _ = fit(linear(), sample, objective, optimizer="sgd", seed=3)
    from nnpu.training import BatchPlan

    by_hand = linear()
    algorithm = torch.optim.SGD(by_hand.parameters(), lr=0.05)
    plan = BatchPlan(sample.groups, 40, 3)
    for epoch in range(3):
        for rows in plan.epoch(epoch):
            train_step(by_hand, sample, rows, objective, algorithm)
    assert torch.equal(weights(model), weights(by_hand))


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    results = []
    for seed in (5, 5, 6):
        model, history = fit(small_net(), make_sample(), seed=seed)
        results.append((weights(model), history))
    assert torch.equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
    assert not torch.equal(results[0][0], results[2][0])


def test_what_was_drawn_before_does_not_change_a_run():
    model = small_net()
    first, _ = fit(copy.deepcopy(model), make_sample())
    torch.rand(17)
    np.random.seed(3)  # noqa: NPY002  # the global generator is what must not matter
    second, _ = fit(copy.deepcopy(model), make_sample())
    assert torch.equal(weights(first), weights(second))


def test_torchs_global_generator_is_left_as_it_was():
    model, sample = small_net(), make_sample()
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    fit(model, sample, options=Training(validation_fraction=0.2))
    assert torch.equal(torch.rand(3), expected)


def test_nnpu_is_upu_to_the_last_bit_while_no_step_is_corrected():
    results = []
    for risk in ("nnpu", "upu"):
        model, history = fit(small_net(), make_sample(), Objective(0.4, risk=risk), lr=0.001)
        results.append((weights(model), history))
    assert all(row["corrected"] == 0 for row in results[0][1])
    assert torch.equal(results[0][0], results[1][0])


def test_nnpu_with_unlimited_tolerance_is_upu_where_upu_overfits():
    sample = make_sample(n_p=5, n_u=60, d=20)
    results = {}
    for name, objective in {
        "upu": Objective(0.4, risk="upu"),
        "tolerant": Objective(0.4, beta=0.4),
        "nnpu": Objective(0.4),
    }.items():
        model, history = fit(linear(20), sample, objective, epochs=60, batch_size=65)
        results[name] = weights(model), history[-1]
    assert results["upu"][1]["train_risk"] < 0
    assert torch.equal(results["upu"][0], results["tolerant"][0])
    assert results["nnpu"][1]["train_negative"] > results["upu"][1]["train_negative"]
    assert results["nnpu"][1]["train_risk"] >= 0


def test_one_sample_shares_are_those_of_the_data_also_where_positives_are_recycled():
    """2 P and 98 U in 20 batches: a sixth of a batch is P, and a fiftieth of the data.

    The unlabelled term is 0.02 mean_P + 0.98 mean_U whatever the batch holds.
    """
    sample = make_sample(2, 98)
    _, history = fit(
        linear(), sample, Objective(0.4, sampling="one-sample"), batch_size=5, epochs=1, lr=1e-12
    )
    scores = predict_scores(linear(), sample.rows).double()
    as_negative = torch.sigmoid(scores)
    mean_p, mean_u = as_negative[:2].mean(), as_negative[2:].mean()
    r = 0.02 * mean_p + 0.98 * mean_u - 0.4 * mean_p
    assert history[0]["train_negative"] == pytest.approx(r.item(), rel=1e-5)


def test_the_history_has_a_row_per_epoch_with_the_risks_and_their_parts():
    _, history = fit(linear(), make_sample(), epochs=4)
    assert [row["epoch"] for row in history] == [0, 1, 2, 3]
    names = {"train_risk", "train_zero_one", "train_positive", "train_negative", "corrected"}
    assert all(set(row) == names | {"epoch"} for row in history)


def test_held_out_rows_are_not_trained_on_and_have_their_risks_recorded():
    model = Recorder()
    _, history = fit(model, make_sample(), epochs=2, options=Training(validation_fraction=0.25))
    trained, evaluated = (
        [sorted(x.tolist()) for training, x in model.calls if training is mode]
        for mode in (True, False)
    )
    assert sum(map(len, trained)) == 2 * 90  # in training mode after an evaluation too
    assert evaluated[0] == evaluated[1]
    assert len(evaluated[0]) == 30
    assert not any(row in evaluated[0] for batch in trained for row in batch)
    extra = {"valid_risk", "valid_zero_one", "valid_positive", "valid_negative"}
    assert all(extra <= set(row) for row in history)


def test_what_a_callback_draws_does_not_change_the_run():
    """Dropout is a function of seed and epoch, which is what makes a run resumable."""
    watching = Training(on_epoch_end=lambda row, model: torch.rand(3) is None)
    plain, watched = (fit(small_net(), make_sample(), options=o)[0] for o in (None, watching))
    assert torch.equal(weights(plain), weights(watched))


def test_training_risks_fall_and_the_model_tells_the_classes_apart():
    sample = make_sample(200, 600)
    model, history = fit(linear(), sample, epochs=20)
    assert history[-1]["train_risk"] < history[0]["train_risk"]
    truth = torch.cat([torch.ones(240), torch.zeros(360)]).bool()
    accuracy = ((predict_scores(model, sample.rows)[200:] > 0) == truth).float().mean()
    assert accuracy > 0.92  # the Bayes error of N(±1, I) in three dimensions is Φ(−√3) = 0.042


class Curve:
    """Watches a run: keeps the weights of every epoch."""

    def __init__(self, stop_after=None):
        self.rows, self.weights, self.stop_after = [], [], stop_after

    def __call__(self, row, model):
        self.rows.append(dict(row))
        self.weights.append(weights(model).clone())
        return len(self.rows) == self.stop_after


def test_early_stopping_restores_the_weights_of_the_best_epoch():
    watch = Curve()
    options = Training(validation_fraction=0.3, patience=3, monitor="risk", on_epoch_end=watch)
    model, history = fit(linear(20), make_sample(8, 60, 20), epochs=300, lr=0.3, options=options)
    values = [row["valid_risk"] for row in history]
    best = int(np.argmin(values))
    assert len(history) == best + 1 + 3 < 300
    assert torch.equal(weights(model), watch.weights[best])
    assert not torch.equal(weights(model), watch.weights[-1])


def test_the_callback_sees_every_row_and_can_stop_the_run():
    watch = Curve(stop_after=2)
    model, history = fit(linear(), make_sample(), epochs=9, options=Training(on_epoch_end=watch))
    assert len(history) == 2
    assert watch.rows == history
    assert torch.equal(weights(model), watch.weights[-1])


def test_without_patience_a_run_keeps_its_last_weights():
    watch = Curve()
    options = Training(validation_fraction=0.3, on_epoch_end=watch)
    model, history = fit(linear(), make_sample(), epochs=6, options=options)
    assert len(history) == 6
    assert torch.equal(weights(model), watch.weights[-1])


class Sizes(torch.optim.SGD):
    """Plain gradient steps that note their size."""

    seen: list[float] = []  # noqa: RUF012  # one run at a time

    def step(self, closure=None):
        Sizes.seen.append(self.param_groups[0]["lr"])
        return super().step(closure)


def test_the_cosine_schedule_runs_over_all_steps_of_the_run():
    Sizes.seen = []
    fit(linear(), make_sample(), epochs=2, optimizer=Sizes, options=Training(schedule="cosine"))
    expected = [0.05 * (1 + math.cos(math.pi * k / 6)) / 2 for k in range(6)]
    assert Sizes.seen == pytest.approx(expected)


def test_averaging_is_the_exponential_mean_of_the_weights_after_each_step():
    """θ̄_1 = θ_1, θ̄_t = 0.8 θ̄_{t−1} + 0.2 θ_t, buffers of batch norm included."""
    every_step, averages = Curve(), Curve()
    sample = make_sample()
    one_batch = {"batch_size": 120, "epochs": 5}
    fit(small_net(), sample, options=Training(on_epoch_end=every_step), **one_batch)
    model, _ = fit(
        small_net(), sample, options=Training(averaging=0.8, on_epoch_end=averages), **one_batch
    )
    mean = every_step.weights[0]
    for theta in every_step.weights[1:]:
        mean = 0.8 * mean + 0.2 * theta
    floating = torch.ones(len(mean), dtype=torch.bool)
    names = [(n, p.numel()) for n, p in small_net().state_dict().items()]
    start = 0
    for name, size in names:  # the counter of batches is an integer, which no mean concerns
        floating[start : start + size] = "num_batches" not in name
        start += size
    assert torch.allclose(weights(model)[floating], mean[floating], atol=1e-6)
    assert not torch.allclose(weights(model)[floating], every_step.weights[-1][floating], atol=1e-3)


def test_the_warm_up_minimises_the_logistic_loss_and_reports_the_chosen_one():
    sample = make_sample()
    plain, _ = fit(linear(), sample, Objective(0.4, loss="logistic"))
    warm, history = fit(linear(), sample, options=Training(warm_up=1.0))
    assert torch.equal(weights(warm), weights(plain))
    assert history[0]["train_risk"] < 1  # the sigmoid loss is bounded
    half, _ = fit(linear(), sample, epochs=2, options=Training(warm_up=0.5))
    first, _ = fit(linear(), sample, Objective(0.4, loss="logistic"), epochs=1)
    assert not torch.equal(weights(half), weights(first))
    assert not torch.equal(weights(half), weights(fit(linear(), sample, epochs=2)[0]))


def test_a_run_that_diverges_says_so():
    with pytest.raises(InputError, match=r"diverged\. Lower 'lr'"):
        fit(linear(), make_sample(), Objective(0.4, loss="squared"), optimizer="sgd", lr=1e30)


def test_the_least_per_batch_is_handed_to_the_batches():
    """4 P and 96 U in 10 batches: with least 3 the P rows are dealt 8 times instead of 3."""
    for least, rows in ((1, 96 + 12), (3, 96 + 32)):
        model = Recorder()
        options = Training(least_per_batch=least)
        fit(model, make_sample(4, 96), batch_size=10, epochs=1, options=options)
        assert sum(len(x) for _, x in model.calls) == rows


def test_scores_come_in_order_in_any_batch_size_from_a_model_at_rest():
    sample, model = make_sample(), small_net()
    everything = predict_scores(model, sample.rows)
    assert not model.training  # dropout is off and batch norm uses its running statistics
    assert torch.allclose(predict_scores(model, sample.rows, batch_size=7), everything, atol=1e-6)
    chosen = predict_scores(model, sample.rows, index=torch.tensor([5, 1, 5]))
    assert torch.allclose(chosen, everything[[5, 1, 5]], atol=1e-6)
    assert predict_scores(model, sample.rows, index=ALL(0)).shape == (0,)
    assert not everything.requires_grad


def test_a_model_in_double_precision_gets_its_batches_in_double_precision():
    model = linear().double()
    assert forward(model, torch.zeros(2, 3)).dtype == torch.float64


@pytest.mark.parametrize("shape", [(4, 2), (4, 1, 1), ()])
def test_an_output_of_another_shape_is_refused_with_both_shapes(shape):
    class Wrong(nn.Linear):
        def forward(self, x):
            return super().forward(x).sum() * torch.ones(shape)

    with pytest.raises(InputError, match=r"shape \(n,\) or \(n, 1\).*Got \("):
        forward(Wrong(3, 1), torch.zeros(4, 3))


def test_an_output_of_another_length_is_refused():
    class Wrong(nn.Linear):
        def forward(self, x):
            return super().forward(x).repeat(2, 1)

    with pytest.raises(InputError, match=r"one score per row.*Got 8 scores for a batch of 4 rows"):
        forward(Wrong(3, 1), torch.zeros(4, 3))


def test_verbose_shows_every_epoch_and_silence_shows_none(capsys):
    fit(linear(), make_sample(), epochs=2, verbose=1)
    assert capsys.readouterr().err.count("epoch") == 2
    fit(linear(), make_sample(), epochs=2)
    assert capsys.readouterr() == ("", "")
