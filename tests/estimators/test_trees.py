"""Boosted trees: the forest scores as LightGBM does, learns, and is stored as checked arrays."""

from __future__ import annotations

import copy
import json
import pickle
import sys

import numpy as np
import pytest
import safetensors.numpy
import scipy.sparse as sp
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import nnpu
from nnpu import BoostedPU, estimate_prior
from nnpu.estimators import loading as storage
from nnpu.estimators.forest import Forest, stored_forest, table_scorer
from nnpu.extras import MissingExtraError
from nnpu.parameters import InputError, ParameterError
from nnpu.risk_kinds import ImbalancedRisk

lightgbm = pytest.importorskip("lightgbm")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


def grow(x, y, **options):
    options = {"verbosity": -1, "num_threads": 1, "objective": "binary", **options}
    return lightgbm.train(options, lightgbm.Dataset(x, y), 20)


@pytest.fixture
def table():
    """3,000 rows in which a product decides, some cells missing; a third of P is labelled."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 5)).astype(np.float32)
    y = np.where(x[:, 0] * x[:, 1] + 0.2 * rng.normal(size=3000) > 0.3, 1, -1)
    s = ((y == 1) & (rng.random(3000) < 0.33)).astype(int)
    return x, s, y


@pytest.fixture
def fitted(table):
    x, s, y = table
    prior = float(np.mean(y == 1))
    return BoostedPU(prior, sampling="one-sample", random_state=0, n_estimators=60).fit(x, s)


# The forest.


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("leaves", [2, 31])
def test_a_forest_scores_as_lightgbm_does_to_the_bit(table, missing, leaves):
    x, _, y = table
    x = np.where(np.random.default_rng(1).random(x.shape) < missing, np.nan, x)
    booster = grow(x, (y == 1).astype(int), num_leaves=leaves)
    forest = Forest.from_text(booster.model_to_string())
    strange = np.random.default_rng(2).normal(size=(500, 5)).astype(np.float32)
    strange[::7, 2] = np.nan  # missing where the training had none, too
    for rows in (x, strange):
        np.testing.assert_array_equal(forest.scores(rows), booster.predict(rows, raw_score=True))


def test_a_forest_scores_sparse_rows_as_dense_ones(table):
    x, _, y = table
    x = np.where(np.abs(x) < 0.5, 0, x)
    forest = Forest.from_text(grow(sp.csr_matrix(x), (y == 1).astype(int)).model_to_string())
    np.testing.assert_array_equal(forest.scores(sp.csr_array(x)), forest.scores(x))


def test_a_forest_of_one_split_follows_it():
    """x₁ ≤ 0.5 → −1, else +2; a missing one goes right. And a tree of one leaf, 0.25."""
    forest = stored_forest(
        {
            "roots": np.array([0, 3], np.int32),
            "feature": np.array([1, 0, 0, 0], np.int32),
            "threshold": np.array([0.5, 0, 0, 0]),
            "left": np.array([1, 1, 2, 3], np.int32),
            "right": np.array([2, 1, 2, 3], np.int32),
            "nan_left": np.array([False] * 4),
            "value": np.array([0, -1.0, 2.0, 0.25]),
        },
        2,
    )
    x = np.array([[9, 0.5], [9, 0.51], [9, np.nan]])
    assert forest.scores(x).tolist() == [-0.75, 2.25, 2.25]


def test_trees_that_compare_categories_score_as_lightgbm_does(table):
    """Also rows whose category is missing, or was never seen: both go right."""
    x, _, y = table
    x = x.astype(np.float32)
    x[:, 0] = np.arange(len(x)) % 70
    x[::9, 0] = np.nan
    odd = np.isin(x[:, 0], [3, 17, 18, 40, 69])
    booster = lightgbm.train(
        {"verbosity": -1, "objective": "binary", "num_threads": 1, "min_data_per_group": 1},
        lightgbm.Dataset(x, (y == 1) ^ odd, categorical_feature=[0]),
        20,
    )
    forest = Forest.from_text(booster.model_to_string())
    assert len(forest.category) > 0
    x[:40, 0] = np.arange(60, 100)
    np.testing.assert_allclose(forest.scores(x), booster.predict(x, raw_score=True), rtol=1e-12)
    again = stored_forest(forest.arrays(), x.shape[1])
    np.testing.assert_array_equal(again.scores(x), forest.scores(x))


def walk_and_predictor(forest, x, monkeypatch):
    """Return the scores by the walk in NumPy, then by tables or LightGBM's predictor."""
    walked = forest.scores(x), forest.staged_scores(x, 5, 4)
    assert {"predictor", "tables"}.isdisjoint(forest._made)
    monkeypatch.setattr("nnpu.estimators.forest._MANY", 1)
    quick = forest.scores(x), forest.staged_scores(x, 5, 4)
    assert "predictor" in forest._made
    return walked, quick


