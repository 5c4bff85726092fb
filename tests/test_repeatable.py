"""The same answer twice: the same seed gives the same bytes, wherever the rows come from.

benchmarks/repeatability.py measures what is not promised: other numbers of threads.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from nnpu import LinearPU, PUClassifier
from nnpu.cli import main
from nnpu.data import csvfile, formats, read_table

NAMES = ("config.json", "model.safetensors", "SHA256SUMS")


def make(n=120, d=4):
    """Rows of two classes and their PU labels."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    x = rng.normal(1.5 * y[:, None], 1.0, (n, d)).astype(np.float32)
    return x, (y == 1) & (np.arange(n) % 3 == 0)


CLASSIFIERS = {
    "network": lambda: PUClassifier("auto", epochs=2, batch_size=32, random_state=0),
    "linear": lambda: LinearPU(0.4, basis="rff", n_components=10, random_state=0),
}


def fitted_bytes(clf, x, s, folder):
    """The bytes of the model folder that a fit gives."""
    path = clf.fit(x, s).save(folder)
    return {name: (path / name).read_bytes() for name in NAMES}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_three_runs_give_the_same_bytes(name, tmp_path):
    x, s = make()
    first, *others = (fitted_bytes(CLASSIFIERS[name](), x, s, tmp_path / "model") for _ in "abc")
    assert others == [first, first]


IN_A_PROCESS = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("repeatable", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
x, s = module.make()
for name, clf in module.CLASSIFIERS.items():
    module.fitted_bytes(clf(), x, s, f"{sys.argv[2]}/{name}")
"""


@pytest.mark.parametrize("processes", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_other_processes_give_the_same_bytes(processes, tmp_path):
    x, s = make()
    for number in range(processes):
        folder = tmp_path / str(number)
        subprocess.run([sys.executable, "-c", IN_A_PROCESS, __file__, str(folder)], check=True)
        for name, clf in CLASSIFIERS.items():
            here = fitted_bytes(clf(), x, s, tmp_path / "here")
            assert {file: (folder / name / file).read_bytes() for file in NAMES} == here


def on_disk(x, folder):
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode="r")


def read_only(x, folder):
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def from_parquet(x, folder):
    columns = {f"x{number}": column for number, column in enumerate(x.T)}
    pq.write_table(pa.table(columns), folder / "x.parquet", row_group_size=17)
    return np.column_stack([*read_table(folder / "x.parquet").columns.values()])


def from_npz(x, folder):
    np.savez_compressed(folder / "x.npz", x=x)
    return read_table(folder / "x.npz").columns["x"]


SOURCES = {
    "a memory map": on_disk,
    "a read-only array": read_only,
    "Fortran's order": lambda x, folder: np.asfortranarray(x),
    "big-endian": lambda x, folder: x.astype(">f4"),
    "float64": lambda x, folder: x.astype(np.float64),
    "Parquet": from_parquet,
    "NPZ": from_npz,
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_from_anywhere_give_the_same_bytes_as_rows_in_memory(name, tmp_path):
    x, s = make()
    expected = fitted_bytes(CLASSIFIERS[name](), x, s, tmp_path / "model")
    scores = CLASSIFIERS[name]().fit(x, s).decision_function(x)
    for source, get in SOURCES.items():
        same = get(x, tmp_path)
        clf = CLASSIFIERS[name]()
        assert fitted_bytes(clf, same, s, tmp_path / "model") == expected, source
        assert np.array_equal(clf.decision_function(same), scores), source


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("chunk", [1, 7, 50])
def test_any_chunk_of_rows_gets_the_same_scores_up_to_rounding(name, chunk):
    """Matrix products of other shapes add in another order: float32 rounds at 1.2e-7."""
    x, s = make()
    clf = CLASSIFIERS[name]().fit(x, s)
    whole = clf.decision_function(x)
    parts = [clf.decision_function(x[start : start + chunk]) for start in range(0, len(x), chunk)]
    assert np.abs(np.concatenate(parts) - whole).max() <= 1e-5 * np.abs(whole).max()


def test_a_csv_and_a_parquet_file_in_blocks_of_any_size_get_the_same_predictions(
    tmp_path, monkeypatch
):
    x, s = make(600)
    table = pa.table({"a": x[:, 0].astype(float), "b": x[:, 1].astype(float), "s": s.astype(int)})
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    fit = ["fit", str(tmp_path / "t.csv"), "--label", "s", "--out", str(tmp_path / "model")]
    main([*fit, "--epochs", "1", "--prior", "0.5"])
    found = []
    for name in ("t.csv", "t.parquet"):
        for size in (1 << 12, 1 << 18):
            monkeypatch.setattr(csvfile, "_BLOCK", size)
            monkeypatch.setattr(formats, "ROWS", size >> 6)
            out = tmp_path / f"{name}-{size}.parquet"
            main(["predict", str(tmp_path / "model"), str(tmp_path / name), "--out", str(out)])
            found.append(pq.read_table(out))
    assert {part.num_rows for part in found} == {600}
    first = found[0]["score"].to_numpy()
    for part in found[1:]:
        assert np.abs(part["score"].to_numpy() - first).max() <= 1e-5 * np.abs(first).max()
        assert part["prediction"] == found[0]["prediction"]
