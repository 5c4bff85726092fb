"""Model folders that somebody made to do harm: a typed error, soon, in little memory, no code run.

Every folder below carries right checksums, as a forger's would, unless the case is about them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
import struct
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import nnpu
from nnpu import PUClassifier, models
from nnpu.parameters import InputError
from nnpu.storage import read_tensors

WEIGHTS, CONFIG, SUMS = "model.safetensors", "config.json", "SHA256SUMS"
FIXTURE = Path(__file__).parents[1] / "fixtures" / "0.1.0" / "network"


def fit(n_features=4, **changes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, n_features)).astype(np.float32)
    s = (np.arange(60) < 20).astype(int)
    return PUClassifier(0.4, epochs=1, random_state=0, **changes).fit(x, s)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return fit().save(tmp_path_factory.mktemp("honest") / "model")


@pytest.fixture
def folder(honest, tmp_path):
    return shutil.copytree(honest, tmp_path / "model")


def seal(folder):
    """Make the checksums right."""
    names = (CONFIG, WEIGHTS)
    digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names]
    lines = [f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True)]
    (folder / SUMS).write_text("".join(lines))


def config(change):
    """A case: `change` is applied to the parsed configuration."""

    def forge(folder):
        path = folder / CONFIG
        values = json.loads(path.read_text())
        change(values)
        path.write_text(json.dumps(values))
        seal(folder)

    return forge


def fitted(**values):
    return config(lambda c: c["fitted"].update(values))


def parameters(**values):
    return config(lambda c: c["parameters"].update(values))


def text(make):
    """A case: the configuration's text, from the honest one."""

    def forge(folder):
        path = folder / CONFIG
        path.write_bytes(make(path.read_bytes()))
        seal(folder)

    return forge


def weights(make):
    """A case: the bytes of the weights, from the honest ones."""

    def forge(folder):
        path = folder / WEIGHTS
        path.write_bytes(make(path.read_bytes()))
        seal(folder)

    return forge


def tensors(change):
    """A case: `change` is applied to the tensors by name."""

    def make(content):
        values = safetensors.torch.load(content)
        return safetensors.torch.save(change(values) or values)

    return weights(make)


def header(change):
    """A case: `change` is applied to the header of the safetensors file."""

    def make(content):
        length = struct.unpack("<Q", content[:8])[0]
        values = json.loads(content[8 : 8 + length])
        changed = change(values)
        new = changed if isinstance(changed, bytes) else json.dumps(values).encode()
        return struct.pack("<Q", len(new)) + new + content[8 + length :]

    return weights(make)


def with_one(values, name, tensor):
    return values | {name: tensor}


class Bomb:
    """A pickle that leaves a file behind when it is loaded."""

    def __reduce__(self):
        return (exec, ("import pathlib; pathlib.Path('code-of-a-stranger-ran').touch()",))


def torch_pickle(content):
    buffer = io.BytesIO()
    torch.save(Bomb(), buffer)
    return buffer.getvalue()


def zip_bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", bytes(50 * 2**20))
    return buffer.getvalue()


def overlap(values):
    names = [name for name in values if name != "__metadata__"]
    same = next(n for n in names if values[n]["shape"] == values["rest.2.weight"]["shape"])
    other = next(n for n in names if n != same and values[n]["dtype"] == "F32")
    values[other]["data_offsets"] = values[same]["data_offsets"]
    values[other]["shape"] = values[same]["shape"]