@pytest.mark.parametrize("kind", ["numbers", "categories", "sparse", "extra trees"])
def test_many_rows_get_the_scores_of_the_walk(table, kind, monkeypatch):
    x, _, y = table
    x = np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x).astype(np.float32)
    if kind == "extra trees":
        from sklearn.ensemble import ExtraTreesRegressor

        x = np.nan_to_num(x)
        forest = Forest.from_sklearn(ExtraTreesRegressor(20, random_state=0).fit(x, y).estimators_)
    else:
        x[:, 0] = np.arange(len(x)) % 70
        data = lightgbm.Dataset(x, y == 1, categorical_feature=[0] if kind == "categories" else [])
        options = {"verbosity": -1, "objective": "binary", "num_threads": 1}
        forest = Forest.from_text(lightgbm.train(options, data, 20).model_to_string())
    assert bool(len(forest.category)) == (kind == "categories")
    rows = sp.csr_array(np.nan_to_num(x)) if kind == "sparse" else x
    walked, quick = walk_and_predictor(forest, rows, monkeypatch)
    np.testing.assert_array_equal(quick[0], walked[0])
    np.testing.assert_allclose(quick[1], walked[1], rtol=1e-12, atol=1e-12)


def in_tables(forest):
    """Return the forest's `table_scorer`, which must be there."""
    scorer = table_scorer(forest)
    assert scorer is not None
    return scorer


@pytest.mark.parametrize("n_rows", [1, 2, 257, 1500])
def test_tables_give_the_bits_of_the_walk(table, n_rows):
    """Numbers, gaps, codes that the training did not hold; one row, and blocks of them."""
    x, _, y = table
    x = x.astype(np.float32)
    x[:, 0] = np.arange(len(x)) % 70
    x[::9, 0] = x[::7, 1] = x[y == 1, 2] = np.nan
    data = lightgbm.Dataset(x, (y == 1) ^ (x[:, 0] % 3 == 1), categorical_feature=[0])
    options = {"verbosity": -1, "num_threads": 1, "num_leaves": 31, "min_data_per_group": 1}
    forest = Forest.from_text(lightgbm.train(options, data, 60).model_to_string())
    assert len(forest.category)
    x[:40, 0] = np.arange(60, 100)
    x[40:50, 3] = 1e30
    rows = np.tile(x, (3, 1))[:n_rows]
    walked = forest._walk(rows, len(forest.roots), 1)[0]
    np.testing.assert_array_equal(in_tables(forest)(rows), walked)
    np.testing.assert_array_equal(in_tables(forest)(rows.astype(np.float64)), walked)


def test_a_value_at_a_threshold_goes_left_in_tables_too():
    """x₀ ≤ 0.5 → 1, else x₀ ≤ 2 (gaps go left) → 10, else 100; and a tree of one leaf, 0.25."""
    forest = Forest(
        roots=np.int32([0, 5]),
        feature=np.int32([0, 0, 0, 0, 0, 0]),
        threshold=np.array([0.5, 0, 2.0, 0, 0, 0]),
        left=np.int32([1, 1, 3, 3, 4, 5]),
        right=np.int32([2, 1, 4, 3, 4, 5]),
        nan_left=np.array([False, False, True, False, False, False]),
        value=np.array([0, 1.0, 0, 10.0, 100.0, 0.25]),
    )
    rows = np.array([[-9.0], [0.5], [0.6], [2.0], [2.1], [np.nan]])
    assert in_tables(forest)(rows).tolist() == [1.25, 1.25, 10.25, 10.25, 100.25, 10.25]


