"""Tables on disk: the same classifier as from memory, nothing copied whole, bad files named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from nnpu import LinearPU, PUClassifier
from nnpu.data import ParquetRows, read_csr, write_csr
from nnpu.data.rows import as_rows, is_mapped
from nnpu.estimators import features
from nnpu.parameters import InputError
from nnpu.training import Training

NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def table(sample):
    return sample.x.astype(np.float32)


def memory_map(x, path, mode="r"):
    np.save(path / "x.npy", x)
    return np.load(path / "x.npy", mmap_mode=mode)


def parquet(x, path, names=NAMES, **options):
    folder = path / "parquet"
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(np.array_split(x, 3)):
        columns = pa.table(list(part.T.copy()), names=names)
        pq.write_table(columns, folder / f"{number}.parquet", row_group_size=20)
    return ParquetRows(folder, **options)


FORMS = {
    "memory map": memory_map,
    "memory map that may be written": lambda x, path: memory_map(x, path, "r+"),
    "view of a memory map": lambda x, path: np.asarray(memory_map(np.r_[x, x], path))[: len(x)],
    "float64 memory map": lambda x, path: memory_map(x.astype(np.float64), path),
    "column-major memory map": lambda x, path: memory_map(np.asfortranarray(x), path),
    "parquet": parquet,
    "parquet, one row group kept": lambda x, path: parquet(x, path, cache_bytes=1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block_rows", ["auto", 16])
def test_a_table_on_disk_gives_the_bits_of_one_in_memory(
    tmp_path, quick, sample, table, form, block_rows
):
    on_disk = FORMS[form](table, tmp_path)
    options = {"training": Training(block_rows=block_rows, validation_fraction=0.2)}
    expected = quick(**options).fit(table, sample.s)
    found = quick(**options).fit(on_disk, sample.s)
    assert found.history_ == expected.history_
    assert np.array_equal(found.decision_function(on_disk), expected.decision_function(table))
    assert np.array_equal(found.predict_proba(on_disk), expected.predict_proba(table))
    assert found.score(on_disk, sample.s) == expected.score(table, sample.s)


def test_blocks_change_the_batches(quick, sample, table):
    histories = [
        quick(training=Training(block_rows=block_rows)).fit(table, sample.s).history_
        for block_rows in (None, "auto", 8)
    ]
    assert histories[0] == histories[1] != histories[2]


def test_sparse_rows_on_disk_give_the_bits_of_those_in_memory(tmp_path, sample, table):
    x = sparse.csr_array(np.where(table > 0, table, 0))
    on_disk = read_csr(write_csr(tmp_path, [x[:100], x[100:]]))
    scores = [
        PUClassifier(0.4, epochs=2, random_state=0).fit(rows, sample.s).decision_function(rows)
        for rows in (x, on_disk)
    ]
    assert np.array_equal(*scores)
    linear = [LinearPU(0.4, loss="logistic").fit(rows, sample.s).coef_ for rows in (x, on_disk)]
    assert np.array_equal(*linear)


def test_the_default_network_and_an_estimated_prior_read_from_disk(tmp_path, sample, table):
    priors, scores = [], []
    for x in (table, parquet(table, tmp_path)):
        clf = PUClassifier(epochs=2, random_state=0).fit(x, sample.s)
        priors.append(clf.prior_)
        scores.append(clf.decision_function(x))
    assert priors[0] == priors[1]
    assert np.array_equal(*scores)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_validation_neither_copies_nor_converts_a_file(tmp_path, quick, sample, dtype):
    mapped = memory_map(np.abs(sample.x).astype(dtype), tmp_path)
    checked, _ = features.validate(quick(), mapped, sample.s)
    assert is_mapped(checked)
    assert checked.dtype == dtype


def bad_map(kind, x, path):
    if kind == "flat":
        np.ascontiguousarray(x, dtype=np.float32).tofile(path / "x.bin")
        return np.memmap(path / "x.bin", np.float32, "r")
    if kind == "fewer rows":
        return memory_map(x[:-1], path)
    if kind == "text":
        return memory_map(x.astype("U8"), path)
    x = x.copy()
    x[-1, 2] = np.nan
    return memory_map(x, path)


BAD_MAPS = {
    "flat": "Expected 2D array, got 1D array instead",
    "fewer rows": r"inconsistent numbers of samples: \[259, 260\]",
    "text": "A memory map of numbers is needed. Got one of dtype <U8",
    "NaN in the last row": r"Input X contains NaN: row 259, column 2 \(counted from 0\)",
}


@pytest.mark.parametrize("kind", BAD_MAPS)
def test_a_memory_map_that_cannot_be_used_says_why(tmp_path, quick, sample, table, kind):
    with pytest.raises(ValueError, match=BAD_MAPS[kind]):
        quick().fit(bad_map(kind, table, tmp_path), sample.s)


def test_a_bad_row_is_named_in_memory_and_in_parquet_and_at_prediction(
    tmp_path, quick, sample, table
):
    clf = quick().fit(table, sample.s)
    bad = table.copy()
    bad[258, 3] = np.inf
    for x in (bad, parquet(bad, tmp_path), sparse.csr_array(bad)):
        for use in (lambda x: quick().fit(x, sample.s), clf.predict):
            with pytest.raises(ValueError, match=r"contains infinity.*row 258, column 3"):
                use(x)


def test_labels_and_features_must_fit_the_rows(tmp_path, quick, sample, table):
    rows = parquet(table, tmp_path)
    clf = quick().fit(rows, sample.s)
    assert clf.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[260, 259\]"):
        quick().fit(rows, sample.s[:-1])
    with pytest.raises(InputError, match="X has 3 features, but PUClassifier is expecting 4"):
        clf.predict(ParquetRows(tmp_path / "parquet", NAMES[:3]))
    turned = ParquetRows(tmp_path / "parquet", NAMES[::-1])
    with pytest.raises(InputError, match=r"'a' is not in its place: open the rows with columns="):
        clf.predict(turned)
    again = ParquetRows(tmp_path / "parquet", clf.feature_names_in_)
    assert np.array_equal(clf.predict(again), clf.predict(rows))
    assert not hasattr(quick().fit(as_rows(table), sample.s), "feature_names_in_")
    with pytest.raises(InputError, match=r"LinearPU takes arrays and sparse .* Got Parquet"):
        LinearPU(0.4).fit(rows, sample.s)


def test_the_prior_of_a_large_table_is_estimated_from_part_of_it(monkeypatch):
    """8 bytes a row. Few labelled rows are all kept; wide rows are limited by their bytes."""
    x = np.arange(1_000, dtype=np.float32).reshape(500, 2)
    codes = np.repeat([1, 0, -1], [100, 300, 100])
    p, u = features.prior_rows(x, codes, 0)
    assert np.array_equal(p, np.arange(100))
    assert np.array_equal(u, np.arange(100, 400))
    monkeypatch.setattr(features, "MOST_ROWS", 120)
    p, u = features.prior_rows(x, codes, 0)
    assert np.array_equal(p, np.arange(100))
    assert len(u) == 120
    assert set(u) <= set(range(100, 400))
    assert np.array_equal(features.rows_of(x, p), x[:100])
    monkeypatch.setattr(features, "_ENOUGH", 8 * 50)
    assert [len(rows) for rows in features.prior_rows(x, codes, 0)] == [50, 50]


MEMORY = """
import re, sys, threading
from pathlib import Path
import numpy as np
from nnpu import PUClassifier
from nnpu.models import mlp
from nnpu.training import Training

path = sys.argv[1]
x = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(100_000, 1_000))
for start in range(0, len(x), 5_000):
    x[start : start + 5_000] = np.random.default_rng(start).normal(size=(5_000, 1_000))
s = (np.arange(len(x)) % 20 == 0).astype(int)
x = np.load(path, mmap_mode="r")
options = Training(block_rows=2_000)
clf = PUClassifier(0.4, epochs=1, module=lambda d: mlp(d, (8,)), training=options)
clf.fit(x[:2_000], s[:2_000]).predict(x[:2_000])

def anonymous_mb():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000

peak, done = [anonymous_mb()], threading.Event()

def watch():
    while not done.wait(0.01):
        peak.append(anonymous_mb())

watcher = threading.Thread(target=watch)
watcher.start()
clf.fit(x, s).predict(x)
done.set()
watcher.join()
print(max(peak) - peak[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RssAnon is Linux's")
def test_400_mb_on_disk_are_fitted_and_scored_in_200_mb_of_memory(tmp_path):
    """The table would take 400 MB; batches, blocks that are checked and indices take far less."""
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "x.npy")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) < 200