def past_the_end(values):
    last = max(
        (v for k, v in values.items() if k != "__metadata__"), key=lambda v: v["data_offsets"][1]
    )
    last["data_offsets"][1] += 4 * 10**9
    last["shape"] = [(last["data_offsets"][1] - last["data_offsets"][0]) // 4]


def entry(field, value):
    def change(values):
        values["rest.2.weight"][field] = value

    return header(change)


def replaced(name, make):
    """A case: something else than a plain file in a file's place."""

    def forge(folder):
        (folder / name).unlink()
        make(folder / name)

    return forge


def link_out(path):
    target = path.parent.parent / "outside"
    target.write_bytes(b"secret")
    path.symlink_to(target)


def link_to_endless(path):
    path.symlink_to("/dev/zero")


def sparse_file(size):
    def make(path):
        with path.open("wb") as file:
            file.truncate(size)

    return make


def sums(make):
    def forge(folder):
        (folder / SUMS).write_bytes(make((folder / SUMS).read_bytes()))

    return forge


HOSTILE = {
    # The weights.
    "a pickle as weights": weights(lambda _: pickle.dumps(Bomb())),
    "torch's pickle as weights": weights(torch_pickle),
    "a zip bomb as weights": weights(lambda _: zip_bomb()),
    "no bytes of weights": weights(lambda _: b""),
    "seven bytes of weights": weights(lambda content: content[:7]),
    "a header of 2^63 bytes": weights(lambda content: struct.pack("<Q", 2**63) + content[8:]),
    "a header of 2^64 - 1 bytes": weights(lambda content: b"\xff" * 8 + content[8:]),
    "a header beyond the file": weights(
        lambda content: struct.pack("<Q", len(content)) + content[8:]
    ),
    "a header that is no object": header(lambda _: b"[1, 2]"),
    "a header that is no JSON": header(lambda _: b"{'a': 1}"),
    "a header of other bytes than UTF-8": header(lambda _: b'{"\xff": 1}'),
    "a header nested deeply": header(lambda _: b"[" * 10**5),
    "a tensor twice": header(lambda v: json.dumps(v).encode()[:-1] + b', "rest.2.bias": 1}'),
    "overlapping tensors": header(overlap),
    "a tensor beyond the end": header(past_the_end),
    "bytes behind the last tensor": weights(lambda content: content + bytes(8)),
    "a gap between tensors": header(lambda v: v.pop("rest.2.bias") and None),
    "a tensor without a shape": header(lambda v: v["rest.2.weight"].pop("shape") and None),
    "a tensor that is text": header(lambda v: v.update({"rest.2.weight": "evil"})),
    "a shape with a negative size": entry("shape", [-256, -256]),
    "a shape of fractions": entry("shape", [256.0, 256]),
    "a shape of truth": entry("shape", [True] * 3),
    "a shape whose product overflows": entry("shape", [2**62, 2**62, 0]),
    "a shape beyond memory": entry("shape", [2**40, 2**22]),
    "a thousand dimensions": entry("shape", [1] * 1000),
    "offsets backwards": entry("data_offsets", [10, 2]),
    "offsets below zero": entry("data_offsets", [-8, 8]),
    "one offset": entry("data_offsets", [0]),
    "an unknown type of numbers": entry("dtype", "EVIL"),
    "a type that is a list": entry("dtype", ["F32"]),
    "complex weights": tensors(
        lambda v: with_one(v, "rest.2.bias", torch.zeros(256, dtype=torch.complex64))
    ),
    "whole numbers as weights": tensors(
        lambda v: with_one(v, "rest.2.bias", torch.zeros(256, dtype=torch.int32))
    ),
    "weights of double precision": tensors(
        lambda v: with_one(v, "standardise.mean", torch.zeros(4, dtype=torch.float64))
    ),
    "weights of another shape": tensors(lambda v: with_one(v, "rest.2.bias", torch.zeros(255))),
    "weights of no shape": tensors(lambda v: with_one(v, "standardise.mean", torch.tensor(0.0))),
    "additional weights": tensors(lambda v: with_one(v, "evil", torch.zeros(3))),
    "missing weights": tensors(lambda v: v.pop("rest.2.bias") is None or v),
    "no weights at all": weights(lambda _: safetensors.torch.save({})),
    "weights that are not a number": tensors(
        lambda v: with_one(v, "rest.2.bias", torch.full((256,), float("nan")))
    ),
    "infinite weights": tensors(
        lambda v: with_one(v, "rest.2.bias", torch.full((256,), -float("inf")))
    ),
    # The configuration.
    "no configuration": text(lambda _: b""),
    "a configuration in UTF-16": text(lambda content: content.decode().encode("utf-16")),
    "a configuration of other bytes than UTF-8": text(lambda content: content + b"\xff"),
    "a configuration nested deeply": text(lambda _: b'{"a":' * 10**5),
    "a list nested deeply in the configuration": text(
        lambda content: content[:-2] + b',"x":' + b"[" * 10**5 + b"]" * 10**5 + b"}"
    ),
    "a key twice": text(lambda content: content[:-2] + b',"schema": 1}'),
    "NaN in the configuration": text(lambda content: content.replace(b"0.4", b"NaN")),
    "a number beyond all floats": text(lambda content: content.replace(b"0.4", b"1e999")),
    "a number of a million digits": text(lambda content: content.replace(b"0.4", b"1" * 10**6)),
    "two documents": text(lambda content: content + content),
    "another format": config(lambda c: c.update(format="pickle")),
    "schema 0": config(lambda c: c.update(schema=0)),
    "schema 2": config(lambda c: c.update(schema=2)),
    "schema '1'": config(lambda c: c.update(schema="1")),
    "schema true": config(lambda c: c.update(schema=True)),
    "schema 1.0": config(lambda c: c.update(schema=1.0)),
    "a class path": config(lambda c: c.update(estimator="subprocess.Popen")),
    "a class path that exists": config(
        lambda c: c.update(estimator="nnpu.estimators.network.PUClassifier")
    ),
    "a private name": config(lambda c: c.update(estimator="__class__")),
    "an estimator of megabytes": config(lambda c: c.update(estimator="x" * 10**6)),
    "parameters that are a list": config(lambda c: c.update(parameters=[1])),
    "an unknown parameter": parameters(shell="rm"),
    "a parameter named self": parameters(self="x"),
    "a device that is none": parameters(device="evil"),
    "an optimiser by path": parameters(optimizer="os.system"),
    "a loss by path": parameters(loss="os.system"),
    "a prior that is text": parameters(prior="high"),
    "a negative step size": parameters(lr=-1),
    "epochs that are a list": parameters(epochs=[1]),
    "options that are text": parameters(training="evil"),
    "a risk by path": parameters(risk={"name": "os.system"}),
    "a risk with unknown fields": parameters(risk={"name": "nnpu", "__class__": "os"}),
    "a fitted prior of 1": fitted(prior=1.0),
    "a fitted prior of true": fitted(prior=True),
    "a trillion features": fitted(n_features=10**12),
    "negative features": fitted(n_features=-4),
    "no features": fitted(n_features=0),
    "features that are text": fitted(n_features="4"),
    "features that are a fraction": fitted(n_features=4.0),
    "names for other features": fitted(feature_names=["a"]),
    "names that are numbers": fitted(feature_names=[1, 2, 3, 4]),
    "classes of objects": fitted(classes=[0, 1], classes_dtype="|O"),
    "classes of huge texts": fitted(classes=["a", "b"], classes_dtype="<U999999999"),
    "classes of records": fitted(classes_dtype=[["a", "<i4"]]),
    "classes of dates": fitted(classes_dtype="<M8[s]"),
    "classes that are one": fitted(classes=[1, 1]),
    "three classes": fitted(classes=[0, 1, 2]),
    "a history that is text": fitted(history="risk"),
    "a history of numbers": fitted(history=[1, 2]),
    "a module of the user's own, asked for": fitted(own_module="os.system"),
    "fitted values that are null": config(lambda c: c.update(fitted=None)),
    # The folder.
    "a link out of the folder": replaced(WEIGHTS, link_out),
    "a link to an endless device": replaced(CONFIG, link_to_endless),
    "a link to itself": replaced(SUMS, lambda path: path.symlink_to(path)),
    "a folder in place of a file": replaced(WEIGHTS, lambda path: path.mkdir()),
    "a pipe in place of the weights": replaced(WEIGHTS, os.mkfifo),
    "a pipe in place of the checksums": replaced(SUMS, os.mkfifo),
    "a configuration of 10 GB": replaced(CONFIG, sparse_file(10 * 10**9)),
    "weights of 10 TB": replaced(WEIGHTS, sparse_file(10**13)),
    "checksums of 10 GB": replaced(SUMS, sparse_file(10 * 10**9)),
    "a missing file": lambda folder: (folder / CONFIG).unlink(),
    # The checksums.
    "empty checksums": sums(lambda _: b""),
    "checksums of paths out of the folder": sums(
        lambda content: content + b"0" * 64 + b"  ../../etc/passwd\n"
    ),
    "checksums of absolute paths": sums(lambda c: c.replace(b"config", b"/etc/config")),
    "checksums in capitals": sums(bytes.upper),
    "checksums of another folder's": sums(lambda _: (FIXTURE / SUMS).read_bytes()),
    "a configuration changed after its checksum": lambda folder: (folder / CONFIG).write_text("{}"),
}


def resident(what):
    """Return this process's memory in bytes: now (VmRSS) or at its peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024


class Peak:
    """Measures how far the memory rises above where it was."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        self.before = resident("VmRSS")
        return self

    def __exit__(self, *error):
        self.bytes = resident("VmHWM") - self.before


def on_disk(folder):
    return sum(path.lstat().st_blocks * 512 for path in folder.iterdir())


def test_there_are_at_least_25_kinds_of_hostile_folder():
    assert len(HOSTILE) >= 25


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_folder_is_a_typed_error_soon_and_in_little_memory(folder, case, monkeypatch):
    HOSTILE[case](folder)
    monkeypatch.chdir(folder.parent)
    with Peak() as peak:
        began = time.process_time()  # others may be using the machine
        with pytest.raises(InputError) as caught:
            nnpu.load(folder)
        seconds = time.process_time() - began
    assert seconds < 1
    assert not Path("code-of-a-stranger-ran").exists()
    assert peak.bytes < 2 * on_disk(folder) + 4 * 2**20  # and what Python itself takes
    assert len(str(caught.value)) < 700  # a message, not the file again


LARGE = {
    "not a number at the end": lambda v: v["first.weight"].view(-1)[-1].fill_(float("nan")) and v,
    "additional weights": lambda v: with_one(v, "evil", torch.zeros(1)),
    "weights of another shape": lambda v: with_one(v, "rest.2.bias", torch.zeros(1)),
}


@pytest.mark.parametrize("case", LARGE)
def test_a_large_hostile_folder_takes_about_twice_its_size(case, tmp_path):
    """The bytes of the file and the tensors that safetensors makes of them.

    About 60 MB, so that what Python itself takes does not matter.
    """
    torch.manual_seed(0)
    n = 60_000
    net = models.TabularNet(torch.zeros(n), torch.ones(n))
    folder = shutil.copytree(FIXTURE, tmp_path / "model")
    fitted(n_features=n)(folder)
    (folder / WEIGHTS).write_bytes(safetensors.torch.save(net.state_dict()))
    seal(folder)
    size = on_disk(folder)
    assert size > 60e6
    tensors(LARGE[case])(folder)
    with Peak() as peak, pytest.raises(InputError, match="the weights"):
        nnpu.load(folder)
    assert peak.bytes < 2.2 * size


def test_a_module_of_the_users_own_is_not_made_for_a_stranger_s_trillion_features(tmp_path):
    folder = fit(module=models.linear).save(tmp_path / "model")
    fitted(n_features=10**12)(folder)
    with pytest.raises(InputError, match="too few weights for 1000000000000 features"):
        nnpu.load(folder, module=models.linear)


def test_every_one_of_a_thousand_flipped_bits_is_noticed(folder):
    rng = np.random.default_rng(0)
    contents = {name: (folder / name).read_bytes() for name in (WEIGHTS, CONFIG, SUMS)}
    for number in range(1_000):
        name = (WEIGHTS, CONFIG, SUMS)[number % 3]
        damaged = bytearray(contents[name])
        place = int(rng.integers(8 * len(damaged)))
        damaged[place // 8] ^= 1 << place % 8
        (folder / name).write_bytes(damaged)
        with pytest.raises(InputError, match="is damaged or was changed"):
            nnpu.load(folder)
        (folder / name).write_bytes(contents[name])
    nnpu.load(folder)


def test_every_one_of_a_thousand_truncations_is_noticed(folder):
    rng = np.random.default_rng(1)
    contents = {name: (folder / name).read_bytes() for name in (WEIGHTS, CONFIG, SUMS)}
    for number in range(1_000):
        name = (WEIGHTS, CONFIG, SUMS)[number % 3]
        (folder / name).write_bytes(contents[name][: rng.integers(len(contents[name]))])
        with pytest.raises(InputError, match="is damaged or was changed"):
            nnpu.load(folder)
        (folder / name).write_bytes(contents[name])
    nnpu.load(folder)


def test_damaged_headers_are_value_errors_and_nothing_else():
    values = {
        "a": torch.arange(6.0).reshape(2, 3),
        "b": torch.tensor(7),
        "c": torch.zeros(0, 4),
        "d": torch.tensor([True, False]),
        "e": torch.ones(3, dtype=torch.bfloat16),
        "f": torch.ones(5, dtype=torch.float64),
        "g": torch.tensor([-1, 2], dtype=torch.int8),
    }
    content = safetensors.torch.save(values, metadata={"by": "test"})
    read = read_tensors(content)
    assert read.keys() == values.keys()
    for name, value in values.items():
        bits = value.view(torch.uint16) if value.dtype == torch.bfloat16 else value
        assert read[name].dtype == bits.numpy().dtype
        assert np.array_equal(read[name], bits.numpy())
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(2_000):
        damaged = bytearray(content)
        for place in rng.integers(0, 8 + int.from_bytes(content[:8], "little"), 2):
            damaged[place] = rng.integers(256)
        try:
            read_tensors(bytes(damaged))
        except ValueError:
            refused += 1
    assert refused > 1_000


def test_a_header_that_is_too_long_is_refused_before_it_is_read():
    """20 MB of a header that the library would parse."""
    long = json.dumps({"__metadata__": {"a": "x" * 20 * 2**20}}).encode()
    content = struct.pack("<Q", len(long)) + long
    assert safetensors.torch.load(content) == {}
    with pytest.raises(ValueError, match=r"header of 20,.* is longer than any model's"):
        read_tensors(content)


# What is honest keeps loading.


def test_a_folder_of_schema_1_keeps_loading():
    """Written by the first version of the format, before there was a calibration."""
    expected = json.loads((FIXTURE.parent / "network.json").read_text())
    clf = nnpu.load(FIXTURE)
    assert clf.decision_function(expected["x"]) == pytest.approx(expected["scores"], abs=1e-5)
    assert clf.classes_.tolist() == expected["classes"]
    assert clf.prior_ == expected["prior"]
    assert clf.threshold_ == 0


def test_unknown_sections_of_the_configuration_are_passed_over(folder):
    config(lambda c: c.update(later={"a": [1, None]}))(folder)
    fitted(something_new=1)(folder)
    assert nnpu.load(folder).prior_ == 0.4


def test_other_files_in_the_folder_are_never_opened(folder):
    (folder / "data.zip").write_bytes(zip_bomb())
    os.mkfifo(folder / "notes.txt")
    assert nnpu.load(folder).prior_ == 0.4


def test_the_folder_itself_may_be_reached_by_a_link(folder, tmp_path):
    (tmp_path / "latest").symlink_to(folder, target_is_directory=True)
    assert nnpu.load(tmp_path / "latest").prior_ == 0.4


def test_what_would_not_be_read_again_is_not_written(tmp_path):
    clf = fit()
    clf.history_ = [{"note": "x" * 33 * 2**20}]
    with pytest.raises(InputError, match=r"config\.json would have 34,.* bytes, and at most"):
        clf.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
