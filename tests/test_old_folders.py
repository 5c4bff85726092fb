"""Model folders that earlier versions wrote keep loading and keep their scores.

``tests/fixtures/VERSION`` holds a folder of every kind of model, as that version wrote it, beside
the scores it gave then. They are never written anew: a change that cannot read them is at fault.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nnpu
from nnpu.cli import main

FIXTURES = Path(__file__).parent / "fixtures"
TABLES = FIXTURES / "tables"


@pytest.mark.parametrize("name", ["boosted", "linear"])
def test_a_classifier_of_0_1_0_keeps_its_scores(name):
    expected = json.loads((FIXTURES / "0.1.0" / f"{name}.json").read_text())
    clf = nnpu.load(FIXTURES / "0.1.0" / name)
    X = np.array(expected["X"], dtype=np.float32)
    assert clf.decision_function(X) == pytest.approx(expected["scores"], abs=1e-5)
    assert clf.predict_proba(X)[:, 1] == pytest.approx(expected["probability"], abs=1e-5)


def same_predictions(new, old, tolerance):
    """Compare two files of predictions row by row."""
    with new.open() as mine, old.open() as theirs:
        pairs = list(zip(csv.DictReader(mine), csv.DictReader(theirs), strict=True))
    others = set(pairs[0][1]) - {"score", "probability"}
    assert all(a[name] == b[name] for a, b in pairs for name in others)
    for column in ("score", "probability"):
        values = [float(a[column]) for a, _ in pairs]
        assert values == pytest.approx([float(b[column]) for _, b in pairs], abs=tolerance)
    return len(pairs)


def test_a_table_model_of_0_1_0_keeps_its_predictions(tmp_path):
    out, folder = tmp_path / "scores.csv", FIXTURES / "0.1.0" / "table"
    main(["predict", str(folder), str(TABLES / "mixed.csv"), "--out", str(out)])
    assert same_predictions(out, folder.with_suffix(".csv"), 1e-5) == 600


OF_TABLES = {
    "ensemble-numbers": "numbers",
    "ensemble-categories": "mixed",
    "ensemble-text": "texts",
    "trees": "numbers",
    "linear": "numbers",
    "network": "numbers",
    "images": "images",
}


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_table_model_of_0_2_0_keeps_its_predictions(name, tmp_path):
    """Of rows whose labels are not known: then the probability is P(y = 1 | x), as it was."""
    out, folder = tmp_path / "scores.csv", FIXTURES / "0.2.0" / name
    rows = pd.read_csv(TABLES / f"{OF_TABLES[name]}.csv", dtype=str, keep_default_na=False)
    if name == "images":
        rows["file"] = [str(TABLES / file) for file in rows["file"]]
    rows.drop(columns=nnpu.load(folder).label_).to_csv(tmp_path / "t.csv", index=False)
    main(["predict", str(folder), str(tmp_path / "t.csv"), "--out", str(out)])
    old = folder.parent / f"{name}.csv"
    if name == "images":  # the file is the id
        old = tmp_path / "old.csv"
        stored = pd.read_csv(folder.parent / f"{name}.csv", dtype=str)
        stored.assign(file=rows["file"]).to_csv(old, index=False)
    assert same_predictions(out, old, 1e-5) >= 12


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_table_model_of_0_2_0_keeps_its_scores_and_uses_the_labels(name, tmp_path):
    """Unlabelled rows get f (1 − c) / (1 − c f); c follows from the counts and the prior."""
    out, folder = tmp_path / "scores.csv", FIXTURES / "0.2.0" / name
    table, model = TABLES / f"{OF_TABLES[name]}.csv", nnpu.load(folder)
    main(["predict", str(folder), str(table), "--out", str(out)])
    new, old = pd.read_csv(out), pd.read_csv(folder.parent / f"{name}.csv")
    assert new["score"].to_numpy() == pytest.approx(old["score"].to_numpy(), abs=1e-5)
    c = model.n_labelled_ / (model.n_labelled_ + model.n_unlabelled_) / model.prior_
    labelled, f = new["rank"].isna(), old["probability"]
    expected = np.where(labelled, 1.0, f * (1 - c) / (1 - c * f))
    assert new["probability"].to_numpy() == pytest.approx(expected, abs=1e-4)
    assert labelled.sum() == (pd.read_csv(table)[model.label_].fillna(0) == 1).sum()


@pytest.mark.parametrize(
    ("name", "table", "columns"),
    [
        ("biased", "numbers", ["a", "b", "c", "d"]),
        ("ensemble-frame", "mixed", ["amount", "age", "country", "active"]),
    ],
)
def test_a_classifier_of_0_2_0_keeps_its_scores(name, table, columns):
    expected = pd.read_csv(FIXTURES / "0.2.0" / f"{name}.csv")
    clf = nnpu.load(FIXTURES / "0.2.0" / name)
    X = pd.read_csv(TABLES / f"{table}.csv")[columns]
    X = X.to_numpy() if name == "biased" else X
    assert clf.decision_function(X) == pytest.approx(expected["score"], abs=1e-5)
    assert clf.predict_proba(X)[:, 1] == pytest.approx(expected["probability"], abs=1e-5)


def test_there_is_a_folder_of_every_kind_that_0_2_0_could_write():
    kinds = {
        json.loads(path.read_text())["estimator"]
        for path in (FIXTURES / "0.2.0").glob("*/config.json")
    }
    assert kinds == {
        *("BiasedLabelPU", "BoostedPU", "EnsemblePU", "ImagePU", "LinearPU", "PUClassifier")
    }
