"""Model folders: what was saved is loaded bit for bit, and nothing else is loaded at all."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from torch import nn

import nnpu
from nnpu import BoostedPU, LinearPU, PUClassifier, models
from nnpu.parameters import InputError
from nnpu.risk import ImbalancedRisk
from nnpu.training import Training

FILES = ["SHA256SUMS", "config.json", "model.safetensors"]


@pytest.fixture
def fitted(sample):
    return PUClassifier(0.4, epochs=1, random_state=0).fit(sample.x, sample.s)


@pytest.fixture
def folder(fitted, tmp_path):
    return fitted.save(tmp_path / "model")


def rewrite_sums(folder):
    """Make the checksums right again, as a forger would."""
    names = ("config.json", "model.safetensors")
    digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names]
    lines = [f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True)]
    (folder / "SHA256SUMS").write_text("".join(lines))


def forge(folder, change):
    """Apply `change` to the parsed configuration and write it with right checksums."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    changed = change(config)
    path.write_text(json.dumps(config if changed is None else changed))
    rewrite_sums(folder)


# Round trips.


def test_a_loaded_classifier_gives_the_same_scores_bit_for_bit(fitted, folder, sample):
    loaded = nnpu.load(folder)
    assert type(loaded) is PUClassifier
    for method in ("decision_function", "predict_proba", "predict"):
        mine, theirs = (getattr(clf, method)(sample.x) for clf in (fitted, loaded))
        assert mine.tobytes() == theirs.tobytes()
        assert mine.dtype == theirs.dtype
    assert loaded.score(sample.x, sample.s) == fitted.score(sample.x, sample.s)
    assert loaded.history_ == fitted.history_
    assert loaded.get_params() == fitted.get_params()


def test_a_folder_holds_three_plain_files_with_sha256sums_format(folder):
    assert sorted(path.name for path in folder.iterdir()) == FILES
    check = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=folder, check=False)
    assert check.returncode == 0
    config = json.loads((folder / "config.json").read_text())
    assert config["schema"] == 1
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model"]  # no litter


def test_two_saves_of_one_model_are_equal_byte_by_byte(fitted, folder, tmp_path):
    other = fitted.save(tmp_path / "other")
    assert all((folder / name).read_bytes() == (other / name).read_bytes() for name in FILES)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([1.5, 2.0]) * 2,
        np.array([-1, 1], dtype=np.int8),
    ],
    ids=str,
)
def test_classes_of_every_type_come_back(sample, quick, tmp_path, labels):
    clf = quick().fit(sample.x, labels[sample.s])
    loaded = nnpu.load(clf.save(tmp_path / "model"), module=models.linear)
    assert loaded.classes_.tolist() == labels.tolist()
    assert loaded.predict(sample.x).dtype == clf.predict(sample.x).dtype
    assert loaded.predict(sample.x).tolist() == clf.predict(sample.x).tolist()


def test_feature_names_are_kept_and_checked(sample, tmp_path):
    frame = pd.DataFrame(sample.x, columns=["a", "b", "c", "δ"])
    clf = PUClassifier(0.4, epochs=1).fit(frame, sample.s)
    loaded = nnpu.load(clf.save(tmp_path / "model"))
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "δ"]
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["b", "a", "c", "δ"]])


def test_known_negatives_are_remembered(sample, quick, tmp_path):
    s = np.where((sample.s == 0) & (sample.y == -1) & (sample.x[:, 0] < -1.5), -1, sample.s)
    clf = quick(risk="nnpnu").fit(sample.x, s)
    loaded = nnpu.load(clf.save(tmp_path / "model"), module=models.linear)
    assert loaded.score(sample.x, s) == clf.score(sample.x, s)


def test_a_risk_with_parameters_of_its_own_comes_back(sample, quick, tmp_path):
    clf = quick(risk=ImbalancedRisk(0.3), prior=np.float32(0.4)).fit(sample.x, sample.s)
    loaded = nnpu.load(clf.save(tmp_path / "model"), module=models.linear)
    assert loaded.risk == ImbalancedRisk(0.3)
    assert loaded.prior == pytest.approx(0.4)


@pytest.mark.parametrize("form", ["instance", "class"])
def test_an_own_module_must_be_passed_again_and_then_scores_the_same(sample, quick, tmp_path, form):
    class Own(nn.Sequential):
        def __init__(self, n_features):
            super().__init__(nn.Linear(n_features, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))

    module = Own(4) if form == "instance" else Own
    clf = quick(module=module).fit(sample.x, sample.s)
    path = clf.save(tmp_path / "model")
    with pytest.raises(InputError, match=r"pass it again, nnpu.load\(folder, module="):
        nnpu.load(path)
    loaded = nnpu.load(path, module=module)
    assert np.array_equal(loaded.decision_function(sample.x), clf.decision_function(sample.x))


def test_another_module_than_the_fitted_one_is_refused(sample, quick, tmp_path):
    path = quick().fit(sample.x, sample.s).save(tmp_path / "model")
    with pytest.raises(InputError, match="does not describe a model"):
        nnpu.load(path, module=nn.Linear(7, 1))


