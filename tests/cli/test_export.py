"""``nnpu export``: the graph of a model folder, or one line that says why there is none."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import nnpu
from nnpu import EnsemblePU, LinearPU, cli
from nnpu.data.streams import read_rows
from nnpu.table.fitting import features_for

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")


def main(*arguments):
    """Run a command and return its exit status."""
    try:
        return cli.main(list(map(str, arguments))) or 0
    except SystemExit as error:
        return error.code


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Columns of very different sizes, with gaps."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.4
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(400) < 0.05, np.nan, 1e4 + 5e3 * rng.normal(y, 1)),
            "ratio": 1e-3 * rng.normal(2 * y, 1),
            "town": np.where(rng.random(400) < 0.3 + 0.4 * y, "Ulm", "Bonn"),
            "known": np.where(y & (rng.random(400) < 0.5), 1, 0),
        }
    )
    path = tmp_path_factory.mktemp("export") / "t.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(table):
    def fit(name):
        out = table.with_name(name)
        if not out.exists():
            options = ["--label", "known", "--prior", "0.4", "--model", name, "--json"]
            if name == "network":
                pytest.importorskip("onnxscript")
                options += ["--epochs", "2"]
            assert main("fit", table, *options, "--out", out) == 0
        return out

    return fit


@pytest.mark.parametrize("name", ["ensemble", "linear", "trees", "network"])
def test_the_graph_of_a_folder_scores_the_rows_of_a_table(name, fitted, table, tmp_path, capsys):
    folder, out = fitted(name), tmp_path / "new" / "model.onnx"
    capsys.readouterr()
    assert main("export", folder, "--out", out, "--json") == 0
    model, said = nnpu.load(folder), json.loads(capsys.readouterr().out)
    classifier = model.classifier_
    width = classifier.n_features_in_
    assert said == {"out": str(out), "model": type(classifier).__name__, "features": width}
    rows = features_for(classifier, model.columns_, read_rows(table))
    rows = np.asarray(rows, dtype=np.float64 if name == "ensemble" else np.float32)
    graph = onnx.load(out)
    score, probability, _ = reference.ReferenceEvaluator(graph).run(None, {"features": rows})
    np.testing.assert_allclose(score, classifier.decision_function(rows), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(probability, classifier.predict_proba(rows)[:, 1], atol=1e-4)
    told = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(told["nnpu.columns"]) == json.loads(json.dumps(model.columns_.to_json()))


def test_what_stays_in_python_is_said(fitted, tmp_path, capsys):
    assert main("export", fitted("linear"), "--out", tmp_path / "m.onnx") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "nnpu.load(MODEL).transform(table) makes them" in said


def test_a_bare_classifier_is_exported_without_columns(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    folder = LinearPU(0.4).fit(X, np.arange(60) % 3 == 0).save(tmp_path / "m")
    assert main("export", folder, "--out", tmp_path / "m.onnx") == 0
    assert f"LinearPU with 2 features: {tmp_path / 'm.onnx'}" in " ".join(
        capsys.readouterr().out.split()
    )
    told = {entry.key for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert "nnpu.columns" not in told


def refused(capsys, *arguments):
    """Return the one line that the command ends with."""
    capsys.readouterr()
    assert main("export", *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("nnpu: ")
    assert error.count("\n") == 1
    return error


def test_a_model_that_has_no_graph_is_one_line_and_nothing_is_written(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "onnx", None)  # that would not help
    X = sp.random_array((60, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    clf = EnsemblePU(0.4, members=["linear"], n_folds=2).fit(X, np.arange(60) % 3 == 0)
    out = tmp_path / "model.onnx"
    said = refused(capsys, clf.save(tmp_path / "sparse"), "--out", out)
    assert "EnsemblePU cannot be written as ONNX: it was fitted to sparse rows or words" in said
    assert not out.exists()


def test_without_the_package_the_line_names_the_extra(fitted, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    said = refused(capsys, fitted("linear"), "--out", tmp_path / "model.onnx")
    assert "pip install 'nnpu[onnx]'" in said


def test_nothing_of_the_users_is_overwritten(fitted, table, tmp_path, capsys):
    folder = fitted("linear")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert "a graph is written as .onnx" in refused(capsys, folder, "--out", table)
    linked = tmp_path / "linked.onnx"
    linked.symlink_to(folder / "config.json")
    assert "is an input of this command" in refused(capsys, folder, "--out", linked)
    (tmp_path / "folder.onnx").mkdir()
    assert "is a directory" in refused(capsys, folder, "--out", tmp_path / "folder.onnx")
    assert "not a folder" in refused(capsys, folder, "--out", table / "m.onnx")
    assert "not a model folder" in refused(capsys, tmp_path / "none", "--out", tmp_path / "m.onnx")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
