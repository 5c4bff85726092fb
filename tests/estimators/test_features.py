"""Digits of float64 that float32 has not: columns are centred first, or a warning names them."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

import nnpu
from nnpu import BoostedPU, LinearPU, PUClassifier, export, models
from nnpu.estimators.features import find_offset
from nnpu.parameters import InputError

CLASSIFIERS = {
    "network": lambda: PUClassifier(0.3, epochs=10, random_state=0),
    "linear": lambda: LinearPU(0.3, random_state=0),
    "linear with a basis": lambda: LinearPU(0.3, basis="gaussian", random_state=0),
    "trees": lambda: BoostedPU(0.3, n_estimators=30, random_state=0),
}


def draw(n=1500, seed=0):
    """P and N at a distance of 3 standard deviations; 30 % of U are positives."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(n // 3), np.where(rng.random(n - n // 3) < 0.3, 1, 0)]
    s = np.r_[np.ones(n // 3), np.zeros(n - n // 3)].astype(int)
    return rng.normal(3 * y, 1)[:, None], s, y


SHIFTED = {
    "1e8 + x": lambda x: 1e8 + x,
    "seconds since 1970": lambda x: 1.7e9 + x,
    "milliseconds": lambda x: (1.7e12 + 1e3 * x).astype(np.int64),
    "nanoseconds": lambda x: (1.7e18 + 1e9 * x).astype(np.int64),
    "tiny differences": lambda x: 0.3 + 1e-9 * x,
    "one of two columns, with an outlier": lambda x: np.c_[x * 0, np.where(x > 6, 0, 1e8 + x)],
    "a frame": lambda x: pd.DataFrame({"when": 1e8 + x[:, 0]}),
    "a list": lambda x: (1e8 + x).tolist(),
}


@pytest.mark.parametrize("kind", SHIFTED)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_large_numbers_that_are_close_together_are_told_apart(name, kind, tmp_path):
    x, s, y = draw()
    if kind == "one of two columns, with an outlier" and name != "trees":
        pytest.skip("an outlier of 1e8 standard deviations is another problem")
    shifted = SHIFTED[kind](x)
    clf = CLASSIFIERS[name]().fit(shifted, s)
    scores = clf.decision_function(shifted)
    u = s == 0
    assert roc_auc_score(y[u], scores[u]) > 0.95
    again = nnpu.load(clf.save(tmp_path / "model"))
    assert np.array_equal(again.decision_function(shifted), scores)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_ordinary_columns_stay_as_they_are_to_the_bit(name):
    x, s, _ = draw()
    X = np.c_[x, np.full(len(x), 0.1), np.exp(3 * x), np.where(x > 4, x, 0.1), 2000 + np.round(x)]
    assert find_offset(X) is None
    wide, narrow = (CLASSIFIERS[name]().fit(part, s) for part in (X, X.astype(np.float32)))
    assert wide._offset is None
    assert np.array_equal(wide.decision_function(X), narrow.decision_function(X))


def test_linear_weights_are_in_the_units_of_the_features():
    x, s, _ = draw()
    X = np.c_[x, 1e8 + x]
    clf = LinearPU(0.3).fit(X, s)
    by_hand = X @ clf.coef_[0] + clf.intercept_[0]
    assert np.allclose(clf.decision_function(X), by_hand, atol=1e-6)
    path = LinearPU(0.3, random_state=0).regularisation_path(X, s, [0.1])
    centred = LinearPU(0.3, random_state=0).regularisation_path(np.c_[x, x], s, [0.1])
    assert path[0]["zero_one"] == pytest.approx(centred[0]["zero_one"], abs=0.01)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PUClassifier(0.3, module=models.linear, epochs=1, random_state=0),
        lambda: LinearPU(0.3, fit_intercept=False),
    ],
)
def test_where_columns_are_not_centred_a_warning_names_them(make):
    x, s, _ = draw()
    with pytest.warns(UserWarning, match="Column 1 has values around 1000.* Subtract a number"):
        make().fit(np.c_[x, 1e8 + x], s)


def test_a_memory_map_is_not_centred_and_says_so(tmp_path):
    x, s, _ = draw()
    np.save(tmp_path / "x.npy", 1e8 + x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    with pytest.warns(UserWarning, match="Column 0 .*a memory map is not centred"):
        LinearPU(0.3).fit(mapped, s)
    fitted = LinearPU(0.3).fit(1e8 + x, s)
    assert np.array_equal(fitted.decision_function(mapped), fitted.decision_function(1e8 + x))


def test_other_rows_than_a_dense_array_cannot_be_centred():
    x, s, _ = draw()
    clf = LinearPU(0.3).fit(1e8 + x, s)
    with pytest.raises(InputError, match="centres them, which takes a dense array"):
        clf.predict(sparse.csr_array(1e8 + x))


def test_a_graph_in_float32_is_refused(tmp_path):
    x, s, _ = draw()
    with pytest.raises(InputError, match="columns that float32 cannot hold"):
        export.to_onnx(LinearPU(0.3).fit(1e8 + x, s), 1e8 + x[:2], tmp_path / "x.onnx")


@pytest.mark.parametrize(
    "stored",
    [
        {"columns": [7], "values": [1.0]},
        {"columns": [-1], "values": [1.0]},
        {"columns": [0], "values": []},
        {"columns": [0], "values": ["x"]},
        {"columns": 0, "values": 1.0},
        [1.0],
        1.0,
    ],
)
def test_offsets_of_a_forged_folder_are_refused(stored, tmp_path):
    x, s, _ = draw(300)
    folder = LinearPU(0.3).fit(1e8 + x, s).save(tmp_path / "model")
    path = folder / "config.json"
    config = json.loads(path.read_text())
    assert config["fitted"]["offset"]["columns"] == [0]
    config["fitted"]["offset"] = stored
    path.write_text(json.dumps(config))
    names = ("config.json", "model.safetensors")
    sums = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names]
    lines = [f"{digest}  {name}\n" for digest, name in zip(sums, names, strict=True)]
    (folder / "SHA256SUMS").write_text("".join(lines))
    with pytest.raises(InputError, match="does not describe a model"):
        nnpu.load(folder)