def test_tied_weights_can_be_saved(sample, quick, tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.end = nn.Linear(4, 4), nn.Linear(4, 1)
            self.two = self.one

        def forward(self, x):
            return self.end(self.two(self.one(x).relu()))

    clf = quick(module=Tied).fit(sample.x, sample.s)
    loaded = nnpu.load(clf.save(tmp_path / "model"), module=Tied)
    assert np.array_equal(loaded.decision_function(sample.x), clf.decision_function(sample.x))


def test_what_json_cannot_say_has_its_default_after_loading(sample, quick, tmp_path):
    clf = quick(
        loss=lambda z: (1 - z).clamp(min=0),
        optimizer=torch.optim.NAdam,
        training=Training(schedule="cosine"),
    ).fit(sample.x, sample.s)
    loaded = nnpu.load(clf.save(tmp_path / "model"), module=models.linear)
    assert (loaded.loss, loaded.optimizer, loaded.training) == ("sigmoid", "adam", None)


def test_a_loaded_classifier_can_be_fitted_again(folder, fitted, sample):
    again = nnpu.load(folder).fit(sample.x, sample.s)
    assert np.array_equal(again.decision_function(sample.x), fitted.decision_function(sample.x))


def test_a_model_folder_is_replaced_and_any_other_left_alone(fitted, folder, sample, tmp_path):
    other = PUClassifier(0.3, epochs=1, random_state=1).fit(sample.x, sample.s)
    other.save(folder)
    assert nnpu.load(folder).prior_ == 0.3
    mine = tmp_path / "precious"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match=r"holds thesis\.tex, which nnpu did not write"):
        fitted.save(mine)
    with pytest.raises(InputError, match="exists and is not a folder"):
        fitted.save(mine / "thesis.tex")
    assert (mine / "thesis.tex").read_text() == "x"


KILLED_SAVES = """
import os, signal, sys
import numpy as np
import nnpu

WRITES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod"}
old, new, target = nnpu.load(sys.argv[1]), nnpu.load(sys.argv[2]), sys.argv[3]
x = np.linspace(-3, 3, 5 * old.n_features_in_).reshape(5, -1)
known = [clf.decision_function(x).tobytes() for clf in (old, new)]

def save_until(step):
    count = 0
    def hook(event, arguments):
        nonlocal count
        if event in WRITES or (event == "open" and arguments[2] & os.O_CREAT):
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    new.save(target)
    os._exit(0)

old.save(target)
seen, step, killed = set(), 0, True
while killed:
    step += 1
    child = os.fork()
    if child == 0:
        save_until(step)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    seen.add(known.index(nnpu.load(target).decision_function(x).tobytes()))
    old.save(target)
print(step - 1, sorted(seen))
"""


def test_a_save_killed_at_any_step_leaves_the_old_model_or_the_new_one(sample, tmp_path):
    """Every file made, renamed or removed is a step; the process is killed before each in turn."""
    for seed in (0, 1):
        clf = PUClassifier(0.3, epochs=1, random_state=seed).fit(sample.x, sample.s)
        clf.save(tmp_path / f"model-{seed}")
    target = tmp_path / "place" / "model"
    command = [sys.executable, "-c", KILLED_SAVES, *map(str, sorted(tmp_path.glob("model-*")))]
    alone = os.environ | {"OMP_NUM_THREADS": "1"}  # threads do not survive a fork
    told = subprocess.run(
        [*command, str(target)], check=True, capture_output=True, text=True, env=alone
    )
    steps, seen = told.stdout.split(maxsplit=1)
    assert int(steps) >= 10
    assert json.loads(seen) == [0, 1]


def test_an_unfitted_classifier_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        PUClassifier().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# What must not be loaded.


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_noticed(folder, name):
    content = (folder / name).read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), 20):
        damaged = bytearray(content)
        damaged[place] ^= 4
        (folder / name).write_bytes(damaged)
        with pytest.raises(InputError, match=r"is damaged or was changed.*SHA256SUMS"):
            nnpu.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_or_missing_file_is_noticed(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="is damaged or was changed"):
        nnpu.load(folder)
    path.unlink()
    with pytest.raises(InputError, match=f"not a model folder: it has no file {name}"):
        nnpu.load(folder)


def test_a_link_in_place_of_a_file_is_not_followed(folder, tmp_path):
    weights = folder / "model.safetensors"
    weights.rename(tmp_path / "elsewhere")
    weights.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"no file model\.safetensors"):
        nnpu.load(folder)


def test_no_folder_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="is not a model folder"):
        nnpu.load(tmp_path / "nothing")


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code of a stranger ran')",))


@pytest.mark.parametrize("write", [pickle.dumps, None], ids=["pickle", "torch"])
def test_a_pickle_in_place_of_safetensors_is_not_run(folder, write):
    path = folder / "model.safetensors"
    path.write_bytes(write(Bomb())) if write else torch.save(Bomb(), path)
    rewrite_sums(folder)
    with pytest.raises(InputError, match="is not a safetensors file"):
        nnpu.load(folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, bad):
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    name = next(iter(tensors))
    tensors[name].view(-1)[0] = bad
    safetensors.torch.save_file(tensors, path)
    rewrite_sums(folder)
    with pytest.raises(InputError, match=f"the weights '{name}' are not all finite"):
        nnpu.load(folder)