def test_large_trees_and_many_columns_have_no_tables(table):
    x, _, y = table
    deep = grow(x, (y == 1).astype(int), num_leaves=32, min_data_in_leaf=1)
    assert table_scorer(Forest.from_text(deep.model_to_string())) is None
    wide = np.random.default_rng(0).normal(size=(400, 200))
    many = grow(wide, wide.sum(axis=1) > 0, num_leaves=31, min_data_in_leaf=1)
    assert table_scorer(Forest.from_text(many.model_to_string())) is None


def test_without_lightgbm_many_rows_get_the_same_scores(table, monkeypatch):
    x, _, y = table
    forest = Forest.from_text(grow(x, (y == 1).astype(int)).model_to_string())
    walked = forest.scores(x)
    monkeypatch.setattr("nnpu.estimators.forest._MANY", 1)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    np.testing.assert_array_equal(forest.scores(x), walked)


@pytest.mark.parametrize("leaves", [7, 63])
def test_a_forest_is_pickled_and_copied_after_it_scored_many_rows(table, leaves, monkeypatch):
    """What makes it quick stays behind; 63 leaves are beyond tables."""
    x, _, y = table
    monkeypatch.setattr("nnpu.estimators.forest._MANY", 0)
    booster = grow(x, (y == 1).astype(int), num_leaves=leaves)
    forest = Forest.from_text(booster.model_to_string())
    scores = forest.scores(x)
    assert {"predictor", "tables"} & forest._made.keys()
    for other in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert other._made == {}
        np.testing.assert_array_equal(other.scores(x), scores)


def test_the_forest_of_extra_trees_gives_their_mean_share(table):
    from sklearn.ensemble import ExtraTreesRegressor

    x, _, y = table
    x = x.astype(np.float32)
    model = ExtraTreesRegressor(7, min_samples_leaf=3, random_state=0).fit(x, 1.0 * (y == 1))
    forest = Forest.from_sklearn(model.estimators_)
    np.testing.assert_allclose(forest.scores(x), model.predict(x), rtol=1e-12)
    assert len(stored_forest(forest.arrays(), x.shape[1]).roots) == 7


def test_gaps_go_where_scikit_learn_sends_them(table):
    """In columns that had gaps in the fit, and in one that had none."""
    from sklearn.ensemble import RandomForestRegressor

    x, _, y = table
    x = x.astype(np.float32)
    x[::9, 0] = np.nan
    x[y == 1, 1] = np.nan
    model = RandomForestRegressor(9, random_state=0).fit(x, 1.0 * (y == 1))
    x[::5] = np.nan
    forest = Forest.from_sklearn(model.estimators_)
    np.testing.assert_allclose(forest.scores(x), model.predict(x), rtol=1e-12)


@pytest.mark.parametrize(
    "damage",
    [{"category": np.int32([0])}, {"goes_left": np.zeros((0, 3), bool)}, {"goes_left": None}],
)
def test_damaged_categories_of_a_forest_are_refused(damage):
    arrays = {
        "roots": np.int32([0]),
        "feature": np.int32([0, 0, 0]),
        "threshold": np.zeros(3),
        "left": np.int32([1, 1, 2]),
        "right": np.int32([2, 1, 2]),
        "nan_left": np.zeros(3, bool),
        "value": np.array([0.0, 1.0, 2.0]),
        "category": np.int32([0, -1, -1]),
        "goes_left": np.array([[True, False]]),
    }
    assert stored_forest(arrays, 1).scores(np.float32([[0], [1], [9]])).tolist() == [1, 2, 2]
    broken = {name: array for name, array in (arrays | damage).items() if array is not None}
    with pytest.raises(InputError):
        stored_forest(broken, 1)


