"""TensorBoard and MLflow show what the history holds, also of a run that was interrupted."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import clone

from nnpu import PUClassifier, models
from nnpu.parameters import ParameterError
from nnpu.training import Training
from nnpu.training.history import MLflow, TensorBoard


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [30, 90])
    return rng.normal(s[:, None], 1.0, (120, 3)).astype(np.float32), s


def classifier(epochs=3, **training):
    return PUClassifier(
        0.4,
        module=models.linear,
        epochs=epochs,
        batch_size=60,
        random_state=0,
        training=Training(**training),
    )


def events(folder):
    """Return the scalars of a folder as TensorBoard shows them: {tag: [(step, value)]}."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    ).EventAccumulator(str(folder))
    accumulator.Reload()
    return {
        tag: [(event.step, event.value) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def expected(history, name):
    return [(row["epoch"], pytest.approx(row[name], rel=1e-6)) for row in history]


def test_tensorboard_reads_the_history_back(sample, tmp_path):
    pytest.importorskip("tensorboard")
    clf = classifier(on_epoch_end=TensorBoard(tmp_path / "run"), validation_fraction=0.3)
    clf.fit(*sample)
    found = events(tmp_path / "run")
    assert set(found) == {name.replace("_", "/", 1) for name in clf.history_[0]} - {"epoch"}
    assert found["train/risk"] == expected(clf.history_, "train_risk")
    assert found["valid/zero_one"] == expected(clf.history_, "valid_zero_one")
    assert found["corrected"] == expected(clf.history_, "corrected")


def test_tensorboard_shows_one_curve_of_a_run_that_went_on(sample, tmp_path):
    pytest.importorskip("tensorboard")
    training = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 1}

    class Interrupted(TensorBoard):
        def __call__(self, row, model):
            super().__call__(row, model)
            if row["epoch"] == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classifier(6, on_epoch_end=Interrupted(tmp_path / "run"), **training).fit(*sample)
    clf = classifier(6, on_epoch_end=TensorBoard(tmp_path / "run"), **training).fit(*sample)
    assert len(clf.history_) == 6
    assert len(list((tmp_path / "run").iterdir())) == 2  # a file of each process
    assert events(tmp_path / "run")["train/risk"] == expected(clf.history_, "train_risk")


def test_a_classifier_with_an_open_log_can_be_cloned(sample, tmp_path):
    pytest.importorskip("tensorboard")
    logger = TensorBoard(tmp_path / "run")
    clf = classifier(on_epoch_end=logger).fit(*sample)
    copy = clone(clf)
    assert copy.training.on_epoch_end.folder == logger.folder
    copy.fit(*sample)
    logger.close()
    logger.close()  # nothing is open


def test_mlflow_holds_the_history(sample, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        clf = classifier(on_epoch_end=MLflow()).fit(*sample)
    classifier(on_epoch_end=MLflow(run.info.run_id)).fit(*sample)  # goes on in the named run
    client = mlflow.MlflowClient()
    found = {
        (metric.step, metric.value)
        for metric in client.get_metric_history(run.info.run_id, "train_risk")
    }
    assert found == {(row["epoch"], row["train_risk"]) for row in clf.history_}
    assert len(client.search_runs(["0"])) == 1


@pytest.mark.parametrize(("package", "logger"), [("tensorboard", TensorBoard), ("mlflow", MLflow)])
def test_without_the_package_the_error_names_the_extra(package, logger, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'nnpu\[{package}\]'"):
        logger("run")({"epoch": 0.0, "train_risk": 0.5}, None)


def test_bad_parameters_are_named():
    with pytest.raises(ParameterError, match="'folder' parameter of TensorBoard"):
        TensorBoard(3)
    with pytest.raises(ParameterError, match="'run_id' parameter of MLflow"):
        MLflow(3)