@pytest.mark.parametrize("schema", [2, 0, None, "1", [1]])
def test_another_schema_is_refused_with_what_to_do(folder, schema):
    forge(folder, lambda config: config.update(schema=schema))
    with pytest.raises(InputError, match=r"reads formats up to 1\. Upgrade nnpu"):
        nnpu.load(folder)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b"[]", b'{"format": "other"}']
)
def test_a_configuration_that_is_none_is_refused(folder, text):
    (folder / "config.json").write_bytes(text)
    rewrite_sums(folder)
    with pytest.raises(InputError, match=r"is not JSON|does not describe an nnpu model"):
        nnpu.load(folder)


def set_fitted(name, value):
    return lambda config: config["fitted"].update({name: value})


def set_parameter(name, value):
    return lambda config: config["parameters"].update({name: value})


HOSTILE = {
    "unknown estimator": lambda config: config.update(estimator="os.system"),
    "estimator of another type": lambda config: config.update(estimator=["PUClassifier"]),
    "no parameters": lambda config: config.pop("parameters"),
    "parameters that are text": lambda config: config.update(parameters="abc"),
    "an unknown parameter": set_parameter("shell", "rm"),
    "an unknown risk": set_parameter("risk", {"name": "os"}),
    "a risk of another type": set_parameter("risk", {"name": ["os"]}),
    "a risk out of range": set_parameter("risk", {"name": "imbalanced", "target_prior": 7}),
    "a risk with an unknown field": set_parameter("risk", {"name": "nnpu", "x": 1}),
    "an unknown device": set_parameter("device", "cuda:99"),
    "no fitted values": lambda config: config.pop("fitted"),
    "fitted values that are a list": lambda config: config.update(fitted=[]),
    "a prior out of range": set_fitted("prior", 2),
    "a prior that is text": set_fitted("prior", "0.4"),
    "classes of objects": set_fitted("classes_dtype", "O"),
    "classes of an unknown type": set_fitted("classes_dtype", "evil"),
    "three classes": set_fitted("classes", [0, 1, 2]),
    "classes of text as numbers": set_fitted("classes", ["a", "b"]),
    "classes too large": set_fitted("classes", [0, 10**40]),
    "features beyond memory": set_fitted("n_features", 10**12),
    "infinitely many features": set_fitted("n_features", float("inf")),
    "negative features": set_fitted("n_features", -1),
    "no history": lambda config: config["fitted"].pop("history"),
    "a history that is a number": set_fitted("history", 3),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_configuration_with_right_checksums_is_an_input_error(folder, case):
    def change(config):
        HOSTILE[case](config)

    forge(folder, change)
    with pytest.raises(InputError):
        nnpu.load(folder)


def test_a_configuration_cannot_bring_a_module(folder):
    forge(folder, set_parameter("module", "os.system"))
    assert nnpu.load(folder).module is None


def test_missing_and_additional_weights_are_refused(folder):
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    for changed in ({**tensors, "extra": torch.zeros(1)}, dict(list(tensors.items())[1:])):
        safetensors.torch.save_file(changed, path)
        rewrite_sums(folder)
        with pytest.raises(InputError, match="does not describe a model"):
            nnpu.load(folder)


WITHOUT_TORCH = """
import sys
import numpy as np
import nnpu
clf = nnpu.load(sys.argv[1])
X = np.load(sys.argv[2])
np.savez(sys.argv[3], clf.decision_function(X), clf.predict(X), clf.predict_proba(X))
assert "torch" not in sys.modules
"""


@pytest.mark.parametrize("make", [BoostedPU, LinearPU])
def test_a_model_without_a_network_scores_without_torch(make, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + np.repeat([[1.0], [0.0]], 100, axis=0)
    clf = make(0.4, random_state=0).fit(X, np.repeat([1, 0], 100))
    clf.save(tmp_path / "model")
    np.save(tmp_path / "x.npy", X)
    paths = [str(tmp_path / name) for name in ("model", "x.npy", "out.npz")]
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *paths], check=True)
    with np.load(tmp_path / "out.npz") as out:
        assert np.array_equal(out["arr_0"], clf.decision_function(X))
        assert np.array_equal(out["arr_1"], clf.predict(X))
        assert np.array_equal(out["arr_2"], clf.predict_proba(X))


def test_a_module_in_bfloat16_keeps_its_bits(tmp_path):
    clf = PUClassifier(0.4, module=lambda: torch.nn.Linear(2, 1).bfloat16(), epochs=1)
    X = np.random.default_rng(0).normal(size=(40, 2))
    clf.fit(X, np.arange(40) % 2)
    same = nnpu.load(clf.save(tmp_path / "model"), module=clf.module)
    for name, weight in clf.module_.state_dict().items():
        assert weight.dtype == torch.bfloat16
        assert torch.equal(same.module_.state_dict()[name], weight)