@pytest.mark.parametrize("kind", ["interleaved", "both kinds"])
def test_trees_that_are_not_apart_are_refused(kind):
    """Two trees whose nodes alternate; a column asked for a code and for a threshold."""
    arrays = {
        "roots": np.int32([0, 3]),
        "feature": np.zeros(6, np.int32),
        "threshold": np.zeros(6),
        "left": np.int32([1, 1, 2, 4, 4, 5]),
        "right": np.int32([2, 1, 2, 5, 4, 5]),
        "nan_left": np.zeros(6, bool),
        "value": np.zeros(6),
        "category": np.int32([0, -1, -1, 0, -1, -1]),
        "goes_left": np.array([[True, False]]),
    }
    assert len(stored_forest(arrays, 1).roots) == 2
    if kind == "interleaved":
        other = {"roots": [0, 1], "left": [2, 3, 2, 3, 4, 5], "right": [4, 5, 2, 3, 4, 5]}
        other["category"] = [0, 0, -1, -1, -1, -1]
    else:
        other = {"category": [0, -1, -1, -1, -1, -1]}
    with pytest.raises(InputError, match="do not form trees"):
        stored_forest(arrays | {name: np.int32(array) for name, array in other.items()}, 1)


def test_lightgbms_predictor_gives_the_same_bits(table, monkeypatch):
    """Trees with gaps and categories, and scikit-learn's, which are deep: whatever is asked for."""
    from sklearn.ensemble import ExtraTreesRegressor

    from nnpu.estimators import forest as module

    x, _, y = table
    x = x.astype(np.float32)
    extra = ExtraTreesRegressor(5, random_state=0).fit(x, 1.0 * (y == 1))
    x[:, 0] = np.arange(len(x)) % 70
    x[::9, 0] = np.nan
    x[::11, 1] = np.nan
    booster = lightgbm.train(
        {"verbosity": -1, "objective": "binary", "num_threads": 1, "min_data_per_group": 1},
        lightgbm.Dataset(x, (y == 1) ^ (x[:, 0] % 3 == 1), categorical_feature=[0]),
        20,
    )
    stump = lightgbm.train(
        {"verbosity": -1, "objective": "regression", "num_threads": 1, "min_data_in_leaf": 10**6},
        lightgbm.Dataset(x, y),
        2,
    )
    forests = [
        Forest.from_text(booster.model_to_string()),
        Forest.from_text(stump.model_to_string()),
        Forest.from_sklearn(extra.estimators_),
    ]
    x[:40, 0] = np.arange(60, 100)
    for one, rows in zip(forests, (x, x, np.nan_to_num(x)), strict=True):
        plain = one.scores(rows)
        monkeypatch.setattr(module, "_MANY", 1)
        np.testing.assert_array_equal(one.scores(rows), plain)
        monkeypatch.undo()


# The classifier.


def test_it_learns_a_product_that_no_linear_model_can(table, fitted):
    x, _, y = table
    assert np.mean((fitted.predict(x) == 1) == (y == 1)) > 0.9


def test_the_history_holds_the_risk_of_each_round(fitted, table):
    _, s, _ = table
    assert [row["round"] for row in fitted.history_] == list(range(60))
    start = fitted._objective(fitted.prior_).round(np.zeros(len(s)), s)
    assert {name: fitted.history_[0][name] for name in start.values} == start.values
    risks = [row["train_risk"] for row in fitted.history_]
    assert risks[:10] == sorted(risks[:10], reverse=True)
    assert fitted.history_[0]["train_negative"] > 0


def test_nnpu_keeps_r_near_zero_where_upu_drives_it_below():
    """Pure noise, few positives: trees can only learn the labels by heart."""
    rng = np.random.default_rng(0)
    x, s = rng.normal(size=(600, 10)), np.repeat([1, 0], [60, 540])
    ends = {
        risk: BoostedPU(0.5, risk=risk, min_child_samples=2, random_state=0).fit(x, s).history_[-1]
        for risk in ("nnpu", "upu")
    }
    assert ends["upu"]["train_negative"] < -0.5
    assert ends["nnpu"]["train_negative"] > -0.1


def test_the_same_seed_gives_the_same_bits_whatever_the_threads(table):
    x, s, _ = table
    one, two = (
        BoostedPU(0.3, random_state=1, colsample_bytree=0.5, n_estimators=10, n_jobs=jobs)
        .fit(x, s)
        .decision_function(x)
        for jobs in (1, 2)
    )
    assert one.tobytes() == two.tobytes()


