"""`PUClassifier`: the contract, every kind of input, every kind of module, both samplings."""

from __future__ import annotations

import functools
import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import nnpu
from nnpu import LinearPU, PUClassifier, estimate_prior, models
from nnpu.parameters import InputError, ParameterError
from nnpu.risk import ImbalancedRisk
from nnpu.training import Training


def scores_of(classifier, x, s):
    return classifier.fit(x, s).decision_function(x)


# The contract.


def test_the_parameters_are_those_of_the_contract_and_at_most_sixteen():
    parameters = inspect.signature(PUClassifier).parameters
    contract = ["prior", "module", "risk", "loss", "beta", "gamma", "sampling", "optimizer"]
    contract += ["lr", "weight_decay", "batch_size", "epochs", "device", "random_state", "verbose"]
    assert list(parameters)[: len(contract)] == contract
    assert len(parameters) <= 16
    assert [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY] == ["prior"]
    defaults = {name: parameters[name].default for name in contract[:8]}
    assert defaults == {
        "prior": "auto",
        "module": None,
        "risk": "nnpu",
        "loss": "sigmoid",
        "beta": 0.0,
        "gamma": 1.0,
        "sampling": "two-sample",
        "optimizer": "adam",
    }


def test_a_fitted_classifier_has_the_attributes_of_the_contract(sample, quick):
    frame = pd.DataFrame(sample.x, columns=list("abcd"))
    clf = quick().fit(frame, sample.s)
    assert clf.classes_.tolist() == [0, 1]
    assert clf.prior_ == 0.4
    assert clf.n_features_in_ == 4
    assert clf.feature_names_in_.tolist() == list("abcd")
    assert len(clf.history_) == 3
    assert clf.prior_estimate_ is None


def test_the_history_has_the_risks_their_parts_and_the_held_out_ones_if_any(sample, quick):
    names = {"epoch", "corrected", "train_risk", "train_zero_one", "train_positive"}
    names |= {"train_negative"}
    assert set(quick().fit(sample.x, sample.s).history_[0]) == names
    held = quick(training=Training(validation_fraction=0.2)).fit(sample.x, sample.s)
    valid = {name.replace("train", "valid") for name in names if name.startswith("train")}
    assert set(held.history_[0]) == names | valid


def test_predictions_probabilities_and_scores_agree(sample, quick):
    clf = quick().fit(sample.x, np.where(sample.s == 1, "yes", "no"))
    scores, proba = clf.decision_function(sample.x), clf.predict_proba(sample.x)
    assert scores.shape == (260,)
    assert np.allclose(proba[:, 1], 1 / (1 + np.exp(-scores.astype(float))))
    assert np.allclose(proba.sum(axis=1), 1)
    assert clf.predict(sample.x).tolist() == ["yes" if g > 0 else "no" for g in scores]


def test_the_default_learns_both_classes_without_negatives(sample):
    clf = PUClassifier(0.4, epochs=15, random_state=0).fit(sample.x, sample.s)
    unlabelled = sample.s == 0
    truth = (sample.y[unlabelled] == 1).astype(int)
    # The Bayes error of N(±1, I) in four dimensions is Φ(−2) = 0.023.
    assert np.mean(clf.predict(sample.x[unlabelled]) == truth) > 0.93


def test_the_default_does_not_mind_units_or_constant_features(sample):
    x = np.column_stack([sample.x * [1, 1e4, 1e-4, 1] + [0, 1e5, 0, 0], np.full(260, 7.0)])
    clf = PUClassifier(0.4, epochs=15, random_state=0).fit(x, sample.s)
    unlabelled = sample.s == 0
    truth = (sample.y[unlabelled] == 1).astype(int)
    assert np.mean(clf.predict(x[unlabelled]) == truth) > 0.93


def test_all_constant_features_are_no_error(quick):
    x, s = np.ones((40, 3)), np.repeat([1, 0], 20)
    for clf in (quick(), PUClassifier(0.3, epochs=2)):
        assert np.ptp(clf.fit(x, s).decision_function(x)) == 0


@pytest.mark.parametrize("loss", ["logistic", "double_hinge", lambda z: (1 - z).clamp(min=0) ** 2])
@pytest.mark.parametrize("risk", ["nnpu", "upu", "abs", ImbalancedRisk(0.3)])
def test_any_loss_and_any_risk_can_be_trained(sample, quick, loss, risk):
    clf = quick(loss=loss, risk=risk).fit(sample.x, sample.s)
    assert np.isfinite(clf.decision_function(sample.x)).all()


