"""The same answer twice: the same seed gives the same bytes, wherever the rows come from.

benchmarks/repeatability.py measures what is not promised: other numbers of threads.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from nnpu import (
    BiasedLabelPU,
    BoostedPU,
    EnsemblePU,
    ImagePU,
    LinearPU,
    PUClassifier,
    PUWrapper,
)
from nnpu.cli import main
from nnpu.data import formats, read_table
from nnpu.data import text_files as csvfile

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


WORDS = ["refund", "card", "stolen", "parcel", "courier", "late", "please", "hello", "order", "ok"]


def texts(n=160):
    """Short texts, each of them twice, as sparse counts of their words."""
    rng = np.random.default_rng(1)
    y = np.arange(n // 2) % 2
    rows = rng.poisson(np.where(y[:, None] == (np.arange(10) < 3), 1.5, 0.3)).astype(np.float32)
    rows = np.repeat(rows, 2, axis=0)
    return sp.csr_array(rows), (np.repeat(y, 2) == 1) & (np.arange(n) % 3 == 0)


def write_tables(folder):
    """Write the tables that `fit_all` gives to the command line."""
    folder.mkdir(parents=True)
    x, s = make(160)
    rng = np.random.default_rng(2)
    town = np.where(x[:, 0] > 1, "Ulm", rng.choice(["Bonn", "Kiel", ""], len(x)))
    lines = [
        f"{a:.2f},{b:.2f},{t},{int(k)}" for (a, b), t, k in zip(x[:, :2], town, s, strict=True)
    ]
    (folder / "mixed.csv").write_text("\n".join(["a,b,town,s", *lines]) + "\n")
    counts, s = texts()
    said = (" ".join(np.repeat(WORDS, row.astype(int))) for row in counts.toarray())
    lines = [f"{words},{int(label)}" for words, label in zip(said, s, strict=True)]
    (folder / "texts.csv").write_text("\n".join(["text,s", *lines]) + "\n")


def fit_all(folder):
    """Fit every model there is, the default first, and save them below `folder`."""
    for name in ("mixed", "texts"):
        data, out = folder.parent / f"{name}.csv", folder / f"table-{name}"
        main(["fit", str(data), "--label", "s", "--out", str(out)])
    x, s = make()
    EnsemblePU(random_state=0).fit(np.repeat(x, 2, axis=0), np.repeat(s, 2)).save(folder / "dense")
    EnsemblePU(random_state=0).fit(*texts()).save(folder / "sparse")
    frame = pd.DataFrame(x, columns=list("abcd")).assign(town=np.array(WORDS)[np.arange(120) % 10])
    EnsemblePU(0.4, random_state=0).fit(frame, s).save(folder / "frame")
    BoostedPU("auto", random_state=0).fit(x, s).save(folder / "trees")
    BiasedLabelPU(random_state=0).fit(x, s).save(folder / "biased")
    ImagePU(0.5, epochs=1, random_state=0).fit(
        x.reshape(-1, 2, 2).repeat(4, 1).repeat(4, 2), s
    ).save(folder / "images")
    wrapped = PUWrapper(LogisticRegression(), "auto", random_state=0).fit(x, s)
    np.save(folder / "wrapper.npy", wrapped.decision_function(x))
    for name, clf in CLASSIFIERS.items():
        clf().fit(x, s).save(folder / name)


IN_A_PROCESS = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("repeatable", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.fit_all(Path(sys.argv[2]))
"""
UNPROMISED = ("log.jsonl", "report.html", "run.toml")  # with times, and the name of the folder


@pytest.mark.parametrize("seeds", ["12", pytest.param("345", marks=pytest.mark.slow)])
def test_other_processes_give_the_same_bytes_whatever_their_hash_seed(seeds, tmp_path):
    """Python's hash() of a text, and so the order of a set, is another in every process."""
    write_tables(tmp_path / "runs")
    found = []
    for seed in seeds:
        folder = tmp_path / "runs" / seed
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-W", "ignore", "-c", IN_A_PROCESS, __file__, str(folder)]
        subprocess.run(command, check=True, env=environment, capture_output=True)
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in UNPROMISED
        }
        found.append(files)
    first, *others = found
    assert len({name.split("/")[0] for name in first}) == 11
    for other in others:
        assert [name for name in first if other.get(name) != first[name]] == []
        assert other.keys() == first.keys()


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