def test_what_is_missing_can_tell(table):
    """One feature is noise, missing in nine positives of ten and nowhere else."""
    _, s, y = table
    rng = np.random.default_rng(1)
    x = np.where((y == 1) & (rng.random(len(y)) < 0.9), np.nan, rng.normal(size=len(y)))[:, None]
    prior = float(np.mean(y == 1))
    clf = BoostedPU(prior, sampling="one-sample", n_estimators=40).fit(x, s)
    assert np.all(clf.predict(x[np.isnan(x[:, 0])]) == 1)
    assert np.mean((clf.predict(x) == 1) == (y == 1)) > 0.95


def test_a_model_that_splits_gaps_from_all_values_comes_back(tmp_path):
    """LightGBM writes that split with the threshold ∞, which no folder may hold."""
    rng = np.random.default_rng(0)
    s = (rng.random(2000) < 0.3).astype(int)
    X = rng.normal(size=(2000, 1))
    X[(s == 1) & (rng.random(2000) < 0.8)] = np.nan
    clf = BoostedPU(0.4, random_state=0).fit(X, s)
    assert clf.forest_.threshold.max() > 1e300  # there is such a split
    clf.save(tmp_path / "model")
    again = nnpu.load(tmp_path / "model")
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))
    gap, value = again.decision_function([[np.nan], [0.0]])
    assert gap > value


def test_the_prior_is_estimated_from_rows_with_medians_in_the_gaps(table):
    x, s, _ = (part[:300] for part in table)
    x[s == 0, 0] = np.where(np.arange((s == 0).sum()) % 4 == 0, np.nan, x[s == 0, 0])
    clf = BoostedPU(random_state=0, n_estimators=2).fit(x, s)
    full = np.where(np.isnan(x), np.nanmedian(x, axis=0), x)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    expected = estimate_prior(full[s == 1], full[s == 0], random_state=seed)
    assert clf.prior_ == clf.prior_estimate_.value == expected.value


def test_known_negatives_are_used_by_nnpnu(table):
    x, s, y = table
    s = np.where((y == -1) & (np.arange(len(y)) % 5 == 0), -1, s)
    with pytest.warns(UserWarning, match="known negatives are not used"):
        BoostedPU(0.3, n_estimators=2).fit(x, s)
    clf = BoostedPU(0.3, risk="nnpnu", n_estimators=20).fit(x, s)
    assert clf.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("scale", [1.0, 0.0])  # too few rows for a leaf; no feature that varies
def test_without_a_possible_split_every_score_is_zero(scale):
    x, s = scale * np.arange(12.0)[:, None], np.arange(12) % 2
    clf = BoostedPU(0.3).fit(x, s)
    assert clf.decision_function(x).tolist() == [0.0] * 12


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "hinge"),
        ("risk", "npu"),
        ("n_estimators", 0),
        ("learning_rate", 0.0),
        ("num_leaves", 1),
        ("min_child_samples", 1.5),
        ("reg_lambda", -1),
        ("colsample_bytree", 0),
        ("n_jobs", 0),
        ("gamma", 2),
        ("beta", -1),
    ],
)
def test_a_bad_parameter_is_named(table, name, value):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of BoostedPU"):
        BoostedPU(**{"prior": 0.3, name: value}).fit(*table[:2])


@pytest.mark.parametrize("error", [ImportError, OSError("libgomp.so.1: cannot open it\nat all")])
def test_without_lightgbm_the_error_is_one_line_and_stored_models_score(
    fitted, table, tmp_path, monkeypatch, error
):
    def fail(name):
        raise error

    folder = fitted.save(tmp_path / "model")
    monkeypatch.setattr("nnpu.extras.importlib.import_module", fail)
    with pytest.raises(MissingExtraError, match="BoostedPU needs LightGBM, which cannot") as found:
        BoostedPU(0.3).fit(*table[:2])
    monkeypatch.undo()
    assert "\n" not in str(found.value)
    assert "nnpu[" not in str(found.value)  # no extra brings it
    assert ("libgomp.so.1: cannot open it. " in str(found.value)) == (error is not ImportError)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    np.testing.assert_array_equal(
        nnpu.load(folder).decision_function(table[0]), fitted.decision_function(table[0])
    )