def test_beta_gamma_and_optimiser_reach_the_training(sample, quick):
    base = scores_of(quick(prior=0.8, epochs=10), sample.x, sample.s)
    for changes in ({"beta": 0.8}, {"gamma": 0.1}, {"optimizer": "sgd"}, {"weight_decay": 0.9}):
        other = scores_of(quick(prior=0.8, epochs=10, **changes), sample.x, sample.s)
        assert not np.array_equal(base, other), changes


# Seeds.


def test_the_same_random_state_gives_the_same_bits(sample):
    first, again, other = (
        scores_of(PUClassifier(0.4, epochs=2, random_state=seed), sample.x, sample.s)
        for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert not np.array_equal(first, other)


def test_no_random_state_is_a_new_one_each_time_and_torchs_own_is_left_alone(sample, quick):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first, second = (scores_of(quick(random_state=None), sample.x, sample.s) for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    assert not np.array_equal(first, second)


def test_a_random_state_object_is_drawn_from(sample, quick):
    first = scores_of(quick(random_state=np.random.RandomState(3)), sample.x, sample.s)
    again = scores_of(quick(random_state=np.random.RandomState(3)), sample.x, sample.s)
    assert np.array_equal(first, again)


# scikit-learn's tools.


def test_clone_and_pickle_keep_parameters_and_scores(sample, quick):
    clf = quick(module=nn.Linear(4, 1), training=Training(schedule="cosine"))
    copy = clone(clf)
    assert copy.get_params()["training"] == clf.training
    clf.fit(sample.x, sample.s)
    loaded = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(loaded.decision_function(sample.x), clf.decision_function(sample.x))
    assert not hasattr(clone(clf), "classes_")


def test_fit_does_not_touch_the_module_it_was_given(sample, quick):
    module = nn.Linear(4, 1)
    before = module.weight.detach().clone()
    clf = quick(module=module).fit(sample.x, sample.s)
    assert clf.module is module
    assert torch.equal(module.weight, before)
    assert not torch.equal(clf.module_.weight, before)
    first = clf.decision_function(sample.x)
    assert np.array_equal(first, scores_of(clf, sample.x, sample.s))  # a second fit starts anew


def search(sample, classifier, n_jobs=None):
    pipeline = make_pipeline(StandardScaler(), classifier)
    grid = {"puclassifier__lr": [1e-6, 0.05]}
    return GridSearchCV(pipeline, grid, cv=3, n_jobs=n_jobs).fit(sample.x, sample.s)


def test_a_pipeline_is_searched_on_a_grid_by_pu_accuracy(sample, quick):
    found = search(sample, quick(epochs=10))
    assert found.best_params_ == {"puclassifier__lr": 0.05}
    assert found.best_score_ > 0.85


@pytest.mark.slow  # each process imports everything
def test_processes_give_the_scores_of_one_after_another(sample, quick):
    alone, together = (search(sample, quick(), n_jobs) for n_jobs in (1, 2))
    for name in ("mean_test_score", "std_test_score"):
        assert np.array_equal(alone.cv_results_[name], together.cv_results_[name])


def test_cross_validated_predictions_are_as_good_as_the_truth_allows(sample, quick):
    predicted = cross_val_predict(quick(lr=0.05, epochs=10), sample.x, sample.s, cv=3)
    unlabelled = sample.s == 0
    assert np.mean(predicted[unlabelled] == (sample.y[unlabelled] == 1)) > 0.9


def test_threads_give_the_bits_of_one_after_another(sample, quick):
    from joblib import Parallel, delayed

    def one(seed):
        return scores_of(quick(random_state=seed), sample.x, sample.s)

    together = Parallel(n_jobs=2, prefer="threads")(delayed(one)(seed) for seed in range(6))
    assert all(np.array_equal(scores, one(seed)) for seed, scores in enumerate(together))


# Every kind of X.


def read_only_map(x, folder):
    path = folder / "x.npy"
    np.save(path, x.astype(np.float32))
    return np.load(path, mmap_mode="r")


KINDS = {
    "list": lambda x, folder: x.tolist(),
    "float32": lambda x, folder: x.astype(np.float32),
    "big-endian": lambda x, folder: x.astype(">f8"),
    "negative strides": lambda x, folder: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "column-major": lambda x, folder: np.asfortranarray(x),
    "pandas": lambda x, folder: pd.DataFrame(x, columns=list("abcd")),
    "polars": lambda x, folder: pl.DataFrame(x, schema=list("abcd")),
    "tensor": lambda x, folder: torch.tensor(x),
    "tensor with gradient": lambda x, folder: torch.tensor(x, requires_grad=True),
    "read-only memory map": read_only_map,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_scores(sample, kind, tmp_path):
    def make():
        return PUClassifier(0.4, epochs=2, random_state=0)

    x = KINDS[kind](sample.x, tmp_path)
    expected = scores_of(make(), sample.x, sample.s)
    assert np.array_equal(scores_of(make(), x, sample.s), expected)


def test_half_precision_tensors_are_taken(sample, quick):
    for kind in (torch.bfloat16, torch.float16):
        x = torch.tensor(sample.x).to(kind)
        same = x.float().numpy()
        assert np.array_equal(
            scores_of(quick(), x, torch.tensor(sample.s)), scores_of(quick(), same, sample.s)
        )


@pytest.fixture
def no_dense(monkeypatch):
    """Make every way to turn a SciPy matrix dense fail."""

    def refuse(self, *args, **kwargs):
        raise AssertionError("the matrix was made dense")

    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        for name in ("toarray", "todense", "__array__"):
            monkeypatch.setattr(kind, name, refuse, raising=False)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("module", [None, models.linear])
def test_sparse_features_are_never_made_dense_as_a_whole(sample, no_dense, kind, module):
    x = np.where(sample.x > 0, sample.x, 0)
    clf = PUClassifier(0.4, module=module, epochs=5, random_state=0)
    scores = scores_of(clf, kind(x), sample.s)
    assert np.mean(scores[sample.s == 1]) > np.mean(scores[sample.s == 0])
    assert np.allclose(clf.decision_function(x), scores, atol=1e-5)  # dense rows, same scores


def test_wide_sparse_features_fit_where_a_dense_table_would_not(no_dense):
    """300 rows of 2,000,000 features would be 600 MB of float32."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [100, 200])
    columns = np.where(rng.random(300) < np.where(s == 1, 1.0, 0.4), 3, 499_999)
    x = sparse.csr_matrix((np.ones(300), (np.arange(300), columns)), shape=(300, 500_000))
    module = models.WordAverage(torch.randn(500_000, 1), trainable=True)
    clf = PUClassifier(0.4, module=module, epochs=20, lr=0.1, random_state=0)
    predicted = clf.fit(x, s).predict(x)
    assert predicted.tolist() == (columns == 3).astype(int).tolist()


def test_images_go_to_a_convolutional_module_in_their_shape(quick):
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [40, 80])
    bright = np.r_[np.ones(72), np.zeros(48)]  # all of P, and 32 of 80 U
    x = rng.normal(size=(120, 1, 6, 6)) + 2 * bright[:, None, None, None]
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    clf = quick(module=module, lr=0.03, epochs=30).fit(x, s)
    assert np.mean((clf.decision_function(x) > 0) == (bright > 0)) > 0.95
    assert clf.predict(torch.tensor(x[:2])).shape == (2,)


# Every kind of module.


class Net(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layer = nn.Linear(n_features, 1)

    def forward(self, x):
        return self.layer(x)[:, 0]  # (n,) is as good as (n, 1)


class Fixed(Net):
    def __init__(self, width=4):
        assert width == 4, "a default is not the number of features"
        super().__init__(width)


MODULES = {
    "instance": lambda: Net(4),
    "class": lambda: Net,
    "class with defaults only": lambda: Fixed,
    "function of the number of features": lambda: models.linear,
    "function without arguments": lambda: lambda: nn.Linear(4, 1),
    "partial": lambda: functools.partial(models.mlp, hidden=(5,)),
    "double precision": lambda: nn.Linear(4, 1).double(),
    "lazy": lambda: nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 1)),
}


@pytest.mark.parametrize("kind", MODULES)
def test_a_module_may_be_an_instance_a_class_or_a_function(sample, quick, kind):
    x = np.column_stack([sample.x, sample.x]) if kind == "class" else sample.x
    torch.manual_seed(0)
    clf = quick(module=MODULES[kind](), lr=0.05, epochs=10).fit(x, sample.s)
    assert np.mean(clf.predict(x[sample.s == 0]) == (sample.y[sample.s == 0] == 1)) > 0.8


def test_a_function_is_called_under_the_seed(sample, quick):
    weights = [quick(epochs=1, lr=1e-9).fit(sample.x, sample.s).module_[1].weight for _ in "ab"]
    assert torch.equal(*weights)


# Labels.


@pytest.mark.filterwarnings("ignore:The labels are words")
@pytest.mark.parametrize("values", [[1, 2], [-1, 1], [False, True], ["p?", "yes"], [0.0, 1.0]])
def test_the_coding_of_the_labels_does_not_change_the_scores(sample, quick, values):
    s = np.array(values)[sample.s]
    clf = quick().fit(sample.x, s)
    assert clf.classes_.tolist() == values
    assert np.array_equal(clf.decision_function(sample.x), scores_of(quick(), sample.x, sample.s))
    assert set(clf.predict(sample.x).tolist()) == set(values)
    assert clf.score(sample.x, s) == quick().fit(sample.x, sample.s).score(sample.x, sample.s)


def with_negatives(sample):
    s = sample.s.copy()
    s[np.flatnonzero((sample.s == 0) & (sample.y == -1))[:40]] = -1
    return s


def test_known_negatives_are_used_by_nnpnu(sample, quick):
    s = with_negatives(sample)
    clf = quick(risk="nnpnu").fit(sample.x, s)
    assert clf.classes_.tolist() == [-1, 1]
    assert set(clf.predict(sample.x)) == {-1, 1}
    moved = sample.x.copy()
    moved[s == -1] += 1
    assert not np.array_equal(
        scores_of(quick(risk="nnpnu"), moved, s), clf.decision_function(moved)
    )


def test_known_negatives_that_a_risk_does_not_use_are_named_in_a_warning(sample, quick):
    for prior in (0.4, "auto"):
        with pytest.warns(UserWarning, match="40 known negatives are not used by risk='nnpu'"):
            quick(prior=prior).fit(sample.x, with_negatives(sample))


def test_under_pn_the_other_class_is_negative(sample, quick):
    clf = quick(prior="auto", risk="pn", lr=0.05, epochs=20).fit(sample.x, sample.y)
    assert clf.prior_ == np.mean(sample.y == 1)
    assert clf.score(sample.x, sample.y) == np.mean(clf.predict(sample.x) == sample.y) > 0.95


# The score.


def accuracy_by_hand(s, positive, prior, population):
    """2π·TPR + P(g<0) − π, with P over `population`."""
    return 2 * prior * positive[s == 1].mean() + (~positive[population]).mean() - prior


def test_the_score_is_the_pu_accuracy_of_each_sampling(sample, quick):
    for sampling, population in {
        "two-sample": sample.s == 0,
        "one-sample": np.ones(260, dtype=bool),
    }.items():
        clf = quick(sampling=sampling).fit(sample.x, sample.s)
        positive = clf.decision_function(sample.x) > 0
        expected = accuracy_by_hand(sample.s, positive, 0.4, population)
        assert clf.score(sample.x, sample.s) == pytest.approx(expected)


def test_known_negatives_belong_to_the_population_of_one_sample_only(sample, quick):
    s = with_negatives(sample)
    for sampling, population in {"two-sample": s == 0, "one-sample": s < 2}.items():
        clf = quick(risk="nnpnu", sampling=sampling).fit(sample.x, s)
        positive = clf.decision_function(sample.x) > 0
        expected = accuracy_by_hand(s, positive, 0.4, population)
        assert clf.score(sample.x, s) == pytest.approx(expected)


def test_the_score_is_near_the_true_accuracy(make_sample, quick):
    big = make_sample(n_p=2000, n_u=4000)
    clf = quick(lr=0.05, epochs=3).fit(big.x, big.s)
    truth = np.mean((clf.decision_function(big.x) > 0)[big.s == 0] == (big.y[big.s == 0] == 1))
    # Standard error: 2π·√(0.03·0.97/2000) + √(0.25/4000) ≈ 0.009
    assert clf.score(big.x, big.s) == pytest.approx(truth, abs=0.03)


# Sampling.


def one_sample(seed):
    """A single sample with 50 % positives, of which 80 % got a label: U has a sixth."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(3000) < 0.5, 1, -1)
    x = rng.normal(0.7 * y[:, None], 1.0, (3000, 2))
    s = ((y == 1) & (rng.random(3000) < 0.8)).astype(int)
    return x, s, y


def test_on_one_sample_data_the_wrong_sampling_is_measurably_worse(quick):
    """With U's share taken for that of everything the cut moves towards the positives."""
    errors = {"one-sample": [], "two-sample": []}
    for seed in range(3):
        x, s, y = one_sample(seed)
        for sampling, seen in errors.items():
            clf = quick(prior=0.5, sampling=sampling, loss="logistic", lr=0.05, epochs=5)
            seen.append(np.mean((scores_of(clf, x, s) > 0) != (y == 1)))
    # The Bayes error is Φ(−0.7 √2) = 0.161.
    assert np.mean(errors["one-sample"]) < 0.18
    assert np.mean(errors["two-sample"]) > np.mean(errors["one-sample"]) + 0.03


def test_both_samplings_agree_when_told_the_same_thing_of_the_same_data(quick):
    """One-sample π = b + (1 − b) π_U, with the P rows in U too, is the two-sample problem of π.

    Putting P ∪ U in the unlabelled term by hand and calling it two-sample changes nothing.
    """
    x, s, _ = one_sample(0)
    twice_x = np.concatenate([x[s == 1], x])
    twice_s = np.r_[np.ones(int(s.sum())), np.zeros(len(s))]
    settings = {"prior": 0.5, "loss": "logistic", "lr": 0.05, "epochs": 30, "batch_size": 10_000}
    by_hand = quick(**settings).fit(twice_x, twice_s).decision_function(x)
    built_in = scores_of(quick(sampling="one-sample", **settings), x, s)
    assert np.allclose(by_hand, built_in, atol=1e-4)


def test_a_one_sample_prior_no_greater_than_the_labelled_share_is_an_error(sample, quick):
    share = 60 / 260
    for prior in (share, 0.1):
        with pytest.raises(
            ParameterError, match=r"greater than the share of labelled rows, 0\.2308"
        ):
            quick(prior=prior, sampling="one-sample").fit(sample.x, sample.s)
    quick(prior=share + 1e-6, sampling="one-sample").fit(sample.x, sample.s)
    quick(prior=0.1, sampling="two-sample").fit(sample.x, sample.s)


# The prior.


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_auto_estimates_the_prior_of_the_sampling(make_sample, quick, sampling):
    """U has 40 % positives; with 200 P beside 600 U, P ∪ U has (200 + 240)/800 = 55 %."""
    data = make_sample(n_p=200, n_u=600, gap=1.5)
    clf = quick(prior="auto", sampling=sampling).fit(data.x, data.s)
    assert clf.prior_ == clf.prior_estimate_.value
    assert clf.prior_ == pytest.approx(0.4 if sampling == "two-sample" else 0.55, abs=0.08)


def test_the_one_sample_prior_counts_known_negatives_in_the_population(make_sample, quick):
    """80 of the 360 negatives are known: of 800 rows still 55 % are positive."""
    data = make_sample(n_p=200, n_u=600, gap=1.5)
    s = data.s.copy()
    s[np.flatnonzero(data.y == -1)[:80]] = -1
    clf = quick(prior="auto", risk="nnpnu", sampling="one-sample").fit(data.x, s)
    assert clf.prior_ == pytest.approx(0.55, abs=0.08)


def test_verbose_writes_to_standard_error_only(sample, quick, capsys):
    quick(verbose=True).fit(sample.x, sample.s)
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch 3/3" in err


def test_a_label_column_of_another_length_cannot_be_scored(sample, quick):
    clf = quick().fit(sample.x, sample.s)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.score(sample.x, sample.s[:-1])
    with pytest.raises(InputError, match="as in fit"):
        clf.score(sample.x, sample.y)


def test_a_torch_module_can_make_the_scores_for_the_prior():
    rng = np.random.default_rng(0)
    x_p = rng.normal(2, 1, (200, 2))
    x_u = np.concatenate([rng.normal(2, 1, (150, 2)), rng.normal(-2, 1, (350, 2))])
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    model = PUClassifier(0.5, risk="pn", module=module, epochs=30, random_state=0)
    estimate = estimate_prior(x_p, x_u, model=model, random_state=0)
    assert abs(estimate.value - 0.3) < 0.1
    assert estimate.low < 0.3 < estimate.high


def test_sampling_says_how_the_rows_of_the_fit_came_about(sample, tmp_path):
    clf = LinearPU(0.4, sampling="one-sample")
    assert not hasattr(clf, "sampling_")
    clf.fit(sample.x, np.where(np.arange(len(sample.s)) % 5, 0, sample.s))
    clf.set_params(sampling="two-sample")  # says nothing of the rows that it was fitted to
    assert clf.sampling_ == "one-sample"
    clf.fit(sample.x, sample.s)
    assert (clf.sampling_, clf.shift_prior(0.3).sampling_) == ("two-sample", "two-sample")
    assert nnpu.load(clf.save(tmp_path / "model")).sampling_ == "two-sample"