# Model folders.


def test_a_stored_model_comes_back_to_the_bit(fitted, table, tmp_path):
    fitted.set_params(risk=ImbalancedRisk(0.4)).calibrate(*table[:2])
    loaded = nnpu.load(fitted.save(tmp_path / "model"))
    assert type(loaded) is BoostedPU
    assert loaded.get_params() == fitted.get_params()
    assert loaded.history_ == fitted.history_
    assert loaded.predict_proba(table[0]).tobytes() == fitted.predict_proba(table[0]).tobytes()


def set_at(name, index, value):
    def change(tensors):
        tensors[name][index] = value

    return change


def cycle(tensors):
    """Let a leaf lead back to its root: a row would never end."""
    tensors["left"][1], tensors["right"][1] = 0, 0


def shared(tensors):
    """Give two nodes one child: levels could double without end."""
    inner = int(np.flatnonzero(tensors["left"] != np.arange(len(tensors["left"])))[0])
    tensors["right"][inner] = tensors["left"][inner]


FORGERIES = {
    "a child behind the arrays": set_at("left", 0, 10**6),
    "a child before the arrays": set_at("right", 0, -3),
    "a feature that there is not": set_at("feature", 0, 5),
    "a feature below zero": set_at("feature", 0, -1),
    "a root behind the arrays": set_at("roots", 0, 10**6),
    "a threshold that is no number": set_at("threshold", 0, float("nan")),
    "a value without end": set_at("value", 0, float("inf")),
    "a cycle": cycle,
    "a node with two parents": shared,
    "a shorter array": lambda t: t.update(value=t["value"][:-1].copy()),
    "another type": lambda t: t.update(feature=t["feature"].astype(np.int64)),
    "a missing array": lambda t: t.pop("nan_left"),
    "one array more": lambda t: t.update(more=np.zeros(1)),
    "a matrix": lambda t: t.update(value=t["value"][:, None].copy()),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_forest_is_refused(fitted, tmp_path, forgery):
    folder = fitted.save(tmp_path / "model")
    path = folder / "model.safetensors"
    tensors = {
        name: array.copy() for name, array in safetensors.numpy.load(path.read_bytes()).items()
    }
    FORGERIES[forgery](tensors)
    path.write_bytes(safetensors.numpy.save(tensors))
    (folder / "SHA256SUMS").write_text(storage._sums(folder))
    with pytest.raises(InputError):
        nnpu.load(folder)


def test_a_folder_holds_no_text_for_lightgbm(fitted, tmp_path):
    folder = fitted.save(tmp_path / "model")
    assert b"Tree=" not in (folder / "model.safetensors").read_bytes()
    assert json.loads((folder / "config.json").read_text())["estimator"] == "BoostedPU"


# scikit-learn's checks.


@parametrize_with_checks([BoostedPU(prior=0.2, n_estimators=50, min_child_samples=2, n_jobs=1)])
def test_quick_trees_pass_every_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:No unlabelled row looks like a positive")
@pytest.mark.parametrize("classifier", [BoostedPU(prior=0.2), BoostedPU()], ids=str)
def test_the_default_passes_every_check(classifier):
    results = check_estimator(classifier, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert len(results) >= 50
    assert failed == []


def test_importances_are_shares_and_fall_on_the_column_that_tells(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.5
    X = np.column_stack([rng.normal(size=600), rng.normal(3.0 * y, 1)])
    clf = BoostedPU(0.5, sampling="one-sample", random_state=0).fit(X, y & (rng.random(600) < 0.5))
    assert clf.feature_importances_.sum() == pytest.approx(1)
    assert clf.feature_importances_[1] > clf.feature_importances_[0]
    same = nnpu.load(clf.save(tmp_path / "model"))
    np.testing.assert_array_equal(same.feature_importances_, clf.feature_importances_)
